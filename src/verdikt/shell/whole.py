"""A whole text: cleaned, read, walked, and put into a script."""

from collections.abc import Callable, Mapping

from verdikt.model.regex import regex
from verdikt.shell.bare import bare, runs_nothing
from verdikt.shell.command import Script
from verdikt.shell.draft import Draft
from verdikt.shell.scope import Scope
from verdikt.shell.syntax import parse
from verdikt.shell.walk import Walker

__all__ = ["look", "runs_nothing"]

_LONGEST = 1 << 20
_DIRECTION = regex("[\u202a-\u202e\u2066-\u2069]")


def look(
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
    cleaned, problems = _clean(text)
    statement, faults = parse(cleaned)
    if not problems and not faults and not aliases and text.isascii() and (drafts := bare(statement)) is not None:
        return Script(text=text, commands=tuple([draft.finished() for draft in drafts]))
    walker = Walker(home=home, cwd=cwd, env=env, read=read)
    for problem in (*problems, *faults):
        walker.problem(problem)
    scope = Scope()
    scope.arguments = None if script else []
    for name, stands_for in (aliases or {}).items():
        walker.renames = True
        scope.rename(name, stands_for)
    try:
        walker.begin(cleaned, statement, scope)
    except RecursionError:
        # Our own bounds stop long before; a caller who is deep already may leave us less room than they need.
        walker.problem("it is nested too deeply to follow")
    if not cleaned.isascii():
        _in_bytes(walker.drafts, cleaned)
    return Script(
        text=text,
        commands=tuple([draft.finished() for draft in walker.drafts]),
        codes=tuple(walker.codes),
        problems=tuple(walker.problems),
    )


def _clean(text: str) -> tuple[str, list[str]]:
    """The text as a shell would get it, and what is strange about it."""
    problems: list[str] = []
    if len(text) > _LONGEST:
        problems.append(f"it is longer than {_LONGEST} characters, and only its beginning was read")
        text = text[:_LONGEST]
    if "\0" in text:
        problems.append("it holds NUL bytes, which a shell leaves out")
        text = text.replace("\0", "")
    if "\r\n" in text:
        text = text.replace("\r\n", "\n")
    if not text.isascii() and _DIRECTION.search(text):
        problems.append("it holds characters that turn the direction of the text, so that it does not read as it runs")
    return text, problems


def _in_bytes(drafts: list[Draft], text: str) -> None:
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
