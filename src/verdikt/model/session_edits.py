"""What a session's memory knows of the files that the session's own actions create and edit.

A file that it created has a mark, so that the same session may delete it again. For an edited file there is one
`BASE.TIP`: digests of its content before the first edit and after the last one. While the file on disk is the tip and
git's version is the base, only this session changed it, and undoing the edit loses nothing else.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from verdikt.model.action import ActionKind
from verdikt.model.effect import Zone
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


def mark_created_files(writes: Iterable[Effect]) -> dict[str, str]:
    """Return a mark for each file that an action's `FILE_WRITES` create, so that the same session may delete it."""
    paths = [
        target.path
        for effect in writes
        for target in effect.targets
        if target.state == "absent" and target.zone is Zone.PROJECT and target.path
    ]
    return {mark_key("made", path): "1" for path in paths[:_MAX_CREATED_MARKS]}


def mark_edit(action: Action, facts: Facts, update_mark: Callable[[str, str], str]) -> dict[str, str]:
    """Return the mark about the file that a native tool edits, with its content as it is now."""
    if action.kind is not ActionKind.WRITE or not action.path:
        return {}
    path = posixpath.normpath(posixpath.join(facts.cwd, action.path))
    # Only in the project, where git can restore a file; a new file has its own mark. Nothing huge is read for this.
    is_small = path.startswith(facts.project_root + "/") and facts.path(path, git=False).size <= _MAX_EDITED_BYTES
    if not is_small or not (stamp := facts.content_stamp(path)):
        return {}
    key = edit_mark_key(path)
    return {key: update_mark(str(facts.memory_value(key) or ""), stamp)}


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
