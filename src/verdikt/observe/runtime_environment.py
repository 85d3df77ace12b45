"""The environment that the hook runs from, and whether it lies in a project, where an agent works."""

from __future__ import annotations

import os
import sys

from verdikt.observe.world import PROJECT_MARKS, ROOT_MARKS, find_project_root

_PACKAGE_DIRECTORIES = ("site-packages", "dist-packages")


def list_runtime_paths() -> list[str]:
    """Return the environment that this process runs from: everything in it can change what the hook does.

    A virtual environment as a whole: `site-packages` (a `.pth` file there runs at every start), `pyvenv.cfg`, scripts.
    The Python of the system belongs to root; of it, the directory that holds the package.
    """
    if sys.prefix != sys.base_prefix:
        return [sys.prefix]
    directory = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return [directory] if os.path.basename(directory) in _PACKAGE_DIRECTORIES else []


def find_enclosing_project(environment: str, home: str) -> str:
    """Return the project in which an environment lies; empty when it lies in none."""
    # From above the environment: its own files are no marks of a project.
    root = find_project_root(os.path.dirname(os.path.abspath(environment)), home)
    marks = (*ROOT_MARKS, *PROJECT_MARKS)
    return root if any(os.path.lexists(os.path.join(root, mark)) for mark in marks) else ""
