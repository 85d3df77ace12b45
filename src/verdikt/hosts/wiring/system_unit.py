"""The warm process as a service of another user: key, log and state out of the agent's reach."""

import os
import pwd
import subprocess
from collections.abc import Callable, Sequence

from verdikt.errors import WiringError
from verdikt.hosts.wiring.file_change import FileChange, read_file
from verdikt.observe.program_path import find_system_program

SERVICE_USER = "verdikt"
SERVICE_SOCKET = "/run/verdikt/daemon.sock"
SERVICE_RUNTIME = "/opt/verdikt"
"""Where the service and the hooks run from: a directory of root."""

UNIT_FILE = "systemd/system/verdikt.service"
"""Below the directory of the system's settings."""

UNIT = """\
# Written by `verdikt init --service`.
[Unit]
Description=verdikt: decides what AI agents may do

[Service]
User={user}
ExecStart={runtime}/bin/verdikt daemon start --system --socket {socket} --home /var/lib/verdikt
RuntimeDirectory=verdikt
StateDirectory=verdikt
StateDirectoryMode=0700
UMask=0077
NoNewPrivileges=yes
Restart=always

[Install]
WantedBy=multi-user.target
"""


def is_service_possible() -> bool:
    """Return whether root is at hand, on a system that systemd runs."""
    return os.geteuid() == 0 and os.path.isdir("/run/systemd/system")


def plan_service(system_directory: str = "/etc") -> FileChange:
    """Return the file that defines the service."""
    path = os.path.join(system_directory, UNIT_FILE)
    text = UNIT.format(user=SERVICE_USER, runtime=SERVICE_RUNTIME, socket=SERVICE_SOCKET)
    return FileChange(
        path=path, before=read_file(path), after=text.encode(), host="", description="the service that decides"
    )


def list_service_commands() -> list[list[str]]:
    """Return what creates the user, if it is missing, and starts the service."""
    commands = [
        [find_system_program("systemctl"), "daemon-reload"],
        [find_system_program("systemctl"), "enable", "--now", "verdikt.service"],
    ]
    try:
        pwd.getpwnam(SERVICE_USER)
    except KeyError:
        flags = ["--system", "--home-dir", "/var/lib/verdikt", "--shell", "/usr/sbin/nologin"]
        commands.insert(0, ["/usr/sbin/useradd", *flags, SERVICE_USER])
    return commands


def start_service(run: Callable[[Sequence[str]], int] | None = None) -> None:
    """Create the user and start the service; raise `WiringError` at the first command that fails."""
    run = run or (lambda command: subprocess.run(command, check=False).returncode)
    for command in list_service_commands():
        try:
            status = run(command)
        except OSError as error:
            raise WiringError(f"cannot run `{' '.join(command)}`: {error.strerror}") from error
        if status:
            raise WiringError(f"`{' '.join(command)}` failed with status {status}")
