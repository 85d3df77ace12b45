"""The prose of a message: sentences without code, quotations, tables and links, each with its position."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from verdikt.model.lazy_regex import compile_lazily

LONGEST = 64_000
"""Number of characters that are read, from the end of the message, where an agent says what came of its work."""

SENTENCE = 1_000
"""Number of characters of a sentence that are read as one."""

CODE = "§"
"""Placeholder for a piece of code or a link: grammatically, a name for something."""

QUOTE = "¶"
"""Placeholder for quoted words."""

_GONE = "\0"

_FENCE = compile_lazily(r"^[ ]{0,12}(`{3,}|~{3,})")
_LIST = compile_lazily(r"^\s*(?:[-*+•‣◦–]|\d{1,3}[.)]|[A-Za-z][.)](?=\s)|\[[ xX]\]|[✅✔☑❌✗⏳⬜🔲])\s*(?=\S)")
_BULLET = compile_lazily(r"^\s*(?:[-*+•‣◦–]|\d{1,3}[.)]|[A-Za-z][.)])\s+")
_HEADING = compile_lazily(r"^\s{0,3}#{1,6}\s+")
_TABLE = compile_lazily(r"^\s*\|.*\|?\s*$|^[^|\n]+\|[^|\n]+\|")
_ENTRY = compile_lazily(r"^\s{0,3}[A-Z][\w/ -]{0,30}(?: \([^)]{1,30}\))?:\s+\S")
_RULE = compile_lazily(r"^\s*(?:[-*_=]\s*){3,}$")
_TICKED = compile_lazily(r"^\s*(?:\[[xX]\]|[✅✔☑]\ufe0f?)\s*")
_OPEN = compile_lazily(r"^\s*(?:\[ \]|[❌✗⏳⬜🔲]\ufe0f?)\s*")

_INLINE = (
    (compile_lazily(r"(`{1,4})(?!`)(?:(?!\1)[^\n]|\n(?!\s*\n)){1,2000}?\1(?!`)"), CODE),
    (compile_lazily(r"!?\[[^\]\n]{0,300}\]\([^)\n]{0,600}\)"), CODE),
    (compile_lazily(r"<!--(?:.|\n){0,2000}?-->"), ""),
    (compile_lazily(r"</?[A-Za-z][^<>\n]{0,200}>"), ""),
    (compile_lazily(r"\b(?:https?|ftp|file)://[^\s)>\]\"']{1,600}"), CODE),
    (compile_lazily(r"[\"“„«](?=\S)[^\"“”„«»\n]{1,600}?[\"”»]"), QUOTE),
    (
        compile_lazily(r"(?<![\w'’])['‘](?=[\w(])[^'‘’\n]{1,300}?(?:['’](?=[a-z])[^'‘’\n]{1,200}?){0,4}['’](?!\w)"),
        QUOTE,
    ),
)
_MARKUP = compile_lazily(r"\*{1,3}|(?<!\w)_{1,3}(?=\S)|(?<=\S)_{1,3}(?!\w)|~~[^~\n]{1,300}~~")
_END = compile_lazily(r"(?<!\be\.g)(?<!\bi\.e)(?<!\betc)(?<!\bvs)(?<!\bcf)[.!?…]+(?:[)\]]*)(?=\s|$)|\n")

_PLANNED = compile_lazily(
    r"\b(?:next|to-?dos?|to do|remain\w*|plans?|planned|follow[- ]?ups?|future|pending|backlog|roadmap|propos\w+"
    r"|suggest\w*|recommend\w*|criteria|definition of done|requirements?|goals?|expected|checklist|left|missing"
    r"|blockers?|known issues|limitations|options?|examples?|would|could|should|will|if|you can|needs?|i'll|i'd"
    r"|going to"
    r"|before|out of scope|not|how to|steps to|todo|open (?:items|questions|issues)|caveats?|outstanding|later|verify"
    r"|causes?|reasons?|hypothes\w+|symptoms?|reproduce|possible|possibly|maybe|ideas?|alternatives?|assumptions?"
    r"|what happens|happens when|works|walk (?:you )?through|when you|lifecycle|sequence|process|workflow|tried"
    r"|attempts?|attempted|experiments?|tells? apart|test plan|as (?:it's|it is|they're|they are|things are))\b",
    re.IGNORECASE,
)
_REPORTED = compile_lazily(
    r"\b(?:says?|said|wrote|writes|report\w*|according|changelog|release notes|commit messages?|history|git log"
    r"|previous\w*"
    r"|upstream|readme|ticket|claims?|earlier|you (?:asked|wrote|said|mentioned)|transcript|quoting|quote|meeting"
    r"|minutes|stand-?up|retro\w*|timeline|incident|root cause|background|in the last (?:week|month|year|sprint"
    r"|quarter)|by author|what (?:went wrong|happened)|why)\b",
    re.IGNORECASE,
)


_THOUGHT_OF = compile_lazily(
    r"^\W*(?:option|alternative|variant|scenario|approach|proposal|hypothesis|idea|suggestion)(?: \w{1,2})?\s*[:—–]",
    re.IGNORECASE,
)
"""What a paragraph begins with that says how things could be."""

_STEP = compile_lazily(r"^\W*(?:phase|step|stage|week|day|milestone|sprint) \d+\b", re.IGNORECASE)
"""What a paragraph begins with that is one of several."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence as spoken. `places[i]` is where the i-th character stood in the message.

    `mood` is what stands above it: a `plan` (next steps, remaining work), a `report` (what others wrote), or nothing.
    `mark` is `ticked` or `open` for an item of a to-do list.
    """

    text: str
    places: tuple[int, ...]
    mood: str = ""
    mark: str = ""
    first: bool = True

    @property
    def is_question(self) -> bool:
        """Return whether the sentence is a question."""
        return self.text.rstrip(" )]").endswith("?")

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return where a part of the sentence is in the message."""
        return self.places[start], self.places[max(start, end - 1)] + 1


def split_sentences(message: str) -> Iterator[Sentence]:
    """Return the sentences of a message's prose, in order. Never raises, whatever the text."""
    offset = max(0, len(message) - LONGEST)
    heading = intro = whole = ""
    for number, block in enumerate(_blocks(_blank_non_prose(message[offset:]))):
        if block.kind != "item":
            intro = ""
        mood = "plan" if _THOUGHT_OF.match(block.text) else intro or heading
        if block.kind == "item" or _STEP.match(block.text):
            mood = mood or whole
        for text, places, mark, first in block.pieces():
            yield Sentence(text, tuple(offset + place for place in places), mood, mark, first)
        words = block.text.strip()
        if block.kind == "heading":
            heading = _mood(words)
            if number == 0:
                whole = heading
        elif block.kind == "text" and (words.endswith(":") or _titles(words)):
            intro = _mood(words)
            if number == 0 and words.endswith(":"):
                whole = intro


def _titles(words: str) -> bool:
    """Return whether a line is a heading without its mark."""
    return len(words.split()) <= 6 and not words.endswith((".", "!", "?", ","))


def _mood(words: str) -> str:
    if _REPORTED.search(words):
        return "report"
    return "plan" if _PLANNED.search(words) else ""


@dataclass(slots=True)
class _Block:
    """Lines that belong together: a paragraph, a list item or a heading."""

    kind: str
    chars: list[tuple[str, int]]

    @property
    def text(self) -> str:
        return "".join(char for char, _ in self.chars)

    def pieces(self) -> Iterator[tuple[str, list[int], str, bool]]:
        """Return the sentences of the block."""
        chars = self.chars
        mark = ""
        if self.kind == "item":
            chars = chars[_ending(_BULLET, chars) :]
            for name, pattern in (("ticked", _TICKED), ("open", _OPEN)):
                if size := _ending(pattern, chars):
                    chars, mark = chars[size:], name
                    break
            else:
                last = "".join(char for char, _ in chars[-4:]).rstrip(" \ufe0f")[-1:]
                mark = "ticked" if last and last in "✅✔☑" else "open" if last and last in "❌✗✘" else ""
        text = "".join(char for char, _ in chars)
        start, first = 0, True
        for end in _cut([*(match.end() for match in _END.finditer(text)), len(text)]):
            while start < end and text[start].isspace():
                start += 1
            if text[start:end].strip():
                yield text[start:end], [place for _, place in chars[start:end]], mark, first
                first = False
            start = max(start, end)


def _cut(ends: list[int]) -> Iterator[int]:
    """Return where sentences end; a text without ends is cut, so that no message takes unbounded time."""
    start = 0
    for end in ends:
        yield from range(start + SENTENCE, end, SENTENCE)
        yield end
        start = end


def _ending(pattern: re.Pattern[str], chars: list[tuple[str, int]]) -> int:
    match = pattern.match("".join(char for char, _ in chars[:40]))
    return match.end() if match else 0


def _blank_non_prose(text: str) -> str:
    """Return the message with everything that is not prose blanked, every other character in its place."""
    text = text.replace("’", "'").replace("‘", "'").replace("\u00a0", " ")
    text = _without_lines(text)
    for pattern, stand_in in _INLINE:
        text = pattern.sub(lambda match, stand_in=stand_in: _pad_stand_in(match[0], stand_in), text)  # type: ignore[misc]
    return _MARKUP.sub(lambda match: _GONE * len(match[0]), text)


def _pad_stand_in(found: str, stand_in: str) -> str:
    return stand_in + _GONE * (len(found) - len(stand_in))


def _without_lines(text: str) -> str:
    """Blank fenced code, indented code, tables and block quotations, line by line."""
    found: list[str] = []
    fence = ""
    blank, listed = True, False
    for line in text.splitlines(keepends=True):
        body = line.rstrip("\r\n")
        mark = _FENCE.match(body)
        hidden = bool(fence)
        if mark and not fence:
            fence, hidden = mark[1][:3], True
        elif mark and fence and mark[1].startswith(fence) and not body.strip().strip("`~"):
            fence = ""
        elif not fence:
            indented = blank and not listed and body.startswith(("    ", "\t")) and not _LIST.match(body)
            hidden = body.lstrip().startswith(">") or bool(_TABLE.match(body)) or bool(_RULE.match(body)) or indented
        found.append(_GONE * len(body) + "\n" * (len(line) - len(body)) if hidden else line)
        blank = not body.strip()
        listed = bool(_LIST.match(body)) or (listed and (blank or body.startswith(" ")))
    return "".join(found)


def _blocks(text: str) -> Iterator[_Block]:
    """Join lines as they are read: a soft line break does not end a sentence."""
    block = _Block("text", [])
    at = 0
    for line in text.splitlines(keepends=True):
        kept = [(char, at + index) for index, char in enumerate(line) if char != _GONE]
        at += len(line)
        words = "".join(char for char, _ in kept)
        kind = "heading" if _HEADING.match(words) else "item" if _LIST.match(words) else "text"
        ends = not words.strip() or kind != "text" or block.kind == "heading" or bool(_ENTRY.match(words))
        if ends and block.chars:
            yield block
            block = _Block("text", [])
        if not words.strip():
            continue
        if kind == "heading":
            kept = kept[_ending(_HEADING, kept) :]
        kept = [(" " if char.isspace() else char, place) for char, place in kept]
        if not block.chars:
            block = _Block(kind, kept)
        else:
            block.chars += kept
    if block.chars:
        yield block
