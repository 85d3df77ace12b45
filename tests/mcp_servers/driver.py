"""A real client (the `mcp` SDK) that does everything with a server and prints what it saw, as one JSON document.

Runs in the environment of `install.py`: `driver.py MODE URL` or `driver.py MODE -- COMMAND …`, with the calls as JSON
on stdin.
"""

import asyncio
import json
import os
import sys
from functools import partial
from typing import Any

import mcp_types as types
from mcp.client.client import Client
from mcp.client.stdio import stdio_client

from mcp import StdioServerParameters

SEEN: list[str] = []
UPDATED = asyncio.Event()
PATIENCE_SECONDS = 20.0


async def sample(context: Any, params: Any) -> Any:
    """Answer a server that wants a completion."""
    SEEN.append("sampling")
    content = types.TextContent(type="text", text="a completion")
    return types.CreateMessageResult(role="assistant", content=content, model="scripted", stopReason="endTurn")


async def elicit(context: Any, params: Any) -> Any:
    """Answer a question: ours with yes, a server's with a form that is half filled."""
    if "[verdikt]" in params.message:
        return types.ElicitResult(action="accept", content={"allow": True})
    SEEN.append("elicitation")
    return types.ElicitResult(action="accept", content={"name": "Ada", "color": "#123456"})


async def list_roots(context: Any) -> Any:
    """Answer a server that wants the open directories."""
    SEEN.append("roots")
    return types.ListRootsResult(roots=[types.Root(uri="file:///srv/project", name="project")])


async def note_progress(progress: float, total: float | None, message: str | None) -> None:
    """Note a step of a long call."""
    SEEN.append(f"progress {progress:g}/{total or 0:g}")


async def note_message(message: Any) -> None:
    """Note that a resource is another one, however often the server says so."""
    if isinstance(message, types.ResourceUpdatedNotification):
        UPDATED.set()


async def await_update() -> str:
    """Wait for the first such note."""
    await asyncio.wait_for(UPDATED.wait(), PATIENCE_SECONDS)
    return "updated"


async def listen(client: Client, uri: str, tool: str) -> str:
    """Listen for a change of a resource, which a tool makes, and return the event."""
    async with client.listen(resource_subscriptions=[uri]) as subscription:
        await client.call_tool(tool, {})
        return repr(await asyncio.wait_for(anext(subscription), PATIENCE_SECONDS))


async def await_file(path: str) -> str:
    """Return what a tool writes into a file."""
    for _ in range(int(PATIENCE_SECONDS * 20)):
        if os.path.exists(path):
            with open(path) as file:
                return file.read()
        await asyncio.sleep(0.05)
    return "nothing"


def start(client: Client, call: dict[str, Any]) -> Any:
    """Return what a call of the script does: a method of the client, or one of the functions above."""
    own = {"await_update": await_update, "await_file": await_file, "listen": partial(listen, client)}
    options = {"progress_callback": note_progress} if call.get("progress") else {}
    return own.get(call["do"], getattr(client, call["do"], None))(*call.get("args", []), **options)


def dump(value: Any) -> Any:
    """Return what the client got, as plain data."""
    if isinstance(value, str):
        return value
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


async def attempt(work: Any) -> Any:
    """Return what came of a request, or the error it ended with."""
    try:
        return dump(await work)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


async def cancel(work: Any, seconds: float) -> str:
    """Give a request up after a while, and say whether that worked."""
    try:
        await asyncio.wait_for(work, seconds)
    except TimeoutError:
        return "cancelled"
    return "ended by itself"


async def drive(client: Client, calls: list[dict[str, Any]]) -> dict[str, Any]:
    """Do everything with the server."""
    report: dict[str, Any] = {
        "version": client.protocol_version,
        "server": dump(client.server_info) if client.server_info else None,
        "capabilities": dump(client.server_capabilities),
        "instructions": client.instructions,
        "tools": await attempt(client.list_tools()),
        "resources": await attempt(client.list_resources()),
        "templates": await attempt(client.list_resource_templates()),
        "prompts": await attempt(client.list_prompts()),
        "calls": [],
    }
    for call in calls:
        work = start(client, call)
        if "cancel_after" in call:
            report["calls"].append(await cancel(work, call["cancel_after"]))
            continue
        report["calls"].append(await attempt(work))
    # What the server sends by itself may overtake the progress of a call, so only what came is compared.
    report["seen"] = sorted(SEEN)
    return report


async def main() -> None:
    """Connect, do everything, print the report."""
    mode, target = sys.argv[1], sys.argv[2]
    if target == "--":
        command = sys.argv[3:]
        server = stdio_client(StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ)))
    else:
        server = target
    callbacks = {"sampling_callback": sample, "elicitation_callback": elicit, "list_roots_callback": list_roots}
    async with Client(server, mode=mode, cache=None, message_handler=note_message, **callbacks) as client:
        print(json.dumps(await drive(client, json.load(sys.stdin))))


if __name__ == "__main__":
    asyncio.run(main())
