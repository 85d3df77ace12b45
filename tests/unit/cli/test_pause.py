"""`verdikt pause`: a person can, an agent cannot."""

import json
import os
import pty
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes import FakeClock, FakeWorld
from verdikt.errors import LedgerError
from verdikt.govern import Governance
from verdikt.ledger import pause
from verdikt.ledger.files import FileStore, open_store
from verdikt.ledger.projections import load_projections
from verdikt.model.action import Action, ActionKind
from verdikt.policy import parse_policy


def clean(tmp_path: Path) -> dict[str, str]:
    """An environment without any agent in it."""
    return {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "USER": "ada", "TERM": "dumb"}


def at_terminal(*arguments: str, env: dict[str, str]) -> tuple[int, str]:
    """The command as a person at a terminal runs it."""
    child, fd = pty.fork()
    if child == 0:
        os.execve(sys.executable, [sys.executable, "-m", "verdikt", *arguments], env)
    said = b""
    while True:
        try:
            data = os.read(fd, 4096)
        except OSError:
            break
        if not data:
            break
        said += data
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), said.decode()


def test_a_person_at_a_terminal_pauses_and_ends_it(tmp_path: Path) -> None:
    """It is recorded with the reason and who said so, and shown."""
    env = clean(tmp_path)
    code, said = at_terminal("pause", "10m", "--reason", "an errand", env=env)
    assert code == 0, said
    assert "paused" in said

    store = open_store(tmp_path / ".local/share/verdikt", projections=load_projections())
    now = pause.find_active_pause(store)
    assert now
    assert (now.reason, now.by) == ("an errand", "ada")

    code, said = at_terminal("pause", "--end", env=env)
    assert code == 0
    assert "not paused" in said
    assert pause.find_active_pause(store) is None


@pytest.mark.parametrize("mark", ["CLAUDECODE", "CODEX_SANDBOX", "GEMINI_CLI", "AI_AGENT", "CURSOR_AGENT"])
def test_an_agent_cannot_even_at_a_terminal(tmp_path: Path, mark: str) -> None:
    """Its environment gives it away."""
    code, said = at_terminal("pause", "10m", "--reason", "x", env=clean(tmp_path) | {mark: "1"})

    assert code == 1
    assert "pausing verdikt is for operators: this runs inside " in said


def test_a_pipe_cannot(tmp_path: Path) -> None:
    """Nobody sits there."""
    command = [sys.executable, "-m", "verdikt", "pause", "10m", "--reason", "x"]
    done = subprocess.run(command, env=clean(tmp_path), input="", capture_output=True, text=True, check=False)
    shown = subprocess.run([*command[:4], "--json"], env=clean(tmp_path), capture_output=True, text=True, check=False)

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
def test_a_pause_is_short_and_has_a_reason(tmp_path: Path, words: list[str], fault: str) -> None:
    """Otherwise it is refused with what to do."""
    code, said = at_terminal("pause", *words, env=clean(tmp_path))

    assert code != 0
    assert fault in said


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    """A log with a clock that stands still."""
    return FileStore(tmp_path, FakeClock(), load_projections())


def test_it_expires_by_itself(store: FileStore) -> None:
    """Nobody has to remember."""
    pause.begin_pause(store, seconds=600, reason="an errand", by="ada")
    assert pause.find_active_pause(store)
    store.clock.sleep(601)
    assert pause.find_active_pause(store) is None


def test_an_index_that_lies_pauses_nothing(store: FileStore) -> None:
    """Only a signed entry of the operator counts."""
    store.append("operator", "grant", {"pause": {"until": 0, "reason": "x", "by": ""}})
    store.append("some session", "grant", {"pause": {"until": 2_000_000_000, "reason": "x", "by": "agent"}})
    assert pause.find_active_pause(store) is None
    store.append("operator", "grant", {"pause": {"until": 2_000_000_000, "reason": "for years", "by": ""}})
    assert pause.find_active_pause(store) is None

    with pytest.raises(LedgerError, match="at most 8 hours"):
        pause.begin_pause(store, seconds=1e6, reason="x", by="")


def test_an_index_that_points_to_an_earlier_word_brings_no_pause_back(store: FileStore) -> None:
    """What was ended stays ended, whatever `state.db` says."""
    pause.begin_pause(store, seconds=600, reason="an errand", by="ada")
    pause.end_pause(store, by="ada")
    told = store.read_projection(pause.PAUSE.name, "operator")
    forged = {"seq": told["seq"] - 1, "until": int(store.clock.now()) + 600}
    with sqlite3.connect(store.home / "state.db") as state:
        rows = state.execute("UPDATE state SET state = ? WHERE name = 'pause'", (json.dumps(forged),)).rowcount

    assert rows == 1
    assert pause.find_active_pause(FileStore(store.home, store.clock, load_projections())) is None


def test_a_pause_takes_no_red_line_away(store: FileStore) -> None:
    """verdikt's own files stay the operator's, or a pause of minutes could be made one for ever."""
    world = FakeWorld(guarded=("/home/dev/.local/share/verdikt",))
    governance = Governance(
        parse_policy("profile: standard"), store, world_factory=lambda cwd: world, clock=store.clock
    )
    pause.begin_pause(store, seconds=600, reason="an errand", by="ada")

    def said(command: str) -> tuple[str, str]:
        action = Action(kind=ActionKind.BASH, tool="Bash", payload={"command": command}, cwd=world.cwd)
        verdict = governance.before(action).verdict
        return verdict.kind.word, verdict.guard

    assert said("rm -rf ~/Documents") == ("warn", "pause")
    assert said("rm -rf ~/.local/share/verdikt") == ("block", "guard_tamper")
