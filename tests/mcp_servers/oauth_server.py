"""A server that wants a login (the `mcp` SDK), with its own authorization server: `oauth_server.py PORT open|strict`.

Everyone who asks is let in. A strict one takes only tokens that were issued for its own address.
"""

import secrets
import sys
import time
from typing import Any

from mcp.server.auth.provider import AccessToken, AuthorizationCode, RefreshToken, construct_redirect_uri
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthToken

PORT, MODE = int(sys.argv[1]), sys.argv[2]
ORIGIN = f"http://127.0.0.1:{PORT}"


class OpenDoor:
    """An authorization server that asks no person; codes and tokens live in memory."""

    def __init__(self) -> None:
        self.clients: dict[str, Any] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.tokens: dict[str, AccessToken] = {}

    async def get_client(self, client_id: str) -> Any:
        """Return a registered client."""
        return self.clients.get(client_id)

    async def register_client(self, client_info: Any) -> None:
        """Register a client."""
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: Any, params: Any) -> str:
        """Return where the browser goes with the code."""
        code = AuthorizationCode(
            code=secrets.token_hex(16),
            client_id=client.client_id,
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        self.codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state)

    async def load_authorization_code(self, client: Any, authorization_code: str) -> AuthorizationCode | None:
        """Return a code that was given out."""
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(self, client: Any, authorization_code: AuthorizationCode) -> OAuthToken:
        """Return a token for a code."""
        del self.codes[authorization_code.code]
        token = AccessToken(
            token=secrets.token_hex(16),
            client_id=client.client_id,
            scopes=authorization_code.scopes,
            resource=authorization_code.resource,
        )
        self.tokens[token.token] = token
        return OAuthToken(access_token=token.token, expires_in=600, scope=" ".join(token.scopes))

    async def load_access_token(self, token: str) -> AccessToken | None:
        """Return what is known of a token."""
        return self.tokens.get(token)

    async def load_refresh_token(self, client: Any, refresh_token: str) -> RefreshToken | None:
        """Return nothing: tokens are not renewed."""
        return None


settings = AuthSettings(
    issuer_url=ORIGIN,
    resource_server_url=f"{ORIGIN}/mcp",
    client_registration_options=ClientRegistrationOptions(enabled=True, valid_scopes=["notes"]),
    required_scopes=["notes"],
    validate_token_resource=MODE == "strict",
)
server = MCPServer("protected", auth_server_provider=OpenDoor(), auth=settings)


@server.tool()
def get_note(key: str) -> str:
    """Return a note."""
    return f"note {key}"


@server.tool()
def delete_note(key: str) -> str:
    """Delete a note."""
    return "deleted"


if __name__ == "__main__":
    server.run(transport="streamable-http", port=PORT)
