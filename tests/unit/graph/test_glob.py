"""Globs over paths and names."""

import pytest

from verdikt.graph.glob import escape_glob, match_glob


@pytest.mark.parametrize(
    ("pattern", "target", "fits"),
    [
        ("/etc/passwd", "/etc/passwd", True),
        ("/etc/*", "/etc/passwd", True),
        ("/etc/*", "/etc/ssh/config", False),
        ("/etc/**", "/etc/ssh/config", True),
        ("/etc/**", "/etc", True),
        ("/etc/**", "/etcetera", False),
        ("/**/.env", "/a/b/.env", True),
        ("/**/.env", "/.env", True),
        ("/a/**/b/**/c", "/a/x/b/y/z/c", True),
        ("/a/**/b/**/c", "/a/x/y/z/c", False),
        ("*.example.com", "api.example.com", True),
        ("*.example.com", "example.com", False),
        ("file?.txt", "file1.txt", True),
        ("file?.txt", "file.txt", False),
        (r"a\*b", "a*b", True),
        (r"a\*b", "axb", False),
        ("a**b", "a-b", True),
        ("", "", True),
        ("**", "anything/at/all", True),
    ],
)
def test_match_glob_follows_the_table(pattern: str, target: str, fits: bool) -> None:
    """`*` stays within a segment, `**` does not."""
    assert match_glob(pattern, target) is fits


def test_match_glob_many_stars_do_not_backtrack_exponentially() -> None:
    """A glob that makes a backtracking matcher explode is matched at once."""
    assert not match_glob("*a" * 200 + "b", "a" * 5_000)
    assert not match_glob("/" + "**/a/" * 200 + "b", "/a" * 2_000)


def test_escape_glob_text_fits_itself_only() -> None:
    """A home directory may contain a star."""
    assert match_glob(escape_glob("/home/*/\\x?"), "/home/*/\\x?")
    assert not match_glob(escape_glob("/home/*"), "/home/dev")
