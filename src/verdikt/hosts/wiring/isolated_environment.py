"""An environment for the hook outside every project: a copy of what this process runs with, made without a network."""

import os
import re
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import verdikt
from verdikt.errors import WiringError
from verdikt.model.distribution import DISTRIBUTION_NAME, INSTALL_COMMAND

RUNTIME_NAME = "runtime"
"""The directory of the environment below the data directory."""

_REQUIREMENT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_PROBE = "import verdikt.hosts.hook, re2, tree_sitter_bash, yaml, cryptography, click"
_SCRIPT = "#!{python} -I\nfrom verdikt.cli import main\n\nmain()\n"


def create_isolated_environment(directory: Path) -> Path:
    """Create the environment, replacing an older one, and return its interpreter; raise `WiringError` on failure."""
    new = directory.with_name(f".{directory.name}.new")
    try:
        new.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        shutil.rmtree(new, ignore_errors=True)
        venv.EnvBuilder(symlinks=True, with_pip=False).create(new)
        packages = _find_packages_directory(new)
        for distribution in _iter_distributions(DISTRIBUTION_NAME, set()):
            _copy_distribution(distribution, packages)
        _copy_package(packages)
        script = new / "bin" / "verdikt"
        script.write_text(_SCRIPT.format(python=directory / "bin" / "python"))
        script.chmod(0o755)
        _check_import(new / "bin" / "python")
        # In one step, as far as a directory allows it: a hook that runs meanwhile finds the old one or the new one.
        old = directory.with_name(f".{directory.name}.old")
        shutil.rmtree(old, ignore_errors=True)
        if directory.exists():
            directory.rename(old)
        new.rename(directory)
        shutil.rmtree(old, ignore_errors=True)
    except (OSError, shutil.Error, metadata.PackageNotFoundError) as error:
        raise WiringError(f"cannot create an environment in `{directory}`: {error}") from error
    return directory / "bin" / "python"


def _find_packages_directory(environment: Path) -> Path:
    return next((environment / "lib").glob("python*/site-packages"))


def _iter_distributions(name: str, seen: set[str]) -> Iterator[metadata.Distribution]:
    """Yield a distribution and what it requires, as far as that is installed."""
    key = name.lower().replace("_", "-")
    if key in seen:
        return
    seen.add(key)
    try:
        distribution = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        if name == DISTRIBUTION_NAME:
            raise
        return  # for another system, or another version of Python
    yield distribution
    for requirement in distribution.requires or ():
        match = _REQUIREMENT_NAME.match(requirement)
        if match and "extra ==" not in requirement:
            yield from _iter_distributions(match[0], seen)


def _copy_distribution(distribution: metadata.Distribution, target: Path) -> None:
    for file in distribution.files or ():
        # Scripts lie outside and name the old interpreter; `.pth` files lead back to the old environment.
        if ".." in file.parts or "__pycache__" in file.parts or file.suffix == ".pth" or file.is_absolute():
            continue
        source = Path(str(distribution.locate_file(file)))
        if source.is_file():
            destination = target.joinpath(*file.parts)
            destination.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, destination)


def _copy_package(target: Path) -> None:
    """Copy our own package from where it was imported: an editable installation lists none of its files."""
    package = Path(verdikt.__file__).parent
    shutil.copytree(package, target / "verdikt", ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)


def _check_import(python: Path) -> None:
    completed = subprocess.run([python, "-I", "-c", _PROBE], cwd="/", capture_output=True, text=True, check=False)
    if completed.returncode:
        reason = completed.stderr.strip().rpartition("\n")[2]
        raise WiringError(
            f"`{python}` cannot import what the hook needs: {reason}; `{INSTALL_COMMAND}` makes one that can"
        )


def run_init_again(python: Path, arguments: list[str]) -> int:
    """Run `verdikt init` with another interpreter and return its status."""
    command = [str(python), "-I", "-m", "verdikt", "init", *arguments]
    return subprocess.run(command, check=False).returncode


def is_running_from(directory: Path) -> bool:
    """Return whether this process runs from that environment."""
    return os.path.realpath(sys.prefix) == os.path.realpath(directory)
