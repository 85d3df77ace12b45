"""Headers of MCP over HTTP: who may call, what must agree with the body, and what is passed on."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from socket import gethostname
from typing import Any
from urllib.parse import urlsplit

from verdikt.mcp.message import HEADER_MISMATCH, Message, MessageError
from verdikt.mcp.protocol_era import PROTOCOL_VERSION_KEY
from verdikt.mcp.server_address import JSON_TYPE

SESSION_HEADER = "mcp-session-id"
METHOD_HEADER = "mcp-method"
NAME_HEADER = "mcp-name"
VERSION_HEADER = "mcp-protocol-version"
PARAM_PREFIX = "mcp-param-"

_EVERY_ADDRESS = ("0.0.0.0", "::")
_LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
_NAMED_PARAMS = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    **dict.fromkeys(("tasks/get", "tasks/update", "tasks/cancel"), "taskId"),
}
_SINGLE_HEADERS = (SESSION_HEADER, METHOD_HEADER, NAME_HEADER, VERSION_HEADER, "content-length", "content-type", "host")

_REQUEST_HEADERS_DROPPED = frozenset(
    "host content-length content-type content-encoding transfer-encoding connection keep-alive upgrade te trailer "
    "accept-encoding expect origin referer proxy-connection proxy-authorization forwarded x-forwarded-for "
    "cookie".split()
)
_RESPONSE_HEADERS_PASSED = frozenset("cache-control www-authenticate retry-after allow last-event-id".split())


def is_own_host(host: str | None, own_name: str) -> bool:
    """Whether a `Host` header names this machine: a page of another site can only reach us under another name."""
    name = _parse_name(f"//{host}") if host else ""
    if own_name in _EVERY_ADDRESS:
        # Any address of this machine may be meant. A page that has its own name resolve to one still sends the name.
        return _is_ip_address(name) or name in (*_LOOPBACK_NAMES, gethostname().lower())
    return bool(name) and name in (*_LOOPBACK_NAMES, own_name)


def _is_ip_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def is_allowed_origin(origin: str | None, allowed: Iterable[str] = ()) -> bool:
    """Whether a request may come from there: from no web page, from one of this machine, or from one that was named."""
    return origin is None or origin in allowed or (origin != "null" and _parse_name(origin) in _LOOPBACK_NAMES)


def _parse_name(address: str) -> str:
    try:
        return (urlsplit(address).hostname or "").lower()
    except ValueError:
        return ""


def check_agreement(pairs: Iterable[tuple[str, str]], message: Message, schema: object = None) -> None:
    """Raise `MessageError` where a header contradicts the body, or is there twice.

    Gateways and servers may go by the headers; the relay decides on the body.
    """
    headers: dict[str, str] = {}
    for name, value in pairs:
        if name.lower() in headers and (name.lower() in _SINGLE_HEADERS or name.lower().startswith(PARAM_PREFIX)):
            raise _build_mismatch_error(name, message)
        headers[name.lower()] = value
    params = message.params
    meta = params.get("_meta")
    version = meta.get(PROTOCOL_VERSION_KEY) if isinstance(meta, Mapping) else None
    _check_header(headers, METHOD_HEADER, message.method or None, message)
    _check_header(headers, NAME_HEADER, params.get(_NAMED_PARAMS.get(message.method, "")), message)
    if version is not None:
        _check_header(headers, VERSION_HEADER, version, message)
    expected = _list_param_headers(schema, params.get("arguments"))
    for name in headers:
        if name.startswith(PARAM_PREFIX):
            _check_header(headers, name, expected.get(name), message)


def _check_header(headers: Mapping[str, str], name: str, expected: object, message: Message) -> None:
    if name in headers and decode_header(headers[name]) != expected:
        raise _build_mismatch_error(name, message)


def _build_mismatch_error(name: str, message: Message) -> MessageError:
    return MessageError(f"expected the header `{name}` once, and as the body says", HEADER_MISMATCH, message.id)


def decode_header(value: str) -> str | None:
    """Return a header's text, also from its base64 form; None for a damaged one."""
    if not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    payload = value[9:-2]
    try:
        data = base64.b64decode(payload, validate=True)
        return data.decode() if base64.b64encode(data).decode() == payload else None
    except (binascii.Error, UnicodeDecodeError):
        return None


def _list_param_headers(schema: object, arguments: object) -> dict[str, str]:
    """Return the headers that repeat arguments, by the tool's schema, with the values that they must have.

    Also for arguments inside others; one that is null has none.
    """
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping) or not isinstance(arguments, Mapping):
        return {}
    expected: dict[str, str] = {}
    for name, description in properties.items():
        header = description.get("x-mcp-header") if isinstance(description, Mapping) else None
        value = arguments.get(name)
        if isinstance(header, str) and value is not None:
            expected[f"{PARAM_PREFIX}{header.lower()}"] = _format_value(value)
        expected |= _list_param_headers(description, value)
    return expected


def _format_value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def build_agreeing_headers(message: Message, schema: object = None) -> dict[str, str]:
    """Return the headers of the new era that repeat what a body says; `check_agreement` accepts them."""
    name = message.params.get(_NAMED_PARAMS.get(message.method, ""))
    headers = {METHOD_HEADER: message.method, **({NAME_HEADER: name} if isinstance(name, str) else {})}
    headers |= _list_param_headers(schema, message.params.get("arguments"))
    return {header: encode_header(value) for header, value in headers.items()}


def encode_header(value: str) -> str:
    """Return a text as a header's value: as it is, or as base64 where a header could not carry it."""
    is_plain = value.isascii() and value.isprintable() and value == value.strip() and not value.startswith("=?base64?")
    return value if is_plain else f"=?base64?{base64.b64encode(value.encode()).decode()}?="


def select_request_headers(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the headers that a request keeps on its way to the server."""
    headers = {name: value for name, value in pairs if name.lower() not in _REQUEST_HEADERS_DROPPED}
    # What the server sends is decoded here, so it must not be compressed; and what it gets is our encoding, in UTF-8.
    return {**headers, "Accept-Encoding": "identity", "Content-Type": JSON_TYPE}


def select_response_headers(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the headers that a response keeps on its way to the client."""
    return [
        (name, value)
        for name, value in pairs
        if name.lower() in _RESPONSE_HEADERS_PASSED or name.lower().startswith("mcp-")
    ]
