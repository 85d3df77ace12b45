"""Translation of fish text: the same commands in the syntax that the parser reads."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verdikt.shell.analysis import analyse
from verdikt.shell.fish_syntax import translate_fish

PIECES = ("for x in a", "while true", "if true", "else", "else if x", "end", "set y (", ")", "begin", "switch $a")
PIECES += ("case b", "function f", "and ls", "not ls", "source", "'quoted; end'", '"', "$(", ";", "\n", "|", "&&", "#c")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("for f in (ls); rm $f; end", ["ls", "rm"]),
        ("while read -l x; date; end", ["read", "date"]),
        ("if test -f x; ls; else if test -d y; date; else; pwd; end", ["test", "ls", "test", "date", "pwd"]),
        ("begin; ls; date; end", ["ls", "date"]),
        ("switch $a; case x; ls; case y z; date; end", ["ls", "date"]),
        ("function f; date; end; f", ["date"]),
        ("set x (git status) (date)", ["git", "date", ":"]),
        ("test -f x; and ls; or date", ["test", "ls", "date"]),
        ("echo 'for x; end'", ["echo"]),
    ],
)
def test_translation_keeps_every_command(text: str, names: list[str]) -> None:
    """Each command is found, and nothing is reported as not understood."""
    script = analyse(translate_fish(text))

    assert [command.name for command in script.commands if command.name] == names
    assert script.problems == ()


@pytest.mark.parametrize("text", ["end", "for x in a", "ls )", "echo (ls", "begin; (end)"])
def test_text_whose_blocks_do_not_match_is_left_alone(text: str) -> None:
    """The parser reports what it can't read; a guess must not hide it."""
    assert translate_fish(text) == text


@given(st.lists(st.sampled_from(PIECES), max_size=12).map(" ".join))
def test_no_text_makes_the_translation_fail(text: str) -> None:
    """Any sequence of words and blocks gives a text."""
    assert isinstance(translate_fish(text), str)
