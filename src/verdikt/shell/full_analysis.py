"""The analysis of any text: parse it, then walk its statements with what is known of variables and files."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import CommandDraft, Script
from verdikt.shell.inner_commands import has_no_inner_commands as has_no_inner_commands  # noqa: PLC0414 - for analysis.py
from verdikt.shell.inner_commands import is_file_writer as is_file_writer  # noqa: PLC0414
from verdikt.shell.output_prediction import INPUT_FREE_PROGRAMS as INPUT_FREE_PROGRAMS  # noqa: PLC0414
from verdikt.shell.parser import parse_statements
from verdikt.shell.scope import Scope
from verdikt.shell.statement_walker import StatementWalker

# No host sends a longer command; a text of this size takes seconds, a longer one would block the process.
_MAX_TEXT_LENGTH = 1 << 20
# Characters that reverse the direction of the text on a screen: a reviewer sees another command than the shell runs
# ("Trojan Source", CVE-2021-42574).
_BIDI_CONTROL = compile_lazily("[\u202a-\u202e\u2066-\u2069]")


def analyse_by_parser(
    text: str,
    *,
    home: str,
    cwd: str,
    env: Mapping[str, str] | None,
    read: Callable[[str], str | None] | None,
    aliases: Mapping[str, str] | None,
    script: bool,
) -> Script:
    """Parse a text, expand its words and walk its commands; the parameters are those of `analyse`."""
    cleaned, problems = _normalize_text(text)
    statement, syntax_problems = parse_statements(cleaned)
    walker = StatementWalker(home=home, cwd=cwd, env=env, read_file=read)
    for problem in (*problems, *syntax_problems):
        walker.add_problem(problem)
    scope = Scope()
    scope.arguments = None if script else []
    for name, replacement in (aliases or {}).items():
        walker.has_replacements = True
        scope.set_alias(name, replacement)
    try:
        walker.walk_script(cleaned, statement, scope)
    except RecursionError:
        # The walker's own limits stop long before this, but a caller that is deep in recursion leaves it less room.
        walker.add_problem("it is nested too deeply to follow")
    if not cleaned.isascii():
        _convert_spans_to_bytes(walker.drafts, cleaned)
    return Script(
        text=text,
        commands=tuple([draft.to_command() for draft in walker.drafts]),
        codes=tuple(walker.codes),
        problems=tuple(walker.problems),
    )


def _normalize_text(text: str) -> tuple[str, list[str]]:
    """Return the text as a shell would receive it, and the problems found on the way."""
    problems: list[str] = []
    if len(text) > _MAX_TEXT_LENGTH:
        problems.append(f"it is longer than {_MAX_TEXT_LENGTH} characters, and only its beginning was read")
        text = text[:_MAX_TEXT_LENGTH]
    if "\0" in text:
        problems.append("it holds NUL bytes, which a shell leaves out")
        text = text.replace("\0", "")
    # A script with Windows line ends: bash would take the `\r` for part of the last word of each line.
    if "\r\n" in text:
        text = text.replace("\r\n", "\n")
    if not text.isascii() and _BIDI_CONTROL.search(text):
        problems.append("it holds characters that turn the direction of the text, so that it does not read as it runs")
    return text, problems


def _convert_spans_to_bytes(drafts: list[CommandDraft], text: str) -> None:
    """Convert spans that count characters into spans that count bytes of UTF-8."""
    # One pass over the sorted offsets: encoding the text up to each span would be quadratic.
    byte_offsets: dict[int, int] = {}
    previous_offset = byte_count = 0
    for offset in sorted({offset for draft in drafts for offset in draft.span}):
        byte_count += len(text[previous_offset:offset].encode("utf-8", "surrogatepass"))
        byte_offsets[offset] = byte_count
        previous_offset = offset
    for draft in drafts:
        start, end = draft.span
        draft.span = (byte_offsets[start], byte_offsets[end])
