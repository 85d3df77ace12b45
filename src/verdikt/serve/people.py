"""People and how they sign in: a link or an identity provider's answer is exchanged for a cookie that can be ended."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import delete, insert, or_, select, text, tuple_, update

from verdikt.model.canonical_json import hash_canonical, sha256_hex
from verdikt.serve import schema
from verdikt.team.search_query import escape_like

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from sqlalchemy import Connection

    from verdikt.serve.database import Database

ROLES = ("viewer", "developer", "approver", "author", "publisher", "auditor", "admin")
EXCLUDES = {"admin": frozenset({"approver", "publisher"})}
"""Role → those that its person cannot have too: who manages people and machines neither approves nor publishes."""

SEE_ALL = frozenset({"auditor", "admin", "author"})
"""Roles that read what all machines of the organisation sent; the others see their own, and viewers their team's."""

LINK_SECONDS = 600
COOKIE_SECONDS = 12 * 3600
_MICROSECONDS = 1_000_000
_GENESIS = "0" * 64
_EVENT_PAGE = 2000


class Person(NamedTuple):
    """A person of an organisation. `scopes` is None for one who is signed in, else what a program may do for them."""

    id: int
    organisation: int
    name: str
    roles: frozenset[str]
    groups: frozenset[str] = frozenset()
    email: str = ""
    scopes: frozenset[str] | None = None

    @property
    def actor(self) -> str:
        """Who acts, as the service's own record names it: with the number, because people choose their names."""
        return f"{self.name} ({self.id})" if self.scopes is None else f"token of {self.name} ({self.id})"


class Profile(NamedTuple):
    """What is known of a person who signs in: a name, roles, and the groups that they belong to."""

    subject: str
    name: str
    roles: frozenset[str]
    groups: frozenset[str] = frozenset()
    email: str = ""


class People:
    """The people of the service, their logins, and the record of what they did."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def ensure_person(
        self, organisation: int, subject: str, name: str, roles: frozenset[str], groups: Iterable[str] = ()
    ) -> int:
        """Return the id of a person, created if new; name, roles and groups become those given."""
        with self._database.begin_write() as connection:
            return _save_profile(connection, organisation, Profile(subject, name, roles, frozenset(groups)))

    def sign_in(self, organisation: int, profile: Profile, now: float) -> tuple[Person, str] | None:
        """Return a person and the secret of a cookie, once an identity provider said who it is; None when disabled."""
        with self._database.begin_write() as connection:
            person = read_person(connection, _save_profile(connection, organisation, profile))
            return _begin_login(connection, person, now) if person is not None else None

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
            return _begin_login(connection, signed_in, now) if signed_in is not None else None

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

    def end_all_logins(self, organisation: int, person: int) -> bool:
        """End every cookie and link of a person; return whether the organisation has them."""
        with self._database.begin_write() as connection:
            if not _belongs(connection, organisation, person):
                return False
            connection.execute(delete(schema.login).where(schema.login.c.person == person))
            return True

    def set_disabled(self, organisation: int, person: int, *, disabled: bool) -> bool:
        """Let a person in or keep them out, with all their tokens; return whether the organisation has them."""
        table = schema.person
        with self._database.begin_write() as connection:
            if not _belongs(connection, organisation, person):
                return False
            connection.execute(update(table).where(table.c.id == person).values(disabled=disabled))
            if disabled:
                connection.execute(delete(schema.login).where(schema.login.c.person == person))
            return True

    def list_people(
        self, organisation: int, *, text: str = "", after: int = 0, limit: int | None = None
    ) -> list[dict[str, Any]]:
        """Return people of an organisation by name, those with a text in name or address alone.

        `after` is the last one of the page before.
        """
        table = schema.person
        query = select(table).where(table.c.organisation == organisation).order_by(table.c.name, table.c.id)
        if text:
            pattern = f"%{escape_like(text)}%"
            query = query.where(or_(*(field.ilike(pattern, escape="\\") for field in (table.c.name, table.c.email))))
        with self._database.begin_read_of(organisation) as connection:
            if after:
                is_last = table.c.organisation == organisation, table.c.id == after
                name = connection.execute(select(table.c.name).where(*is_last)).scalar()
                query = query.where(tuple_(table.c.name, table.c.id) > tuple_(name, after))
            return [
                {
                    "id": row.id,
                    "name": row.name,
                    "email": row.email,
                    "subject": row.subject,
                    "roles": row.roles.split(),
                    "groups": row.groups.split("\n") if row.groups else [],
                    "disabled": row.disabled,
                    "seen": row.seen,
                }
                for row in connection.execute(query.limit(limit))
            ]

    def record_event(self, organisation: int, actor: str, verb: str, subject: str, now: float) -> None:
        """Add a row to the service's own chained record."""
        with self._database.begin_write() as connection:
            append_event(connection, organisation, actor=actor, verb=verb, subject=subject, now=now)

    def list_events(self, organisation: int, limit: int = 200, before: int | None = None) -> list[dict[str, object]]:
        """Return the newest rows of the service's own record, or the newest before one of them."""
        table = schema.audit_event
        query = select(table).where(table.c.organisation == organisation).order_by(table.c.n.desc()).limit(limit)
        if before is not None:
            query = query.where(table.c.n < before)
        with self._database.begin_read_of(organisation) as connection:
            return [dict(row) for row in connection.execute(query).mappings()]

    def find_broken_event(self) -> int | None:
        """Return the first row of the service's own record that is not as it was written, or does not follow.

        The rows of all organisations are one chain. Rows that were removed from its end do not show.
        """
        table = schema.audit_event
        last, prev = 0, _GENESIS
        while True:
            # A transaction per page: the record may be long, and nothing waits for this.
            with self._database.begin_read() as connection:
                query = select(table).where(table.c.n > last).order_by(table.c.n).limit(_EVENT_PAGE)
                rows = connection.execute(query).mappings().all()
            for row in rows:
                content = {name: value for name, value in row.items() if name not in ("n", "hash")}
                if row["prev"] != prev or row["hash"] != hash_canonical(content):
                    return int(row["n"])
                last, prev = row["n"], row["hash"]
            if len(rows) < _EVENT_PAGE:
                return None


def append_event(connection: Connection, organisation: int, *, actor: str, verb: str, subject: str, now: float) -> None:
    """Add a row to the service's own chained record, with the changes of a transaction or not at all."""
    table = schema.audit_event
    if connection.dialect.name == "postgresql":
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


def find_role_problem(roles: Iterable[str]) -> str:
    """Return why a person cannot have these roles together; empty when they can."""
    role_names = frozenset(roles)
    if unknown := role_names - frozenset(ROLES):
        return f"expected roles among {', '.join(ROLES)}, found {', '.join(sorted(unknown))}"
    for role, excluded in EXCLUDES.items():
        if role in role_names and (both := role_names & excluded):
            return f"a person with the role {role} cannot have {', '.join(sorted(both))} too"
    return ""


def read_person(connection: Connection, person: int) -> Person | None:
    """Return a person who is not disabled."""
    return read_people(connection, {person}).get(person)


def read_people(connection: Connection, ids: Collection[int]) -> dict[int, Person]:
    """Return those of these people who are not disabled, by their ids."""
    table = schema.person
    rows = connection.execute(select(table).where(table.c.id.in_(ids), table.c.disabled.is_(False)))
    return {row.id: _to_person(row) for row in rows}


def _to_person(row: Any) -> Person:
    groups = frozenset(row.groups.split("\n")) if row.groups else frozenset()
    return Person(row.id, row.organisation, row.name, frozenset(row.roles.split()), groups, row.email)


def _save_profile(connection: Connection, organisation: int, profile: Profile) -> int:
    table = schema.person
    is_person = table.c.organisation == organisation, table.c.subject == profile.subject
    person = connection.execute(select(table.c.id).where(*is_person)).scalar()
    values = {
        "name": profile.name,
        "roles": " ".join(sorted(profile.roles)),
        "groups": "\n".join(sorted(group for group in profile.groups if group and "\n" not in group)),
        "email": profile.email,
    }
    if person is not None:
        connection.execute(table.update().where(table.c.id == person).values(**values))
        return int(person)
    row = {"organisation": organisation, "subject": profile.subject, "disabled": False, **values}
    return int(connection.execute(insert(table).values(**row).returning(table.c.id)).scalar_one())


def _belongs(connection: Connection, organisation: int, person: int) -> bool:
    table = schema.person
    query = select(table.c.id).where(table.c.organisation == organisation, table.c.id == person)
    return connection.execute(query).scalar() is not None


def _begin_login(connection: Connection, person: Person, now: float) -> tuple[Person, str]:
    table = schema.person
    connection.execute(update(table).where(table.c.id == person.id).values(seen=int(now * _MICROSECONDS)))
    # What has expired is of no use to anyone, and would only grow.
    connection.execute(delete(schema.login).where(schema.login.c.expires <= int(now * _MICROSECONDS)))
    return person, _add_login(connection, person.id, now, COOKIE_SECONDS, is_link=False)


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
