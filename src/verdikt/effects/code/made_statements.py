"""Statements that a program makes and a pipe feeds to a database client: `… | sed 's/^/DROP TABLE /' | mysql`.

The text itself is not known before it runs; the words of the programs that make it often tell what it will be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from verdikt.model.lazy_regex import compile_lazily

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation
    from verdikt.model.effect import Effect, Target
    from verdikt.shell.command import Command

_STATEMENTS = (
    (compile_lazily(r"(?i)\bdrop\s+(?:table|database|schema|keyspace|collection|owned)\b"), "db.drop"),
    (compile_lazily(r"(?i)\btrunc\w+\s|\bdelete\s+from\b(?!.*\bwhere\b)"), "db.delete.all"),
)
_SELECTED = (
    (compile_lazily(r"(?i)^[\^\\b(]*drop\b"), "db.drop"),
    (compile_lazily(r"(?i)^[\^\\b(]*(?:truncate|delete)\b"), "db.delete.all"),
)
"""What a filter lets through, of which only the beginning may be written out: `grep ^DROP`."""
_INVERTING_OPTIONS = ("--invert-match",)
_REMOVING_SCRIPT = compile_lazily(r"^/.*/[Id]+$")
_SUBSTITUTION = compile_lazily(r"^(?:\d+|/[^/]*/)?s([/|#,!])(?:\\.|(?!\1).)*\1((?:\\.|(?!\1).)*)\1")
_RUN_RESULTS = compile_lazily(r"\\gexec\b")
_SQL_STRING = compile_lazily(r"'((?:[^']|'')*)'")


def classify_made_statements(
    call: Invocation,
    texts: Sequence[str],
    targets: tuple[Target, ...],
    *,
    light: bool,
    is_piped: bool,
    is_remote: bool,
) -> Iterator[Effect]:
    """Yield the effects of statements that are made while the command runs: by a query, or before a pipe."""
    is_piped = is_piped and not call.command.stdin
    made = {what for text in texts if (what := find_result_statement(text))}
    made |= {what for what in (find_piped_statement(call) if is_piped else "",) if what}
    note = "statements that are made while it runs"
    for what in sorted(made):
        yield call.make_effect(what, targets, recoverable=light or None, note=note)
    if not made and (is_piped or any(map(runs_results, texts))) and not light and is_remote:
        yield call.make_effect("db.write.live", targets, possible=True, note=note)


def find_piped_statement(call: Invocation) -> str:
    """Return what the words of the programs before a pipe say that its text does; empty where they do not tell."""
    for command in call.iter_upstream():
        for text in _list_made_texts(command):
            if what := _find_statement(text, _STATEMENTS):
                return what
            if len(command.argv) <= 3 and (what := _find_statement(text, _SELECTED)):
                return what
    return ""


def find_result_statement(text: str) -> str:
    """Return what statements do that a query makes and the client runs; empty where the query does not tell."""
    strings = _SQL_STRING.findall(text) if runs_results(text) else ()
    return next((what for string in strings if (what := _find_statement(string, _STATEMENTS))), "")


def runs_results(text: str) -> bool:
    """Return whether a client runs the results of a query as statements."""
    return _RUN_RESULTS.search(text) is not None


def _find_statement(text: str, rows: tuple[tuple[re.Pattern[str], str], ...]) -> str:
    return next((what for pattern, what in rows if pattern.search(text)), "")


def _list_made_texts(command: Command) -> Iterator[str]:
    """Yield the words of a command that may become part of what it prints, without what it takes out."""
    texts = [word.text for word in command.argv[1:]]
    if any(text in _INVERTING_OPTIONS or (text[:1] == "-" and text[1:2] != "-" and "v" in text) for text in texts):
        return
    if command.stdin:
        texts.append(command.stdin)
    for text in texts:
        if _REMOVING_SCRIPT.match(text):
            continue
        parts = [_SUBSTITUTION.match(part) for part in text.split(";")]
        # Of `s/a/b/`, only what is put in.
        yield " ".join(match[2] for match in parts if match) if any(parts) else text
