"""Files that a text replaces: by what it made of them, as `sed -i` does, or by what a commit has.

`jq … x > y && mv y x` edits `x`; `git show HEAD:x > x` throws its changes away.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from verdikt.effects.zone_effects import derive_effect
from verdikt.knowledge import find_role
from verdikt.model.effect import Zone

if TYPE_CHECKING:
    from verdikt.model.effect import Effect, Target
    from verdikt.shell.command import Command

_SOURCE_EFFECTS = ("fs.read", "fs.move")
_WRITE_EFFECTS = ("fs.write", "fs.overwrite")
_PRINTING_VERBS = frozenset("show cat-file archive".split())
_COMMIT_VERBS = frozenset(("diff", "archive", *_PRINTING_VERBS))
_UNPACKERS = find_role("tape_archiver")
_PATCHERS = find_role("patcher")
TREE_CHANGERS = find_role("work_tree_changer")


def downgrade_rewrites(commands: Sequence[Command], effects_by_command: list[list[Effect]]) -> None:
    """Turn the overwrite of a file by another that was made of it into a write.

    What a filter printed counts only under `&&`: one that failed has printed nothing, and the file would be empty.
    """
    sources: list[set[str]] = []
    origins: dict[str, set[str]] = {}  # file → the files that its content was made of
    filtered: set[str] = set()
    for command, effects in zip(commands, effects_by_command, strict=True):
        own_sources = set(_iter_files(effects, _SOURCE_EFFECTS))
        if command.pipe_from is not None and command.pipe_from < len(sources):
            own_sources |= sources[command.pipe_from]
        sources.append(own_sources)
        made_of = {
            origin
            for source in own_sources
            if command.conditional or source not in filtered
            for origin in origins.get(source, ())
        }
        for position, effect in enumerate(effects):
            if effect.what == "fs.overwrite" and effect.targets and made_of.issuperset(map(_name_file, effect.targets)):
                effects[position] = effect._replace(what="fs.write", recoverable=True)
        for file in _iter_files(effects, _WRITE_EFFECTS):
            origins[file] = own_sources - {file}
            (filtered.add if command.redirects else filtered.discard)(file)


def may_print_commit(command: Command) -> bool:
    """Return whether a command may print what a commit has: one of git with the verb for it, wherever that stands."""
    if command.name not in TREE_CHANGERS:
        return False
    for word in command.argv:  # noqa: SIM110  a generator costs more than the tests of most commands
        if word.text in _COMMIT_VERBS:
            return True
    return False


def mark_discarded_changes(commands: Sequence[Command], effects_by_command: list[list[Effect]]) -> None:
    """Add `git.discard` where a file with uncommitted changes is replaced by what a commit has of it.

    Also by way of a file: `git show HEAD:x > y; cp y x`, and for `git archive | tar -x` and `git diff | patch -R`.
    """
    prints: list[bool] = []
    made: set[str] = set()
    for command, effects in zip(commands, effects_by_command, strict=True):
        is_fed = command.pipe_from is not None and command.pipe_from < len(prints) and prints[command.pipe_from]
        is_printed = is_fed or _prints_commit(command)
        prints.append(is_printed)
        from_commit = is_printed or not made.isdisjoint(_iter_files(effects, _SOURCE_EFFECTS))
        if not from_commit:
            continue
        made.update(_iter_files(effects, _WRITE_EFFECTS))
        lost = [t for e in effects if e.what == "fs.overwrite" for t in e.targets if t.state == "modified"]
        if not lost and is_fed and (command.name in _UNPACKERS or _reverses_patch(command)):
            lost = [t for e in effects if e.what == "fs.write" for t in e.targets if t.zone is Zone.PROJECT]
        if lost:
            effects.append(derive_effect("git.discard", effects[0], tuple(lost)))


def _prints_commit(command: Command) -> bool:
    """Return whether a git command prints files of a commit, or the changes since then."""
    words = [word.text for word in command.argv[1:]] if command.name in TREE_CHANGERS else []
    verb = next((word for word in words if not word.startswith("-")), "")
    if verb == "diff":
        return True
    return verb == "archive" or (verb in _PRINTING_VERBS and any(":" in word for word in words))


def _reverses_patch(command: Command) -> bool:
    return command.name in _PATCHERS and any(word.text in ("-R", "--reverse") for word in command.argv[1:])


def _iter_files(effects: Sequence[Effect], names: Sequence[str]) -> Iterator[str]:
    for effect in effects:
        if effect.what in names:
            yield from map(_name_file, effect.targets)


def _name_file(target: Target) -> str:
    # A temporary file has no known path, and the text calls it by the same variable: `"$tmp"`.
    return target.path or target.text
