"""Lists of what git leaves out: what a session adds to them does not make work of the project disposable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from posixpath import dirname, relpath
from typing import TYPE_CHECKING, Any

from verdikt.model.facts import IGNORE_LISTS_KEY

if TYPE_CHECKING:
    from verdikt.model.effect import Effects
    from verdikt.model.facts import Facts

_LISTS = ("/.gitignore", "/.git/info/exclude")
_CHANGES = ("fs.write", "fs.append", "fs.overwrite")
_MAX_LISTS = 4
_MAX_LINES = 200


def note_ignore_lists(effects: Effects, facts: Facts) -> dict[str, Any]:
    """Return what the memory keeps of lists that an action changes: the lines that they had before the session."""
    paths = [
        target.path
        for effect in effects.items
        if effect.what in _CHANGES
        for target in effect.targets
        if target.path.endswith(_LISTS)
    ]
    before = facts.recall(IGNORE_LISTS_KEY) if paths else None
    lists: dict[str, Any] = dict(before) if isinstance(before, Mapping) else {}
    for path in paths:
        lines = (facts.text(path) or "").splitlines()
        if path not in lists and len(lines) <= _MAX_LINES and len(lists) < _MAX_LISTS:
            lists[path] = lines
    return {IGNORE_LISTS_KEY: lists} if lists and lists != before else {}


def is_newly_ignored(path: str, facts: Facts) -> bool:
    """Return whether git leaves a path out only because of lines that the session added."""
    lists = facts.recall(IGNORE_LISTS_KEY)
    for place, lines in lists.items() if isinstance(lists, Mapping) else ():
        top = dirname(place).removesuffix("/.git/info")
        if path.startswith(top + "/"):
            name = relpath(path, top)
            now = (facts.text(place) or "").splitlines()
            if is_ignored(name, now) and not is_ignored(name, lines):
                return True
    return False


def is_ignored(name: str, lines: Iterable[str]) -> bool:
    """Return whether the last pattern that matches a path, or a directory above it, leaves it out."""
    parts = name.split("/")
    above = ["/".join(parts[:end]) for end in range(1, len(parts) + 1)]
    result = False
    for line in lines:
        pattern = line.strip().lstrip("!").rstrip("/")
        if pattern and line[:1] != "#" and _matches(pattern, parts, above):
            result = not line.startswith("!")
    return result


def _matches(pattern: str, parts: Sequence[str], above: Sequence[str]) -> bool:
    # Without a slash in it, a pattern matches a name at any depth.
    places = above if "/" in pattern else parts
    return any(fnmatchcase(place, pattern.lstrip("/")) for place in places)
