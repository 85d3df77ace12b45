"""`verdikt doctor`: what it proves, and what it says when there is nothing to prove."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.contract.warm import wait_until
from tests.unit.cli.conftest import Verdikt
from verdikt.hosts.wiring import wrapper

WRAPPER = f"../home/.local/share/verdikt/hooks/{next(iter(wrapper.load_wrappers()))}"
OTHER = "of another version" if wrapper.load_native_client() else "changed"


def parse_report(completed: "subprocess.CompletedProcess[str]") -> dict[str, Any]:
    """Return the JSON parse_report."""
    parsed: dict[str, Any] = json.loads(completed.stdout)
    return parsed


@pytest.mark.usefixtures("project")
def test_doctor_without_any_wiring_fails(verdikt: Verdikt) -> None:
    """It says what to run."""
    completed = verdikt("doctor")

    assert completed.returncode == 1
    assert "nothing is wired here" in completed.stdout
    assert "verdikt init" in completed.stdout


def test_doctor_with_a_missing_git_hook_fails(project: Path, verdikt: Verdikt) -> None:
    """With all three hooks it succeeds."""
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    verdikt("init", "--host", "git", "--yes")
    whole = verdikt("doctor")
    (project / ".git/hooks/pre-push").unlink()
    part = verdikt("doctor")

    assert whole.returncode == 0, whole.stdout
    assert "git (pre-commit, pre-merge-commit, pre-push)" in whole.stdout
    assert part.returncode == 1
    assert "missing: pre-push; run `verdikt init --host git`" in part.stdout


def test_doctor_fires_a_canary_through_the_wired_command_of_every_host(project: Path, verdikt: Verdikt) -> None:
    """The policy blocks it everywhere, and nothing remains on disk."""
    verdikt("init", "--host", "all", "--yes", "--trust-codex")
    completed = verdikt("doctor", "--json", "--calls", "1", PATH=f"{Path('/usr/local/bin')}:/usr/bin:/bin:{_node()}")
    report = parse_report(completed)

    assert {host["host"] for host in report["hosts"]} == {"claude", "codex", "gemini", "copilot", "cursor", "opencode"}
    assert [host["host"] for host in report["hosts"] if not host["firing"]["blocked"]] == []
    assert [host["host"] for host in report["hosts"] if not host["healthy"]] == []
    assert (report["healthy"], completed.returncode, report["wrapper"]) == (True, 0, "intact")
    assert not (project.parent / "home/.local/share/verdikt/canary").exists()
    assert all(host["firing"]["p50_milliseconds"] > 0 for host in report["hosts"])


@pytest.mark.usefixtures("run")
def test_doctor_times_calls_that_the_warm_process_answers(verdikt: Verdikt) -> None:
    """The first call may start the warm process and is reported separately."""
    verdikt("init", "--host", "gemini", "--yes")
    on = {"VERDIKT_DAEMON": "on", "VERDIKT_DAEMON_IDLE": "60"}

    def run_hook(**env: str) -> dict[str, Any]:
        firing: dict[str, Any] = parse_report(verdikt("doctor", "--json", "--calls", "3", **env))["hosts"][0]["firing"]
        return firing

    off, first = run_hook(), run_hook(**on)
    wait_until("the warm process answers", lambda: run_hook(**on)["warm"])
    later = run_hook(**on)
    shown = [verdikt("doctor", "--calls", "3", **env).stdout for env in ({}, on)]

    assert (off["warm"], off["calls"]) == (False, 3)
    assert off["cold_milliseconds"] > 0
    assert first["cold_milliseconds"] > 0
    assert later["cold_milliseconds"] is None
    assert 0 < later["p50_milliseconds"] <= later["p99_milliseconds"]
    assert "over 3 calls; slow, because VERDIKT_DAEMON switches the warm process off" in shown[0]
    assert "over 3 calls, answered by the warm process\n" in shown[1]


def _node() -> str:
    import shutil

    return str(Path(shutil.which("node") or "/usr/bin/node").parent)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"governance.yaml": "profile: ["}, "no decision could be made"),
        ({".claude/settings.local.json": '{"disableAllHooks": true}'}, "`disableAllHooks` is set"),
        ({".claude/settings.local.json": '{"hooks": {"Stop": [{}]}}'}, "`hooks.Stop[0].hooks`"),
        ({WRAPPER: "#!/bin/sh\necho '{}'\n"}, "the canary was not blocked"),
        ({WRAPPER: "#!/bin/sh\nexit 7\n"}, "verdikt: blocked"),
        ({WRAPPER: "#!/bin/sh\necho '[]'\n"}, "the canary was not blocked"),
        ({WRAPPER: "#!/bin/sh\nexit 7\n# verdikt-hook 0.0.1\0\n"}, f"the wrapper is {OTHER}; run `verdikt init`"),
        ({"../home/.local/share/verdikt/hooks/guard.sh": "#!/bin/sh\n"}, "the wrapper is changed"),
    ],
)
def test_doctor_names_what_is_wrong_and_fails(
    project: Path,
    verdikt: Verdikt,
    change: dict[str, str],
    complaint: str,
) -> None:
    """The exit status is 1."""
    verdikt("init", "--host", "claude", "--yes")
    for name, text in change.items():
        (project / name).write_text(text)
    completed = verdikt("doctor", "--calls", "1")

    assert completed.returncode == 1
    assert complaint in completed.stdout


def test_doctor_with_an_empty_profile_still_sees_the_canary_blocked(project: Path, verdikt: Verdikt) -> None:
    """Verdikt guards its own files under every policy."""
    verdikt("init", "--host", "claude", "--yes")
    (project / "governance.yaml").write_text("profile: none\nguards: [audit]\n")
    completed = verdikt("doctor", "--calls", "1")

    assert (completed.returncode, "canary blocked" in completed.stdout) == (0, True)
    assert "! policy: the policy on disk is not the accepted one" in completed.stdout
    assert "project (changed)" in completed.stdout


def test_doctor_fails_for_codex_until_hooks_and_project_are_trusted(project: Path, verdikt: Verdikt) -> None:
    """It also fails while Codex allows terminal sessions."""
    verdikt("init", "--host", "codex", "--yes")
    (project / ".codex/config.toml").write_text("")
    completed = verdikt("doctor", "--calls", "1")

    assert completed.returncode == 1
    assert "so Codex skips the hooks in silence" in completed.stdout
    assert "does not trust this project" in completed.stdout
    assert "start `codex` here and answer so, or run `verdikt init --host codex --trust-codex`" in completed.stdout
    assert "write_stdin" in completed.stdout

    verdikt("init", "--host", "codex", "--yes", "--trust-codex")
    assert verdikt("doctor", "--calls", "1").returncode == 0


def test_init_does_not_override_an_untrusted_project_in_codex(project: Path, verdikt: Verdikt) -> None:
    """The doctor says in which file the person output so."""
    config = project.parent / "home/.codex/config.toml"
    config.parent.mkdir()
    config.write_text(f'[projects."{project}"]\ntrust_level = "untrusted"\n')
    verdikt("init", "--host", "codex", "--yes", "--trust-codex")
    completed = verdikt("doctor", "--calls", "1")

    assert 'trust_level = "untrusted"' in config.read_text()
    assert completed.returncode == 1
    assert f"if {config} says `untrusted` of `{project}`, take that out first" in completed.stdout


def test_doctor_names_an_event_that_is_not_wired(project: Path, verdikt: Verdikt) -> None:
    """Every event counts."""
    verdikt("init", "--host", "gemini", "--yes")
    path = project / ".gemini/settings.json"
    settings = json.loads(path.read_text())
    del settings["hooks"]["AfterTool"]
    path.write_text(json.dumps(settings))
    report = parse_report(verdikt("doctor", "--json", "--calls", "1"))

    assert report["hosts"][0]["missing"] == ["AfterTool"]
    assert not report["healthy"]


def test_doctor_counts_the_crashes_of_the_last_day(project: Path, verdikt: Verdikt) -> None:
    """Older ones are left out."""
    verdikt("init", "--host", "claude", "--yes")
    file = project.parent / "home/.local/share/verdikt/_hook_crashes.jsonl"
    lines = [{"ts": 1, "hook": "claude.Stop"}, "rubbish", {"ts": 9e9, "hook": "claude.Stop"}]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines) + "{half")
    report = parse_report(verdikt("doctor", "--json", "--calls", "1"))

    assert report["crashes"] == {"claude.Stop": 1}


def test_policy_typo_is_no_crash_of_a_hook(project: Path, verdikt: Verdikt) -> None:
    """A policy that can't be loaded blocks every call, and doctor names the fault instead of a crash."""
    verdikt("init", "--host", "claude", "--yes")
    with (project / "governance.yaml").open("a") as file:
        file.write("rulez: []\n")

    report = parse_report(verdikt("doctor", "--json", "--calls", "1"))

    assert report["crashes"] == {}
    assert "expected a known key, found `rulez` (did you mean `rules`?)" in report["policy_fault"]
    assert not report["healthy"]
    assert "the policy can't be loaded, so every call is blocked" in verdikt("doctor", "--calls", "1").stdout


def test_help_of_doctor_has_an_example(verdikt: Verdikt) -> None:
    """A reader can copy the line."""
    assert "Example: verdikt doctor" in verdikt("doctor", "--help").stdout


def test_doctor_reports_passed_thresholds(project: Path, verdikt: Verdikt) -> None:
    """What was counted, and when it was too much."""
    verdikt("init", "--host", "claude", "--yes")
    data = project.parent / "home/.local/share/verdikt"
    (data / "overrides").mkdir(exist_ok=True)
    (data / "overrides" / "_breach_marker.json").write_text('{"overrides": 1700000000.0}')
    (data / "_hook_crash_breach.json").write_text('{"stop": 1700000001.0, "odd": "rubbish"}')
    report = parse_report(verdikt("doctor", "--json", "--calls", "1"))
    output = verdikt("doctor", "--calls", "1").stdout

    assert report["breaches"]["crashes"] == {"stop": 1700000001.0}
    assert report["breaches"]["overrides"] == 1700000000.0
    assert "threshold passed: 3 crashes of stop in an hour, at 2023-11-14 22:13:21" in output
    assert "threshold passed: 3 attempts to override in 24 hours, at 2023-11-14 22:13:20" in output


def test_doctor_names_that_gemini_runs_git_without_hooks_where_commits_are_checked(
    project: Path, verdikt: Verdikt
) -> None:
    """Elsewhere it does not matter."""
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    verdikt("init", "--host", "gemini", "--yes")
    assert "without any hooks" not in verdikt("doctor", "--limits", "--calls", "1").stdout

    verdikt("init", "--host", "git", "--yes")
    assert "Gemini CLI runs git without any hooks" in verdikt("doctor", "--limits", "--calls", "1").stdout


def test_doctor_with_an_unreadable_file_still_reports_the_others(project: Path, verdikt: Verdikt) -> None:
    """The file is named; if it mentions the hook, its client fails."""
    verdikt("init", "--host", "claude", "--host", "gemini", "--yes")
    (project / ".cursor").mkdir()
    (project / ".cursor/hooks.json").write_text("// mine\n{}")
    known = verdikt("doctor", "--limits", "--calls", "1")
    file = project / ".gemini/settings.json"
    file.write_text(f"// mine\n{file.read_text()}")
    broken = verdikt("doctor", "--calls", "1")

    assert known.returncode == 0, known.stdout
    assert f"! not inspected: {project}/.cursor/hooks.json: expected JSON without comments" in known.stdout
    assert broken.returncode == 1
    assert "✓ claude" in broken.stdout
    assert f"✗ gemini (project: {file})" in broken.stdout
    assert f"not protected  {file}: expected JSON without comments" in broken.stdout
    assert "failing: gemini (project)" in broken.stdout


@pytest.mark.parametrize(
    ("host", "scope", "both"),
    [
        ("claude", "local", False),
        ("gemini", "local", False),
        ("codex", "local", True),
        ("copilot", "local", True),
        ("claude", "project", True),
    ],
)
def test_doctor_names_hooks_that_are_called_twice(verdikt: Verdikt, host: str, scope: str, both: bool) -> None:
    """Claude Code and Gemini CLI call the same command once, wherever they find it; a committed line is another one."""
    verdikt("init", "--host", host, "--yes", "--trust-codex", "--scope", scope)
    verdikt("init", "--host", host, "--yes", "--trust-codex", "--scope", "user")
    output = verdikt("doctor", "--limits", "--calls", "1").stdout

    assert ("every call is decided, counted and logged twice" in output) == both


@pytest.mark.parametrize(
    ("host", "repository", "named"),
    [
        ("claude", True, True),
        ("codex", True, False),
        ("codex", False, True),
        ("copilot", False, True),
        ("cursor", False, False),
    ],
)
def test_doctor_names_sessions_below_the_project_that_are_not_governed(
    project: Path, verdikt: Verdikt, host: str, repository: bool, named: bool
) -> None:
    """Some clients read the settings of a project only in the folder where they start."""
    if repository:
        subprocess.run(["git", "init", "-q", str(project)], check=True)
    verdikt("init", "--host", host, "--yes", "--trust-codex")
    output = verdikt("doctor", "--limits", "--calls", "1").stdout

    assert (f"a session that starts in a folder below {project} reads none" in output) == named


@pytest.mark.parametrize(
    ("file", "text"),
    [
        (
            ".claude/settings.json",
            '{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "touch OUT # verdikt-hook"}]}]}}',
        ),
        (".github/hooks/verdikt.json", '{"hooks": {"preToolUse": [{"bash": "touch OUT; verdikt-hook 20 closed x"}]}}'),
        (
            ".opencode/plugin/verdikt.js",
            '// verdikt-hook\nimport { writeFileSync } from "node:fs"\nwriteFileSync("OUT", "")\n',
        ),
    ],
)
def test_doctor_does_not_run_a_command_of_the_project_that_init_did_not_write(
    project: Path, verdikt: Verdikt, file: str, text: str
) -> None:
    """A stranger's project can call any command verdikt's hook."""
    (project / file).parent.mkdir(parents=True)
    (project / file).write_text(text.replace("OUT", str(project / "out")))
    completed = verdikt("doctor", "--live", "--calls", "1", PATH=f"{_node()}:/usr/bin:/bin")

    assert completed.returncode == 1
    assert "not tried: the project's file names something else than this verdikt writes there" in completed.stdout
    assert not (project / "out").exists()


def test_doctor_runs_our_own_command_in_a_file_that_others_edited(project: Path, verdikt: Verdikt) -> None:
    """Another name of the same interpreter is accepted."""
    verdikt("init", "--host", "claude", "--host", "opencode", "--yes")
    file = project / ".claude/settings.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"model": "x"}).replace("/bin/python ", "/bin/python3 "))
    completed = verdikt("doctor", "--calls", "1", PATH=f"{_node()}:/usr/bin:/bin")

    assert completed.stdout.count("canary blocked") == 2, completed.stdout
    assert completed.returncode == 0


def test_doctor_begins_with_what_is_failing(project: Path, verdikt: Verdikt) -> None:
    """The first lines name the problems, and none says that all is well when it is not."""
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    verdikt("init", "--host", "claude", "--host", "git", "--yes")
    (project / ".git/hooks/pre-push").unlink()
    (project.parent / "home/.local/share/verdikt/hooks/guard.sh").write_text("")
    completed = verdikt("doctor", "--calls", "1")

    assert completed.returncode == 1
    # Without a warm process the native client needs this script; where there is none, the settings name it.
    lines = completed.stdout.splitlines()
    assert lines[0] == "failing: claude (project), the wrapper, git"
    assert lines[1] == "✗ the wrapper is changed; run `verdikt init`"
    assert "blocks" not in completed.stdout


def test_doctor_counts_known_limits_and_lists_them_on_request(project: Path, verdikt: Verdikt) -> None:
    """What no hook can see is worth knowing once, not at every look."""
    verdikt("init", "--host", "claude", "--yes")
    short, long = verdikt("doctor", "--calls", "1").stdout, verdikt("doctor", "--limits", "--calls", "1").stdout

    assert short.startswith("every client that is wired here blocks\n")
    assert "known limit   " not in short
    assert re.search(r"^\d known limits?: `verdikt doctor --limits` lists them$", short, re.MULTILINE)
    assert "known limit   " in long
    assert "lists them" not in long


def test_doctor_names_a_council_trigger_that_the_host_does_not_report(project: Path, verdikt: Verdikt) -> None:
    """OpenCode tells its plugins when a session is created, and not when it ends."""
    council = "{trigger: [session-start, session-end], reviewers: {words: {command: 'true {files}'}}}"
    (project / "governance.yaml").write_text(f"profile: standard\ncouncils: {{ship-it: {council}}}\n")
    verdikt("init", "--host", "opencode", "--yes")
    holes = [hole["what"] for hole in parse_report(verdikt("doctor", "--json"))["hosts"][0]["holes"]]
    assert "OpenCode reports no session-end, so council `ship-it` does not run then" in holes
    assert not any("session-start" in hole for hole in holes)
