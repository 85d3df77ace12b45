"""Find which well-known secret a pattern of a shell may match: `cat ~/.*/credentials`, `cat .e*`."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from functools import cache

from verdikt.effects import zone_tables

_PROJECT_SECRETS = (".env", ".env.local", ".env.production", ".netrc", ".pgpass")
_OWN_KEYS = ("~/.local/share/verdikt/keys/x.key", "~/Library/Application Support/verdikt/keys/x.key")
_LOGIN_KEYS = ("~/.ssh/id_rsa", "~/.ssh/id_ed25519")
_WILDCARDS = frozenset("*?[")


def find_matched_secret(path: str, home: str, exists: Callable[[str], bool]) -> str:
    """Return the path of a secret that a pattern may match: one of a home, or one that is there beside it; else ``""``.

    `exists` tells whether there is a file at a path. A pattern for whatever there is (`~/.config/*`) is about none.
    """
    directory, _, name = path.rpartition("/")
    short = f"~{path[len(home) :]}" if home and path.startswith(f"{home}/") else path
    if short.startswith("~/") and (match := _find_home_secret(short)):
        return f"{home}{match[1:]}"
    if name.startswith(".") and not _WILDCARDS.intersection(directory):
        files = (f"{directory}/{secret}" for secret in _PROJECT_SECRETS if _matches(name, secret))
        return next((file for file in files if exists(file)), "")
    return ""


def _find_home_secret(pattern: str) -> str:
    first = pattern[2:].partition("/")[0]
    # A name without wildcards leaves none of them for most patterns: `~/project/src/*.py`.
    secrets = _group_home_secrets().get(first) if _WILDCARDS.isdisjoint(first) else _list_home_secrets()
    return next((secret for secret in secrets if _matches(pattern, secret)), "") if secrets else ""


@cache
def _group_home_secrets() -> dict[str, tuple[str, ...]]:
    """Return the secrets of a home by the first name in it: `.ssh`."""
    groups: dict[str, tuple[str, ...]] = {}
    for secret in _list_home_secrets():
        first = secret[2:].partition("/")[0]
        groups[first] = (*groups.get(first, ()), secret)
    return groups


@cache
def _list_home_secrets() -> tuple[str, ...]:
    """Return the secrets of a home that have a name of their own, those of verdikt first."""
    globs = (glob for glob in zone_tables.SECRET_GLOBS.split() if glob.startswith("~/") and "*" not in glob)
    return (*_OWN_KEYS, *_LOGIN_KEYS, *(glob for glob in globs if "?" not in glob))


def _matches(pattern: str, path: str) -> bool:
    """Return whether a path fits a pattern as shells see it: segment by segment, and dots only by dots."""
    parts, names = pattern.split("/"), path.split("/")
    if len(parts) != len(names) or (parts[-1] == "*" and path not in _OWN_KEYS + _LOGIN_KEYS):
        return False
    return all(
        fnmatchcase(name, part) and (name[:1] != "." or part[:1] == ".")
        for part, name in zip(parts, names, strict=True)
    )
