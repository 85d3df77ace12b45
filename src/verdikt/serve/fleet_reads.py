"""The machines of a person as a list of any length: what is wrong with each, pages of them, and how many there are."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import case, func, or_, select

from verdikt.model.session_state import CANARY_SESSION
from verdikt.serve import schema
from verdikt.team.search_query import escape_like

if TYPE_CHECKING:
    from sqlalchemy import Connection


class MachineRow(NamedTuple):
    """One machine as the fleet view shows it. Times are microseconds since the epoch."""

    id: int
    name: str
    enrolled: int
    revoked: int | None
    seen: int | None
    version: str
    team: str
    forks: int
    unsent: int
    problems: int
    lost_hosts: list[str]
    """Hosts that called the machine's hook and no longer do."""
    policy: str
    """Digest of its policy outside of projects."""
    faults: list[str]
    """What `verdikt doctor` finds at fault there."""
    sessions: int = 0
    entries: int = 0


@dataclass(frozen=True, slots=True)
class FleetQuery:
    """Which machines are listed, in the order of their names; everything of an organisation without conditions."""

    text: str = ""
    """A part of the name or of the team."""
    trait: str = ""
    """One of `TRAITS`; empty for all."""
    after: int = 0
    """The last machine of the page before."""
    limit: int | None = None
    silent_before: int = 0
    """One that was not heard of since this time is silent."""


_Trait = Callable[[MachineRow, FleetQuery], bool]

TRAITS: Mapping[str, _Trait] = {
    "no-hook": lambda machine, _: bool(machine.lost_hosts) and not machine.revoked,
    "doctor": lambda machine, _: bool(machine.faults) and not machine.revoked,
    "rewritten": lambda machine, _: machine.forks > 0,
    "unsent": lambda machine, _: machine.unsent > 0 and not machine.revoked,
    "silent": lambda machine, query: (machine.seen or 0) < query.silent_before and not machine.revoked,
    "revoked": lambda machine, _: machine.revoked is not None,
}
"""What can be wrong with a machine → how it is told."""


def list_machines(
    connection: Connection, organisation: int, visible: frozenset[int] | None, query: FleetQuery
) -> list[MachineRow]:
    """Return a page of machines with what they sent, and one more by which to see whether there is another page."""
    machines = select_machines(connection, organisation, visible, query.text)
    if query.trait:
        machines = [machine for machine in machines if TRAITS[query.trait](machine, query)]
    if query.after:
        start = next((index for index, machine in enumerate(machines, 1) if machine.id == query.after), len(machines))
        machines = machines[start:]
    if query.limit is not None:
        machines = machines[: query.limit + 1]
    return _count_sent(connection, machines)


def select_machines(
    connection: Connection, organisation: int, visible: frozenset[int] | None, text: str = ""
) -> list[MachineRow]:
    """Return the machines by their names, without what they sent: counting that reads every session of each."""
    table = schema.machine
    columns = (table.c.id, table.c.name, table.c.enrolled, table.c.revoked, table.c.seen, table.c.version, table.c.team)
    query = select(*columns, table.c.status).where(table.c.organisation == organisation).order_by(table.c.name)
    if visible is not None:
        query = query.where(table.c.id.in_(visible))
    if text:
        pattern = f"%{escape_like(text)}%"
        query = query.where(or_(*(column.ilike(pattern, escape="\\") for column in (table.c.name, table.c.team))))
    rows = connection.execute(query).mappings().all()
    forks = _count_forks(connection, organisation)
    # One that has said nothing of itself may have sent something all the same.
    silent = [row["id"] for row in rows if row["seen"] is None]
    received = _find_last_arrivals(connection, silent)
    return [_build_row(dict(row), forks.get(row["id"], 0), received.get(row["id"])) for row in rows]


def count_traits(machines: Iterable[MachineRow], query: FleetQuery) -> dict[str, int]:
    """Return for each trait how many machines have it."""
    listed = list(machines)
    return {name: sum(has(machine, query) for machine in listed) for name, has in TRAITS.items()}


def count_rewritten_sessions(connection: Connection, organisation: int, visible: frozenset[int] | None) -> int:
    """Return of how many sessions there is another history."""
    chain, fork = schema.chain, schema.fork
    query = select(func.count(fork.c.chain.distinct())).join(chain, chain.c.id == fork.c.chain)
    query = query.where(chain.c.organisation == organisation)
    if visible is not None:
        query = query.where(chain.c.machine.in_(visible))
    return int(connection.execute(query).scalar_one())


def _count_forks(connection: Connection, organisation: int) -> dict[int, int]:
    chain, fork = schema.chain, schema.fork
    query = select(chain.c.machine, func.count()).join(fork, fork.c.chain == chain.c.id)
    query = query.where(chain.c.organisation == organisation).group_by(chain.c.machine)
    return {int(machine): int(count) for machine, count in connection.execute(query)}


def _find_last_arrivals(connection: Connection, machines: Sequence[int]) -> dict[int, int]:
    if not machines:
        return {}
    chain = schema.chain
    query = select(chain.c.machine, func.max(chain.c.received)).where(chain.c.machine.in_(machines))
    return {int(machine): int(time) for machine, time in connection.execute(query.group_by(chain.c.machine))}


def _build_row(row: dict[str, Any], forks: int, received: int | None) -> MachineRow:
    status = json.loads(row.pop("status"))
    row["seen"] = row["seen"] or received
    return MachineRow(
        **row,
        forks=forks,
        unsent=status.get("unsent", 0),
        problems=status.get("problems", 0),
        lost_hosts=status.get("lost", []),
        policy=status.get("policy", ""),
        faults=status.get("faults", []),
    )


def _count_sent(connection: Connection, machines: Sequence[MachineRow]) -> list[MachineRow]:
    """Add how many sessions and entries the lists show to which these numbers link."""
    if not machines:
        return []
    chain = schema.chain
    is_canary, passed_canaries = chain.c.session == CANARY_SESSION, chain.c.decisions - chain.c.blocks
    query = (
        select(
            chain.c.machine,
            func.sum(case((or_(~is_canary, passed_canaries > 0), 1), else_=0)),
            func.sum(case((is_canary, passed_canaries), else_=chain.c.seq)),
        )
        .where(chain.c.machine.in_([machine.id for machine in machines]))
        .group_by(chain.c.machine)
    )
    # PostgreSQL sums into decimals.
    sent = {machine: (int(sessions), int(entries)) for machine, sessions, entries in connection.execute(query)}
    return [
        machine._replace(sessions=sessions, entries=entries)
        for machine in machines
        for sessions, entries in (sent.get(machine.id, (0, 0)),)
    ]
