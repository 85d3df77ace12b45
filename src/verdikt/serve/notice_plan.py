"""Which places are to be told of which approval requests: those of the people who can answer, each once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import select

from verdikt.model.approval import ApprovalState
from verdikt.serve import schema
from verdikt.serve.approval_view import is_person_of, list_voting_groups
from verdikt.serve.insertion import insert_for
from verdikt.serve.people import read_people
from verdikt.serve.routes import VOTERS
from verdikt.team.approval_wire import Vote, find_vote_problem, parse_needs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy import Connection, RowMapping

    from verdikt.model.approval import ApprovalNeed
    from verdikt.serve.database import Database
    from verdikt.serve.people import Person

_DIGEST_SECONDS = {3: 0, 2: 3600, 1: 86_400, 0: 86_400}
"""Risk → how often a digest is sent: high at once, medium once an hour, low once a day."""


class _Audience(NamedTuple):
    """What decides who can answer a request; many requests have the same."""

    organisation: int
    owner: int | None
    needs: tuple[ApprovalNeed, ...]


class NoticePlan:
    """Writes down who is to be told. A worker asks every few seconds: what did not change must cost next to nothing."""

    def __init__(self, database: Database) -> None:
        self._database = database
        # What an approval needs never changes.
        self._needs: dict[int, tuple[ApprovalNeed, ...]] = {}

    def add_missing(self, now: int) -> None:
        """Add a delivery for each place that is to be told of a request that waits, and was not planned yet."""
        with self._database.begin_read() as connection:
            rows = self._find_missing(connection, now)
        if not rows:
            return
        with self._database.begin_write() as connection:
            connection.execute(
                insert_for(self._database, schema.delivery).on_conflict_do_nothing(
                    index_elements=["notifier", "approval"]
                ),
                rows,
            )

    def _find_missing(self, connection: Connection, now: int) -> list[dict[str, Any]]:
        notifiers = connection.execute(select(schema.notifier)).mappings().all()
        waiting = _read_waiting(connection, now) if notifiers else []
        self._learn_needs(connection, [row["id"] for row in waiting])
        if not waiting:
            return []
        people = read_people(connection, {row["person"] for row in notifiers if row["person"] is not None})
        planned = _read_planned(connection)
        places: dict[_Audience, list[RowMapping]] = {}
        rows = []
        for approval in waiting:
            audience = _Audience(approval["organisation"], approval["owner"], self._needs[approval["id"]])
            if audience not in places:
                places[audience] = _find_places(audience, notifiers, people)
            rows += [
                {
                    "organisation": approval["organisation"],
                    "notifier": place["id"],
                    "approval": approval["id"],
                    "state": "due",
                    "tries": 0,
                    "due": _choose_time(place["mode"], approval["risk"], now),
                    "problem": "",
                }
                for place in places[audience]
                if (place["id"], approval["id"]) not in planned
            ]
        return rows

    def _learn_needs(self, connection: Connection, waiting: Sequence[int]) -> None:
        """Read what those requests need that are new, and forget those that have ended."""
        self._needs = {id: self._needs[id] for id in waiting if id in self._needs}
        table = schema.approval
        unknown = [id for id in waiting if id not in self._needs]
        for first in range(0, len(unknown), 100):
            query = select(table.c.id, table.c.document).where(table.c.id.in_(unknown[first : first + 100]))
            for id, document in connection.execute(query):
                self._needs[id] = parse_needs(json.loads(document))


def _read_waiting(connection: Connection, now: int) -> Sequence[RowMapping]:
    table, machines = schema.approval, schema.machine
    query = (
        select(table.c.id, table.c.organisation, table.c.risk, machines.c.person.label("owner"))
        .join(machines, machines.c.id == table.c.machine)
        .where(table.c.state == ApprovalState.WAITING, table.c.expires > now)
    )
    return connection.execute(query).mappings().all()


def _read_planned(connection: Connection) -> frozenset[tuple[int, int]]:
    """Return (place, request) of what was planned for the requests that wait."""
    table, approvals = schema.delivery, schema.approval
    query = (
        select(table.c.notifier, table.c.approval)
        .join(approvals, approvals.c.id == table.c.approval)
        .where(approvals.c.state == ApprovalState.WAITING)
    )
    return frozenset((notifier, approval) for notifier, approval in connection.execute(query))


def _find_places(
    audience: _Audience, notifiers: Iterable[RowMapping], people: Mapping[int, Person]
) -> list[RowMapping]:
    """Return the places that belong to those who can answer; those of people who may not sign in are none."""
    return [
        notifier
        for notifier in notifiers
        if notifier["organisation"] == audience.organisation
        and (
            any(need.group == notifier["group"] for need in audience.needs)
            if notifier["person"] is None
            else _can_answer(audience, people.get(notifier["person"]))
        )
    ]


def _can_answer(audience: _Audience, person: Person | None) -> bool:
    if person is None or not person.roles & VOTERS:
        return False
    vote = Vote(
        person=person.id,
        name="",
        approved=True,
        is_owner=is_person_of(audience.owner, person.id),
        groups=list_voting_groups(person),
        is_strong=True,
    )
    return any(not find_vote_problem(need, vote) for need in audience.needs)


def _choose_time(mode: str, risk: int, now: int) -> int:
    """Return when a request is told: at once, or at the end of the hour or day in which others are collected."""
    every = _DIGEST_SECONDS[risk] if mode == "digest" else 0
    return (now // every + 1) * every if every else now
