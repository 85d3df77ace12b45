"""What holds of every shell text."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verdikt.shell import analyse
from verdikt.shell.builtin import BUILTINS
from verdikt.shell.command import UNKNOWN
from verdikt.shell.inner_commands import HANDLERS
from verdikt.shell.subcommand import RUNNERS
from verdikt.shell.wrapper import WRAPPERS

MARKS = r"""rm -rf / $( ) ${ } ` " ' $' \ <<EOF ; && || | & ( { if then fi for x in do done case esac x= $x ${x:- [[ ]] (( )) $((
<( > < >> 2>&1 sudo bash -c xargs eval find . -exec f() # ~ {a,b} {1..9} * ? [a ] echo printf %s base64 -d é"""
BLANKS = (" ", " ", "\n", "\n", "\nEOF\n", "\0", "\r\n", "\u202e", UNKNOWN)
PIECES = st.sampled_from([*MARKS.split(), *BLANKS])
ARGUMENTS = st.lists(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0"), max_size=12), max_size=6)


@given(st.text(max_size=200))
def test_no_text_makes_it_raise(text: str) -> None:
    """Any text gives a script."""
    assert analyse(text, home="/home/dev", cwd="/home/dev").text == text


@given(st.lists(PIECES, max_size=30))
def test_no_heap_of_shell_makes_it_raise(pieces: list[str]) -> None:
    """Nor does text made of the shell's own marks."""
    text = "".join(pieces)

    assert analyse(text, home="/home/dev", cwd="/home/dev").text == text


@given(ARGUMENTS)
def test_quoted_words_come_back(words: list[str]) -> None:
    """What `shlex.quote` quotes is read as it was."""
    words = [word.replace("\r\n", "\n") for word in words]
    script = analyse(" ".join(["run", *(shlex.quote(word) for word in words)]))

    assert [word.text for word in script.commands[0].argv] == ["run", *words]


@given(ARGUMENTS)
def test_quoted_words_come_back_through_a_shell(words: list[str]) -> None:
    """Quoting twice survives reading twice."""
    words = [word.replace("\r\n", "\n") for word in words]
    inner = " ".join(["run", *(shlex.quote(word) for word in words)])
    script = analyse(f"bash -c {shlex.quote(inner)}")

    assert [word.text for word in script.commands[-1].argv] == ["run", *words]


@given(st.from_regex(r"[a-z_]{1,8}", fullmatch=True).filter(lambda name: name not in ("_",)))
def test_what_nobody_said_is_unknown(name: str) -> None:
    """A variable that the text does not set is not guessed."""
    script = analyse(f'run "${name}_"x ${{{name}}}')

    assert script.commands[0].argv[-1].text == UNKNOWN
    assert not script.commands[0].argv[-1].is_known


PROGRAMS = "ls cat git grep rm sort jq head kubectl find sed python3 sudo cd echo base64 bash make x-y tee cp curl xargs".split()
LINES = st.lists(
    st.sampled_from([*PROGRAMS, *PROGRAMS, *MARKS.split(), "a", "-x", "'q r'", "2>/dev/null", "log", "|", "|"]),
    max_size=10,
)


@given(LINES)
def test_every_way_gives_the_same_script(words: list[str]) -> None:
    """Some lines are read a short way; an alias that nobody uses keeps it closed."""
    text = " ".join(words)

    assert analyse(text, cwd="/a") == analyse(text, cwd="/a", aliases={"unused": "unused"})


@pytest.mark.parametrize("name", sorted({*WRAPPERS, *RUNNERS, *HANDLERS, *BUILTINS}))
def test_a_command_that_lacks_words_does_not_make_it_raise(name: str) -> None:
    """Whatever is missing at its end."""
    for words in ("", "a", "'a b'", "a b", "-x", "-x a", "a -x", "--", "-- a", "a --", "-c", "-e", "--x="):
        text = f"{name} {words}".strip()
        assert analyse(text, aliases={"unused": "unused"}).text == text
