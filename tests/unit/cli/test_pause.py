"""`verdikt pause`: only for people, recorded and expiring."""

import json
import os
import pty
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.cleanup import close_after_test
from tests.fakes import FakeClock, FakeWorld
from verdikt.cli import root
from verdikt.errors import LedgerError
from verdikt.govern import Governance
from verdikt.graph.combinator import All
from verdikt.graph.policy import Policy, PolicyLayer
from verdikt.graph.rule import Rule, RuleSet
from verdikt.ledger import pause
from verdikt.ledger.files import FileStore, open_store
from verdikt.ledger.projections import load_projections
from verdikt.model.action import Action, ActionKind
from verdikt.policy import parse_policy
from verdikt.replay import find_differences, read_decision, replay
from verdikt.report.entry_line import paused_verdict_of, verdict_of

CWD = "/home/dev/project"


def build_clean_env(tmp_path: Path) -> dict[str, str]:
    """Return an environment without any agent in it."""
    return {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "USER": "ada", "TERM": "dumb"}


def run_at_terminal(*arguments: str, env: dict[str, str]) -> tuple[int, str]:
    """Run the command as a person at a terminal does."""
    child, fd = pty.fork()
    if child == 0:
        os.execve(sys.executable, [sys.executable, "-m", "verdikt", *arguments], env)
    output = b""
    while True:
        try:
            data = os.read(fd, 4096)
        except OSError:
            break
        if not data:
            break
        output += data
    os.close(fd)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), output.decode()


def test_pause_at_terminal_is_recorded_and_ended(tmp_path: Path) -> None:
    """The reason and the user are recorded; --end ends the pause."""
    env = build_clean_env(tmp_path)
    code, output = run_at_terminal("pause", "10m", "--reason", "an errand", env=env)
    assert code == 0, output
    assert "paused" in output

    store = close_after_test(open_store(tmp_path / ".local/share/verdikt", projections=load_projections()))
    now = pause.find_active_pause(store)
    assert now
    assert (now.reason, now.by) == ("an errand", "ada")

    code, output = run_at_terminal("pause", "--end", env=env)
    assert code == 0
    assert "the pause is over" in output
    assert "not paused" in run_at_terminal("pause", env=env)[1]
    assert pause.find_active_pause(store) is None


@pytest.mark.parametrize("mark", ["CLAUDECODE", "CODEX_SANDBOX", "GEMINI_CLI", "AI_AGENT", "CURSOR_AGENT"])
def test_pause_inside_an_agent_is_refused(tmp_path: Path, mark: str) -> None:
    """An agent is recognized by its environment, also at a terminal."""
    code, output = run_at_terminal("pause", "10m", "--reason", "x", env=build_clean_env(tmp_path) | {mark: "1"})

    assert code == 1
    assert "pausing verdikt is for operators: this runs inside " in output


def test_pause_without_terminal_is_refused(tmp_path: Path) -> None:
    """A pause from a pipe is refused; the state can still be shown."""
    command = [sys.executable, "-m", "verdikt", "pause", "10m", "--reason", "x"]
    done = subprocess.run(command, env=build_clean_env(tmp_path), input="", capture_output=True, text=True, check=False)
    shown = subprocess.run(
        [*command[:4], "--json"], env=build_clean_env(tmp_path), capture_output=True, text=True, check=False
    )

    assert done.returncode == 1
    assert "pausing verdikt needs a person at a terminal" in done.stderr
    assert json.loads(shown.stdout) == {"paused": False, "seconds": 0, "reason": ""}


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (["10 minutes", "--reason", "x"], "expected a duration"),
        (["10m"], "expected a reason"),
        (["9h", "--reason", "x"], "at most 8 hours"),
    ],
)
def test_pause_with_invalid_arguments_is_refused(tmp_path: Path, words: list[str], fault: str) -> None:
    """A pause needs a valid duration, a reason, and at most 8 hours."""
    code, output = run_at_terminal("pause", *words, env=build_clean_env(tmp_path))

    assert code != 0
    assert fault in output


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    """Return a log with a clock that stands still."""
    return close_after_test(FileStore(tmp_path, FakeClock(), load_projections()))


def test_pause_expires(store: FileStore) -> None:
    """A pause ends when its time is over."""
    pause.begin_pause(store, seconds=600, reason="an errand", by="ada")
    assert pause.find_active_pause(store)
    store.clock.sleep(601)
    assert pause.find_active_pause(store) is None


def test_forged_index_does_not_pause(store: FileStore) -> None:
    """Only a signed entry of the operator counts."""
    store.append("operator", "grant", {"pause": {"until": 0, "reason": "x", "by": ""}})
    store.append("some session", "grant", {"pause": {"until": 2_000_000_000, "reason": "x", "by": "agent"}})
    assert pause.find_active_pause(store) is None
    store.append("operator", "grant", {"pause": {"until": 2_000_000_000, "reason": "for years", "by": ""}})
    assert pause.find_active_pause(store) is None

    with pytest.raises(LedgerError, match="at most 8 hours"):
        pause.begin_pause(store, seconds=1e6, reason="x", by="")


def test_index_that_points_to_an_ended_pause_does_not_pause(store: FileStore) -> None:
    """An ended pause stays ended, whatever `state.db` says."""
    pause.begin_pause(store, seconds=600, reason="an errand", by="ada")
    pause.end_pause(store, by="ada")
    projection = store.read_projection(pause.PAUSE.name, "operator")
    forged = {"seq": projection["seq"] - 1, "until": int(store.clock.now()) + 600}
    with sqlite3.connect(store.home / "state.db") as state:
        rows = state.execute("UPDATE state SET state = ? WHERE name = 'pause'", (json.dumps(forged),)).rowcount

    assert rows == 1
    assert pause.find_active_pause(close_after_test(FileStore(store.home, store.clock, load_projections()))) is None


def test_pause_does_not_lift_red_lines(store: FileStore) -> None:
    """Otherwise an agent could extend a pause by changing verdikt's own files."""
    world = FakeWorld(guarded=("/home/dev/.local/share/verdikt",))
    governance = Governance(
        parse_policy("profile: standard"), store, world_factory=lambda cwd: world, clock=store.clock
    )
    pause.begin_pause(store, seconds=600, reason="an errand", by="ada")

    assert decide_command(governance, "rm -rf ~/Documents") == ("warn", "pause")
    assert decide_command(governance, "rm -rf ~/.local/share/verdikt") == ("block", "guard_tamper")


def decide_command(governance: Governance, command: str) -> tuple[str, str]:
    """Return verdict and guard of the decision on a command."""
    action = Action(kind=ActionKind.BASH, tool="Bash", payload={"command": command}, session_id="s1", cwd=CWD)
    verdict = governance.before(action).verdict
    return verdict.kind.word, verdict.guard


def test_pause_does_not_hide_a_red_line_behind_an_earlier_block(store: FileStore) -> None:
    """A graph that stops at its first block is evaluated to the end when the block would be lifted."""
    data = {"command": "make", "verdict": "block", "reason": "slow", "fix": "wait"}
    rules = [Rule.from_data({"name": "first", **data}), Rule.from_data({"name": "red", **data, "red_line": True})]
    root_node = All(*map(RuleSet, rules), short_circuit=True)
    policy = Policy(layers=(PolicyLayer(name="program", file="program", document={}, nodes=(root_node,)),))
    governance = Governance(policy, store, world_factory=lambda cwd: FakeWorld(), clock=store.clock)
    pause.begin_pause(store, seconds=600, reason="an errand", by="ada")

    assert decide_command(governance, "make")[0] == "block"


def test_action_during_a_pause_is_recorded_as_passed_with_the_verdict_that_would_have_been(
    store: FileStore,
) -> None:
    """The log shows what happened: the action ran, and why; the decision replays to the byte."""
    governance = Governance(
        parse_policy("profile: standard"), store, world_factory=lambda cwd: FakeWorld(), clock=store.clock
    )
    pause.begin_pause(store, seconds=600, reason="an errand", by="ada")

    assert decide_command(governance, "rm -rf ~/Documents") == ("warn", "pause")

    entry = next(store.read_entries("s1"))
    assert verdict_of(entry) == ("warn", "pause")
    assert paused_verdict_of(entry) == ("block", "delete_outside")
    past = read_decision(entry)
    assert past is not None
    assert find_differences(past, replay(past, governance.policy)) == []
    assert store.read_projection("session", "s1")["block_count"] == 0
    shown = CliRunner().invoke(root, ["ledger", "tail", "--session", "s1", "--home", str(store.home)])
    assert "warn by pause Bash rm -rf ~/Documents (without the pause: block by delete_outside)" in shown.output
