"""Whether a file still runs as it did."""

import pytest

from verdikt.turns.layout import is_same_code


@pytest.mark.parametrize(
    ("path", "before", "now", "expected"),
    [
        ("a.py", "x = 1\n", "x = 1\n\n\n", True),
        ("a.py", "x = 1\n", "# one\nx = (1)  # still\n", True),
        ("a.py", "x = 1\n", "x = 2\n", False),
        # In Python the blanks before a line say where it belongs.
        ("a.py", "if x:\n    a()\n    b()\n", "if x:\n    a()\nb()\n", False),
        ("a.py", "def broken(\n", "def broken(\n  # x\n", False),
        ("a.js", "let x = 1\n", "let x = 1   \n\n", True),
        ("a.js", "let x = 1\n", "// one\nlet x = 1\n", False),
        ("a.go", "", "", True),
    ],
)
def test_white_space_and_comments_change_nothing_that_runs(path: str, before: str, now: str, expected: bool) -> None:
    """Blank lines and the ends of lines count in no language, comments are told apart in Python alone."""
    assert is_same_code(path, before, now) is expected
