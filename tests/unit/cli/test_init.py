"""`verdikt init` and `verdikt uninstall` on projects that look like people's projects."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.conftest import Verdikt
from verdikt.daemon.client import find_daemon_pid
from verdikt.errors import WiringError
from verdikt.hosts.codex import hook_approval
from verdikt.hosts.registry import HOSTS, load_wiring
from verdikt.hosts.wiring import json_settings, wrapper
from verdikt.hosts.wiring.installation import Installation
from verdikt.hosts.wiring.plan import apply_plan, apply_unwiring, detect_hosts, plan_unwiring, plan_wiring
from verdikt.hosts.wiring.registration import HOOK_MODULE, LAUNCHER, Registration

JSON_HOSTS = ("claude", "codex", "gemini", "copilot", "cursor")
"""The hosts whose hooks are entries in a JSON file."""


def snapshot(*roots: Path) -> dict[str, tuple[int, bytes]]:
    """Return mode and bytes of every file below, and every directory."""
    found: dict[str, tuple[int, bytes]] = {}
    for root in roots:
        for path in sorted(root.rglob("*")):
            if ".local/share/verdikt" not in str(path):
                found[str(path)] = (path.stat().st_mode, path.read_bytes() if path.is_file() else b"")
    return found


FOREIGN = {
    "model": "opus",
    "permissions": {"deny": ["Read(.env)"]},
    "hooks": {
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "./lint.sh", "timeout": 5}]}],
        "Notification": [{"hooks": [{"type": "command", "command": "say done"}]}],
    },
}


def write_file(path: Path, text: str, mode: int = 0o640) -> None:
    """Write a file that is not ours."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def test_init_of_every_host_merges_with_settings_and_uninstall_restores_them_byte_for_byte(
    project: Path, verdikt: Verdikt
) -> None:
    """The settings of others stay, in their own formatting; wiring again changes nothing."""
    write_file(project / ".claude/settings.json", json.dumps(FOREIGN, indent=7) + "\n\n")
    write_file(project / ".gemini/settings.json", '{"theme":   "dark"}')
    write_file(project / ".codex/config.toml", '# mine\nmodel = "x"\n[features]\nfoo = true # why\n')
    before = snapshot(project, project.parent / "home")

    completed = verdikt("init", "--host", "all", "--yes")
    assert completed.returncode == 0, completed.stderr
    wired = snapshot(project)
    for host, place in ((name, HOSTS[name]) for name in JSON_HOSTS):
        found = dict(
            json_settings.find_hook_commands(json.loads((project / place.settings_files["project"]).read_text()))
        )
        assert set(found) == set(place.wired_events), host
    merged = json.loads((project / ".claude/settings.json").read_text())
    assert merged["permissions"] == FOREIGN["permissions"]
    assert merged["hooks"]["PreToolUse"][0] == FOREIGN["hooks"]["PreToolUse"][0]  # type: ignore[index]
    assert "unified_exec_tty = false" in (project / ".codex/config.toml").read_text()
    assert "profile: standard" in (project / "governance.yaml").read_text()
    assert (project / ".claude/settings.json").stat().st_mode & 0o777 == 0o640

    again = verdikt("init", "--host", "all", "--yes")
    assert "nothing to change" in again.stdout
    assert snapshot(project) == wired

    undone = verdikt("uninstall", "--yes")
    assert undone.returncode == 0, undone.stderr
    assert snapshot(project, project.parent / "home") == before
    assert not (project.parent / "home/.local/share/verdikt/hooks").exists()


def test_uninstall_in_a_project_that_was_empty_leaves_it_empty(project: Path, verdikt: Verdikt) -> None:
    """Directories are removed too; a file that is already gone is no error."""
    verdikt("init", "--host", "all", "--yes")
    (project / ".gemini/settings.json").unlink()

    undone = verdikt("uninstall", "--yes")

    assert undone.returncode == 0, undone.stderr
    assert f"keep {project}/.gemini/settings.json  (gone already)" in undone.stdout
    assert snapshot(project) == {}


def test_init_for_one_person_writes_absolute_paths_matchers_timeouts_and_a_block_for_a_missing_wrapper(
    project: Path, verdikt: Verdikt
) -> None:
    """Timeouts are in the unit of each client."""
    verdikt("init", "--host", "claude", "--host", "gemini", "--host", "codex", "--scope", "local", "--yes")
    claude = json.loads((project / ".claude/settings.local.json").read_text())["hooks"]
    gemini = json.loads((project / ".gemini/settings.json").read_text())["hooks"]
    codex = json.loads((project / ".codex/hooks.json").read_text())

    before = claude["PreToolUse"][0]["hooks"][0]
    hooks = project.parent / "home/.local/share/verdikt/hooks"
    guard = str(hooks / next(iter(wrapper.load_wrappers())))
    installed = {path.name: path.read_bytes() for path in hooks.iterdir()}
    assert set(installed) == {*wrapper.load_wrappers(), LAUNCHER}
    assert installed.items() >= wrapper.load_wrappers().items()
    assert before["command"] == (
        f"{guard} 50 closed {sys.executable} -I -m {HOOK_MODULE} claude PreToolUse"
        " || { [ $? = 2 ] || echo 'verdikt: blocked' >&2; exit 2; }"
    )
    assert (before["timeout"], before["onFailure"]) == (60, "block")
    assert claude["ConfigChange"][0]["hooks"][0]["onFailure"] == "block"
    assert "onFailure" not in claude["PostToolUse"][0]["hooks"][0]
    assert gemini["BeforeTool"][0]["hooks"][0]["timeout"] == 60_000
    assert all(group["matcher"] == "*" for groups in claude.values() for group in groups)
    assert set(codex) == {"hooks"}
    assert set(codex["hooks"]["PreToolUse"][0]["hooks"][0]) == {"type", "command", "timeout"}
    assert os.access(guard, os.X_OK)


def test_the_wired_command_without_its_wrapper_blocks(project: Path, verdikt: Verdikt) -> None:
    """Deleting the wrapper does not switch governance off."""
    verdikt("init", "--host", "claude", "--scope", "local", "--yes")
    hooks = json.loads((project / ".claude/settings.local.json").read_text())["hooks"]
    for installed in (project.parent / "home/.local/share/verdikt/hooks").iterdir():
        installed.unlink()
    command = hooks["PreToolUse"][0]["hooks"][0]["command"]
    for shell in ("sh", "bash"):
        response = subprocess.run([shell, "-c", command], input="{}", capture_output=True, text=True, check=False)
        assert response.returncode == 2
        assert "verdikt: blocked" in response.stderr


def test_init_dry_run_shows_every_line_and_changes_nothing(project: Path, verdikt: Verdikt) -> None:
    """The output holds the lines that would be added."""
    write_file(project / ".gemini/settings.json", '{\n  "theme": "dark"\n}\n')
    before = snapshot(project, project.parent / "home")
    completed = verdikt("init", "--dry-run", "--host", "gemini")

    assert completed.returncode == 0
    assert "change .gemini/settings.json" in completed.stdout
    assert '"BeforeTool"' in completed.stdout
    assert snapshot(project, project.parent / "home") == before


def test_init_without_a_terminal_and_without_yes_changes_nothing(project: Path, verdikt: Verdikt) -> None:
    """A pipe is no confirmation."""
    completed = verdikt("init", "--host", "claude")

    assert completed.returncode == 2
    assert "--yes" in completed.stderr
    assert not (project / ".claude").exists()


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{", "expected JSON, found something else"),
        ('{"a": 1} // comment', "expected JSON, found something else"),
        ("[]", "expected an object at the top"),
        ('{"hooks": []}', "expected lists of hooks under `hooks`"),
        ('{"hooks": {"PreToolUse": {}}}', "expected lists of hooks under `hooks`"),
        ('{"hooks": {"Stop": [{"hooks": [{"type": "command"}]}]}}', "`hooks.Stop[0].hooks[0].command`"),
        (
            '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x", "timeout": "5"}]}]}}',
            "hooks[0].timeout`",
        ),
        ('{"n": 1e999}', "expected JSON, found something else"),
        ('{"a": ' * 2000 + "1" + "}" * 2000, "expected JSON, found something else"),
        ('// mine\n{"a": 1}', "expected JSON without comments, which would be lost"),
    ],
)
def test_init_with_an_unreadable_settings_file_changes_no_file(
    project: Path, verdikt: Verdikt, text: str, fault: str
) -> None:
    """The error names the file and what is wrong with it."""
    write_file(project / ".claude/settings.json", text)
    before = snapshot(project, project.parent / "home")
    completed = verdikt("init", "--host", "claude", "--yes")

    assert completed.returncode == 1
    assert fault in completed.stderr
    assert ".claude/settings.json" in completed.stderr
    assert snapshot(project, project.parent / "home") == before


def test_init_without_host_wires_the_clients_that_it_finds(project: Path, verdikt: Verdikt) -> None:
    """By what the project contains, or by what is installed."""
    nothing = verdikt("init", "--yes")
    assert nothing.returncode == 2
    assert "found no client that can be wired (looked for claude, " in nothing.stderr
    assert "name one with --host" in nothing.stderr

    (project / ".cursor").mkdir()
    binary = project.parent / "bin" / "gemini"
    write_file(binary, "#!/bin/sh\n", 0o755)
    completed = verdikt("init", "--yes", "--json", PATH=f"{binary.parent}:/usr/bin:/bin")

    assert {change["host"] for change in json.loads(completed.stdout)["changes"]} == {"", "cursor", "gemini"}


@pytest.mark.parametrize(("name", "mode"), [("Cargo.toml", "enforce"), ("notes.txt", "shadow")])
def test_init_proposes_to_enforce_where_a_check_exists(project: Path, verdikt: Verdikt, name: str, mode: str) -> None:
    """Without a check there is nothing that an agent could prove its claims with."""
    write_file(project / name, "")

    assert verdikt("init", "--host", "claude", "--yes").returncode == 0
    assert f"evidence:\n  mode: {mode}\n" in (project / "governance.yaml").read_text()


def test_init_keeps_an_existing_policy(project: Path, verdikt: Verdikt) -> None:
    """Whatever profile the command line names."""
    write_file(project / "governance.yaml", "profile: strict\n")
    verdikt("init", "--host", "claude", "--profile", "relaxed", "--yes")
    assert (project / "governance.yaml").read_text() == "profile: strict\n"

    verdikt("uninstall", "--yes")
    assert (project / "governance.yaml").read_text() == "profile: strict\n"


def test_init_accepts_the_policy_that_it_writes_and_no_other(project: Path, verdikt: Verdikt) -> None:
    """A policy that was there before waits for the person, and `init` says so."""
    verdikt("init", "--host", "claude", "--profile", "relaxed", "--yes")
    assert verdikt("policy", "pending").returncode == 0
    assert '"how":"init"' in (project.parent / "home/.local/share/verdikt/ledger/operator.jsonl").read_text()

    write_file(project / "governance.yaml", "profile: none\nguards: [audit]\n")
    completed = verdikt("init", "--host", "claude", "--host", "cursor", "--yes")

    assert "`verdikt policy accept`" in completed.stdout
    assert verdikt("policy", "pending").returncode == 1


def test_uninstall_of_a_file_that_was_changed_since_removes_only_our_entries(project: Path, verdikt: Verdikt) -> None:
    """A policy that people have edited stays."""
    verdikt("init", "--host", "claude", "--host", "cursor", "--yes")
    path = project / ".claude/settings.json"
    edited: dict[str, Any] = json.loads(path.read_text())
    edited["model"] = "opus"
    edited["hooks"]["PreToolUse"].append(FOREIGN["hooks"]["PreToolUse"][0])  # type: ignore[index]
    edited["hooks"]["Stop"][0]["hooks"].append({"type": "command", "command": "say done"})
    path.write_text(json.dumps(edited))
    (project / "governance.yaml").write_text("profile: strict\n")
    verdikt("uninstall", "--yes")

    assert json.loads(path.read_text()) == {
        "hooks": {
            "PreToolUse": FOREIGN["hooks"]["PreToolUse"],  # type: ignore[index]
            "Stop": [{"matcher": "*", "hooks": [{"type": "command", "command": "say done"}]}],
        },
        "model": "opus",
    }
    assert (project / "governance.yaml").exists()
    assert not (project / ".cursor").exists()


def test_init_again_replaces_our_entries_and_keeps_the_first_original(project: Path, verdikt: Verdikt) -> None:
    """The file can always be restored as it was before the first time."""
    write_file(project / ".claude/settings.json", json.dumps(FOREIGN))
    before = snapshot(project)
    verdikt("init", "--host", "claude", "--yes")
    path = project / ".claude/settings.json"
    path.write_text(path.read_text().replace("closed claude", "shut claude"))
    again = verdikt("init", "--host", "claude", "--yes")
    commands = [command for _, command in json_settings.find_hook_commands(json.loads(path.read_text()))]

    assert again.returncode == 0, again.stderr
    assert len(commands) == len(HOSTS["claude"].wired_events)
    assert not any("shut claude" in command for command in commands)
    verdikt("uninstall", "--yes")
    assert snapshot(project) == before


def test_init_again_replaces_the_script_by_the_native_client(project: Path, verdikt: Verdikt) -> None:
    """The script stays beside it and is updated, for projects that were not wired again."""
    verdikt("init", "--host", "claude", "--scope", "local", "--yes")
    hooks = project.parent / "home/.local/share/verdikt/hooks"
    path = project / ".claude/settings.local.json"
    names = list(wrapper.load_wrappers())
    path.write_text(path.read_text().replace(names[0], "guard.sh"))
    (hooks / names[0]).write_text("another version")
    (hooks / "guard.sh").write_text("another version")
    verdikt("init", "--host", "claude", "--scope", "local", "--yes")

    assert {name: (hooks / name).read_bytes() for name in names} == wrapper.load_wrappers()
    assert all(os.access(hooks / name, os.X_OK) for name in names)
    assert all(
        f"/{names[0]} 50 " in command for _, command in json_settings.find_hook_commands(json.loads(path.read_text()))
    )


def test_managed_wiring_uses_a_wrapper_and_a_socket_that_the_governed_cannot_change(project: Path) -> None:
    """The wrapper lies beside the managed policy, and asks at the given socket only."""
    env = {"HOME": str(project.parent / "home")}
    installation = Installation(
        project=str(project),
        data_directory=str(project.parent / "data"),
        env=env,
        socket_path="/run/verdikt/daemon.sock",
    )
    changes = {
        change.path: change
        for change in plan_wiring(installation, ["claude"], profile="standard", scope="managed", trust=False)
    }
    wired = json.loads(changes["/etc/claude-code/managed-settings.json"].after or b"")
    command = dict(json_settings.find_hook_commands(wired))["PreToolUse"]

    if wrapper.load_native_client():
        assert changes["/etc/verdikt/hooks/verdikt-hook"].after == wrapper.load_native_client()
        assert command.startswith("/etc/verdikt/hooks/verdikt-hook --socket /run/verdikt/daemon.sock 50 closed /")
    else:
        assert "launch.py --socket /run/verdikt/daemon.sock claude PreToolUse" in command
    assert command.endswith("|| { [ $? = 2 ] || echo 'verdikt: blocked' >&2; exit 2; }")


@pytest.mark.parametrize(
    "options", [["--socket", "/run/x.sock"], ["--socket", "x.sock", "--scope", "managed"]], ids=["project", "relative"]
)
def test_init_with_a_socket_requires_the_managed_scope_and_an_absolute_path(
    project: Path, verdikt: Verdikt, options: list[str]
) -> None:
    """The person who is governed must not choose the process that decides."""
    completed = verdikt("init", "--host", "claude", "--yes", *options)

    assert completed.returncode == 2
    assert "--socket needs an absolute path and --scope managed" in completed.stderr
    assert not list(project.iterdir())


def test_init_writes_through_links(project: Path, verdikt: Verdikt) -> None:
    """Settings that live in a repository of dotfiles stay a link."""
    real = project.parent / "dotfiles" / "settings.json"
    write_file(real, "{}")
    (project / ".claude").mkdir()
    (project / ".claude/settings.json").symlink_to(real)
    verdikt("init", "--host", "claude", "--yes")
    assert (project / ".claude/settings.json").is_symlink()
    assert "verdikt" in real.read_text()

    verdikt("uninstall", "--yes")
    assert real.read_text() == "{}"


def test_init_approves_codex_hooks_only_with_trust_codex(project: Path, verdikt: Verdikt) -> None:
    """The approval is the person's consent."""
    config = project.parent / "home/.codex/config.toml"
    completed = verdikt("init", "--host", "codex", "--yes")
    assert not config.exists()
    assert "--trust-codex" in completed.stdout

    write_file(config, 'model = "m"\n\n[projects."/x"]\ntrust_level = "trusted"\n')
    verdikt("init", "--host", "codex", "--yes", "--trust-codex")
    hooks = project / ".codex/hooks.json"
    hashes = hook_approval.compute_hashes(json.loads(hooks.read_text()), str(hooks))
    assert len(hashes) == len(HOSTS["codex"].wired_events)
    assert hook_approval.is_approved(config.read_bytes(), hashes, "config.toml")
    assert tomllib.loads(config.read_text())["projects"][str(project)] == {"trust_level": "trusted"}

    verdikt("uninstall", "--yes")
    assert config.read_text() == 'model = "m"\n\n[projects."/x"]\ntrust_level = "trusted"\n'


def test_init_in_the_user_scope_writes_where_the_environment_puts_the_settings(project: Path, verdikt: Verdikt) -> None:
    """Only `--all` removes them again, because they belong to no project."""
    elsewhere = project.parent / "elsewhere"
    env = {"CLAUDE_CONFIG_DIR": str(elsewhere)}
    verdikt("init", "--host", "claude", "--scope", "user", "--yes", **env)

    assert (elsewhere / "settings.json").exists()
    assert (project.parent / "home/.config/verdikt/governance.yaml").exists()
    assert not list(project.iterdir())
    verdikt("uninstall", "--yes", **env)
    assert (elsewhere / "settings.json").exists()
    verdikt("uninstall", "--yes", "--all", **env)
    assert not elsewhere.exists()


@pytest.mark.parametrize("mark", ["CLAUDECODE", "AI_AGENT", "GEMINI_CLI", "CODEX_SANDBOX", "CURSOR_AGENT"])
def test_uninstall_run_by_an_agent_is_refused(project: Path, verdikt: Verdikt, mark: str) -> None:
    """The environment shows that an agent runs the command."""
    verdikt("init", "--host", "claude", "--yes")
    before = snapshot(project)
    completed = verdikt("uninstall", "--yes", **{mark: "1"})

    assert completed.returncode == 1
    assert "switching verdikt off is for operators" in completed.stderr
    assert snapshot(project) == before


@pytest.mark.parametrize("command", ["init", "uninstall", "hook"])
def test_help_of_init_uninstall_and_hook_has_an_example(verdikt: Verdikt, command: str) -> None:
    """A reader can copy the line."""
    assert "Example: verdikt" in verdikt(command, "--help").stdout


def test_uninstall_in_one_project_leaves_others_alone(project: Path, verdikt: Verdikt) -> None:
    """Only `--all` looks further than this project."""
    other = project.parent / "other"
    other.mkdir()
    verdikt("init", "--host", "claude", "--yes")
    verdikt("init", "--host", "claude", "--yes", "--project", str(other))
    verdikt("uninstall", "--yes")

    assert not list(project.iterdir())
    assert (other / "governance.yaml").exists()
    assert (other / ".claude/settings.json").exists()
    verdikt("uninstall", "--yes", "--all")
    assert not list(other.iterdir())


def test_uninstall_ends_the_warm_process_with_the_last_hook_that_asks_it(
    project: Path, verdikt: Verdikt, run: Path
) -> None:
    """It stays while another project is wired, or while http hooks are switched on."""
    other = project.parent / "other"
    other.mkdir()
    verdikt("init", "--host", "claude", "--yes")
    verdikt("init", "--host", "claude", "--yes", "--project", str(other))
    verdikt("daemon", "start")
    pid = find_daemon_pid(run)
    verdikt("uninstall", "--yes")
    assert find_daemon_pid(run) == pid

    planned = verdikt("uninstall", "--dry-run", "--project", str(other))
    assert f"end process {pid}  (the warm process, which no hook asks any more)" in planned.stdout
    assert find_daemon_pid(run) == pid
    completed = verdikt("uninstall", "--json", "--project", str(other))
    assert json.loads(completed.stdout)["ends"] == pid
    assert not find_daemon_pid(run)

    verdikt("init", "--host", "claude", "--yes")
    verdikt("daemon", "start", "--http")
    verdikt("uninstall", "--yes")
    assert find_daemon_pid(run)


def test_uninstall_keeps_the_warm_process_while_a_file_names_the_hook(
    project: Path, verdikt: Verdikt, run: Path
) -> None:
    """The file was wired by hand, or cannot be read."""
    verdikt("init", "--host", "claude", "--yes")
    verdikt("daemon", "start")
    write_file(project / ".gemini/settings.json", (project / ".claude/settings.json").read_text())
    verdikt("uninstall", "--yes")
    assert find_daemon_pid(run)

    write_file(project / ".gemini/settings.json", "{ verdikt-hook")
    verdikt("init", "--host", "claude", "--yes")
    completed = verdikt("uninstall", "--yes")
    assert completed.returncode == 0, completed.stderr
    assert find_daemon_pid(run)


def test_uninstall_keeps_what_another_project_needs(project: Path, verdikt: Verdikt) -> None:
    """Codex keeps the approvals of all projects in one file."""
    other = project.parent / "other"
    other.mkdir()
    config = project.parent / "home/.codex/config.toml"
    verdikt("init", "--host", "codex", "--yes", "--trust-codex")
    verdikt("init", "--host", "codex", "--yes", "--trust-codex", "--project", str(other))
    verdikt("uninstall", "--yes")
    assert str(other) in config.read_text()

    verdikt("uninstall", "--yes", "--all")
    assert not config.exists()


def test_init_dry_run_says_what_was_found_and_that_nothing_changed(project: Path, verdikt: Verdikt) -> None:
    """It shows the files of the project, but not the text of the wrapper."""
    (project / ".claude").mkdir()
    completed = verdikt("init", "--dry-run")

    assert completed.stdout.startswith("found here: claude; `--host` names others")
    assert completed.stdout.endswith("nothing was changed; run it without --dry-run to make these changes\n")
    assert "+profile: standard" in completed.stdout
    assert "limit()" not in completed.stdout
    assert not list((project / ".claude").iterdir())


def test_init_of_all_hosts_names_those_without_settings_of_the_scope(project: Path, verdikt: Verdikt) -> None:
    """A host that was named explicitly is an error instead."""
    completed = verdikt("init", "--host", "all", "--scope", "managed", "--dry-run")
    named = verdikt("init", "--host", "copilot", "--scope", "managed", "--dry-run")

    assert completed.returncode == 0, completed.stderr
    assert "left out, because they have no managed settings: copilot, opencode" in completed.stderr
    assert "/etc/codex/requirements.toml" in completed.stdout
    assert named.returncode == 1
    assert "`copilot` has no managed settings that name hooks" in named.stderr


@pytest.mark.parametrize("locked", [".gemini", ".gemini/settings.json", "home"])
def test_init_and_uninstall_with_one_read_only_file_change_nothing(
    project: Path, locked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a wiring would be worse than none."""
    home = project.parent / "home"
    write_file(project / ".gemini/settings.json", "{}")
    installation = Installation(project=str(project), data_directory=str(home / "data"), env={"HOME": str(home)})
    before = snapshot(project, home)
    closed = str(project / locked if locked != "home" else home)
    # Tests may run as root, to whom nothing is read-only.
    monkeypatch.setattr("os.access", lambda path, mode: str(path) != closed)
    changes = plan_wiring(installation, ["claude", "gemini"], profile="standard", scope="project", trust=False)
    with pytest.raises(WiringError, match="is read-only; make it writable or choose another scope"):
        apply_plan(installation, changes)
    assert snapshot(project, home) == before

    monkeypatch.undo()
    apply_plan(installation, changes)
    wired = snapshot(project, home)
    monkeypatch.setattr("os.access", lambda path, mode: str(path) != closed)
    if locked != "home":
        with pytest.raises(WiringError, match="is read-only"):
            apply_unwiring(installation, plan_unwiring(installation))
        assert snapshot(project, home) == wired


@pytest.mark.parametrize("env", [{"VERDIKT_HOME": "data"}, {"HOME": "home"}, {"VERDIKT_HOME": "/tmp/caf\udce9"}])
def test_init_with_a_path_that_hosts_cannot_call_is_refused(
    project: Path, verdikt: Verdikt, env: dict[str, str]
) -> None:
    """Hosts run it from any directory and read it from a text file."""
    completed = verdikt("init", "--host", "claude", "--yes", **env)

    assert completed.returncode == 1
    assert "expected an absolute path in UTF-8 for hosts to call" in completed.stderr
    assert not list(project.iterdir())


def test_build_entries_has_the_form_of_each_host() -> None:
    """Every key, in each host's own units, for events that fail closed and for others."""
    registration = Registration(wrapper_path="/x/verdikt-hook", python=("/x/python", "-I"))

    def entry(host: str, event: str) -> Any:
        closed = HOSTS[host].events[event].fails_closed
        command = registration.build_command_line(host, event, fail_closed=closed)
        return json.loads(
            json.dumps(load_wiring(host).build_entries(registration)[event]).replace(json.dumps(command), '"C"')
        )

    hook = {"type": "command", "command": "C", "timeout": 60}
    named = {"name": "verdikt", "type": "command", "command": "C", "timeout": 60_000}
    assert entry("claude", "PreToolUse") == {"matcher": "*", "hooks": [hook | {"onFailure": "block"}]}
    assert entry("claude", "Stop") == {"matcher": "*", "hooks": [hook]}
    assert entry("codex", "PreToolUse") == {"matcher": "*", "hooks": [hook]}
    assert entry("gemini", "BeforeTool") == {"matcher": "*", "hooks": [named]}
    assert entry("copilot", "preToolUse") == {"type": "command", "bash": "C", "timeoutSec": 60}
    assert entry("cursor", "preToolUse") == {"command": "C", "timeout": 60, "failClosed": True}
    assert entry("cursor", "stop") == {"command": "C", "timeout": 60}
    assert [HOSTS[host].extra_settings for host in ("claude", "copilot", "cursor")] == [
        {},
        {"version": 1},
        {"version": 1},
    ]


@pytest.mark.parametrize(
    ("mark", "host"),
    [
        (".claude", "claude"),
        (".codex", "codex"),
        (".gemini", "gemini"),
        (".github/hooks", "copilot"),
        (".cursor", "cursor"),
        (".opencode", "opencode"),
    ],
)
def test_detect_hosts_finds_a_host_by_its_marker_in_the_project(project: Path, mark: str, host: str) -> None:
    """Without marker and program there is none."""
    installation = Installation(
        project=str(project), data_directory=str(project.parent / "data"), env={"PATH": str(project / "bin")}
    )
    assert detect_hosts(installation) == []

    (project / mark).mkdir(parents=True)
    assert detect_hosts(installation) == [host]


def test_get_settings_file_follows_the_variables_of_each_client(project: Path) -> None:
    """The files are those that the clients read."""
    env = {"HOME": "/h", "CODEX_HOME": "/c", "CLAUDE_CONFIG_DIR": "/k", "XDG_CONFIG_HOME": "/x"}
    installation = Installation(project=str(project), data_directory="/d", env=env)
    files = [
        installation.get_settings_file(HOSTS[host], "user")
        for host in ("claude", "codex", "gemini", "copilot", "cursor")
    ]
    policy = [
        change.path for change in plan_wiring(installation, ["opencode"], profile="standard", scope="user", trust=False)
    ]

    assert files == [
        "/k/settings.json",
        "/c/hooks.json",
        "/h/.gemini/settings.json",
        "/h/.copilot/hooks/verdikt.json",
        "/h/.cursor/hooks.json",
    ]
    assert policy[-2:] == ["/x/verdikt/governance.yaml", "/x/opencode/plugin/verdikt.js"]
    assert installation.create_registration().python[1:] == ("-I",)


def test_uninstall_of_a_file_that_is_already_restored_does_not_write_it(project: Path, verdikt: Verdikt) -> None:
    """Its modification time stays."""
    file = project / ".claude/settings.json"
    write_file(file, "{}")
    verdikt("init", "--host", "claude", "--yes")
    file.write_text("{}")
    before = file.stat()
    completed = verdikt("uninstall", "--yes")

    assert f"keep {file}" in completed.stdout
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_init_in_a_part_of_a_repository_says_that_the_rest_is_not_governed(project: Path, verdikt: Verdikt) -> None:
    """Sessions that start above read nothing of what lies below."""
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    (project / "part").mkdir()
    note = f"this lies in `{project}`: sessions that start there are not governed; `--project` can name it"

    assert note in verdikt("init", "--host", "claude", "--yes", "--project", "part").stdout
    assert note not in verdikt("init", "--host", "claude", "--yes").stdout


@pytest.mark.parametrize(
    "text", [b'\xef\xbb\xbf{"a": 1}', b'{\r\n "a": 1\r\n}\r\n', b'{"a": "\\ud800"}', b"", b' {"a":1,"a":2}']
)
def test_init_and_uninstall_of_unusual_json_restore_it_byte_for_byte(
    project: Path, verdikt: Verdikt, text: bytes
) -> None:
    """A byte order mark, other line ends, half a character, an empty file, a repeated key."""
    file = project / ".claude/settings.json"
    file.parent.mkdir()
    file.write_bytes(text)
    completed = verdikt("init", "--host", "claude", "--yes")
    wired = json.loads(file.read_bytes())

    assert completed.returncode == 0, completed.stderr
    assert set(dict(json_settings.find_hook_commands(wired))) == set(HOSTS["claude"].wired_events)
    verdikt("uninstall", "--yes")
    assert file.read_bytes() == text
