"""A server of the new era (the `mcp` SDK): `modern_server.py` over stdio, `modern_server.py PORT` over HTTP."""

import sys
from pathlib import Path
from typing import Annotated

import anyio
import mcp_types as types
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.resolve import Elicit, ListRoots, Resolve, Sample
from pydantic import BaseModel

server = MCPServer("modern", instructions="Read a note first, then write one.")


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
async def get_cancelled(path: str) -> str:
    """Wait, and leave a file when the call is cancelled meanwhile."""
    try:
        await anyio.sleep(60)
    except anyio.get_cancelled_exc_class():
        Path(path).write_text("cancelled")
        raise
    return "not cancelled"


@server.tool()
async def get_update(ctx: Context) -> str:
    """Tell those who listen that the first note is another one."""
    await ctx.notify_resource_updated("note://one")
    return "told"


def ask_model() -> Sample:
    """Want a completion."""
    content = types.TextContent(type="text", text="write")
    return Sample([types.SamplingMessage(role="user", content=content)], max_tokens=10)


def ask_person() -> Elicit[Choice]:
    """Want a name."""
    return Elicit("What is your name?", Choice)


def ask_roots() -> ListRoots:
    """Want the open directories."""
    return ListRoots()


@server.tool()
def get_wishes(
    completion: Annotated[types.CreateMessageResult, Resolve(ask_model)],
    choice: Annotated[Choice, Resolve(ask_person)],
    roots: Annotated[types.ListRootsResult, Resolve(ask_roots)],
) -> str:
    """Want everything that a server may want: by requests of its own in the old era, in results in the new one."""
    return f"{completion.content.text}, {choice.name}, {roots.roots[0].uri}"


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
