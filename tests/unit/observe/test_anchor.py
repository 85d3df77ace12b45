"""Which policy files are in force when a host says where its session was started."""

from pathlib import Path

import pytest

from verdikt.observe.policy_files import list_project_policies


@pytest.mark.parametrize("variable", ["CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR"])
def test_a_repository_of_its_own_does_not_get_an_agent_out(tmp_path: Path, variable: str) -> None:
    """The policy of the project stays the highest, whatever lies between."""
    project = tmp_path / "project"
    inner = project / "a" / "b"
    (inner / ".git").mkdir(parents=True)
    env = {"HOME": str(tmp_path / "home"), variable: str(project)}

    found = list_project_policies(str(inner), env)
    assert found[0] == str(project / "governance.yaml") or not (project / "governance.yaml").exists()
    (project / "governance.yaml").write_text("profile: strict\n")
    assert list_project_policies(str(inner), env) == [
        str(project / "governance.yaml"),
        str(project / "a/governance.yaml"),
        str(inner / "governance.yaml"),
    ]
    assert list_project_policies(str(tmp_path), env) == [str(project / "governance.yaml")]
    assert list_project_policies("/", env) == [str(project / "governance.yaml")]


def test_a_host_that_names_a_place_that_is_not_there_changes_nothing(tmp_path: Path) -> None:
    """The variable is a hint, not a switch."""
    (tmp_path / "governance.yaml").write_text("")
    env = {"HOME": str(tmp_path / "home"), "CLAUDE_PROJECT_DIR": str(tmp_path / "gone")}

    assert list_project_policies(str(tmp_path), env) == [str(tmp_path / "governance.yaml")]
