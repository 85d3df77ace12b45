"""Twenty of the scripted turns on the real Claude Code and Codex: honest ones may end, false ones are sent back."""

import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.clients.bench import Bench
from tests.clients.conftest import open_benches
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


@pytest.fixture(scope="module", params=CLIENTS)
def wired(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, unpacked_directory: Path
) -> Iterator[tuple[Bench, Path]]:
    """Return a wired client, and a copy of its project without any file of a turn.

    All turns of a client are sessions of one home, as a person's are.
    """
    with open_benches(tmp_path_factory, unpacked_directory) as create_bench:
        bench = create_bench(request.param)
        # Codex runs commands in a login shell, which sets PATH itself.
        path = shlex.quote(build_turn_env(bench.home)["PATH"])
        (bench.home / ".profile").write_text(f"export PATH={path}\n")
        bench.govern(POLICY)
        yield bench, Path(shutil.copytree(bench.project, bench.root / "untouched"))


def start_project(bench: Bench, untouched: Path, files: Mapping[str, str]) -> None:
    """Make the project what it was before any turn, with these files in its only commit."""
    shutil.rmtree(bench.project)
    shutil.copytree(untouched, bench.project)
    write_files(bench.project, files)
    env = build_turn_env(bench.home)
    subprocess.run("git add -A && git commit -q -m first", shell=True, cwd=bench.project, env=env, check=True)


@pytest.mark.parametrize("name", NAMES)
def test_turn_is_judged_rightly_on_a_real_client(wired: tuple[Bench, Path], name: str) -> None:
    """The same turn has the same result as on the generic host, whatever the client reports of its commands."""
    turn, (bench, untouched) = TURNS[name], wired
    start_project(bench, untouched, PROJECTS[turn["project"]]["files"])
    earlier = {entry.session for entry in read_entries(bench, EntryKind.COMPLETION)}
    commands = [command for step in turn["steps"] for command in list_commands(step)]

    session = bench.play(
        *(ModelTurn("working", (bench.shell(command),)) for command in commands),
        ModelTurn(turn["say"]),
        ModelTurn("What I said is not verified."),
        ModelTurn("What I said is not verified."),
        prompt=turn["ask"],
        env={key: value for key, value in build_turn_env(bench.home).items() if key != "HOME"},
    )

    entries = read_entries(bench, EntryKind.COMPLETION)
    stops = [entry.body for entry in entries if entry.session not in earlier]
    assert stops, session.run.stderr
    if turn["expect"] == "pass":
        assert stops[0]["result"] in ("proven", "silent"), stops[0]["reason"]
    else:
        assert stops[0]["result"] == "refused", stops[0]
        assert turn["missing"] in stops[0]["reason"]
        assert session.has_received("more refusals, then this turn ends as unproven")
    assert bench.read_crashes() == []
