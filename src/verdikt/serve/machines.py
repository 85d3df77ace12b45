"""Machines: enrolment by a code, and the check of their signatures."""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING, NamedTuple

from cryptography.exceptions import InvalidSignature
from sqlalchemy import insert, or_, select, update

from verdikt.errors import WireError
from verdikt.model.canonical_json import sha256_hex
from verdikt.serve import schema
from verdikt.serve.machine_keys import MachineKey, MachineKeys
from verdikt.team.machine_status import MachineStatus, merge_status
from verdikt.team.request_signature import MAX_CLOCK_SKEW_SECONDS, RequestSignature, build_message, parse_header

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from verdikt.serve.database import Database

MAX_NAME_CHARS = 100
_MICROSECONDS = 1_000_000


class Unauthorized(WireError):
    """A request whose signature is missing, wrong, too old, or of a revoked machine."""


class KeyRevoked(WireError):
    """A key that comes again after its machine was revoked: the one who took it may have it still."""


class EnrolledMachine(NamedTuple):
    """A machine whose signature was right."""

    id: int
    organisation: int
    signed_at: int = 0
    """When it signed the request, by the service's clock; 0 when there is none."""


class Machines:
    """The machines of the service; safe for threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.keys = MachineKeys(database)

    def create_code(self, organisation: int, uses: int, seconds: int, now: float, team: str = "") -> str:
        """Return a code by which a number of machines can enrol for a while; only its digest is stored."""
        code = f"vde_{secrets.token_urlsafe(24)}"
        with self._database.begin_write() as connection:
            connection.execute(
                insert(schema.enrolment).values(
                    code_sha256=sha256_hex(code.encode()),
                    organisation=organisation,
                    uses_left=uses,
                    expires=int((now + seconds) * _MICROSECONDS),
                    team=team,
                )
            )
        return code

    def enrol(self, code: str, name: str, public_key: bytes, now: float) -> EnrolledMachine | None:
        """Return the machine that a code lets in; None when the code is unknown, used up or too old."""
        codes = schema.enrolment
        with self._database.begin_write() as connection:
            used = connection.execute(
                update(codes)
                .where(codes.c.code_sha256 == sha256_hex(code.encode()), codes.c.uses_left > 0)
                .where(codes.c.expires > int(now * _MICROSECONDS))
                .values(uses_left=codes.c.uses_left - 1)
                .returning(codes.c.organisation, codes.c.team)
            ).one_or_none()
            if used is None:
                return None
            machine = insert_machine(connection, used.organisation, name, public_key, now, team=used.team)
            return EnrolledMachine(machine, used.organisation)

    def find_machines(self, organisation: int, person: int, teams: frozenset[str]) -> frozenset[int]:
        """Return the machines of a person, and those of some teams."""
        table = schema.machine
        mine = or_(table.c.person == person, table.c.team.in_(teams - {""}))
        query = select(table.c.id).where(table.c.organisation == organisation, mine)
        with self._database.begin_read_of(organisation) as connection:
            return frozenset(connection.execute(query).scalars())

    def record_status(self, machine: EnrolledMachine, status: MachineStatus, now: float) -> None:
        """Remember when a machine was last heard of, and what it said of itself; an older report changes nothing."""
        table = schema.machine
        with self._database.begin_write() as connection:
            stored = connection.execute(
                select(table.c.status).where(table.c.id == machine.id).with_for_update()
            ).scalar_one()
            kept = merge_status(json.loads(stored), status, machine.signed_at)
            if kept is None:
                return
            connection.execute(
                update(table)
                .where(table.c.id == machine.id)
                .values(seen=int(now * _MICROSECONDS), version=status.version, status=json.dumps(kept))
            )


def parse_signature(header: str, now: float) -> RequestSignature:
    """Return what a machine's header says; raise `Unauthorized` when it says nothing, or was made at another time."""
    try:
        signature = parse_header(header)
    except WireError as error:
        raise Unauthorized(str(error)) from error
    if abs(signature.time - now) > MAX_CLOCK_SKEW_SECONDS:
        raise Unauthorized(f"expected a time within {MAX_CLOCK_SKEW_SECONDS} s of {int(now)}, found {signature.time}")
    return signature


def verify_request(
    key: MachineKey | None, signature: RequestSignature, method: str, path: str, body: bytes
) -> EnrolledMachine:
    """Return the machine that signed a request; raise `Unauthorized` when the signature does not hold."""
    if key is None:
        raise Unauthorized("this machine is not enrolled, or was revoked")
    message = build_message(method, path, signature.machine, signature.time, body)
    try:
        key.load().verify(bytes.fromhex(signature.signature), message)
    except (InvalidSignature, ValueError):
        raise Unauthorized("the signature of this request is wrong") from None
    return EnrolledMachine(signature.machine, key.organisation, signature.time)


def refuse_revoked_key(connection: Connection, public_key: bytes) -> None:
    """Raise `KeyRevoked` for the key of a machine that was revoked, in whichever organisation."""
    table = schema.machine
    revoked = select(table.c.id).where(table.c.public_key == public_key, table.c.revoked.is_not(None)).limit(1)
    if connection.execute(revoked).scalar() is not None:
        raise KeyRevoked("the key of this machine was revoked")


def insert_machine(
    connection: Connection,
    organisation: int,
    name: str,
    public_key: bytes,
    now: float,
    *,
    team: str = "",
    person: int | None = None,
) -> int:
    """Return the id of a machine, created unless its key is known: then the answer to an earlier attempt was lost.

    A name that is taken gets a number, so that a new key never continues the chains of an old one.
    """
    table = schema.machine
    refuse_revoked_key(connection, public_key)
    machine_id = connection.execute(
        select(table.c.id).where(table.c.organisation == organisation, table.c.public_key == public_key)
    ).scalar()
    if machine_id is not None:
        return int(machine_id)
    names = set(connection.execute(select(table.c.name).where(table.c.organisation == organisation)).scalars())
    unique = next(
        candidate
        for number in range(len(names) + 2)
        if (candidate := f"{name}-{number + 1}" if number else name) not in names
    )
    values = {"organisation": organisation, "name": unique, "public_key": public_key, "team": team, "person": person}
    statement = insert(table).values(**values, enrolled=int(now * _MICROSECONDS)).returning(table.c.id)
    return int(connection.execute(statement).scalar_one())
