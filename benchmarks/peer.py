"""Other guards, installed into a cache of their own to be measured beside ours: `python benchmarks/peer.py`.

They are called as their own `--help` and their own installers register them for Claude Code.
"""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

CACHE = Path(os.environ.get("VERDIKT_PEERS") or Path(__file__).parent.parent / ".cache" / "peers")

INSTALL_TIMEOUT_SECONDS = 300


@dataclass(frozen=True)
class Peer:
    """One guard: its name with its version and the command of its hook; `error` when it could not be installed."""

    name: str
    argv: tuple[str, ...] = ()
    error: str = ""


def install_nah() -> Peer:
    """Install nah from PyPI into a virtual environment; `nah install claude` registers `nah _claude-hook`."""
    directory = CACHE / "nah"
    program = directory / "bin" / "nah"
    if not program.exists():
        pip_install = [str(directory / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check", "nah"]
        error = _run([sys.executable, "-m", "venv", str(directory)]) or _run(pip_install)
        if error or not program.exists():
            return Peer("nah", error=error or "it has no program of that name")
    return Peer(f"nah {_read_version(program)}".strip(), (str(program), "_claude-hook"))


def install_cc_safety_net() -> Peer:
    """Install cc-safety-net from npm; `cc-safety-net hook --help` names the flag for Claude Code."""
    directory = CACHE / "cc-safety-net"
    program = directory / "node_modules" / ".bin" / "cc-safety-net"
    if not program.exists():
        npm = shutil.which("npm")
        if npm is None:
            return Peer("cc-safety-net", error="npm is not installed")
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "package.json").write_text('{"private": true}\n')
        npm_install = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(directory)]
        error = _run([*npm_install, "cc-safety-net"])
        if error or not program.exists():
            return Peer("cc-safety-net", error=error or "it has no program of that name")
    return Peer(f"cc-safety-net {_read_version(program)}".strip(), (str(program), "hook", "--coding-cli"))


def install_peers() -> list[Peer]:
    """Return every guard, installed now if it was not before."""
    return [install_nah(), install_cc_safety_net()]


def _read_version(program: Path) -> str:
    output = subprocess.run([str(program), "--version"], capture_output=True, text=True, check=False).stdout
    return output.split()[-1] if output.split() else ""


def _run(command: list[str]) -> str:
    """Run a command and return its error; empty when it worked."""
    try:
        completed_process = subprocess.run(
            command, capture_output=True, text=True, timeout=INSTALL_TIMEOUT_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if completed_process.returncode == 0:
        return ""
    return " ".join(completed_process.stderr.split())[:300] or "it failed"


if __name__ == "__main__":
    for peer in install_peers():
        print(f"{peer.name}: {peer.error or ' '.join(peer.argv)}")
