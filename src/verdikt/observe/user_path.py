"""What `~` stands for."""

import os
from collections.abc import Mapping


def expand_user(path: str, env: Mapping[str, str]) -> str:
    """The path with `~` as a process in this environment would read it."""
    home = env.get("HOME")
    if home and (path == "~" or path.startswith("~/")):
        return home.rstrip("/") + path[1:] or "/"
    return os.path.expanduser(path)
