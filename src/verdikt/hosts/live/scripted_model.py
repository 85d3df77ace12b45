"""A model on loopback that says what a script tells it, in the three interfaces that the clients use."""

import gzip
import json
import threading
import zlib
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from verdikt.hosts.live import model_api
from verdikt.hosts.live.model_api import ModelTurn

_RENDERERS: dict[str, Callable[[ModelTurn, Mapping[str, Any]], bytes]] = {
    "/messages": model_api.stream_anthropic,
    "/responses": model_api.stream_openai_responses,
    ":streamGenerateContent": model_api.stream_gemini,
}
"""The end of a request's path → how the response is rendered."""

_DECODERS: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.decompress, "deflate": zlib.decompress}


class _QuietServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore a client that closes its connection."""


class ScriptedModel:
    """The model, which listens inside `with`. `requests` holds every request for a turn, in order."""

    def __init__(self, turns: Sequence[ModelTurn]) -> None:
        self._turns = turns
        self._lock = threading.Lock()
        self._turn_count = 0
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
        """Record a request and return the turn that responds to it."""
        with self._lock:
            self.requests.append(request)
            return self.choose_turn(request)

    def choose_turn(self, request: dict[str, Any]) -> ModelTurn:
        """Return the next turn of the script; called for one request at a time."""
        # Requests without tools ask for titles and summaries, and are no part of the conversation.
        if not request.get("tools") and '"additional_tools"' not in json.dumps(request):
            return ModelTurn("done")
        self._turn_count += 1
        return self._turns[self._turn_count - 1] if self._turn_count <= len(self._turns) else ModelTurn("done")


def _create_request_handler(model: ScriptedModel) -> type[BaseHTTPRequestHandler]:
    class _RequestHandler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:
            """Print nothing."""

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
            """Respond to requests for lists of models with an empty one."""
            self._send_body(200, "application/json", b'{"object":"list","data":[],"models":[]}')

        def do_POST(self) -> None:
            """Respond with a turn, or with a count of tokens."""
            try:
                request = json.loads(self._read_body() or b"{}")
            except (ValueError, OSError, zlib.error):
                self._send_body(400, "application/json", b"{}")
                return
            path = self.path.split("?")[0]
            render = next((render for end, render in _RENDERERS.items() if path.endswith(end)), None)
            if render is None or not isinstance(request, dict):
                self._send_body(200, "application/json", b'{"input_tokens":10,"totalTokens":10}')
                return
            self._send_body(200, "text/event-stream", render(model.take_turn(request), request))

    return _RequestHandler
