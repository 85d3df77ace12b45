"""Split a message into sentences with their marks; code and quotations are masked. Pure, linear in the text.

Every pattern here has a bounded length, and every line is read once, so no message takes unbounded time.
"""

import itertools
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from verdikt.claims.cues import detect_latin_language, detect_script
from verdikt.model.lazy_regex import compile_lazily

LONGEST = 64_000
"""Number of characters that are read, from the end of the message, where an agent says what came of its work."""

SENTENCES = 2_000
"""Number of sentences at the end of the message that are read."""

SENTENCE = 600
"""Number of characters of a sentence that are read as one."""

CODE = "§"
QUOTE = "¶"
"""What stands for each character of code or of a quotation, so that positions stay those of the message."""

_FENCE = compile_lazily(r"[ \t]{0,12}(`{3,}|~{3,})")
_HEADING = compile_lazily(r"[ ]{0,3}#{1,6}\s+|(?=\*\*[^*\n]{1,80}\*\*:?\s*$)|(?=__[^_\n]{1,80}__:?\s*$)")
_BULLET = compile_lazily(r"\s*(?:(?:[-*+•‣◦–・●]|\d{1,3}[.)、]|[a-zA-Z][.)]|\(\d{1,2}\))\s+|[•‣◦・●]\s*)")
_TICK = compile_lazily(r"\s*(?:\*\*)?(?:(\[[xX]\]|[✅✔☑✓]\ufe0f?)|(\[ ?\]|[❌✗✘⏳⬜🔲☐🚧]\ufe0f?))\s*")
_RULE = compile_lazily(r"\s*(?:[-*_=]\s*){3,200}$|\s*\|?[\s:|-]{3,200}\|?\s*$")
_TABLE = compile_lazily(r"\s*\|.*\|\s*$")
URL = compile_lazily(r"\b(?:https?|ftp|file)://[^\s)>\]\"'，。、）」]{1,400}")
_MASKED = (
    (compile_lazily(r"``[^\n]{1,300}?``|`[^`\n]{1,300}`"), CODE),
    (compile_lazily(r"!?\[[^\]\n]{1,200}\]\([^)\n]{1,400}\)"), CODE),
    (URL, CODE),
    (compile_lazily(r"[\"“„«](?=\S)[^\"“”„«»\n]{1,400}[\"“”»]|「[^「」\n]{1,400}」|『[^『』\n]{1,400}』"), QUOTE),
    (compile_lazily(r"(?<![\w'’])['‘‚](?=[^\W\d])[^'‘’\n]{1,200}['’](?!\w)"), QUOTE),
)
_END = compile_lazily(
    # The look-ahead comes first because it fails fast: without it, every look-behind is tried at every character.
    r"(?=[.!?…])(?<!\be\.g)(?<!\bi\.e)(?<!\betc)(?<!\bvs)(?<!\bcf)(?<!\bz\.B)(?<!\bz\. B)(?<!\bbzw)(?<!\bca)(?<!\bNr)"
    r"(?<!\bp\. ex)(?<!\bp\.ex)(?<!\bd\.h)(?<!\bp\. ej)(?<!\bт\.е)(?<!\bт\.д)"
    r"[.!?…]{1,20}[)\]*_\"”»]{0,6}(?=\s|$)|[。！？｡]{1,20}[)）\]」』*_]{0,6}|(?<=[。！？])\s"
)
_SOFT_WRAP = 60
"""A line of at least so many characters without an end goes on in the next one."""


@dataclass(frozen=True, slots=True)
class MarkedSentence:
    """One sentence: its place in the message, its text, also with code and quotations masked, and what is around it.

    `kind` is text, item, heading or table; `tick` is `ticked`, `open` or empty; `title` is the heading and the
    introduction (`Next steps:`) it stands under; `index` counts from the start, `is_last` marks the end. `language` is
    the likeliest one of those that the model knows. `previous` and `following` are its neighbours, masked.
    """

    start: int
    end: int
    text: str
    masked: str
    kind: str
    tick: str
    title: str
    index: int
    is_last: bool
    language: str = "en"
    previous: str = ""
    following: str = ""


@dataclass(slots=True)
class _Block:
    kind: str
    tick: str
    title: str
    start: int
    end: int


def split_sentences(message: str) -> tuple[MarkedSentence, ...]:
    """Return the sentences of a message's prose, in order. Never raises, whatever the text."""
    offset = max(0, len(message) - LONGEST)
    masked = _mask_code(message[offset:])
    # The last ones: a claim must not be hidden by many short sentences before it.
    parts: deque[tuple[_Block, int, int]] = deque(maxlen=SENTENCES)
    for block in _list_blocks(masked):
        parts.extend((block, start, end) for start, end in _list_spans(masked, block.start, block.end))
    # One sentence is often too short to tell languages of the same script apart.
    latin = detect_latin_language(" ".join(masked[start:end] for _, start, end in itertools.islice(parts, 20)))
    texts = ["", *(masked[start:end] for _, start, end in parts), ""]
    return tuple(
        MarkedSentence(
            offset + start,
            offset + end,
            message[offset + start : offset + end],
            text,
            block.kind,
            block.tick,
            block.title,
            index,
            index == len(parts) - 1,
            detect_script(text) or latin,
            texts[index],
            texts[index + 2],
        )
        for index, ((block, start, end), text) in enumerate(zip(parts, texts[1:-1], strict=True))
    )


def _mask_code(text: str) -> str:
    text = text.replace("’", "'").replace("\u00a0", " ").replace("\r", " ")
    for pattern, stand_in in _MASKED:
        text = pattern.sub(lambda match, mark=stand_in: mark * len(match[0]), text)  # type: ignore[misc]
    return text


def _list_blocks(text: str) -> Iterator[_Block]:
    """Yield paragraphs, list items, headings and table rows; fenced code and block quotations are left out."""
    fence = heading = intro = ""
    block: _Block | None = None
    at = 0
    for line in text.split("\n"):
        start, at = at, at + len(line) + 1
        words = line.strip()
        mark = _FENCE.match(line) if words[:1] in ("`", "~", CODE) else None
        if fence:
            if mark and mark[1].startswith(fence) and not words.strip("`~"):
                fence = ""
            continue
        is_hidden = bool(mark) or not words or words.startswith(">") or bool(_RULE.match(line))
        kind, tick, skip = ("", "", 0) if is_hidden else _read_line(line)
        if block and (is_hidden or kind != "text" or _ends_line(text[block.start : block.end])):
            yield block
            heading, intro = _read_title(text, block, heading, intro)
            block = None
        if mark:
            fence = mark[1][:3]
        if is_hidden:
            continue
        if block:
            block.end = start + len(line)
        else:
            if kind != "item":
                # An introduction rules the list below it, not the paragraph after that list.
                intro = intro if intro and kind == "text" and line.startswith(" ") else ""
            block = _Block(kind, tick, f"{heading} {intro}".strip(), start + skip, start + len(line))
            if kind == "heading":
                block.title = ""
    if block:
        yield block


def _read_line(line: str) -> tuple[str, str, int]:
    """Return the kind of a line, its tick, and the number of characters before its words."""
    if _TABLE.match(line):
        return "table", _read_tick(line), 0
    if match := _HEADING.match(line):
        return "heading", _read_tick(line), match.end()
    bullet = _BULLET.match(line)
    skip = bullet.end() if bullet else 0
    mark = _TICK.match(line, skip)
    if mark:
        return "item", "ticked" if mark[1] else "open", mark.end()
    return "item" if bullet else "text", _read_tick(line), skip


def _read_tick(line: str) -> str:
    ending = line.rstrip(" .*|\ufe0f")[-1:]
    return "ticked" if ending and ending in "✅✔☑✓" else "open" if ending and ending in "❌✗✘⏳⬜🔲🚧" else ""


def _ends_line(words: str) -> bool:
    line = words[words.rfind("\n") + 1 :].rstrip(" *_")
    return len(line) < _SOFT_WRAP or line[-1:] in ".!?:…。！？："


def _read_title(text: str, block: _Block, heading: str, intro: str) -> tuple[str, str]:
    """Return the heading and the introduction that rule what follows a block."""
    words = text[block.start : block.end].strip()
    if block.kind == "heading":
        return words[:120], ""
    if block.kind == "text" and words.rstrip("*_ ").endswith((":", "：")):
        return heading, words[-120:]
    return heading, intro


def _list_spans(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield where the sentences of a block are; a text without ends is cut."""
    ends = [match.end() for match in _END.finditer(text, start, end)]
    for stop in [*ends, end]:
        while start < stop:
            piece = text[start : min(stop, start + SENTENCE)]
            left, right = start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())
            if re.search(r"\w|[§¶✅✔☑✓❌]", piece):
                yield left, right
            start += len(piece)
