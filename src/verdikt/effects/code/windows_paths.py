"""Classify effects on Windows paths, which cannot be looked at from here, by how the paths begin."""

import re
from collections.abc import Iterator

from verdikt.effects.arguments import word_set
from verdikt.effects.effect_catalog import find_entry
from verdikt.effects.invocation import Invocation
from verdikt.model.effect import Certainty, Effect, Target, Zone
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import UNKNOWN, Word

_SYSTEM_PATH = compile_lazily(
    r"(?i)^(?:[a-z]:[\\/]*(?:\*|windows|program|users(?:[\\/][\w.]+)?[\\/]*\*?$|$)|\$env:(?:systemroot|windir"
    r"|programfiles|systemdrive|userprofile|homepath|homedrive)"
    r"|%(?:systemroot|windir|systemdrive|userprofile|programfiles|homepath)%|~[\\/]*\*?$|\$home[\\/]*\*?$|/$)"
)
_ABSOLUTE_PATH = compile_lazily(r"(?i)^(?:[a-z]:[\\/]|\\\\|\$env:|%|~|/|\$home)")
_HOME_PREFIX = compile_lazily(
    r"(?i)^(?:~|\$home|\$\{home\}|\$env:home|\$\{env:home\}|\$\{?env:userprofile\}?|%userprofile%)(?=[\\/][^*])"
)
"""A home in front of a name: the rest can be looked at like any path in it."""
REGISTRY_PATH = compile_lazily(r"(?i)^(?:hk(?:lm|cu|cr|u|cc):|registry::|hkey_)")
_DRIVE_LETTER = compile_lazily(r"^[A-Za-z]:(?=[\\/])")
_BUILD_NAMES = word_set(
    "node_modules dist build target bin obj out .next coverage __pycache__ .pytest_cache .venv venv packages .vs "
    "testresults"
)


def classify_reads(paths: list[str], call: Invocation) -> list[Effect]:
    """Return the effects of reading Windows paths; homes and secrets have the same names on every drive."""
    return call.make_effects("fs.read", [Word(_DRIVE_LETTER.sub("", path).replace("\\", "/")) for path in paths])


def classify_deletes(paths: list[str], what: str, call: Invocation, *, empty_only: bool = False) -> Iterator[Effect]:
    """Yield the effects of deleting Windows paths; `empty_only` for `rd`, which deletes empty directories only."""
    for path in paths[:8]:
        # A value of `-ErrorAction` in an abbreviated spelling.
        if path.lower() in ("silentlycontinue", "stop", "ignore"):
            continue
        if REGISTRY_PATH.match(path):
            yield call.make_effect("reg.delete", (Target(path, "other"),))
            continue
        if _HOME_PREFIX.match(path):
            slashed = _HOME_PREFIX.sub("~", path).replace("\\", "/")
            yield from call.make_effects(what, [Word(slashed, slashed, "*" in slashed or "?" in slashed)])
            continue
        # Only a relative path can be looked at: the project lies on this machine, the drives may not.
        zone = Zone.SYSTEM if _SYSTEM_PATH.match(path) else Zone.OUTSIDE if _ABSOLUTE_PATH.match(path) else Zone.PROJECT
        if zone is Zone.PROJECT and path[:1] not in "$%" and UNKNOWN not in path and not empty_only:
            slashed = path.replace("\\", "/")
            yield from call.make_effects(what, [Word(slashed, slashed, "*" in slashed or "?" in slashed)])
            continue
        built = zone is Zone.PROJECT and re.split(r"[\\/]", path.lstrip(".\\/"))[0] in _BUILD_NAMES
        temporary = re.match(r"(?i)^(?:\$env:temp|%temp%|%tmp%|\$env:tmp|c:\\temp\\|/tmp/)", path) is not None
        uncertain = (path.startswith("$") or UNKNOWN in path) and zone is not Zone.SYSTEM
        yield Effect(
            cls=find_entry(what).cls,
            what=what,
            targets=(
                Target(path, "path", path, Zone.TEMP if temporary else zone, "ignored" if built or empty_only else ""),
            ),
            certainty=Certainty.POSSIBLE if uncertain else Certainty.CERTAIN,
            recoverable=built or empty_only or temporary,
            by=call.command_line,
        )
