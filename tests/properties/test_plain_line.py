"""A plain line is read the short way or the long way: the answer is the same."""

import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.effects.test_cases import CASES
from verdikt.shell.analysis import analyse
from verdikt.shell.command import Script
from verdikt.shell.plain import plain
from verdikt.shell.syntax import parse

PROGRAMS = (
    "ls cat git grep rm sort jq head kubectl find sed python3 sudo cd echo base64 bash make x-y tee cp curl".split()
)
WORDS = st.one_of(
    st.sampled_from(
        "-n -la -r -rf -f -c -e -i -exec -delete --pre --pager=x -x -- - 2>&1 2>/dev/null | src/app.py status log 1,5p '1,5p' '*.py' A=1 /etc/passwd ../x {} *.py $x ~ ; && > config get".split()
    ),
    st.sampled_from(["'a b'", '"a b"']),
    st.text(alphabet="abz019_./:@%+,=-'\" \\", max_size=8),
)  # fmt: skip
LINES = st.builds(
    lambda first, rest: " ".join([first, *rest]), st.sampled_from(PROGRAMS), st.lists(st.one_of(WORDS, st.sampled_from(PROGRAMS)), max_size=8)
)  # fmt: skip


def long_way(text: str) -> Script:
    """The walker's own answer; an alias that nobody uses keeps the short way closed."""
    return analyse(text, home="/home/dev", cwd="/home/dev/project", aliases={"unused": "unused"})


def both_ways(text: str) -> tuple[Script, Script]:
    """The answer as it comes, and the walker's own."""
    return analyse(text, home="/home/dev", cwd="/home/dev/project"), long_way(text)


@given(LINES)
def test_both_ways_give_the_same_commands(text: str) -> None:
    """Whatever is put together of programs, flags, quotes, pipes and traps."""
    short, long = both_ways(text)

    assert short == long


def test_every_case_reads_the_same_both_ways() -> None:
    """And a good part of them is plain, so that the short way is worth its keep."""
    texts = [
        case["run"]
        for file in sorted(CASES.glob("*.yaml"))
        if isinstance(found := yaml.safe_load(file.read_text()), list)
        for case in found
        if isinstance(case, dict) and isinstance(case.get("run"), str)
    ]
    different = [text for text in texts if both_ways(text)[0] != both_ways(text)[1]]

    assert different == []
    assert sum(plain(parse(text)[0]) is not None for text in texts) > 100
