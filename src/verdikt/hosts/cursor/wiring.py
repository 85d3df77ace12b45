"""The wiring of Cursor."""

from typing import Any

from verdikt.hosts.cursor import HOST
from verdikt.hosts.wiring.host_wiring import HostWiring
from verdikt.hosts.wiring.registration import CLIENT_TIMEOUT_SECONDS


class CursorWiring(HostWiring):
    """Flat entries under `hooks`."""

    def build_entry(self, command: str, *, fail_closed: bool) -> dict[str, Any]:
        """Return a hook, which fails closed where the agent is about to act."""
        entry: dict[str, Any] = {"command": command, "timeout": CLIENT_TIMEOUT_SECONDS}
        return entry | {"failClosed": True} if fail_closed else entry


WIRING = CursorWiring(HOST)
