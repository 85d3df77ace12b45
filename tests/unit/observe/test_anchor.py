"""Policy files in force when a host says where its session was started."""

from pathlib import Path

import pytest

from verdikt.observe.policy_files import list_project_policies


@pytest.mark.parametrize("variable", ["CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR"])
def test_project_policy_stays_highest_in_a_nested_repository(tmp_path: Path, variable: str) -> None:
    """A repository that the agent makes does not escape the project's policy."""
    project = tmp_path / "project"
    inner = project / "a" / "b"
    (inner / ".git").mkdir(parents=True)
    env = {"HOME": str(tmp_path / "home"), variable: str(project)}

    layers = list_project_policies(str(inner), env)
    assert layers[0] == str(project / "governance.yaml") or not (project / "governance.yaml").exists()
    (project / "governance.yaml").write_text("profile: strict\n")
    assert list_project_policies(str(inner), env) == [
        str(project / "governance.yaml"),
        str(project / "a/governance.yaml"),
        str(inner / "governance.yaml"),
    ]
    assert list_project_policies(str(tmp_path), env) == [str(project / "governance.yaml")]
    assert list_project_policies("/", env) == [str(project / "governance.yaml")]


def test_missing_host_project_is_ignored(tmp_path: Path) -> None:
    """A host's variable that names no directory changes nothing."""
    (tmp_path / "governance.yaml").write_text("")
    env = {"HOME": str(tmp_path / "home"), "CLAUDE_PROJECT_DIR": str(tmp_path / "gone")}

    assert list_project_policies(str(tmp_path), env) == [str(tmp_path / "governance.yaml")]
