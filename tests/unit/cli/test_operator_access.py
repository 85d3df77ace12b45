"""What only a person may do: one check for every command, and a list of what an agent may run."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tests.unit.cli.conftest import Verdikt
from verdikt.cli import COMMANDS, root
from verdikt.knowledge import find_record
from verdikt.model.finding import Level, build_finding

OPERATOR_COMMANDS = [
    ("pause", "10m", "--reason", "x"),
    ("pause", "--end"),
    ("grant", "add", "--guard", "g", "--target", "/x", "--session", "*", "--reason", "x"),
    ("grant", "revoke", "9f3c01aa"),
    ("keys", "init"),
    ("keys", "rotate"),
    ("uninstall", "--yes"),
    ("findings", "clear", "--plan-hash", "p", "--id", "x", "--by", "ada", "--why", "x"),
    ("daemon", "stop"),
    ("council", "purge"),
    ("git", "uninstall"),
    ("ledger", "reindex"),
]


@pytest.fixture
def agent(project: Path) -> Verdikt:
    """Return a function that runs the command line below an agent's process, with nothing of it in the environment."""
    program = project.parent / "claude"
    program.symlink_to(shutil.which("sh") or "/bin/sh")
    subprocess.run(["git", "init", "-q", project], check=True)

    def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
        home = project.parent / "home"
        clean = ["env", "-i", f"HOME={home}", "PATH=/usr/bin:/bin", "VERDIKT_DAEMON=off"]
        # `; true` keeps the shell from replacing itself by the command; the status goes through a file descriptor.
        script = '"$@"; status=$?; exit "$status"'
        command = [program, "-c", script, "claude", *clean, "setsid", "-w", sys.executable, "-m", "verdikt", *arguments]
        return subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)

    return run


@pytest.mark.parametrize("arguments", OPERATOR_COMMANDS, ids=" ".join)
def test_operators_command_below_an_agents_process_is_refused(agent: Verdikt, arguments: tuple[str, ...]) -> None:
    """A cleared environment and a session of its own hide no agent that is among the ancestors."""
    refused = agent(*arguments)

    assert refused.returncode == 1, refused
    assert "is for operators: this runs inside Claude Code; use a terminal of your own" in refused.stderr


@pytest.mark.parametrize("arguments", OPERATOR_COMMANDS, ids=" ".join)
def test_operators_command_elsewhere_is_not_called_an_agents(
    verdikt: Verdikt, project: Path, arguments: tuple[str, ...]
) -> None:
    """Whatever else such a command needs, it does not fail for being run inside an agent."""
    subprocess.run(["git", "init", "-q", project], check=True)

    assert "is for operators" not in verdikt(*arguments).stderr


def test_lowering_a_finding_needs_the_right_to_clear_it(agent: Verdikt, verdikt: Verdikt, project: Path) -> None:
    """An agent may add to a finding and make it worse, and only a person may make it milder."""
    record = ("findings", "record", "--plan-hash", "p", "--title", "t")
    assert agent(*record, "--level", "MEDIUM").returncode == 0
    assert agent(*record, "--level", "HIGH").returncode == 0

    refused = agent(*record, "--level", "LOW")
    by_id = agent(*record, "--level", "LOW", "--id", build_finding(level="HIGH", title="t").id)
    scan = project / "scan.json"
    scan.write_text('[{"level": "LOW", "title": "t"}]')
    imported = agent("findings", "import", "--plan-hash", "p", str(scan))

    for completed in (refused, by_id, imported):
        assert completed.returncode != 0
        assert "from HIGH to LOW is for operators: this runs inside Claude Code" in completed.stderr
    assert '"level": "HIGH"' in verdikt("findings", "show", "--plan-hash", "p", "--json").stdout
    assert verdikt(*record, "--level", "LOW").returncode == 0
    assert Level.LOW.name in verdikt("findings", "show", "--plan-hash", "p").stdout


OUTPUTS = [
    ("policy", "test", "{project}/x.cases.yaml", "--junit", "{target}"),
    ("findings", "export", "--plan-hash", "p", "-o", "{target}"),
    ("ledger", "export", "-o", "{target}"),
    ("ledger", "checkpoint", "--export", "{target}"),
]


@pytest.mark.parametrize("arguments", OUTPUTS, ids=lambda words: " ".join(words[:2]))
@pytest.mark.parametrize(
    "target", ["governance.yaml", ".claude/settings.json", "link", "../home/.local/share/verdikt/x"]
)
def test_output_over_a_guarded_path_is_refused(
    verdikt: Verdikt, project: Path, arguments: tuple[str, ...], target: str
) -> None:
    """A report never replaces the policy, the wiring or the data, for a person neither."""
    prepare_project(verdikt, project)
    (project / "link").symlink_to(project / "governance.yaml")
    before = (project / "governance.yaml").read_bytes()
    refused = verdikt(*(word.format(project=project, target=project / target) for word in arguments))

    assert refused.returncode != 0
    assert "is one of verdikt's guarded files" in refused.stderr
    assert (project / "governance.yaml").read_bytes() == before


@pytest.mark.parametrize("arguments", OUTPUTS, ids=lambda words: " ".join(words[:2]))
def test_output_to_another_path_is_written(verdikt: Verdikt, project: Path, arguments: tuple[str, ...]) -> None:
    """A report goes where it is wanted."""
    prepare_project(verdikt, project)
    written = verdikt(*(word.format(project=project, target=project / "report") for word in arguments))

    assert written.returncode == 0, written
    assert (project / "report").exists()


def prepare_project(verdikt: Verdikt, project: Path) -> None:
    """Create a policy with a case, and a finding in the log."""
    (project / "governance.yaml").write_text("profile: standard\n")
    (project / "x.cases.yaml").write_text("- {name: a, run: ls, verdict: pass}\n")
    assert verdikt("findings", "record", "--plan-hash", "p", "--level", "LOW", "--title", "t").returncode == 0


def iter_subcommands(group: click.Command, name: str = "") -> Iterator[str]:
    """Yield the full name of every subcommand."""
    if not isinstance(group, click.Group):
        yield name
        return
    context = click.Context(group)
    for inner in group.list_commands(context):
        command = group.get_command(context, inner)
        assert command is not None
        yield from iter_subcommands(command, f"{name} {inner}".strip())


def test_every_listed_subcommand_exists() -> None:
    """A word in the list that no command has would be a hole for a command of that name."""
    existing = set(iter_subcommands(root)) | set(COMMANDS)
    record = find_record("verdikt")
    assert record is not None

    assert set(record["commands"]) - existing == set()


def test_agent_in_its_environment_is_refused_without_looking_at_processes(verdikt: Verdikt, project: Path) -> None:
    """The check of the environment stays."""
    assert "this runs inside Codex" in verdikt("keys", "rotate", CODEX_SANDBOX="1").stderr
    assert os.listdir(project) == []
