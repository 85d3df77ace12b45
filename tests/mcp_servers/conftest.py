"""Servers are installed when they are first needed; if that fails, the test fails and says why."""

import subprocess
from pathlib import Path

import pytest

from tests.clients.install import ClientMissing
from tests.mcp_servers.install import install_servers


@pytest.fixture(scope="session")
def servers() -> Path:
    """Return where the servers are installed."""
    try:
        return install_servers()
    except ClientMissing as missing:
        pytest.fail(str(missing), pytrace=False)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a repository with one commit and one file."""
    project = tmp_path / "project"
    project.mkdir()
    (tmp_path / "home").mkdir()
    (project / "a.txt").write_text("hello\n")
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    for words in (["init", "-q"], ["add", "."], [*identity, "commit", "-q", "-m", "first"]):
        subprocess.run(["git", "-C", str(project), *words], check=True)
    return project
