"""Installs the real clients, at pinned versions, from npm into a cache: `python -m tests.clients.install`."""

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent

PACKAGES: dict[str, tuple[str, str]] = {
    "claude-2.1.325": ("@anthropic-ai/claude-code@2.1.325", "@anthropic-ai/claude-code-linux-x64/claude"),
    "claude-2.1.197": ("@anthropic-ai/claude-code@2.1.197", "@anthropic-ai/claude-code-linux-x64/claude"),
    "codex-0.166.0": ("@openai/codex@0.166.0", "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex"),
    "gemini-0.61.0": ("@google/gemini-cli@0.61.0", "@google/gemini-cli/bundle/gemini.js"),
    "copilot-1.0.102": ("@github/copilot@1.0.102", "@github/copilot-linux-x64/copilot"),
    "opencode-1.18.33": ("opencode-ai@1.18.33", "opencode-linux-x64/bin/opencode"),
}
"""Client → its package, and its executable in `node_modules`. They are installed here and never redistributed."""


class ClientMissing(Exception):
    """A client that could not be installed; the message says what to do."""


def get_cache_directory() -> Path:
    """Return where the clients are kept between runs."""
    if "VERDIKT_CLIENTS" in os.environ:
        return Path(os.environ["VERDIKT_CLIENTS"])
    if "XDG_CACHE_HOME" in os.environ:
        return Path(os.environ["XDG_CACHE_HOME"]) / "verdikt" / "clients"
    return ROOT / ".cache" / "clients"


def install_client(name: str) -> Path:
    """Return the client's executable, and install it first if that is necessary."""
    package, executable = PACKAGES[name]
    directory = get_cache_directory() / name
    binary = directory / "node_modules" / executable
    if binary.exists():
        return binary
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two test workers may want the same client
        if not binary.exists():
            _run_npm(package, directory)
    if not binary.exists():
        raise ClientMissing(f"{package} has no `{executable}`: the tests know its layout on Linux x64 only")
    return binary


def _run_npm(package: str, directory: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise ClientMissing(f"npm is not installed, so {package} cannot be: install Node.js 20 or newer")
    (directory / "package.json").write_text('{"private": true}\n')
    command = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", package]
    completed = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=600, check=False)
    if completed.returncode:
        last_lines = "\n".join(completed.stderr.splitlines()[-5:])
        raise ClientMissing(f"npm could not install {package}; is the registry reachable?\n{last_lines}")


if __name__ == "__main__":
    for client in PACKAGES:
        try:
            print(install_client(client))
        except ClientMissing as missing:
            sys.exit(str(missing))
