"""A real client (the `mcp` SDK) that logs in: `oauth_client.py MODE URL` prints the texts of two calls as JSON."""

import asyncio
import json
import sys
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

CALLBACK = "http://127.0.0.1:1/callback"


class Memory:
    """Keeps tokens as long as this process lives."""

    tokens: Any = None
    client: Any = None

    async def get_tokens(self) -> Any:
        """Return the tokens."""
        return self.tokens

    async def set_tokens(self, tokens: Any) -> None:
        """Keep the tokens."""
        self.tokens = tokens

    async def get_client_info(self) -> Any:
        """Return how this client is registered."""
        return self.client

    async def set_client_info(self, client_info: Any) -> None:
        """Keep how this client is registered."""
        self.client = client_info


class Browser:
    """Opens the login page, and stops where it leads back to the client."""

    location = ""

    async def open(self, url: str) -> None:
        """Open the page."""
        async with httpx2.AsyncClient() as http:
            self.location = (await http.get(url, follow_redirects=False)).headers["location"]

    async def read_callback(self) -> AuthorizationCodeResult:
        """Return what the login page says."""
        fields = {key: values[0] for key, values in parse_qs(urlsplit(self.location).query).items()}
        return AuthorizationCodeResult(**{key: fields.get(key) for key in ("code", "state", "iss")})


async def main() -> None:
    """Log in, call two tools, print what came of it."""
    mode, url = sys.argv[1:]
    browser = Browser()
    metadata = OAuthClientMetadata(client_name="test", redirect_uris=[CALLBACK], scope="notes")
    login = OAuthClientProvider(url, metadata, Memory(), browser.open, browser.read_callback)
    report = []
    try:
        async with (
            httpx2.AsyncClient(auth=login, timeout=20) as http,
            Client(streamable_http_client(url, http_client=http), mode=mode, cache=None) as client,
        ):
            await client.list_tools()
            for tool in ("get_note", "delete_note"):
                result = await client.call_tool(tool, {"key": "a"})
                report.append(result.content[0].text)
    except BaseException as error:
        report.append(f"{type(error).__name__}: {error} {getattr(error, 'exceptions', '')}")
    print(json.dumps(report))


if __name__ == "__main__":
    asyncio.run(main())
