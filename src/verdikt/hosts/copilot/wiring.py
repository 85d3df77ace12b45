"""The wiring of Copilot CLI."""

from collections.abc import Iterator
from typing import Any

from verdikt.hosts.copilot import HOST
from verdikt.hosts.host import PROJECT_SCOPES, KnownGap
from verdikt.hosts.wiring.host_wiring import HostWiring
from verdikt.hosts.wiring.installation import Installation
from verdikt.hosts.wiring.registration import CLIENT_TIMEOUT_SECONDS


class CopilotWiring(HostWiring):
    """A file of its own in the directory of hooks."""

    def build_entry(self, command: str, *, fail_closed: bool) -> dict[str, Any]:
        """Return a hook; Copilot CLI has no matchers."""
        return {"type": "command", "bash": command, "timeoutSec": CLIENT_TIMEOUT_SECONDS}

    def find_gaps(self, installation: Installation, scope: str) -> Iterator[KnownGap]:
        """Yield that the hooks of a project are not loaded everywhere."""
        if scope in PROJECT_SCOPES:
            yield KnownGap(
                what="in a folder that Copilot does not trust, these hooks are not loaded, "
                "and `--allow-all-tools` still runs tools",
                fix="wire the user's hooks instead, which are loaded everywhere: "
                "`verdikt init --host copilot --scope user`",
            )


WIRING = CopilotWiring(HOST)
