"""Enrolment by device code: a machine shows a short code, and a signed-in person says that it is theirs."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import delete, func, insert, select, update

from verdikt.model.canonical_json import sha256_hex
from verdikt.serve import schema
from verdikt.serve.machines import EnrolledMachine, insert_machine, refuse_revoked_key

if TYPE_CHECKING:
    from verdikt.serve.database import Database
    from verdikt.serve.people import Person

CODE_SECONDS = 900
MAX_WAITING = 1000
"""Most machines that wait at once: anyone can begin to, and a code must not be hit by guessing."""

# Without letters that look like digits, and without vowels that make words.
_ALPHABET = "BCDFGHJKLMNPQRSTVWXZ"
_CODE_CHARS = 8
_MICROSECONDS = 1_000_000


class WaitingDevice(NamedTuple):
    """A machine that waits: what it calls itself, and the digest of its key, which it shows too."""

    name: str
    fingerprint: str


class Begun(NamedTuple):
    """What a machine that begins to wait is told: the code to show, and the secret to ask with."""

    code: str
    secret: str


class Devices:
    """The machines that wait to be let in; safe for threads."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(self, name: str, public_key: bytes, now: float) -> Begun | None:
        """Let a machine wait; None when too many do."""
        table, time = schema.device_code, int(now * _MICROSECONDS)
        letters = "".join(secrets.choice(_ALPHABET) for _ in range(_CODE_CHARS))
        begun = Begun(f"{letters[:4]}-{letters[4:]}", secrets.token_urlsafe(32))
        with self._database.begin_write() as connection:
            refuse_revoked_key(connection, public_key)
            connection.execute(delete(table).where(table.c.expires <= time))
            if connection.execute(select(func.count()).select_from(table)).scalar_one() >= MAX_WAITING:
                return None
            connection.execute(
                insert(table).values(
                    secret_sha256=sha256_hex(begun.secret.encode()),
                    code=begun.code,
                    name=name,
                    public_key=public_key,
                    expires=time + CODE_SECONDS * _MICROSECONDS,
                )
            )
        return begun

    def find_waiting(self, code: str, now: float) -> WaitingDevice | None:
        """Return the machine that shows a code and was not let in yet."""
        table = schema.device_code
        query = select(table.c.name, table.c.public_key).where(
            table.c.code == code, table.c.expires > int(now * _MICROSECONDS), table.c.machine.is_(None)
        )
        with self._database.begin_read() as connection:
            row = connection.execute(query).one_or_none()
        return WaitingDevice(row.name, sha256_hex(bytes(row.public_key))[:16]) if row is not None else None

    def confirm(self, code: str, person: Person, team: str, now: float) -> int | None:
        """Let the machine in that shows a code, as one of a person; return its id, None when there is none."""
        table = schema.device_code
        with self._database.begin_write() as connection:
            row = connection.execute(
                select(table)
                .where(table.c.code == code, table.c.expires > int(now * _MICROSECONDS), table.c.machine.is_(None))
                .with_for_update()
            ).one_or_none()
            if row is None:
                return None
            machine = insert_machine(
                connection, person.organisation, row.name, bytes(row.public_key), now, team=team, person=person.id
            )
            connection.execute(update(table).where(table.c.secret_sha256 == row.secret_sha256).values(machine=machine))
            return machine

    def find_machine(self, secret: str, now: float) -> EnrolledMachine | WaitingDevice | None:
        """Return what became of a machine that waits: let in, still waiting, or None when it took too long."""
        table, machines = schema.device_code, schema.machine
        with self._database.begin_read() as connection:
            row = connection.execute(
                select(table, machines.c.organisation)
                .outerjoin(machines, machines.c.id == table.c.machine)
                .where(table.c.secret_sha256 == sha256_hex(secret.encode()))
                .where(table.c.expires > int(now * _MICROSECONDS))
            ).one_or_none()
        if row is None:
            return None
        if row.machine is None:
            return WaitingDevice(row.name, sha256_hex(bytes(row.public_key))[:16])
        return EnrolledMachine(row.machine, row.organisation)
