"""Answers are used again only while the files that they were read from are the same."""

import os
from pathlib import Path

import pytest

from tests.fakes import FakeClock
from verdikt.observe.watched_files import AnswerCache, WatchedFiles, is_signature_settled, read_signature

LATER = 4e9
"""A time at which every file of a test has settled."""


def _watch(*paths: Path, now: float = LATER) -> WatchedFiles:
    watched = WatchedFiles(now)
    for path in paths:
        watched.add(str(path))
    return watched


def test_name_that_comes_to_exist_is_a_change(tmp_path: Path) -> None:
    """Also where the directory of the name did not exist, and where two directories of it did not."""
    (tmp_path / "a").mkdir()
    many = tuple(tmp_path / f"a/{number}" for number in range(10))
    missing = (tmp_path / "a/x", tmp_path / "b/x", tmp_path / "c/d/x", many[0])
    for created in missing:
        watched = _watch(*missing, *(many if created.parent.name == "a" else ()))
        assert not watched.has_changed(LATER)
        created.parent.mkdir(parents=True, exist_ok=True)
        created.write_text("x")
        assert watched.has_changed(LATER), created
        created.unlink()


def test_other_file_in_the_directory_is_no_change(tmp_path: Path) -> None:
    """Git creates and removes a lock with nearly every command."""
    watched = _watch(*(tmp_path / name for name in "uvwxy"))
    assert not watched.has_changed(LATER)
    (tmp_path / "lock").write_text("")
    assert not watched.has_changed(LATER)

    (tmp_path / "lock").unlink()
    assert not watched.has_changed(LATER)
    (tmp_path / "y").write_text("")
    assert watched.has_changed(LATER)


def test_directory_that_has_just_changed_is_not_relied_on(tmp_path: Path) -> None:
    """Within the resolution of its time, a directory looks the same with another file in it."""
    now = os.stat(tmp_path).st_ctime_ns / 1e9 + 0.01
    watched = _watch(*(tmp_path / name for name in "uvwxy"), now=now)
    assert not watched.has_changed(now)
    times = os.stat(tmp_path)
    (tmp_path / "x").write_text("")
    os.utime(tmp_path, ns=(times.st_atime_ns, times.st_mtime_ns))

    assert watched.has_changed(now)


def test_file_that_is_removed_or_replaced_is_a_change(tmp_path: Path) -> None:
    """Whatever stands in its place."""
    file = tmp_path / "x"
    for replace in (lambda: None, file.mkdir, lambda: file.write_text("y"), lambda: file.symlink_to("/dev/null")):
        file.write_text("x")
        watched = _watch(file)
        assert not watched.has_changed(LATER)
        file.unlink()
        replace()
        assert watched.has_changed(LATER)
        if file.is_dir():
            file.rmdir()
        file.unlink(missing_ok=True)


def test_link_to_nowhere_leaves_no_answer_to_keep(tmp_path: Path) -> None:
    """Its own directory does not show when what it leads to comes to exist."""
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")

    assert not _watch(tmp_path / "link").is_settled()
    assert _watch(tmp_path / "other").is_settled()


@pytest.mark.parametrize(
    ("changed_ns", "age_seconds", "settled"),
    [
        (1_700_000_000_123_456_789, 0.05, False),
        (1_700_000_000_123_456_789, 0.2, True),
        (1_700_000_000_000_000_000, 0.2, False),
        (1_700_000_000_000_000_000, 2.1, True),
    ],
)
def test_time_without_a_fraction_takes_longer_to_settle(changed_ns: int, age_seconds: float, settled: bool) -> None:
    """Some file systems store whole seconds, in which a file can change many times."""
    signature = (changed_ns, changed_ns, 1, 1, 0o100644)
    assert is_signature_settled(signature, changed_ns / 1e9 + age_seconds) is settled
    assert not is_signature_settled(None, LATER)


def test_answer_is_looked_up_again_after_a_change_only(tmp_path: Path) -> None:
    """An answer is cached by key, as long as nothing that it depends on has changed."""
    file = tmp_path / "x"
    file.write_text("1")
    looked_up: list[str] = []

    def look_up(watched: WatchedFiles) -> str:
        watched.add(str(file))
        looked_up.append(file.read_text())
        return looked_up[-1]

    cache: AnswerCache[str] = AnswerCache(4, FakeClock(seconds=LATER))
    assert [cache.get("key", look_up) for _ in range(3)] == ["1", "1", "1"]
    assert len(looked_up) == 1

    file.write_text("22")
    assert cache.get("key", look_up) == "22"
    assert read_signature(str(tmp_path / "absent")) is None
