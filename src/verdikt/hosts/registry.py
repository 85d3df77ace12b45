"""The registry of hosts. Adding a host is one folder and one line here; docs/adding-a-host.md shows how."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from verdikt.hosts.adapter import HostAdapter
    from verdikt.hosts.host import Host
    from verdikt.hosts.live.client_driver import ClientDriver
    from verdikt.hosts.wiring.host_wiring import HostWiring

HOST_PACKAGES: dict[str, str] = {
    "claude": "verdikt.hosts.claude",
    "codex": "verdikt.hosts.codex",
    "gemini": "verdikt.hosts.gemini",
    "copilot": "verdikt.hosts.copilot",
    "cursor": "verdikt.hosts.cursor",
    "opencode": "verdikt.hosts.opencode",
    "generic": "verdikt.hosts.generic",
}
"""Name → the package that holds everything about the host."""

FALLBACK_HOST = "generic"
"""Stands in for a name that is not registered: its block holds on every client that was measured."""

HOSTS: dict[str, Host] = {name: cast("Host", import_module(package).HOST) for name, package in HOST_PACKAGES.items()}
"""Name → description."""

WIRABLE_HOSTS = tuple(name for name, host in HOSTS.items() if host.scopes)

SETTINGS_VARIABLES = (
    "HOME",
    "XDG_CONFIG_HOME",
    *(host.config_variable for host in HOSTS.values() if host.config_variable),
)
"""The variables that move a person's settings of hosts."""


def get_host(name: str) -> Host:
    """Return the description of the host of that name, or of the fallback."""
    return HOSTS.get(name, HOSTS[FALLBACK_HOST])


# The modules below are code and are imported when they are needed: a decision needs one adapter and no wiring.


def load_adapter(name: str) -> HostAdapter:
    """Return the module with `decode` and `encode` of that host, or of the fallback."""
    return cast("HostAdapter", import_module(f"{HOST_PACKAGES.get(name, HOST_PACKAGES[FALLBACK_HOST])}.adapter"))


def load_wiring(name: str) -> HostWiring:
    """Return how a wirable host is wired."""
    return cast("HostWiring", import_module(f"{HOST_PACKAGES[name]}.wiring").WIRING)


def load_client_driver(name: str) -> ClientDriver | None:
    """Return how `verdikt doctor --live` starts the host's client; None when that client cannot be scripted."""
    module = f"{HOST_PACKAGES[name]}.live"
    try:
        return cast("ClientDriver", import_module(module).DRIVER)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        return None
