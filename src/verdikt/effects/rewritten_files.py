"""Files that a text replaces by what it made of them: `jq … x > y && mv y x` edits `x`, as `sed -i` does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from verdikt.model.effect import Effect, Target
    from verdikt.shell.command import Command

_SOURCE_EFFECTS = ("fs.read", "fs.move")
_WRITE_EFFECTS = ("fs.write", "fs.overwrite")


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


def _iter_files(effects: Sequence[Effect], names: Sequence[str]) -> Iterator[str]:
    for effect in effects:
        if effect.what in names:
            yield from map(_name_file, effect.targets)


def _name_file(target: Target) -> str:
    # A temporary file has no known path, and the text calls it by the same variable: `"$tmp"`.
    return target.path or target.text
