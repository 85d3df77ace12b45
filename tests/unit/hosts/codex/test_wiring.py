"""Managed settings, of Codex above all: added to what is there, and undone byte for byte."""

import json
import tomllib
from pathlib import Path

import pytest

from verdikt.errors import WiringError
from verdikt.hosts.registry import HOSTS
from verdikt.hosts.wiring import json_settings
from verdikt.hosts.wiring.inspection import find_wired_files
from verdikt.hosts.wiring.installation import Installation
from verdikt.hosts.wiring.plan import apply_plan, apply_unwiring, plan_unwiring, plan_wiring

OTHER_SETTINGS = """\
# the machine's own
allowed_sandbox_modes = ["read-only", "workspace-write"]

[features]
web_search = false # no

[hooks]
managed_dir = "/opt/hooks"

[[hooks.PreToolUse]]
matcher = "Bash"

[[hooks.PreToolUse.hooks]]
type = "command"
command = "/opt/hooks/theirs"
"""


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    """Return an installation with a system directory of its own."""
    (tmp_path / "etc").mkdir()
    (tmp_path / "project").mkdir()
    return Installation(
        project=str(tmp_path / "project"),
        data_directory=str(tmp_path / "data"),
        env={"HOME": str(tmp_path / "home")},
        system_directory=str(tmp_path / "etc"),
    )


def install(installation: Installation, *hosts: str) -> None:
    """Wire these hosts as `verdikt init --scope managed` does."""
    apply_plan(installation, plan_wiring(installation, hosts, profile="standard", scope="managed", trust=False))


def get_requirements(installation: Installation) -> Path:
    """Return Codex's file for the whole machine."""
    return Path(installation.system_directory) / "codex/requirements.toml"


@pytest.mark.parametrize("host", [name for name, host in HOSTS.items() if "managed" in host.scopes])
def test_managed_wiring_of_every_host_is_found_and_undone_completely(installation: Installation, host: str) -> None:
    """Nothing is written outside the system's directory, and nothing remains."""
    install(installation, host)
    [wired] = [file for file in find_wired_files(installation) if file.scope == "managed"]

    assert wired.host == host
    assert wired.missing_events == ()
    assert wired.is_trusted
    assert str(Path(installation.system_directory) / "verdikt/hooks") in wired.before_command
    assert not Path(installation.project, ".codex").exists()
    assert plan_wiring(installation, [host], profile="standard", scope="managed", trust=False) == []
    apply_unwiring(installation, plan_unwiring(installation, everything=True))
    assert list(Path(installation.system_directory).rglob("*")) == []


def test_managed_wiring_of_codex_keeps_the_settings_of_others_and_pins_features(installation: Installation) -> None:
    """Comments and the hooks of others stay; the features that hooks depend on are fixed."""
    path = get_requirements(installation)
    path.parent.mkdir()
    path.write_text(OTHER_SETTINGS)
    install(installation, "codex")
    tables = tomllib.loads(path.read_text())

    assert path.read_text().startswith(OTHER_SETTINGS.partition("[features]")[0])
    assert tables["features"] == {"web_search": False, "hooks": True, "unified_exec_tty": False}
    assert tables["hooks"]["managed_dir"] == "/opt/hooks"
    assert tables["hooks"]["PreToolUse"][0]["hooks"][0]["command"] == "/opt/hooks/theirs"
    assert {event for event, _ in json_settings.find_hook_commands(tables)} == set(HOSTS["codex"].wired_events)
    assert tables["hooks"]["PreToolUse"][1]["hooks"][0]["timeout"] == 60
    apply_unwiring(installation, plan_unwiring(installation, everything=True))
    assert path.read_text() == OTHER_SETTINGS


def test_unwiring_requirements_that_were_changed_since_removes_only_our_hooks(installation: Installation) -> None:
    """Tables and hooks of others stay."""
    path = get_requirements(installation)
    path.parent.mkdir()
    path.write_text(OTHER_SETTINGS)
    install(installation, "codex")
    path.write_text(path.read_text() + '\n[mcp_servers]\nx = "y"\n')
    apply_unwiring(installation, plan_unwiring(installation, everything=True))
    tables = tomllib.loads(path.read_text())

    assert list(json_settings.find_hook_commands(tables)) == []
    assert tables["mcp_servers"] == {"x": "y"}
    assert len(tables["hooks"]["PreToolUse"]) == 1


def test_wiring_again_replaces_the_hooks_of_an_earlier_version(installation: Installation) -> None:
    """There is one set of hooks, whatever the command line was before."""
    install(installation, "codex")
    path = get_requirements(installation)
    path.write_text(path.read_text().replace(" 50 closed ", " 49 closed "))
    install(installation, "codex")

    assert " 19 closed " not in path.read_text()
    assert len(tomllib.loads(path.read_text())["hooks"]["PreToolUse"]) == 1


@pytest.mark.parametrize("text", ["[hooks\n", '[hooks]\nPreToolUse = "x"\n'])
def test_a_file_that_cannot_be_read_is_not_touched(installation: Installation, text: str) -> None:
    """The error names the file and says what to do."""
    path = get_requirements(installation)
    path.parent.mkdir()
    path.write_text(text)

    with pytest.raises(WiringError, match=r"requirements\.toml: expected .*fix the file"):
        install(installation, "codex")
    assert path.read_text() == text


def test_managed_wiring_writes_the_policy_of_the_machine(installation: Installation) -> None:
    """It lies in the directory where the policy of a machine is looked for."""
    install(installation, "claude")

    assert "profile: standard" in Path(installation.system_directory, "verdikt/governance.yaml").read_text()
    assert json.loads(Path(installation.system_directory, "claude-code/managed-settings.json").read_text())["hooks"]
