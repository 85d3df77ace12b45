"""Which requests the hook service decides, and its replies when the disk fails."""

import json
import os
from pathlib import Path

import pytest

from tests.contract.warm import bash
from tests.fakes import FakeClock
from verdikt import __version__
from verdikt.daemon import protocol
from verdikt.daemon.deferred_reply import DeferredReply
from verdikt.daemon.hook_service import ROTATION_CHECK_SECONDS, HookService
from verdikt.daemon.request import DaemonReply, HookRequest, Peer
from verdikt.model.effect import _encode_and_cache


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Return a file of the installed package."""
    file = tmp_path / "__init__.py"
    file.write_text("")
    return file


def send_request(
    service: HookService, home: Path, version: str = __version__, client_kind: str = protocol.PYTHON_CLIENT
) -> tuple[int, bool]:
    """Send a request of a client version; return the kind of the reply and whether it ends the process."""
    env = {"HOME": str(home), "VERDIKT_HOME": str(home / "data")}
    peer = Peer(os.geteuid(), os.getegid())
    request = HookRequest(
        version=version,
        host="claude",
        event="PreToolUse",
        argument="",
        cwd=str(home),
        env=env,
        payload=bash("ls"),
        peer=peer,
        client_kind=client_kind,
    )
    reply = service.answer_request(request)
    return reply.kind, reply.ends_process


def replace_file(package: Path) -> None:
    """Replace a file as pip does."""
    fresh = package.with_suffix(".new")
    fresh.write_text("")
    fresh.rename(package)


@pytest.mark.parametrize("upgrade", [replace_file, Path.unlink, os.utime], ids=["replaced", "deleted", "touched"])
def test_request_after_an_upgrade_ends_the_process(package: Path, tmp_path: Path, upgrade: object) -> None:
    """After the package has changed, no request is decided by the code that is loaded."""
    service = HookService(tmp_path / "data", package_file=str(package))
    before = send_request(service, tmp_path)
    upgrade(package)  # type: ignore[operator]
    after = send_request(service, tmp_path)
    service.close()

    assert (before, after) == ((protocol.KIND_ANSWER, False), (protocol.KIND_RETRY, True))


def test_python_client_of_another_version_ends_the_process(package: Path, tmp_path: Path) -> None:
    """A Python client of another version is of another installation, so the process makes room for it."""
    assert send_request(HookService(tmp_path / "data", package_file=str(package)), tmp_path, "0.0.0") == (
        protocol.KIND_RETRY,
        True,
    )


def test_native_client_of_another_version_gets_retry(package: Path, tmp_path: Path) -> None:
    """A native client from before an upgrade gets a retry, and the process goes on."""
    service = HookService(tmp_path / "data", package_file=str(package))

    assert send_request(service, tmp_path, "0.0.0", protocol.NATIVE_CLIENT) == (protocol.KIND_RETRY, False)
    assert send_request(service, tmp_path) == (protocol.KIND_ANSWER, False)
    os.utime(package)
    assert send_request(service, tmp_path, "0.0.0", protocol.NATIVE_CLIENT) == (protocol.KIND_RETRY, True)
    service.close()


def test_decision_is_a_block_when_its_entry_cannot_be_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A decision whose entry cannot be synced blocks before an action, and the next one works."""
    env = {"HOME": str(tmp_path), "VERDIKT_HOME": str(tmp_path / "data")}
    service = HookService(tmp_path / "data")

    def decide(call: str, event: str = "PreToolUse") -> DeferredReply:
        payload = bash("ls", call=call).replace(b"PreToolUse", event.encode())
        request = HookRequest(
            version=__version__,
            host="claude",
            event=event,
            argument="",
            cwd=str(tmp_path),
            env=env,
            payload=payload,
            peer=Peer(0, 0),
        )
        return service.decide_request(request)

    assert decide("first").wait_until_durable().status == 0
    deferred_replies = [decide("one"), decide("two"), decide("three", "PostToolUse")]

    def fail(_: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", fail)
        replies = [deferred.wait_until_durable() for deferred in deferred_replies]

    assert [reply.status for reply in replies] == [2, 2, 0]
    assert "no decision could be made: cannot write" in json.loads(replies[0].out)["reason"]
    assert "an earlier write failed; check the disk" in json.loads(replies[1].out)["reason"]
    assert replies[2].out == b"{}\n"
    assert decide("last").wait_until_durable().status == 0
    service.close()


def test_caches_stay_small_when_requests_are_long(tmp_path: Path) -> None:
    """Long targets are not cached, and a working directory that is too long is a block."""
    env = {"HOME": str(tmp_path), "VERDIKT_HOME": str(tmp_path / "data")}
    service, fields = (
        HookService(tmp_path / "data"),
        {"host": "claude", "event": "PreToolUse", "argument": "", "client_kind": "python"},
    )

    def decide(command: str, cwd: str) -> DaemonReply:
        payload = bash(command, cwd=cwd)
        request = HookRequest(version=__version__, cwd=cwd[:20], env=env, payload=payload, peer=Peer(0, 0), **fields)
        return service.answer_request(request)

    size_before = _encode_and_cache.cache_info().currsize
    for number in range(3):
        assert decide(f"touch {number}{'a' * 100_000}", "/tmp").kind == protocol.KIND_ANSWER
    assert _encode_and_cache.cache_info().currsize == size_before

    reply = decide("ls", "/tmp/" + "a" * 100_000)
    assert reply.status == 2
    assert "expected a working directory of at most" in json.loads(reply.out)["reason"]
    service.close()


def test_idle_process_rotates_logs_that_are_due(tmp_path: Path) -> None:
    """An old session is archived without a timer, a recent one stays, and the logs are looked at once an hour."""
    clock = FakeClock(seconds=2_000_000_000.0)
    service = HookService(tmp_path / "data", clock)
    try:
        send_request(service, tmp_path)
        ledger = tmp_path / "data" / "ledger"
        hot_file = next(ledger.glob("*.jsonl"))
        os.utime(hot_file, (clock.seconds, clock.seconds))
        clock.seconds += ROTATION_CHECK_SECONDS * 2
        service.run_maintenance()
        assert hot_file.exists()
        os.utime(hot_file, (clock.seconds - 40 * 86_400, clock.seconds - 40 * 86_400))
        service.run_maintenance()
        assert hot_file.exists()
        clock.seconds += ROTATION_CHECK_SECONDS
        service.run_maintenance()
        assert not hot_file.exists()
        assert list(ledger.glob("_archive/*/*.jsonl.gz"))
        assert (tmp_path / "data" / "_rotate.log").exists()
    finally:
        service.close()
