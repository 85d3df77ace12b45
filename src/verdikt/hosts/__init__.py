"""One file per host: `decode(payload) → Moment`, `encode(moment, ruling) → Reply`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from verdikt.hosts.adapter import HostAdapter

ADAPTER_MODULES: dict[str, str] = {
    "claude": "verdikt.hosts.claude.adapter",
    "codex": "verdikt.hosts.codex.adapter",
    "gemini": "verdikt.hosts.gemini.adapter",
    "copilot": "verdikt.hosts.copilot.adapter",
    "opencode": "verdikt.hosts.opencode.adapter",
    "cursor": "verdikt.hosts.cursor.adapter",
    "generic": "verdikt.hosts.generic.adapter",
}
"""Host → its module. A host that is not here is `generic`: its deny blocks on every client that was measured."""


def load_adapter(name: str) -> HostAdapter:
    """The adapter of that name, loaded now; `generic` for a name nobody knows."""
    module = ADAPTER_MODULES.get(name, ADAPTER_MODULES["generic"])
    __import__(module)
    return sys.modules[module]
