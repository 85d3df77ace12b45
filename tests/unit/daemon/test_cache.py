"""What the warm process caches between calls."""

import os
from pathlib import Path

import pytest

from tests.fakes import FakeClock
from verdikt.daemon.cache import MAX_POLICIES, LRUCache, PolicyCache, StorePool, get_file_stamp
from verdikt.daemon.request import Peer
from verdikt.errors import PolicyError
from verdikt.observe.clock import SystemClock
from verdikt.observe.policy_files import PolicyFile


def test_lru_cache_evicts_the_least_recently_used_value() -> None:
    """The value that was not used for longest is evicted, and `on_evict` is called with it."""
    evicted: list[str] = []
    cache: LRUCache[str, str] = LRUCache(2, evicted.append)
    cache.put_if_absent("a", "1")
    cache.put_if_absent("b", "2")
    assert cache.get("a") == "1"
    assert cache.put_if_absent("c", "3") == "3"
    assert cache.put_if_absent("c", "4") == "3"

    assert evicted == ["2"]
    assert (cache.get("a"), cache.get("b"), cache.get("c"), len(cache)) == ("1", None, "3", 2)


def test_file_stamp_changes_with_the_file(tmp_path: Path) -> None:
    """The stamp is None without a file, empty where it cannot be told, and differs after a change."""
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


def test_policy_is_cached_once_its_files_have_settled(tmp_path: Path) -> None:
    """A policy is the same object while its files are unchanged; a recent file is read again."""
    file = tmp_path / "project" / "governance.yaml"
    (file.parent / ".git").mkdir(parents=True)
    file.write_text("profile: standard\n")
    env, cache = {"HOME": str(tmp_path)}, PolicyCache(SystemClock())

    first = cache.load_policy(str(file.parent), env)
    os.utime(file, (1, 1))  # its own date lies; the system's does not
    assert cache.load_policy(str(file.parent), env) is first
    file.write_text("profile: strict\n")
    assert cache.load_policy(str(file.parent), env) is not first
    file.write_text("profile: [\n")
    with pytest.raises(PolicyError):
        cache.load_policy(str(file.parent), env)
    file.write_text("profile: standard\n")
    assert cache.load_policy(str(file.parent), env) is first
    assert len(cache) == 2


def test_policy_is_read_again_for_another_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A policy file that was read with the rights of one user is read again with those of another."""
    file = tmp_path / "project" / "governance.yaml"
    (file.parent / ".git").mkdir(parents=True)
    file.write_text("profile: standard\n")
    env = {"HOME": str(tmp_path)}
    cache = PolicyCache(FakeClock(file.stat().st_ctime + 60))  # its dates can be trusted
    policy = cache.load_policy(str(file.parent), env, Peer(1, 1))

    def refuse(_: object) -> list[PolicyFile]:
        raise PolicyError("expected a file that can be read")

    monkeypatch.setattr("verdikt.daemon.cache.read_policy_places", refuse)
    assert cache.load_policy(str(file.parent), env, Peer(1, 1)) is policy
    with pytest.raises(PolicyError):
        cache.load_policy(str(file.parent), env, Peer(2, 2))


def test_policies_are_bounded(tmp_path: Path) -> None:
    """The number of cached policies is bounded, however many projects there are."""
    cache = PolicyCache()
    for number in range(MAX_POLICIES + 3):
        project = tmp_path / str(number)
        (project / ".git").mkdir(parents=True)
        (project / "governance.yaml").write_text(f"# {number}\nprofile: standard\n")
        cache.load_policy(str(project), {"HOME": str(tmp_path)})

    assert len(cache) == MAX_POLICIES


def test_store_is_opened_once_per_data_directory(tmp_path: Path) -> None:
    """Environments that name the same data directory share one store."""
    stores = StorePool()
    first = stores.get_store({"HOME": str(tmp_path)})

    assert stores.get_store({"HOME": str(tmp_path), "USER": "x"}) is first
    assert stores.get_store({"HOME": str(tmp_path), "VERDIKT_HOME": str(tmp_path / "v")}) is not first
    stores.close()
