"""The registry and the descriptions of all hosts."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import verdikt
from tests.clients.table import WHEN_STOPPED
from verdikt.daemon import hook_service, http_listener, protocol
from verdikt.effects.target import abbreviate_home, is_guard_path
from verdikt.hosts.hook_event import HookEventKind
from verdikt.hosts.host import Host
from verdikt.hosts.live.canary import Canary
from verdikt.hosts.registry import HOST_PACKAGES, HOSTS, WIRABLE_HOSTS, load_adapter, load_wiring
from verdikt.hosts.wiring.installation import Installation
from verdikt.model.action import ActionKind
from verdikt.model.session_state import CANARY_SESSION
from verdikt.model.tool_kind import classify_tool
from verdikt.observe.agent_environment import detect_agent
from verdikt.observe.guarded_paths import list_guarded_paths

ROOT = Path(__file__).parents[3]
ECHO = ROOT / "tests" / "hosts" / "echo"
PAYLOADS = ROOT / "tests" / "contract" / "payloads"


@pytest.mark.parametrize("name", HOSTS)
def test_every_host_is_registered_under_its_own_name_with_page_and_payloads(name: str) -> None:
    """The documentation and the recorded payloads lie where the description says."""
    host = HOSTS[name]

    assert host.name == name
    assert (ROOT / "docs" / f"{host.docs_page}.md").is_file()
    assert host.payload_directories
    assert all(any((PAYLOADS / directory).iterdir()) for directory in host.payload_directories)
    assert set(host.wired_events) <= set(host.events)
    assert set(host.blocks_on_failure) <= set(host.wired_events)
    assert host.asks
    assert host.blocks


@pytest.mark.parametrize("name", HOSTS)
def test_the_canary_of_every_host_is_decoded_as_a_shell_command(name: str) -> None:
    """The canary payload has the form that the host's own adapter reads."""
    canary = Canary(data_directory="/data")
    event = HOSTS[name].find_event(HookEventKind.BEFORE)
    hook_event = load_adapter(name).decode(canary.build_payload(HOSTS[name], event, "/project"), event)

    assert hook_event.kind is HookEventKind.BEFORE
    assert hook_event.action is not None
    assert (hook_event.action.kind, hook_event.action.command) == (ActionKind.BASH, canary.command)
    assert (hook_event.session_id, hook_event.cwd, hook_event.host) == (CANARY_SESSION, "/project", name)


def test_no_two_hosts_disagree_about_the_kind_of_a_tool() -> None:
    """Tools are classified by name alone, so one name must mean the same on every host that has it."""
    kinds: dict[str, set[str]] = {}
    for host in HOSTS.values():
        for kind, tools in host.tools.items():
            for tool in tools:
                kinds.setdefault(tool, set()).add(kind)

    assert [tool for tool in kinds if len(kinds[tool]) > 1] == []
    assert all(classify_tool(tool) is not ActionKind.OTHER for tool in kinds)


def test_every_variable_of_a_description_is_passed_to_the_warm_process() -> None:
    """These lists are written out, because the native client and the protocol import nothing."""
    for host in HOSTS.values():
        assert set(host.decision_variables) <= set(protocol.SENT_VARIABLES)
        assert set(host.attendance_variables) <= hook_service.NON_PATH_VARIABLES
        hook_variables = {host.project_variable, *host.attendance_variables} - {""}
        assert hook_variables <= set(http_listener.FORWARDED_VARIABLES)


def find_unguarded_files(host: Host, planned_files: list[str], environment: SimpleNamespace) -> list[str]:
    """Return the files that a host wires, executes or takes permissions from and that are not guarded."""
    declared = [
        host.resolve_file(file, project=environment.project, home=environment.home, env=environment.env)
        for file in (*host.settings_files.values(), *host.guarded_files)
    ]
    guarded = environment.guarded_paths
    return [
        file
        for file in (*planned_files, *declared)
        if not any(file.rstrip("/") == path or file.startswith(f"{path}/") for path in guarded)
        or not is_guard_path(abbreviate_home(f"{file}x" if file.endswith("/") else file, environment.home))
    ]


@pytest.fixture
def environment(tmp_path: Path) -> SimpleNamespace:
    """Return a project and a home directory with the guarded paths for them."""
    project, home = str(tmp_path / "project"), "/home/dev"
    env = {"HOME": home, "PATH": ""}
    return SimpleNamespace(project=project, home=home, env=env, guarded_paths=list_guarded_paths(project, env))


def plan_files(name: str, environment: SimpleNamespace) -> list[str]:
    """Return every file of a host that `verdikt init` would write, in all scopes."""
    installation = Installation(project=environment.project, data_directory="/data", env=environment.env)
    return [
        change.path
        for scope in HOSTS[name].scopes
        for change in load_wiring(name).plan_changes(installation, scope, trust=True)
    ]


@pytest.mark.parametrize("name", HOSTS)
def test_every_file_that_a_host_wires_executes_or_takes_permissions_from_is_guarded(
    name: str, environment: SimpleNamespace
) -> None:
    """Both as a path of this machine and as a zone, which holds in every project and home directory."""
    planned_files = plan_files(name, environment) if name in WIRABLE_HOSTS else []

    assert find_unguarded_files(HOSTS[name], planned_files, environment) == []
    assert bool(planned_files) == (name in WIRABLE_HOSTS)


def test_a_host_whose_file_is_left_out_fails_the_guarded_files_test(environment: SimpleNamespace) -> None:
    """The test above can fail: for a file that is wired but not declared, and for one that is declared too late."""
    host = HOSTS["gemini"]._replace(guarded_files=(*HOSTS["gemini"].guarded_files, "~/.gemini/new.json"))

    assert find_unguarded_files(host, [], environment) == ["/home/dev/.gemini/new.json"]
    undeclared = f"{environment.project}/.gemini/undeclared.json"
    assert find_unguarded_files(HOSTS["gemini"], [undeclared], environment) == [undeclared]


def test_a_moved_config_directory_is_guarded_in_both_places() -> None:
    """A session that is started without the variable still reads the usual files."""
    paths = list_guarded_paths("/p", {"HOME": "/h", "CLAUDE_CONFIG_DIR": "/moved"})

    assert {"/moved/settings.json", "/h/.claude/settings.json", "/moved/hooks", "/h/.claude/hooks"} <= set(paths)


@pytest.fixture(scope="module")
def run_with_echo(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """Return a way to run Python with a verdikt to which one folder and one line of the registry were added."""
    root = tmp_path_factory.mktemp("echo")
    package = root / "source" / "verdikt"
    shutil.copytree(Path(verdikt.__file__).parent, package)
    shutil.copytree(ECHO, package / "hosts" / "echo", ignore=shutil.ignore_patterns("__pycache__"))
    registry = package / "hosts" / "registry.py"
    last_line = '    "generic": "verdikt.hosts.generic",\n'
    text = registry.read_text()
    assert last_line in text
    registry.write_text(text.replace(last_line, f'    "echo": "verdikt.hosts.echo",\n{last_line}'))
    # A virtual environment, because hooks run with `-I`, which ignores PYTHONPATH.
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(root / "venv")], check=True)
    python = root / "venv" / "bin" / "python"
    site = Path(sysconfig.get_path("purelib", vars={"base": str(root / "venv"), "platbase": str(root / "venv")}))
    (site / "verdikt.pth").write_text(f"{root / 'source'}\n{sysconfig.get_path('purelib')}\n")

    def run(*arguments: str, project: Path, stdin: str = "", **env: str) -> "subprocess.CompletedProcess[str]":
        clean = {"HOME": str(project.parent), "PATH": "/usr/bin:/bin", "VERDIKT_DAEMON": "off"}
        command = [str(python), *arguments]
        return subprocess.run(
            command, cwd=project, env=clean | env, input=stdin, capture_output=True, text=True, check=False
        )

    return run


def test_a_host_that_is_one_folder_and_one_line_is_wired_tried_governed_and_guarded(
    run_with_echo: Callable[..., "subprocess.CompletedProcess[str]"], tmp_path: Path
) -> None:
    """A new host goes through init, the doctor's canary, decode, before, encode and the guarded files."""
    project = tmp_path / "project"
    (project / ".echo").mkdir(parents=True)

    init = run_with_echo("-m", "verdikt", "init", "--yes", project=project)
    assert init.returncode == 0, init.stderr
    assert init.stdout.startswith("found here: echo;")
    hooks = json.loads((project / ".echo/hooks.json").read_text())["hooks"]
    assert set(hooks) == {"beforeCall", "afterCall"}

    doctor = run_with_echo("-m", "verdikt", "doctor", "--json", "--calls", "1", project=project)
    report = json.loads(doctor.stdout)
    assert [(host["host"], host["firing"]["blocked"]) for host in report["hosts"]] == [("echo", True)]
    assert doctor.returncode == 0, doctor.stdout

    def fire(command: str) -> dict[str, Any]:
        arguments = {"command": command}
        payload = {
            "event": "beforeCall",
            "session": "s",
            "cwd": str(project),
            "tool": "echo_shell",
            "arguments": arguments,
        }
        line = hooks["beforeCall"][0]["command"]
        completed = run_with_echo(
            "-c", f"import os; os.execv('/bin/sh', ['sh', '-c', {line!r}])", project=project, stdin=json.dumps(payload)
        )
        document: dict[str, Any] = json.loads(completed.stdout)
        return document

    assert fire("ls") == {}
    # Both files of the host are guarded: the one that was wired, and the one that it takes permissions from.
    for file in (".echo/hooks.json", ".echo/permissions.json"):
        assert fire(f"echo x > {file}")["decision"] == "block"

    agent = run_with_echo("-m", "verdikt", "uninstall", "--yes", project=project, ECHO_AGENT="1")
    assert "this runs inside Echo" in agent.stderr
    assert run_with_echo("-m", "verdikt", "uninstall", "--yes", project=project).returncode == 0
    assert not (project / ".echo/hooks.json").exists()


def test_the_guide_shows_the_files_of_the_test_host() -> None:
    """docs/adding-a-host.md explains the host that the test above adds."""
    guide = (ROOT / "docs" / "adding-a-host.md").read_text()

    for file in ("__init__.py", "adapter.py", "wiring.py"):
        assert (ECHO / file).read_text() in guide, file


def test_detect_agent_knows_the_variables_of_every_host() -> None:
    """An agent must not be able to switch verdikt off, whichever host runs it."""
    for host in HOSTS.values():
        for variable in host.agent_variables:
            assert detect_agent({variable: "1"}) == host.title


def test_every_package_holds_the_same_few_modules() -> None:
    """A reader of one host finds the same names in the next."""
    for name, package in HOST_PACKAGES.items():
        directory = Path(verdikt.__file__).parent / package.removeprefix("verdikt.").replace(".", os.sep)
        assert (directory / "adapter.py").is_file()
        assert (directory / "wiring.py").is_file() == (name in WIRABLE_HOSTS)


def test_stopped_hook_table_matches_the_hosts() -> None:
    """The threat model says of every wirable host what it does when the wrapper answers nothing."""
    page = (ROOT / "docs/threat-model.md").read_text()
    table = page.partition("### A hook that is stopped")[2].partition("\n\n|")[2].partition("\n\n")[0]
    rows = dict(line.strip("| ").split(" | ", 1) for line in table.splitlines()[2:])

    assert set(rows) == {HOSTS[name].title for name in WIRABLE_HOSTS}
    for version, behaviour in WHEN_STOPPED.items():
        # Of two versions of one client, the row begins with what the newer does.
        row = rows[HOSTS[version.partition("-")[0]].title]
        assert behaviour in row, version
