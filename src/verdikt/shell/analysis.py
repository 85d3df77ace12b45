"""The one question that this room answers: what would this text run?"""

from __future__ import annotations

from functools import cache
from sys import modules

from verdikt.model.protocol import Protocol
from verdikt.shell.command import Script
from verdikt.shell.plain import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class _Look(Protocol):
    def __call__(
        self,
        text: str,
        *,
        home: str,
        cwd: str,
        env: Mapping[str, str] | None,
        read: Callable[[str], str | None] | None,
        aliases: Mapping[str, str] | None,
        script: bool,
    ) -> Script: ...


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
    if not aliases:
        # By the lists of `plain` where the grammar is not loaded yet, by the real tables where it is.
        tables = getattr(modules.get("verdikt.shell.whole"), "runs_nothing", None)
        if (commands := plain(text, tables)) is not None:
            return Script(text=text, commands=commands)
    return _whole()(text, home=home, cwd=cwd, env=env, read=read, aliases=aliases, script=script)


@cache
def _whole() -> _Look:
    # The whole grammar is loaded only for what is more than plain words.
    from verdikt.shell.whole import look

    return look
