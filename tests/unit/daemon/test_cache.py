"""What the warm process keeps between calls."""

import os
from pathlib import Path

import pytest

from tests.fakes import FakeClock
from verdikt.daemon.cache import MAX_POLICIES, LRUCache, PolicyCache, StorePool, get_file_stamp
from verdikt.daemon.request import Peer
from verdikt.errors import PolicyError
from verdikt.observe.clock import SystemClock
from verdikt.observe.policy_files import PolicyFile


def test_what_was_not_asked_for_goes_first() -> None:
    """And whoever keeps it hears of it."""
    gone: list[str] = []
    newest: LRUCache[str, str] = LRUCache(2, gone.append)
    newest.put_if_absent("a", "1")
    newest.put_if_absent("b", "2")
    assert newest.get("a") == "1"
    assert newest.put_if_absent("c", "3") == "3"
    assert newest.put_if_absent("c", "4") == "3"

    assert gone == ["2"]
    assert (newest.get("a"), newest.get("b"), newest.get("c"), len(newest)) == ("1", None, "3", 2)


def test_a_file_is_the_same_or_it_is_not(tmp_path: Path) -> None:
    """Nothing there, a file, another content, another file, and what nobody can tell."""
    file, link, pipe = tmp_path / "f", tmp_path / "link", tmp_path / "pipe"
    assert get_file_stamp(str(file)) is None
    assert get_file_stamp(str(file / "below")) is None
    file.write_text("a")
    first = get_file_stamp(str(file))
    assert first == get_file_stamp(str(file))
    file.write_text("ab")
    assert get_file_stamp(str(file)) != first
    link.symlink_to(tmp_path / "nowhere")
    assert get_file_stamp(str(link)) == ()
    link.unlink()
    link.symlink_to(file)
    assert get_file_stamp(str(link)) == get_file_stamp(str(file))
    os.mkfifo(pipe)
    assert get_file_stamp(str(pipe)) == ()
    assert get_file_stamp("a\0b") == ()


def test_a_settled_policy_is_read_once(tmp_path: Path) -> None:
    """The same object as long as its files are the same; a fresh file is read again until its dates can be trusted."""
    file = tmp_path / "project" / "governance.yaml"
    (file.parent / ".git").mkdir(parents=True)
    file.write_text("profile: standard\n")
    env, held = {"HOME": str(tmp_path)}, PolicyCache(SystemClock())

    fresh = held.load_policy(str(file.parent), env)
    os.utime(file, (1, 1))  # its own date lies; the system's does not
    assert held.load_policy(str(file.parent), env) is fresh
    file.write_text("profile: strict\n")
    assert held.load_policy(str(file.parent), env) is not fresh
    file.write_text("profile: [\n")
    with pytest.raises(PolicyError):
        held.load_policy(str(file.parent), env)
    file.write_text("profile: standard\n")
    assert held.load_policy(str(file.parent), env) is fresh
    assert len(held) == 2


def test_what_one_reader_may_read_another_may_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that was read with somebody's rights is read again with those of whoever else asks."""
    file = tmp_path / "project" / "governance.yaml"
    (file.parent / ".git").mkdir(parents=True)
    file.write_text("profile: standard\n")
    env = {"HOME": str(tmp_path)}
    held = PolicyCache(FakeClock(file.stat().st_ctime + 60))  # its dates can be trusted
    known = held.load_policy(str(file.parent), env, Peer(1, 1))

    def refuse(_: object) -> list[PolicyFile]:
        raise PolicyError("expected a file that can be read")

    monkeypatch.setattr("verdikt.daemon.cache.read_policy_places", refuse)
    assert held.load_policy(str(file.parent), env, Peer(1, 1)) is known
    with pytest.raises(PolicyError):
        held.load_policy(str(file.parent), env, Peer(2, 2))


def test_policies_are_bounded(tmp_path: Path) -> None:
    """However many projects there are."""
    held = PolicyCache()
    for number in range(MAX_POLICIES + 3):
        project = tmp_path / str(number)
        (project / ".git").mkdir(parents=True)
        (project / "governance.yaml").write_text(f"# {number}\nprofile: standard\n")
        held.load_policy(str(project), {"HOME": str(tmp_path)})

    assert len(held) == MAX_POLICIES


def test_a_store_is_opened_once_for_each_place(tmp_path: Path) -> None:
    """By what names its data directory."""
    stores = StorePool()
    one = stores.get_store({"HOME": str(tmp_path)})

    assert stores.get_store({"HOME": str(tmp_path), "USER": "x"}) is one
    assert stores.get_store({"HOME": str(tmp_path), "VERDIKT_HOME": str(tmp_path / "v")}) is not one
    stores.close()
