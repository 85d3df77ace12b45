"""Where files that the session wrote come to lie when a directory that holds them is moved, or an archive unpacked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from posixpath import basename

from verdikt.model.effect import Effect

MAX_NAMES = 8
"""Number of files that are remembered of one archive."""

_SOURCE_EFFECTS = ("fs.read", "fs.move", "fs.list")
_DESTINATION_EFFECTS = ("fs.write", "fs.overwrite", "fs.link", "fs.install")
_ARCHIVE_ENDINGS = (".tar", ".tgz", ".gz", ".bz2", ".xz", ".zst", ".zip", ".7z", ".jar", ".whl", ".bundle", ".cpio")


class CarriedFiles:
    """What one action does to the places of known files.

    `paths` are files that may have come into being as copies; `archives` maps an archive to names of files in it.
    """

    def __init__(
        self, effects: Iterable[Effect], known: Collection[str], archives: Mapping[str, Collection[str]]
    ) -> None:
        self.paths: list[str] = []
        self.archives: dict[str, list[str]] = {}
        by_command: dict[str, list[Effect]] = {}
        for effect in effects:
            by_command.setdefault(effect.by, []).append(effect)
        for command, group in by_command.items():
            destinations = list(_iter_paths(group, _DESTINATION_EFFECTS))
            for source in _iter_paths(group, _SOURCE_EFFECTS) if destinations else ():
                self._carry_tree(source, destinations, known)
            for archive, names in {**archives, **self.archives}.items() if destinations else ():
                # Few programs say that they read an archive; its name is among their words.
                if basename(archive) in command and archive not in destinations:
                    self.paths += [f"{place}/{name}" for place in destinations for name in _vary_names(names)]

    def _carry_tree(self, source: str, destinations: list[str], known: Collection[str]) -> None:
        for path in known:
            if path == source or not path.startswith(f"{source}/"):
                continue
            inside = path[len(source) + 1 :]
            for destination in destinations:
                if destination.endswith(_ARCHIVE_ENDINGS):
                    names = self.archives.setdefault(destination, [])
                    names += [f"{basename(source)}/{inside}"] if len(names) < MAX_NAMES else []
                else:
                    self.paths += [f"{destination}/{inside}", f"{destination}/{basename(source)}/{inside}"]


def _iter_paths(effects: Iterable[Effect], names: tuple[str, ...]) -> Iterator[str]:
    for effect in effects:
        if effect.what in names:
            yield from (target.path for target in effect.targets if target.path)


def _vary_names(names: Collection[str]) -> Iterator[str]:
    """Yield the names in an archive as they are, and without their first directory, which options may strip."""
    for name in names:
        yield name
        yield name.partition("/")[2]
