"""The files that wire verdikt, kept in the data directory, so that what an action changed of them can be put back.

Contents are stored under their digest, and an index says which file had which content. Checking an unchanged file costs
one `lstat`.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, NamedTuple

from verdikt.errors import LedgerError, WiringError
from verdikt.model.canonical_json import sha256_hex
from verdikt.model.path_set import is_within
from verdikt.observe.atomic_file import write_atomically
from verdikt.observe.regular_file import read_regular_file

MAX_KEPT_BYTES = 8 * 1024 * 1024
"""Size of a file that is kept; settings have a few kilobytes, the native client some hundred."""

_Signature = tuple[int, ...]
_Access = Callable[[str], "AbstractContextManager[object]"]


class KeptFile(NamedTuple):
    """One file as it was wired. `real` is its path without links; `project` is empty for a file of the person."""

    path: str
    digest: str
    mode: int
    real: str
    project: str = ""
    off_switch: str = ""
    """The word that would switch the wiring off in a file that may change otherwise, and need not exist."""
    is_shared: bool = False
    """Whether the host writes into the file at any time, so that of it only the wiring must stay as it is."""
    never_removed: bool = False
    """Whether the file belongs to something larger, which would be broken without it: the settings of a repository."""

    def is_relevant(self, cwd: str, host_project: str) -> bool:
        """Return whether the file wires a session that runs in a directory, or was started in a project."""
        if not self.project:
            return True
        # A project that is gone altogether must not come back as a directory with nothing but settings in it.
        return (self.project == host_project or is_within(cwd, self.project)) and os.path.isdir(self.project)


class Restoration(NamedTuple):
    """A file that was not as it was kept: what was found there, and why it could not be put back, if so."""

    path: str
    found: str
    kept: str
    error: str = ""

    def to_record(self) -> dict[str, str]:
        """Return the body of a log entry."""
        record = {"path": self.path, "found": self.found, "kept": self.kept}
        return record | ({"error": self.error} if self.error else {})


class KeptFiles:
    """The kept files of one data directory."""

    def __init__(self, home: str | os.PathLike[str], *, access: _Access = nullcontext) -> None:
        self._directory = os.path.join(os.fspath(home), "kept")
        self._index_path = os.path.join(self._directory, "index.json")
        self._access = access
        self._index: dict[str, KeptFile] = {}
        self._index_signature: _Signature | None = None
        self._signatures: dict[str, _Signature] = {}
        """Path → signature of the file when its content was last found to be the kept one."""

    # Keeping.

    def keep(
        self,
        path: str,
        *,
        project: str = "",
        off_switch: str = "",
        is_shared: bool = False,
        never_removed: bool = False,
    ) -> None:
        """Keep a file as it is now; one that is absent, huge or no regular file is not kept.

        With `off_switch`, the file may change and need not exist, but must not gain that word. With `is_shared`, what
        does not wire verdikt in it may change.
        """
        with self._access(path):
            real = os.path.realpath(path)
            content = _read_file(real)
            mode = _read_mode(real) if content is not None else 0
        if content is None and not off_switch:
            return
        inside = project if project and is_within(path, project) else ""
        digest = ""
        if content is not None:
            self._store_content(content)
            digest = sha256_hex(content)
        entry = KeptFile(
            path=path,
            digest=digest,
            mode=mode,
            real=real,
            project=inside,
            off_switch=off_switch,
            is_shared=is_shared,
            never_removed=never_removed,
        )
        if self._load_index().get(path) != entry:
            self._update_index({path: entry})

    def _keep_again(self, entry: KeptFile) -> None:
        """Keep a file with its new content."""
        self.keep(
            entry.path,
            project=entry.project,
            off_switch=entry.off_switch,
            is_shared=entry.is_shared,
            never_removed=entry.never_removed,
        )

    def drop(self, path: str) -> None:
        """Keep a file no longer, because a person took it out through verdikt."""
        if path in self._load_index():
            self._update_index({path: None})

    def list_files(self) -> list[KeptFile]:
        """Return every kept file."""
        return list(self._load_index().values())

    # Comparing and putting back.

    def is_unchanged(self) -> bool:
        """Whether every kept file looks as it did when it was last compared; costs a stat of each."""
        return all(self._signatures.get(path) == _sign_path(path) for path in self._load_index())

    def restore_changed(self, cwd: str, host_project: str, *, strict: bool) -> list[Restoration]:
        """Put back what is not as it was kept, of the files that wire a session; return what was found.

        With `strict` every other content is put back. Without, a change that leaves the wiring intact is taken over: a
        host or a person may change settings while no action runs.
        """
        restorations = []
        for entry in self._load_index().values():
            if self._signatures.get(entry.path) == _sign_path(entry.path):
                continue
            if entry.is_relevant(cwd, host_project) and (changed := self._check_file(entry, strict=strict)):
                restorations.append(changed)
        return restorations

    def _check_file(self, entry: KeptFile, *, strict: bool) -> Restoration | None:
        """Return what was put back; None when nothing had to be."""
        with self._access(entry.path):
            signature = _sign_path(entry.path)
            moved = os.path.realpath(entry.path) != entry.real
            content = None if moved else _read_file(entry.real)
            mode = _read_mode(entry.real)
        digest = sha256_hex(content) if content is not None else ""
        if digest == entry.digest and (mode == entry.mode or not digest) and (digest or entry.off_switch):
            self._signatures[entry.path] = signature
            return None
        if entry.never_removed and content is None and not moved and mode == -1:
            # Gone with all around it, which switches nothing off; what was kept is put back if the word comes back.
            self._signatures[entry.path] = signature
            return None
        if self._is_acceptable(entry, content, strict=strict) and mode & stat.S_IRUSR:
            self._keep_again(entry)
            self._signatures[entry.path] = signature
            return None
        if content is not None:
            # What was found is kept too, so that a person can look at it, and take it over.
            self._store_content(content)
        return self._put_back(entry, digest)

    def _is_acceptable(self, entry: KeptFile, content: bytes | None, *, strict: bool) -> bool:
        if entry.off_switch:
            return content is None or entry.off_switch.encode() not in content
        if content is None:
            return False
        kept = _read_file(self._content_path(entry.digest))
        return kept is not None and has_equal_wiring(kept, content, strict=strict and not entry.is_shared)

    def _put_back(self, entry: KeptFile, found: str) -> Restoration:
        content = _read_file(self._content_path(entry.digest)) if entry.digest else b""
        error = ""
        if content is None or (entry.digest and sha256_hex(content) != entry.digest):
            error = "the kept copy is damaged; run `verdikt init` to wire the project again"
        else:
            try:
                with self._access(entry.path):
                    _replace_file(entry, content)
                    self._signatures[entry.path] = _sign_path(entry.path)
            except OSError as failure:
                error = failure.strerror or type(failure).__name__
        return Restoration(path=entry.path, found=found, kept=entry.digest, error=error)

    # The data directory.

    def _content_path(self, digest: str) -> str:
        return os.path.join(self._directory, digest)

    def _store_content(self, content: bytes) -> None:
        path = self._content_path(sha256_hex(content))
        if not os.path.exists(path):
            os.makedirs(self._directory, mode=0o700, exist_ok=True)
            write_atomically(path, content)

    def _load_index(self) -> Mapping[str, KeptFile]:
        """Return the index, read again only when its file has changed."""
        # Every decision asks this; where nothing is kept, `access` costs a quarter of a `stat` that fails.
        if not self._index and not os.access(self._index_path, os.F_OK):
            return self._index
        signature = _sign_path(self._index_path)
        if signature != self._index_signature:
            self._index = self._read_index() if signature else {}
            self._index_signature = signature
            self._signatures.clear()
        return self._index

    def _read_index(self) -> dict[str, KeptFile]:
        try:
            files: dict[str, Any] = json.loads(_read_file(self._index_path) or b"{}").get("files", {})
            return {path: KeptFile(path=path, **fields) for path, fields in files.items()}
        except (ValueError, TypeError, AttributeError) as error:
            raise LedgerError(
                f"cannot read `{self._index_path}`, which says how this project is wired; run `verdikt init`"
            ) from error

    def _update_index(self, changes: Mapping[str, KeptFile | None]) -> None:
        """Write entries (None: remove) into the index, whatever other processes write at the same time."""
        os.makedirs(self._directory, mode=0o700, exist_ok=True)
        with _lock(os.path.join(self._directory, "lock")):
            try:
                files = self._read_index()
            except LedgerError:
                files = {}  # a person is wiring the project again
            for path, entry in changes.items():
                if entry is None:
                    files.pop(path, None)
                else:
                    files[path] = entry
            rows = {path: {k: v for k, v in entry._asdict().items() if k != "path"} for path, entry in files.items()}
            write_atomically(self._index_path, json.dumps({"version": 1, "files": rows}).encode())
        self._index_signature = None


def explain_restorations(restorations: Sequence[Restoration]) -> str:
    """Return what happened in words for the agent; raise `WiringError` when a file could not be put back."""
    failed = [restoration for restoration in restorations if restoration.error]
    if failed:
        reasons = "; ".join(f"`{restoration.path}`: {restoration.error}" for restoration in failed)
        raise WiringError(f"what wires verdikt was changed and can't be put back: {reasons}")
    names = ", ".join(f"`{restoration.path}`" for restoration in restorations)
    return (
        f"{names} wires what watches over this agent, was changed, and has been put back. Tell the person: they can "
        "change it between sessions, or with `verdikt init` and `verdikt uninstall`"
    )


def has_equal_wiring(kept: bytes, found: bytes, *, strict: bool) -> bool:
    """Return whether a changed settings file still wires verdikt as the kept one does.

    With `strict`, only another notation of the same JSON document counts.
    """
    try:
        kept_document, found_document = json.loads(kept), json.loads(found)
    except (ValueError, RecursionError):
        return not strict and _has_equal_lines(kept, found)
    if kept_document == found_document:
        return True
    if strict or not isinstance(kept_document, dict) or not isinstance(found_document, dict):
        return False
    # Further hooks are the person's business; ours must all be there, and nothing may switch them off.
    switches = [key for key in {*kept_document, *found_document} if "hook" in key.lower() and key != "hooks"]
    return all(kept_document.get(key) == found_document.get(key) for key in switches) and _has_own_hooks(
        kept_document.get("hooks"), found_document.get("hooks")
    )


def _has_own_hooks(kept: Any, found: Any) -> bool:
    """Return whether every entry that names verdikt, under every event, is the same in both."""
    if not isinstance(kept, dict) or not isinstance(found, dict):
        return bool(kept == found)
    for event, entries in kept.items():
        own = [entry for entry in entries if "verdikt" in json.dumps(entry)] if isinstance(entries, list) else []
        others = found.get(event)
        if own and not (isinstance(others, list) and all(entry in others for entry in own)):
            return False
    return True


def _has_equal_lines(kept: bytes, found: bytes) -> bool:
    """Return whether every line about verdikt, or about hooks, is in both of two texts, as TOML files have it."""

    def select_lines(data: bytes) -> list[bytes]:
        return [line.strip() for line in data.splitlines() if b"verdikt" in line or b"hook" in line.lower()]

    kept_lines = select_lines(kept)
    return bool(kept_lines) and b"[" in kept and kept_lines == select_lines(found) and not kept.startswith(b"#!")


def _sign_path(path: str) -> _Signature:
    """Return what changes when a file, or a link on the way to it, is replaced; empty when there is none."""
    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            target = os.stat(path)
            return (*_sign_status(status), *_sign_status(target))
        return _sign_status(status)
    except (OSError, ValueError):
        return ()


def _sign_status(status: os.stat_result) -> _Signature:
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_mode)


def _read_file(path: str) -> bytes | None:
    return read_regular_file(path, MAX_KEPT_BYTES, follow=False)


def _read_mode(path: str) -> int:
    try:
        return stat.S_IMODE(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return -1


def _replace_file(entry: KeptFile, content: bytes) -> None:
    """Write a file where it was kept, whatever has taken its place; raise `OSError` when that is not possible."""
    if not entry.digest:
        os.unlink(entry.path)  # there was none; its content is kept
        return
    _clear_way(os.path.dirname(entry.real))
    if os.path.lexists(entry.real) and not stat.S_ISREG(os.lstat(entry.real).st_mode):
        _move_aside(entry.real)
    write_atomically(entry.real, content, mode=entry.mode)
    # The path itself may lead elsewhere now.
    if os.path.realpath(entry.path) != entry.real:
        _clear_way(os.path.dirname(entry.path))
        if os.path.lexists(entry.path):
            _move_aside(entry.path)
        write_atomically(entry.path, content, mode=entry.mode)


def _clear_way(directory: str) -> None:
    """Make sure that a directory exists and that no link and no file stands in its place or above it."""
    missing = []
    place = directory
    while not stat.S_ISDIR(_read_type(place)):
        missing.append(place)
        place = os.path.dirname(place)
    for path in reversed(missing):
        if os.path.lexists(path):
            _move_aside(path)
        os.mkdir(path)


def _read_type(path: str) -> int:
    try:
        return os.lstat(path).st_mode
    except OSError:
        return 0 if path != "/" else stat.S_IFDIR


def _move_aside(path: str) -> None:
    """Rename what stands in the way, so that nothing is lost."""
    for number in range(1, 1000):
        aside = f"{path}.aside-{number}"
        if not os.path.lexists(aside):
            os.rename(path, aside)
            return
    raise OSError(f"too many files named `{path}.aside-…`")


@contextmanager
def _lock(path: str) -> Iterator[None]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
