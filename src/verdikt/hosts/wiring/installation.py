"""Where verdikt is installed and which project it governs: what every plan and every inspection starts from."""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from verdikt.errors import WiringError
from verdikt.hosts.host import Host
from verdikt.hosts.wiring import wrapper
from verdikt.hosts.wiring.client_version import is_at_least, read_client_version
from verdikt.hosts.wiring.file_change import WiringRecord
from verdikt.hosts.wiring.portable_registration import PortableRegistration
from verdikt.hosts.wiring.registration import LAUNCHER, HookCommandBuilder, Registration

_IMPORT_PROBE = "import verdikt.hosts.hook, re2, tree_sitter_bash, yaml"
"""The hook, and the packages of others that a decision may need."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """The project, the data directory, the environment, and the socket that hooks ask, if there is a fixed one."""

    project: str
    data_directory: str
    env: Mapping[str, str]
    socket_path: str = ""
    system_directory: str = "/etc"
    """The directory of the settings for everybody on the machine."""

    @property
    def home(self) -> str:
        """The home directory of the person."""
        return self.env.get("HOME") or os.path.expanduser("~")

    @property
    def config_directory(self) -> str:
        """The directory of the person's settings for all programs."""
        return self.env.get("XDG_CONFIG_HOME") or os.path.join(self.home, ".config")

    def get_wrapper_directory(self, scope: str) -> str:
        """Return the directory of the wrappers."""
        # Managed wrappers lie where the people who are governed can run them but not change them.
        if scope == "managed":
            return os.path.join(self.system_directory, "verdikt", "hooks")
        return os.path.join(self.data_directory, "hooks")

    def get_wrapper_files(self, scope: str = "project") -> dict[str, bytes]:
        """Return path → content of the wrappers; the first is the one that is registered."""
        directory = self.get_wrapper_directory(scope)
        return {os.path.join(directory, name): data for name, data in wrapper.load_wrappers().items()}

    @property
    def launcher_path(self) -> str:
        """The path of the launcher, where portable settings look for it."""
        return os.path.join(self.get_wrapper_directory("project"), LAUNCHER)

    def create_command_builder(self, scope: str) -> HookCommandBuilder:
        """Return how the settings of a scope name the hook: those that a team commits name no path of this machine."""
        return PortableRegistration() if scope == "project" else self.create_registration(scope)

    def create_registration(self, scope: str = "local") -> Registration:
        """Return how this machine calls the hook: this interpreter, isolated from the project and the environment."""
        wrapper_path = next(iter(self.get_wrapper_files(scope)))
        for path in (wrapper_path, sys.executable):
            # Hosts read the path from a text file, and run it from whatever directory the agent has changed to.
            if not os.path.isabs(path) or _has_undecodable_bytes(path):
                raise WiringError(
                    f"expected an absolute path in UTF-8 for hosts to call, found `{os.fsencode(path)!r}`; "
                    "set VERDIKT_HOME to one, or install verdikt elsewhere"
                )
        python = (sys.executable, *_find_isolation_flags())
        return Registration(wrapper_path=wrapper_path, python=python, socket_path=self.socket_path)

    def resolve_host_file(self, host: Host, file: str) -> str:
        """Return the absolute path of a file of a host's description."""
        return host.resolve_file(
            file, project=self.project, home=self.home, env=self.env, system_directory=self.system_directory
        )

    def get_settings_file(self, host: Host, scope: str) -> str:
        """Return the absolute path of a host's settings file; empty where the host has none of that scope."""
        file = host.settings_files.get(scope)
        return self.resolve_host_file(host, file) if file else ""

    def list_settings_files(self, host: Host) -> list[tuple[str, str]]:
        """Return scope and settings file, each file once: `local` is the project's file on most hosts."""
        scopes_by_file: dict[str, str] = {}
        for scope in host.scopes:
            scopes_by_file.setdefault(self.get_settings_file(host, scope), scope)
        return [(scope, file) for file, scope in scopes_by_file.items()]

    def client_blocks_on_failure(self, host: Host) -> bool:
        """Whether the installed client of the host blocks by itself when its hook fails."""
        # Asking a client for its version starts it, so only those are asked of which the answer matters.
        return bool(host.blocks_on_failure) and is_at_least(
            read_client_version(host, self.env, self.project), host.blocks_on_failure_since
        )

    def client_takes_arguments(self, host: Host) -> bool:
        """Whether the installed client of the host starts a hook without a shell."""
        return bool(host.takes_arguments_since) and is_at_least(
            read_client_version(host, self.env, self.project), host.takes_arguments_since
        )

    def load_record(self) -> WiringRecord:
        """Return the record of what was changed so far."""
        return WiringRecord(Path(self.data_directory))


def _has_undecodable_bytes(path: str) -> bool:
    return any("\udc80" <= character <= "\udcff" for character in path)


@lru_cache(maxsize=1)
def _find_isolation_flags() -> list[str]:
    """Return the strictest flags under which this interpreter still finds verdikt."""
    # `-I` also ignores the site-packages of the user, where verdikt may be installed; the second choice does not.
    for flags in (["-I"], ["-E", "-P"]):
        probe = [sys.executable, *flags, "-c", _IMPORT_PROBE]
        if subprocess.run(probe, cwd="/", capture_output=True, check=False).returncode == 0:
            return flags
    raise WiringError(f"`{sys.executable}` cannot import verdikt by itself; install verdikt for this interpreter")
