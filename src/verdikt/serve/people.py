"""People and how they sign in: a link that works once is exchanged for a cookie that can be ended."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import delete, insert, select, text

from verdikt.model.canonical_json import hash_canonical, sha256_hex
from verdikt.serve import schema

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection

    from verdikt.serve.database import Database

ROLES = ("viewer", "developer", "approver", "author", "publisher", "auditor", "admin")

SEE_ALL = frozenset({"auditor", "admin", "author"})
"""Roles that read what all machines of the organisation sent; the others see their own, and viewers their team's."""

LINK_SECONDS = 600
COOKIE_SECONDS = 12 * 3600
_MICROSECONDS = 1_000_000
_GENESIS = "0" * 64


class Person(NamedTuple):
    """A signed-in person of an organisation."""

    id: int
    organisation: int
    name: str
    roles: frozenset[str]
    groups: frozenset[str] = frozenset()
    email: str = ""
    scopes: frozenset[str] | None = None


class People:
    """The people of the service, their logins, and the record of what they did."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def ensure_person(
        self, organisation: int, subject: str, name: str, roles: frozenset[str], groups: Iterable[str] = ()
    ) -> int:
        """Return the id of a person, created if new; roles and name become those given."""
        table = schema.person
        with self._database.begin_write() as connection:
            known = table.c.organisation == organisation, table.c.subject == subject
            person = connection.execute(select(table.c.id).where(*known)).scalar()
            values = {"name": name, "roles": " ".join(sorted(roles)), "groups": "\n".join(sorted(groups))}
            if person is not None:
                connection.execute(table.update().where(table.c.id == person).values(**values))
                return int(person)
            row = {"organisation": organisation, "subject": subject, "disabled": False, **values}
            return int(connection.execute(insert(table).values(**row).returning(table.c.id)).scalar_one())

    def create_link(self, person: int, now: float) -> str:
        """Return the secret of a sign-in link, of which only the digest is stored."""
        with self._database.begin_write() as connection:
            return _add_login(connection, person, now, LINK_SECONDS, is_link=True)

    def exchange_link(self, secret: str, now: float) -> tuple[Person, str] | None:
        """Return a person and the secret of a cookie for a link's secret, once; None when it is used or too old."""
        table = schema.login
        with self._database.begin_write() as connection:
            # Deleting is what uses it: of two that come at once, one deletes a row.
            person = connection.execute(
                delete(table)
                .where(table.c.secret_sha256 == sha256_hex(secret.encode()), table.c.is_link.is_(True))
                .where(table.c.expires > int(now * _MICROSECONDS))
                .returning(table.c.person)
            ).scalar()
            signed_in = read_person(connection, person) if person is not None else None
            if signed_in is None:
                return None
            return signed_in, _add_login(connection, signed_in.id, now, COOKIE_SECONDS, is_link=False)

    def find_person(self, secret: str, now: float) -> Person | None:
        """Return the person whose cookie this is; None when it was ended, is too old, or the person is disabled."""
        table = schema.login
        with self._database.begin_read() as connection:
            person = connection.execute(
                select(table.c.person)
                .where(table.c.secret_sha256 == sha256_hex(secret.encode()), table.c.is_link.is_(False))
                .where(table.c.expires > int(now * _MICROSECONDS))
            ).scalar()
            return read_person(connection, person) if person is not None else None

    def end_login(self, secret: str) -> None:
        """End a cookie."""
        table = schema.login
        with self._database.begin_write() as connection:
            connection.execute(delete(table).where(table.c.secret_sha256 == sha256_hex(secret.encode())))

    def record_event(self, organisation: int, actor: str, verb: str, subject: str, now: float) -> None:
        """Add a row to the service's own chained record."""
        table = schema.audit_event
        with self._database.begin_write() as connection:
            if self._database.is_postgresql:
                # One writer at a time: each row has the hash of the one before.
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": 7_305_418})
            last = connection.execute(select(table.c.hash).order_by(table.c.n.desc()).limit(1)).scalar()
            row = {
                "organisation": organisation,
                "at": int(now * _MICROSECONDS),
                "actor": actor,
                "verb": verb,
                "object": subject,
                "prev": last or _GENESIS,
            }
            connection.execute(insert(table).values(**row, hash=hash_canonical(row)))

    def list_events(self, organisation: int, limit: int = 200) -> list[dict[str, object]]:
        """Return the newest rows of the service's own record."""
        table = schema.audit_event
        query = select(table).where(table.c.organisation == organisation).order_by(table.c.n.desc()).limit(limit)
        with self._database.begin_read() as connection:
            return [dict(row) for row in connection.execute(query).mappings()]


def _add_login(connection: Connection, person: int, now: float, seconds: int, *, is_link: bool) -> str:
    secret = secrets.token_urlsafe(32)
    connection.execute(
        insert(schema.login).values(
            secret_sha256=sha256_hex(secret.encode()),
            person=person,
            is_link=is_link,
            created=int(now * _MICROSECONDS),
            expires=int((now + seconds) * _MICROSECONDS),
        )
    )
    return secret


def read_person(connection: Connection, person: int) -> Person | None:
    """Return a person who is not disabled."""
    table = schema.person
    row = connection.execute(select(table).where(table.c.id == person, table.c.disabled.is_(False))).one_or_none()
    if row is None:
        return None
    groups = frozenset(row.groups.split("\n")) if row.groups else frozenset()
    return Person(row.id, row.organisation, row.name, frozenset(row.roles.split()), groups, row.email)
