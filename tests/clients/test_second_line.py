"""When the client does not ask before an action: what is noticed all the same (Claude Code, whose other events tell)."""

import json
import os
from collections.abc import Callable
from pathlib import Path

from tests.clients.bench import LOOPBACK, Bench
from tests.clients.install import binary
from tests.clients.test_governed import ALLOWED, FORBIDDEN, POLICY, entries
from verdikt.hosts.live.live_canary import run_live_canary
from verdikt.hosts.live.model_api import ModelTurn
from verdikt.hosts.wiring.installation import Installation
from verdikt.model.entry import EntryKind

CLAUDE = "claude-2.1.325"


def never_asked(bench: Callable[[str], Bench]) -> Bench:
    """Wired, and then the hook before an action is taken away by somebody."""
    table = bench(CLAUDE)
    table.govern(POLICY)
    file = table.project / ".claude/settings.json"
    settings = json.loads(file.read_text())
    del settings["hooks"]["PreToolUse"]
    file.write_text(json.dumps(settings))
    return table


def test_the_doctor_sees_a_forbidden_command_run(bench: Callable[[str], Bench], tmp_path: Path) -> None:
    """It does not take the wiring's word for it, and takes away what the command left."""
    table = never_asked(bench)
    (tmp_path / "claude").symlink_to(binary(CLAUDE))
    env = {"HOME": str(table.home), "PATH": f"{tmp_path}:{os.environ['PATH']}", **LOOPBACK}
    here = Installation(project=str(table.project), data_directory=str(table.data), env=env)

    assert run_live_canary(here, "claude") == "RAN: the forbidden command was not stopped"
    assert not (table.data / "canary").exists()
    assert run_live_canary(here, "gemini") == "not tried: `gemini` is not installed, or not in PATH"
    assert run_live_canary(here, "cursor") == "not tried: this client cannot be scripted"


def test_what_a_person_would_be_asked_about_is_refused_if_it_is_forbidden(bench: Callable[[str], Bench]) -> None:
    """The model hears why; nothing ran."""
    table = never_asked(bench)
    played = table.play(
        ModelTurn("no", (table.shell(FORBIDDEN),)),
        ModelTurn("END"),
        ModelTurn("END"),
        options=("--permission-mode", "default"),
    )

    assert not table.ran("forbidden"), played.run.stdout
    assert played.heard("this file is forbidden"), json.dumps(played.model.requests)[-3000:]
    assert len(entries(table, EntryKind.DECISION)) == 1
    assert table.crashes() == []


def test_a_call_that_ran_without_a_decision_is_recorded_at_once(bench: Callable[[str], Bench]) -> None:
    """In a session that asks nobody it does run, and the log says that it did."""
    table = never_asked(bench)
    played = table.play(ModelTurn("yes", (table.shell(ALLOWED),)), ModelTurn("END"), ModelTurn("END"))
    gaps = [entry.body for entry in entries(table, EntryKind.GAP) if entry.body.get("moment") == "batch"]

    assert table.ran("allowed"), played.run.stderr
    assert gaps == [{"moment": "batch", "integrity": ["`Bash` ran without a decision"]}]
    assert played.heard("ran without a decision")
