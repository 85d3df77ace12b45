"""Installs real MCP servers and the MCP SDK into a cache: `python -m tests.mcp_servers.install`."""

import fcntl
import shutil
import subprocess
import sys
from pathlib import Path

from tests.clients.install import ClientMissing, get_cache_directory

PYTHON_PACKAGES = (
    "mcp==2.3.0",
    "fastmcp==4.1.2",
    "mcp-server-git==2026.10.19",
    "mcp-server-time==2026.10.19",
    "mcp-server-fetch==2026.10.24",
)
NPM_PACKAGES = (
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
    "@modelcontextprotocol/server-memory@2026.8.31",
    # Only their lists of tools are looked at.
    "@modelcontextprotocol/server-github@2025.4.8",
    "@modelcontextprotocol/server-postgres@0.6.2",
    "@modelcontextprotocol/server-slack@2025.4.25",
    "@playwright/mcp@0.0.83",
    "mcp-server-kubernetes@4.1.7",
)
"""They are installed here and never redistributed."""


def install_servers() -> Path:
    """Return the directory with `env/bin` and `node_modules/.bin`, and install into it first if that is necessary."""
    directory = get_cache_directory() / "mcp-servers-2"
    if (directory / "done").exists():
        return directory
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two test workers may want them
        if not (directory / "done").exists():
            _run([sys.executable, "-m", "venv", "env"], directory)
            _run(["env/bin/pip", "install", "-q", *PYTHON_PACKAGES], directory)
            if shutil.which("npm") is None:
                raise ClientMissing("npm is not installed, so the servers cannot be: install Node.js 20 or newer")
            (directory / "package.json").write_text('{"private": true}\n')
            _run(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", *NPM_PACKAGES], directory)
            (directory / "done").touch()
    return directory


def _run(command: list[str], directory: Path) -> None:
    completed = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=900, check=False)
    if completed.returncode:
        last_lines = "\n".join(completed.stderr.splitlines()[-5:])
        raise ClientMissing(f"`{' '.join(command[:3])}` failed; is the package index reachable?\n{last_lines}")


if __name__ == "__main__":
    print(install_servers())
