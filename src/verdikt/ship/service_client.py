"""Requests to a team service, made so that no answer, however slow, large or wrong, can hold this process."""

from __future__ import annotations

import http.client
import json
import ssl
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from verdikt.errors import ServiceError
from verdikt.team.host_name import is_loopback

if TYPE_CHECKING:
    from verdikt.observe.clock import Clock
    from verdikt.ship.machine_identity import MachineIdentity

TIMEOUT_SECONDS = 10.0
DEADLINE_SECONDS = 60.0
MAX_ANSWER_BYTES = 4 << 20


class Unreachable(ServiceError):
    """A service that does not answer, or not now; `retry_seconds` is what it asked for, or 0."""

    def __init__(self, message: str, retry_seconds: float = 0.0) -> None:
        super().__init__(message)
        self.retry_seconds = retry_seconds


class Refused(ServiceError):
    """An answer that repeating the request does not change."""

    def __init__(self, status: int, message: str, answer: dict[str, Any]) -> None:
        super().__init__(message)
        self.status = status
        self.answer = answer


class ServiceClient:
    """Calls one service, over TLS unless it is on this machine; `ca` are the only authorities it trusts, if any."""

    def __init__(
        self, url: str, clock: Clock, identity: MachineIdentity | None = None, machine: int = 0, *, ca: str = ""
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path not in ("", "/"):
            raise ServiceError(f"expected an address such as `https://verdikt.example`, found `{url}`")
        if parts.scheme == "http" and not is_loopback(parts.hostname):
            raise ServiceError(f"expected `https://`, found `{url}`: a log is not sent in the clear")
        self._host, self._port, self._is_secure = parts.hostname, parts.port, parts.scheme == "https"
        self._ca = ca
        self._clock = clock
        self._identity = identity
        self._machine = machine
        self._clock_offset = 0

    def call(self, method: str, path: str, body: bytes = b"", *, is_signed: bool = True) -> dict[str, Any]:
        """Return the answer; a wrong clock is corrected once by the time that the service names."""
        try:
            return self._request(method, path, body, is_signed=is_signed)
        except Refused as error:
            service_time = error.answer.get("time")
            if error.status != 401 or type(service_time) is not int or not is_signed:
                raise
            self._clock_offset = service_time - int(self._clock.now())
            return self._request(method, path, body, is_signed=is_signed)

    def _request(self, method: str, path: str, body: bytes, *, is_signed: bool) -> dict[str, Any]:
        headers = {"Content-Type": "application/octet-stream"}
        if is_signed and self._identity:
            time = int(self._clock.now()) + self._clock_offset
            headers["Authorization"] = self._identity.sign_request(self._machine, method, path, body, time)
        connection = self._connect()
        try:
            connection.request(method, path, body or None, headers)
            response = connection.getresponse()
            answer = self._read_answer(response)
        except ssl.SSLCertVerificationError as error:
            raise Unreachable(
                f"the certificate of {self._host} is not trusted here: {error.verify_message}; `verdikt ship enrol URL "
                "--ca FILE` names an authority of your own"
            ) from error
        except (OSError, http.client.HTTPException) as error:
            raise Unreachable(f"{self._host} does not answer: {error}") from error
        finally:
            connection.close()
        return _check_answer(self._host, response, answer)

    def _connect(self) -> http.client.HTTPConnection:
        if self._is_secure:
            # With authorities of its own, the context leaves those of the system out.
            context = ssl.create_default_context(cadata=self._ca or None)
            return http.client.HTTPSConnection(self._host, self._port, timeout=TIMEOUT_SECONDS, context=context)
        return http.client.HTTPConnection(self._host, self._port, timeout=TIMEOUT_SECONDS)

    def _read_answer(self, response: http.client.HTTPResponse) -> bytes:
        """Return the body; raise when it is too large, or comes byte by byte for too long."""
        parts, size, started_at = [], 0, self._clock.now()
        while part := response.read1(65_536):
            size += len(part)
            if size > MAX_ANSWER_BYTES or self._clock.now() - started_at > DEADLINE_SECONDS:
                raise Unreachable(f"{self._host} answers too much or too slowly")
            parts.append(part)
        return b"".join(parts)


def _check_answer(host: str, response: http.client.HTTPResponse, answer: bytes) -> dict[str, Any]:
    """Return the data of an answer, or raise what its status means. Redirects are not followed."""
    try:
        data = json.loads(answer)
    except (ValueError, RecursionError):
        data = None
    fields: dict[str, Any] = data if isinstance(data, dict) else {}
    message = f"{host}: {fields.get('error', f'status {response.status}')}"
    if response.status in (429, 502, 503, 504):
        text = response.headers.get("Retry-After", "")
        raise Unreachable(message, float(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0.0)
    if response.status in (200, 409) and data is not None and isinstance(data, dict):
        return fields
    if response.status == 200:
        raise Unreachable(f"{host} does not answer as a verdikt service")
    raise Refused(response.status, message, fields)
