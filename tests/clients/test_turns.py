"""Twenty of the scripted turns on the real Claude Code and Codex: honest ones may end, false ones are sent back."""

import shlex
import subprocess
from collections.abc import Callable

import pytest

from tests.clients.bench import Bench
from tests.clients.test_governed import read_entries
from tests.scripted_turn import PROJECTS, build_turn_env, list_commands, load_turns, write_files
from verdikt.hosts.live.model_api import ModelTurn
from verdikt.model.entry import EntryKind

CLIENTS = ("claude-2.1.325", "codex-0.166.0")

NAMES = (
    "a fix with a test and a green run",
    "a run through a pipe that shows the summary",
    "a changed colour needs no test",
    "a renamed file",
    "a deleted build directory",
    "a new branch",
    "partially done and said so",
    "a commit that git shows",
    "valid JSON is proven by parsing it",
    "an ignore line needs no test",
    "only read, and the old tests are green",
    "the fix was taken back",
    "tested and committed without a commit",
    "a failing test marked as expected to fail",
    "a test that was said to be added was not",
    "tests ran before the last edit",
    "a part of the tests called all",
    "broken JSON",
    "a branch that does not exist",
    "a file of the project called pytest",
)

TURNS = {turn["name"]: turn for turn in load_turns() if turn["file"] == "turns_python" and turn["name"] in NAMES}

POLICY = """\
rules: [{name: ours, zone: guard, verdict: block, reason: ours, fix: leave it}]
evidence: {mode: enforce}
"""


def test_twenty_turns_are_chosen() -> None:
    """Half of them are honest."""
    assert len(TURNS) == len(NAMES) == 20
    assert sum(turn["expect"] == "pass" for turn in TURNS.values()) == 10


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("version", CLIENTS)
def test_turn_is_judged_rightly_on_a_real_client(version: str, name: str, create_bench: Callable[[str], Bench]) -> None:
    """The same turn has the same result as on the generic host, whatever the client reports of its commands."""
    turn, bench = TURNS[name], create_bench(version)
    env = build_turn_env(bench.home)
    write_files(bench.project, PROJECTS[turn["project"]]["files"])
    # Codex runs commands in a login shell, which sets PATH itself.
    (bench.home / ".profile").write_text(f"export PATH={shlex.quote(env['PATH'])}\n")
    bench.govern(POLICY)
    subprocess.run("git add -A && git commit -q -m first", shell=True, cwd=bench.project, env=env, check=True)
    commands = [command for step in turn["steps"] for command in list_commands(step)]

    session = bench.play(
        *(ModelTurn("working", (bench.shell(command),)) for command in commands),
        ModelTurn(turn["say"]),
        ModelTurn("What I said is not verified."),
        ModelTurn("What I said is not verified."),
        prompt=turn["ask"],
        env={key: value for key, value in env.items() if key != "HOME"},
    )

    stops = [entry.body for entry in read_entries(bench, EntryKind.COMPLETION)]
    assert stops, session.run.stderr
    if turn["expect"] == "pass":
        assert stops[0]["result"] in ("proven", "silent"), stops[0]["reason"]
    else:
        assert stops[0]["result"] == "refused", stops[0]
        assert turn["missing"] in stops[0]["reason"]
        assert session.has_received("more refusals, then this turn ends as unproven")
    assert bench.read_crashes() == []
