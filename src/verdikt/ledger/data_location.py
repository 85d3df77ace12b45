"""Where verdikt keeps its data, as a text: loaded by every hook, so nothing else is loaded with it."""

from __future__ import annotations

import os
from collections.abc import Mapping


def find_data_directory(env: Mapping[str, str]) -> str:
    """`$VERDIKT_HOME`, else `$XDG_DATA_HOME/verdikt`, else `~/.local/share/verdikt`; empty when none of them is known."""
    own, home = env.get("VERDIKT_HOME"), env.get("HOME")
    if own:
        if own[0] != "~":
            return own
        return home + own[1:] if home and own[1:2] in ("", "/") else os.path.expanduser(own)
    if env.get("XDG_DATA_HOME"):
        return f"{env['XDG_DATA_HOME']}/verdikt"
    return f"{home}/.local/share/verdikt" if home else ""
