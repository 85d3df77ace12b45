"""The version of an installed client, as the client itself prints it."""

import re
import subprocess
from collections.abc import Mapping

from verdikt.hosts.host import Host
from verdikt.observe.program_path import find_user_program

_VERSION = re.compile(r"\d+(?:\.\d+)+")

_TIMEOUT_SECONDS = 20


def read_client_version(host: Host, env: Mapping[str, str], project: str = "") -> str:
    """Return what `<program> --version` prints as a version; empty when the client is not installed or prints none.

    A program inside the project (default: the working directory) is not the client, and is not run.
    """
    program = find_user_program(host.program, env, project) if host.program else ""
    if not program:
        return ""
    try:
        completed = subprocess.run(
            [program, "--version"],
            env=dict(env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    # Clients print a name or a hint beside the version.
    version = _VERSION.search(completed.stdout)
    return version[0] if version else ""


def is_at_least(version: str, since: str) -> bool:
    """Whether a version is another one or newer. An unknown version, or a feature of no version, is not."""
    return bool(version and since) and _to_numbers(version) >= _to_numbers(since)


def _to_numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
