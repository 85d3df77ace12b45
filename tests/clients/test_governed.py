"""verdikt's word on the real clients: wired by `verdikt init`, each with its own home, a scripted model on loopback."""

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.bench import Bench
from tests.clients.table import cells
from verdikt.hosts.live.model_api import ModelTurn, ToolUse
from verdikt.ledger.files import open_store
from verdikt.ledger.projections import load_projections
from verdikt.model.entry import Entry, EntryKind

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


def entries(bench: Bench, kind: EntryKind) -> list[Entry]:
    """What the log holds of a kind, over all sessions; reading it checks every link."""
    store = open_store(bench.data, projections=load_projections())
    return [entry for session in store.list_sessions() for entry in store.read_entries(session) if entry.kind is kind]


@pytest.mark.parametrize("version", cells("forbidden"))
def test_a_forbidden_command_does_not_run_and_an_allowed_one_does(version: str, bench: Callable[[str], Bench]) -> None:
    """No side effect on disk, reason and fix for the model, nothing of our own paths in what it sees; parallel calls too."""
    table = bench(version)
    table.govern(POLICY)
    both = ModelTurn(
        "both", (table.shell(f"{FORBIDDEN} 1"), table.shell(f"{ALLOWED} 1"), table.shell(f"{FORBIDDEN} 2"))
    )
    played = table.play(
        ModelTurn("no", (table.shell(FORBIDDEN),)),
        ModelTurn("yes", (table.shell(ALLOWED),)),
        both,
        ModelTurn("END"),
        ModelTurn("END"),
    )
    told = json.dumps(played.model.requests)

    assert sorted(path.name for path in table.project.iterdir() if "forbidden" in path.name) == [], played.run.stderr
    assert table.ran("allowed"), played.run.stderr
    assert table.ran("1"), "a forbidden call beside it must not take an allowed one with it"
    assert played.heard("this file is forbidden")
    assert played.heard("Instead: touch `allowed` and go on")
    assert "guard.sh" not in told
    assert "verdikt-hook" not in told
    assert "verdikt.hosts" not in told
    assert len(entries(table, EntryKind.DECISION)) == 5
    assert len(entries(table, EntryKind.TOOL_CALL)) == 2
    assert table.crashes() == []


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
"""Host → the file that somebody else writes while the session runs, and what would switch the hooks off."""


@pytest.mark.parametrize("version", cells("tampering"))
def test_the_agent_cannot_switch_governance_off(version: str, bench: Callable[[str], Bench]) -> None:
    """By its own hand it is stopped; when somebody else changes the settings meanwhile, the session does not follow."""
    table = bench(version)
    table.govern(POLICY)
    host = table.client.name
    name, off = SETTINGS[host]
    settings = table.project / name
    wired = {path: path.read_bytes() for path in settings.parent.iterdir() if path.is_file() and path != settings}

    def somebody_else() -> None:
        for _ in range(600):
            if table.ran("go"):
                settings.write_text(off)
                return
            time.sleep(0.05)

    other = threading.Thread(target=somebody_else)
    other.start()
    own_hand = [ModelTurn("off", (table.shell(command),)) for command in TAMPERING[host]]
    policy = ModelTurn("policy", (table.shell("echo 'profile: relaxed' > governance.yaml"),))
    log = ModelTurn("log", (table.shell(f"rm -rf {table.data}"),))
    wait = ModelTurn("wait", (table.shell("touch go; sleep 2"),))
    played = table.play(
        *own_hand, policy, log, wait, ModelTurn("no", (table.shell(FORBIDDEN),)), ModelTurn("END"), ModelTurn("END")
    )
    other.join()

    assert table.ran("go"), played.run.stderr
    assert not table.ran("forbidden"), played.run.stderr
    assert not (table.project / ".elsewhere").exists()
    assert (table.project / "governance.yaml").read_text() == POLICY
    assert all(path.read_bytes() == data for path, data in wired.items())
    assert played.heard("part of what watches over this agent")
    assert played.heard("this file is forbidden")
    assert entries(table, EntryKind.DECISION)


AGENTS = {
    "claude": ToolUse("Agent", {"description": "d", "prompt": "SUBPROMPT go", "subagent_type": "general-purpose"}),
    "codex": ToolUse("spawn_agent", {"message": "SUBPROMPT go"}, namespace="multi_agent_v1"),
    "gemini": ToolUse("invoke_agent", {"agent_name": "generalist", "prompt": "SUBPROMPT go"}),
    "copilot": ToolUse(
        "task", {"agent_type": "general-purpose", "description": "d", "name": "n", "prompt": "SUBPROMPT go"}
    ),
    "opencode": ToolUse("task", {"description": "d", "prompt": "SUBPROMPT go", "subagent_type": "general"}),
}


@pytest.mark.parametrize("version", cells("sub_agents"))
def test_sub_agents_are_governed_too(version: str, bench: Callable[[str], Bench]) -> None:
    """A sub-agent's forbidden call does not run, its allowed one does, and the log tells whose it was."""
    table = bench(version)
    table.govern(POLICY)
    inside = (
        ModelTurn("no", (table.shell(FORBIDDEN),)),
        ModelTurn("yes", (table.shell(ALLOWED),)),
        ModelTurn("SUB-DONE"),
    )
    wait = ModelTurn("wait", (table.shell("for i in $(seq 80); do [ -e allowed ] && break; sleep 0.1; done"),))
    played = table.play(
        ModelTurn("go", (AGENTS[table.client.name],)),
        wait,
        ModelTurn("END"),
        ModelTurn("END"),
        asides={"SUBPROMPT": inside},
    )
    decisions = entries(table, EntryKind.DECISION)

    assert not table.ran("forbidden"), played.run.stderr
    assert table.ran("allowed"), played.run.stdout[-3000:]
    assert played.heard("this file is forbidden")
    if table.client.name != "gemini":  # which does not tell who is calling
        assert len({entry.session for entry in decisions}) == 2
        if table.client.name != "opencode":  # whose sub-agents have a session of their own by themselves
            assert any("." in entry.session for entry in decisions)


@pytest.mark.parametrize("version", cells("fifty"))
def test_fifty_calls_leave_fifty_decisions_and_fifty_outcomes(version: str, bench: Callable[[str], Bench]) -> None:
    """In a log whose every link holds."""
    table = bench(version)
    table.govern(POLICY)
    turns = [
        ModelTurn(f"turn {turn}", tuple(table.shell(f"echo {turn} {call}") for call in range(10))) for turn in range(5)
    ]
    played = table.play(*turns, ModelTurn("END"), ModelTurn("END"))

    assert len(entries(table, EntryKind.DECISION)) == 50, played.run.stderr
    assert len(entries(table, EntryKind.TOOL_CALL)) == 50, played.run.stderr
    assert table.warm_calls() > 50, "the first call starts a warm process, and those that come when it is ready ask it"
    assert table.crashes() == []


def everything(*roots: Path) -> dict[str, bytes]:
    """Every file below these directories with what is in it, but for verdikt's own log and git's."""
    files = (path for root in roots for path in root.rglob("*") if path.is_file())
    return {str(path): path.read_bytes() for path in files if not {"verdikt", ".git"} & set(path.parts)}


@pytest.mark.parametrize("version", cells("doctor"))
def test_the_doctor_proves_it_on_the_client(version: str, bench: Callable[[str], Bench], tmp_path: Path) -> None:
    """`verdikt doctor --live` sees the canary blocked and leaves no trace."""
    from tests.clients.install import binary

    table = bench(version)
    table.govern(POLICY)
    if table.client.name == "gemini":
        # Somebody is logged in otherwise.
        own = table.home / ".gemini/settings.json"
        own.write_text('{"security": {"auth": {"selectedType": "oauth-personal"}}}')
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / table.client.name).symlink_to(binary(version))
    before = everything(table.home, table.project)
    done = table.verdikt("doctor", "--live", "--json", "--calls", "2", path=str(programs))
    report = json.loads(done.stdout)

    assert report["hosts"][0]["live"] == "blocked", done.stdout
    assert report["hosts"][0]["firing"]["blocked"], done.stdout
    assert done.returncode == 0, done.stdout
    assert everything(table.home, table.project) == before

    (table.project / "governance.yaml").write_text("profile: [")
    broken = table.verdikt("doctor", "--json", "--calls", "1", path=str(programs))
    assert broken.returncode == 1
    assert not json.loads(broken.stdout)["hosts"][0]["firing"]["blocked"]


def test_the_doctor_proves_the_hooks_of_a_user_too(bench: Callable[[str], Bench], tmp_path: Path) -> None:
    """Codex's approvals name the file that they are for, and the doctor looks at a copy of it; no project need be trusted."""
    from tests.clients.install import binary

    table = bench("codex-0.166.0")
    (table.home / ".codex/config.toml").unlink()
    (tmp_path / "codex").symlink_to(binary("codex-0.166.0"))
    table.verdikt("init", "--host", "codex", "--scope", "user", "--yes", "--trust-codex")
    before = everything(table.home, table.project)
    report = json.loads(table.verdikt("doctor", "--live", "--json", "--calls", "1", path=str(tmp_path)).stdout)

    assert [(host["scope"], host["live"], host["healthy"]) for host in report["hosts"]] == [("user", "blocked", True)]
    assert everything(table.home, table.project) == before


@pytest.mark.parametrize("version", ["claude-2.1.325", "gemini-0.61.0"])
def test_below_a_project_only_the_hooks_of_the_user_hold(version: str, bench: Callable[[str], Bench]) -> None:
    """A session that starts there reads none of the project's settings; the user's bring the project's policy with them."""
    table = bench(version)
    table.govern(POLICY)
    below = table.project / "below"
    below.mkdir()

    def ran() -> bool:
        table.play(ModelTurn("no", (table.shell(FORBIDDEN),)), ModelTurn("END"), ModelTurn("END"), where=below)
        return (below / "forbidden").exists()

    hole = f"a session that starts in a folder below {table.project} reads none of these settings"
    assert ran()
    assert hole in table.verdikt("doctor", "--calls", "1").stdout

    (below / "forbidden").unlink()
    assert table.verdikt("init", "--host", table.client.name, "--scope", "user", "--yes").returncode == 0
    assert not ran()
    assert hole not in table.verdikt("doctor", "--calls", "1").stdout


def test_gemini_commits_with_the_hooks_of_the_repository_when_the_documented_rule_says_so(
    bench: Callable[[str], Bench],
) -> None:
    """It runs git without any; the rule of docs/hosts/gemini.md has the agent switch them on again."""
    page = (Path(__file__).parents[2] / "docs/hosts/gemini.md").read_text()
    table = bench("gemini-0.61.0")
    table.govern("profile: standard\n" + page.partition("```yaml\n")[2].partition("```")[0])
    hook = table.project / ".git/hooks/pre-commit"
    hook.write_text("#!/bin/sh\ntouch hook-ran\n")
    hook.chmod(0o755)
    commit = "git -c user.name=a -c user.email=a@example.com commit -q --allow-empty -m"
    first = ModelTurn("commit", (table.shell(f"{commit} one; touch ran-without"),))
    played = table.play(
        first,
        ModelTurn("again", (table.shell(f"GIT_CONFIG_COUNT=0 {commit} two"),)),
        ModelTurn("END"),
        ModelTurn("END"),
    )

    assert played.heard("put `GIT_CONFIG_COUNT=0 ` before `git`"), played.run.stderr
    assert not table.ran("ran-without")
    assert table.ran("hook-ran"), played.run.stderr
