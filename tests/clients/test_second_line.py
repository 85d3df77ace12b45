"""A client that does not call the hook before an action: what the other events of Claude Code still reveal."""

import json
import os
from collections.abc import Callable

from tests.clients.bench import LOOPBACK_ENV, Bench
from tests.clients.test_governed import ALLOWED, FORBIDDEN, POLICY, read_entries
from verdikt.hosts.live.live_canary import run_live_canary
from verdikt.hosts.live.model_api import ModelTurn
from verdikt.hosts.wiring.installation import Installation
from verdikt.model.entry import EntryKind

CLAUDE = "claude-2.1.325"


def remove_before_hook(create_bench: Callable[[str], Bench]) -> Bench:
    """Return a wired bench from whose settings the hook before an action was removed."""
    bench = create_bench(CLAUDE)
    bench.govern(POLICY)
    file = bench.project / ".claude/settings.json"
    settings = json.loads(file.read_text())
    del settings["hooks"]["PreToolUse"]
    file.write_text(json.dumps(settings))
    return bench


def test_live_canary_without_the_before_hook_reports_that_the_command_ran(
    create_bench: Callable[[str], Bench],
) -> None:
    """The live check observes the command itself, and removes what it left behind."""
    bench = remove_before_hook(create_bench)
    path = f"{bench.program_directory}:{os.environ['PATH']}"
    env = {"HOME": str(bench.home), "PATH": path, **LOOPBACK_ENV}
    installation = Installation(project=str(bench.project), data_directory=str(bench.data), env=env)

    assert run_live_canary(installation, "claude") == "RAN: the forbidden command was not stopped"
    assert not (bench.data / "canary").exists()
    assert run_live_canary(installation, "gemini") == "not tried: `gemini` is not installed, or not in PATH"
    assert run_live_canary(installation, "cursor") == "not tried: this client cannot be scripted"


def test_a_forbidden_call_about_which_a_person_would_be_asked_is_refused(create_bench: Callable[[str], Bench]) -> None:
    """The permission request is decided instead, and the model is told why."""
    bench = remove_before_hook(create_bench)
    session = bench.play(
        ModelTurn("no", (bench.shell(FORBIDDEN),)),
        ModelTurn("END"),
        ModelTurn("END"),
        options=("--permission-mode", "default"),
    )

    assert not bench.has_file("forbidden"), session.run.stdout
    assert session.has_received("this file is forbidden"), json.dumps(session.model.requests)[-3000:]
    assert len(read_entries(bench, EntryKind.DECISION)) == 1
    assert bench.read_crashes() == []


def test_a_call_that_ran_without_a_decision_is_recorded_at_once(create_bench: Callable[[str], Bench]) -> None:
    """In a session without permission requests it does run, and the log says so."""
    bench = remove_before_hook(create_bench)
    session = bench.play(ModelTurn("yes", (bench.shell(ALLOWED),)), ModelTurn("END"), ModelTurn("END"))
    gaps = [entry.body for entry in read_entries(bench, EntryKind.GAP) if entry.body.get("moment") == "batch"]

    assert bench.has_file("allowed"), session.run.stderr
    assert gaps == [{"moment": "batch", "integrity": ["`Bash` ran without a decision"]}]
    assert session.has_received("ran without a decision")
