"""When a warm process makes room for another, and what it says when the disk fails."""

import json
import os
from pathlib import Path

import pytest

from tests.contract.warm import bash
from verdikt import __version__
from verdikt.daemon import protocol
from verdikt.daemon.deferred_reply import DeferredReply
from verdikt.daemon.hook_service import HookService
from verdikt.daemon.request import DaemonReply, HookRequest, Peer
from verdikt.model.receipt import _lookup_effects


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A file of the installed package."""
    file = tmp_path / "__init__.py"
    file.write_text("")
    return file


def ask(
    warm: HookService, home: Path, version: str = __version__, asker: str = protocol.PYTHON_CLIENT
) -> tuple[int, bool]:
    """The kind of the answer to a question of that version, and whether it is the last."""
    env = {"HOME": str(home), "VERDIKT_HOME": str(home / "data")}
    peer = Peer(os.geteuid(), os.getegid())
    words = {"host": "claude", "event": "PreToolUse", "argument": "", "cwd": str(home)}
    question = HookRequest(version=version, env=env, payload=bash("ls"), peer=peer, client_kind=asker, **words)  # type: ignore[arg-type]
    said = warm.answer_request(question)
    return said.kind, said.ends_process


def replaced(package: Path) -> None:
    """As pip does it."""
    fresh = package.with_suffix(".new")
    fresh.write_text("")
    fresh.rename(package)


@pytest.mark.parametrize("upgrade", [replaced, Path.unlink, os.utime], ids=["replaced", "gone", "written"])
def test_an_upgrade_counts_from_the_next_call_on(package: Path, tmp_path: Path, upgrade: object) -> None:
    """Also for a client that was left from before; what is loaded must not decide for what is installed."""
    warm = HookService(tmp_path / "data", package_file=str(package))
    before = ask(warm, tmp_path)
    upgrade(package)  # type: ignore[operator]
    after = ask(warm, tmp_path)
    warm.close()

    assert (before, after) == ((protocol.KIND_ANSWER, False), (protocol.KIND_RETRY, True))


def test_a_hook_of_another_version_gets_a_new_process(package: Path, tmp_path: Path) -> None:
    """It is of another installation, and nothing is decided for it."""
    assert ask(HookService(tmp_path / "data", package_file=str(package)), tmp_path, "0.0.0") == (
        protocol.KIND_RETRY,
        True,
    )


def test_a_native_client_of_another_version_is_left_to_the_hook(package: Path, tmp_path: Path) -> None:
    """An upgrade left it behind; what is installed is what this process is, so leaving would help nobody."""
    warm = HookService(tmp_path / "data", package_file=str(package))

    assert ask(warm, tmp_path, "0.0.0", protocol.NATIVE_CLIENT) == (protocol.KIND_RETRY, False)
    assert ask(warm, tmp_path) == (protocol.KIND_ANSWER, False)
    os.utime(package)
    assert ask(warm, tmp_path, "0.0.0", protocol.NATIVE_CLIENT) == (protocol.KIND_RETRY, True)
    warm.close()


def test_a_decision_that_does_not_reach_the_disk_is_a_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says so, as without a warm process; where nothing must be held up, nothing is said. Then it goes on."""
    env = {"HOME": str(tmp_path), "VERDIKT_HOME": str(tmp_path / "data")}
    warm = HookService(tmp_path / "data")

    def decide(call: str, event: str = "PreToolUse") -> DeferredReply:
        payload = bash("ls", call=call).replace(b"PreToolUse", event.encode())
        words = {"host": "claude", "event": event, "argument": "", "cwd": str(tmp_path), "version": __version__}
        return warm.decide_request(HookRequest(env=env, payload=payload, peer=Peer(0, 0), **words))  # type: ignore[arg-type]

    assert decide("first").wait_until_durable().status == 0
    pendings = [decide("one"), decide("two"), decide("three", "PostToolUse")]

    def failing(_: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", failing)
        said = [pending.wait_until_durable() for pending in pendings]

    assert [each.status for each in said] == [2, 2, 0]
    assert "no decision could be made: cannot write" in json.loads(said[0].out)["reason"]
    assert "an earlier write failed; check the disk" in json.loads(said[1].out)["reason"]
    assert said[2].out == b"{}\n"
    assert decide("last").wait_until_durable().status == 0
    warm.close()


def test_what_is_remembered_stays_small_whatever_is_asked(tmp_path: Path) -> None:
    """Neither long targets nor long directories are kept; nobody is in such a directory, so that is a block."""
    env = {"HOME": str(tmp_path), "VERDIKT_HOME": str(tmp_path / "data")}
    warm, words = (
        HookService(tmp_path / "data"),
        {"host": "claude", "event": "PreToolUse", "argument": "", "client_kind": "python"},
    )

    def decide(command: str, cwd: str) -> DaemonReply:
        payload = bash(command, cwd=cwd)
        asked = HookRequest(version=__version__, cwd=cwd[:20], env=env, payload=payload, peer=Peer(0, 0), **words)
        return warm.answer_request(asked)

    before = _lookup_effects.cache_info().currsize
    for number in range(3):
        assert decide(f"touch {number}{'a' * 100_000}", "/tmp").kind == protocol.KIND_ANSWER
    assert _lookup_effects.cache_info().currsize == before

    said = decide("ls", "/tmp/" + "a" * 100_000)
    assert said.status == 2
    assert "expected a working directory of at most" in json.loads(said.out)["reason"]
    warm.close()
