"""How to add an extra to the verdikt that runs: by what installed it, because another installer adds it elsewhere."""

from __future__ import annotations

import sys
from pathlib import Path

from verdikt.model.distribution import DISTRIBUTION_NAME

INSTALLERS: dict[str, str] = {"uv-receipt.toml": "uv tool install", "pipx_metadata.json": "pipx install --force"}
"""File that an installer leaves in the environments it makes → its command."""


def describe_extra_install(extra: str, environment: str = sys.prefix) -> str:
    """Return the command that adds an extra to an environment; default: the one of this process."""
    commands = (command for file, command in INSTALLERS.items() if (Path(environment) / file).exists())
    return f"{next(commands, 'pip install')} '{DISTRIBUTION_NAME}[{extra}]'"
