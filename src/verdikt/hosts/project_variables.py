"""Variables that the settings of a project set for the hooks, and with which a repository could send them elsewhere."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, MutableMapping

from verdikt.hosts.registry import HOSTS, SETTINGS_VARIABLES
from verdikt.observe.guarded_paths import find_host_project, find_own_home
from verdikt.observe.regular_file import read_regular_file
from verdikt.observe.world import find_project_root

MAX_SETTINGS_BYTES = 1024 * 1024

_DIRECTORY_VARIABLES = ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR")
_LOADING_VARIABLES = (
    *("BASH_ENV", "ENV", "LD_PRELOAD", "LD_AUDIT", "LD_LIBRARY_PATH"),
    *("DYLD_INSERT_LIBRARIES", "DYLD_LIBRARY_PATH"),
)
_MOVING_VARIABLES = frozenset((*_DIRECTORY_VARIABLES, *_LOADING_VARIABLES, *SETTINGS_VARIABLES))
"""Variables with which a project's settings can move the person's files away, or have code loaded into the wrapper."""


def is_moving_variable(name: str) -> bool:
    """Return whether a variable moves what the hooks work with, or has code loaded into them."""
    return name in _MOVING_VARIABLES or name.startswith("VERDIKT_")


def list_variable_files(cwd: str, env: Mapping[str, str]) -> Iterator[str]:
    """Yield the settings files of a project in which a host may find variables for its hooks."""
    home = env.get("HOME", "")
    project = find_host_project(env) or find_project_root(os.path.abspath(cwd), home)
    for host in HOSTS.values():
        for file in host.all_guarded_files:
            if file.endswith(".json") and file[0] not in "/~":
                yield host.resolve_file(file, project=project, home=home, env=env)


def read_moving_variables(path: str) -> dict[str, str]:
    """Return those variables of a settings file that move or load something; none where the file says nothing."""
    try:
        settings = json.loads((read_regular_file(path, MAX_SETTINGS_BYTES) or b"{}").decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return {}
    variables = settings.get("env") if isinstance(settings, dict) else None
    if not isinstance(variables, dict):
        return {}
    return {name: str(value) for name, value in variables.items() if is_moving_variable(name)}


def drop_project_variables(environ: MutableMapping[str, str], cwd: str) -> list[str]:
    """Take back the directories that a project's settings name for the hooks, and return the variables.

    The wrapper does the same by its own place; this is for hooks that were wired by hand, without it. What loads code
    into the hook has done so already and stays.
    """
    if not any(name in environ for name in _DIRECTORY_VARIABLES) and not any(
        name.startswith("VERDIKT_") for name in environ
    ):
        return []
    dropped = {}
    for path in list_variable_files(cwd or ".", environ):
        for name, value in read_moving_variables(path).items():
            # A value that comes from elsewhere, such as the wrapper's, is not the project's.
            if environ.get(name) == value and name not in _LOADING_VARIABLES:
                dropped[name] = path
    for name in dropped:
        del environ[name]
    own_home = find_own_home(os.getuid())
    if "HOME" in dropped and own_home:
        environ["HOME"] = own_home
    return sorted(dropped)
