"""State that travels through the client and comes back: sealed, bound to one call, short-lived, used once."""

from __future__ import annotations

import base64
import hmac
import secrets
from collections.abc import Mapping
from typing import Any

from verdikt.errors import McpError
from verdikt.model.canonical_json import encode_canonical, parse_json
from verdikt.observe.clock import Clock, SystemClock

STATE_PREFIX = "verdikt1."
"""How a sealed state begins; any other state is the server's."""

MAX_STATE_LENGTH = 1024 * 1024
LIFETIME_SECONDS = 900.0
"""How long a person has for an answer."""

MAX_USED = 10_000
"""Answers of the last quarter of an hour; further ones are refused, so that none of these counts twice."""

_FOREIGN_STATE = "the answer does not belong to a question of this relay"


class StateSealer:
    """Seals with a key that lives as long as this process: after a restart every open question is asked again."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._key = secrets.token_bytes(32)
        self._clock = clock or SystemClock()
        self._used: dict[str, float] = {}
        """Answers that were used → when they expire."""

    def seal(self, content: Mapping[str, Any]) -> str:
        """Return the content as a text that only this process can have made."""
        expires = int(self._clock.now() + LIFETIME_SECONDS)
        body = encode_canonical({**content, "expires": expires, "nonce": secrets.token_hex(16)})
        token = STATE_PREFIX + _to_text(body) + "." + _to_text(self._sign(body))
        if len(token) > MAX_STATE_LENGTH:
            raise McpError("expected a state that a client can carry, found a longer one")
        return token

    def open(self, token: str, *, call: str) -> dict[str, Any]:
        """Return the content of a sealed text about this call.

        Raises `McpError` if it was changed, belongs to another call, is too old or was used before.
        """
        content = self._verify(token)
        if content["call"] != call:
            raise McpError("the answer belongs to another call")
        now = self._clock.now()
        if content["expires"] < now:
            raise McpError("the answer came too late")
        if content["nonce"] in self._used:
            raise McpError("the answer was used before")
        if len(self._used) >= MAX_USED:
            self._used = {nonce: expires for nonce, expires in self._used.items() if expires >= now}
        if len(self._used) >= MAX_USED:
            raise McpError("expected fewer answers in so short a time, found too many")
        self._used[content["nonce"]] = content["expires"]
        return content

    def _verify(self, token: str) -> dict[str, Any]:
        encoded_body, _, signature = token.removeprefix(STATE_PREFIX).partition(".")
        try:
            body, seal = _from_text(encoded_body), _from_text(signature)
        except ValueError as error:
            raise McpError(_FOREIGN_STATE) from error
        if len(token) > MAX_STATE_LENGTH or not hmac.compare_digest(self._sign(body), seal):
            raise McpError(_FOREIGN_STATE)
        content: dict[str, Any] = parse_json(body)
        return content

    def _sign(self, body: bytes) -> bytes:
        return hmac.digest(self._key, body, "sha256")


def _to_text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _from_text(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
