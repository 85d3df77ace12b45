"""The version of an installed client, as the client itself prints it."""

import re
import shutil
import subprocess
from collections.abc import Mapping

from verdikt.hosts.host import Host

_VERSION = re.compile(r"\d+(?:\.\d+)+")

_TIMEOUT_SECONDS = 20


def read_client_version(host: Host, env: Mapping[str, str]) -> str:
    """Return what `<program> --version` prints as a version; empty when the client is not installed or prints none."""
    program = shutil.which(host.program, path=env.get("PATH", "")) if host.program else None
    if program is None:
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


def blocks_on_failure(host: Host, version: str) -> bool:
    """Whether a client of that version blocks by itself when its hook fails. An unknown version does not."""
    if not (version and host.blocks_on_failure_since):
        return False
    return _to_numbers(version) >= _to_numbers(host.blocks_on_failure_since)


def _to_numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
