"""Approval requests of machines, as the service keeps them: asked, voted on, settled, used. None is ever deleted."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, case, func, insert, or_, select, tuple_, update

from verdikt.errors import WireError
from verdikt.model.approval import OPEN_STATES, ApprovalState
from verdikt.model.canonical_json import hash_canonical
from verdikt.serve import schema
from verdikt.serve.approval_view import (
    count_shape,
    describe_approval,
    find_chain,
    is_person_of,
    list_voting_groups,
    read_previous_texts,
    read_signer,
    read_votes,
    read_votes_of,
    summarise_votes,
    to_vote,
)
from verdikt.serve.insertion import insert_for
from verdikt.serve.people import SEE_ALL, append_event
from verdikt.serve.routes import Forbidden, NotFound
from verdikt.serve.security_keys import SignatureRefused
from verdikt.team.approval_wire import (
    ApprovalRequest,
    Vote,
    build_challenge,
    build_grant,
    encode_grant,
    encode_vote,
    find_vote_problem,
    is_satisfied,
    parse_needs,
    read_statement,
)
from verdikt.team.search_query import escape_like

if TYPE_CHECKING:
    from sqlalchemy import Column, Connection, RowMapping

    from verdikt.serve.database import Database
    from verdikt.serve.machines import EnrolledMachine
    from verdikt.serve.people import Person
    from verdikt.serve.security_keys import SecurityKeys
    from verdikt.serve.service_key import ServiceKey

MAX_WAITING = 500
"""Most requests of one machine that are taken while others wait: a machine cannot fill the page of everybody."""

MAX_REASON_CHARS = 300
_LIST_ROWS = 20


class VoteRefused(Forbidden):
    """A vote that does not count, with the reason for the person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ballot:
    """What a person sends: yes or no, to the digest that the page showed, perhaps signed by a security key."""

    approved: bool
    digest: str
    reason: str = ""
    assertion: Mapping[str, Any] | None = None
    origin: str = ""

    @property
    def verb(self) -> str:
        """What the person did, as the service's own record names it."""
        return "approve" if self.approved else "refuse"


class Approvals:
    """The approval requests of the service; safe for threads."""

    def __init__(self, database: Database, keys: SecurityKeys, service_key: ServiceKey) -> None:
        self._database = database
        self._keys = keys
        self._service_key = service_key

    # Machines

    def submit(self, machine: EnrolledMachine, request: ApprovalRequest, now: int) -> tuple[int, bool]:
        """Store an approval request of a machine, once; return its number, and whether it is new."""
        table = schema.approval
        with self._database.begin_write() as connection:
            is_of_machine = table.c.machine == machine.id
            waiting = connection.execute(
                select(func.count()).where(is_of_machine, table.c.state == ApprovalState.WAITING, table.c.expires > now)
            ).scalar_one()
            if waiting >= MAX_WAITING:
                raise WireError("too many approvals of this machine wait already")
            values = {
                "organisation": machine.organisation,
                "machine": machine.id,
                "request": request.id,
                "session": request.session,
                "seq": request.seq,
                "digest": request.digest,
                "document": json.dumps(request.document),
                "texts": json.dumps(request.texts),
                "rule": request.rule,
                "reason": request.reason,
                "summary": request.summary,
                "shape": _hash_shape(request),
                "groups": "".join(f"\n{need.group}\n" for need in request.needs if need.group),
                "risk": request.risk,
                "state": ApprovalState.WAITING,
                "asked": now,
                # By the service's clock: that of the machine may be wrong.
                "expires": now + (request.expires - request.asked),
                "calls": request.calls,
            }
            added_id = connection.execute(
                insert_for(self._database, table)
                .values(**values)
                .on_conflict_do_nothing(index_elements=["machine", "request"])
                .returning(table.c.id)
            ).scalar()
            if added_id is not None:
                return int(added_id), True
            earlier = connection.execute(
                select(table.c.id, table.c.digest).where(is_of_machine, table.c.request == request.id)
            ).one()
            if earlier.digest != request.digest:
                raise WireError("an approval with this id was asked about another call")
            # A request that comes late again says less than what is known.
            connection.execute(
                update(table).where(table.c.id == earlier.id, table.c.calls < request.calls).values(calls=request.calls)
            )
            return int(earlier.id), False

    def read_answers(self, machine: EnrolledMachine, requests: Sequence[str], now: int) -> dict[str, Any]:
        """Return what became of a machine's requests; settled ones with a signed grant.

        The grant is made from what is stored, so a replica that was killed after the last vote loses nothing.
        """
        table = schema.approval
        self.expire(now)
        with self._database.begin_read() as connection:
            rows = connection.execute(
                select(table).where(table.c.machine == machine.id, table.c.request.in_(requests))
            ).mappings()
            return {row["request"]: self._describe_answer(connection, row) for row in rows.all()}

    def _describe_answer(self, connection: Connection, row: RowMapping) -> dict[str, Any]:
        state = row["state"]
        if state not in (ApprovalState.APPROVED, ApprovalState.REFUSED, ApprovalState.USED) or row["decided"] is None:
            return {"state": state}
        votes = [
            {"person": vote["person"], "name": vote["name"], "approved": vote["approved"], "reason": vote["reason"]}
            | ({"assertion": json.loads(vote["assertion"])} if vote["assertion"] else {})
            for vote in read_votes(connection, row["id"])
        ]
        grant = build_grant(
            request=row["request"],
            digest=row["digest"],
            # As the machine itself knows it, which at a team's service is the number of the row.
            machine=json.loads(row["document"])["machine"]["id"],
            approved=state != ApprovalState.REFUSED,
            votes=votes,
            not_after=row["not_after"] or row["expires"],
        )
        return {"state": state, "grant": grant, "signature": self._service_key.sign(encode_grant(grant))}

    def report(self, machine: EnrolledMachine, request: str, state: ApprovalState, now: int) -> None:
        """Note what a machine says became of its request: used, or answered at the terminal.

        One that waits is not asked any more, whatever the machine says of it: a restored database may be behind it.
        """
        if state not in (ApprovalState.USED, ApprovalState.CANCELLED):
            raise WireError("expected `used` or `cancelled`")
        table = schema.approval
        # A grant is made from the state: what no person approved must not become what was used.
        ended = case((table.c.state == ApprovalState.APPROVED, state), else_=ApprovalState.CANCELLED)
        with self._database.begin_write() as connection:
            connection.execute(
                update(table)
                .where(table.c.machine == machine.id, table.c.request == request, table.c.state.in_(OPEN_STATES))
                .values(state=ended, closed=now)
            )

    def expire(self, now: int) -> None:
        """Mark the requests to which no answer came in time."""
        table = schema.approval
        overdue = (table.c.state == ApprovalState.WAITING) & (table.c.expires <= now)
        with self._database.begin_read() as connection:
            if connection.execute(select(table.c.id).where(overdue).limit(1)).scalar() is None:
                return
        with self._database.begin_write() as connection:
            connection.execute(update(table).where(overdue).values(state=ApprovalState.EXPIRED, closed=now))

    # People

    def list_approvals(
        self, person: Person, *, history: bool, text: str = "", after: Sequence[int] = (), limit: int = 50
    ) -> list[dict[str, Any]]:
        """Return requests that wait, the most urgent first, or those that have ended, the newest first.

        `after` is risk, time and number of the last one of the page before.
        """
        table = schema.approval
        waits = table.c.state == ApprovalState.WAITING
        # Without the scripts that calls rest on, which only one that is opened shows.
        columns = [column for column in table.c if column.name != "texts"]
        query = _select_visible(person, columns).where(~waits if history else waits)
        if text:
            pattern = f"%{escape_like(text)}%"
            fields = (table.c.summary, table.c.rule, table.c.session, table.c.request, schema.machine.c.name)
            query = query.where(or_(*(field.ilike(pattern, escape="\\") for field in fields)))
        time = tuple_(table.c.asked, table.c.id)
        if after:
            risk, *last = after
            is_less_urgent = or_(table.c.risk < risk, and_(table.c.risk == risk, time > tuple_(*last)))
            query = query.where(time < tuple_(*last) if history else is_less_urgent)
        newest_first = (table.c.asked.desc(), table.c.id.desc())
        order = newest_first if history else (table.c.risk.desc(), table.c.asked, table.c.id)
        with self._database.begin_read_of(person.organisation) as connection:
            # A few at a time: each has a document of up to a quarter of a megabyte, of which little is shown.
            result = connection.execution_options(yield_per=_LIST_ROWS).execute(query.order_by(*order).limit(limit))
            approvals: list[dict[str, Any]] = []
            for rows in result.mappings().partitions():
                votes = read_votes_of(connection, [row["id"] for row in rows])
                approvals += [describe_approval(row, votes.get(row["id"], []), person) for row in rows]
            return approvals

    def read_approval(self, person: Person, approval: int) -> dict[str, Any] | None:
        """Return one request with everything that people decide by; None when the organisation has no such one."""
        table = schema.approval
        with self._database.begin_read_of(person.organisation) as connection:
            row = connection.execute(_select_visible(person).where(table.c.id == approval)).mappings().one_or_none()
            if row is None:
                return None
            document = json.loads(row["document"])
            return describe_approval(row, read_votes(connection, approval), person) | {
                "document": document,
                "says": read_statement(document["action"]),
                "texts": json.loads(row["texts"]),
                "same_shape": count_shape(connection, row),
                "previous_texts": read_previous_texts(connection, row),
                "chain": find_chain(connection, row),
                "keys": self._keys.list_credential_ids(connection, person.id),
                "challenge": build_challenge(row["request"], row["digest"]).hex(),
            }

    def summarise_approvers(self, organisation: int, since: int) -> list[dict[str, Any]]:
        """Return for each person how many approvals they answered since a time, how, and after how long."""
        with self._database.begin_read_of(organisation) as connection:
            return summarise_votes(connection, organisation, since)

    def vote(self, person: Person, approval: int, ballot: Ballot, now: int) -> ApprovalState:
        """Count a vote and record it, signed; return what the request is now.

        Raise `VoteRefused` when the vote does not count.
        """
        table = schema.approval
        # Before the transaction, because the key may have to be read first.
        record = self._sign_vote(person, approval, ballot)
        with self._database.begin_write() as connection:
            row = _lock_approval(connection, person.organisation, approval)
            self._check_open(row, ballot, now)
            owner = _find_owner(connection, row)
            votes = [to_vote(vote, owner, is_open=True) for vote in read_votes(connection, approval)]
            if any(vote.person == person.id for vote in votes):
                raise VoteRefused("you have answered this already")
            needs = parse_needs(json.loads(row["document"]))
            signed = self._check_assertion(connection, person, row, ballot)
            own = Vote(
                person=person.id,
                name=person.name,
                approved=ballot.approved,
                is_owner=is_person_of(owner, person.id),
                groups=list_voting_groups(person),
                is_strong=signed is not None,
                key=read_signer(signed),
            )
            refusals = [find_vote_problem(need, own) for need in needs]
            if all(refusals):
                raise VoteRefused(refusals[0])
            answered = [need for need, refusal in zip(needs, refusals, strict=True) if not refusal]
            if ballot.approved and not all(own.has_signature_for(need) for need in answered):
                raise VoteRefused(_explain_signature(own))
            _insert_vote(connection, row, own, ballot, signed=signed, now=now)
            # In the transaction that counts it: no vote counts that the record does not have.
            append_event(connection, person.organisation, actor=person.actor, verb=ballot.verb, subject=record, now=now)
            state = ApprovalState.WAITING
            if not ballot.approved:
                state = ApprovalState.REFUSED
            elif all(is_satisfied(need, [*votes, own]) for need in needs):
                state = ApprovalState.APPROVED
            if state is not ApprovalState.WAITING:
                # The clock of a yes starts with the decision.
                not_after = now + min(need.valid for need in needs) if ballot.approved else row["expires"]
                connection.execute(
                    update(table).where(table.c.id == approval).values(state=state, decided=now, not_after=not_after)
                )
            return state

    def _sign_vote(self, person: Person, approval: int, ballot: Ballot) -> str:
        """Return what the service's own record says of a vote."""
        signed = encode_vote(approval, person.id, ballot.digest, approved=ballot.approved)
        return f"{approval} digest {ballot.digest} signature {self._service_key.sign(signed)}"

    @staticmethod
    def _check_open(row: RowMapping, ballot: Ballot, now: int) -> None:
        if ballot.digest != row["digest"]:
            raise VoteRefused("this is not the approval that you were shown; load the page again")
        if row["state"] == ApprovalState.WAITING and now >= row["expires"]:
            raise VoteRefused("this approval has expired")
        if row["state"] == ApprovalState.CANCELLED:
            raise VoteRefused("this is no longer asked: it was answered at the terminal, or the policy has changed")
        if row["state"] != ApprovalState.WAITING:
            raise VoteRefused(f"this approval is {row['state']} already")

    def _check_assertion(
        self, connection: Connection, person: Person, row: RowMapping, ballot: Ballot
    ) -> dict[str, str] | None:
        """Return what a security key signed with this vote; None when the vote came without."""
        if ballot.assertion is None:
            return None
        challenge = build_challenge(row["request"], row["digest"])
        try:
            return self._keys.verify_assertion(connection, person.id, ballot.assertion, challenge, ballot.origin)
        except SignatureRefused as error:
            raise VoteRefused(str(error)) from error


def _lock_approval(connection: Connection, organisation: int, approval: int) -> RowMapping:
    """Return an approval, with which no other vote deals meanwhile: the last one that is needed settles it."""
    table = schema.approval
    query = select(table).where(table.c.organisation == organisation, table.c.id == approval).with_for_update()
    row = connection.execute(query).mappings().one_or_none()
    if row is None:
        raise NotFound("no such approval")
    return row


def _explain_signature(vote: Vote) -> str:
    """Return why a yes is not signed as it has to be."""
    if not vote.is_strong:
        return "this needs your security key"
    return f"the policy names the security keys that count here, and {vote.key[:19]}… is none of them"


def _hash_shape(request: ApprovalRequest) -> str:
    """Return a digest of tool, effects and rule without arguments, by which equal requests are grouped."""
    effects = request.document["effects"]
    names = sorted({str(effect.get("what")) for effect in effects if isinstance(effect, Mapping)})
    return hash_canonical([request.document["action"].get("tool"), names, request.rule])[:32]


def _select_visible(person: Person, columns: Iterable[Column[Any]] = schema.approval.c) -> Any:
    """Return a query for the requests that a person may see: their own, those they can answer, those of their team.

    Auditors, authors and admins see all of the organisation.
    """
    table, machines = schema.approval, schema.machine
    query = select(*columns, machines.c.name.label("machine_name"), machines.c.person.label("owner"))
    query = query.join(machines, machines.c.id == table.c.machine).where(table.c.organisation == person.organisation)
    if person.roles & SEE_ALL:
        return query
    visible = [machines.c.person == person.id]
    visible += [table.c.groups.contains(f"\n{group}\n", autoescape=True) for group in list_voting_groups(person)]
    if "viewer" in person.roles and person.groups:
        visible.append(machines.c.team.in_(person.groups))
    return query.where(or_(*visible))


def _find_owner(connection: Connection, row: RowMapping) -> int | None:
    """Return the person of the machine that asks; raise `VoteRefused` when it was revoked meanwhile."""
    table = schema.machine
    machine = connection.execute(select(table.c.person, table.c.revoked).where(table.c.id == row["machine"])).one()
    if machine.revoked is not None:
        raise VoteRefused("the machine that asks was revoked")
    return int(machine.person) if machine.person is not None else None


def _insert_vote(
    connection: Connection, row: RowMapping, vote: Vote, ballot: Ballot, *, signed: dict[str, str] | None, now: int
) -> None:
    connection.execute(
        insert(schema.vote).values(
            approval=row["id"],
            person=vote.person,
            organisation=row["organisation"],
            name=vote.name,
            approved=vote.approved,
            reason=ballot.reason[:MAX_REASON_CHARS].replace("\0", "␀"),
            is_owner=vote.is_owner is True,
            groups=json.dumps(sorted(vote.groups)),
            assertion=json.dumps(signed) if signed else None,
            at=now,
        )
    )
