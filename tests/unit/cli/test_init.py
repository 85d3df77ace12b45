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
from verdikt.hosts.wiring.registration import HOOK_MODULE, Registration

JSON_HOSTS = ("claude", "codex", "gemini", "copilot", "cursor")
"""The hosts whose hooks are entries in a JSON file."""


def snapshot(*roots: Path) -> dict[str, tuple[int, bytes]]:
    """Every file below, with mode and bytes; every directory."""
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


def write(path: Path, text: str, mode: int = 0o640) -> None:
    """A file of somebody else."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def test_every_host_is_wired_and_comes_back_byte_for_byte(project: Path, verdikt: Verdikt) -> None:
    """With settings of other people's there, in their own formatting."""
    write(project / ".claude/settings.json", json.dumps(FOREIGN, indent=7) + "\n\n")
    write(project / ".gemini/settings.json", '{"theme":   "dark"}')
    write(project / ".codex/config.toml", '# mine\nmodel = "x"\n[features]\nfoo = true # why\n')
    before = snapshot(project, project.parent / "home")

    done = verdikt("init", "--host", "all", "--yes")
    assert done.returncode == 0, done.stderr
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


def test_an_empty_project_is_empty_again(project: Path, verdikt: Verdikt) -> None:
    """The directories go too, those that held two files of ours included; what somebody took away already is no trouble."""
    verdikt("init", "--host", "all", "--yes")
    (project / ".gemini/settings.json").unlink()

    undone = verdikt("uninstall", "--yes")

    assert undone.returncode == 0, undone.stderr
    assert f"keep {project}/.gemini/settings.json  (gone already)" in undone.stdout
    assert snapshot(project) == {}


def test_what_is_registered_is_absolute_explicit_and_closed(project: Path, verdikt: Verdikt) -> None:
    """Absolute paths, every tool, a timeout in the client's unit, a block when the wrapper is gone."""
    verdikt("init", "--host", "claude", "--host", "gemini", "--host", "codex", "--yes")
    claude = json.loads((project / ".claude/settings.json").read_text())["hooks"]
    gemini = json.loads((project / ".gemini/settings.json").read_text())["hooks"]
    codex = json.loads((project / ".codex/hooks.json").read_text())

    before = claude["PreToolUse"][0]["hooks"][0]
    hooks = project.parent / "home/.local/share/verdikt/hooks"
    guard = str(hooks / next(iter(wrapper.load_wrappers())))
    assert {path.name: path.read_bytes() for path in hooks.iterdir()} == wrapper.load_wrappers()
    assert before["command"] == (
        f"{guard} 20 closed {sys.executable} -I -m {HOOK_MODULE} claude PreToolUse"
        " || { [ $? = 2 ] || echo 'verdikt: blocked' >&2; exit 2; }"
    )
    assert (before["timeout"], before["onFailure"]) == (30, "block")
    assert claude["ConfigChange"][0]["hooks"][0]["onFailure"] == "block"
    assert "onFailure" not in claude["PostToolUse"][0]["hooks"][0]
    assert gemini["BeforeTool"][0]["hooks"][0]["timeout"] == 30_000
    assert all(group["matcher"] == "*" for groups in claude.values() for group in groups)
    assert set(codex) == {"hooks"}
    assert set(codex["hooks"]["PreToolUse"][0]["hooks"][0]) == {"type", "command", "timeout"}
    assert os.access(guard, os.X_OK)


def test_the_registered_command_blocks_even_without_its_wrapper(project: Path, verdikt: Verdikt) -> None:
    """Whoever deletes the wrapper has not switched anything off."""
    verdikt("init", "--host", "claude", "--yes")
    hooks = json.loads((project / ".claude/settings.json").read_text())["hooks"]
    for installed in (project.parent / "home/.local/share/verdikt/hooks").iterdir():
        installed.unlink()
    command = hooks["PreToolUse"][0]["hooks"][0]["command"]
    for shell in ("sh", "bash"):
        said = subprocess.run([shell, "-c", command], input="{}", capture_output=True, text=True, check=False)
        assert said.returncode == 2
        assert "verdikt: blocked" in said.stderr


def test_a_dry_run_changes_nothing_and_shows_everything(project: Path, verdikt: Verdikt) -> None:
    """Down to the lines."""
    write(project / ".gemini/settings.json", '{\n  "theme": "dark"\n}\n')
    before = snapshot(project, project.parent / "home")
    done = verdikt("init", "--dry-run", "--host", "gemini")

    assert done.returncode == 0
    assert "change .gemini/settings.json" in done.stdout
    assert '"BeforeTool"' in done.stdout
    assert snapshot(project, project.parent / "home") == before


def test_without_anybody_to_confirm_nothing_is_changed(project: Path, verdikt: Verdikt) -> None:
    """`--yes` says it; a pipe does not."""
    done = verdikt("init", "--host", "claude")

    assert done.returncode == 2
    assert "--yes" in done.stderr
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
def test_a_file_that_cannot_be_read_is_not_touched(project: Path, verdikt: Verdikt, text: str, fault: str) -> None:
    """Nor is any other file then."""
    write(project / ".claude/settings.json", text)
    before = snapshot(project, project.parent / "home")
    done = verdikt("init", "--host", "claude", "--yes")

    assert done.returncode == 1
    assert fault in done.stderr
    assert ".claude/settings.json" in done.stderr
    assert snapshot(project, project.parent / "home") == before


def test_what_is_found_is_wired(project: Path, verdikt: Verdikt) -> None:
    """By what the project holds, or by what is installed."""
    nothing = verdikt("init", "--yes")
    assert nothing.returncode == 2
    assert "found no client" in nothing.stderr

    (project / ".cursor").mkdir()
    binary = project.parent / "bin" / "gemini"
    write(binary, "#!/bin/sh\n", 0o755)
    done = verdikt("init", "--yes", "--json", PATH=f"{binary.parent}:/usr/bin:/bin")

    assert {change["host"] for change in json.loads(done.stdout)["changes"]} == {"", "cursor", "gemini"}


def test_a_policy_that_is_there_is_kept(project: Path, verdikt: Verdikt) -> None:
    """Whatever the profile on the command line."""
    write(project / "governance.yaml", "profile: strict\n")
    verdikt("init", "--host", "claude", "--profile", "relaxed", "--yes")
    assert (project / "governance.yaml").read_text() == "profile: strict\n"

    verdikt("uninstall", "--yes")
    assert (project / "governance.yaml").read_text() == "profile: strict\n"


def test_what_was_changed_since_is_kept(project: Path, verdikt: Verdikt) -> None:
    """Only our entries go; a policy that people have written stays."""
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


def test_an_upgrade_replaces_our_entries_and_keeps_the_first_original(project: Path, verdikt: Verdikt) -> None:
    """However often it is wired, it comes back as it was before the first time."""
    write(project / ".claude/settings.json", json.dumps(FOREIGN))
    before = snapshot(project)
    verdikt("init", "--host", "claude", "--yes")
    path = project / ".claude/settings.json"
    path.write_text(path.read_text().replace(" 20 closed ", " 15 closed "))
    again = verdikt("init", "--host", "claude", "--yes")
    commands = [command for _, command in json_settings.find_hook_commands(json.loads(path.read_text()))]

    assert again.returncode == 0, again.stderr
    assert len(commands) == len(HOSTS["claude"].wired_events)
    assert not any(" 15 closed " in command for command in commands)
    verdikt("uninstall", "--yes")
    assert snapshot(project) == before


def test_an_upgrade_to_the_native_client_replaces_what_named_the_script(project: Path, verdikt: Verdikt) -> None:
    """The script stays beside it and stays current, for projects that were not wired again."""
    verdikt("init", "--host", "claude", "--yes")
    hooks = project.parent / "home/.local/share/verdikt/hooks"
    path = project / ".claude/settings.json"
    names = list(wrapper.load_wrappers())
    path.write_text(path.read_text().replace(names[0], "guard.sh"))
    (hooks / names[0]).write_text("another version")
    (hooks / "guard.sh").write_text("another version")
    verdikt("init", "--host", "claude", "--yes")

    assert {name: (hooks / name).read_bytes() for name in names} == wrapper.load_wrappers()
    assert all(os.access(hooks / name, os.X_OK) for name in names)
    assert all(
        f"/{names[0]} 20 " in command for _, command in json_settings.find_hook_commands(json.loads(path.read_text()))
    )


def test_for_everybody_the_wrapper_lies_where_nobody_who_is_governed_can_change_it(project: Path) -> None:
    """Beside the managed policy; with a socket it is told to ask there and nowhere else."""
    env = {"HOME": str(project.parent / "home")}
    here = Installation(
        project=str(project),
        data_directory=str(project.parent / "data"),
        env=env,
        socket_path="/run/verdikt/daemon.sock",
    )
    changes = {
        change.path: change
        for change in plan_wiring(here, ["claude"], profile="standard", scope="managed", trust=False)
    }
    wired = json.loads(changes["/etc/claude-code/managed-settings.json"].after or b"")
    command = dict(json_settings.find_hook_commands(wired))["PreToolUse"]

    if wrapper.load_native_client():
        assert changes["/etc/verdikt/hooks/verdikt-hook"].after == wrapper.load_native_client()
        assert command.startswith("/etc/verdikt/hooks/verdikt-hook --socket /run/verdikt/daemon.sock 20 closed /")
    else:
        assert "launch.py --socket /run/verdikt/daemon.sock claude PreToolUse" in command
    assert command.endswith("|| { [ $? = 2 ] || echo 'verdikt: blocked' >&2; exit 2; }")


@pytest.mark.parametrize(
    "options", [["--socket", "/run/x.sock"], ["--socket", "x.sock", "--scope", "managed"]], ids=["project", "relative"]
)
def test_a_socket_is_for_everybody_and_absolute(project: Path, verdikt: Verdikt, options: list[str]) -> None:
    """Who is governed must not choose who decides."""
    done = verdikt("init", "--host", "claude", "--yes", *options)

    assert done.returncode == 2
    assert "--socket needs an absolute path and --scope managed" in done.stderr
    assert not list(project.iterdir())


def test_links_are_written_through(project: Path, verdikt: Verdikt) -> None:
    """Settings that live in a repository of dotfiles stay a link."""
    real = project.parent / "dotfiles" / "settings.json"
    write(real, "{}")
    (project / ".claude").mkdir()
    (project / ".claude/settings.json").symlink_to(real)
    verdikt("init", "--host", "claude", "--yes")
    assert (project / ".claude/settings.json").is_symlink()
    assert "verdikt" in real.read_text()

    verdikt("uninstall", "--yes")
    assert real.read_text() == "{}"


def test_codex_is_trusted_only_when_somebody_says_so(project: Path, verdikt: Verdikt) -> None:
    """Writing the hash is a person's consent."""
    config = project.parent / "home/.codex/config.toml"
    done = verdikt("init", "--host", "codex", "--yes")
    assert not config.exists()
    assert "--trust-codex" in done.stdout

    write(config, 'model = "m"\n\n[projects."/x"]\ntrust_level = "trusted"\n')
    verdikt("init", "--host", "codex", "--yes", "--trust-codex")
    hooks = project / ".codex/hooks.json"
    hashes = hook_approval.compute_hashes(json.loads(hooks.read_text()), str(hooks))
    assert len(hashes) == len(HOSTS["codex"].wired_events)
    assert hook_approval.is_approved(config.read_bytes(), hashes, "config.toml")
    assert tomllib.loads(config.read_text())["projects"][str(project)] == {"trust_level": "trusted"}

    verdikt("uninstall", "--yes")
    assert config.read_text() == 'model = "m"\n\n[projects."/x"]\ntrust_level = "trusted"\n'


def test_the_scope_of_a_user(project: Path, verdikt: Verdikt) -> None:
    """The user's own files, wherever the environment puts them."""
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
def test_an_agent_cannot_uninstall(project: Path, verdikt: Verdikt, mark: str) -> None:
    """Its environment gives it away."""
    verdikt("init", "--host", "claude", "--yes")
    before = snapshot(project)
    done = verdikt("uninstall", "--yes", **{mark: "1"})

    assert done.returncode == 1
    assert "agents cannot switch verdikt off" in done.stderr
    assert snapshot(project) == before


@pytest.mark.parametrize("command", ["init", "uninstall", "hook"])
def test_help_has_an_example(verdikt: Verdikt, command: str) -> None:
    """Somebody who has never seen it can copy a line."""
    assert "Example: verdikt" in verdikt(command, "--help").stdout


def test_one_project_leaves_the_policy_of_another_alone(project: Path, verdikt: Verdikt) -> None:
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


def test_the_warm_process_ends_with_the_last_hook_that_would_ask_it(project: Path, verdikt: Verdikt, run: Path) -> None:
    """Not before: another project may still be wired, and whoever switched on http hooks has wired them by hand."""
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
    done = verdikt("uninstall", "--json", "--project", str(other))
    assert json.loads(done.stdout)["ends"] == pid
    assert not find_daemon_pid(run)

    verdikt("init", "--host", "claude", "--yes")
    verdikt("daemon", "start", "--http")
    verdikt("uninstall", "--yes")
    assert find_daemon_pid(run)


def test_the_warm_process_stays_while_a_file_names_the_hook(project: Path, verdikt: Verdikt, run: Path) -> None:
    """One that was wired by hand, or that cannot be read."""
    verdikt("init", "--host", "claude", "--yes")
    verdikt("daemon", "start")
    write(project / ".gemini/settings.json", (project / ".claude/settings.json").read_text())
    verdikt("uninstall", "--yes")
    assert find_daemon_pid(run)

    write(project / ".gemini/settings.json", "{ verdikt-hook")
    verdikt("init", "--host", "claude", "--yes")
    done = verdikt("uninstall", "--yes")
    assert done.returncode == 0, done.stderr
    assert find_daemon_pid(run)


def test_what_two_projects_need_stays_until_all_is_taken_out(project: Path, verdikt: Verdikt) -> None:
    """Codex keeps its approvals in one file for every project."""
    other = project.parent / "other"
    other.mkdir()
    config = project.parent / "home/.codex/config.toml"
    verdikt("init", "--host", "codex", "--yes", "--trust-codex")
    verdikt("init", "--host", "codex", "--yes", "--trust-codex", "--project", str(other))
    verdikt("uninstall", "--yes")
    assert str(other) in config.read_text()

    verdikt("uninstall", "--yes", "--all")
    assert not config.exists()


def test_a_dry_run_says_what_was_found_and_that_nothing_was_changed(project: Path, verdikt: Verdikt) -> None:
    """And shows the files of the project, not the text of our own wrapper."""
    (project / ".claude").mkdir()
    done = verdikt("init", "--dry-run")

    assert done.stdout.startswith("found here: claude; `--host` names others")
    assert done.stdout.endswith("nothing was changed; run it without --dry-run to make these changes\n")
    assert "+profile: standard" in done.stdout
    assert "limit()" not in done.stdout
    assert not list((project / ".claude").iterdir())


def test_what_has_no_settings_of_that_scope_is_left_out_aloud(project: Path, verdikt: Verdikt) -> None:
    """Unless it was named, and then it is a fault."""
    done = verdikt("init", "--host", "all", "--scope", "managed", "--dry-run")
    named = verdikt("init", "--host", "copilot", "--scope", "managed", "--dry-run")

    assert done.returncode == 0, done.stderr
    assert "left out, because they have no managed settings: copilot, opencode" in done.stderr
    assert "/etc/codex/requirements.toml" in done.stdout
    assert named.returncode == 1
    assert "`copilot` has no managed settings that name hooks" in named.stderr


@pytest.mark.parametrize("locked", [".gemini", ".gemini/settings.json", "home"])
def test_when_one_file_cannot_be_written_none_is(project: Path, locked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is read-only is so for a reason, and half a wiring is none; nor is half of it taken out."""
    home = project.parent / "home"
    write(project / ".gemini/settings.json", "{}")
    here = Installation(project=str(project), data_directory=str(home / "data"), env={"HOME": str(home)})
    before = snapshot(project, home)
    closed = str(project / locked if locked != "home" else home)
    # Tests may run as root, to whom nothing is read-only.
    monkeypatch.setattr("os.access", lambda path, mode: str(path) != closed)
    changes = plan_wiring(here, ["claude", "gemini"], profile="standard", scope="project", trust=False)
    with pytest.raises(WiringError, match="is read-only; make it writable or choose another scope"):
        apply_plan(here, changes)
    assert snapshot(project, home) == before

    monkeypatch.undo()
    apply_plan(here, changes)
    wired = snapshot(project, home)
    monkeypatch.setattr("os.access", lambda path, mode: str(path) != closed)
    if locked != "home":
        with pytest.raises(WiringError, match="is read-only"):
            apply_unwiring(here, plan_unwiring(here))
        assert snapshot(project, home) == wired


@pytest.mark.parametrize("env", [{"VERDIKT_HOME": "data"}, {"HOME": "home"}, {"VERDIKT_HOME": "/tmp/caf\udce9"}])
def test_hosts_are_given_paths_that_they_can_call(project: Path, verdikt: Verdikt, env: dict[str, str]) -> None:
    """From wherever the agent has gone, and in a text file."""
    done = verdikt("init", "--host", "claude", "--yes", **env)

    assert done.returncode == 1
    assert "expected an absolute path in UTF-8 for hosts to call" in done.stderr
    assert not list(project.iterdir())


def test_an_entry_as_each_host_writes_it() -> None:
    """Every key, in each host's own units; where the agent is about to act, and where it is not."""
    registration = Registration(wrapper_path="/x/verdikt-hook", python=("/x/python", "-I"))

    def entry(host: str, event: str) -> Any:
        closed = HOSTS[host].events[event].fails_closed
        command = registration.build_command_line(host, event, fail_closed=closed)
        return json.loads(
            json.dumps(load_wiring(host).build_entries(registration)[event]).replace(json.dumps(command), '"C"')
        )

    hook = {"type": "command", "command": "C", "timeout": 30}
    named = {"name": "verdikt", "type": "command", "command": "C", "timeout": 30_000}
    assert entry("claude", "PreToolUse") == {"matcher": "*", "hooks": [hook | {"onFailure": "block"}]}
    assert entry("claude", "Stop") == {"matcher": "*", "hooks": [hook]}
    assert entry("codex", "PreToolUse") == {"matcher": "*", "hooks": [hook]}
    assert entry("gemini", "BeforeTool") == {"matcher": "*", "hooks": [named]}
    assert entry("copilot", "preToolUse") == {"type": "command", "bash": "C", "timeoutSec": 30}
    assert entry("cursor", "preToolUse") == {"command": "C", "timeout": 30, "failClosed": True}
    assert entry("cursor", "stop") == {"command": "C", "timeout": 30}
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
def test_a_host_is_found_by_what_it_leaves_in_a_project(project: Path, mark: str, host: str) -> None:
    """Or by its program; with neither, nothing is."""
    here = Installation(
        project=str(project), data_directory=str(project.parent / "data"), env={"PATH": str(project / "bin")}
    )
    assert detect_hosts(here) == []

    (project / mark).mkdir(parents=True)
    assert detect_hosts(here) == [host]


def test_the_environment_moves_settings(project: Path) -> None:
    """As each client reads it."""
    env = {"HOME": "/h", "CODEX_HOME": "/c", "CLAUDE_CONFIG_DIR": "/k", "XDG_CONFIG_HOME": "/x"}
    here = Installation(project=str(project), data_directory="/d", env=env)
    files = [here.get_settings_file(HOSTS[host], "user") for host in ("claude", "codex", "gemini", "copilot", "cursor")]
    policy = [change.path for change in plan_wiring(here, ["opencode"], profile="standard", scope="user", trust=False)]

    assert files == [
        "/k/settings.json",
        "/c/hooks.json",
        "/h/.gemini/settings.json",
        "/h/.copilot/hooks/verdikt.json",
        "/h/.cursor/hooks.json",
    ]
    assert policy[-2:] == ["/x/verdikt/governance.yaml", "/x/opencode/plugin/verdikt.js"]
    assert here.create_registration().python[1:] == ("-I",)


def test_what_is_as_it_was_is_not_written_again(project: Path, verdikt: Verdikt) -> None:
    """Somebody has put the old file back already."""
    file = project / ".claude/settings.json"
    write(file, "{}")
    verdikt("init", "--host", "claude", "--yes")
    file.write_text("{}")
    before = file.stat()
    done = verdikt("uninstall", "--yes")

    assert f"keep {file}" in done.stdout
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_part_of_a_repository_is_not_the_repository(project: Path, verdikt: Verdikt) -> None:
    """Sessions that start in the repository read nothing of what lies below."""
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    (project / "part").mkdir()
    note = f"this lies in `{project}`: sessions that start there are not governed; `--project` can name it"

    assert note in verdikt("init", "--host", "claude", "--yes", "--project", "part").stdout
    assert note not in verdikt("init", "--host", "claude", "--yes").stdout


@pytest.mark.parametrize(
    "text", [b'\xef\xbb\xbf{"a": 1}', b'{\r\n "a": 1\r\n}\r\n', b'{"a": "\\ud800"}', b"", b' {"a":1,"a":2}']
)
def test_odd_files_are_wired_and_come_back(project: Path, verdikt: Verdikt, text: bytes) -> None:
    """A mark at the beginning, lines of another system, half a character, nothing at all, a key twice."""
    file = project / ".claude/settings.json"
    file.parent.mkdir()
    file.write_bytes(text)
    done = verdikt("init", "--host", "claude", "--yes")
    wired = json.loads(file.read_bytes())

    assert done.returncode == 0, done.stderr
    assert set(dict(json_settings.find_hook_commands(wired))) == set(HOSTS["claude"].wired_events)
    verdikt("uninstall", "--yes")
    assert file.read_bytes() == text
