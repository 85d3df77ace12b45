"""Settings for everybody on a machine: what is written where, beside what is there, and taken back byte for byte."""

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

THEIRS = """\
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
def here(tmp_path: Path) -> Installation:
    """A machine of its own."""
    (tmp_path / "etc").mkdir()
    (tmp_path / "project").mkdir()
    return Installation(
        project=str(tmp_path / "project"),
        data_directory=str(tmp_path / "data"),
        env={"HOME": str(tmp_path / "home")},
        system_directory=str(tmp_path / "etc"),
    )


def install(here: Installation, *hosts: str) -> None:
    """What `init --scope managed` does."""
    apply_plan(here, plan_wiring(here, hosts, profile="standard", scope="managed", trust=False))


def requirements(here: Installation) -> Path:
    """Codex's file for everybody."""
    return Path(here.system_directory) / "codex/requirements.toml"


@pytest.mark.parametrize("host", [name for name, host in HOSTS.items() if "managed" in host.scopes])
def test_every_host_is_wired_for_everybody_and_taken_back(here: Installation, host: str) -> None:
    """Nothing outside the system's directory; the doctor finds it; nothing is left."""
    install(here, host)
    found = [each for each in find_wired_files(here) if each.scope == "managed"]

    assert [each.host for each in found] == [host]
    assert found[0].missing_events == ()
    assert found[0].is_trusted
    assert str(Path(here.system_directory) / "verdikt/hooks") in found[0].before_command
    assert not Path(here.project, ".codex").exists()
    assert plan_wiring(here, [host], profile="standard", scope="managed", trust=False) == []
    apply_unwiring(here, plan_unwiring(here, everything=True))
    assert list(Path(here.system_directory).rglob("*")) == []


def test_codex_gets_hooks_that_nobody_can_switch_off_beside_those_of_others(here: Installation) -> None:
    """What was there stays, comments included; features are pinned."""
    path = requirements(here)
    path.parent.mkdir()
    path.write_text(THEIRS)
    install(here, "codex")
    tables = tomllib.loads(path.read_text())

    assert path.read_text().startswith(THEIRS.partition("[features]")[0])
    assert tables["features"] == {"web_search": False, "hooks": True, "unified_exec_tty": False}
    assert tables["hooks"]["managed_dir"] == "/opt/hooks"
    assert tables["hooks"]["PreToolUse"][0]["hooks"][0]["command"] == "/opt/hooks/theirs"
    assert {event for event, _ in json_settings.find_hook_commands(tables)} == set(HOSTS["codex"].wired_events)
    assert tables["hooks"]["PreToolUse"][1]["hooks"][0]["timeout"] == 30
    apply_unwiring(here, plan_unwiring(here, everything=True))
    assert path.read_text() == THEIRS


def test_what_somebody_changed_since_is_kept(here: Installation) -> None:
    """Our hooks go, theirs stay."""
    path = requirements(here)
    path.parent.mkdir()
    path.write_text(THEIRS)
    install(here, "codex")
    path.write_text(path.read_text() + '\n[mcp_servers]\nx = "y"\n')
    apply_unwiring(here, plan_unwiring(here, everything=True))
    tables = tomllib.loads(path.read_text())

    assert list(json_settings.find_hook_commands(tables)) == []
    assert tables["mcp_servers"] == {"x": "y"}
    assert len(tables["hooks"]["PreToolUse"]) == 1


def test_a_new_version_takes_the_place_of_the_old(here: Installation) -> None:
    """One set of hooks, whatever the command line was before."""
    install(here, "codex")
    path = requirements(here)
    path.write_text(path.read_text().replace(" 20 closed ", " 19 closed "))
    install(here, "codex")

    assert " 19 closed " not in path.read_text()
    assert len(tomllib.loads(path.read_text())["hooks"]["PreToolUse"]) == 1


@pytest.mark.parametrize("text", ["[hooks\n", '[hooks]\nPreToolUse = "x"\n'])
def test_a_file_that_cannot_be_read_is_not_touched(here: Installation, text: str) -> None:
    """It says where, and what to do."""
    path = requirements(here)
    path.parent.mkdir()
    path.write_text(text)

    with pytest.raises(WiringError, match=r"requirements\.toml: expected .*fix the file"):
        install(here, "codex")
    assert path.read_text() == text


def test_the_policy_for_everybody_lies_beside_the_wrapper(here: Installation) -> None:
    """Where the policy of a machine is looked for."""
    install(here, "claude")

    assert "profile: standard" in Path(here.system_directory, "verdikt/governance.yaml").read_text()
    assert json.loads(Path(here.system_directory, "claude-code/managed-settings.json").read_text())["hooks"]
