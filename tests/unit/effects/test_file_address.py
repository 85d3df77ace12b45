"""Addresses of files: every path that one of their readers could open."""

import pytest

from verdikt.effects.file_address import list_paths, read_file_address


@pytest.mark.parametrize(
    ("address", "paths"),
    [
        ("file:///home/dev/a", ("/home/dev/a",)),
        ("FILE:/home/dev/a", ("/home/dev/a",)),
        (" file:///home/dev/a ", ("/home/dev/a",)),
        ("file:a.txt", ("a.txt",)),
        ("file://localhost/etc/a", ("/etc/a", "localhost/etc/a")),
        ("file://~/a", ("/a", "~/a")),
        ("file:///etc/a?b#c", ("/etc/a", "/etc/a?b#c")),
        ("file:///caf%C3%A9/%2e%2E", ("/café/..",)),
        ("file:///%zz", ("/%zz",)),
        ("https://example.com/a", ()),
        ("file: a.txt", ()),
        ("profile:///a", ()),
    ],
)
def test_the_paths_of_an_address(address: str, paths: tuple[str, ...]) -> None:
    """A parser of addresses and a program that cuts off the scheme can read two paths in one address."""
    assert read_file_address(address) == paths


def test_a_path_is_its_own_reading() -> None:
    """What is no address of a file stays as it is."""
    assert list_paths("src/a%20b.py") == ("src/a%20b.py",)
