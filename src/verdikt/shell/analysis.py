"""The one question that this package answers: what would this text run?"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from verdikt.shell.command import Script
from verdikt.shell.full_analysis import analyse_fully
from verdikt.shell.literal_commands import is_inert_command
from verdikt.shell.plain import parse_plain_line


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
    if not aliases and (commands := parse_plain_line(text, is_inert_command)) is not None:
        return Script(text=text, commands=commands)
    return analyse_fully(text, home=home, cwd=cwd, env=env, read=read, aliases=aliases, script=script)
