"""Where the programs lie that verdikt itself runs: in directories of the system, never in a project."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache

SYSTEM_DIRECTORIES = (
    "/usr/bin",
    "/bin",
    "/usr/local/bin",
    "/opt/homebrew/bin",
    "/opt/local/bin",
    "/run/current-system/sw/bin",
)
"""Searched in this order, whatever PATH says: a project can put a directory of its own first in PATH."""


@lru_cache(maxsize=16)
def find_system_program(name: str) -> str:
    """Return the absolute path of a program, found once; the path in `/usr/bin` when it is nowhere.

    The latter cannot be run, which the caller sees as a program that is not installed.
    """
    candidates = (os.path.join(directory, name) for directory in SYSTEM_DIRECTORIES)
    return next((path for path in candidates if _is_program(path)), os.path.join(SYSTEM_DIRECTORIES[0], name))


def find_user_program(name: str, env: Mapping[str, str], project: str) -> str:
    """Return the path of a program that people install for themselves, such as a client; empty when there is none."""
    candidates = (os.path.join(directory, name) for directory in drop_project_directories(env.get("PATH", ""), project))
    return next((path for path in candidates if _is_program(path)), "")


def drop_project_directories(search_path: str, project: str) -> list[str]:
    """Return the directories of a PATH that are absolute and lie in no part of a project."""
    root = os.path.join(os.path.realpath(project), "")
    return [
        directory
        for directory in search_path.split(os.pathsep)
        if os.path.isabs(directory) and not os.path.join(os.path.realpath(directory), "").startswith(root)
    ]


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)
