"""A whole text: cleaned, read, walked, and put into a script."""

from collections.abc import Callable, Mapping

from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import Script
from verdikt.shell.command_draft import CommandDraft
from verdikt.shell.literal_commands import draft_literal_commands
from verdikt.shell.parser import parse_statements
from verdikt.shell.scope import Scope
from verdikt.shell.statement_walker import StatementWalker

_MAX_TEXT_LENGTH = 1 << 20
_BIDI_CONTROL = compile_lazily("[\u202a-\u202e\u2066-\u2069]")


def analyse_fully(
    text: str,
    *,
    home: str,
    cwd: str,
    env: Mapping[str, str] | None,
    read: Callable[[str], str | None] | None,
    aliases: Mapping[str, str] | None,
    script: bool,
) -> Script:
    """What a shell would run, the long way."""
    cleaned, problems = _normalize_text(text)
    statement, faults = parse_statements(cleaned)
    if (
        not problems
        and not faults
        and not aliases
        and text.isascii()
        and (drafts := draft_literal_commands(statement)) is not None
    ):
        return Script(text=text, commands=tuple([draft.to_command() for draft in drafts]))
    walker = StatementWalker(home=home, cwd=cwd, env=env, read_file=read)
    for problem in (*problems, *faults):
        walker.add_problem(problem)
    scope = Scope()
    scope.arguments = None if script else []
    for name, stands_for in (aliases or {}).items():
        walker.has_replacements = True
        scope.set_alias(name, stands_for)
    try:
        walker.walk_script(cleaned, statement, scope)
    except RecursionError:
        # Our own bounds stop long before; a caller who is deep already may leave us less room than they need.
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
    """The text as a shell would get it, and what is strange about it."""
    problems: list[str] = []
    if len(text) > _MAX_TEXT_LENGTH:
        problems.append(f"it is longer than {_MAX_TEXT_LENGTH} characters, and only its beginning was read")
        text = text[:_MAX_TEXT_LENGTH]
    if "\0" in text:
        problems.append("it holds NUL bytes, which a shell leaves out")
        text = text.replace("\0", "")
    if "\r\n" in text:
        text = text.replace("\r\n", "\n")
    if not text.isascii() and _BIDI_CONTROL.search(text):
        problems.append("it holds characters that turn the direction of the text, so that it does not read as it runs")
    return text, problems


def _convert_spans_to_bytes(drafts: list[CommandDraft], text: str) -> None:
    """Turns the spans, which count letters, into spans that count bytes."""
    places = sorted({place for draft in drafts for place in draft.span})
    at: dict[int, int] = {}
    before = size = 0
    for place in places:
        size += len(text[before:place].encode("utf-8", "surrogatepass"))
        at[place] = size
        before = place
    for draft in drafts:
        draft.span = (at[draft.span[0]], at[draft.span[1]])
