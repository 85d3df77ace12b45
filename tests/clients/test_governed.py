"""Decisions on the real clients, wired by `verdikt init`, each with its own home and a scripted model on loopback."""

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cleanup import close_after_test
from tests.clients.bench import Bench
from tests.clients.table import list_clients
from verdikt.hosts.live.model_api import ModelTurn, ToolUse
from verdikt.hosts.registry import HOSTS
from verdikt.ledger.files import open_store
from verdikt.ledger.projections import load_projections
from verdikt.model.entry import Entry, EntryKind
from verdikt.model.session_state import CANARY_SESSION

POLICY = """\
profile: standard
rules:
  - name: no_forbidden
    command: touch forbidden
    verdict: block
    reason: "this file is forbidden"
    fix: "touch `allowed` and go on"
"""

FORBIDDEN = "touch forbidden"
ALLOWED = "touch allowed"


def read_entries(bench: Bench, kind: EntryKind) -> list[Entry]:
    """Return the entries of a kind from all sessions but the canary's; reading them checks every link of the log."""
    store = close_after_test(open_store(bench.data, projections=load_projections()))
    sessions = [session for session in store.list_sessions() if session != CANARY_SESSION]
    return [entry for session in sessions for entry in store.read_entries(session) if entry.kind is kind]


@pytest.mark.parametrize("version", list_clients("forbidden"))
def test_a_forbidden_command_does_not_run_and_an_allowed_one_does(
    version: str, create_bench: Callable[[str], Bench]
) -> None:
    """The model sees reason and fix and none of our own paths; parallel calls are decided one by one.

    The person hears how to allow the block and the model does not: an agent that knew the command would try to run it.
    Claude Code shows it; other clients have no such text.
    """
    bench = create_bench(version)
    bench.govern(POLICY)
    shows_notices = version == "claude-2.1.325"
    both = ModelTurn(
        "both", (bench.shell(f"{FORBIDDEN} 1"), bench.shell(f"{ALLOWED} 1"), bench.shell(f"{FORBIDDEN} 2"))
    )
    session = bench.play(
        ModelTurn("no", (bench.shell(FORBIDDEN),)),
        ModelTurn("yes", (bench.shell(ALLOWED),)),
        both,
        ModelTurn("END"),
        ModelTurn("END"),
        options=("--output-format", "stream-json", "--verbose") if shows_notices else (),
    )
    requests = json.dumps(session.model.requests)

    assert sorted(path.name for path in bench.project.iterdir() if "forbidden" in path.name) == [], session.run.stderr
    assert bench.has_file("allowed"), session.run.stderr
    assert bench.has_file("1"), "a forbidden call beside it must not take an allowed one with it"
    assert session.has_received("this file is forbidden")
    assert session.has_received("Instead: touch `allowed` and go on")
    assert not session.has_received("verdikt allow")
    assert ("To let this through: verdikt allow last --for once" in session.run.stdout) or not shows_notices
    assert "guard.sh" not in requests
    assert "verdikt-hook" not in requests
    assert "verdikt-launch" not in requests
    assert "verdikt.hosts" not in requests
    assert len(read_entries(bench, EntryKind.DECISION)) == 5
    assert len(read_entries(bench, EntryKind.TOOL_CALL)) == 2
    assert bench.read_crashes() == []
    # A person must not be told that the hook failed when it did what it is there for.
    assert "failed for event" not in session.run.stdout + session.run.stderr


TAMPERING = {
    "claude": [
        "echo '{\"disableAllHooks\":true}' > .claude/settings.local.json",
        "printf '{}' > .claude/settings.json",
        "mv .claude .elsewhere",
    ],
    "codex": ["rm .codex/hooks.json", "echo 'hooks = false' >> .codex/config.toml", "mv .codex .elsewhere"],
    "gemini": ["printf '{}' > .gemini/settings.json", "mv .gemini .elsewhere"],
    "copilot": ["rm .github/hooks/verdikt.json", "mv .github .elsewhere"],
    "opencode": [
        "rm .opencode/plugin/verdikt.js",
        "echo '{\"plugin\":[]}' > opencode.json",
        "mv .opencode .elsewhere",
    ],
}

SETTINGS = {
    "claude": (".claude/settings.local.json", '{"disableAllHooks":true}'),
    "codex": (".codex/hooks.json", '{"hooks":{}}'),
    "gemini": (".gemini/settings.json", "{}"),
    "copilot": (".github/hooks/verdikt.json", '{"version":1,"hooks":{}}'),
    "opencode": (".opencode/plugin/verdikt.js", "export const Verdikt = async () => ({})\n"),
}
"""Host → a file that another process writes while the session runs, with content that would switch the hooks off."""


@pytest.mark.parametrize("version", list_clients("tampering"))
def test_the_agent_cannot_switch_governance_off(version: str, create_bench: Callable[[str], Bench]) -> None:
    """The agent cannot change the settings, and a change by another process does not affect the running session."""
    bench = create_bench(version)
    bench.govern(POLICY)
    host = bench.client.name
    name, off = SETTINGS[host]
    settings = bench.project / name
    wired = {path: path.read_bytes() for path in settings.parent.iterdir() if path.is_file() and path != settings}

    def change_settings_when_ready() -> None:
        for _ in range(600):
            if bench.has_file("go"):
                settings.write_text(off)
                return
            time.sleep(0.05)

    other_process = threading.Thread(target=change_settings_when_ready)
    other_process.start()
    tampering = [ModelTurn("off", (bench.shell(command),)) for command in TAMPERING[host]]
    policy = ModelTurn("policy", (bench.shell("echo 'profile: relaxed' > governance.yaml"),))
    log = ModelTurn("log", (bench.shell(f"rm -rf {bench.data}"),))
    wait = ModelTurn("wait", (bench.shell("touch go; sleep 2"),))
    session = bench.play(
        *tampering, policy, log, wait, ModelTurn("no", (bench.shell(FORBIDDEN),)), ModelTurn("END"), ModelTurn("END")
    )
    other_process.join()

    assert bench.has_file("go"), session.run.stderr
    assert not bench.has_file("forbidden"), session.run.stderr
    assert not (bench.project / ".elsewhere").exists()
    assert (bench.project / "governance.yaml").read_text() == POLICY
    assert all(path.read_bytes() == data for path, data in wired.items())
    assert session.has_received("part of what watches over this agent")
    assert session.has_received("this file is forbidden")
    assert read_entries(bench, EntryKind.DECISION)


AGENTS = {
    "claude": ToolUse("Agent", {"description": "d", "prompt": "SUBPROMPT go", "subagent_type": "general-purpose"}),
    "codex": ToolUse("spawn_agent", {"message": "SUBPROMPT go"}, namespace="multi_agent_v1"),
    "gemini": ToolUse("invoke_agent", {"agent_name": "generalist", "prompt": "SUBPROMPT go"}),
    "copilot": ToolUse(
        "task", {"agent_type": "general-purpose", "description": "d", "name": "n", "prompt": "SUBPROMPT go"}
    ),
    "opencode": ToolUse("task", {"description": "d", "prompt": "SUBPROMPT go", "subagent_type": "general"}),
}


@pytest.mark.parametrize("version", list_clients("sub_agents"))
def test_sub_agents_are_governed_too(version: str, create_bench: Callable[[str], Bench]) -> None:
    """A sub-agent's forbidden call does not run, its allowed one does, and the log names the agent.

    The settings are those for one person: the client reads the file that `--scope local` writes.
    """
    bench = create_bench(version)
    bench.govern(POLICY, scope="local")
    assert (bench.project / HOSTS[bench.client.name].settings_files["local"]).exists()
    inside = (
        ModelTurn("no", (bench.shell(FORBIDDEN),)),
        ModelTurn("yes", (bench.shell(ALLOWED),)),
        ModelTurn("SUB-DONE"),
    )
    wait = ModelTurn("wait", (bench.shell("for i in $(seq 80); do [ -e allowed ] && break; sleep 0.1; done"),))
    session = bench.play(
        ModelTurn("go", (AGENTS[bench.client.name],)),
        wait,
        ModelTurn("END"),
        ModelTurn("END"),
        asides={"SUBPROMPT": inside},
    )
    decisions = read_entries(bench, EntryKind.DECISION)

    assert not bench.has_file("forbidden"), session.run.stderr
    assert bench.has_file("allowed"), session.run.stdout[-3000:]
    assert session.has_received("this file is forbidden")
    if bench.client.name != "gemini":  # it does not say which agent calls
        assert len({entry.session for entry in decisions}) == 2
        if bench.client.name != "opencode":  # its sub-agents have sessions of their own
            assert any("." in entry.session for entry in decisions)


@pytest.mark.parametrize("version", list_clients("fifty"))
def test_fifty_calls_leave_fifty_decisions_and_fifty_outcomes(
    version: str, create_bench: Callable[[str], Bench]
) -> None:
    """The log is intact, and the warm process has answered the calls."""
    bench = create_bench(version)
    bench.govern(POLICY)
    turns = [
        ModelTurn(f"turn {turn}", tuple(bench.shell(f"echo {turn} {call}") for call in range(10))) for turn in range(5)
    ]
    session = bench.play(*turns, ModelTurn("END"), ModelTurn("END"))

    assert len(read_entries(bench, EntryKind.DECISION)) == 50, session.run.stderr
    assert len(read_entries(bench, EntryKind.TOOL_CALL)) == 50, session.run.stderr
    assert bench.count_warm_calls() > 50, "the first call starts a warm process, and later calls ask it"
    assert bench.read_crashes() == []


def snapshot(*roots: Path) -> dict[str, bytes]:
    """Return the content of every file below these directories, except verdikt's data and git's."""
    files = (path for root in roots for path in root.rglob("*") if path.is_file())
    return {str(path): path.read_bytes() for path in files if not {"verdikt", ".git"} & set(path.parts)}


@pytest.mark.parametrize("version", list_clients("doctor"))
def test_doctor_live_reports_the_canary_as_blocked_and_leaves_nothing_behind(
    version: str, create_bench: Callable[[str], Bench]
) -> None:
    """A policy that cannot be read makes the doctor fail instead."""
    bench = create_bench(version)
    bench.govern(POLICY)
    if bench.client.name == "gemini":
        # The person logs in in another way than the live check.
        own = bench.home / ".gemini/settings.json"
        own.write_text('{"security": {"auth": {"selectedType": "oauth-personal"}}}')
    before = snapshot(bench.home, bench.project)
    completed = bench.run_verdikt("doctor", "--live", "--json", "--calls", "2")
    report = json.loads(completed.stdout)

    assert report["hosts"][0]["live"] == "blocked", completed.stdout
    assert report["hosts"][0]["firing"]["blocked"], completed.stdout
    assert completed.returncode == 0, completed.stdout
    assert snapshot(bench.home, bench.project) == before

    (bench.project / "governance.yaml").write_text("profile: [")
    broken_policy = bench.run_verdikt("doctor", "--json", "--calls", "1")
    assert broken_policy.returncode == 1
    assert not json.loads(broken_policy.stdout)["hosts"][0]["firing"]["blocked"]


def test_doctor_live_with_hooks_of_the_user_reports_the_canary_as_blocked(
    create_bench: Callable[[str], Bench],
) -> None:
    """Codex's approvals name the file that they are for, although the live check uses a copy of that file."""
    bench = create_bench("codex-0.166.0")
    (bench.home / ".codex/config.toml").unlink()
    bench.run_verdikt("init", "--host", "codex", "--scope", "user", "--yes", "--trust-codex")
    before = snapshot(bench.home, bench.project)
    report = json.loads(bench.run_verdikt("doctor", "--live", "--json", "--calls", "1").stdout)

    assert [(host["scope"], host["live"], host["healthy"]) for host in report["hosts"]] == [("user", "blocked", True)]
    assert snapshot(bench.home, bench.project) == before


@pytest.mark.parametrize("version", ["claude-2.1.325", "gemini-0.61.0"])
def test_below_a_project_only_the_hooks_of_the_user_hold(version: str, create_bench: Callable[[str], Bench]) -> None:
    """A session below the project reads none of its settings, but the user's hooks find the project's policy."""
    bench = create_bench(version)
    bench.govern(POLICY)
    below = bench.project / "below"
    below.mkdir()

    def run_forbidden_command() -> bool:
        bench.play(ModelTurn("no", (bench.shell(FORBIDDEN),)), ModelTurn("END"), ModelTurn("END"), directory=below)
        return (below / "forbidden").exists()

    limit = f"a session that starts in a folder below {bench.project} reads none of these settings"
    assert run_forbidden_command()
    assert limit in bench.run_verdikt("doctor", "--limits", "--calls", "1").stdout

    (below / "forbidden").unlink()
    assert bench.run_verdikt("init", "--host", bench.client.name, "--scope", "user", "--yes").returncode == 0
    assert not run_forbidden_command()
    assert limit not in bench.run_verdikt("doctor", "--limits", "--calls", "1").stdout


def test_gemini_commits_with_the_hooks_of_the_repository_when_the_documented_rule_says_so(
    create_bench: Callable[[str], Bench],
) -> None:
    """It runs git without hooks; the rule of docs/hosts/gemini.md makes the agent switch them on again."""
    page = (Path(__file__).parents[2] / "docs/hosts/gemini.md").read_text()
    bench = create_bench("gemini-0.61.0")
    bench.govern("profile: standard\n" + page.partition("```yaml\n")[2].partition("```")[0])
    hook = bench.project / ".git/hooks/pre-commit"
    hook.write_text("#!/bin/sh\ntouch hook-ran\n")
    hook.chmod(0o755)
    commit = "git -c user.name=a -c user.email=a@example.com commit -q --allow-empty -m"
    first = ModelTurn("commit", (bench.shell(f"{commit} one; touch ran-without"),))
    session = bench.play(
        first,
        ModelTurn("again", (bench.shell(f"GIT_CONFIG_COUNT=0 {commit} two"),)),
        ModelTurn("END"),
        ModelTurn("END"),
    )

    assert session.has_received("put `GIT_CONFIG_COUNT=0 ` before `git`"), session.run.stderr
    assert not bench.has_file("ran-without")
    assert bench.has_file("hook-ran"), session.run.stderr
