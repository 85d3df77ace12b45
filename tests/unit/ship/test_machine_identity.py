"""The key and the files by which a machine is known to its service."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from verdikt.errors import ServiceError
from verdikt.ship.machine_identity import MachineIdentity


def test_key_when_several_ask_for_the_first_one_at_once_is_the_same_for_all(tmp_path: Path) -> None:
    """Two processes that enrol at the same time have one key: the service knows the machine by it."""
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(lambda _: MachineIdentity(tmp_path).get_public_key_hex(), range(16)))

    assert len(keys) == 1
    assert os.listdir(tmp_path / "ship") == ["machine.key"]
    assert (tmp_path / "ship" / "machine.key").stat().st_mode & 0o777 == 0o600


def test_key_when_writing_it_fails_leaves_nothing_and_is_made_by_the_next_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A half-written key would have to be removed by hand."""

    def fail(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    identity = MachineIdentity(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", fail)
        with pytest.raises(ServiceError, match="No space left on device; make room, and enrol again"):
            identity.get_public_key_hex()

    assert os.listdir(tmp_path / "ship") == []
    assert len(identity.get_public_key_hex()) == 64
