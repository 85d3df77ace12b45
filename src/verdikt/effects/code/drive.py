"""Paths of Windows, which nobody here can look at: they are judged by how they begin."""

import re
from collections.abc import Iterator

from verdikt.effects.argument import words
from verdikt.effects.call import Call
from verdikt.effects.name import named
from verdikt.model.effect import Certainty, Effect, Target, Zone
from verdikt.model.regex import regex
from verdikt.shell.command import UNKNOWN, Word

_SYSTEM = regex(
    r"(?i)^(?:[a-z]:[\\/]*(?:\*|windows|program|users(?:[\\/][\w.]+)?[\\/]*\*?$|$)|\$env:(?:systemroot|windir|programfiles|systemdrive|userprofile|homepath|homedrive)"
    r"|%(?:systemroot|windir|systemdrive|userprofile|programfiles|homepath)%|~[\\/]*\*?$|\$home[\\/]*\*?$|/$)"
)
_ABSOLUTE = regex(r"(?i)^(?:[a-z]:[\\/]|\\\\|\$env:|%|~|/|\$home)")
REGISTRY = regex(r"(?i)^(?:hk(?:lm|cu|cr|u|cc):|registry::|hkey_)")


def reads(paths: list[str], call: Call) -> list[Effect]:
    """A reading of Windows paths; on whichever drive they lie, homes and what is secret there are called the same."""
    return call.on("fs.read", [Word(_DRIVE.sub("", path).replace("\\", "/")) for path in paths])


_DRIVE = regex(r"^[A-Za-z]:(?=[\\/])")


def deletes(paths: list[str], what: str, call: Call, *, empty: bool = False) -> Iterator[Effect]:
    """A deletion of Windows paths, which nobody here can look at: they are judged by how they begin."""
    for path in paths[:8]:
        if path.lower() in ("silentlycontinue", "stop", "ignore"):
            continue
        if REGISTRY.match(path):
            yield call.effect("reg.delete", (Target(path, "other"),))
            continue
        zone = Zone.SYSTEM if _SYSTEM.match(path) else Zone.OUTSIDE if _ABSOLUTE.match(path) else Zone.PROJECT
        if zone is Zone.PROJECT and path[:1] not in "$%" and UNKNOWN not in path and not empty:
            slashed = path.replace("\\", "/")
            yield from call.on(what, [Word(slashed, slashed, "*" in slashed or "?" in slashed)])
            continue
        built = zone is Zone.PROJECT and re.split(r"[\\/]", path.lstrip(".\\/"))[0] in _BUILT
        temporary = re.match(r"(?i)^(?:\$env:temp|%temp%|%tmp%|\$env:tmp|c:\\temp\\|/tmp/)", path) is not None
        unsure = (path.startswith("$") or UNKNOWN in path) and zone is not Zone.SYSTEM
        yield Effect(
            cls=named(what).cls,
            what=what,
            targets=(
                Target(path, "path", path, Zone.TEMP if temporary else zone, "ignored" if built or empty else ""),
            ),
            certainty=Certainty.POSSIBLE if unsure else Certainty.CERTAIN,
            recoverable=built or empty or temporary,
            by=call.by,
        )


_BUILT = words(
    "node_modules dist build target bin obj out .next coverage __pycache__ .pytest_cache .venv venv packages .vs testresults"
)
