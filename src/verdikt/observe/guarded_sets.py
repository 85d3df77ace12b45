"""Look up which guarded paths a copy, an archive, a patch or a git command would change.

Never raises, reads a bounded amount, and answers None where it cannot tell.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from verdikt.model.patch import read_patch_paths
from verdikt.model.path_set import PathSet, PathSetKind, is_within
from verdikt.observe.git_changes import find_git_changes
from verdikt.observe.regular_file import read_regular_file

MAX_PATCH_BYTES = 16 * 1024 * 1024
MAX_COMPARED_BYTES = 1024 * 1024
"""Size of a file whose content is compared; a larger one counts as changed."""
MAX_COMPARED_FILES = 500
"""Number of files of a guarded directory that are compared; of more, it counts as changed."""


def find_guarded_in(path_set: PathSet, guarded: Sequence[str], env: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return the guarded paths that a set would change; None when that cannot be told."""
    if path_set.kind is PathSetKind.GIT:
        return find_git_changes(path_set.path, path_set.arguments, guarded, env)
    handler = _HANDLERS.get(path_set.kind)
    try:
        return None if handler is None else handler(path_set, guarded)
    except (OSError, ValueError):
        return None


def _find_in_copy(path_set: PathSet, guarded: Sequence[str]) -> tuple[str, ...] | None:
    """Return the guarded paths below the destination that the source has, with another content."""
    source = path_set.arguments[0]
    if not os.path.lexists(source):
        return None
    return tuple(place for place in guarded if _would_copy_change(source, path_set.path, place))


def _would_copy_change(source: str, destination: str, place: str) -> bool:
    if is_within(destination, place):
        # Into a guarded directory, or onto a guarded file.
        return not _have_equal_content(source, destination)
    if not is_within(place, destination):
        return False
    candidate = os.path.join(source, os.path.relpath(place, destination))
    if os.path.lexists(candidate):
        return not _have_equal_content(candidate, place)
    # A file or a link of the source in place of a directory above the guarded path hides what is below it.
    parent = os.path.dirname(candidate)
    while len(parent) > len(source):
        if os.path.lexists(parent):
            return os.path.islink(parent) or not os.path.isdir(parent)
        parent = os.path.dirname(parent)
    return False


def _have_equal_content(first: str, second: str) -> bool:
    """Return whether two files, or everything in the first of two directories, have equal content."""
    if os.path.islink(first) or os.path.islink(second):
        return False
    if os.path.isdir(first):
        if not os.path.isdir(second):
            return False
        count = 0
        for directory, _, names in os.walk(first):
            for name in names:
                count += 1
                path = os.path.join(directory, name)
                if count > MAX_COMPARED_FILES or not _are_equal_files(
                    path, os.path.join(second, os.path.relpath(path, first))
                ):
                    return False
        return True
    return _are_equal_files(first, second)


def _are_equal_files(first: str, second: str) -> bool:
    contents = [read_regular_file(path, MAX_COMPARED_BYTES, follow=False) for path in (first, second)]
    return contents[0] is not None and contents[0] == contents[1]


def _find_in_patch(path_set: PathSet, guarded: Sequence[str]) -> tuple[str, ...] | None:
    """Return the guarded paths that a patch file names. The arguments are the file and the value of `-p`."""
    file, strip = path_set.arguments[:2]
    data = read_regular_file(file, MAX_PATCH_BYTES)
    if data is None:
        return None
    patch = read_patch_paths(data.decode("utf-8", "surrogateescape"))
    if not patch.complete:
        return None
    names = patch.strip_paths(int(strip) if strip else None)
    return _match_names((os.path.normpath(os.path.join(path_set.path, name)) for name in names), guarded)


def _find_in_archive(path_set: PathSet, guarded: Sequence[str]) -> tuple[str, ...] | None:
    """Return the guarded paths on which members of an archive come to lie.

    The arguments are the archive, the number of leading directories to strip, and the members to unpack (none: all).
    """
    # tarfile, zipfile and the decompressors are slow to import, and few commands unpack anything.
    from verdikt.observe.archive import list_members

    archive, strip, *selected = path_set.arguments
    members = list_members(archive)
    if members is None:
        return None
    return _match_names(_place_members(members, path_set.path, int(strip or 0), selected), guarded)


def _place_members(members: Iterable[str], directory: str, strip: int, selected: Sequence[str]) -> Iterator[str]:
    chosen = [name.strip("/").removeprefix("./") for name in selected]
    for member in members:
        name = os.path.normpath(member)
        if chosen and not any(is_within(name, choice) for choice in chosen):
            continue
        parts = name.lstrip("/").split("/")[strip:]
        if parts:
            yield os.path.normpath(os.path.join(directory, *parts))


def _match_names(paths: Iterable[str], guarded: Sequence[str]) -> tuple[str, ...]:
    """Return the guarded paths at or above one of these paths."""
    exact = set(guarded)
    met: dict[str, None] = {}
    for path in paths:
        place = path
        while len(place) > 1:
            if place in exact:
                met[place] = None
            place = os.path.dirname(place)
    return tuple(met)


_HANDLERS: dict[PathSetKind, Callable[[PathSet, Sequence[str]], tuple[str, ...] | None]] = {
    PathSetKind.COPY: _find_in_copy,
    PathSetKind.PATCH: _find_in_patch,
    PathSetKind.ARCHIVE: _find_in_archive,
}
