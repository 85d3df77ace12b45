"""Hostile text gets an answer: bounded, with what was not understood named in words."""

import pytest

from verdikt.shell import analyse
from verdikt.shell.command import UNKNOWN, Command, Script


def look(text: str) -> Script:
    """The text, analysed in a made-up place."""
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
def test_too_deep_is_said_to_be(text: str) -> None:
    """Nesting ends somewhere, and the script says so."""
    assert any("too" in problem for problem in look(text).problems)


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
def test_a_short_text_cannot_ask_for_much(text: str) -> None:
    """What would multiply is cut off."""
    script = look(text)

    assert len(script.commands) <= 20_000
    assert sum(len(word.text) for command in script.commands for word in command.argv) < 1 << 25


@pytest.mark.parametrize("piece", ["a | ", 'git commit -m "$(date)"\n', "é "])
def test_a_megabyte_is_read(piece: str) -> None:
    """As far as the bounds allow, and no error comes out."""
    script = look((piece * (1_000_000 // len(piece) + 1))[:1_000_000])

    assert script.commands


def test_more_than_that_is_said_to_be_too_long() -> None:
    """The beginning is still read."""
    script = look("rm x; " + "a" * 2_000_000)

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
def test_problems_are_said_in_words(text: str, problem: str) -> None:
    """Each kind of trouble has its sentence."""
    assert problem in look(text).problems


def test_spans_count_bytes() -> None:
    """A command is found again in the text that was given."""
    text = "echo 'é日'; rm -rf x && ls"
    spans = [text.encode()[slice(*command.span)].decode() for command in look(text).commands]

    assert spans == ["echo 'é日'", "rm -rf x", "ls"]


def test_a_command_inside_another_has_the_span_of_the_outermost() -> None:
    """So that whoever reads the text sees where it stands."""
    text = "ls; sudo bash -c 'rm x'"

    assert {text[slice(*command.span)] for command in look(text).commands[1:]} == {"sudo bash -c 'rm x'"}


def test_what_comes_out_is_closed() -> None:
    """A script is made of values: nobody changes them later."""
    command = look("rm x").commands[0]

    assert type(command) is Command
    with pytest.raises(AttributeError):
        command.host = "x"  # type: ignore[misc]


def test_the_same_text_gives_the_same_script() -> None:
    """Nothing is carried over from one analysis to the next."""
    text = "x=1; f() { rm $x; }; f; echo 'rm y' > a.sh; bash a.sh; cat <(b)"

    assert look(text) == look(text)


def test_the_arguments_of_a_script_file_are_not_known() -> None:
    """A command line has no arguments; a file may get any."""
    line, file = analyse("rm -rf $1/x"), analyse("rm -rf $1/x", script=True)

    assert line.commands[0].argv[-1].text == "/x"
    assert file.commands[0].argv[-1].text == f"{UNKNOWN}/x"
