"""The script as a Messages API on loopback, for a run of Claude Code without a key."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from examples.scene import SCRIPT, WORKSPACE, Step


@contextmanager
def serve_script() -> Iterator[dict[str, str]]:
    """Serve the script on loopback, and return the environment with which the client uses it."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield {
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.server_port}",
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CONFIG_DIR": str(WORKSPACE / ".claude-home"),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        """Answer with the step that follows what the model has said before."""
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        said = sum(message["role"] == "assistant" for message in request["messages"])
        is_agent = any(item.get("name") == "mcp__ops__sh" for item in request.get("tools") or ())
        step = SCRIPT[min(said, len(SCRIPT) - 1)] if is_agent else Step(text="ok")
        answer = "".join(
            f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in _build_events(step, said)
        )
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(answer.encode())

    def log_message(self, *args: Any) -> None:
        """Write nothing."""


def _build_events(step: Step, said: int) -> Iterator[dict[str, Any]]:
    block: dict[str, Any] = {"type": "text", "text": ""}
    delta: dict[str, Any] = {"type": "text_delta", "text": step.text}
    if step.command:
        block = {"type": "tool_use", "id": f"toolu_{said}", "name": "mcp__ops__sh", "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps({"command": step.command})}
    head = {"id": f"msg_{said}", "type": "message", "role": "assistant", "model": "scripted", "content": []}
    yield {"type": "message_start", "message": head | {"usage": {"input_tokens": 1, "output_tokens": 1}}}
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    reason = "tool_use" if step.command else "end_turn"
    yield {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 1}}
    yield {"type": "message_stop"}
