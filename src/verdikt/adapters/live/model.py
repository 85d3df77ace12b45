"""A model that says what a script tells it, on loopback, in the three interfaces that the clients speak."""

import gzip
import json
import threading
import zlib
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from verdikt.adapters.live import speech
from verdikt.adapters.live.screenplay import Say, Screenplay

_SPEECH: dict[str, Callable[[Say, Mapping[str, Any]], bytes]] = {
    "/messages": speech.anthropic,
    "/responses": speech.responses,
    ":streamGenerateContent": speech.gemini,
}
"""How the path of a request ends → how the answer is put."""

_DECODERS: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.decompress, "deflate": zlib.decompress}


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is no news."""


class ScriptedModel:
    """The model, listening while inside `with`. `requests` is every request for an answer, in order."""

    def __init__(self, script: Screenplay) -> None:
        self._script = script
        self._lock = threading.Lock()
        self._said: dict[str, int] = {}
        self.requests: list[dict[str, Any]] = []
        self._server = _Server(("127.0.0.1", 0), _door(self))
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def heard(self, text: str) -> bool:
        """Whether a client ever sent this text."""
        # As it stands inside a JSON string.
        needle = json.dumps(text)[1:-1]
        return any(needle in json.dumps(request) for request in self.requests)

    def answer(self, request: dict[str, Any]) -> Say:
        """The next turn of the conversation that the request belongs to."""
        text = json.dumps(request)
        with self._lock:
            self.requests.append(request)
            name = next((word for word in self._script.asides if word in _opening(request)), "")
            if not name and not request.get("tools") and '"additional_tools"' not in text:
                return self._script.silence
            turns = self._script.asides[name] if name else self._script.turns
            index = self._said.get(name, 0)
            self._said[name] = index + 1
        return turns[index] if index < len(turns) else self._script.silence


def _opening(request: Mapping[str, Any]) -> str:
    """What the conversation began with: the system's words and the first of the person's."""
    messages = request.get("messages") or request.get("contents") or []
    if "input" in request:
        items = request["input"] if isinstance(request["input"], list) else [request["input"]]
        messages = [item for item in items if isinstance(item, Mapping) and item.get("role") == "user"]
        return json.dumps(messages)
    return json.dumps([request.get("system"), request.get("systemInstruction"), *messages[:1]])


def _door(model: ScriptedModel) -> type[BaseHTTPRequestHandler]:
    class _Door(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing: a test's output is its own."""

        def _body(self) -> bytes:
            if "chunked" in self.headers.get("transfer-encoding", ""):
                body = b""
                while size := int(self.rfile.readline().split(b";")[0], 16):
                    body += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
            else:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
            return _DECODERS.get(self.headers.get("content-encoding", ""), bytes)(body)

        def _send(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            try:
                self.wfile.write(body)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def do_GET(self) -> None:
            """Lists of models and the like."""
            self._send(200, "application/json", b'{"object":"list","data":[],"models":[]}')

        def do_POST(self) -> None:
            """A turn, or a count of tokens."""
            try:
                request = json.loads(self._body() or b"{}")
            except (ValueError, OSError, zlib.error):
                self._send(400, "application/json", b"{}")
                return
            path = self.path.split("?")[0]
            put = next((put for end, put in _SPEECH.items() if path.endswith(end)), None)
            if put is None or not isinstance(request, dict):
                self._send(200, "application/json", b'{"input_tokens":10,"totalTokens":10}')
                return
            self._send(200, "text/event-stream", put(model.answer(request), request))

    return _Door
