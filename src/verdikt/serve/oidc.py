"""Sign-in by an OpenID Connect provider: authorization code with PKCE, checked by Authlib; roles follow from groups."""

from __future__ import annotations

import secrets
import threading
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import httpx
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.httpx_client import OAuth2Client
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from sqlalchemy import delete, insert

from verdikt.errors import ServiceError
from verdikt.model.canonical_json import sha256_hex
from verdikt.serve import schema
from verdikt.serve.oidc_errors import SignInRefused
from verdikt.serve.people import EXCLUDES, Profile, find_role_problem
from verdikt.team.host_name import is_loopback

if TYPE_CHECKING:
    from pathlib import Path

    from verdikt.serve.database import Database

FLOW_SECONDS = 600
TIMEOUT_SECONDS = 10
CACHE_SECONDS = 3600
MAX_ANSWER_BYTES = 1 << 20
CLOCK_LEEWAY_SECONDS = 60
EVERYONE = "*"
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA"]
_MICROSECONDS = 1_000_000


@dataclass(frozen=True, slots=True)
class OidcSettings:
    """The provider, how this service is known to it, and which groups have which roles."""

    issuer: str
    client_id: str
    client_secret: str
    roles: Mapping[str, tuple[str, ...]]
    groups_claim: str = "groups"
    scope: str = "openid email profile"
    organisation: str = "default"

    def find_roles(self, groups: frozenset[str]) -> frozenset[str]:
        """Return the roles of a person in these groups. Where one excludes others, it wins."""
        roles = {role for role, names in self.roles.items() if EVERYONE in names or groups & frozenset(names)}
        for role, excluded in EXCLUDES.items():
            if role in roles:
                roles -= excluded
        return frozenset(roles)


def load_settings(path: Path, environment: Mapping[str, str]) -> OidcSettings:
    """Return the settings of a TOML file; the secret is in a file of its own, or in VERDIKT_OIDC_SECRET."""
    try:
        fields = tomllib.loads(path.read_text())
        secret_file = fields.pop("client_secret_file", "")
        secret = (path.parent / secret_file).read_text().strip() if secret_file else ""
        roles = {role: tuple(groups) for role, groups in fields.pop("roles").items()}
        settings = OidcSettings(
            **fields, client_secret=secret or environment.get("VERDIKT_OIDC_SECRET", ""), roles=roles
        )
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ServiceError(f"cannot read `{path}`: {error}; docs/team.md shows such a file") from error
    for role in roles:
        if problem := find_role_problem({role}):
            raise ServiceError(f"`{path}`: {problem}")
    check_address(settings.issuer)
    return settings


def check_address(url: str) -> str:
    """Return an address of the provider; raise `ServiceError` when what is sent there could be read on the way."""
    parts = urlsplit(url)
    if parts.scheme == "https" and parts.hostname:
        return url
    if parts.scheme == "http" and parts.hostname and is_loopback(parts.hostname):
        return url
    raise ServiceError(f"expected an address of the identity provider with `https://`, found `{url}`")


class Departure(NamedTuple):
    """Where a browser is sent to sign in, and the state that it must come back with."""

    url: str
    state: str


@dataclass
class OidcSignIn:
    """Signs people in by one provider; safe for threads."""

    settings: OidcSettings
    database: Database
    redirect_uri: str
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _metadata: tuple[float, dict[str, Any]] | None = None
    _keys: tuple[float, KeySet] | None = None

    def begin(self, now: float) -> Departure:
        """Remember a flow, and return where it begins."""
        metadata = self._read_metadata(now)
        verifier, nonce = secrets.token_urlsafe(48), secrets.token_urlsafe(24)
        with self._open_client() as client:
            url, state = client.create_authorization_url(
                check_address(metadata["authorization_endpoint"]), code_verifier=verifier, nonce=nonce
            )
        table = schema.sign_in_flow
        with self.database.begin_write() as connection:
            connection.execute(delete(table).where(table.c.expires <= int(now * _MICROSECONDS)))
            connection.execute(
                insert(table).values(
                    state_sha256=sha256_hex(state.encode()),
                    nonce=nonce,
                    verifier=verifier,
                    expires=int((now + FLOW_SECONDS) * _MICROSECONDS),
                )
            )
        return Departure(url, state)

    def finish(self, code: str, state: str, now: float) -> Profile:
        """Return who signed in; raise `SignInRefused` when the answer is not one to a flow of ours, or has no role."""
        table = schema.sign_in_flow
        with self.database.begin_write() as connection:
            # Deleting is what uses it: of two answers with the same state, one finds a row.
            flow = connection.execute(
                delete(table)
                .where(table.c.state_sha256 == sha256_hex(state.encode()), table.c.expires > int(now * _MICROSECONDS))
                .returning(table.c.nonce, table.c.verifier)
            ).one_or_none()
        if flow is None:
            raise SignInRefused("this sign-in was used already or took too long: begin again")
        try:
            claims = self._fetch_claims(code, flow.verifier, flow.nonce, now)
        except (AuthlibBaseError, JoseError, httpx.HTTPError, ValueError, KeyError) as error:
            raise SignInRefused(f"the identity provider's answer does not hold ({type(error).__name__})") from error
        return self._build_profile(claims)

    def _fetch_claims(self, code: str, verifier: str, nonce: str, now: float) -> dict[str, Any]:
        metadata = self._read_metadata(now)
        with self._open_client() as client:
            token = client.fetch_token(
                check_address(metadata["token_endpoint"]),
                grant_type="authorization_code",
                code=code,
                code_verifier=verifier,
            )
            claims = self._check_id_token(token, nonce, now)
            if self.settings.groups_claim not in claims and "userinfo_endpoint" in metadata:
                answer = client.get(check_address(metadata["userinfo_endpoint"])).raise_for_status().json()
                # Else a token of another person could lend its groups.
                if answer.get("sub") != claims["sub"]:
                    raise ValueError("userinfo is about another person")
                claims = {**answer, **claims}
        return claims

    def _check_id_token(self, token: dict[str, Any], nonce: str, now: float) -> dict[str, Any]:
        try:
            decoded = jwt.decode(token["id_token"], self._read_keys(now), algorithms=ALGORITHMS)
        except (JoseError, ValueError):
            # The provider may have changed its keys since they were read.
            self._keys = None
            decoded = jwt.decode(token["id_token"], self._read_keys(now), algorithms=ALGORITHMS)
        claims = CodeIDToken(
            decoded.claims,
            decoded.header,
            options={
                "iss": {"essential": True, "value": self.settings.issuer},
                "aud": {"essential": True, "value": self.settings.client_id},
                "nonce": {"essential": True, "value": nonce},
            },
            params={"nonce": nonce, "client_id": self.settings.client_id, "access_token": token.get("access_token")},
        )
        claims.validate(now=int(now), leeway=CLOCK_LEEWAY_SECONDS)
        return dict(decoded.claims)

    def _build_profile(self, claims: dict[str, Any]) -> Profile:
        subject = claims.get("sub")
        group_claim = claims.get(self.settings.groups_claim, [])
        names = group_claim if isinstance(group_claim, list) else []
        groups = frozenset(name for name in names if isinstance(name, str))
        roles = self.settings.find_roles(groups)
        if not isinstance(subject, str) or not subject:
            raise SignInRefused("the identity provider named no person")
        if not roles:
            raise SignInRefused("you have no role here: ask an administrator which group gives one")
        # An address that was not proven to be theirs could be that of another person.
        email = str(claims.get("email", "")) if claims.get("email_verified", True) is True else ""
        name = str(claims.get("name") or claims.get("preferred_username") or email or subject)
        return Profile(f"{self.settings.issuer} {subject}", name[:200], roles, groups, email[:320])

    def _read_metadata(self, now: float) -> dict[str, Any]:
        with self._lock:
            if self._metadata is None or not 0 <= now - self._metadata[0] < CACHE_SECONDS:
                address = f"{self.settings.issuer.rstrip('/')}/.well-known/openid-configuration"
                metadata = self._fetch_json(address)
                if metadata.get("issuer") != self.settings.issuer:
                    raise SignInRefused("the identity provider calls itself by another name than the settings do")
                self._metadata = now, metadata
            return self._metadata[1]

    def _read_keys(self, now: float) -> KeySet:
        metadata = self._read_metadata(now)
        with self._lock:
            if self._keys is None or not 0 <= now - self._keys[0] < CACHE_SECONDS:
                self._keys = now, KeySet.import_key_set(self._fetch_json(check_address(metadata["jwks_uri"])))  # type: ignore[arg-type]
            return self._keys[1]

    def _fetch_json(self, address: str) -> dict[str, Any]:
        try:
            with httpx.stream("GET", address, timeout=TIMEOUT_SECONDS) as response:
                response.raise_for_status()
                data = b""
                for part in response.iter_bytes():
                    data += part
                    if len(data) > MAX_ANSWER_BYTES:
                        raise SignInRefused("the identity provider answers too much")
            answer = httpx.Response(200, content=data).json()
        except (httpx.HTTPError, ValueError) as error:
            raise SignInRefused(f"the identity provider does not answer ({type(error).__name__})") from error
        if not isinstance(answer, dict):
            raise SignInRefused("the identity provider does not answer as one")
        return answer

    def _open_client(self) -> OAuth2Client:
        return OAuth2Client(
            self.settings.client_id,
            self.settings.client_secret or None,
            scope=self.settings.scope,
            redirect_uri=self.redirect_uri,
            code_challenge_method="S256",
            timeout=TIMEOUT_SECONDS,
        )
