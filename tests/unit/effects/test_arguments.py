"""Arguments are parsed as getopt does, and conditions and selectors mean what their docstrings say."""

from dataclasses import replace

import pytest

from verdikt.effects.arguments import Arguments, OptionTable
from verdikt.shell.command import Word


def make_words(text: str) -> tuple[Word, ...]:
    """Return the words of a command line; one with `*` is a glob."""
    return tuple(Word(word, word, "*" in word) for word in text.split())


@pytest.mark.parametrize(
    ("text", "flags", "operands"),
    [
        ("-rf a b", ["-r", "-f"], ["a", "b"]),
        ("-o out in", [("-o", "out")], ["in"]),
        ("-oout in", [("-o", "out")], ["in"]),
        ("-fo out in", ["-f", ("-o", "out")], ["in"]),
        ("--output=out in", [("--output", "out")], ["in"]),
        ("--output out in", [("--output", "out")], ["in"]),
        ("--outp out in", [("--output", "out")], ["in"]),
        ("-f -- -x y", ["-f"], ["-x", "y"]),
        ("- a", [], ["-", "a"]),
        ("a -o", ["-o"], ["a"]),
    ],
)
def test_arguments_are_sorted_like_getopt_does(
    text: str, flags: list[str | tuple[str, str]], operands: list[str]
) -> None:
    """Clusters, attached and separate values, abbreviations and `--` are understood."""
    args = Arguments(
        make_words(text),
        OptionTable(frozenset({"-o", "--output"}), names=frozenset({"-o", "--output"}), abbreviate=True),
    )

    assert [(flag, value.text) if value else flag for flag, value in args.flags] == flags
    assert [word.text for word in args.operands] == operands


def test_single_dash_begins_a_long_name_where_the_program_says_so() -> None:
    """`-auto-approve` is one flag of terraform, and no cluster."""
    args = Arguments(make_words("-auto-approve -var x"), OptionTable(frozenset({"-var"}), single_dash=True))

    assert [flag for flag, _ in args.flags] == ["-auto-approve", "-var"]
    assert args.operands == []


@pytest.mark.parametrize(
    ("name", "full_name"),
    [("--ha", "--hard"), ("--hard", "--hard"), ("--s", "--s"), ("--x", "--x"), ("--soft-", "--soft-")],
)
def test_abbreviation_is_completed_when_it_stands_for_one_option(name: str, full_name: str) -> None:
    """An abbreviation of several options, or of none, is left as it is."""
    table = OptionTable(names=frozenset({"--hard", "--soft", "--skip"}), abbreviate=True)

    assert table.complete(name) == full_name
    assert replace(table, abbreviate=False).complete(name) == name


@pytest.mark.parametrize(
    ("text", "doubtful"),
    [
        ("--new x sub", ["--new"]),
        ("-z x sub", ["-z"]),
        ("-az x", ["-az"]),
        ("--all x sub", []),
        ("--new=x sub", []),
        ("--new --all", []),
        ("--no-cache x", []),
        ("--yes x", []),
        ("sub --new", []),
        ("-o out x", []),
        ("-oout x", []),
    ],
)
def test_unknown_option_before_a_word_is_doubtful(text: str, doubtful: list[str]) -> None:
    """An option that the table does not list may take the next word as its value."""
    args = Arguments(make_words(text), OptionTable(frozenset({"-o"}), plain=frozenset({"-a", "--all"})))

    assert [word.text for word in args.doubtful] == doubtful


def test_forced_option_takes_the_next_word() -> None:
    """The second reading of an unknown option takes its value away from the operands."""
    words = make_words("--new x sub")

    args = Arguments(words, OptionTable(), forced={id(words[0])})

    assert [word.text for word in args.operands] == ["sub"]
    assert args.get_value("--new") == words[1]


@pytest.mark.parametrize(
    ("selector", "selected"),
    [
        ("*", "a b c"),
        ("0", "a"),
        ("-1", "c"),
        ("1:", "b c"),
        (":-1", "a b"),
        ("-o", "out"),
        ("0|-o", "a out"),
        ("7", ""),
        ("'the firewall'", "the firewall"),
        ("7||'.'", "."),
        ("0||'.'", "a"),
    ],
)
def test_selector_selects_its_words(selector: str, selected: str) -> None:
    """Each form of a selector selects the words that `select_words` documents."""
    args = Arguments(make_words("-o out a b c"), OptionTable(frozenset({"-o"})))

    assert " ".join(word.text for word in args.select_words(selector)) == selected


@pytest.mark.parametrize(
    ("conditions", "holds"),
    [
        ("-r", True),
        ("-x -r", True),
        ("-r+-f", True),
        ("-r+-x", False),
        ("!-x", True),
        ("!-r", False),
        ("-r+!-f", False),
        ("--recurs --other", False),
        ("name", True),
        ("absent", False),
        ("--type=node", True),
        ("--type=n*", True),
        ("--type=pod|node", True),
        ("--type=pod", False),
        ("0=na*", True),
        ("1=na*", False),
        ("*=oth?r", True),
        ("key=value", True),
        ("key=other", False),
        ("--t*", True),
        ("--x*", False),
        ("1:==other|key*", True),
        ("*==other|key*", False),
    ],
)
def test_condition_holds_by_flags_values_and_operands(conditions: str, holds: bool) -> None:
    """Each form of a condition that `has_flag` documents is decided by the arguments."""
    args = Arguments(make_words("-rf --type node NAME other key=value"), OptionTable(frozenset({"--type"})))

    assert args.has_flag(conditions) is holds


def test_shortened_long_flag_matches() -> None:
    """`rm --recurs` is `rm --recursive`, as GNU programs allow."""
    assert Arguments(make_words("--recurs x")).has_flag("-r --recursive")
