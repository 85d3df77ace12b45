"""Whether what decides is still what was set up: looked at when a session starts and when it ends."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from verdikt import __version__
from verdikt.adapters.wiring import settings
from verdikt.adapters.wiring.change import WiringRecord, read
from verdikt.adapters.wiring.registration import NAMES, NATIVE
from verdikt.errors import VerdiktError
from verdikt.ledger.name import file_name
from verdikt.model.canonical import sha256
from verdikt.observe.policy import read_policy_files

if TYPE_CHECKING:
    from verdikt.govern import Look


class Integrity:
    """The wrapper, the hosts' settings and the policy, as they were at the start of a session and as they are."""

    def __init__(
        self, data: Path, session: str, cwd: str, env: Mapping[str, str], *, look: "Look" = nullcontext
    ) -> None:
        self._data = data
        self._memory = data / "integrity" / f"{file_name(session)}.json"
        self._cwd = cwd
        self._env = env
        self._look = look

    def start(self) -> list[str]:
        """Remembers how everything is; what is wrong with it already, in words for a person."""
        self._memory.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._memory.write_text(json.dumps(self._prints()))
        return list(self._faults())

    def changes(self) -> list[str]:
        """What has changed since the start and what is wrong now, in words for a person."""
        try:
            before = json.loads(self._memory.read_text())
        except (OSError, ValueError):
            before = {}
        now = self._prints()
        changed = [
            f"`{path}` changed during the session" for path in sorted(before) if before[path] != now.get(path, "")
        ]
        return [*changed, *self._faults()]

    def _prints(self) -> dict[str, str]:
        files = [*_wrappers(self._data), *_wired(self._data)]
        prints = {path: sha256(data) for path in files if (data := _quiet(path)) is not None}
        # A policy that cannot be read blocks every action and says so there.
        with suppress(VerdiktError, PermissionError), self._look(self._cwd):
            prints |= {file.path: sha256(file.data) for file in read_policy_files(self._cwd, self._env)}
        return prints

    def _faults(self) -> Iterator[str]:
        mark = f"{NATIVE} {__version__}\0".encode()
        wrappers = _wrappers(self._data)
        if any((data := _quiet(path)) is not None and sha256(data) != known for path, known in wrappers.items()):
            yield "the wrapper around the hook is not the one that was installed"
        elif any(not os.path.lexists(path) for path in wrappers):
            yield "a wrapper around the hook is gone, and what needs it is blocked; run `verdikt init`"
        elif any(Path(path).name == NATIVE and mark not in (_quiet(path) or mark) for path in wrappers):
            yield "the native client is of another version than verdikt, which makes every call slow; run `verdikt init`"
        for path in _wired(self._data):
            if path.endswith(".json") and not _names_hook(path):
                yield f"`{path}` no longer names the hook"


def _wrappers(data: Path) -> dict[str, str]:
    """Where the wrappers that clients call were put, and the digests of what was put there."""
    try:
        files = WiringRecord(data).files
    except VerdiktError:
        return {}
    return {path: str(known["after"]) for path, known in files.items() if Path(path).name in NAMES}


def _wired(data: Path) -> list[str]:
    """The settings files that were wired."""
    try:
        return [path for path, known in WiringRecord(data).files.items() if known.get("host")]
    except VerdiktError:
        return []


def _names_hook(path: str) -> bool:
    try:
        return any(True for _ in settings.commands(settings.parse(read(path), path)))
    except VerdiktError:
        return False


def _quiet(path: str) -> bytes | None:
    try:
        return read(path)
    except VerdiktError:
        return None
