"""What was kept is used by whoever kept it, for what it was kept for, and its absence is no failure."""

import os
from pathlib import Path

import pytest

from verdikt.ledger.content_cache import MAX_FILES, ContentCache


def sealed(home: Path, version: str = "1") -> ContentCache:
    """A place in a data directory."""
    return ContentCache(str(home), "kept", version)


def test_it_is_found_by_its_source_and_version(tmp_path: Path) -> None:
    """What an older verdikt made is not what this one would make."""
    sealed(tmp_path).put(b"x", b"made of x")

    assert [sealed(tmp_path).get(b"x"), sealed(tmp_path).get(b"y"), sealed(tmp_path, "2").get(b"x")] == [
        b"made of x",
        None,
        None,
    ]


def test_it_is_private(tmp_path: Path) -> None:
    """The directory is 0700, the file 0600, and nothing else is left."""
    sealed(tmp_path).put(b"x", b"made of x")
    (file,) = (tmp_path / "kept").iterdir()

    assert (file.parent.stat().st_mode & 0o777, file.stat().st_mode & 0o777) == (0o700, 0o600)


def test_what_another_owns_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However it is sealed."""
    sealed(tmp_path).put(b"x", b"made of x")
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)

    assert sealed(tmp_path).get(b"x") is None


def test_nothing_is_made_where_verdikt_keeps_nothing_yet(tmp_path: Path) -> None:
    """Looking at a policy leaves no trace."""
    sealed(tmp_path / "absent").put(b"x", b"made of x")

    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_kept_is_no_failure(tmp_path: Path) -> None:
    """It is made again."""
    (tmp_path / "kept").write_text("in its place")
    sealed(tmp_path).put(b"x", b"made of x")

    assert sealed(tmp_path).get(b"x") is None


def test_only_so_many_are_kept(tmp_path: Path) -> None:
    """The oldest go."""
    for number in range(MAX_FILES + 5):
        sealed(tmp_path).put(b"%d" % number, b"made")

    assert len(list((tmp_path / "kept").iterdir())) == MAX_FILES
    assert sealed(tmp_path).get(b"%d" % (MAX_FILES + 4)) == b"made"
