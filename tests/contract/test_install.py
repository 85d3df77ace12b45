"""The package is installed with the native client where there is a C compiler, and works without it elsewhere."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients.install import ROOT
from tests.contract import native
from verdikt.daemon.native import build


def pip(*arguments: str, **env: str) -> "subprocess.CompletedProcess[str]":
    """pip, without a network: what builds the package is installed already."""
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, env={**os.environ, **env}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done


def installed(tmp_path: Path, **env: str) -> tuple[str, Path]:
    """Return the name of the wheel that is built, and what it installs as `verdikt-hook`."""
    source = tmp_path / "source"
    source.mkdir()
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "src/verdikt", source / "src/verdikt", ignore=shutil.ignore_patterns("__pycache__"))
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path), str(source), **env)
    (wheel,) = tmp_path.glob("*.whl")
    pip(
        "install",
        "--no-deps",
        "--no-index",
        "--no-compile",
        "--ignore-installed",
        "--prefix",
        str(tmp_path / "there"),
        str(wheel),
    )
    return wheel.name, tmp_path / "there/bin/verdikt-hook"


def answer(command: Path, *words: str, payload: bytes) -> tuple[int, dict[str, str]]:
    """Return the exit status and the document that the command prints."""
    env = {"HOME": str(command.parent), "PATH": os.environ["PATH"], "VERDIKT_DAEMON": "off"}
    done = subprocess.run([str(command), *words], input=payload, capture_output=True, env=env, check=False)
    return done.returncode, json.loads(done.stdout)


def test_with_a_compiler_the_program_is_installed(tmp_path: Path) -> None:
    """And the wheel says for which platform it is."""
    wheel, command = installed(tmp_path)

    assert "-py3-none-" in wheel
    assert not wheel.endswith("any.whl")
    assert command.read_bytes()[:4] in (b"\x7fELF", b"\xcf\xfa\xed\xfe")
    assert os.access(command, os.X_OK)
    assert answer(command, "5", "closed", "/bin/cat", payload=b"{}")[0] == 2, "the script that runs it is not beside it"
    shutil.copy(native.GUARD, command.parent)
    assert answer(command, "5", "closed", "/bin/cat", payload=b"{}") == (0, {})


@pytest.mark.parametrize("way", range(len(build.LINK_VARIANTS.get(sys.platform, ()))))
def test_every_way_of_linking_gives_a_client(tmp_path: Path, way: int) -> None:
    """Whichever this system has what it needs for, without a warning."""
    target = tmp_path / "verdikt-hook"

    assert build.run_compiler(target, "test", [*build.HARDENING_FLAGS, *build.LINK_VARIANTS[sys.platform][way]]) == ""
    shutil.copy(native.GUARD, tmp_path)
    assert answer(target, "20", "closed", "/bin/cat", payload=b"{}") == (0, {})
    assert answer(target, "20", "closed", "/bin/false", payload=b"{}")[0] == 2


@pytest.mark.parametrize("missing", ["CC", "PATH"])
def test_without_a_compiler_the_script_is_installed(tmp_path: Path, missing: str) -> None:
    """With the same command line: as the wrapper, by hand, and with a socket at which nobody is."""
    wheel, command = installed(tmp_path, **{missing: "/nonexistent"})

    assert wheel.endswith("-py3-none-any.whl")
    assert answer(command, "5", "closed", "/bin/cat", payload=b"{}") == (0, {})
    assert answer(command, "5", "closed", "/bin/false", payload=b"{}")[0] == 2
    assert answer(command, payload=b"{}")[0] == 2
    by_hand = json.dumps({"tool_name": "Bash", "tool_input": {"command": "rm -rf /"}, "cwd": "/tmp"}).encode()
    code, said = answer(command, "codex", "PreToolUse", payload=by_hand)
    assert (code, said["decision"]) == (2, "block")
    wrapped = ["5", "closed", sys.executable, "-I", "-m", "verdikt.hosts.hook", "codex", "PreToolUse"]
    for words in (wrapped, ["codex", "PreToolUse"]):
        code, said = answer(command, "--socket", "/nowhere/x.sock", *words, payload=by_hand)
        assert (code, said["decision"]) == (2, "block")
        assert "the warm process at `/nowhere/x.sock` cannot be asked" in said["reason"]
