"""An approval request as the page of approvals shows it."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select

from verdikt.model.approval import ApprovalState
from verdikt.serve import schema
from verdikt.team.approval_wire import Vote, find_vote_problem, parse_needs
from verdikt.team.key_assertion import name_key

if TYPE_CHECKING:
    from sqlalchemy import Connection, RowMapping

    from verdikt.serve.people import Person

_NO_SERVICE = "no group can be asked: this machine sends to no service (`verdikt ship enrol URL`)"

MAX_DIRECTORY_CHARS = 1000
QUICK_SECONDS = 2
"""A vote that comes faster than this after the request is marked: it was hardly read."""


def list_voting_groups(person: Person) -> frozenset[str]:
    """Return the groups for which a person may approve: those they belong to, if they are an approver at all."""
    return person.groups if "approver" in person.roles else frozenset()


def read_votes(connection: Connection, approval: int) -> list[RowMapping]:
    """Return the votes on a request, in the order in which they came."""
    return read_votes_of(connection, [approval]).get(approval, [])


def read_votes_of(connection: Connection, approvals: list[int]) -> dict[int, list[RowMapping]]:
    """Return the votes on several requests, each with what its person may do now."""
    table, people = schema.vote, schema.person
    votes: dict[int, list[RowMapping]] = {}
    now = people.c.disabled, people.c.roles.label("roles_now"), people.c.groups.label("groups_now")
    query = select(table, *now).join(people, people.c.id == table.c.person).where(table.c.approval.in_(approvals))
    query = query.order_by(table.c.at, table.c.person)
    for row in connection.execute(query).mappings():
        votes.setdefault(row["approval"], []).append(row)
    return votes


def is_person_of(owner: int | None, person: int) -> bool | None:
    """Return whether a person is the one of a machine; None when the machine, let in by a code, has none."""
    return None if owner is None else owner == person


def to_vote(row: RowMapping, owner: int | None, *, is_open: bool) -> Vote:
    """Return a vote as it counts on a machine of this person: one who had it when they voted is no other person.

    While the request is open, what the voter may do now counts too: a stolen account that was shut gives no vote.
    """
    groups = frozenset(json.loads(row["groups"]))
    if is_open:
        groups &= frozenset(row["groups_now"].split("\n")) if "approver" in row["roles_now"].split() else frozenset()
    return Vote(
        person=row["person"],
        name=row["name"],
        approved=row["approved"] and not (is_open and row["disabled"]),
        is_owner=is_person_of(owner, row["person"]) if not row["is_owner"] else True,
        groups=groups,
        is_strong=row["assertion"] is not None,
        key=read_signer(json.loads(row["assertion"])) if row["assertion"] else "",
    )


def read_signer(signed: Mapping[str, str] | None) -> str:
    """Return the name of the key that signed a vote; empty where none did, or it was not kept."""
    public_key = signed.get("public_key") if signed else None
    return name_key(bytes.fromhex(public_key)) if public_key else ""


def describe_approval(row: RowMapping, votes: Sequence[RowMapping], person: Person) -> dict[str, Any]:
    """Return a request as the page shows it, and whether this person can answer it."""
    document = json.loads(row["document"])
    is_open = row["state"] == ApprovalState.WAITING
    needs, cast_votes = parse_needs(document), [to_vote(vote, row["owner"], is_open=is_open) for vote in votes]
    is_owner = is_person_of(row["owner"], person.id)
    own_vote = Vote(
        person=person.id, name="", approved=True, is_owner=is_owner, groups=list_voting_groups(person), is_strong=True
    )
    refusals = [find_vote_problem(need, own_vote) for need in needs]
    if any(need.group for need in needs) and not document["machine"].get("service"):
        refusals = [_NO_SERVICE] * len(needs)
    has_voted = any(vote.person == person.id for vote in cast_votes)
    names = ("id", "request", "session", "seq", "digest", "rule", "reason", "summary", "shape", "risk", "state")
    times = ("calls", "asked", "expires", "decided", "not_after", "closed")
    return {
        **{name: row[name] for name in (*names, *times)},
        "machine": row["machine_name"],
        "host": str(document["action"].get("host", "")),
        "directory": str(document["action"].get("cwd", ""))[:MAX_DIRECTORY_CHARS],
        "needs": [
            {
                "text": need.describe(),
                "count": need.count,
                "strong": need.strong,
                "given": sum(vote.approved and not find_vote_problem(need, vote) for vote in cast_votes),
            }
            for need in needs
        ],
        "votes": [
            {
                "name": vote["name"],
                "approved": vote["approved"],
                "reason": vote["reason"],
                "strong": vote["assertion"] is not None,
                "at": vote["at"],
                "quick": vote["at"] - row["asked"] < QUICK_SECONDS,
            }
            for vote in votes
        ],
        "can_vote": is_open and not has_voted and not all(refusals),
        "why_not": "you have answered" if has_voted else (refusals[0] if all(refusals) else ""),
        "needs_key": any(need.strong for need, refusal in zip(needs, refusals, strict=True) if not refusal),
    }


def find_chain(connection: Connection, row: RowMapping) -> int | None:
    """Return the stored log of the session that asks; None while nothing of it has arrived."""
    table = schema.chain
    query = select(table.c.id).where(table.c.machine == row["machine"], table.c.session == row["session"])
    chain = connection.execute(query.order_by(table.c.generation.desc()).limit(1)).scalar()
    return int(chain) if chain is not None else None


def count_shape(connection: Connection, row: RowMapping) -> dict[str, int]:
    """Return how requests of the same shape ended before."""
    table = schema.approval
    query = (
        select(table.c.state, func.count())
        .where(table.c.organisation == row["organisation"], table.c.shape == row["shape"], table.c.id != row["id"])
        .group_by(table.c.state)
    )
    return {str(state): int(count) for state, count in connection.execute(query)}


def read_previous_texts(connection: Connection, row: RowMapping) -> dict[str, str]:
    """Return the texts of the last request of the same rule and machine that was approved, to compare with.

    By the same groups: who may answer now could not look at what others were asked.
    """
    table = schema.approval
    query = (
        select(table.c.texts)
        .where(table.c.organisation == row["organisation"], table.c.rule == row["rule"], table.c.id != row["id"])
        .where(table.c.machine == row["machine"], table.c.groups == row["groups"])
        .where(table.c.state.in_((ApprovalState.APPROVED, ApprovalState.USED)))
        .order_by(table.c.asked.desc())
        .limit(1)
    )
    texts = connection.execute(query).scalar()
    return dict(json.loads(texts)) if texts else {}


def summarise_votes(connection: Connection, organisation: int, since: int) -> list[dict[str, Any]]:
    """Return how many votes each person gave since a time, how many were yes and how fast; most votes first."""
    votes, approvals = schema.vote, schema.approval
    query = (
        select(votes.c.person, votes.c.name, votes.c.approved, (votes.c.at - approvals.c.asked).label("seconds"))
        .join(approvals, approvals.c.id == votes.c.approval)
        .where(votes.c.organisation == organisation, votes.c.at >= since)
        .order_by(votes.c.at)
    )
    by_person: dict[int, list[Any]] = {}
    for row in connection.execute(query):
        by_person.setdefault(row.person, []).append(row)
    rows = [
        {
            "person": person,
            "name": given[-1].name,
            "answers": len(given),
            "approved": sum(row.approved for row in given),
            "median_seconds": statistics.median(row.seconds for row in given),
            "quick": sum(row.seconds < QUICK_SECONDS for row in given),
        }
        for person, given in by_person.items()
    ]
    return sorted(rows, key=lambda row: -int(row["answers"]))
