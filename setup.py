"""Builds the native client with the package; everything else about the package is in pyproject.toml."""

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

from distutils.command.build_scripts import build_scripts  # isort: skip  (setuptools brings it, when it is there first)

NATIVE = Path(__file__).parent / "src" / "verdikt" / "daemon" / "native"
NAME = "verdikt-hook"


@lru_cache(maxsize=1)
def client(version: str) -> bytes:
    """The native client; empty where it cannot be built, and the package is as good without it, only slower."""
    spec = importlib.util.spec_from_file_location("build_native", NATIVE / "build.py")
    assert spec and spec.loader
    native: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(native)
    with tempfile.TemporaryDirectory() as directory:
        target = Path(directory) / NAME
        why = native.compile_client(target, version)
        if why:
            print(
                f"verdikt: the hook stays in Python, because the native client cannot be built: {why}", file=sys.stderr
            )
            return b""
        return target.read_bytes()


class Scripts(build_scripts):
    """Puts the native client in the place of the script of the same name."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.executable = "python"  # `#!python`: whoever installs the wheel writes the interpreter there
        self.force = True

    def run(self) -> None:
        super().run()
        if binary := client(self.distribution.get_version()):
            target = Path(self.build_dir) / NAME
            target.unlink(missing_ok=True)
            target.write_bytes(binary)
            shutil.copymode(sys.executable, target)


class Wheel(bdist_wheel):
    """A wheel for one platform when the native client is in it, else for all; for every Python in both cases."""

    def get_tag(self) -> tuple[str, str, str]:
        if not client(self.distribution.get_version()):
            return super().get_tag()
        return "py3", "none", (self.plat_name or get_platform()).replace("-", "_").replace(".", "_")


setup(cmdclass={"build_scripts": Scripts, "bdist_wheel": Wheel})
