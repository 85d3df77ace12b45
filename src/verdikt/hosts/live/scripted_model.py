"""A model that says what a script tells it, on loopback, in the three interfaces that the clients speak."""

import gzip
import json
import threading
import zlib
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from verdikt.hosts.live import model_api
from verdikt.hosts.live.model_script import ModelScript, ModelTurn

_RENDERERS: dict[str, Callable[[ModelTurn, Mapping[str, Any]], bytes]] = {
    "/messages": model_api.stream_anthropic,
    "/responses": model_api.stream_openai_responses,
    ":streamGenerateContent": model_api.stream_gemini,
}
"""How the path of a request ends → how the answer is put."""

_DECODERS: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.decompress, "deflate": zlib.decompress}


class _QuietServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is no news."""


class ScriptedModel:
    """The model, listening while inside `with`. `requests` is every request for an answer, in order."""

    def __init__(self, script: ModelScript) -> None:
        self._script = script
        self._lock = threading.Lock()
        self._turn_counts: dict[str, int] = {}
        self.requests: list[dict[str, Any]] = []
        self._server = _QuietServer(("127.0.0.1", 0), _create_request_handler(self))
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def has_received(self, text: str) -> bool:
        """Whether a client ever sent this text."""
        # As it stands inside a JSON string.
        needle = json.dumps(text)[1:-1]
        return any(needle in json.dumps(request) for request in self.requests)

    def take_turn(self, request: dict[str, Any]) -> ModelTurn:
        """The next turn of the conversation that the request belongs to."""
        text = json.dumps(request)
        with self._lock:
            self.requests.append(request)
            name = next((word for word in self._script.side_conversations if word in _get_opening_text(request)), "")
            if not name and not request.get("tools") and '"additional_tools"' not in text:
                return self._script.default_turn
            turns = self._script.side_conversations[name] if name else self._script.turns
            index = self._turn_counts.get(name, 0)
            self._turn_counts[name] = index + 1
        return turns[index] if index < len(turns) else self._script.default_turn


def _get_opening_text(request: Mapping[str, Any]) -> str:
    """What the conversation began with: the system's words and the first of the person's."""
    messages = request.get("messages") or request.get("contents") or []
    if "input" in request:
        items = request["input"] if isinstance(request["input"], list) else [request["input"]]
        messages = [item for item in items if isinstance(item, Mapping) and item.get("role") == "user"]
        return json.dumps(messages)
    return json.dumps([request.get("system"), request.get("systemInstruction"), *messages[:1]])


def _create_request_handler(model: ScriptedModel) -> type[BaseHTTPRequestHandler]:
    class _RequestHandler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing: a test's output is its own."""

        def _read_body(self) -> bytes:
            if "chunked" in self.headers.get("transfer-encoding", ""):
                body = b""
                while size := int(self.rfile.readline().split(b";")[0], 16):
                    body += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
            else:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
            return _DECODERS.get(self.headers.get("content-encoding", ""), bytes)(body)

        def _send_body(self, status: int, content_type: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("content-type", content_type)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            try:
                self.wfile.write(body)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def do_GET(self) -> None:
            """Lists of models and the like."""
            self._send_body(200, "application/json", b'{"object":"list","data":[],"models":[]}')

        def do_POST(self) -> None:
            """A turn, or a count of tokens."""
            try:
                request = json.loads(self._read_body() or b"{}")
            except (ValueError, OSError, zlib.error):
                self._send_body(400, "application/json", b"{}")
                return
            path = self.path.split("?")[0]
            put = next((put for end, put in _RENDERERS.items() if path.endswith(end)), None)
            if put is None or not isinstance(request, dict):
                self._send_body(200, "application/json", b'{"input_tokens":10,"totalTokens":10}')
                return
            self._send_body(200, "text/event-stream", put(model.take_turn(request), request))

    return _RequestHandler
