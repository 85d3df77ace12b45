"""The GitHub Action: its own shell steps, run as a runner runs them, in a repository with a branch to check."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.contract.package_repository import run_git
from tests.wheelhouse import ROOT

SCANNER = """\
import json, sys
files = [name for name in sys.argv[1:] if "SECRET" in open(name).read()]
print(json.dumps([{"level": "HIGH", "title": "a secret", "evidence": [f"{name}:1:x"]} for name in files]))
"""
POLICY = """\
profile: standard
councils:
  ship-it:
    guardrail: true
    trigger: [pre-commit, pre-push]
    reviewers:
      scanner: {command: "python3 scan.py {files}", files: "*.txt"}
"""
EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")


class Runner:
    """As much of a runner as the action needs: inputs, expressions, outputs and bash steps."""

    def __init__(self, action: dict[str, Any], workspace: Path, temporary: Path, values: dict[str, str]) -> None:
        self.steps = action["runs"]["steps"]
        self.workspace, self.temporary = workspace, temporary
        defaults = {f"inputs.{name}": str(field.get("default", "")) for name, field in action["inputs"].items()}
        self.values = defaults | values
        temporary.mkdir()

    def evaluate(self, text: str) -> str:
        """Return a text with its expressions replaced; `||` takes the first that is not empty."""
        return EXPRESSION.sub(
            lambda match: next((v for name in match[1].split(" || ") if (v := self.values.get(name, ""))), ""), text
        )

    def run_steps(self, env: dict[str, str]) -> "subprocess.CompletedProcess[str]":
        """Run the steps that are shell, up to the first that fails, and return the last."""
        output = self.temporary / "output"
        for step in self.steps:
            if "run" not in step:
                continue
            assert step["shell"] == "bash"
            output.write_text("")
            step_env = {name: self.evaluate(value) for name, value in step.get("env", {}).items()}
            script = self.temporary / "step.sh"
            script.write_text(step["run"])
            completed = subprocess.run(
                ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
                cwd=self.workspace,
                env={**env, "RUNNER_TEMP": str(self.temporary), "GITHUB_OUTPUT": str(output), **step_env},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
                timeout=300,
            )
            for line in output.read_text().splitlines():
                name, _, value = line.partition("=")
                self.values[f"steps.{step['id']}.outputs.{name}"] = value
            if completed.returncode:
                break
        return completed


def commit(project: Path, files: dict[str, str], message: str) -> str:
    """Commit these files and return the commit."""
    for name, text in files.items():
        (project / name).write_text(text)
    run_git(project, "add", "-A")
    run_git(project, "commit", "-qm", message)
    return run_git(project, "rev-parse", "HEAD").strip()


BRANCHES = {
    "clean": ({"a.txt": "fine\n"}, 0),
    "finding": ({"a.txt": "SECRET\n"}, 2),
    "finding, with the council taken out": ({"a.txt": "SECRET\n", "governance.yaml": "profile: standard\n"}, 2),
}


def test_action_stops_a_branch_with_findings_and_writes_them_as_sarif(
    hook_repository: tuple[Path, str, Path], tmp_path: Path
) -> None:
    """A branch cannot loosen the policy by which it is checked, and the upload gets one SARIF file for each review."""
    repository, _, wheels = hook_repository
    env = {
        "HOME": str(tmp_path),
        "PATH": f"{os.path.dirname(sys.executable)}:/usr/bin:/bin",
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(wheels),
        "LANG": "C.UTF-8",
    }
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    for number, (name, (files, status)) in enumerate(BRANCHES.items()):
        project = tmp_path / f"project{number}"
        project.mkdir()
        run_git(project, "init", "-q")
        base = commit(project, {"governance.yaml": POLICY, "scan.py": SCANNER, "b.txt": "x\n"}, "base")
        commit(project, files, "branch")
        values = {"github.action_path": str(repository), "github.event.pull_request.base.sha": base}
        runner = Runner(action, project, tmp_path / f"temporary{number}", values)
        if number:
            # Installing again takes long and proves nothing new.
            shutil.copytree(tmp_path / "temporary0/verdikt", runner.temporary / "verdikt", symlinks=True)
            runner.steps = [step for step in runner.steps if step.get("id") != "install"]
        completed = runner.run_steps(env)

        assert completed.returncode == status, (name, completed.stdout, completed.stderr)
        directory = project / runner.values["steps.check.outputs.sarif"]
        runs = [json.loads(path.read_text())["runs"][0] for path in directory.glob("*.sarif")]
        assert len(runs) == int(runner.values["steps.check.outputs.reviews"]) > 0, name
        titles = [result["message"]["text"] for run in runs for result in run["results"]]
        assert any("a secret" in title for title in titles) == bool(status), name
        assert (project / "governance.yaml").read_text() == files.get("governance.yaml", POLICY)


def test_action_uploads_what_it_wrote() -> None:
    """The upload runs also when the check has failed, and only with findings to upload."""
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    [upload] = [step for step in action["runs"]["steps"] if "uses" in step]

    assert upload["uses"].startswith("github/codeql-action/upload-sarif@")
    assert "always()" in upload["if"]
    assert upload["with"]["sarif_file"] == "${{ steps.check.outputs.sarif }}"


@pytest.mark.parametrize("name", ["action.yml", ".pre-commit-hooks.yaml"])
def test_manifests_are_in_the_source_distribution(name: str) -> None:
    """MANIFEST.in names them."""
    assert name in (ROOT / "MANIFEST.in").read_text()
