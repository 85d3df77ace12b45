"""The files that an agent must not write to: verdikt's own, and those that every host declares in its description."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from functools import lru_cache

from verdikt.hosts.host import Host
from verdikt.hosts.registry import HOSTS
from verdikt.observe.agent_environment import find_host_project

_PROJECT_PATHS = ("governance.yaml", "governance.yml", ".verdikt")
"""verdikt's own files in a project."""

_VARIABLES = (
    "HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "VERDIKT_HOME",
    "VERDIKT_RUNS_DIR",
    *(host.config_variable for host in HOSTS.values() if host.config_variable),
)
"""The variables that move guarded files."""


def list_guarded_paths(project_root: str, env: Mapping[str, str]) -> tuple[str, ...]:
    """Return absolute files and directories; everything below a directory is guarded too. Not all of them exist."""
    # Wherever the agent has gone, the project that it was started in stays guarded.
    host_project = find_host_project(env)
    roots = (project_root, host_project) if host_project and host_project != project_root else (project_root,)
    variables = (*map(env.get, _VARIABLES),)
    repositories = tuple([_find_git_directory(root) for root in roots if root])
    try:
        return _collect_paths(roots, variables, "", repositories)
    except _RelativePathError:
        return _collect_paths(roots, variables, os.getcwd(), repositories)


class _RelativePathError(Exception):
    """A path that depends on the working directory of this process."""


@lru_cache(maxsize=64)
def _collect_paths(
    roots: tuple[str, ...], variables: tuple[str | None, ...], cwd: str, repositories: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the guarded paths for these inputs. `cwd` is empty unless a relative path depends on it."""
    # The working directory is no part of the cache key as long as every path is absolute. An exception is not cached.
    if not cwd and not all(path is None or path.startswith("/") for path in (*filter(None, roots), *variables)):
        raise _RelativePathError
    # git runs these by itself, and `verdikt git install` writes there.
    hooks = (os.path.abspath(os.path.join(repository, "hooks")) for repository in repositories)
    named = _collect_named_paths(roots[0], tuple([root for root in roots if root]), variables, cwd)
    return tuple(dict.fromkeys((*named, *hooks)))


@lru_cache(maxsize=64)
def _collect_named_paths(
    project_root: str, roots: tuple[str, ...], variables: tuple[str | None, ...], cwd: str
) -> tuple[str, ...]:
    """Return what is guarded by name alone. `cwd` is empty unless a relative path depends on it."""
    env = {name: value for name, value in zip(_VARIABLES, variables, strict=True) if value is not None}
    home = env.get("HOME") or os.path.expanduser("~")
    config = env.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    data = env.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")
    paths = [
        env.get("VERDIKT_HOME") or os.path.join(data, "verdikt"),
        os.path.join(config, "verdikt"),
        "/etc/verdikt",
        *(os.path.join(root, name) for root in roots for name in _PROJECT_PATHS),
        # Where councils keep their runs unless the policy says otherwise.
        os.path.join(home, ".claude", "toolbox-runs"),
        *(path for host in HOSTS.values() for path in list_host_paths(host, roots, home, env)),
    ]
    if "XDG_RUNTIME_DIR" in env:
        paths.append(os.path.join(env["XDG_RUNTIME_DIR"], "verdikt"))
    if "VERDIKT_RUNS_DIR" in env:
        paths.append(env["VERDIKT_RUNS_DIR"])
    paths += _list_package_paths(project_root)
    return tuple(dict.fromkeys(os.path.abspath(os.path.expanduser(path)) for path in paths))


def list_host_paths(host: Host, roots: tuple[str, ...], home: str, env: Mapping[str, str]) -> list[str]:
    """Return the paths of all guarded files of one host, in every one of these projects."""
    return [
        host.resolve_file(file, project=root, home=home, env=moved)
        for file in host.all_guarded_files
        for root in roots or ("",)
        # A variable moves a person's settings, but a session that is started without it still reads the usual ones.
        for moved in ({**env, host.config_variable: ""}, env)
    ]


def _find_git_directory(project_root: str) -> str:
    """Return the directory with the repository's hooks; for a work tree that of the main repository."""
    git = f"{project_root}/.git" if project_root[-1:] != "/" else f"{project_root}.git"
    try:
        if not stat.S_ISREG(os.stat(git).st_mode):
            return git
    except (OSError, ValueError):
        return git
    try:
        directory = os.path.join(project_root, _read_beginning(git).partition("gitdir:")[2].strip())
    except OSError:
        return git
    try:
        return os.path.join(directory, _read_beginning(os.path.join(directory, "commondir")).strip())
    except OSError:
        return directory  # a submodule, which has a repository of its own


def _read_beginning(path: str) -> str:
    """Return the beginning of a file that names a directory; the name may hold any bytes."""
    with open(path, "rb") as file:
        return os.fsdecode(file.read(4096))


def _list_package_paths(project_root: str) -> list[str]:
    """Return the installed package, unless the project is verdikt's own source tree."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    inside = package.startswith(os.path.join(project_root, ""))
    return [package] if not inside or "site-packages" in package.split(os.sep) else []
