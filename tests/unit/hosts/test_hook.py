"""The hook starts with as little as it can, and what starts later is the same."""

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


def test_a_guard_in_the_policy_is_still_asked_what_it_takes(tmp_path: Path) -> None:
    """A setting that a guard does not have is a fault of the policy in the hook as everywhere else."""
    (tmp_path / "governance.yaml").write_text(GUARD)

    done = fire((sys.executable, "-m", "verdikt", "hook", "claude"), "ls", tmp_path)

    assert "nonsense" in done.stdout


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

HEAVY = "cel_expr_python click cryptography jsonschema re2 rich sqlglot tree_sitter yaml verdikt.cli"


def test_a_hook_whose_policy_was_read_before_loads_nothing_heavy(tmp_path: Path) -> None:
    """No YAML, no command line, no `inspect`, and of verdikt only what this call needs."""
    (tmp_path / "governance.yaml").write_text("profile: standard\nposture: autonomous\n")
    for command, said in (("ls -la src", "{}"), ("ls -la src", "{}"), ("rm -rf /", "block"), ("ls -la src", "{}")):
        done = fire((sys.executable, "-c", LOADED), command, tmp_path)
        assert said in done.stdout, done

    loaded = json.loads(done.stderr)
    assert "verdikt.govern" in loaded
    assert sorted(set(HEAVY.split()) & set(loaded)) == []


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
def test_no_moment_parses_a_policy_that_was_read_before(tmp_path: Path, policy: str) -> None:
    """Whatever the policy says: sections and guards are made from what was kept of its files."""
    (tmp_path / "governance.yaml").write_text(policy)
    for _ in range(2):  # the first makes the data directory, the second keeps the policy there
        assert "expected" not in fire((sys.executable, "-c", LOADED), "ls", tmp_path).stdout

    loaded = {
        moment: json.loads(fire((sys.executable, "-c", LOADED), "ls", tmp_path, moment).stderr.rpartition("\n")[2])
        for moment in ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop")
    }

    assert [moment for moment, names in loaded.items() if "yaml" in names] == []
    assert all("verdikt.govern" in names for names in loaded.values())
