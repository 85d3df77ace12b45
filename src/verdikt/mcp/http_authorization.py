"""The login of a server behind the relay: its OAuth challenge and metadata, in the relay's name.

A client logs in at the authorization server that the metadata names, and takes metadata only if they describe the very
address that it calls, which is the relay's. Its token goes on to the server; the relay keeps none.
"""

from __future__ import annotations

import http.client
import re
from contextlib import closing
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from verdikt.errors import CanonicalError, McpError
from verdikt.mcp.server_address import JSON_TYPE, get_content_type
from verdikt.model.canonical_json import parse_json
from verdikt.model.lazy_regex import compile_lazily

if TYPE_CHECKING:
    from verdikt.mcp.server_address import ServerAddress

METADATA_PATH = "/.well-known/oauth-protected-resource"
"""Where the metadata of a protected resource are, before the resource's own path (RFC 9728)."""

CHALLENGE_HEADER = "www-authenticate"

LOGIN_STATUSES = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
"""How a server answers that wants a login, or a wider one; the header says more, and the body is no message."""

_MAX_METADATA_BYTES = 64 * 1024
_WAIT_SECONDS = 20.0
_METADATA_PARAMETER = compile_lazily(r'(?<![\w-])resource_metadata\s*=\s*(?:"([^"]*)"|([^\s,"]+))', re.IGNORECASE)


class ServerAuthorization:
    """Where one server says who may log in, and the same in the relay's name."""

    def __init__(self, address: ServerAddress) -> None:
        self._address = address
        self._reference = ""

    def rename_challenge(self, challenge: str, own_metadata: str) -> str:
        """Return a server's challenge with the relay's metadata in place of its own; note where those are."""
        match = _METADATA_PARAMETER.search(challenge)
        if match is None:
            return challenge
        self._reference = match[1] or match[2]
        return f'{challenge[: match.start()]}resource_metadata="{own_metadata}"{challenge[match.end() :]}'

    def fetch_metadata(self, own_resource: str) -> dict[str, Any] | None:
        """Return the server's metadata as those of the relay's own address; None when the server has none."""
        path = urlsplit(self._address.url).path.rstrip("/")
        for reference in filter(None, (self._reference, f"{METADATA_PATH}{path}", METADATA_PATH)):
            metadata = self._fetch(reference)
            if metadata is not None:
                # A signature covers the server's own address, and would contradict ours.
                metadata.pop("signed_metadata", None)
                return {**metadata, "resource": own_resource}
        return None

    def _fetch(self, reference: str) -> dict[str, Any] | None:
        try:
            # Only of this server: a challenge must not make the relay call any other.
            connection = self._address.resolve(reference).connect()
            with closing(connection):
                headers = {"accept": JSON_TYPE, "accept-encoding": "identity"}
                response = connection.send("GET", headers, None, wait_seconds=_WAIT_SECONDS)
                body = response.read(_MAX_METADATA_BYTES + 1)
            if response.status != HTTPStatus.OK or get_content_type(response) != JSON_TYPE:
                return None
            document = parse_json(body) if len(body) <= _MAX_METADATA_BYTES else None
        except (OSError, http.client.HTTPException, McpError, CanonicalError):
            return None
        return document if isinstance(document, dict) else None
