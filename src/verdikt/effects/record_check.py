"""Find mistakes in the rows of a record that would fail in the middle of a decision: selectors, kinds, conditions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from verdikt.effects.arguments import Arguments
from verdikt.effects.conditions import WORD_TRAITS, split_alternatives
from verdikt.effects.program_evaluator import TARGET_KINDS
from verdikt.effects.target_shapes import TARGET_SHAPES
from verdikt.effects.word_kinds import is_word_kind
from verdikt.knowledge.compiler import iter_entries

if TYPE_CHECKING:
    from verdikt.knowledge import Record

_KINDS = TARGET_KINDS | TARGET_SHAPES.keys() | {"shell", "script"}
_WORD_SUBJECTS = frozenset(("zone", "state", "shape", "raw", "database", "item", "is"))
"""Subjects of conditions that have a selector of words before `=`."""
_INPUT = "input"


def find_row_mistakes(record: Record) -> Iterator[str]:
    """Yield one line for each selector, kind or condition in a compiled record that can't be evaluated."""
    for path, entry in iter_entries(record):
        where = f"{path}: " if path else ""
        yield from (f"{where}{mistake}" for mistake in _check_conditions(entry.get("dry_run", "")))
        for row in entry.get("effects", ()):
            if not _is_selector(row.get("on", "")):
                yield f"{where}expected words after `on`, found `{row['on']}`"
            kind = row.get("as", "path")
            if kind not in _KINDS and not kind.startswith("sql:"):
                yield f"{where}unknown kind `{kind}`"
            for key in ("when", "unless", "recoverable_when"):
                yield from (f"{where}{mistake}" for mistake in _check_conditions(row.get(key, "")))


def _is_selector(selector: str) -> bool:
    """Return whether a text selects words of a command, as `conditions.select_targets` reads it."""
    if selector in ("", "program", _INPUT):
        return True
    selector = selector.removesuffix(f"|{_INPUT}")
    subject, _, rest = selector.partition(":")
    return _selects_words(rest.rpartition("=")[0] if subject in WORD_TRAITS else selector)


def _selects_words(selector: str) -> bool:
    try:
        Arguments(()).select_words(selector)
    except (ValueError, IndexError):
        return False
    return True


def _check_conditions(conditions: str) -> Iterator[str]:
    for terms in split_alternatives(conditions):
        for term in terms:
            if not term.text:
                yield f"an empty term in `{conditions}`"
            if term.subject in _WORD_SUBJECTS and term.selector[:1] != "$" and not _selects_words(term.selector):
                yield f"expected words in `{term.text}`, found `{term.selector}`"
            for kind in term.patterns.split("|") if term.subject == "is" else ():
                if not is_word_kind(kind):
                    yield f"unknown kind or role `{kind}` in `{term.text}`"
