"""A server of the new era (the `mcp` SDK): `modern_server.py` over stdio, `modern_server.py PORT` over HTTP."""

import sys
from pathlib import Path

from mcp.server.mcpserver import Context, MCPServer
from pydantic import BaseModel

server = MCPServer("modern")


class Choice(BaseModel):
    """What a person is asked for."""

    name: str = ""


@server.tool()
def get_note(key: str) -> str:
    """Return a note."""
    return f"note {key}"


@server.tool()
async def get_progress(ctx: Context) -> str:
    """Report progress."""
    for step in range(3):
        await ctx.report_progress(step + 1, 3)
    return "done"


@server.tool()
def frobnicate(path: str) -> str:
    """Do something."""
    Path(path).write_text("ran")
    return "frobnicated"


@server.tool()
def delete_note(path: str) -> str:
    """Delete a note."""
    Path(path).write_text("ran")
    return "deleted"


@server.resource("note://one")
def read_one() -> str:
    """Return the first note."""
    return "one"


@server.prompt()
def greet(name: str) -> str:
    """Greet a person."""
    return f"Hello {name}"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run(transport="streamable-http", port=int(sys.argv[1]))
    else:
        server.run(transport="stdio")
