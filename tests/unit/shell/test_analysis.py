"""The analysis of any text ends: bounded, without an exception, with what was not understood named in words."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verdikt.knowledge import list_programs
from verdikt.shell import analyse
from verdikt.shell.builtin import BUILTINS
from verdikt.shell.command import UNKNOWN, Command, Script
from verdikt.shell.inner_commands import find_tracers


def analyse_at_home(text: str) -> Script:
    """Analyse the text in an invented project directory."""
    return analyse(text, home="/home/dev", cwd="/home/dev/project")


@pytest.mark.parametrize(
    "text",
    [
        "echo " + "$(" * 10_000 + "rm x" + ")" * 10_000,
        "$(" * 10_000,
        "echo " + '"$(echo ' * 5_000 + "a" + ')"' * 5_000,
        "echo " + "${x:-" * 10_000 + "a" + "}" * 10_000,
        "{ " * 10_000 + "a;" + " }" * 10_000,
        "(" * 10_000 + "a" + ";)" * 10_000,
        "if a; then " * 5_000 + "b" + "; fi" * 5_000,
        "for i in a b c; do " * 200 + "b $i" + "; done" * 200,
        "sudo " * 10_000 + "rm x",
        "eval " * 10_000 + "rm x",
        "echo $(" + "(" * 10_000 + "1" + ")" * 10_000 + ")",
    ],
    ids=[
        "substitutions",
        "open",
        "quotes",
        "parameters",
        "groups",
        "subshells",
        "if",
        "for",
        "sudo",
        "eval",
        "arithmetic",
    ],
)
def test_nesting_beyond_the_limit_is_reported(text: str) -> None:
    """A text that is nested too deeply has a problem that says so."""
    assert any("too" in problem for problem in analyse_at_home(text).problems)


@pytest.mark.parametrize(
    "text",
    [
        "x=a; " + "x=$x$x; " * 60 + "echo $x",
        "echo " + "{a,b}" * 40,
        "echo {1..999999999}",
        "for i in {1..1000}; do for j in {1..1000}; do for k in {1..1000}; do echo $i$j$k; done; done; done",
        "x=a; " + "x=${x//a/aaaaaaaa}; " * 30,
        "printf '%999999s' x | bash",
        "echo x > f; " + "cat f f f f >> f; " * 40 + "bash f",
        "f() { g; g; }; g() { h; h; }; h() { i; i; }; i() { j; j; }; j() { f; echo; }; f",
        "a() { b; }; b() { a; }; a",
        "alias a='b'; alias b='a'; a",
        "echo $((9**9**9**9))",
        "echo " + "[" * 20_000,
        "echo " + "{," * 20_000,
        "a[" * 20_000,
        "while x; do " + "a[" * 20_000 + "; done",
        "'" * 9_999,
        "`" * 9_999,
        "\\" * 9_999,
        "<<a " * 5_000,
        "<(" * 5_000,
        "case x in a) " * 5_000,
        "((" * 5_000,
        "$'" * 9_999,
    ],
)
def test_short_text_that_multiplies_itself_has_a_bounded_result(text: str) -> None:
    """Doubling, loops and recursion stop at a limit on commands and on constant text."""
    script = analyse_at_home(text)

    assert len(script.commands) <= 20_000
    assert sum(len(word.text) for command in script.commands for word in command.argv) < 1 << 25


@pytest.mark.parametrize("piece", ["a | ", 'git commit -m "$(date)"\n', "é "])
def test_text_of_a_megabyte_gives_commands(piece: str) -> None:
    """A long text is analysed as far as the limits allow; a long broken pipeline never reaches the grammar."""
    script = analyse_at_home((piece * (1_000_000 // len(piece) + 1))[:1_000_000])

    assert script.commands


def test_text_beyond_the_maximum_length_is_reported_and_its_beginning_read() -> None:
    """A text that is too long has a problem, and the commands of its beginning."""
    script = analyse_at_home("rm x; " + "a" * 2_000_000)

    assert script.commands[0].name == "rm"
    assert "longer than" in script.problems[0]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('echo "a', '`"` is never closed'),
        ("echo 'a", "a single quote is never closed"),
        ("echo $(a", "`$(` is never closed"),
        ("a | | b", "the shell would not accept this near `|`"),
        ("if a; then b", "the shell would not accept this near `if`"),
        ("rм x", "`rм` only looks like `rm`"),
        ("rm\0 x", "it holds NUL bytes, which a shell leaves out"),
        (
            "echo \u202ea",
            "it holds characters that turn the direction of the text, so that it does not read as it runs",
        ),
    ],
)
def test_text_with_an_error_names_the_problem(text: str, problem: str) -> None:
    """Each kind of error has its own sentence."""
    assert problem in analyse_at_home(text).problems


def test_spans_of_non_ascii_text_count_bytes() -> None:
    """The span of a command is its place in the UTF-8 bytes of the text."""
    text = "echo 'é日'; rm -rf x && ls"
    spans = [text.encode()[slice(*command.span)].decode() for command in analyse_at_home(text).commands]

    assert spans == ["echo 'é日'", "rm -rf x", "ls"]


def test_command_inside_another_has_the_span_of_the_outermost() -> None:
    """The span of an inner command shows which command of the text runs it."""
    text = "ls; sudo bash -c 'rm x'"

    assert {text[slice(*command.span)] for command in analyse_at_home(text).commands[1:]} == {"sudo bash -c 'rm x'"}


def test_commands_of_a_script_are_immutable() -> None:
    """A script consists of values that cannot be changed."""
    command = analyse_at_home("rm x").commands[0]

    assert type(command) is Command
    with pytest.raises(AttributeError):
        command.host = "x"  # type: ignore[misc]


def test_same_text_analysed_twice_gives_equal_scripts() -> None:
    """No state is carried over from one analysis to the next."""
    text = "x=1; f() { rm $x; }; f; echo 'rm y' > a.sh; bash a.sh; cat <(b)"

    assert analyse_at_home(text) == analyse_at_home(text)


def test_positional_parameters_are_empty_in_a_line_and_unknown_in_a_script() -> None:
    """A command line has no arguments; a script file may be called with any."""
    line, script = analyse("rm -rf $1/x"), analyse("rm -rf $1/x", script=True)

    assert line.commands[0].argv[-1].text == "/x"
    assert script.commands[0].argv[-1].text == f"{UNKNOWN}/x"


MARKS = r"""rm -rf / $( ) ${ } ` " ' $' \ <<EOF ; && || | & ( { if then fi for x in do done case esac
x= $x ${x:- [[ ]] (( )) $(( <( > < >> 2>&1 sudo bash -c xargs eval find . -exec f()
# ~ {a,b} {1..9} * ? [a ] echo printf %s base64 -d é"""
BLANKS = (" ", " ", "\n", "\n", "\nEOF\n", "\0", "\r\n", "\u202e", UNKNOWN)
PIECES = st.sampled_from([*MARKS.split(), *BLANKS])
ARGUMENTS = st.lists(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0"), max_size=12), max_size=6)


@given(st.text(max_size=200))
def test_random_characters_give_a_script(text: str) -> None:
    """No text makes the analysis raise."""
    assert analyse(text, home="/home/dev", cwd="/home/dev").text == text


@given(st.lists(PIECES, max_size=30))
def test_random_shell_syntax_gives_a_script(pieces: list[str]) -> None:
    """No text made of the shell's own syntax makes the analysis raise."""
    text = "".join(pieces)

    assert analyse(text, home="/home/dev", cwd="/home/dev").text == text


@given(ARGUMENTS)
def test_words_quoted_by_shlex_are_read_unchanged(words: list[str]) -> None:
    """Words that `shlex.quote` has quoted come out as they were."""
    words = [word.replace("\r\n", "\n") for word in words]
    script = analyse(" ".join(["run", *(shlex.quote(word) for word in words)]))

    assert [word.text for word in script.commands[0].argv] == ["run", *words]


@given(ARGUMENTS)
def test_words_quoted_twice_are_read_unchanged_through_an_inner_shell(words: list[str]) -> None:
    """Words that are quoted twice come out of `bash -c` as they were."""
    words = [word.replace("\r\n", "\n") for word in words]
    inner = " ".join(["run", *(shlex.quote(word) for word in words)])
    script = analyse(f"bash -c {shlex.quote(inner)}")

    # The words may name programs, and then what `run` may wrap follows as a command of its own.
    assert [word.text for word in script.commands[1].argv] == ["run", *words]


@given(st.from_regex(r"[a-z_]{1,8}", fullmatch=True).filter(lambda name: name not in ("_",)))
def test_variable_that_is_not_set_is_unknown(name: str) -> None:
    """The value of a variable that the text does not set is not guessed."""
    script = analyse(f'run "${name}_"x ${{{name}}}')

    assert script.commands[0].argv[-1].text == UNKNOWN
    assert not script.commands[0].argv[-1].is_known


@pytest.mark.parametrize("name", sorted({*filter(find_tracers, list_programs()), *BUILTINS}))
def test_command_without_the_words_it_needs_gives_a_script(name: str) -> None:
    """A program that runs others does not make the analysis raise when its last words are missing."""
    for arguments in ("", "a", "'a b'", "a b", "-x", "-x a", "a -x", "--", "-- a", "a --", "-c", "-e", "--x="):
        text = f"{name} {arguments}".strip()
        assert analyse(text, aliases={"unused": "unused"}).text == text
