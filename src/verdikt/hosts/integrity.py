"""Integrity of the wrapper, the hosts' settings and the policy between the start of a session and its stops."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from verdikt import __version__
from verdikt.errors import VerdiktError
from verdikt.hosts.project_variables import list_variable_files, read_moving_variables
from verdikt.hosts.wiring import json_settings
from verdikt.hosts.wiring.file_change import WiringRecord, read_file
from verdikt.hosts.wiring.plan import keep_found_files, keep_wired_files
from verdikt.hosts.wiring.registration import NATIVE_WRAPPER, WRAPPER_NAMES
from verdikt.ledger.data_directory import encode_session_filename
from verdikt.model.canonical_json import sha256_hex
from verdikt.observe.atomic_file import write_atomically
from verdikt.observe.guarded_paths import find_host_project
from verdikt.observe.policy_files import read_policy_files
from verdikt.observe.world import find_project_root

if TYPE_CHECKING:
    from verdikt.governance_parts import PathAccess


class IntegrityCheck:
    """Compares the files that governance depends on with their state at the start of the session."""

    def __init__(
        self,
        data_directory: Path,
        session_id: str,
        cwd: str,
        env: Mapping[str, str],
        *,
        file_access: "PathAccess" = nullcontext,
    ) -> None:
        self._data_directory = data_directory
        self._baseline_file = data_directory / "integrity" / f"{encode_session_filename(session_id)}.json"
        self._cwd = cwd
        self._env = env
        self._file_access = file_access

    def record_baseline(self) -> list[str]:
        """Store the digests of all files, and return what is wrong with them already, in words for a person."""
        self._baseline_file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomically(self._baseline_file, json.dumps(self._hash_files()).encode())
        return list(self._find_faults())

    def keep_files(self) -> None:
        """Keep the wired files that still name the hook, so that what an action changes of them can be put back."""
        home = self._env.get("HOME", "")
        project = find_host_project(self._env) or find_project_root(os.path.abspath(self._cwd), home)
        if not _list_wired_files(self._data_directory):
            # A warm process of another user: the person's own data directory has the record of the wiring.
            with suppress(VerdiktError, OSError):
                keep_found_files(str(self._data_directory), project, home, self._env, self._file_access)
            return
        with suppress(VerdiktError, OSError), self._file_access(self._cwd):
            if not any(path.endswith(".json") and not _has_hook(path) for path in self._list_own_files(project)):
                keep_wired_files(str(self._data_directory), project, home)

    def _list_own_files(self, project: str) -> list[str]:
        below = os.path.join(project, "")
        return [path for path in _list_wired_files(self._data_directory) if path.startswith(below)]

    def find_changes(self) -> list[str]:
        """Return what has changed since the start and what is wrong now, in words for a person."""
        baseline = self._read_baseline()
        if baseline is None:
            changes = [f"`{self._baseline_file}` cannot be read, so what changed during the session is not known"]
        else:
            digests = self._hash_files()
            changes = [
                f"`{path}` changed during the session"
                for path in sorted(baseline)
                if baseline[path] != digests.get(path, "")
            ]
        return [*changes, *self._find_faults()]

    def _read_baseline(self) -> dict[str, str] | None:
        """Return the digests at the start; empty for a session that began without a hook, None when damaged."""
        try:
            baseline = json.loads(self._baseline_file.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError):
            return None
        return baseline if isinstance(baseline, dict) else None

    def _hash_files(self) -> dict[str, str]:
        files = [*_load_wrapper_digests(self._data_directory), *_list_wired_files(self._data_directory)]
        digests = {path: sha256_hex(data) for path in files if (data := _read_or_none(path)) is not None}
        # A policy that cannot be read is no change to report here: it blocks every action, and the block says so.
        with suppress(VerdiktError, PermissionError), self._file_access(self._cwd):
            for file in read_policy_files(self._cwd, self._env):
                digests[file.path] = sha256_hex(file.data)
                digests |= {f"{file.path} ({name})": sha256_hex(data) for name, data in file.included}
        return digests

    def _find_faults(self) -> Iterator[str]:
        try:
            WiringRecord(self._data_directory)
        except VerdiktError as error:
            # Without it there are no files to look at below, which would look as if all of them were well.
            yield str(error)
        version_mark = f"{NATIVE_WRAPPER} {__version__}\0".encode()
        digests = _load_wrapper_digests(self._data_directory)
        contents = {path: _read_or_none(path) for path in digests}
        if any(data is not None and sha256_hex(data) != digests[path] for path, data in contents.items()):
            yield "the wrapper around the hook is not the one that was installed"
        elif any(not os.path.lexists(path) for path in digests):
            yield "a wrapper around the hook is gone, and what needs it is blocked; run `verdikt init`"
        elif any(
            Path(path).name == NATIVE_WRAPPER and version_mark not in (data or version_mark)
            for path, data in contents.items()
        ):
            # It then asks no warm process, because the two might not understand each other.
            yield (
                "the native client is of another version than verdikt, which makes every call slow; run `verdikt init`"
            )
        for path in _list_wired_files(self._data_directory):
            # OpenCode's plugin and Codex's TOML files are covered by their digests alone.
            if path.endswith(".json") and not _has_hook(path):
                yield f"`{path}` no longer names the hook"
        yield from self._find_moving_variables()

    def _find_moving_variables(self) -> Iterator[str]:
        """Yield the variables with which the settings of this project move or replace what the hooks run with."""
        for path in list_variable_files(self._cwd, self._env):
            with suppress(OSError), self._file_access(self._cwd):
                if names := sorted(read_moving_variables(path)):
                    yield f"`{path}` sets {', '.join(names)}, which move or load what governs; remove them"


def _load_wrapper_digests(data_directory: Path) -> dict[str, str]:
    """Return path → digest of the wrappers as they were installed."""
    try:
        files = WiringRecord(data_directory).files
    except VerdiktError:
        return {}
    return {path: str(change["after"]) for path, change in files.items() if Path(path).name in WRAPPER_NAMES}


def _list_wired_files(data_directory: Path) -> list[str]:
    """Return the settings files that were wired."""
    try:
        record = WiringRecord(data_directory)
        return [path for path, change in record.files.items() if change.get("host") and record.has_hooks(path)]
    except VerdiktError:
        return []


def _has_hook(path: str) -> bool:
    try:
        return any(True for _ in json_settings.find_hook_commands(json_settings.parse(read_file(path), path)))
    except VerdiktError:
        return False


def _read_or_none(path: str) -> bytes | None:
    try:
        return read_file(path)
    except VerdiktError:
        return None
