"""The fast path for plain lines gives the same commands as the full analysis."""

from itertools import zip_longest

from hypothesis import given
from hypothesis import strategies as st

from tests.case_files import CASE_FILES, load_yaml
from verdikt.knowledge import list_programs
from verdikt.shell import analyse
from verdikt.shell.analysis import parse_plain_line
from verdikt.shell.builtin import BUILTINS
from verdikt.shell.command import Script
from verdikt.shell.output_prediction import PREDICTABLE_PROGRAMS
from verdikt.shell.shell_words import BUILTIN_NAMES

PROGRAMS = sorted({*list_programs(), *BUILTINS, *PREDICTABLE_PROGRAMS, "python3.15"})
ARGUMENTS = (
    "-n -la -r -rf -f -c -e -i -exec -delete --pre --pager=x -x -- - 2>&1 2>/dev/null | src/app.py status log 1,5p "
    "'1,5p' '*.py' A=1 /etc/passwd ../x {} *.py $x ~ ; && || > config get --version -m run bisect alias.x ext::x "
    "--upload-pack=x submodule --config=a -toolexec HEAD~1 a~ ~/x x=~ a:~ --include='*.py' --x=\"a*\"b* a''b"
).split()
WORDS = st.one_of(
    st.sampled_from([*ARGUMENTS, "'a b'", '"a b"']),
    st.text(alphabet="abz019_./:@%+,=-'\" \\~*", max_size=8),
)
LINES = st.builds(
    lambda program, arguments: " ".join([program, *arguments]),
    st.sampled_from(PROGRAMS),
    st.lists(st.one_of(WORDS, st.sampled_from(PROGRAMS)), max_size=8),
)
OPERATORS = st.lists(st.sampled_from([" && ", " || ", "; ", " & ", "\n", " | "]))

CASE_TEXTS = [
    case["run"]
    for path in sorted(CASE_FILES.glob("*.yaml"))
    if isinstance(cases := load_yaml(path), list)
    for case in cases
    if isinstance(case, dict) and isinstance(case.get("run"), str)
]


def analyse_fully(text: str) -> Script:
    """Return the answer of the full analysis; an alias, though unused, rules out the fast path."""
    return analyse(text, home="/home/dev", cwd="/home/dev/project", aliases={"unused": "unused"})


@given(LINES)
def test_plain_line_of_any_words_matches_the_full_analysis(text: str) -> None:
    """A line of programs, flags, quotes and pipes has the same commands on both ways."""
    commands = parse_plain_line(text)

    if commands is not None:
        assert analyse_fully(text) == Script(text=text, commands=commands)


@given(st.lists(LINES, min_size=1, max_size=4), OPERATORS)
def test_lines_joined_by_operators_match_the_full_analysis(lines: list[str], operators: list[str]) -> None:
    """Lists, pipelines and background commands have the same commands on both ways."""
    pairs = zip_longest(lines, operators[: len(lines)], fillvalue="")
    text = "".join(part for pair in pairs for part in pair)

    assert analyse(text, home="/home/dev", cwd="/home/dev/project") == analyse_fully(text)


def test_case_files_match_the_full_analysis() -> None:
    """Every text of the case files has the same commands on both ways."""
    different = [
        text for text in CASE_TEXTS if analyse(text, home="/home/dev", cwd="/home/dev/project") != analyse_fully(text)
    ]

    assert different == []


def test_case_files_contain_many_plain_lines() -> None:
    """The fast path applies to a good part of the case files; otherwise the tests above would compare nothing."""
    plain_texts = [text for text in CASE_TEXTS if parse_plain_line(text) is not None]

    assert len(plain_texts) > 500


def test_no_builtin_is_taken_for_a_program() -> None:
    """The plain reader has the names of the builtins without their functions; both lists are the same."""
    assert BUILTINS.keys() == BUILTIN_NAMES
