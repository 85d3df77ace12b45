"""The two eras of MCP that the relay speaks.

In the old era a client opens a session with `initialize`, which carries its capabilities for all that follows, and a
server asks a person with a request of its own. In the new (*modern*) era there is no handshake: every request names
its protocol version and the client's capabilities in `_meta`, and a server asks with the result `input_required`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from verdikt.mcp.message import Message

PROTOCOL_VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
SERVER_INFO_KEY = "io.modelcontextprotocol/serverInfo"


def is_modern(message: Message) -> bool:
    """Return whether a request belongs to the era without a handshake, in which each one names its version."""
    meta = message.params.get("_meta")
    return isinstance(meta, Mapping) and PROTOCOL_VERSION_KEY in meta


def read_capabilities(message: Message) -> object:
    """Return the client's capabilities that a request of the new era carries; None if it carries none."""
    meta = message.params.get("_meta")
    return meta.get(CAPABILITIES_KEY) if isinstance(meta, Mapping) else None


def read_server_info(result: object) -> Mapping[str, Any]:
    """Return what a server says of itself: in its result of the handshake, or in the metadata of any other."""
    fields = result if isinstance(result, Mapping) else {}
    meta = fields.get("_meta")
    info = fields.get("serverInfo", meta.get(SERVER_INFO_KEY) if isinstance(meta, Mapping) else None)
    return info if isinstance(info, Mapping) else {}
