"""The state of the guarded files in a work tree, compared with index and HEAD without starting git."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from verdikt.model.path_set import is_within
from verdikt.observe.git_objects import list_tree_files, read_blob
from verdikt.observe.index_file import read_index_entries
from verdikt.observe.regular_file import read_regular_file
from verdikt.observe.watched_files import MAX_WATCHED_FILES, FileSignature

if TYPE_CHECKING:
    from verdikt.observe.git_objects import Repository
    from verdikt.observe.index_file import IndexEntry
    from verdikt.observe.watched_files import WatchedFiles

MAX_FILES = 200
"""Guarded files in one work tree that are compared; of more, git is asked."""
MAX_COMPARED_BYTES = 1024 * 1024
MAX_EQUAL_FILES = 4096

_EQUAL_FILES: set[tuple[str, FileSignature, str]] = set()
"""Files of a known state whose content was compared with an object, and is the same."""


class GuardedStatus:
    """The guarded files of one work tree. What it says for certain is what git would say; the rest is left to git."""

    def __init__(self, root: str, names: tuple[str, ...], repository: Repository) -> None:
        self._root = root
        self._names = names
        self._repository = repository
        self._watched = repository.watched

    def is_unchanged(self, states: set[str]) -> bool:
        """Return whether no guarded file is in one of these states, which `git_changes` defines."""
        # Files that HEAD has with the same content are the same after a return to HEAD, whatever the index holds.
        if "tracked" in states and "staged" not in states and self._is_like_head():
            return True
        if self._files is None or self._entries is None:
            return False
        if {"untracked", "ignored"} & states and self.has_untracked_files():
            return False
        if "tracked" in states and not self._is_index_like_head():
            return False
        return all(self._is_file_like_index(name, self._entries[name]) for name in self._files if name in self._entries)

    def has_untracked_files(self) -> bool:
        """Return whether a guarded file is not in the index, or may not be."""
        return self._files is None or self._entries is None or any(name not in self._entries for name in self._files)

    @cached_property
    def _files(self) -> list[str] | None:
        """The guarded files that exist, by their names from the top; None when they are too many or no plain files."""
        parents = {parent: self._watched.add(f"{self._root}/{parent}") for parent in self._list_parents()}
        # For git, what lies behind a link is not in this work tree.
        if any(self._watched.is_link(f"{self._root}/{parent}") for parent in parents):
            return None
        files: dict[str, None] = {}
        for name in self._names:
            # One look at a missing directory tells about all the names in it.
            if any(parents[parent] is None for parent in _list_ancestors(name)):
                continue
            try:
                for path in _list_files(self._root, name, self._watched):
                    files[path] = None
                    if not path or len(files) > MAX_FILES:
                        return None
            except OSError:
                return None
        return list(files)

    def _list_parents(self) -> tuple[str, ...]:
        return _list_parents(self._names)

    @cached_property
    def _entries(self) -> dict[str, IndexEntry] | None:
        """The entries of the index at or below the guarded names; None when git has to be asked."""
        directory = self._repository.directory
        index = f"{directory}/index"
        signature = self._watched.add(index)
        try:
            # A split index keeps most of its entries in another file.
            is_split = any(name.startswith("sharedindex.") for name in os.listdir(directory))
        except OSError:
            return None
        if is_split or signature is None or self._files is None:
            return None
        head = list_tree_files(self._repository, "HEAD", self._names)
        if head is None:
            return None
        tops = dict.fromkeys(name.partition("/")[0] for name in (*self._files, *head))
        entries = read_index_entries(index, tops)
        if entries is None:
            return None
        return {path: entry for path, entry in entries.items() if any(is_within(path, name) for name in self._names)}

    def _is_index_like_head(self) -> bool:
        head = list_tree_files(self._repository, "HEAD", self._names)
        return head is not None and head == {
            path: (entry.mode, entry.object_id) for path, entry in (self._entries or {}).items()
        }

    def _is_like_head(self) -> bool:
        """Return whether HEAD has every guarded file that exists, with this content and mode."""
        head = list_tree_files(self._repository, "HEAD", self._names)
        if head is None or self._files is None:
            return False
        return all(name in head and self._has_content(name, *head[name]) for name in self._files)

    def _has_content(self, name: str, mode: int, object_id: str) -> bool:
        path = f"{self._root}/{name}"
        signature = self._watched.add(path)
        if signature is None or mode != _find_git_mode(signature):
            return False
        key = (path, signature, object_id)
        if key in _EQUAL_FILES:
            return True
        content = read_regular_file(path, MAX_COMPARED_BYTES, follow=False)
        if content is None or content != read_blob(self._repository, object_id):
            return False
        if self._watched.is_certain(path):
            if len(_EQUAL_FILES) >= MAX_EQUAL_FILES:
                _EQUAL_FILES.clear()
            _EQUAL_FILES.add(key)
        return True

    def _is_file_like_index(self, name: str, entry: IndexEntry) -> bool:
        path = f"{self._root}/{name}"
        signature, index = self._watched.add(path), self._watched.add(f"{self._repository.directory}/index")
        if signature is None or index is None:
            return False
        mtime_ns, ctime_ns, size, inode, _ = signature
        if entry.mode != _find_git_mode(signature):
            return False
        same = (entry.mtime_ns, entry.ctime_ns, entry.size, entry.inode) == (
            *(mtime_ns, ctime_ns),
            *(size & 0xFFFFFFFF, inode & 0xFFFFFFFF),
        )
        # As git does: a file may have changed again in the moment in which the index was written.
        if same and mtime_ns < index[0]:
            return True
        content = read_regular_file(path, MAX_COMPARED_BYTES, follow=False)
        return content is not None and content == read_blob(self._repository, entry.object_id)

    def watch_settings(self, env: Mapping[str, str]) -> bool:
        """Watch all that decides which files git ignores, and return whether that is possible.

        Settings that name further files are not followed.
        """
        if self._files is None:
            return False
        home, common = env.get("HOME", ""), self._repository.common
        config = env.get("XDG_CONFIG_HOME") or f"{home}/.config"
        for path in (f"{common}/config", f"{home}/.gitconfig", f"{config}/git/config", "/etc/gitconfig"):
            settings = read_regular_file(path, MAX_COMPARED_BYTES) if self._watched.add(path) else b""
            if settings is None or b"excludesfile" in settings.lower() or b"[include" in settings.lower():
                return False
        ignoring = [f"{self._root}/{directory}/.gitignore" for directory in ("", *self._list_parents())]
        attributes = (f"{common}/info/attributes", f"{self._root}/.gitattributes")
        for path in (*ignoring, *attributes, f"{common}/info/exclude", f"{config}/git/ignore"):
            self._watched.add(path)
        return True


def _find_git_mode(signature: tuple[int, ...]) -> int:
    """Return the mode that git gives a plain file."""
    return 0o100755 if signature[4] & stat.S_IXUSR else 0o100644


@lru_cache(maxsize=64)
def _list_parents(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return every directory on the way to a guarded name, the outermost first."""
    return tuple(sorted({ancestor for name in names for ancestor in _list_ancestors(name)}))


@lru_cache(maxsize=1024)
def _list_ancestors(name: str) -> tuple[str, ...]:
    ancestors = []
    while name := os.path.dirname(name):
        ancestors.append(name)
    return tuple(ancestors)


def _list_files(root: str, name: str, watched: WatchedFiles) -> Iterator[str]:
    """Yield the files at or below a name; an empty string for what is neither a plain file nor a directory."""
    path = f"{root}/{name}"
    signature = watched.add(path)
    if watched.is_link(path) or len(watched) > MAX_WATCHED_FILES:
        yield ""
    elif signature is None:
        return
    elif stat.S_ISREG(signature[4]):
        yield name
    elif stat.S_ISDIR(signature[4]):
        for child in sorted(os.listdir(path)):
            yield from _list_files(root, f"{name}/{child}", watched)
    else:
        yield ""
