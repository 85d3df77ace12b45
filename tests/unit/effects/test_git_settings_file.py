"""The text of git's settings is read as git reads it."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verdikt.effects.git_settings_file import is_git_settings, normalize_key, parse_git_settings

TEXT = """\
# shared
[core]
\tpager = less -FRX ; quiet
\tautocrlf
[remote "Origin.x"]
\tpush = +HEAD:main
\tpush = "a;b" # kept in quotes
[alias] st = status -sb
\tx = "!f() { rm -rf \\"$1\\"; }; f"
[filter "a\\"b"]
\tclean = tidy \\
 --all
"""


def test_settings_are_those_that_git_lists(tmp_path: Path) -> None:
    """Sections, parts in quotes, comments, escapes, values without a sign and long lines are git's own."""
    (tmp_path / "settings").write_text(TEXT)
    listing = subprocess.run(
        ["git", "config", "--file", "settings", "--list", "-z"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    pairs = [tuple(row.split("\n", 1)) if "\n" in row else (row, "true") for row in listing.split("\0") if row]

    assert parse_git_settings(TEXT) == pairs


@pytest.mark.parametrize(
    ("text", "is_settings"),
    [(TEXT, True), ("[tool.black]\nline = 1\n", False), ("[alias]es\n", False), ("", False), ("[include]\n", True)],
)
def test_settings_are_known_by_their_sections(text: str, is_settings: bool) -> None:
    """Any file may be included; what other programs call their sections is none."""
    assert is_git_settings(text) is is_settings


def test_keys_are_compared_without_case_except_in_quotes() -> None:
    """`clean.requireForce` and `Clean.RequireForce` are one key, branches of other case are two."""
    assert normalize_key("Clean.requireForce") == "clean.requireforce"
    assert normalize_key("Branch.Fix/A.Merge") == "branch.Fix/A.merge"


@given(st.text(max_size=200))
def test_any_text_is_read(text: str) -> None:
    """Bad input is normal input."""
    for key, _ in parse_git_settings(text):
        assert "." in key
