"""What a person should look at in a tool's definition: hidden characters, look-alike names, orders to the model."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.homoglyph import find_lookalike, fold_lookalikes

_MAX_TEXTS = 2000
_MAX_TEXT_LENGTH = 20_000
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
# Joiners inside emoji and scripts that need them are ordinary; a run of them, or one between ASCII letters, is not.
_JOINERS = frozenset("\u200c\u200d\ufe0e\ufe0f")
_ORDERS = compile_lazily(
    r"(?i)\b(?:ignore|disregard|forget)\b.{0,40}\b(?:previous|prior|above|earlier|other|all)\b.{0,30}"
    r"\b(?:instruction|prompt|rule|tool|message)"
    r"|\b(?:do not|don't|never)\b.{0,30}\b(?:tell|mention|inform|reveal|show|notify)\b.{0,30}"
    r"\b(?:user|person|human|anyone)"
    r"|<\s*/?\s*(?:important|system|instructions?|secret)\s*>"
    r"|\b(?:before|after|when(?:ever)?|instead of)\b.{0,40}\b(?:using|calling|us(?:e|ing)|any other)\b.{0,40}\btools?\b"
    r".{0,80}\b(?:read|send|call|include|pass|write|run)\b"
    r"|\b(?:read|send|include|pass|attach|upload)\b.{0,60}"
    r"(?:~/|/etc/|\.ssh|\.env\b|id_rsa|api[ _-]?keys?|credentials|passwords?)"
    r"|\byou (?:must|have to) (?:always|first|also)\b"
)


def find_tool_issues(definition: Mapping[str, Any], taken: Iterable[str] = ()) -> Iterator[str]:
    """Yield what is conspicuous about a definition, in words for a person; nothing of it proves an attack."""
    name = str(definition.get("name", ""))
    texts = list(_collect_texts(definition))
    yield from sorted({issue for _, text in texts for issue in _find_hidden(text)})
    lookalike = find_lookalike(name)
    if lookalike:
        yield f"its name looks like `{lookalike}` and is another"
    for other_name in sorted(set(taken)):
        # The same name at two servers is common (`read_file`); a name that only looks the same is not.
        if other_name != name and (lookalike == other_name or fold_name(other_name) == fold_name(name)):
            yield f"its name looks like `{other_name}` of another server"
    for where, text in texts:
        if match := _ORDERS.search(text):
            yield f"its {where} gives orders to the model: “{_quote(match.group())}”"
            break


def fold_name(name: str) -> str:
    """Return a name as a hasty reader sees it."""
    return fold_lookalikes(name.casefold()).replace("-", "_").replace("0", "o").replace("1", "l").replace("_", "")


def _find_hidden(text: str) -> Iterator[str]:
    if text.isascii():
        return
    previous = ""
    for character in text:
        if character in _BIDI:
            yield "it has characters that change the direction of the text"
        elif "\U000e0000" <= character <= "\U000e007f":
            yield "it has invisible tag characters"
        elif character in _JOINERS:
            if previous.isascii() and previous.isalnum():
                yield "it has invisible characters between letters"
        elif unicodedata.category(character) in ("Cf", "Co", "Cn") and character != "\u00ad":
            yield "it has invisible characters"
        previous = character


def _collect_texts(value: Any, where: str = "definition", depth: int = 12) -> Iterator[tuple[str, str]]:
    """Yield every text of a definition, keys included, with the field that holds it."""
    stack: list[tuple[str, Any, int]] = [(where, value, depth)]
    count = 0
    while stack and count < _MAX_TEXTS:
        name, item, remaining_depth = stack.pop()
        if isinstance(item, str):
            count += 1
            yield name, item[:_MAX_TEXT_LENGTH]
        elif isinstance(item, Mapping) and remaining_depth:
            stack += [("argument name", key, 1) for key in item if not key.isascii()]
            stack += [
                (key if name == "definition" else name, inner, remaining_depth - 1) for key, inner in item.items()
            ]
        elif isinstance(item, list | tuple) and remaining_depth:
            stack += [(name, inner, remaining_depth - 1) for inner in item]


def _quote(text: str) -> str:
    plain = "".join(character if character.isprintable() else "·" for character in text)
    return plain if len(plain) <= 80 else f"{plain[:79]}…"
