"""A plain line is read the short way or the long way: the answer is the same."""

from itertools import zip_longest

import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.effects.test_cases import CASES
from verdikt.shell import plain as short
from verdikt.shell.analysis import analyse
from verdikt.shell.builtin import BUILTINS
from verdikt.shell.command import Script
from verdikt.shell.exec_options import ESCAPES
from verdikt.shell.interpreter import INTERPRETERS
from verdikt.shell.output_prediction import INPUT_FREE_PROGRAMS
from verdikt.shell.plain import parse_plain_line
from verdikt.shell.subcommand import RUNNERS, SUBCOMMANDS
from verdikt.shell.wrapper import WRAPPERS

PROGRAMS = sorted(
    {
        *short._HARMLESS,
        *short._CAREFUL,
        *short._SUBCOMMANDS,
        *SUBCOMMANDS,
        *WRAPPERS,
        *RUNNERS,
        *ESCAPES,
        *BUILTINS,
        *INTERPRETERS,
        "git",
        "sed",
        "brew",
        "aws",
    }
)
WORDS = st.one_of(
    st.sampled_from(
        "-n -la -r -rf -f -c -e -i -exec -delete --pre --pager=x -x -- - 2>&1 2>/dev/null | src/app.py status log 1,5p '1,5p' '*.py' A=1 /etc/passwd ../x {} *.py $x ~ ; && || > config get --version -m run bisect alias.x ext::x --upload-pack=x submodule --config=a -toolexec".split()
    ),
    st.sampled_from(["'a b'", '"a b"']),
    st.text(alphabet="abz019_./:@%+,=-'\" \\", max_size=8),
)  # fmt: skip
LINES = st.builds(
    lambda first, rest: " ".join([first, *rest]), st.sampled_from(PROGRAMS), st.lists(st.one_of(WORDS, st.sampled_from(PROGRAMS)), max_size=8)
)  # fmt: skip


RUN = [
    case["run"]
    for file in sorted(CASES.glob("*.yaml"))
    if isinstance(found := yaml.safe_load(file.read_text()), list)
    for case in found
    if isinstance(case, dict) and isinstance(case.get("run"), str)
]


def long_way(text: str) -> Script:
    """The walker's own answer; an alias that nobody uses keeps the short way closed."""
    return analyse(text, home="/home/dev", cwd="/home/dev/project", aliases={"unused": "unused"})


def test_what_the_lists_say_is_what_the_tables_say() -> None:
    """No program of the lists prints what is known from its words, unless the lists say so."""
    assert (short._PROGRAMS & INPUT_FREE_PROGRAMS) == short._SOURCES


@given(LINES)
def test_both_ways_give_the_same_commands(text: str) -> None:
    """Whatever is put together of programs, flags, quotes, pipes and traps."""
    commands = parse_plain_line(text)

    if commands is not None:
        assert long_way(text) == Script(text=text, commands=commands)


@given(st.lists(LINES, min_size=1, max_size=4), st.lists(st.sampled_from([" && ", " || ", "; ", " & ", "\n", " | "])))
def test_what_is_told_from_its_tables_is_told_as_the_walker_tells_it(lines: list[str], joins: list[str]) -> None:
    """Also for lists, pipelines and what runs in the background."""
    text = "".join(part for pair in zip_longest(lines, joins[: len(lines)], fillvalue="") for part in pair)

    assert analyse(text, home="/home/dev", cwd="/home/dev/project") == long_way(text)


def test_every_case_is_told_the_same_from_its_tables() -> None:
    """The walker agrees on all of them."""
    assert [text for text in RUN if analyse(text, home="/home/dev", cwd="/home/dev/project") != long_way(text)] == []


def test_every_case_reads_the_same_both_ways() -> None:
    """And a good part of them is plain, so that the short way is worth its keep."""
    plain_ones = [text for text in RUN if parse_plain_line(text) is not None]

    assert len(plain_ones) > 100
    assert [
        text for text in plain_ones if long_way(text) != Script(text=text, commands=parse_plain_line(text) or ())
    ] == []
