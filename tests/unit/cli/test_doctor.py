"""`verdikt doctor`: what it proves, and what it says when there is nothing to prove."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.contract.warm import eventually
from tests.unit.cli.conftest import Verdikt
from verdikt.hosts.wiring import wrapper

WRAPPER = f"../home/.local/share/verdikt/hooks/{next(iter(wrapper.load_wrappers()))}"
OTHER = "of another version" if wrapper.load_native_client() else "changed"


def report(done: "subprocess.CompletedProcess[str]") -> dict[str, Any]:
    """The report."""
    parsed: dict[str, Any] = json.loads(done.stdout)
    return parsed


@pytest.mark.usefixtures("project")
def test_nothing_wired_is_a_failure(verdikt: Verdikt) -> None:
    """Hoping is not proof."""
    done = verdikt("doctor")

    assert done.returncode == 1
    assert "nothing is wired here" in done.stdout
    assert "verdikt init" in done.stdout


def test_hooks_of_git_are_looked_at_too(project: Path, verdikt: Verdikt) -> None:
    """All there: well; one gone: not."""
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    verdikt("init", "--host", "git", "--yes")
    whole = verdikt("doctor")
    (project / ".git/hooks/pre-push").unlink()
    part = verdikt("doctor")

    assert whole.returncode == 0, whole.stdout
    assert "git (pre-commit, pre-merge-commit, pre-push)" in whole.stdout
    assert part.returncode == 1
    assert "missing: pre-push; run `verdikt init --host git`" in part.stdout


def test_a_canary_goes_through_every_registered_command(project: Path, verdikt: Verdikt) -> None:
    """Blocked by the policy, on every host; nothing of it is left on disk."""
    verdikt("init", "--host", "all", "--yes", "--trust-codex")
    done = verdikt("doctor", "--json", "--calls", "1", PATH=f"{Path('/usr/local/bin')}:/usr/bin:/bin:{_node()}")
    found = report(done)

    assert {host["host"] for host in found["hosts"]} == {"claude", "codex", "gemini", "copilot", "cursor", "opencode"}
    assert [host["host"] for host in found["hosts"] if not host["firing"]["blocked"]] == []
    assert [host["host"] for host in found["hosts"] if not host["healthy"]] == []
    assert (found["healthy"], done.returncode, found["wrapper"]) == (True, 0, "intact")
    assert not (project.parent / "home/.local/share/verdikt/canary").exists()
    assert all(host["firing"]["p50_milliseconds"] > 0 for host in found["hosts"])


@pytest.mark.usefixtures("run")
def test_the_times_are_those_of_every_day(verdikt: Verdikt) -> None:
    """The first call may find no warm process and start one; the times are of calls that it answers, and each is told apart."""
    verdikt("init", "--host", "gemini", "--yes")
    on = {"VERDIKT_DAEMON": "on", "VERDIKT_DAEMON_IDLE": "60"}

    def fired(**env: str) -> dict[str, Any]:
        firing: dict[str, Any] = report(verdikt("doctor", "--json", "--calls", "3", **env))["hosts"][0]["firing"]
        return firing

    off, first = fired(), fired(**on)
    eventually("the warm process answers", lambda: fired(**on)["warm"])
    later = fired(**on)
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
def test_what_is_wrong_is_said(
    project: Path,
    verdikt: Verdikt,
    change: dict[str, str],
    complaint: str,
) -> None:
    """With status 1."""
    verdikt("init", "--host", "claude", "--yes")
    for name, text in change.items():
        (project / name).write_text(text)
    done = verdikt("doctor", "--calls", "1")

    assert done.returncode == 1
    assert complaint in done.stdout


def test_verdikt_guards_itself_although_the_policy_builds_on_nothing(project: Path, verdikt: Verdikt) -> None:
    """The canary touches verdikt's own files."""
    verdikt("init", "--host", "claude", "--yes")
    (project / "governance.yaml").write_text("profile: none\nguards: [audit]\n")
    done = verdikt("doctor", "--calls", "1")

    assert (done.returncode, "canary blocked" in done.stdout) == (0, True)


def test_codex_is_red_until_it_is_trusted(project: Path, verdikt: Verdikt) -> None:
    """And while it ignores the project, or keeps terminal sessions."""
    verdikt("init", "--host", "codex", "--yes")
    (project / ".codex/config.toml").write_text("")
    done = verdikt("doctor", "--calls", "1")

    assert done.returncode == 1
    assert "so Codex skips the hooks in silence" in done.stdout
    assert "does not trust this project" in done.stdout
    assert "start `codex` here and answer so, or run `verdikt init --host codex --trust-codex`" in done.stdout
    assert "write_stdin" in done.stdout

    verdikt("init", "--host", "codex", "--yes", "--trust-codex")
    assert verdikt("doctor", "--calls", "1").returncode == 0


def test_a_project_of_which_codex_is_told_not_to_trust_it_stays_so(project: Path, verdikt: Verdikt) -> None:
    """The person said so before, and the doctor says where."""
    config = project.parent / "home/.codex/config.toml"
    config.parent.mkdir()
    config.write_text(f'[projects."{project}"]\ntrust_level = "untrusted"\n')
    verdikt("init", "--host", "codex", "--yes", "--trust-codex")
    done = verdikt("doctor", "--calls", "1")

    assert 'trust_level = "untrusted"' in config.read_text()
    assert done.returncode == 1
    assert f"if {config} says `untrusted` of `{project}`, take that out first" in done.stdout


def test_a_hook_that_was_left_out_shows(project: Path, verdikt: Verdikt) -> None:
    """Every event counts."""
    verdikt("init", "--host", "gemini", "--yes")
    path = project / ".gemini/settings.json"
    settings = json.loads(path.read_text())
    del settings["hooks"]["AfterTool"]
    path.write_text(json.dumps(settings))
    found = report(verdikt("doctor", "--json", "--calls", "1"))

    assert found["hosts"][0]["missing"] == ["AfterTool"]
    assert not found["healthy"]


def test_crashes_of_the_last_day_are_counted(project: Path, verdikt: Verdikt) -> None:
    """Old ones are not."""
    verdikt("init", "--host", "claude", "--yes")
    file = project.parent / "home/.local/share/verdikt/_hook_crashes.jsonl"
    lines = [{"ts": 1, "hook": "claude.Stop"}, "rubbish", {"ts": 9e9, "hook": "claude.Stop"}]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines) + "{half")
    found = report(verdikt("doctor", "--json", "--calls", "1"))

    assert found["crashes"] == {"claude.Stop": 1}


def test_help_has_an_example(verdikt: Verdikt) -> None:
    """Somebody who has never seen it can copy a line."""
    assert "Example: verdikt doctor" in verdikt("doctor", "--help").stdout


def test_passed_thresholds_are_told(project: Path, verdikt: Verdikt) -> None:
    """What was counted, when it was too much, and where that was noted."""
    verdikt("init", "--host", "claude", "--yes")
    data = project.parent / "home/.local/share/verdikt"
    (data / "overrides").mkdir(exist_ok=True)
    (data / "overrides" / "_breach_marker.json").write_text('{"overrides": 1700000000.0}')
    (data / "_hook_crash_breach.json").write_text('{"stop": 1700000001.0, "odd": "rubbish"}')
    found = report(verdikt("doctor", "--json", "--calls", "1"))
    said = verdikt("doctor", "--calls", "1").stdout

    assert found["breaches"]["crashes"] == {"stop": 1700000001.0}
    assert found["breaches"]["overrides"] == 1700000000.0
    assert "threshold passed: 3 crashes of stop in an hour, at 2023-11-14 22:13:21" in said
    assert "threshold passed: 3 attempts to override in 24 hours, at 2023-11-14 22:13:20" in said


def test_that_gemini_runs_git_without_hooks_is_named_where_commits_are_checked(project: Path, verdikt: Verdikt) -> None:
    """And only there."""
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    verdikt("init", "--host", "gemini", "--yes")
    assert "without any hooks" not in verdikt("doctor", "--calls", "1").stdout

    verdikt("init", "--host", "git", "--yes")
    assert "Gemini CLI runs git without any hooks" in verdikt("doctor", "--calls", "1").stdout


def test_a_file_that_cannot_be_read_does_not_hide_the_others(project: Path, verdikt: Verdikt) -> None:
    """It is named; where it speaks of the hook, its client is not in order."""
    verdikt("init", "--host", "claude", "--host", "gemini", "--yes")
    (project / ".cursor").mkdir()
    (project / ".cursor/hooks.json").write_text("// mine\n{}")
    known = verdikt("doctor", "--calls", "1")
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


@pytest.mark.parametrize(("host", "both"), [("claude", False), ("gemini", False), ("codex", True), ("copilot", True)])
def test_hooks_that_are_called_twice_are_named(verdikt: Verdikt, host: str, both: bool) -> None:
    """Claude Code and Gemini CLI call the same command once, wherever they find it; the others call each."""
    verdikt("init", "--host", host, "--yes", "--trust-codex")
    verdikt("init", "--host", host, "--yes", "--trust-codex", "--scope", "user")
    said = verdikt("doctor", "--calls", "1").stdout

    assert ("every call is decided, counted and logged twice" in said) == both


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
def test_sessions_below_the_project_are_named(
    project: Path, verdikt: Verdikt, host: str, repository: bool, named: bool
) -> None:
    """Where the client reads a project's settings only in the folder where it starts."""
    if repository:
        subprocess.run(["git", "init", "-q", str(project)], check=True)
    verdikt("init", "--host", host, "--yes", "--trust-codex")
    said = verdikt("doctor", "--calls", "1").stdout

    assert (f"a session that starts in a folder below {project} reads none" in said) == named


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
def test_what_a_project_names_is_not_run_unless_it_is_ours(
    project: Path, verdikt: Verdikt, file: str, text: str
) -> None:
    """A project that somebody else wrote can say that anything is verdikt's hook; its clients ask before they trust it."""
    (project / file).parent.mkdir(parents=True)
    (project / file).write_text(text.replace("OUT", str(project / "out")))
    done = verdikt("doctor", "--live", "--calls", "1", PATH=f"{_node()}:/usr/bin:/bin")

    assert done.returncode == 1
    assert "not tried: the project's file names something else than this verdikt writes there" in done.stdout
    assert not (project / "out").exists()


def test_what_is_ours_is_run_whoever_wrote_the_rest(project: Path, verdikt: Verdikt) -> None:
    """Another name of the same interpreter included; a file that only `verdikt init` has touched needs no second look."""
    verdikt("init", "--host", "claude", "--host", "opencode", "--yes")
    file = project / ".claude/settings.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"model": "x"}).replace("/bin/python ", "/bin/python3 "))
    done = verdikt("doctor", "--calls", "1", PATH=f"{_node()}:/usr/bin:/bin")

    assert done.stdout.count("canary blocked") == 2, done.stdout
    assert done.returncode == 0


def test_what_is_not_in_order_is_summed_up(project: Path, verdikt: Verdikt) -> None:
    """The last line never says that all is well when it is not."""
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    verdikt("init", "--host", "claude", "--host", "git", "--yes")
    (project / ".git/hooks/pre-push").unlink()
    (project.parent / "home/.local/share/verdikt/hooks/guard.sh").write_text("")
    done = verdikt("doctor", "--calls", "1")

    assert done.returncode == 1
    # Without a warm process the native client needs this script; where there is none, the settings name it.
    assert done.stdout.endswith("failing: claude (project), the wrapper, git\n")
