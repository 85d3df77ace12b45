"""POST to an address that a person entered, without letting it reach what only this service can reach.

The name is resolved once, every address of it must be public or listed by the administrator, and the connection goes to
the very address that was checked: a name that resolves to another one a moment later changes nothing. Redirects are not
followed, the answer is not kept, and all of it has a limit of time.
"""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult, urlsplit

from verdikt.errors import ServiceError, WireError

TIMEOUT_SECONDS = 5.0
MAX_STATUS_BYTES = 4096

Resolver = Callable[[str, int], list[str]]
"""(name, port) → addresses."""

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class DeliveryFailed(ServiceError):
    """A message that did not arrive; the text says why, without what the other side answered."""


@dataclass(frozen=True, slots=True)
class CheckedTarget:
    """A checked address: where to connect, and what to ask there."""

    scheme: str
    host: str
    port: int
    path: str
    address: str


@dataclass(frozen=True, slots=True)
class SafeSender:
    """Sends to public addresses, and to those that the administrator lists (`host`, `host:port` or a network)."""

    allowed: frozenset[str] = frozenset()
    resolve: Resolver = field(default_factory=lambda: resolve_name)
    tls: ssl.SSLContext | None = None

    def check_url(self, url: str) -> CheckedTarget:
        """Return where a URL leads; raise `WireError` when it leads to a place that is not public."""
        parts, host, port = _split_url(url)
        is_listed = host in self.allowed or f"{host}:{port}" in self.allowed
        if parts.scheme == "http" and not is_listed:
            raise WireError("expected `https://`: a message is not sent in the clear")
        try:
            addresses = self.resolve(host, port)
        except (OSError, UnicodeError) as error:
            # A part of a name that is empty or too long is an error of its encoding.
            raise DeliveryFailed(f"`{host}` cannot be resolved") from error
        if not addresses:
            raise DeliveryFailed(f"`{host}` cannot be resolved")
        for address in addresses:
            if not is_listed and not self._is_permitted(address):
                # All of them, not the first: which one is used is not ours to choose.
                raise WireError(f"`{host}` leads to {address}, which is not a public address")
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        return CheckedTarget(parts.scheme, host, port, path, addresses[0])

    def _is_permitted(self, text: str) -> bool:
        address = parse_address(text)
        return is_public(address) or any(address in network for network in _list_networks(self.allowed))

    def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> None:
        """Send a message; raise `DeliveryFailed` unless the other side takes it."""
        target = self.check_url(url)
        connection = _Connection(target, self.tls)
        # One limit for all of it: an answer that comes byte by byte would begin each read's own time again.
        alarm = threading.Timer(TIMEOUT_SECONDS, connection.abort)
        alarm.start()
        try:
            connection.request("POST", target.path, body, {**headers, "Connection": "close"})
            response = connection.getresponse()
            response.read(MAX_STATUS_BYTES)
        except (OSError, http.client.HTTPException) as error:
            raise DeliveryFailed(f"`{target.host}` does not answer: {type(error).__name__}") from error
        finally:
            alarm.cancel()
            connection.close()
        if 300 <= response.status < 400:
            raise DeliveryFailed(f"`{target.host}` answers with a redirect, which is not followed")
        if not 200 <= response.status < 300:
            raise DeliveryFailed(f"`{target.host}` answers {response.status}")


class _Connection(http.client.HTTPConnection):
    """Connects to the checked address, while name and certificate stay those of the URL."""

    def __init__(self, target: CheckedTarget, tls: ssl.SSLContext | None) -> None:
        super().__init__(target.host, target.port, timeout=TIMEOUT_SECONDS)
        self._target = target
        self._tls = (tls or ssl.create_default_context()) if target.scheme == "https" else None

    def connect(self) -> None:
        """Open the connection."""
        sock: Any = socket.create_connection((self._target.address, self._target.port), TIMEOUT_SECONDS)
        if self._tls is not None:
            sock = self._tls.wrap_socket(sock, server_hostname=self._target.host)
        self.sock = sock

    def abort(self) -> None:
        """End the connection from another thread."""
        sock = self.sock
        if sock is not None:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)


def _split_url(url: str) -> tuple[SplitResult, str, int]:
    """Return the parts of a URL, its host and its port; raise `WireError` unless it is one that can be sent to."""
    if not url.isascii() or not url.isprintable() or " " in url:
        raise WireError("expected an address in ASCII: `%C3%A9` for `é` in its path, `xn--…` in its name")
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        parts, port = urlsplit(""), 0
    if parts.scheme not in ("http", "https") or not parts.hostname or not port or parts.username is not None:
        raise WireError("expected an address such as `https://hooks.example/…`")
    return parts, parts.hostname, port


def resolve_name(host: str, port: int) -> list[str]:
    """Return every address of a name."""
    address_infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in address_infos))


def parse_address(text: str) -> _Address:
    """Return an address; one of IPv4 that is written as IPv6 is what it stands for."""
    address = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address.sixtofour is not None:
            return address.sixtofour
        # NAT64 translates the last four bytes.
        if address in ipaddress.ip_network("64:ff9b::/96"):
            return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def is_public(address: _Address) -> bool:
    """Return whether everybody could reach an address: no private, local, shared, reserved or group address is one."""
    return address.is_global and not address.is_multicast and not address.is_reserved


def _list_networks(allowed: Iterable[str]) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    networks = []
    for text in allowed:
        try:
            networks.append(ipaddress.ip_network(text, strict=False))
        except ValueError:
            continue  # the name of a host
    return networks
