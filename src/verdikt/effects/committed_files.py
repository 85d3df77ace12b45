"""Files that the session filled with what a commit has, for when one of them replaces uncommitted changes later."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from verdikt.effects.zone_effects import derive_effect
from verdikt.knowledge import join_role
from verdikt.model.effect import Effects
from verdikt.model.lazy_regex import compile_lazily
from verdikt.model.session_state import value_key

if TYPE_CHECKING:
    from verdikt.model.facts import Facts

COMMITTED_KEY = value_key("trail", "committed")
"""Files outside the project that hold a version from a commit: path → seq."""
_MAX_FILES = 12
_PRINTS_VERSION = compile_lazily(
    rf"^(?:{join_role('work_tree_changer')})\s(?:-\S+\s+(?:\S+\s+)??)*(?:show|cat-file)\s.*\S:\S"
)


def note_committed_files(effects: Effects, facts: Facts, seq: int) -> dict[str, Any]:
    """Return what the memory keeps of files that a command filled with a version from a commit."""
    paths = [
        target.path
        for effect in effects.items
        if effect.what in ("fs.write", "fs.overwrite") and _PRINTS_VERSION.match(effect.by)
        for target in effect.targets
        if target.path and not target.path.startswith(facts.project_root + "/")
    ]
    if not paths:
        return {}
    before = facts.recall(COMMITTED_KEY)
    rows = {**(before if isinstance(before, Mapping) else {}), **dict.fromkeys(paths, seq)}
    return {COMMITTED_KEY: dict(list(rows.items())[-_MAX_FILES:])}


def add_discarded_changes(effects: Effects, facts: Facts) -> Effects:
    """Return the effects with `git.discard` where such a file is put over uncommitted changes: `cp /tmp/x.py x.py`."""
    # A loop and no generator: nearly every action comes through here, and few overwrite anything.
    for effect in effects.items:
        if effect.what == "fs.overwrite":
            break
    else:
        return effects
    overwrites = [
        effect
        for effect in effects.items
        if effect.what == "fs.overwrite" and any(target.state == "modified" for target in effect.targets)
    ]
    rows = facts.recall(COMMITTED_KEY) if overwrites else None
    if not isinstance(rows, Mapping):
        return effects
    sources = {
        effect.by: rows[target.path]
        for effect in effects.items
        if effect.what in ("fs.read", "fs.move")
        for target in effect.targets
        if target.path in rows
    }
    added = [
        derive_effect(
            "git.discard", effect, effect.targets, note=f"by a version that was written at #{sources[effect.by]}"
        )
        for effect in overwrites
        if effect.by in sources
    ]
    return Effects((*effects.items, *added)) if added else effects
