"""One file per host: `decode(payload) → Moment`, `encode(moment, ruling) → Reply`."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from verdikt.adapters.host import Host

HOSTS: dict[str, str] = {
    "claude": "verdikt.adapters.claude_hooks",
    "codex": "verdikt.adapters.codex",
    "gemini": "verdikt.adapters.gemini_cli",
    "copilot": "verdikt.adapters.copilot_cli",
    "opencode": "verdikt.adapters.opencode",
    "cursor": "verdikt.adapters.cursor",
    "generic": "verdikt.adapters.generic",
}
"""Host → its module. A host that is not here is `generic`: its deny blocks on every client that was measured."""


def host(name: str) -> Host:
    """The adapter of that name, loaded now; `generic` for a name nobody knows."""
    module = HOSTS.get(name, HOSTS["generic"])
    __import__(module)
    return sys.modules[module]
