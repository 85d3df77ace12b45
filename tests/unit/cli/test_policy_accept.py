"""`verdikt policy pending` and `verdikt policy accept`, with and without a terminal."""

import json
import os
import subprocess
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from tests.cleanup import close_after_test
from tests.unit.cli.test_grant import run, run_at_terminal
from verdikt.govern import Governance
from verdikt.ledger.files import open_store
from verdikt.ledger.projections import load_projections
from verdikt.ledger.store import OPERATOR
from verdikt.model.action import Action, ActionKind
from verdikt.observe.agent_environment import AGENT_VARIABLES
from verdikt.ratchet import PolicySnapshot

NO_PUSH = "rules: [{name: no_push, command: git push, verdict: block, reason: it publishes, fix: wait}]\n"
LOOSE = "profile: relaxed\n"


@pytest.fixture
def env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return the environment of a person in a project whose policy is accepted."""
    project = tmp_path / "project"
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    (project / "governance.yaml").write_text(NO_PUSH)
    monkeypatch.chdir(project)
    mine = {name: value for name, value in os.environ.items() if name not in {*chain(*AGENT_VARIABLES.values())}}
    env = {**mine, "HOME": str(tmp_path / "home"), "VERDIKT_HOME": str(tmp_path / "data"), "TERM": "dumb"}
    env.pop("XDG_CONFIG_HOME", None)
    assert accept_by_digest(env).returncode == 0
    return env


def show_pending(env: dict[str, str]) -> tuple[int, dict[str, Any]]:
    """Return exit status and report of `policy pending`."""
    completed = run(env, "policy", "pending", "--json")
    return completed.returncode, json.loads(completed.stdout)


def accept_by_digest(env: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    """Accept what is on disk without a terminal."""
    digest = json.loads(run(env, "policy", "show", "--json").stdout)["digest"]
    return run(env, "policy", "accept", "--digest", digest, "--json")


def push(env: dict[str, str]) -> str:
    """Return the verdict on a push, as a hook would record it."""
    with Governance.load(env=env) as governance:
        action = Action(
            kind=ActionKind.BASH, tool="Bash", payload={"command": "git push"}, cwd=os.getcwd(), session_id="s"
        )
        return governance.before(action).verdict.kind.word


def read_acceptances(env: dict[str, str]) -> list[Any]:
    """Return the signed acceptances of the operator's log."""
    store = close_after_test(open_store(Path(env["VERDIKT_HOME"]), projections=load_projections()))
    return [entry for entry in store.read_entries(OPERATOR) if "accept" in entry.body]


def test_pending_shows_the_difference_until_it_is_accepted(env: dict[str, str]) -> None:
    """Status 0 and no change, then 1 and a diff, then 0 again after a person has confirmed."""
    assert show_pending(env) == (0, {**show_pending(env)[1], "pending": False, "changes": []})
    Path("governance.yaml").write_text(LOOSE)
    status, report = show_pending(env)
    assert (status, report["pending"], report["root"]) == (1, True, os.getcwd())
    (change,) = report["changes"]
    assert (change["layer"], change["change"]) == ("project", "changed")
    assert any("no_push" in line for line in change["diff"] if line.startswith("-"))
    assert "accept it with `verdikt policy accept`" in run(env, "policy", "pending").stdout
    assert push(env) == "block"

    code, text = run_at_terminal(env, "accept", "policy", "accept")

    assert code == 0, text
    assert "no_push" in text
    assert "let 1 thing through that was blocked" in text
    assert show_pending(env)[0] == 0
    assert push(env) == "pass"
    first, second = read_acceptances(env)
    assert (first.body["accept"]["how"], second.body["accept"]["how"]) == ("digest", "terminal")
    assert second.sig
    assert second.body["accept"]["root"] == os.getcwd()


@pytest.mark.parametrize("answer", ["y", "yes", ""])
def test_accept_without_the_word_accepts_nothing(env: dict[str, str], answer: str) -> None:
    """A habit of confirming is not enough."""
    Path("governance.yaml").write_text(LOOSE)
    code, _ = run_at_terminal(env, f"{answer}\n\x04", "policy", "accept")

    assert code != 0
    assert show_pending(env)[0] == 1


def test_accept_needs_a_terminal_or_the_digest(env: dict[str, str]) -> None:
    """Without a terminal nothing is accepted, and with a digest only the policy that has it."""
    Path("governance.yaml").write_text(LOOSE)
    assert "needs a person at a terminal" in run(env, "policy", "accept").stderr
    wrong = run(env, "policy", "accept", "--digest", "0" * 64)
    assert (wrong.returncode, "nothing was accepted" in wrong.stderr) == (1, True)
    assert show_pending(env)[0] == 1

    report = json.loads(accept_by_digest(env).stdout)

    assert (report["accepted"], report["root"]) == (True, os.getcwd())
    assert show_pending(env)[0] == 0
    assert json.loads(accept_by_digest(env).stdout)["accepted"] is False


def test_agent_cannot_accept(env: dict[str, str]) -> None:
    """Inside an agent's environment neither a terminal nor the digest helps."""
    Path("governance.yaml").write_text(LOOSE)
    digest = show_pending(env)[1]["digest"]
    inside = {**env, "CLAUDECODE": "1"}

    assert "is for operators" in run(inside, "policy", "accept", "--digest", digest).stderr
    code, text = run_at_terminal(inside, "accept", "policy", "accept")
    assert (code, "is for operators" in text) == (1, True)
    assert show_pending(env)[0] == 1


def test_broken_policy_cannot_be_accepted(env: dict[str, str]) -> None:
    """A file with faults ends both commands with status 65."""
    Path("governance.yaml").write_text("profile: strikt\n")

    for words in (["pending"], ["accept", "--digest", "0" * 64]):
        completed = run(env, "policy", *words)
        assert (completed.returncode, "found `strikt`" in completed.stderr) == (65, True)


def test_damaged_record_is_reported_and_repaired_by_accepting(env: dict[str, str]) -> None:
    """`pending` says what is damaged, and accepting writes it again."""
    for copy in (Path(env["VERDIKT_HOME"]) / "accepted").glob("*.json"):
        copy.write_text("{}")
    completed = run(env, "policy", "pending")
    assert (completed.returncode, "`verdikt policy accept`" in completed.stderr) == (65, True)

    assert json.loads(accept_by_digest(env).stdout)["accepted"] is True
    assert show_pending(env)[0] == 0


def test_replay_repeats_decisions_made_while_a_change_was_pending(env: dict[str, str]) -> None:
    """The log and the stored policies suffice to make a decision of two policies again, byte for byte."""
    Path("governance.yaml").write_text(LOOSE)
    assert push(env) == "block"

    completed = run(env, "replay")

    assert (completed.returncode, "1 decision replayed: all the same" in completed.stdout) == (0, True)


def test_acceptance_without_a_signed_entry_is_reported(env: dict[str, str]) -> None:
    """A record that was written by hand blocks, and `verdikt doctor` fails and says where."""
    assert json.loads(run(env, "doctor", "--json").stdout)["unlogged_acceptances"] == []
    Path("governance.yaml").write_text(LOOSE)
    PolicySnapshot.read(os.getcwd(), env).accept()  # as a program would that writes into the data directory

    completed = run(env, "doctor")

    assert completed.returncode == 1
    assert f"no signed entry says that a person accepted the policy of `{os.getcwd()}`" in completed.stdout
