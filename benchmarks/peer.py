"""Other guards, installed into a cache of their own to be measured beside ours: `python benchmarks/peer.py`.

How each is called as a hook of Claude Code is what its own `--help` and its own installer say; nothing else of them is read.
"""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

CACHE = Path(os.environ.get("VERDIKT_PEERS") or Path(__file__).parent.parent / ".cache" / "peers")


@dataclass(frozen=True)
class Peer:
    """One guard: its name with its version, and its hook's command line; `why` when it could not be installed."""

    name: str
    command: tuple[str, ...] = ()
    why: str = ""


def nah() -> Peer:
    """From PyPI, in a virtual environment; `nah install claude` registers `nah _claude-hook`."""
    directory = CACHE / "nah"
    program = directory / "bin" / "nah"
    if not program.exists():
        why = _run([sys.executable, "-m", "venv", str(directory)]) or _run(
            [str(directory / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check", "nah"]
        )
        if why or not program.exists():
            return Peer("nah", why=why or "it has no program of that name")
    version = subprocess.run([str(program), "--version"], capture_output=True, text=True, check=False).stdout.split()
    return Peer(f"nah {version[-1] if version else ''}".strip(), (str(program), "_claude-hook"))


def cc_safety_net() -> Peer:
    """From npm; `cc-safety-net hook --help` names the flag for Claude Code."""
    directory = CACHE / "cc-safety-net"
    program = directory / "node_modules" / ".bin" / "cc-safety-net"
    if not program.exists():
        npm = shutil.which("npm")
        if npm is None:
            return Peer("cc-safety-net", why="npm is not installed")
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "package.json").write_text('{"private": true}\n')
        install = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(directory)]
        why = _run([*install, "cc-safety-net"])
        if why or not program.exists():
            return Peer("cc-safety-net", why=why or "it has no program of that name")
    version = subprocess.run([str(program), "--version"], capture_output=True, text=True, check=False).stdout.split()
    return Peer(f"cc-safety-net {version[-1] if version else ''}".strip(), (str(program), "hook", "--coding-cli"))


def peers() -> list[Peer]:
    """Each of them, installed now if it was not before."""
    return [nah(), cc_safety_net()]


def _run(command: list[str]) -> str:
    """Why it failed; empty when it did not."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return (" ".join(done.stderr.split())[:300] or "it failed") if done.returncode else ""


if __name__ == "__main__":
    for peer in peers():
        print(f"{peer.name}: {peer.why or ' '.join(peer.command)}")
