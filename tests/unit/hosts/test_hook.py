"""What the hook process imports, and what it caches of a policy."""

import json
import sys
from pathlib import Path

import pytest

from tests.contract.hook import fire

GUARD = """
rules:
- {name: none, command: nothing, verdict: block, reason: r, fix: f}
guards:
- file_boundary: {nonsense: 1}
"""


def test_a_policy_with_an_unknown_setting_of_a_guard_is_refused_by_the_hook(tmp_path: Path) -> None:
    """The hook checks the settings of guards as every other command does."""
    (tmp_path / "governance.yaml").write_text(GUARD)

    completed = fire((sys.executable, "-m", "verdikt", "hook", "claude"), "ls", tmp_path)

    assert "nonsense" in completed.stdout
    assert "ask the person to fix the policy file; `verdikt policy lint` shows every fault" in completed.stderr


LOADED = """
import json, os, sys
def leave(code):
    sys.stderr.write(json.dumps(sorted(name for name, module in sys.modules.items() if module)))
    sys.stderr.flush()
    end(code)
end, os._exit = os._exit, leave
from verdikt.__main__ import main
sys.argv = ["verdikt", "hook", "claude"]
main()
"""

HEAVY = "cel_expr_python click cryptography jsonschema re2 rich sqlglot tomllib tree_sitter yaml verdikt.cli"
COMPILERS = "verdikt.knowledge.compiler verdikt.knowledge.lint"


def test_a_hook_with_a_cached_policy_imports_no_heavy_package(tmp_path: Path) -> None:
    """It needs neither YAML nor TOML nor the command line: the records of programs are compiled."""
    (tmp_path / "governance.yaml").write_text("profile: standard\nposture: autonomous\n")
    for command, expected in (("ls -la src", "{}"), ("ls -la src", "{}"), ("rm -rf /", "block"), ("ls -la src", "{}")):
        completed = fire((sys.executable, "-c", LOADED), command, tmp_path)
        assert expected in completed.stdout, completed

    loaded = json.loads(completed.stderr)
    assert "verdikt.govern" in loaded
    assert "verdikt.knowledge._compiled" in loaded
    assert sorted({*HEAVY.split(), *COMPILERS.split()} & set(loaded)) == []


MUCH = """
profile: standard
tool_policies: [read_before_write]
feedback: [{static: short, every_n_calls: 1}]
completion: {checks: [findings: HIGH], deadline_seconds: 3600}
evidence: {mode: enforce}
councils: {ship: {trigger: pre-commit, reviewers: {ruff: {command: [ruff, check]}}}}
manifest: {deploy: {effects: [network]}}
"""

GRAPH = """
profile: standard
all:
- budget: {max_tasks: 100}
- when: {if: risk > 0.9, then: intent}
"""


@pytest.mark.parametrize("policy", [MUCH, GRAPH])
def test_no_event_parses_a_cached_policy_again(tmp_path: Path, policy: str) -> None:
    """Sections and guards are built from the cache, whatever the policy contains."""
    (tmp_path / "governance.yaml").write_text(policy)
    for _ in range(2):  # the first creates the data directory, the second caches the policy there
        assert "expected" not in fire((sys.executable, "-c", LOADED), "ls", tmp_path).stdout

    loaded = {
        event: json.loads(fire((sys.executable, "-c", LOADED), "ls", tmp_path, event).stderr.rpartition("\n")[2])
        for event in ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop")
    }

    assert [event for event, names in loaded.items() if "yaml" in names] == []
    assert all("verdikt.govern" in names for names in loaded.values())
