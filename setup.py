"""Build the native client, the compiled knowledge base and the pages' dependencies; all else is in pyproject.toml."""

import importlib.util
import shutil
import sys
import tempfile
from functools import lru_cache
from pathlib import Path
from sysconfig import get_platform
from typing import Any

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

# setuptools provides distutils, which newer Pythons lack, when it is imported first.
from distutils.command.build_scripts import build_scripts  # isort: skip

NATIVE = Path(__file__).parent / "src" / "verdikt" / "daemon" / "native"
NAME = "verdikt-hook"
KNOWLEDGE = Path(__file__).parent / "src" / "verdikt" / "knowledge"
DOCS = Path(__file__).parent / "docs"
FETCH_WEB = Path(__file__).parent / "tools" / "fetch_web.py"


def load_module(name: str, path: Path) -> Any:
    """Return a module by its path: the package cannot be imported before its dependencies are installed."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@lru_cache(maxsize=1)
def build_client(version: str) -> bytes:
    """Return the native client; empty where it cannot be built and the package works without it, only slower."""
    build = load_module("build_native", NATIVE / "build.py")
    with tempfile.TemporaryDirectory() as directory:
        target = Path(directory) / NAME
        error = build.compile_client(target, version)
        if error:
            message = f"verdikt: the hook stays in Python, because the native client cannot be built: {error}"
            print(message, file=sys.stderr)
            return b""
        return target.read_bytes()


def fetch_page_dependencies() -> None:
    """Fetch the dependencies of the pages by npm; where that fails the package works, but for `verdikt serve`."""
    if not FETCH_WEB.exists():
        return  # a copy of the package alone, which has what it was copied with
    fetch_web = load_module("fetch_web", FETCH_WEB)
    if not fetch_web.is_complete():
        try:
            fetch_web.fetch()
        except fetch_web.FetchError as error:
            print(f"verdikt: `verdikt serve` will have no pages: {error}", file=sys.stderr)


class BuildPy(build_py):
    """Compiles the records of programs beside their sources, and puts the documentation into the package."""

    def run(self) -> None:
        """Write the compiled module; an editable install finds it, and the documentation, where the sources are."""
        load_module("knowledge_compiler", KNOWLEDGE / "compiler.py").write_module()
        fetch_page_dependencies()
        super().run()
        if not self.editable_mode:
            for page in DOCS.rglob("*.md"):
                target = Path(self.build_lib) / "verdikt" / "manual" / page.relative_to(DOCS)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(page, target)


class BuildScripts(build_scripts):
    """Replaces the script of the same name with the native client."""

    def finalize_options(self) -> None:
        """Let pip write the interpreter line, and copy the scripts at every build."""
        super().finalize_options()
        self.executable = "python"  # pip replaces `#!python` by the path of the interpreter it installs for
        self.force = True

    def run(self) -> None:
        """Copy the scripts, and put the native client in the place of the Python one where it was built."""
        super().run()
        if program := build_client(self.distribution.get_version()):
            target = Path(self.build_dir) / NAME
            target.unlink(missing_ok=True)
            target.write_bytes(program)
            shutil.copymode(sys.executable, target)


class BuildWheel(bdist_wheel):
    """Tags the wheel for one platform when the native client is in it, else for all; for every Python in both cases."""

    def get_tag(self) -> tuple[str, str, str]:
        """Return a platform tag where the wheel holds the native client."""
        if not build_client(self.distribution.get_version()):
            return super().get_tag()
        return "py3", "none", (self.plat_name or get_platform()).replace("-", "_").replace(".", "_")


setup(cmdclass={"build_py": BuildPy, "build_scripts": BuildScripts, "bdist_wheel": BuildWheel})
