"""Tokens of programs: each acts for a person, within its scopes, until it expires or is revoked."""

from __future__ import annotations

import hmac
import re
import secrets
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, select, update

from verdikt.model.canonical_json import sha256_hex
from verdikt.serve import schema
from verdikt.serve.people import read_person

if TYPE_CHECKING:
    from verdikt.serve.database import Database
    from verdikt.serve.people import Person

SCOPES = ("read", "export")
"""What a token can be for: reading, and exporting everything that a search finds. None lets a program write or vote."""

MAX_TOKEN_DAYS = 365
_DAY_MICROSECONDS = 86_400_000_000
_MICROSECONDS = 1_000_000
_FORM = re.compile(r"vdk_([0-9a-f]{16})_([A-Za-z0-9_-]{43})")
_USE_STEP = 60 * _MICROSECONDS


class Tokens:
    """The tokens of the service. Only the digest of a secret is stored; the token itself is shown once."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create_token(self, person: Person, name: str, scopes: frozenset[str], days: int, now: float) -> str:
        """Return a new token of a person."""
        kid, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
        created = int(now * _MICROSECONDS)
        with self._database.begin_write() as connection:
            connection.execute(
                insert(schema.token).values(
                    organisation=person.organisation,
                    person=person.id,
                    kid=kid,
                    secret_sha256=sha256_hex(secret.encode()),
                    name=name,
                    scopes=" ".join(sorted(scopes)),
                    created=created,
                    expires=created + min(days, MAX_TOKEN_DAYS) * _DAY_MICROSECONDS,
                )
            )
        return f"vdk_{kid}_{secret}"

    def find_person(self, token: str, now: float) -> Person | None:
        """Return the person for whom a token acts, with its scopes; None when it is wrong, revoked or too old."""
        match = _FORM.fullmatch(token)
        if match is None:
            return None
        table, time = schema.token, int(now * _MICROSECONDS)
        with self._database.begin_read() as connection:
            row = connection.execute(
                select(table).where(table.c.kid == match[1], table.c.revoked.is_(None), table.c.expires > time)
            ).one_or_none()
            if row is None or not hmac.compare_digest(row.secret_sha256, sha256_hex(match[2].encode())):
                return None
            person = read_person(connection, row.person)
        if person is None:
            return None
        if row.used is None or time - row.used > _USE_STEP:
            with self._database.begin_write() as connection:
                connection.execute(update(table).where(table.c.id == row.id).values(used=time))
        return person._replace(scopes=frozenset(row.scopes.split()))

    def list_tokens(
        self, organisation: int, person: int | None, *, before: int = 0, limit: int | None = None
    ) -> list[dict[str, Any]]:
        """Return tokens of one person or of the organisation, the newest first, without their secrets.

        `before` is the last one of the page before.
        """
        table, people = schema.token, schema.person
        query = (
            select(table, people.c.name.label("person_name"))
            .join(people, people.c.id == table.c.person)
            .where(table.c.organisation == organisation)
            .order_by(table.c.id.desc())
        )
        if person is not None:
            query = query.where(table.c.person == person)
        if before:
            query = query.where(table.c.id < before)
        hidden = ("secret_sha256", "organisation")
        with self._database.begin_read_of(organisation) as connection:
            rows = connection.execute(query.limit(limit)).mappings()
            return [{name: value for name, value in row.items() if name not in hidden} for row in rows]

    def revoke_token(self, organisation: int, token: int, person: int | None, now: float) -> bool:
        """End a token, of one person or of anyone in the organisation; return whether there was one."""
        table = schema.token
        statement = update(table).where(table.c.organisation == organisation, table.c.id == token)
        if person is not None:
            statement = statement.where(table.c.person == person)
        with self._database.begin_write() as connection:
            return bool(connection.execute(statement.values(revoked=int(now * _MICROSECONDS))).rowcount)
