"""Which paths git leaves out by the lines of a list."""

import pytest

from verdikt.effects.ignore_lists import is_ignored


@pytest.mark.parametrize(
    ("name", "lines", "expected"),
    [
        ("notes/todo.md", ["notes/"], True),
        ("notes/todo.md", ["/notes"], True),
        ("docs/notes/x", ["notes"], True),
        ("docs/notes/x", ["/notes"], False),
        (".env", [".env*", "!.env"], False),
        (".env.local", [".env*", "!.env.example"], True),
        ("a.log", ["# a.log"], False),
        ("a.log", ["", "  ", "*.log"], True),
        ("src/app.py", ["dist/", "node_modules/"], False),
    ],
)
def test_the_last_matching_line_decides(name: str, lines: list[str], expected: bool) -> None:
    """A pattern without a slash meets a name at any depth, one with a slash from the top, and `!` takes it back."""
    assert is_ignored(name, lines) is expected
