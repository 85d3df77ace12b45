"""Asks of the relay that are answered at a real team service on loopback: by a group, or where the client cannot."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.unit.mcp.relay_bench import RelayBench, text_of
from tests.unit.serve.team_server import TeamServer, run_team
from tests.unit.web.browser import ensure_vendor_files
from verdikt.ledger.projections import APPROVALS
from verdikt.mcp.reaction import Reaction
from verdikt.model.entry import EntryKind
from verdikt.replay import find_differences, read_decision, replay
from verdikt.serve.approvals import Ballot
from verdikt.serve.people import Person
from verdikt.ship.approval_courier import ApprovalCourier, RemoteAnswers

POLICY = """
rules:
  - name: archive
    tool: mcp__notes__get_*
    verdict: ask
    reason: reads the archive
    fix: wait for the release group
    approval: {by: {group: release}}
  - {name: notes_stay, tool: mcp__notes__delete_*, verdict: block, reason: notes stay, fix: archive it}
"""


@dataclass
class Office:
    """A relay on an enrolled machine, and the people at its service."""

    server: TeamServer
    bench: RelayBench
    courier: ApprovalCourier
    owner: Person
    approver: Person

    def vote(self, person: Person, *, approved: bool = True, reason: str = "") -> str:
        """Carry the relay's question to the service, answer it there, carry the answer back; return its rule."""
        self.courier.deliver()
        service = self.server.team.service
        [waiting] = service.approvals.list_approvals(person, history=False)
        ballot = Ballot(approved=approved, digest=waiting["digest"], reason=reason)
        service.approvals.vote(person, waiting["id"], ballot, int(service.clock.now()))
        self.courier.deliver()
        return str(waiting["rule"])

    def count_questions(self) -> int:
        """Return how many questions the log has."""
        store = self.bench.governor.store
        return sum(len(store.read_projection(APPROVALS.name, session)) for session in store.list_sessions())


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TeamServer]:
    """Return a running team service."""
    ensure_vendor_files()
    with run_team(f"sqlite:///{tmp_path_factory.mktemp('team') / 'team.db'}") as server:
        yield server


@pytest.fixture
def office(server: TeamServer, tmp_path: Path) -> Office:
    """Return a relay on a machine of Ana's, with Ben in the group that approves."""
    enrolled = server.enrol(tmp_path / "data")
    people = server.team.service.people
    people_ids = {}
    for name, roles, groups in (("ana", {"developer"}, []), ("ben", {"approver"}, ["release"])):
        person_id = people.ensure_person(server.organisation, name, name.title(), frozenset(roles), groups)
        people_ids[name] = Person(person_id, server.organisation, name.title(), frozenset(roles), frozenset(groups))
    server.team.store.assign_machine(enrolled.id, people_ids["ana"].id)
    bench = RelayBench(tmp_path, policy=POLICY)
    key = enrolled.identity.load_enrolment().service_key
    courier = ApprovalCourier(bench.governor.store, RemoteAnswers(enrolled.open_client(), key))
    return Office(server, bench, courier, people_ids["ana"], people_ids["ben"])


def connect(bench: RelayBench, *, can_ask: bool = False) -> None:
    """Do the handshake of a client, and list the tools."""
    bench.initialize({"elicitation": {}} if can_ask else {})
    bench.list_tools()


def is_forwarded(reaction: Reaction) -> bool:
    """Whether the server gets the call."""
    return [message.method for message in reaction.to_server] == ["tools/call"]


def test_a_client_that_cannot_ask_waits_for_the_person_at_the_service(office: Office) -> None:
    """What the policy asks is asked there; the very same call runs once after a yes, and the decision replays."""
    connect(office.bench)
    assert "waiting for approval" in text_of(office.bench.call("frobnicate", {"n": 1}))
    office.vote(office.owner)

    assert "approval" in text_of(office.bench.call("frobnicate", {"n": 2}))
    assert is_forwarded(office.bench.call("frobnicate", {"n": 1}))
    assert "was used already" in text_of(office.bench.call("frobnicate", {"n": 1}))
    decisions = office.bench.entries(EntryKind.DECISION)
    assert [entry.body["receipt"]["verdict"]["kind"] for entry in decisions] == ["ask", "ask", "warn", "ask"]
    for past in map(read_decision, decisions):
        assert past is not None
        assert find_differences(past, replay(past, office.bench.load_policy())) == []


def test_a_no_at_the_service_is_a_block_with_its_reason(office: Office) -> None:
    """The agent hears who refused, and why."""
    connect(office.bench)
    office.bench.call("frobnicate")
    office.vote(office.owner, approved=False, reason="not today")

    assert "refused by Ana: not today" in text_of(office.bench.call("frobnicate"))


def test_a_group_answers_whether_the_client_can_ask_or_not(office: Office) -> None:
    """The client's own person is not the group; its question is never shown there."""
    connect(office.bench, can_ask=True)
    reaction = office.bench.call("get_note")
    assert "waiting for approval" in text_of(reaction)
    assert "by `release`" in text_of(office.bench.call("get_note"))
    assert office.vote(office.approver) == "archive"

    assert is_forwarded(office.bench.call("get_note"))


def test_a_client_that_can_ask_asks_there_alone(office: Office) -> None:
    """A plain ask goes to the person at the client, and no question to the service."""
    connect(office.bench, can_ask=True)

    assert office.bench.call("frobnicate").to_client[0].method == "elicitation/create"
    assert office.count_questions() == 0


def test_without_a_service_a_client_that_cannot_ask_is_refused(tmp_path: Path) -> None:
    """No question waits where no service would hear of it."""
    bench = RelayBench(tmp_path)
    connect(bench)

    assert "No person can be asked" in text_of(bench.call("frobnicate"))
    assert bench.entries(EntryKind.APPROVAL) == []


def test_what_is_blocked_is_not_asked_at_the_service(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """A block stays one, and so does an ask of a host that says that its run has no person."""
    connect(office.bench)
    assert "notes stay" in text_of(office.bench.call("delete_note"))
    monkeypatch.setitem(office.bench.env, "CLAUDE_CODE_SESSION_ATTENDED", "0")
    assert "waiting for approval" not in text_of(office.bench.call("frobnicate"))

    assert office.count_questions() == 0
