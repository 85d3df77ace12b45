"""An MCP server for tests: does what a tool's name says, also what no honest server would do."""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

NAMES = """
get_note get_env delete_note frobnicate get_twice get_unknown_id get_garbage get_invalid_utf8 get_duplicate_keys
get_deep get_huge_line get_lone_surrogate get_null_character get_slowly get_stray_print get_exit get_flood
""".split()


def send(body: dict[str, Any]) -> None:
    """Send a message as honest servers do."""
    send_bytes(json.dumps({"jsonrpc": "2.0", **body}).encode())


def send_bytes(data: bytes) -> None:
    """Send a line."""
    sys.stdout.buffer.write(data + b"\n")
    sys.stdout.buffer.flush()


def send_text(request_id: Any, text: str) -> None:
    """Send the result of a call."""
    send({"id": request_id, "result": {"content": [{"type": "text", "text": text}]}})


def misbehave(tool: str, request_id: Any) -> None:
    """Do what a tool's name says, before its result is sent."""
    odd_lines = {
        "get_unknown_id": b'{"jsonrpc":"2.0","id":"never-asked","result":{"content":[]}}',
        "get_garbage": b"this is not JSON",
        "get_stray_print": b"Debug: starting",
        "get_invalid_utf8": b'{"jsonrpc":"2.0","method":"notifications/\xff"}',
        "get_duplicate_keys": b'{"jsonrpc":"2.0","method":"notifications/a","method":"notifications/b"}',
        "get_deep": b'{"jsonrpc":"2.0","method":"notifications/a","params":' + b'{"a":' * 900 + b"1" + b"}" * 901,
        "get_lone_surrogate": b'{"jsonrpc":"2.0","id":%d,"result":{"content":["\\ud800"]}}' % request_id,
        "get_huge_line": b'{"jsonrpc":"2.0","method":"notifications/' + b"x" * (50 * 1024 * 1024) + b'"}',
    }
    if tool in odd_lines:
        send_bytes(odd_lines[tool])
    elif tool == "get_twice":
        send_text(request_id, "first")
    elif tool == "get_flood":
        for number in range(500):
            send({"id": f"flood-{number}", "result": {}})
    elif tool == "get_exit":
        os._exit(3)
    elif tool == "get_slowly":
        line = json.dumps({"jsonrpc": "2.0", "method": "notifications/slow"}).encode() + b"\n"
        for number in range(len(line)):
            sys.stdout.buffer.write(line[number : number + 1])
            sys.stdout.buffer.flush()
            time.sleep(0.002)


def answer(message: dict[str, Any], seen: Path) -> None:
    """Answer one message of the client."""
    method, request_id = message.get("method"), message.get("id")
    if method == "initialize":
        info = {"name": "scripted", "version": "1"}
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
        send({"id": request_id, "result": result})
    elif method == "tools/list":
        # A test can have it say something else from the next list on.
        described = seen.with_suffix(".description")
        text = described.read_text() if described.exists() else "A tool."
        tools = [{"name": name, "description": text, "inputSchema": {"type": "object"}} for name in NAMES]
        send({"id": request_id, "result": {"tools": tools}})
    elif method == "tools/call":
        tool = message["params"]["name"]
        with seen.open("a") as file:
            file.write(f"{tool}\n")
        misbehave(tool, request_id)
        send_text(request_id, "\0" if tool == "get_null_character" else f"ran {tool}")
    elif request_id is not None:
        send({"id": request_id, "result": {}})


if __name__ == "__main__":
    for line in sys.stdin.buffer:
        answer(json.loads(line), Path(sys.argv[1]))
