"""The one question that this room answers: what would this text run?"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from verdikt.model.regex import regex
from verdikt.shell.command import Script
from verdikt.shell.plain import plain

if TYPE_CHECKING:
    from verdikt.shell.walk import Walker

_LONGEST = 1 << 20
_DIRECTION = regex("[\u202a-\u202e\u2066-\u2069]")


def analyse(
    text: str,
    *,
    home: str = "",
    cwd: str = "",
    env: Mapping[str, str] | None = None,
    read: Callable[[str], str | None] | None = None,
    aliases: Mapping[str, str] | None = None,
    script: bool = False,
) -> Script:
    """What a shell would run, given this text. Never raises; what it cannot tell is marked unknown or named in `problems`.

    `env` holds variables known to be set, `read` gives the text of a file or None, `aliases` are those of the shell (and of
    git, as `git co`). `script`: the text is that of a file, whose arguments are not known; a command line has none.
    """
    if not script and not aliases and (commands := plain(text)) is not None:
        return Script(text=text, commands=commands)
    # The whole grammar is loaded only for what is more than plain words.
    from verdikt.shell.scope import Scope
    from verdikt.shell.walk import Walker

    walker = Walker(home=home, cwd=cwd, env=env, read=read)
    cleaned = _clean(text, walker)
    scope = Scope()
    scope.arguments = None if script else []
    for name, stands_for in (aliases or {}).items():
        walker.renames = True
        scope.rename(name, stands_for)
    try:
        walker.begin(cleaned, scope)
        walker.finish()
    except RecursionError:
        # Our own bounds stop long before; a caller who is deep already may leave us less room than they need.
        walker.problem("it is nested too deeply to follow")
    if not cleaned.isascii():
        _in_bytes(walker, cleaned)
    return Script(
        text=text,
        commands=tuple([draft.finished() for draft in walker.drafts]),
        codes=tuple(walker.codes),
        problems=tuple(walker.problems),
    )


def _clean(text: str, walker: "Walker") -> str:
    """The text as a shell would get it."""
    if len(text) > _LONGEST:
        walker.problem(f"it is longer than {_LONGEST} characters, and only its beginning was read")
        text = text[:_LONGEST]
    if "\0" in text:
        walker.problem("it holds NUL bytes, which a shell leaves out")
        text = text.replace("\0", "")
    if "\r\n" in text:
        text = text.replace("\r\n", "\n")
    if not text.isascii() and _DIRECTION.search(text):
        walker.problem("it holds characters that turn the direction of the text, so that it does not read as it runs")
    return text


def _in_bytes(walker: "Walker", text: str) -> None:
    """Turns the spans, which count letters, into spans that count bytes."""
    places = sorted({place for draft in walker.drafts for place in draft.span})
    at: dict[int, int] = {}
    before = size = 0
    for place in places:
        size += len(text[before:place].encode("utf-8", "surrogatepass"))
        at[place] = size
        before = place
    for draft in walker.drafts:
        draft.span = (at[draft.span[0]], at[draft.span[1]])
