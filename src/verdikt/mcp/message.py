"""JSON-RPC messages as MCP uses them: strict decoding, our own encoding, and the messages that the relay builds.

Two decoders rarely agree on everything that is almost JSON. What the relay has decided on must be what the other side
runs, so a message is decoded strictly, and only our own encoding of it is forwarded, never the bytes that came in.
"""

from __future__ import annotations

import enum
from _json import make_encoder
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from json import loads
from typing import Any, NoReturn, TypeGuard
from unicodedata import normalize

from verdikt.errors import CanonicalError, McpError
from verdikt.model.canonical_json import MAX_SAFE_INTEGER, parse_json, quote_text

MAX_MESSAGE_BYTES = 16 * 1024 * 1024
"""Longest message that is relayed."""

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
INTERNAL_ERROR = -32603
HEADER_MISMATCH = -32020
REFUSED = -32000
"""Error code of what the policy refuses and MCP has no result for; from the range that JSON-RPC leaves to servers."""

_FIELDS = frozenset({"jsonrpc", "id", "method", "params", "result", "error"})
_MAX_ID_LENGTH = 256

# Characters at which some readers of lines begin a new one; JSON lets them stand in a text as they are.
_LINE_SEPARATORS = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}


def _refuse_value(value: object) -> NoReturn:
    raise TypeError(f"expected plain data, found {type(value).__name__}")


# What `json.dumps` uses too, with a quoting that is faster for long texts.
_encode_parts = make_encoder(None, _refuse_value, quote_text, None, ":", ",", False, False, False)

RequestId = str | int


class MessageError(McpError):
    """A message that is not relayed. `code` is JSON-RPC's code of the error; `id` is the request's, if it is known."""

    def __init__(self, text: str, code: int = INVALID_REQUEST, request_id: RequestId | None = None) -> None:
        super().__init__(text)
        self.code = code
        self.id = request_id


class MessageKind(enum.StrEnum):
    """The three forms of a JSON-RPC message."""

    REQUEST = "request"
    NOTIFICATION = "notification"
    RESPONSE = "response"


@dataclass(frozen=True, slots=True)
class Message:
    """One decoded message. `body` holds nothing but the fields of JSON-RPC; it must not be changed."""

    kind: MessageKind
    body: Mapping[str, Any]

    @property
    def id(self) -> RequestId | None:
        """The id of a request or a response; None for a notification."""
        return self.body.get("id")

    @property
    def method(self) -> str:
        """The method of a request or a notification; empty for a response."""
        return str(self.body.get("method", ""))

    @property
    def params(self) -> Mapping[str, Any]:
        """The parameters, empty when absent."""
        params = self.body.get("params")
        return params if type(params) is dict or isinstance(params, Mapping) else {}

    @property
    def result(self) -> Any:
        """The result of a response; None for an error."""
        return self.body.get("result")

    def replace_params(self, params: Mapping[str, Any]) -> Message:
        """Return the message with other parameters."""
        return Message(self.kind, {**self.body, "params": params})

    def replace_result(self, result: Any) -> Message:
        """Return the response with another result."""
        return Message(self.kind, {**self.body, "result": result})


def decode_message(data: bytes) -> Message:
    """Return the one message in these bytes; raise `MessageError` for anything that could be read in two ways."""
    if len(data) > MAX_MESSAGE_BYTES:
        raise MessageError(f"expected a message of at most {MAX_MESSAGE_BYTES} bytes, found more")
    try:
        document = parse_json(data)
    except CanonicalError as error:
        raise MessageError(f"expected one JSON message: {error}", PARSE_ERROR) from error
    if isinstance(document, list):
        # One entry of a batch could be refused and the next one run; the protocol dropped batches as well.
        raise MessageError("expected one message, found a batch; send the messages one by one")
    if not isinstance(document, dict):
        raise MessageError("expected a JSON object as message, found something else")
    return _check_message(document)


def _check_message(document: dict[str, Any]) -> Message:
    request_id = _check_id(document)
    if document.get("jsonrpc") != "2.0":
        raise MessageError('expected `"jsonrpc": "2.0"`, found something else', request_id=request_id)
    refuse_lookalike_keys(document, _FIELDS, request_id)
    body = document if document.keys() <= _FIELDS else {key: document[key] for key in document if key in _FIELDS}
    has_answer = "result" in body or "error" in body
    if "method" not in body:
        if not has_answer or ("result" in body and "error" in body) or "id" not in body:
            raise MessageError("expected a method, or an id with a result or an error", request_id=request_id)
        return Message(MessageKind.RESPONSE, body)
    if has_answer or not isinstance(body["method"], str):
        raise MessageError("expected a method as text, and no result beside it", request_id=request_id)
    if "params" in body and body["params"] is None:
        body = {key: value for key, value in body.items() if key != "params"}  # some clients write null for none
    params = body.get("params", {})
    if not isinstance(params, dict):
        raise MessageError("expected `params` to be an object, found something else", request_id=request_id)
    if "id" not in body:
        return Message(MessageKind.NOTIFICATION, body)
    if request_id is None:
        raise MessageError("expected an id that is text or a whole number, found null")
    return Message(MessageKind.REQUEST, body)


def is_request_id(value: object) -> TypeGuard[RequestId]:
    """Whether a value can be an id: text or a whole number."""
    return isinstance(value, str | int) and not isinstance(value, bool)


def _check_id(document: Mapping[str, Any]) -> RequestId | None:
    request_id = document.get("id")
    if request_id is not None and not is_request_id(request_id):
        raise MessageError("expected an id that is text or a whole number, found something else")
    if isinstance(request_id, str) and len(request_id) > _MAX_ID_LENGTH:
        raise MessageError(f"expected an id of at most {_MAX_ID_LENGTH} characters, found more")
    if isinstance(request_id, int) and abs(request_id) > MAX_SAFE_INTEGER:
        # A peer whose numbers are doubles would answer another request than it was sent.
        raise MessageError("expected an id below 2^53, found a greater one")
    return request_id


def refuse_lookalike_keys(mapping: Mapping[str, Any], known: frozenset[str], request_id: RequestId | None) -> None:
    """Raise `MessageError` for a key that differs from a known one, or from another, by capital letters alone.

    Some decoders ignore case, and take the last of two such keys: they would run another call than we decided on.
    """
    folded = _fold_keys(known)
    seen_keys: set[str] = set()
    for key in mapping:
        plain = key.casefold()
        if plain in seen_keys or (plain in folded and key not in known):
            text = f"expected each key once, found `{key[:80]}` in another spelling too"
            raise MessageError(text, request_id=request_id)
        seen_keys.add(plain)


@lru_cache(maxsize=64)
def _fold_keys(keys: frozenset[str]) -> frozenset[str]:
    return frozenset(map(str.casefold, keys))


def refuse_lookalike_method(method: str, governed: frozenset[str], request_id: RequestId | None) -> None:
    """Raise `MessageError` for a method that only looks like one that is decided on: a lenient peer may take it so."""
    if method not in governed and _fold_method(method) in {_fold_method(name) for name in governed}:
        raise MessageError(f"expected a method as it is spelt, found `{method[:80]}`", request_id=request_id)


@lru_cache(maxsize=256)
def _fold_method(method: str) -> str:
    plain = normalize("NFKC", method).casefold()
    return "".join(character for character in plain if character.isalnum())


def encode_message(message: Message) -> bytes:
    """Return our own encoding of a message: one line without its end."""
    text = "".join(_encode_parts(message.body, 0))
    return text.encode() if text.isascii() else text.translate(_LINE_SEPARATORS).encode()


def guess_response_id(data: bytes) -> RequestId | None:
    """Return the id in a response that could not be decoded, if a lenient reader finds one.

    Only good for telling the client that its answer is lost: nothing else of such a message is used.
    """
    try:
        document = loads(data)
    except (ValueError, RecursionError):
        return None
    request_id = document.get("id") if isinstance(document, dict) and "method" not in document else None
    return request_id if is_request_id(request_id) else None


def build_request(request_id: RequestId, method: str, params: Mapping[str, Any]) -> Message:
    """Return a request of the relay's own."""
    body = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
    return Message(MessageKind.REQUEST, body)


def build_notification(method: str, params: Mapping[str, Any]) -> Message:
    """Return a notification of the relay's own."""
    return Message(MessageKind.NOTIFICATION, {"jsonrpc": "2.0", "method": method, "params": params})


def build_result(request_id: RequestId, result: Mapping[str, Any]) -> Message:
    """Return the response to a request that succeeded."""
    return Message(MessageKind.RESPONSE, {"jsonrpc": "2.0", "id": request_id, "result": result})


def build_error(request_id: RequestId | None, code: int, text: str) -> Message:
    """Return the response to a request that is refused."""
    body = {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": text}}
    return Message(MessageKind.RESPONSE, body)


def build_tool_refusal(request_id: RequestId, text: str, *, is_modern: bool) -> Message:
    """Return the result of a tool call that was refused.

    A result and not an error: clients show its text to the model, which can then do something else.
    """
    result: dict[str, Any] = {"content": [{"type": "text", "text": text}], "isError": True}
    return build_result(request_id, result | ({"resultType": "complete"} if is_modern else {}))
