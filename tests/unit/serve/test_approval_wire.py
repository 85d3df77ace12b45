"""Approvals over real sockets: a machine asks, waits, checks the service's signature, and uses the answer once."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.asking_machine import AskingMachine, build_call
from tests.unit.serve.team_server import ShippingMachine, TeamServer, run_team
from tests.unit.web.browser import ensure_vendor_files
from verdikt.ledger.approval_outbox import list_announced
from verdikt.observe.clock import SystemClock
from verdikt.serve.approvals import Ballot
from verdikt.serve.people import Person
from verdikt.ship.approval_courier import ApprovalCourier, RemoteAnswers
from verdikt.ship.service_client import Refused

COMMAND = "twine upload dist/*"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[TeamServer]:
    """Return a replica."""
    ensure_vendor_files()
    with run_team(f"sqlite:///{tmp_path / 'team.db'}") as server:
        yield server


def open_machine(server: TeamServer, home: Path) -> tuple[AskingMachine, ApprovalCourier, Person]:
    """Return an enrolled machine, what carries its questions, and the person whose machine it is."""
    enrolled: ShippingMachine = server.enrol(home)
    machine = AskingMachine(home, number=0, clock=SystemClock())
    people = server.team.service.people
    id = people.ensure_person(server.organisation, "ana", "Ana", frozenset({"developer"}))
    server.team.store.assign_machine(enrolled.id, id)
    key = enrolled.identity.load_enrolment().service_key
    courier = ApprovalCourier(machine.store, RemoteAnswers(enrolled.open_client(), key))
    return machine, courier, Person(id, server.organisation, "Ana", frozenset({"developer"}))


def approve(server: TeamServer, person: Person) -> None:
    """Approve the only question that waits."""
    service = server.team.service
    waiting = service.approvals.list_approvals(person, history=False)[0]
    ballot = Ballot(approved=True, digest=waiting["digest"])
    service.approvals.vote(person, waiting["id"], ballot, int(service.clock.now()))


def test_an_answer_ends_the_wait_and_is_used_once(server: TeamServer, tmp_path: Path) -> None:
    """The long poll returns when the person has answered; the call runs once, and the service hears of it."""
    machine, courier, person = open_machine(server, tmp_path / "ana")
    machine.decide(build_call(COMMAND))
    courier.deliver()
    voter = threading.Timer(0.3, approve, (server, person))
    voter.start()
    assert courier.deliver(wait_seconds=8)
    voter.join()

    decisions = [machine.decide(build_call(COMMAND)) for _ in range(2)]
    courier.deliver()

    assert [decision.passed for decision in decisions] == [True, False]
    history = server.team.service.approvals.list_approvals(person, history=True)
    assert [item["state"] for item in history] == ["used"]


def test_a_grant_of_another_service_is_not_taken(server: TeamServer, tmp_path: Path) -> None:
    """Only the key that was named at enrolment counts."""
    machine, courier, person = open_machine(server, tmp_path / "ana")
    courier.source = RemoteAnswers(courier.source.client, "00" * 32)  # type: ignore[attr-defined]
    machine.decide(build_call(COMMAND))
    courier.deliver()
    approve(server, person)
    courier.deliver()

    assert [*courier.problems.values()] == ["the grant is not signed by the service at which this machine is enrolled"]
    assert not machine.decide(build_call(COMMAND)).passed


def test_a_machine_asks_only_for_itself(server: TeamServer, tmp_path: Path) -> None:
    """A question in the name of another machine is refused, and answers to another's questions are not shown."""
    machine, courier, _ = open_machine(server, tmp_path / "ana")
    other = server.enrol(tmp_path / "eve").open_client()
    machine.decide(build_call(COMMAND))
    (request,) = list_announced(machine.store.home)
    sent = []
    source = courier.source
    courier.source = type("Tap", (), {"submit": lambda _, fields: sent.append(fields)})()
    courier._submit_request("s1", request)
    courier.source = source

    with pytest.raises(Refused, match="another machine"):
        other.call("POST", "/v1/approvals", json.dumps(sent[0]).encode())
    courier._submitted.clear()
    courier.deliver()
    body = json.dumps({"requests": {request: "waiting"}, "wait": 0}).encode()
    assert other.call("POST", "/v1/approval-answers", body)["answers"] == {}


def test_an_unreadable_request_about_answers_is_refused(server: TeamServer, tmp_path: Path) -> None:
    """Too many, too long, or not in this form."""
    client = server.enrol(tmp_path / "ana").open_client()
    for body in ({}, {"requests": {}}, {"requests": {"a": 1}}, {"requests": {"a": "x"}, "wait": 3600}):
        with pytest.raises(Refused, match="expected"):
            client.call("POST", "/v1/approval-answers", json.dumps(body).encode())
