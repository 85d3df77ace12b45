"""The files that verdikt consists of and is wired with, which the agent must not write by any tool."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from functools import lru_cache

from verdikt.hosts.host import Host
from verdikt.hosts.registry import HOSTS, SETTINGS_VARIABLES
from verdikt.model.path_set import is_within
from verdikt.observe.git_repository import GIT_USER
from verdikt.observe.held_databases import open_unheld
from verdikt.observe.runtime_environment import list_runtime_paths

_PROJECT_PATHS = ("governance.yaml", "governance.yml", ".verdikt")
"""verdikt's own files in a project."""

HOST_PROJECT_VARIABLES = tuple(host.project_variable for host in HOSTS.values() if host.project_variable)
"""Variables in which hosts tell their hooks where the session was started."""

_VARIABLES = (*SETTINGS_VARIABLES, "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "VERDIKT_HOME", "VERDIKT_RUNS_DIR")
"""The variables that move guarded files."""


def find_host_project(env: Mapping[str, str]) -> str:
    """Return the project that the host was started in; empty when the host does not say, or it does not exist."""
    for name in HOST_PROJECT_VARIABLES:
        directory = env.get(name)
        if directory and os.path.isdir(directory):
            return directory
    return ""


def list_guarded_paths(project_root: str, env: Mapping[str, str]) -> tuple[str, ...]:
    """Return absolute paths of files and directories; a directory guards what is below it. Not all of them exist."""
    # Wherever the agent has gone, the project it was started in stays guarded.
    host_project = find_host_project(env)
    roots = (project_root, host_project) if host_project and host_project != project_root else (project_root,)
    variables = (*map(env.get, _VARIABLES),)
    # Read on every call: a work tree may be added or moved within a session.
    repositories = tuple([_find_git_directory(root) for root in roots if root])
    own_home = find_own_home(GIT_USER.user[0] if GIT_USER.user else os.getuid())
    try:
        return _collect_paths(roots, variables, "", repositories, own_home)
    except _RelativePathError:
        return _collect_paths(roots, variables, os.getcwd(), repositories, own_home)


class _RelativePathError(Exception):
    """A path depends on this process's working directory."""


@lru_cache(maxsize=64)
def _collect_paths(
    roots: tuple[str, ...], variables: tuple[str | None, ...], cwd: str, repositories: tuple[str, ...], own_home: str
) -> tuple[str, ...]:
    """Return the guarded paths, from what was observed of the disk. `cwd` is set when a relative path depends on it."""
    if not cwd and not all(path is None or path.startswith("/") for path in (*filter(None, roots), *variables)):
        raise _RelativePathError
    # git runs these by itself, and `verdikt git install` writes there.
    hooks = (os.path.abspath(os.path.join(repository, "hooks")) for repository in repositories)
    named = _collect_named_paths(roots[0], tuple([root for root in roots if root]), variables, cwd, own_home)
    return tuple(dict.fromkeys((*named, *hooks)))


@lru_cache(maxsize=64)
def _collect_named_paths(
    project_root: str, roots: tuple[str, ...], variables: tuple[str | None, ...], cwd: str, own_home: str
) -> tuple[str, ...]:
    """Return the paths that are guarded by name alone. `cwd` is set when a relative path depends on it."""
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
        *(_list_personal_paths(own_home) if own_home and own_home != home else ()),
    ]
    if "XDG_RUNTIME_DIR" in env:
        paths.append(os.path.join(env["XDG_RUNTIME_DIR"], "verdikt"))
    if "VERDIKT_RUNS_DIR" in env:
        paths.append(env["VERDIKT_RUNS_DIR"])
    paths += _list_package_paths(project_root)
    return tuple(dict.fromkeys(os.path.abspath(os.path.expanduser(path)) for path in paths))


def _list_personal_paths(home: str) -> list[str]:
    """Return what lies in the home directory that the system names, which no variable of a session moves."""
    return [
        os.path.join(home, ".local", "share", "verdikt"),
        os.path.join(home, ".config", "verdikt"),
        os.path.join(home, ".claude", "toolbox-runs"),
        *(path for host in HOSTS.values() for path in list_host_paths(host, (), home, {}) if is_within(path, home)),
    ]


@lru_cache(maxsize=64)
def find_own_home(user_id: int) -> str:
    """Return the home directory of a user by the user database; empty when it names none."""
    import pwd  # once in a process

    try:
        home = pwd.getpwuid(user_id).pw_dir
    except (KeyError, OSError):
        return ""  # containers often run under an id that is not in the user database
    return home if home.startswith("/") else ""


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
    """Return the directory that holds the hooks; for a linked work tree, that of the main repository."""
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
    """Return the beginning of a file that names a directory, whatever bytes the name has."""
    with open(path, "rb", opener=open_unheld) as file:
        return os.fsdecode(file.read(4096))


def _list_package_paths(project_root: str) -> list[str]:
    """Return what the hook runs from: the whole environment, and the installed package.

    The package is left out when it is the source tree that the project is about.
    """
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    # Someone who works on verdikt itself must be able to edit it; an installed copy inside a project's
    # virtual environment stays guarded.
    inside = package.startswith(os.path.join(project_root, ""))
    packages = [package] if not inside or "site-packages" in package.split(os.sep) else []
    return [*list_runtime_paths(), *packages]
