"""Installation of the package, with the native client if there is a C compiler and without it otherwise."""

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


def run_pip(*arguments: str, **env: str) -> "subprocess.CompletedProcess[str]":
    """Run pip without a network; the build requirements are installed already."""
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
    completed = subprocess.run(command, env={**os.environ, **env}, capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stderr
    return completed


def install_package(tmp_path: Path, **env: str) -> tuple[str, Path]:
    """Return the name of the wheel, and the path of the installed `verdikt-hook`."""
    source = tmp_path / "source"
    source.mkdir()
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "docs", source / "docs")
    shutil.copytree(ROOT / "src/verdikt", source / "src/verdikt", ignore=shutil.ignore_patterns("__pycache__"))
    run_pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path), str(source), **env)
    (wheel,) = tmp_path.glob("*.whl")
    run_pip(
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


def run_hook(command: Path, *arguments: str, payload: bytes) -> tuple[int, dict[str, str]]:
    """Return the status and the document of a call."""
    env = {"HOME": str(command.parent), "PATH": os.environ["PATH"], "VERDIKT_DAEMON": "off"}
    completed = subprocess.run([str(command), *arguments], input=payload, capture_output=True, env=env, check=False)
    return completed.returncode, json.loads(completed.stdout)


def test_installing_with_a_compiler_installs_the_native_client(tmp_path: Path) -> None:
    """The name of the wheel says for which platform it is."""
    wheel, command = install_package(tmp_path)

    assert "-py3-none-" in wheel
    assert not wheel.endswith("any.whl")
    assert command.read_bytes()[:4] in (b"\x7fELF", b"\xcf\xfa\xed\xfe")
    assert os.access(command, os.X_OK)
    assert run_hook(command, "5", "closed", "/bin/cat", payload=b"{}")[0] == 2, (
        "the script that runs it is not beside it"
    )
    shutil.copy(native.GUARD, command.parent)
    assert run_hook(command, "5", "closed", "/bin/cat", payload=b"{}") == (0, {})


def test_installed_package_has_the_documentation(tmp_path: Path) -> None:
    """Who installed a wheel reads the same pages as who has the repository."""
    install_package(tmp_path)
    [packages] = (tmp_path / "there/lib").glob("python*/site-packages")
    manual = packages / "verdikt/manual"

    assert (manual / "now-what.md").read_bytes() == (ROOT / "docs/now-what.md").read_bytes()
    assert (manual / "hosts/claude.md").is_file()
    # The pages of `verdikt serve` too, with what they depend on where it was fetched.
    static = ROOT / "src/verdikt/web/static"
    installed = {path.relative_to(packages / "verdikt/web/static") for path in packages.glob("verdikt/web/static/**/*")}
    assert installed == {path.relative_to(static) for path in static.glob("**/*")}
    env = os.environ | {"PYTHONPATH": str(packages)}
    command = [sys.executable, "-m", "verdikt", "docs", "now-what"]
    shown = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert shown.startswith("# It was blocked. Now what?")


@pytest.mark.parametrize("way", range(len(build.LINK_VARIANTS.get(sys.platform, ()))))
def test_every_link_variant_builds_a_working_client(tmp_path: Path, way: int) -> None:
    """The compiler prints no warning."""
    target = tmp_path / "verdikt-hook"

    assert build.run_compiler(target, "test", [*build.HARDENING_FLAGS, *build.LINK_VARIANTS[sys.platform][way]]) == ""
    shutil.copy(native.GUARD, tmp_path)
    assert run_hook(target, "20", "closed", "/bin/cat", payload=b"{}") == (0, {})
    assert run_hook(target, "20", "closed", "/bin/false", payload=b"{}")[0] == 2


@pytest.mark.parametrize("missing", ["CC", "PATH"])
def test_installing_without_a_compiler_installs_the_script(tmp_path: Path, missing: str) -> None:
    """It takes the same command line: as a wrapper, by hand, and with a socket at which nothing listens."""
    wheel, command = install_package(tmp_path, **{missing: "/nonexistent"})

    assert wheel.endswith("-py3-none-any.whl")
    assert run_hook(command, "5", "closed", "/bin/cat", payload=b"{}") == (0, {})
    assert run_hook(command, "5", "closed", "/bin/false", payload=b"{}")[0] == 2
    assert run_hook(command, payload=b"{}")[0] == 2
    by_hand = json.dumps({"tool_name": "Bash", "tool_input": {"command": "rm -rf /"}, "cwd": "/tmp"}).encode()
    code, document = run_hook(command, "claude", "PreToolUse", payload=by_hand)
    assert (code, document["decision"]) == (2, "block")
    wrapped = ["5", "closed", sys.executable, "-I", "-m", "verdikt.hosts.hook", "codex", "PreToolUse"]
    for arguments in (wrapped, ["codex", "PreToolUse"]):
        code, document = run_hook(command, "--socket", "/nowhere/x.sock", *arguments, payload=by_hand)
        assert (code, document["decision"]) == (2, "block")
        assert "the warm process at `/nowhere/x.sock` cannot be asked" in document["reason"]
