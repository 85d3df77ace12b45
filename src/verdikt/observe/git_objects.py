"""Read refs, commits and trees of a repository without starting git, which would take longer than the whole decision.

Only what is plain is read: SHA-1, refs as files or in `packed-refs`, objects as files or in packs. Everything else
gives None, and git is asked.
"""

from __future__ import annotations

import mmap
import os
import zlib
from bisect import bisect_left
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from verdikt.model.lazy_regex import compile_lazily
from verdikt.model.path_set import is_within
from verdikt.observe.held_databases import open_unheld
from verdikt.observe.regular_file import read_regular_file
from verdikt.observe.watched_files import WatchedFiles

MAX_OBJECT_BYTES = 4 * 1024 * 1024
MAX_PACKED_REFS_BYTES = 8 * 1024 * 1024
MAX_PACKS = 16
MAX_DELTA_DEPTH = 60
MAX_ANCESTORS = 50
MAX_TREE_FILES = 2000
MAX_CACHED_COMMITS = 128

_PLAIN_NAME = compile_lazily(r"(?!.*(?:\.\.|//|@\{|\.lock(?:/|$)))[A-Za-z0-9_][A-Za-z0-9_./+-]*")
_HEX_ID = compile_lazily(r"[0-9a-f]{40}")
_ANCESTRY = compile_lazily(r"(.*?)((?:~[0-9]{0,2}|\^[1-9]?)*)")
_ANCESTOR_STEP = compile_lazily(r"([~^])([0-9]*)")
_COMMIT, _TREE, _BLOB = 1, 2, 3
_OFFSET_DELTA, _REFERENCE_DELTA = 6, 7
_TYPE_NAMES = {b"commit": _COMMIT, b"tree": _TREE, b"blob": _BLOB}
_DIRECTORY_MODE = b"40000"


class Repository(NamedTuple):
    """The directories of a repository: its own, and the one that it shares with other work trees."""

    directory: str
    common: str
    watched: WatchedFiles
    """The files that were read; objects are not among them, because their names are digests of their contents."""

    def read(self, directory: str, name: str, max_bytes: int) -> bytes | None:
        """Return the content of a small file below one of the directories, and watch it; None when there is none."""
        path = f"{directory}/{name}"
        # Most of the names that are tried do not exist, and opening costs more than the look that watching takes.
        return read_regular_file(path, max_bytes) if self.watched.add(path) is not None else None


def find_repository(root: str, watched: WatchedFiles | None = None) -> Repository | None:
    """Return the repository of a work tree; None when it is not a plain one."""
    watched = watched if watched is not None else WatchedFiles()
    directory = os.path.join(root, ".git")
    # A directory changes with every lock in it; what may stand in its place is a file, whose link is followed below.
    link = read_regular_file(directory, 4096)
    watched.add(f"{directory}/HEAD")
    if link is not None:
        if not link.startswith(b"gitdir: "):
            return None
        watched.add(directory)
        directory = os.path.join(root, os.fsdecode(link[8:].strip()))
    has_common = watched.add(f"{directory}/commondir") is not None
    shared = read_regular_file(f"{directory}/commondir", 4096) if has_common else None
    common = os.path.join(directory, os.fsdecode(shared.strip())) if shared is not None else directory
    # Another hash or another store of refs: git knows. Neither can be changed without a new HEAD, so the settings are
    # not watched.
    repository = Repository(directory, common, watched)
    settings = read_regular_file(f"{common}/config", 1024 * 1024)
    if settings is None or b"extensions" in settings.lower():
        return None
    # An object that replaces another would be read by git and not here.
    if watched.add(f"{common}/refs/replace") is not None:
        return None
    if b" refs/replace/" in (repository.read(common, "packed-refs", MAX_PACKED_REFS_BYTES) or b""):
        return None
    return repository


def read_guarded_ids(repository: Repository, revision: str, names: frozenset[str]) -> Mapping[str, bytes] | None:
    """Return name → id of entries at the top of a commit's tree; None when git has to be asked.

    A name that the tree does not have is left out. The id of a directory changes with anything in it.
    """
    try:
        return _read_commit_entries(repository.common, resolve_revision(repository, revision), names)
    except ValueError:
        return None


def list_tree_files(
    repository: Repository, revision: str, names: tuple[str, ...]
) -> Mapping[str, tuple[int, str]] | None:
    """Return path → mode and id of the files of a commit at or below these names; None when git has to be asked."""
    try:
        return _list_commit_files(repository.common, resolve_revision(repository, revision), names)
    except ValueError:
        return None


# A commit always has the same content, and what cannot be read is an error and not cached.
@lru_cache(maxsize=MAX_CACHED_COMMITS)
def _read_commit_entries(common: str, commit: str, names: frozenset[str]) -> Mapping[str, bytes]:
    data = _read_object(common, _read_commit_field(common, commit, b"tree"), _TREE)
    if data is None:
        raise ValueError("a commit that only git can read")
    return _select_entries(data, {os.fsencode(name) for name in names})


@lru_cache(maxsize=MAX_CACHED_COMMITS)
def _list_commit_files(common: str, commit: str, names: tuple[str, ...]) -> Mapping[str, tuple[int, str]]:
    files: dict[str, tuple[int, str]] = {}
    _collect_tree_files(common, _read_commit_field(common, commit, b"tree"), "", names, files)
    return files


def _collect_tree_files(
    common: str, tree: str, prefix: str, names: tuple[str, ...], files: dict[str, tuple[int, str]]
) -> None:
    """Add the wanted files of one tree, entering only directories that lead to one; raise `ValueError` on doubt."""
    data = _read_object(common, tree, _TREE)
    if data is None:
        raise ValueError("a tree that only git can read")
    wanted = None if any(is_within(prefix, name) for name in names) else _select_children(prefix, names)
    for name, entry in _select_entries(data, wanted).items():
        mode, path, object_id = entry.partition(b" ")[0], f"{prefix}/{name}" if prefix else name, entry[-20:].hex()
        if mode == _DIRECTORY_MODE:
            _collect_tree_files(common, object_id, path, names, files)
        elif any(is_within(path, name) for name in names):
            files[path] = int(mode, 8), object_id
        if len(files) > MAX_TREE_FILES:
            raise ValueError("too many files")


@lru_cache(maxsize=256)
def _select_children(prefix: str, names: tuple[str, ...]) -> set[bytes]:
    """Return the names in a directory that lead to one of the wanted paths."""
    start = f"{prefix}/" if prefix else ""
    return {os.fsencode(name[len(start) :].partition("/")[0]) for name in names if name.startswith(start)}


def read_blob(repository: Repository, object_id: str) -> bytes | None:
    """Return the content of a file in the object store; None when git has to be asked."""
    return _read_object(repository.common, object_id, _BLOB)


def resolve_revision(repository: Repository, name: str) -> str:
    """Return the id of the commit that a plain name means, with `~` and `^`; empty when git has to be asked."""
    match = _ANCESTRY.fullmatch(name)
    base, steps = match.groups() if match else (name, "")
    commit = _resolve_name(repository, base)
    for kind, digits in _ANCESTOR_STEP.findall(steps):
        count, parent = (int(digits or 1), 1) if kind == "~" else (1, int(digits or 1))
        for _ in range(min(count, MAX_ANCESTORS + 1)):
            commit = _read_parent(repository, commit, parent) if commit else ""
        if count > MAX_ANCESTORS:
            return ""
    return commit


def _read_parent(repository: Repository, commit: str, number: int) -> str:
    """Return a parent of a commit; empty when there is none, or git has other parents for it than the commit says."""
    if repository.watched.add(f"{repository.common}/info/grafts") is not None:
        return ""
    return _read_commit_field(repository.common, commit, b"parent", number)


def has_parent(repository: Repository, revision: str, number: int) -> bool:
    """Return whether a commit has a parent of this number, or may have: True when git has to be asked."""
    commit = resolve_revision(repository, revision)
    if repository.watched.add(f"{repository.common}/info/grafts") is not None:
        return True
    return not _read_commit_field(repository.common, commit, b"tree") or bool(
        _read_commit_field(repository.common, commit, b"parent", number)
    )


def _resolve_name(repository: Repository, name: str) -> str:
    if name in ("HEAD", "@"):
        return _read_ref(repository.directory, "HEAD", repository)
    if _HEX_ID.fullmatch(name):
        return name
    if name == "@{upstream}":
        name = _read_upstream(repository)
    elif name.startswith("stash@{"):
        return _read_stash(repository, name[7:-1])
    if not _PLAIN_NAME.fullmatch(name):
        return ""
    if name.startswith("refs/"):
        return _read_ref(repository.common, name, repository)
    # For some commands a file of that name in `.git` comes before the branch.
    directories = dict.fromkeys((repository.directory, repository.common))
    if any(repository.watched.add(f"{directory}/{name}") is not None for directory in directories):
        return ""
    refs = [f"refs/{kind}{name}" for kind in ("", "heads/", "tags/", "remotes/")]
    ids = [found for ref in refs if (found := _read_ref(repository.common, ref, repository))]
    return ids[0] if len(ids) == 1 else ""


def _read_stash(repository: Repository, number: str) -> str:
    """Return the commit of a stash by its number, from the log of the ref, whose last line is the latest."""
    log = repository.read(repository.common, "logs/refs/stash", 1024 * 1024) or b""
    lines = log.decode("utf-8", "replace").splitlines()
    if not number.isdecimal() or int(number) >= len(lines):
        return ""
    commit = lines[-1 - int(number)].partition(" ")[2][:40]
    return commit if _HEX_ID.fullmatch(commit) else ""


def _read_upstream(repository: Repository) -> str:
    """Return the remote branch that the current branch follows; empty when that is not plain."""
    head = (repository.read(repository.directory, "HEAD", 4096) or b"").decode("utf-8", "replace")
    settings = (repository.read(repository.common, "config", 1024 * 1024) or b"").decode("utf-8", "replace")
    branch = head.strip().removeprefix("ref: refs/heads/")
    section = settings.partition(f'[branch "{branch}"]\n')[2].partition("\n[")[0]
    values = {key.strip(): value.strip() for key, _, value in (line.partition("=") for line in section.splitlines())}
    remote, merge = values.get("remote", ""), values.get("merge", "")
    # With another refspec than the usual one, the remote's branches lie elsewhere.
    if not merge.startswith("refs/heads/") or f"fetch = +refs/heads/*:refs/remotes/{remote}/*" not in settings:
        return ""
    return f"refs/remotes/{remote}/{merge.removeprefix('refs/heads/')}"


def _read_ref(directory: str, ref: str, repository: Repository) -> str:
    text = (repository.read(directory, ref, 4096) or b"").decode("ascii", "replace").strip()
    if text.startswith("ref: "):
        target = text[5:]
        return _read_ref(repository.common, target, repository) if _PLAIN_NAME.fullmatch(target) else ""
    if _HEX_ID.fullmatch(text):
        return text
    packed = repository.read(repository.common, "packed-refs", MAX_PACKED_REFS_BYTES) or b""
    end = packed.find(f" {ref}\n".encode())
    found = packed[max(0, end - 40) : end].decode("ascii", "replace") if end >= 40 else ""
    return found if _HEX_ID.fullmatch(found) else ""


def _read_commit_field(common: str, commit: str, field: bytes, number: int = 1) -> str:
    """Return the id in the header of this name and number; empty when there is none, or this is no commit."""
    data = _read_object(common, commit, _COMMIT)
    lines = (data or b"").split(b"\n\n", 1)[0].split(b"\n")
    values = [value for name, _, value in (line.partition(b" ") for line in lines) if name == field]
    return values[number - 1].decode("ascii", "replace") if number <= len(values) else ""


def _select_entries(tree: bytes, names: set[bytes] | None) -> dict[str, bytes]:
    """Return the wanted entries of a tree object (None: all): `mode name NUL id`, one after another."""
    entries = {}
    position = 0
    while position < len(tree):
        end = tree.index(b"\0", position)
        name = tree[position:end].partition(b" ")[2]
        if names is None or name in names:
            # With the mode: a file that becomes a link is another file.
            entries[os.fsdecode(name)] = tree[position:end] + tree[end : end + 21]
        position = end + 21
    return entries


# Objects.


def _read_object(common: str, object_id: str, kind: int) -> bytes | None:
    """Return the content of a commit or tree; None when it is missing, of another kind, or too large."""
    if not _HEX_ID.fullmatch(object_id):
        return None
    objects = os.path.join(common, "objects")
    try:
        loose = read_regular_file(os.path.join(objects, object_id[:2], object_id[2:]), MAX_OBJECT_BYTES)
        if loose is not None:
            header, _, content = _inflate(loose).partition(b"\0")
            return content if _TYPE_NAMES.get(header.partition(b" ")[0]) == kind else None
        found = _read_packed(os.path.join(objects, "pack"), bytes.fromhex(object_id), 0)
    except (OSError, ValueError, IndexError, zlib.error):
        return None
    return found[1] if found is not None and found[0] == kind else None


def _inflate(data: bytes | memoryview) -> bytes:
    inflater = zlib.decompressobj()
    content = inflater.decompress(data, MAX_OBJECT_BYTES)
    if inflater.unconsumed_tail:
        raise ValueError("the object is too large")
    return content


def _read_packed(directory: str, object_id: bytes, depth: int) -> tuple[int, bytes] | None:
    indexes = sorted(name for name in os.listdir(directory) if name.endswith(".idx"))
    if len(indexes) > MAX_PACKS or depth > MAX_DELTA_DEPTH:
        return None
    for name in indexes:
        offset = _find_offset(os.path.join(directory, name), object_id)
        if offset is not None:
            pack = os.path.join(directory, f"{name[:-4]}.pack")
            with (
                open(pack, "rb", opener=open_unheld) as file,
                mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
            ):
                return _read_pack_entry(data, offset, directory, depth)
    return None


def _find_offset(index_path: str, object_id: bytes) -> int | None:
    """Return where an object begins in the pack of an index (version 2); None when it is not in it."""
    with (
        open(index_path, "rb", opener=open_unheld) as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as index,
    ):
        if index[:8] != b"\xfftOc\0\0\0\x02":
            raise ValueError("an index of another version")

        def read_number(position: int) -> int:
            return int.from_bytes(index[position : position + 4], "big")

        first = read_number(8 + 4 * (object_id[0] - 1)) if object_id[0] else 0
        last, total = read_number(8 + 4 * object_id[0]), read_number(8 + 4 * 255)
        names = 8 + 1024
        position = bisect_left(
            range(total), object_id, first, last, key=lambda i: index[names + 20 * i : names + 20 * i + 20]
        )
        if position >= last or index[names + 20 * position : names + 20 * position + 20] != object_id:
            return None
        offset = read_number(names + 24 * total + 4 * position)
        if offset & 0x80000000:
            raise ValueError("a pack of more than two gigabytes")
        return offset


def _read_pack_entry(pack: mmap.mmap, offset: int, directory: str, depth: int) -> tuple[int, bytes] | None:
    """Return kind and content of the entry at an offset, with deltas applied."""
    if depth > MAX_DELTA_DEPTH:
        return None
    position = offset
    byte = pack[position]
    position += 1
    kind, size, shift = byte >> 4 & 7, byte & 15, 4
    while byte & 0x80:
        byte = pack[position]
        position += 1
        size |= (byte & 0x7F) << shift
        shift += 7
    if size > MAX_OBJECT_BYTES:
        return None
    if kind == _OFFSET_DELTA:
        byte = pack[position]
        position += 1
        distance = byte & 0x7F
        while byte & 0x80:
            byte = pack[position]
            position += 1
            distance = ((distance + 1) << 7) | (byte & 0x7F)
        base = _read_pack_entry(pack, offset - distance, directory, depth + 1)
    elif kind == _REFERENCE_DELTA:
        base = _read_packed(directory, pack[position : position + 20], depth + 1)
        position += 20
    else:
        return kind, _inflate(pack[position : position + size + 4096])
    if base is None:
        return None
    return base[0], _apply_delta(base[1], _inflate(pack[position : position + size + 4096]))


def _apply_delta(base: bytes, delta: bytes) -> bytes:
    """Return the content that a delta makes of its base."""
    position = 0
    for _ in range(2):  # the sizes of the base and of the result
        while delta[position] & 0x80:
            position += 1
        position += 1
    parts = []
    while position < len(delta):
        command = delta[position]
        position += 1
        if command & 0x80:
            start = length = 0
            for bit in range(4):
                if command >> bit & 1:
                    start |= delta[position] << 8 * bit
                    position += 1
            for bit in range(3):
                if command >> (4 + bit) & 1:
                    length |= delta[position] << 8 * bit
                    position += 1
            parts.append(base[start : start + (length or 0x10000)])
        else:
            parts.append(delta[position : position + command])
            position += command
    return b"".join(parts)
