"""The wiring of Echo."""

from typing import Any

from verdikt.hosts.echo import HOST

from verdikt.hosts.wiring.host_wiring import HostWiring


class EchoWiring(HostWiring):
    """Flat entries under `hooks`."""

    def build_entry(self, command: str, *, fail_closed: bool) -> dict[str, Any]:
        """Return a hook."""
        return {"command": command}


WIRING = EchoWiring(HOST)
