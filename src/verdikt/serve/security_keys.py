"""Security keys and passkeys of people: adding one, and checking what one signed."""

from __future__ import annotations

import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from sqlalchemy import delete, insert, select, update

from verdikt.errors import WireError
from verdikt.serve import schema
from verdikt.serve.insertion import insert_for
from verdikt.team.key_assertion import name_key, trim_assertion

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from verdikt.serve.database import Database
    from verdikt.serve.people import Person

CEREMONY_SECONDS = 300
MAX_KEYS = 20
MAX_NAME_CHARS = 60


class SignatureRefused(WireError):
    """A signature that does not hold, with the reason for the person."""


class SecurityKeys:
    """The keys of people; safe for threads."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def begin_registration(self, person: Person, origin: str, now: int) -> dict[str, Any]:
        """Return what the browser needs to add a key, with a challenge that is good once."""
        challenge = secrets.token_bytes(32)
        with self._database.begin_write() as connection:
            credentials = _read_credentials(connection, person.id)
            if len(credentials) >= MAX_KEYS:
                raise WireError(f"expected at most {MAX_KEYS} keys")
            values = {"challenge": challenge, "expires": now + CEREMONY_SECONDS}
            connection.execute(
                insert_for(self._database, schema.ceremony)
                .values(person=person.id, **values)
                .on_conflict_do_update(index_elements=["person"], set_=values)
            )
        known = [bytes(row.credential_id) for row in credentials]
        options: dict[str, Any] = _load_ceremony().build_options(origin, person.id, person.name, challenge, known)
        return options

    def finish_registration(self, person: Person, name: str, response: Mapping[str, Any], origin: str, now: int) -> int:
        """Add a key that answered the challenge; return its number."""
        table = schema.ceremony
        with self._database.begin_write() as connection:
            challenge = connection.execute(
                delete(table).where(table.c.person == person.id, table.c.expires > now).returning(table.c.challenge)
            ).scalar()
            if challenge is None:
                raise WireError("adding a key took too long; begin again")
            verified = _load_ceremony().verify_registration(response, bytes(challenge), origin)
            if verified is None:
                raise WireError("the browser's answer for this key does not verify")
            values = {
                "organisation": person.organisation,
                "person": person.id,
                "name": name[:MAX_NAME_CHARS].replace("\0", "␀"),
                "credential_id": verified.credential_id,
                "public_key": verified.credential_public_key,
                "sign_count": verified.sign_count,
                "added": now,
            }
            credentials = schema.credential
            return int(
                connection.execute(insert(credentials).values(**values).returning(credentials.c.id)).scalar_one()
            )

    def list_keys(self, person: Person) -> list[dict[str, Any]]:
        """Return the keys of a person."""
        with self._database.begin_read() as connection:
            rows = _read_credentials(connection, person.id)
        return [{"id": row.id, "name": row.name, "added": row.added, "key": _name_key(row.public_key)} for row in rows]

    def remove_key(self, person: Person, key: int) -> bool:
        """Remove a key of a person; return whether there was one."""
        table = schema.credential
        with self._database.begin_write() as connection:
            removed = connection.execute(delete(table).where(table.c.person == person.id, table.c.id == key))
            return removed.rowcount > 0

    def list_credential_ids(self, connection: Connection, person: int) -> list[str]:
        """Return the ids of a person's keys as browsers want them."""
        return [_encode_id(row.credential_id) for row in _read_credentials(connection, person)]

    def verify_assertion(
        self, connection: Connection, person: int, assertion: Mapping[str, Any], challenge: bytes, origin: str
    ) -> dict[str, str]:
        """Return what a key of a person signed for a challenge, to be kept; raise `SignatureRefused` with why not."""
        table = schema.credential
        try:
            credential_id = _decode_id(str(assertion.get("id", "")))
        except ValueError:
            raise SignatureRefused("expected the signature of a security key") from None
        row = connection.execute(
            select(table).where(table.c.person == person, table.c.credential_id == credential_id)
        ).one_or_none()
        if row is None:
            raise SignatureRefused("this is not one of your security keys")
        verified = _load_ceremony().verify_assertion(
            assertion, challenge, origin, bytes(row.public_key), row.sign_count
        )
        if verified is None:
            raise SignatureRefused("the signature of your security key is not for this approval")
        connection.execute(update(table).where(table.c.id == row.id).values(sign_count=verified.new_sign_count))
        return trim_assertion(assertion, _load_ceremony().encode_public_key(bytes(row.public_key)))


def _load_ceremony() -> Any:
    """Return the module that needs the library; most starts of a service need it never, or much later."""
    return import_module("verdikt.serve.webauthn_ceremony")


def _name_key(public_key: bytes) -> str:
    encoded = _load_ceremony().encode_public_key(bytes(public_key))
    return name_key(encoded) if encoded else ""


def _encode_id(credential_id: bytes) -> str:
    return urlsafe_b64encode(credential_id).decode().rstrip("=")


def _decode_id(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def read_host(origin: str) -> str:
    """Return the host of an origin, to which keys are bound."""
    return urlsplit(origin).hostname or ""


def _read_credentials(connection: Connection, person: int) -> list[Any]:
    table = schema.credential
    return list(connection.execute(select(table).where(table.c.person == person).order_by(table.c.id)).all())
