"""Prints call times as the client of the `mcp` SDK sees them; runs in the environment of `tests.mcp_servers.install`.

`call_timer.py CALLS`, with the commands to compare as JSON on stdin: name → command. They take turns: first with a
pause before each call, then each with a row of calls of which one follows the other. Prints both lists of times.
"""

import asyncio
import json
import os
import sys
import time
from contextlib import AsyncExitStack

from mcp.client.client import Client
from mcp.client.stdio import stdio_client

from mcp import StdioServerParameters

PAUSE_SECONDS = 0.005
"""Between two calls of one server: 200 calls a second, of which none waits for the record of the one before."""


ROW_CALLS = 20
"""Calls of one server that follow each other without a pause."""


async def measure(commands: dict[str, list[str]], calls: int) -> list[dict[str, list[float]]]:
    """Return the seconds of each call by command, with pauses and without."""
    times: dict[str, list[float]] = {name: [] for name in commands}
    row_times: dict[str, list[float]] = {name: [] for name in commands}
    async with AsyncExitStack() as stack:
        clients = {}
        for name, command in commands.items():
            parameters = StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))
            clients[name] = await stack.enter_async_context(Client(stdio_client(parameters), cache=None))
            await clients[name].list_tools()
        for number in range(calls + 20):
            for name, client in clients.items():
                await asyncio.sleep(PAUSE_SECONDS)
                started = time.perf_counter()
                await client.call_tool("echo", {"message": "hello"})
                if number >= 20:
                    times[name].append(time.perf_counter() - started)
        for _ in range(calls // ROW_CALLS):
            for name, client in clients.items():
                for _ in range(ROW_CALLS):
                    started = time.perf_counter()
                    await client.call_tool("echo", {"message": "hello"})
                    row_times[name].append(time.perf_counter() - started)
    return [times, row_times]


if __name__ == "__main__":
    print(json.dumps(asyncio.run(measure(json.load(sys.stdin), int(sys.argv[1])))))
