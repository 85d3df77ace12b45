"""The content-addressed cache: found by content and version, private, and never required."""

import os
from pathlib import Path

import pytest

from verdikt.ledger.content_cache import MAX_FILES, ContentCache


def open_cache(home: Path, version: str = "1") -> ContentCache:
    """Return a cache in a data directory."""
    return ContentCache(str(home), "kept", version)


def test_get_finds_content_by_source_and_version(tmp_path: Path) -> None:
    """Content cached by another version is not found."""
    open_cache(tmp_path).put(b"x", b"made of x")

    assert [open_cache(tmp_path).get(b"x"), open_cache(tmp_path).get(b"y"), open_cache(tmp_path, "2").get(b"x")] == [
        b"made of x",
        None,
        None,
    ]


def test_put_makes_private_files_only(tmp_path: Path) -> None:
    """The directory is 0700, the file 0600, and no draft is left."""
    open_cache(tmp_path).put(b"x", b"made of x")
    (file,) = (tmp_path / "kept").iterdir()

    assert (file.parent.stat().st_mode & 0o777, file.stat().st_mode & 0o777) == (0o700, 0o600)


def test_get_ignores_files_of_another_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of another user is ignored, even with a right checksum."""
    open_cache(tmp_path).put(b"x", b"made of x")
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)

    assert open_cache(tmp_path).get(b"x") is None


def test_put_without_data_directory_creates_nothing(tmp_path: Path) -> None:
    """The cache does not create the data directory."""
    open_cache(tmp_path / "absent").put(b"x", b"made of x")

    assert list(tmp_path.iterdir()) == []


def test_put_that_cannot_write_is_ignored(tmp_path: Path) -> None:
    """A cache that cannot be written is no error."""
    (tmp_path / "kept").write_text("in its place")
    open_cache(tmp_path).put(b"x", b"made of x")

    assert open_cache(tmp_path).get(b"x") is None


def test_put_evicts_the_oldest_files(tmp_path: Path) -> None:
    """At most `MAX_FILES` files stay; the oldest are deleted."""
    for number in range(MAX_FILES + 5):
        open_cache(tmp_path).put(b"%d" % number, b"made")

    assert len(list((tmp_path / "kept").iterdir())) == MAX_FILES
    assert open_cache(tmp_path).get(b"%d" % (MAX_FILES + 4)) == b"made"
