"""What a session's memory knows of the files that the session's own actions create and edit.

A file that it created has a mark, so that the same session may delete it again. For an edited file there is one
`BASE.TIP`: digests of its content before the first edit and after the last one. While the file on disk is the tip and
git's version is the base, only this session changed it, and undoing the edit loses nothing else.

A file tool names its file again when it reports its outcome. A shell command does not say what it edits, so the files
that it may edit are kept until then, those of the newest such command only. One that it leaves alone does no harm: its
content before and after is the same.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from verdikt.model.action import ActionKind
from verdikt.model.effect import Zone
from verdikt.model.patch import read_patch_paths
from verdikt.model.session_state import mark_key

if TYPE_CHECKING:
    from verdikt.model.action import Action
    from verdikt.model.effect import Effect
    from verdikt.model.facts import Facts

FILE_WRITES = ("fs.write", "fs.append")
"""The effects that may create files."""

# Marks of one command. A session keeps 256, and one command that creates many files must not drop all older ones.
_MAX_CREATED_MARKS = 16
_MAX_EDITED_BYTES = 1024 * 1024
_CREATED_ZONES = (Zone.PROJECT, Zone.SECRET)

OPEN_EDITS_KEY = "open_edits"
"""The value of the memory that holds the files of the newest shell command that may edit some."""

MAX_EDIT_SECONDS = 5
"""A command that took longer is not known to be the only one that wrote its files meanwhile."""

_EDITS = ("fs.write", "fs.append", "fs.overwrite")
SHELL_EDITS = (*_EDITS, "git.write")
"""The effects of a command that may edit files; `git apply` has the last one."""

# What may stand beside an edit. Anything else could bring a person's own work into the file and remove it elsewhere, as
# `mv`, `git stash pop` and every unknown program can; then the edit must not be undone.
_BESIDE_EDITS = (*_EDITS, "fs.read", "git.read")
_PATCH_ENDINGS = (".patch", ".diff")


def mark_created_files(writes: Iterable[Effect], moved_paths: Container[str] = ()) -> dict[str, str]:
    """Return a mark for each file that an action's `FILE_WRITES` create, so that the same session may delete it.

    `moved_paths` are those at which the file was only moved to.
    """
    paths = [
        target.path
        for effect in writes
        for target in effect.targets
        if target.state == "absent" and target.zone in _CREATED_ZONES and target.path and target.path not in moved_paths
    ]
    return {mark_key("made", path): "1" for path in paths[:_MAX_CREATED_MARKS]}


def mark_edit(action: Action, facts: Facts, update_mark: Callable[[str, str], str]) -> dict[str, str]:
    """Return the mark about the file that a native tool edits, with its content as it is now."""
    if action.kind is not ActionKind.WRITE or not action.path:
        return {}
    return _update_edit_mark(posixpath.normpath(posixpath.join(facts.cwd, action.path)), facts, update_mark)


def _update_edit_mark(path: str, facts: Facts, update_mark: Callable[[str, str], str]) -> dict[str, str]:
    # Only in the project, where git can restore a file; a new file has its own mark. Nothing huge is read for this.
    is_small = path.startswith(facts.project_root + "/") and facts.path(path, git=False).size <= _MAX_EDITED_BYTES
    if not is_small or not (stamp := facts.content_stamp(path)):
        return {}
    key = edit_mark_key(path)
    return {key: update_mark(str(facts.memory_value(key) or ""), stamp)}


def begin_shell_edits(action: Action, effects: Iterable[Effect], facts: Facts, now: float) -> dict[str, Any]:
    """Return the marks of the files that a shell command may edit, and the value that names them."""
    if action.kind is not ActionKind.BASH:
        return {}
    listed = tuple(effects)
    is_patch = "patch" in action.command or "git apply" in action.command
    is_edit = is_patch or any(effect.what in _EDITS for effect in listed)
    if not is_edit or not all(map(_may_stand_beside_edit, listed)):
        return {}
    paths = [target.path for effect in listed if effect.what in _EDITS for target in effect.targets if target.path]
    if is_patch:
        paths += _list_patched_paths(action.command, facts)
    marks: dict[str, Any] = {}
    edited = []
    for path in list(dict.fromkeys(paths))[:_MAX_CREATED_MARKS]:
        if mark := _update_edit_mark(path, facts, begin_edit):
            marks |= mark
            edited.append(path)
    value = {"call": _identify_call(action), "at": int(now), "paths": edited}
    return marks | {OPEN_EDITS_KEY: value} if edited else {}


def find_open_edits(action: Action, memory: Mapping[str, Any], now: float) -> list[str]:
    """Return the files that this shell command may have edited just now."""
    value = memory.get(OPEN_EDITS_KEY) if action.kind is ActionKind.BASH else None
    if not isinstance(value, dict) or value.get("call") != _identify_call(action):
        return []
    is_recent = 0 <= now - value.get("at", 0) <= MAX_EDIT_SECONDS + 1
    return [str(path) for path in value.get("paths", ())] if is_recent else []


def end_shell_edits(paths: Iterable[str], facts: Facts) -> dict[str, Any]:
    """Return the marks about the files that a shell command may have edited, with their content as it is now."""
    marks: dict[str, Any] = {OPEN_EDITS_KEY: None}
    for path in paths:
        marks |= _update_edit_mark(path, facts, end_edit)
    return marks


def _may_stand_beside_edit(effect: Effect) -> bool:
    return effect.what in _BESIDE_EDITS or (effect.what == "git.write" and effect.by.startswith("git apply"))


def _identify_call(action: Action) -> str:
    # A host without ids for its calls reports the command again.
    return (action.call_id or action.command)[:200]


def _list_patched_paths(command: str, facts: Facts) -> Iterator[str]:
    """Yield the files that the patches in a command, and in files that it names, may change."""
    names = [word.strip("<\"'") for word in command.split() if word.strip("\"'").endswith(_PATCH_ENDINGS)]
    texts = [command, *(facts.text(posixpath.join(facts.cwd, name)) or "" for name in names[:4])]
    for text in texts:
        patch = read_patch_paths(text)
        for name in dict.fromkeys((*patch.strip_paths(1), *patch.strip_paths(0))):
            # `patch` takes names from where it is, `git apply` from the top.
            for directory in dict.fromkeys((facts.cwd, facts.project_root)):
                yield posixpath.normpath(posixpath.join(directory, name))


def edit_mark_key(path: str) -> str:
    """Return the key of the mark about a file."""
    return mark_key("edit", path)


def begin_edit(mark: str, stamp: str) -> str:
    """Return the mark before an edit of a file whose content has this digest."""
    base, tip = parse_edit_mark(mark)
    # A content that is not the last tip comes from elsewhere, so it is what this edit starts from.
    return f"{base if tip and stamp == tip else stamp}."


def end_edit(mark: str, stamp: str) -> str:
    """Return the mark after an edit that left this content; empty when its beginning was not seen."""
    base, _ = parse_edit_mark(mark)
    return f"{base}.{stamp}" if base and stamp else ""


def parse_edit_mark(mark: object) -> tuple[str, str]:
    """Return base and tip; empty texts for what is not known."""
    base, _, tip = str(mark or "").partition(".")
    return base, tip
