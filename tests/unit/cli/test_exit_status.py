"""The table of exit statuses, checked by running the commands."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from verdikt.cli import root
from verdikt.cli.exit_status import STATUSES
from verdikt.observe.agent_environment import AGENT_VARIABLES

BROKEN = "rules: 7\n"
FORCE = "rules:\n  - {name: f, command: git push --force, verdict: block, reason: no, fix: no}\n"
TWICE = FORCE + FORCE.removeprefix("rules:\n").replace("name: f", "name: g")
FAILING = "- {name: a push, run: git status, verdict: block}\n"
CALL = json.dumps({"tool_name": "Bash", "session_id": "s", "tool_input": {"command": "rm -rf /"}})
READ = json.dumps({"tool_name": "Bash", "session_id": "s", "tool_input": {"command": "ls"}})

CASES: dict[tuple[str, int], tuple[str, dict[str, str], str]] = {
    ("every command", 0): ("policy show", {}, ""),
    ("every command", 1): ("grant list --home none", {}, ""),
    ("every command", 2): ("ledger verify --nonsense", {}, ""),
    ("every command that reads a policy", 65): ("policy show", {"governance.yaml": BROKEN}, ""),
    ("`check`", 0): ("check ls", {}, ""),
    ("`check`", 1): ("check --tool Bash -- rm -rf /usr", {}, ""),
    ("`check`", 2): ("check --tool Weird", {}, ""),
    ("`check`", 64): ("check", {}, "{"),
    ("`check`", 65): ("check ls", {"governance.yaml": BROKEN}, ""),
    ("`replay`", 1): ("replay --session none", {}, ""),
    ("`replay`", 64): ("replay --nonsense", {}, ""),
    ("`replay`", 65): ("replay --policy new.yaml", {"new.yaml": BROKEN}, ""),
    ("`posture`", 64): ("posture set upright", {}, ""),
    ("`manifest validate`", 1): ("manifest validate m.json", {"m.json": "{"}, ""),
    ("`manifest classify`", 1): ("manifest classify t -m m.json", {"m.json": '{"tools": {}}'}, ""),
    ("`knowledge lint`", 1): ("knowledge lint records", {"records/x.toml": "nonsense = 1\n"}, ""),
    ("`knowledge show`", 1): ("knowledge show no-such-program", {}, ""),
    ("`policy lint`", 1): ("policy lint", {"governance.yaml": TWICE}, ""),
    ("`policy test`", 1): ("policy test", {"governance.yaml": FORCE, "a.cases.yaml": FAILING}, ""),
    ("`policy test`", 65): ("policy test", {"governance.yaml": FORCE, "a.cases.yaml": "- {nonsense: 1}\n"}, ""),
    ("`policy pending`", 1): ("policy pending", {"governance.yaml": FORCE}, ""),
    ("`policy accept`", 1): ("policy accept", {"governance.yaml": FORCE}, ""),
    ("`ledger verify`", 1): ("ledger verify --home log", {"log/ledger/s.jsonl": "{}\n"}, ""),
    ("`ledger verify`", 3): ("ledger verify --home none", {}, ""),
    ("`daemon status`", 3): ("daemon status", {}, ""),
    ("`evidence claims --batch`", 65): ("evidence claims --batch", {}, "{\n"),
    ("`findings show`, `explain`, `clear`, `export`, `gate`", 1): ("findings show --plan-hash abc123", {}, ""),
    ("`findings`", 2): ("findings record --plan-hash ../x --level HIGH --title t", {}, ""),
    ("`findings gate`", 2): ("findings gate", {}, ""),
    ("`council run`, `git check`", 2): ("git check", {"governance.yaml": BROKEN}, ""),
    ("`stop-check check`", 2): ("stop-check check", {"governance.yaml": "completion: {checks: [{files: a}]}\n"}, ""),
    ("`git status`", 1): ("git status", {}, ""),
    ("`doctor`", 1): ("doctor", {}, ""),
    ("`hook claude`", 0): ("hook claude PreToolUse", {}, READ),
    ("`hook claude`", 2): ("hook claude PreToolUse", {}, CALL),
}  # fmt: skip


def test_every_row_of_the_table_has_a_case() -> None:
    """The cases and the rows of the table are the same, in the same order."""
    assert list(CASES) == [(command, status) for command, status, _ in STATUSES]


@pytest.mark.parametrize(("row", "status"), CASES)
def test_command_ends_with_documented_status(
    row: str, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each command ends with the status that the table documents."""
    words, files, stdin = CASES[row, status]
    project = tmp_path / "project"
    project.mkdir()
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    for name, text in files.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    monkeypatch.chdir(project)
    for name in ("HOME", "VERDIKT_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "VERDIKT_RUNS_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    for marks in AGENT_VARIABLES.values():
        for mark in marks:
            monkeypatch.delenv(mark, raising=False)
    if words.startswith("hook"):  # it leaves the process
        command = [sys.executable, "-m", "verdikt", *words.split()]
        code = subprocess.run(command, input=stdin.encode(), capture_output=True, check=False).returncode
    else:
        code = CliRunner().invoke(root, words.split(), input=stdin).exit_code

    assert code == status
