"""An MCP server over HTTP for tests: answers as JSON or as events, in both eras, and notes what reached it."""

import json
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

NAMES = (
    "get_note",
    "get_stream",
    "get_sample",
    "get_broken",
    "get_refused",
    "delete_note",
    "frobnicate",
    "get_wait",
    "get_later",
)
SESSION = "session-1"


class ScriptedHttpServer(ThreadingHTTPServer):
    """Listens on loopback."""

    daemon_threads = True

    def __init__(self, *, is_legacy: bool = False, token: str = "") -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.is_legacy = is_legacy
        """Whether it speaks the transport of 2024 only."""
        self.token = token
        self.is_silent = False
        """Whether it never says that it has a notification."""
        self.challenge = ""
        """What a request without the token is answered with, beside the status."""
        self.metadata: dict[str, dict[str, Any]] = {}
        """Path → where to log in."""
        self.streams: list[_Handler] = []
        self.deleted: list[str] = []
        self.calls: list[str] = []
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.answers: dict[str, Any] = {}
        self.later: dict[str, Any] = {}
        self.missing_streams = 0
        """How many requests for a stream of events it refuses."""
        """What the resumption of a stream brings."""
        self.has_answer = threading.Event()
        self.was_cut = threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        """The server's address."""
        return f"http://127.0.0.1:{self.server_port}/mcp"

    def close(self) -> None:
        """Stop listening."""
        self.was_cut.set()
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: ScriptedHttpServer
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        if self.server.is_legacy and self.path == "/mcp":
            self._send(405)
            return
        if self.server.token and self.headers.get("authorization") != f"Bearer {self.server.token}":
            self._refuse_login()
            return
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.bodies.append(body)
        self.server.headers.append({name.lower(): value for name, value in self.headers.items()})
        if self.server.is_legacy:
            self._answer_on_stream(body)
        elif "method" not in body:
            self.server.answers[body["id"]] = body
            self.server.has_answer.set()
            self._send(202)
        elif "id" not in body:
            if self.server.is_silent:
                self.server.was_cut.wait(30)
            self._send(202)
        elif body["method"] == "tools/call":
            self._call(body)
        else:
            self._send_json({"id": body["id"], "result": self._describe(body["method"])})

    def _answer_on_stream(self, body: Mapping[str, Any]) -> None:
        self._send(202)
        if "id" not in body:
            return
        is_call = body["method"] == "tools/call"
        self.server.calls += [body["params"]["name"]] if is_call else []
        result = {"content": [{"type": "text", "text": "ran"}]} if is_call else self._describe(body["method"])
        self.server.streams[0]._event({"id": body["id"], "result": result})

    def _refuse_login(self) -> None:
        data = b'{"error": "invalid_token"}'
        self.close_connection = True
        self.send_response(401)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        if self.server.challenge:
            self.send_header("WWW-Authenticate", self.server.challenge)
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        if self.path.startswith("/.well-known/"):
            metadata = self.server.metadata.get(self.path)
            self._send(404) if metadata is None else self._send_json(metadata)
            return
        if self.server.missing_streams:
            self.server.missing_streams -= 1
            self._send(405)
            return
        self._begin_events()
        if self.headers["last-event-id"] == "later":
            self._event(self.server.later, event_id="8")
            return
        if self.server.is_legacy:
            self._write(b"event: endpoint\ndata: /messages?session=1\n\n")
            self.server.streams.append(self)
            self.server.was_cut.wait(30)
            return
        self._event({"method": "notifications/message", "params": {"data": "hello"}}, event_id="7")

    def do_DELETE(self) -> None:
        self.server.deleted.append(self.headers["mcp-session-id"])
        self._send(200)

    def _describe(self, method: str) -> dict[str, Any]:
        if method == "initialize":
            info = {"name": "scripted", "version": "1"}
            return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
        if method == "tools/list":
            folder = {"folder": {"type": "string", "x-mcp-header": "Folder"}}
            properties = {
                "id": {"type": "string", "x-mcp-header": "Note"},
                "author": {"type": "string", "x-mcp-header": "Author"},
                "place": {"type": "object", "properties": folder},
            }
            schema = {"type": "object", "properties": properties}
            return {"tools": [{"name": name, "description": "A tool.", "inputSchema": schema} for name in NAMES]}
        return {}

    def _call(self, body: Mapping[str, Any]) -> None:
        tool, result = body["params"]["name"], {"content": [{"type": "text", "text": "ran"}]}
        self.server.calls.append(tool)
        if tool == "get_refused":
            self._send_json({"id": None, "error": {"code": -32020, "message": "no"}}, 400)
        elif tool == "get_broken":
            self._begin_events()
            self._write(b"data: not json\n\n: comment\n\nretry: 5\nid: 3\ndata:\n\n")
            self._event({"id": "never-asked", "result": {}})
            self._event({"id": body["id"], "result": result})
        elif tool == "get_stream":
            self._begin_events()
            self._event({"method": "notifications/progress", "params": {"progress": 1}}, event_id="1")
            self._event({"id": body["id"], "result": result})
        elif tool == "get_sample":
            self._begin_events()
            self._event({"id": "s-1", "method": "sampling/createMessage", "params": {"messages": []}})
            self.server.has_answer.wait(10)
            self._event({"id": body["id"], "result": result})
        elif tool == "get_later":
            self.server.later = {"id": body["id"], "result": result}
            self._begin_events()
            self._write(b"retry: 100\nid: later\ndata:\n\n")
        elif tool == "get_wait":
            self._begin_events()
            try:
                for _ in range(100):
                    self._write(b": waiting\n\n")
                    threading.Event().wait(0.05)
            except OSError:
                self.server.was_cut.set()
        else:
            self._send_json({"id": body["id"], "result": result})

    def _begin_events(self) -> None:
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()

    def _event(self, body: Mapping[str, Any], event_id: str = "") -> None:
        data = json.dumps({"jsonrpc": "2.0", **body}).encode()
        self._write((f"id: {event_id}\n".encode() if event_id else b"") + b"event: message\ndata: " + data + b"\n\n")

    def _write(self, data: bytes) -> None:
        self.wfile.write(data)
        self.wfile.flush()

    def _send_json(self, body: Mapping[str, Any], status: int = 200) -> None:
        data = json.dumps({"jsonrpc": "2.0", **body}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Mcp-Session-Id", SESSION)
        self.end_headers()
        self.wfile.write(data)

    def _send(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        pass
