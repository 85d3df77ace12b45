"""A server that governs itself, by FastMCP (`governed_server.py fastmcp`) or the `mcp` SDK (`… mcp`), over stdio."""

import sys
from pathlib import Path
from typing import Any

from verdikt.integrations.mcp import GovernanceExtension, GovernanceMiddleware


def build_server(kind: str) -> Any:
    """Return the server."""
    if kind == "fastmcp":
        from fastmcp import FastMCP

        return FastMCP("notes", middleware=[GovernanceMiddleware("notes")])
    from mcp.server.mcpserver import MCPServer

    return MCPServer("notes", extensions=[GovernanceExtension("notes")])


server = build_server(sys.argv[1])


@server.tool()
def get_note(key: str) -> str:
    """Return a note."""
    return f"note {key}"


@server.tool()
def get_failure() -> str:
    """Fail."""
    raise ValueError("it failed")


@server.tool()
def delete_note(path: str) -> str:
    """Delete a note."""
    Path(path).write_text("ran")
    return "deleted"


@server.tool()
def frobnicate(path: str) -> str:
    """Do something."""
    Path(path).write_text("ran")
    return "frobnicated"


if __name__ == "__main__":
    server.run(transport="stdio")
