"""Installs the SDKs, each at its floor and its newest version, into a cache: `python -m tests.sdks.environments`.

Each has an environment of its own, because their dependencies exclude each other (mcp 1.x and 2.x).
"""

import fcntl
import os
import subprocess
import sys
import tomllib
import venv
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent

PACKAGES: dict[str, dict[str, tuple[str, ...]]] = {
    "langchain": {
        "floor": ("langchain==1.3.0", "langgraph==1.2.0", "langgraph-checkpoint-sqlite"),
        "newest": ("langchain", "langgraph", "langgraph-checkpoint-sqlite"),
    },
    "openai_agents": {"floor": ("openai-agents==0.22.0",), "newest": ("openai-agents",)},
    "pydantic_ai": {"floor": ("pydantic-ai-slim==2.20.0",), "newest": ("pydantic-ai-slim",)},
    "claude_agent_sdk": {"floor": ("claude-agent-sdk==0.2.178",), "newest": ("claude-agent-sdk",)},
    "google_adk": {"floor": ("google-adk==2.11.0",), "newest": ("google-adk",)},
    "strands": {"floor": ("strands-agents==1.62.0",), "newest": ("strands-agents",)},
    "agent_framework": {
        "floor": ("agent-framework-core==1.20.0", "agent-framework-openai", "mcp<2", "tenacity"),
        "newest": ("agent-framework-core", "agent-framework-openai", "mcp", "tenacity"),
    },
    "crewai": {"floor": ("crewai==1.15.20",), "newest": ("crewai",)},
    "llama_index": {"floor": ("llama-index-core==0.14.25",), "newest": ("llama-index-core",)},
    "smolagents": {"floor": ("smolagents==1.26.0",), "newest": ("smolagents",)},
    "ag2": {"floor": ("ag2==1.2.1",), "newest": ("ag2",)},
}
"""SDK → version → what is installed. A floor is the version in the extra of pyproject.toml: an old one on which the
whole contract holds. Older ones lack what an adapter is built on, as Strands has its middleware only since 1.62."""

BENCHMARK_PACKAGES = {"agentdojo": {"pinned": ("agentdojo==0.1.35",)}}
"""What benchmarks run in an environment of their own; made when they are run."""

RECEIVERS: dict[str, dict[str, tuple[str, ...]]] = {"phoenix": {"newest": ("arize-phoenix>=20.26.1",)}}
"""Programs that telemetry is sent to; each runs by itself, without verdikt in its environment."""

ALWAYS = ("langchain", "openai_agents", "pydantic_ai", "claude_agent_sdk")
"""SDKs whose environment the tests create themselves; others are tested where `make sdks` has made it."""


class EnvironmentMissing(Exception):
    """An environment that could not be made; the message says what to do."""


def get_cache_directory() -> Path:
    """Return where the environments are kept between runs."""
    if "VERDIKT_SDKS" in os.environ:
        return Path(os.environ["VERDIKT_SDKS"])
    if "XDG_CACHE_HOME" in os.environ:
        return Path(os.environ["XDG_CACHE_HOME"]) / "verdikt" / "sdks"
    return ROOT / ".cache" / "sdks"


def find_environment(sdk: str, version: str) -> Path | None:
    """Return the interpreter of an environment that is complete, or None."""
    directory = get_cache_directory() / f"{sdk}-{version}"
    return directory / "bin" / "python" if _is_complete(directory, sdk, version) else None


def require_environment(sdk: str, version: str) -> Path:
    """Return the interpreter for a test, which is skipped or fails where there is none.

    An SDK that is always tested is installed here, and the test fails where that is impossible: a skip would look like
    a pass.
    """
    if version == "floor" and is_floor_newest(sdk):
        pytest.skip(f"the newest version of {sdk} is the floor")
    python = find_environment(sdk, version)
    if python is None and sdk not in ALWAYS:
        pytest.skip(f"`make sdks` has not made the environment {sdk}-{version}")
    environment = python or _install_once(sdk, version)
    if isinstance(environment, str):
        pytest.fail(f"{sdk} is always tested, but {environment}", pytrace=False)
    return environment


@cache
def _install_once(sdk: str, version: str) -> Path | str:
    """Return the interpreter, or why there is none: hundreds of tests need it, and only the first tries."""
    try:
        return install_environment(sdk, version)
    except EnvironmentMissing as missing:
        return str(missing)


def install_environment(sdk: str, version: str) -> Path:
    """Return the interpreter of an SDK's environment, and make the environment first if that is necessary."""
    directory = get_cache_directory() / f"{sdk}-{version}"
    directory.mkdir(parents=True, exist_ok=True)
    # Not `.lock` in the environment: uv takes that one itself, and would wait for us until its time limit of 5 minutes.
    with directory.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two test workers may want the same environment
        if not _is_complete(directory, sdk, version):
            _make_environment(directory, _list_packages(sdk, version))
            (directory / ".installed").write_text(_describe(sdk, version), encoding="utf-8")
    return directory / "bin" / "python"


def is_floor_newest(sdk: str) -> bool:
    """Return whether the environment with the newest version holds the floor itself, so that one of them is enough."""
    packages = (get_cache_directory() / f"{sdk}-newest").glob("lib/python*/site-packages/*.dist-info")
    installed = {path.name.removesuffix(".dist-info").replace("_", "-").lower() for path in packages}
    pinned = {package.replace("==", "-").lower() for package in PACKAGES[sdk]["floor"] if "==" in package}
    return pinned <= installed


def _is_complete(directory: Path, sdk: str, version: str) -> bool:
    marker = directory / ".installed"
    return marker.exists() and marker.read_text(encoding="utf-8") == _describe(sdk, version)


def _describe(sdk: str, version: str) -> str:
    return "\n".join(_list_packages(sdk, version)) + "\n"


def _list_packages(sdk: str, version: str) -> list[str]:
    if sdk in RECEIVERS:
        return list(RECEIVERS[sdk][version])
    return [*(PACKAGES | BENCHMARK_PACKAGES)[sdk][version], *_list_dependencies()]


def _list_dependencies() -> list[str]:
    """Return what verdikt itself needs; it is imported from the source tree."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return list(project["dependencies"])


def _make_environment(directory: Path, packages: list[str]) -> None:
    venv.create(directory, with_pip=False)
    # uv, from the extra `test`: eight environments share most of their packages, and it links them from one cache.
    uv = Path(sys.executable).with_name("uv")
    command = [str(uv), "pip", "install", "--quiet", "--python", str(directory / "bin" / "python"), *packages]
    completed = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    if completed.returncode:
        last_lines = "\n".join(completed.stderr.splitlines()[-5:])
        raise EnvironmentMissing(f"uv could not install {packages[0]}; is the package index reachable?\n{last_lines}")


if __name__ == "__main__":
    for name, versions in (RECEIVERS if sys.argv[1:] == ["receivers"] else PACKAGES).items():
        for label in sorted(versions, reverse=True):  # the newest first
            if label == "floor" and is_floor_newest(name):
                continue  # one environment is enough
            try:
                print(install_environment(name, label))
            except EnvironmentMissing as missing:
                sys.exit(str(missing))
