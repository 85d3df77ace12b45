"""Read single entries of git's index file without starting git.

Only version 2 is read, which git writes by default; every other gives None, and git is asked. Names are searched for in
the mapped file, so that an index with a million entries is not parsed.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Iterable
from typing import NamedTuple

from verdikt.observe.held_databases import open_unheld

MAX_ENTRIES = 2000
"""Entries below one name that are read."""
MAX_OCCURRENCES = 10_000
"""Places at which the bytes of a name are looked at; most are the ends of longer paths."""

_HEADER = struct.Struct(">10I20sH")
_NAME_OFFSET = _HEADER.size
_FIRST_ENTRY = 12
_MODES = frozenset((0o100644, 0o100755, 0o120000, 0o160000))
_LONG_NAME = 0xFFF
_SPECIAL_FLAGS = 0xF000
"""Assumed unchanged, extended, or one side of a conflict."""


class IndexEntry(NamedTuple):
    """A file as the index has it: what was staged, and what the file looked like then."""

    mode: int
    object_id: str
    ctime_ns: int
    mtime_ns: int
    inode: int
    size: int


def read_index_entries(path: str, names: Iterable[str]) -> dict[str, IndexEntry] | None:
    """Return path → entry of everything at or below these names at the top; None when git has to be asked."""
    try:
        with (
            open(path, "rb", opener=open_unheld) as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as index,
        ):
            if index[:8] != b"DIRC\0\0\0\x02":
                return None
            entries: dict[str, IndexEntry] = {}
            for name in names:
                entries |= _read_below(index, os.fsencode(name))
    except (OSError, ValueError, struct.error):
        return None
    return entries


def _read_below(index: mmap.mmap, name: bytes) -> dict[str, IndexEntry]:
    """Return the entries of a file, or those below a directory, which follow each other; `ValueError` on doubt."""
    # A file of a name that is longer by `.` or `-` sorts between the two, so each is searched for by itself.
    entries: dict[str, IndexEntry] = {}
    for prefix, is_directory in ((name + b"\0", False), (name + b"/", True)):
        position = _find_first(index, prefix)
        while position is not None:
            path, entry, following = _parse_entry(index, position)
            if not (path.startswith(prefix) if is_directory else path == name):
                break
            entries[os.fsdecode(path)] = entry
            if len(entries) > MAX_ENTRIES:
                raise ValueError("too many entries")
            # After the last entry come the extensions.
            position = following if _is_entry(index, following) else None
    return entries


def _find_first(index: mmap.mmap, prefix: bytes) -> int | None:
    """Return where the first entry begins whose name starts with these bytes."""
    found = index.find(prefix, _FIRST_ENTRY)
    for _ in range(MAX_OCCURRENCES):
        if found < 0:
            return None
        start = found - _NAME_OFFSET
        if _is_entry(index, start):
            return start
        found = index.find(prefix, found + 1)
    raise ValueError("too many paths that end alike")


def _is_entry(index: mmap.mmap, start: int) -> bool:
    """Return whether an entry begins here: aligned, with the mode of a file and the length of its name."""
    # The mode has zero bytes, which no path has, and the length is of the name's own: neither comes about within the
    # path or the object id of another entry.
    if start < _FIRST_ENTRY or (start - _FIRST_ENTRY) % 8:
        return False
    if int.from_bytes(index[start + 24 : start + 28], "big") not in _MODES:
        return False
    length = int.from_bytes(index[start + 60 : start + 62], "big") & _LONG_NAME
    end = index.find(b"\0", start + _NAME_OFFSET)
    return min(end - start - _NAME_OFFSET, _LONG_NAME) == length


def _parse_entry(index: mmap.mmap, start: int) -> tuple[bytes, IndexEntry, int]:
    """Return name and content of the entry at a position, and the position of the next one."""
    numbers = _HEADER.unpack_from(index, start)
    ctime, ctime_part, mtime, mtime_part, _, inode, mode, _, _, size, object_id, flags = numbers
    if flags & _SPECIAL_FLAGS:
        raise ValueError("an entry that only git can interpret")
    end = index.find(b"\0", start + _NAME_OFFSET)
    entry = IndexEntry(mode, object_id.hex(), ctime * 10**9 + ctime_part, mtime * 10**9 + mtime_part, inode, size)
    length = end - start
    return index[start + _NAME_OFFSET : end], entry, start + length + 8 - length % 8
