"""Approvals at the service: who may answer, what is refused, and that what was decided is never lost."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from sqlalchemy import update
from starlette.testclient import TestClient

from tests.asking_machine import POLICY, AskingMachine, build_asking_policy, build_call
from tests.unit.serve.http_client import ORIGIN, Site, post
from tests.unit.serve.security_key import SoftwareKey, mirror_signature, write_otherwise
from tests.unit.serve.submissions import NOW
from tests.unit.team.chains import build_lines
from verdikt.errors import WireError
from verdikt.ledger.approval_outbox import list_announced
from verdikt.ledger.approvals import describe_request, read_request_state
from verdikt.model.action import Outcome
from verdikt.model.approval import ApprovalState
from verdikt.model.entry import EntryKind
from verdikt.report.entry_line import summarize_entry
from verdikt.serve import schema
from verdikt.serve.local_answers import LocalAnswers
from verdikt.serve.machines import EnrolledMachine
from verdikt.serve.people import Person
from verdikt.serve.store import TeamStore
from verdikt.ship.approval_courier import ApprovalCourier
from verdikt.team.approval_wire import build_grant, encode_vote, parse_request
from verdikt.team.key_assertion import trim_assertion

NOT_ASKED = "this is no longer asked: it was answered at the terminal, or the policy has changed"


@dataclass
class Team:
    """A service, one of its machines, and the person whose machine it is."""

    site: Site
    machine: AskingMachine
    courier: ApprovalCourier
    owner: TestClient

    @property
    def release(self) -> list[TestClient]:
        """Two members of the group `release`."""
        return [self.sign_in(name, "approver", group="release") for name in ("Ben", "Cleo")]

    def sign_in(self, name: str, *roles: str, group: str = "", other: bool = False) -> TestClient:
        """Return the browser of a person."""
        organisation = (self.site.other_machine if other else self.site.machine).organisation
        person = self.site.people.ensure_person(organisation, name, name, frozenset(roles), [group] if group else [])
        client = self.site.open_client()
        link = self.site.people.create_link(person, self.site.clock.now())
        assert post(client, "/v1/sign-in", {"code": link}).status_code == 200
        return client

    def ask(self, command: str = "./deploy.sh prod") -> dict[str, Any]:
        """Let the agent make a call, and return the question as people see it."""
        self.machine.decide(build_call(command))
        self.courier.deliver()
        return self.list_waiting()[-1]

    def ask_as(self, client: TestClient) -> dict[str, Any]:
        """Let the agent make a call, and return the question as another person sees it."""
        self.machine.decide(build_call())
        self.courier.deliver()
        return self.list_waiting(client)[-1]

    def list_waiting(self, client: TestClient | None = None) -> list[dict[str, Any]]:
        """Return the questions that wait."""
        approvals: list[dict[str, Any]] = (client or self.owner).get("/v1/approvals").json()["approvals"]
        return approvals

    def list_history(self) -> list[dict[str, Any]]:
        """Return the questions that have ended."""
        approvals: list[dict[str, Any]] = self.owner.get("/v1/approvals?state=history").json()["approvals"]
        return approvals

    def list_verbs(self) -> list[Any]:
        """Return what the service's own record says, newest first."""
        return [event["verb"] for event in self.site.people.list_events(self.site.machine.organisation)]


def vote(client: TestClient, approval: dict[str, Any], *, approved: bool = True, **fields: Any) -> tuple[int, str]:
    """Send a vote; return the status and what the service says."""
    body = {"approved": approved, "digest": approval["digest"], **fields}
    response = post(client, f"/v1/approvals/{approval['id']}/votes", body)
    data = response.json()
    return response.status_code, str(data.get("error") or data.get("state"))


@pytest.fixture
def team(store: TeamStore, tmp_path: Path) -> Team:
    """Return a team on each database."""
    site = Site(store)
    machine = AskingMachine(tmp_path / "data", number=site.machine.id, clock=site.clock)
    enrolled = EnrolledMachine(site.machine.id, site.machine.organisation)
    courier = ApprovalCourier(machine.store, LocalAnswers(site.service, enrolled))
    team = Team(site, machine, courier, site.open_client())
    team.owner = team.sign_in("Ana", "developer")
    owner = site.people.ensure_person(enrolled.organisation, "Ana", "Ana", frozenset({"developer"}))
    store.assign_machine(enrolled.id, owner)
    return team


def test_a_quorum_of_other_people_lets_the_call_run_once(team: Team) -> None:
    """Asked, approved by two of the group, carried to the machine, run once, and used at the service."""
    approval = team.ask()
    states = [vote(client, approval)[1] for client in team.release]
    team.courier.deliver()
    decisions = [team.machine.decide().passed, team.machine.decide().passed]
    team.courier.deliver()

    assert states == ["waiting", "approved"]
    assert decisions == [True, False]
    used = team.list_history()[0]
    assert (used["id"], used["state"], [voter["name"] for voter in used["votes"]]) == (
        approval["id"],
        "used",
        ["Ben", "Cleo"],
    )
    grant = next(entry for entry in team.machine.store.read_entries("s1") if entry.kind is EntryKind.GRANT)
    assert grant.body["approval"]["by"] == ["Ben", "Cleo"]
    assert grant.body["approval"]["evidence"]["grant"]["digest"] == approval["digest"]


def test_each_vote_is_signed_in_the_record_of_the_service(team: Team) -> None:
    """The record names person and digest, and its signature verifies with the key that machines know."""
    approval = team.ask()
    vote(team.release[0], approval)
    event = next(
        row for row in team.site.people.list_events(team.site.machine.organisation) if row["verb"] == "approve"
    )
    number, _, digest, _, signature = str(event["object"]).split()
    key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(team.site.service.service_key.public_hex))
    voter = team.site.people.ensure_person(
        team.site.machine.organisation, "Ben", "Ben", frozenset({"approver"}), ["release"]
    )

    assert (event["actor"], number, digest) == (f"Ben ({voter})", str(approval["id"]), approval["digest"])
    key.verify(bytes.fromhex(signature), encode_vote(approval["id"], voter, approval["digest"], approved=True))


def test_a_vote_that_cannot_be_recorded_does_not_count(team: Team) -> None:
    """Whatever ends the service or its database in between: both are there, or neither."""
    approval = team.ask()
    first, second = team.release
    with team.site.store.database.begin_write() as connection:
        connection.exec_driver_sql("ALTER TABLE audit_event RENAME TO gone")
    assert vote(first, approval)[0] == 503
    with team.site.store.database.begin_write() as connection:
        connection.exec_driver_sql("ALTER TABLE gone RENAME TO audit_event")

    assert team.list_waiting(second)[0]["needs"][0]["given"] == 0
    assert [vote(client, approval)[1] for client in (first, second)] == ["waiting", "approved"]
    assert team.list_verbs().count("approve") == 2


def test_those_who_see_everything_see_how_people_answer(team: Team) -> None:
    """How many answers, how many of them yes, after how long, and how many were hardly read; of one organisation."""
    ben, cleo = team.release
    first, second = team.ask("./deploy.sh prod"), team.ask("./deploy.sh stage")
    vote(ben, first)
    team.site.clock.seconds += 60
    vote(ben, second)
    vote(cleo, second, approved=False, reason="no")
    auditor, other = team.sign_in("Dan", "auditor"), team.sign_in("Eve", "auditor", other=True)
    rows = auditor.get("/v1/approvers").json()["approvers"]

    assert [[row[name] for name in ("name", "answers", "approved", "median_seconds", "quick")] for row in rows] == [
        ["Ben", 2, 2, 30, 1],
        ["Cleo", 1, 0, 60, 0],
    ]
    assert other.get("/v1/approvers").json()["approvers"] == []
    assert ben.get("/v1/approvers").status_code == 403


def test_one_refusal_ends_it(team: Team) -> None:
    """The agent hears who refused and why; a later yes does not count."""
    approval = team.ask()
    first, second = team.release
    assert vote(first, approval, approved=False, reason="not on a Friday") == (200, "refused")
    assert vote(second, approval) == (403, "this approval is refused already")
    team.courier.deliver()

    decision = team.machine.decide()

    assert decision.verdict.reason.startswith("refused by Ben: not on a Friday")


def test_the_person_of_the_machine_does_not_count_where_separate(team: Team) -> None:
    """Nor does a second vote of one person, a person of no group, an admin, or another organisation."""
    approval = team.ask()
    owner = team.sign_in("Ana", "developer", "approver", group="release")
    first, _ = team.release
    assert vote(owner, approval) == (403, "a person other than the one whose agent asks has to answer this")
    assert vote(first, approval) == (200, "waiting")
    assert vote(first, approval) == (403, "you have answered this already")
    assert vote(team.sign_in("Dan", "developer"), approval) == (403, "only members of `release` can answer this")
    assert vote(team.sign_in("Eva", "approver", group="web"), approval)[0] == 403
    assert vote(team.sign_in("Root", "admin"), approval)[0] == 403
    assert vote(team.sign_in("Mallory", "approver", group="release", other=True), approval) == (
        404,
        "no such approval",
    )

    assert team.list_waiting()[0]["needs"][0]["given"] == 1
    assert team.list_verbs().count("approve_rejected") == 4


@pytest.mark.parametrize("change", ["disabled", "moved", "demoted"])
def test_a_vote_counts_as_long_as_its_person_may_vote(team: Team, change: str) -> None:
    """An account that was shut, or left the group, before the quorum was there is not part of it."""
    approval = team.ask()
    first, second = team.release
    third = team.sign_in("Dora", "approver", group="release")
    assert vote(first, approval) == (200, "waiting")
    organisation = team.site.machine.organisation
    roles, groups = ["viewer" if change == "demoted" else "approver"], ["web" if change == "moved" else "release"]
    person = team.site.people.ensure_person(organisation, "Ben", "Ben", frozenset(roles), groups)
    team.site.people.set_disabled(organisation, person, disabled=change == "disabled")

    assert vote(second, approval) == (200, "waiting")
    assert team.list_waiting(third)[-1]["needs"][0]["given"] == 1
    assert vote(third, approval) == (200, "approved")


def test_on_a_machine_that_belongs_to_no_person_no_person_is_known_to_be_another(team: Team) -> None:
    """A code for fleets lets in machines whose person the service does not know: it may be the one who votes."""
    owner = team.sign_in("Ana", "developer", "approver", group="release")
    with team.site.store.database.begin_write() as connection:
        connection.execute(update(schema.machine).values(person=None))
    refused = (403, "this machine has no person at this service, so it cannot be told that another one answers")
    approval = team.ask_as(owner)
    assert [vote(client, approval) for client in (owner, *team.release)] == [refused] * 3
    shown = owner.get(f"/v1/approvals/{approval['id']}").json()
    assert (shown["can_vote"], shown["why_not"]) == (False, refused[1])


def test_a_vote_for_another_digest_is_refused_and_recorded(team: Team) -> None:
    """What a person saw is what the person approves."""
    approval, other = team.ask(), team.ask("./deploy.sh stage")
    client = team.release[0]

    assert vote(client, {**approval, "digest": other["digest"]}) == (
        403,
        "this is not the approval that you were shown; load the page again",
    )
    assert team.list_verbs()[0] == "approve_rejected"


def test_a_vote_without_a_browser_is_refused(team: Team) -> None:
    """A page of another origin, and a program without the cookie, cannot vote."""
    approval = team.ask()
    client = team.release[0]
    path, body = f"/v1/approvals/{approval['id']}/votes", {"approved": True, "digest": approval["digest"]}

    assert client.post(path, json=body, headers={"Origin": "http://evil.example", "X-Verdikt": "1"}).status_code == 403
    assert client.post(path, json=body, headers={"X-Verdikt": "1"}).status_code == 403
    assert (
        team.site.open_client().post(path, json=body, headers={"Origin": ORIGIN, "X-Verdikt": "1"}).status_code == 401
    )
    assert team.list_verbs()[:2] == ["refused", "refused"], "with the person's cookie, so they hear of it"
    assert team.list_waiting()[0]["needs"][0]["given"] == 0


def test_the_person_of_the_machine_confirms_their_own(team: Team) -> None:
    """With `by: self` that person alone answers."""
    approval = team.ask("twine upload dist/*")

    assert vote(team.release[0], approval) == (403, "only the person of the machine can answer this")
    assert vote(team.owner, approval) == (200, "approved")


def test_a_question_that_no_person_answers_expires_and_stays(team: Team) -> None:
    """It ends at its time, cannot be voted on, and is found in the history a year later."""
    approval = team.ask()
    voter = team.release[0]
    team.site.clock.seconds += 4 * 3600
    assert vote(voter, approval) == (403, "this approval has expired")
    assert team.list_waiting() == []
    team.courier.deliver()
    assert list_announced(team.machine.store.home) == {}
    team.site.clock.seconds += 365 * 86_400

    team.owner = team.sign_in("Ana", "developer")
    assert [item["state"] for item in team.list_history()] == ["expired"]
    found = team.owner.get("/v1/approvals?state=history&q=deploy.sh+PROD").json()["approvals"]
    assert [item["id"] for item in found] == [approval["id"]]


@pytest.mark.parametrize("state", ["waiting", "history"])
def test_a_list_of_approvals_has_pages(team: Team, state: str) -> None:
    """Each once: those that wait the most urgent first, then the oldest; those that have ended the newest first."""
    commands = ["./deploy.sh 1", "./deploy.sh 2", "twine upload dist/*", "./deploy.sh 3", "./deploy.sh 4"]
    for command in commands:
        team.machine.decide(build_call(command))
        team.courier.deliver()
    with team.site.store.database.begin_write() as connection:
        connection.exec_driver_sql("UPDATE approval SET risk = 3 WHERE rule = 'publish'")
    by_urgency = team.list_waiting()
    assert [item["risk"] for item in by_urgency] == [3, 2, 2, 2, 2]
    expected = [item["id"] for item in by_urgency]
    if state == "history":
        team.site.clock.seconds += 4 * 3600
        team.owner = team.sign_in("Ana", "developer")
        expected = sorted(expected, reverse=True)
    seen, cursor = [], ""
    for _ in range(3):
        page = team.owner.get(f"/v1/approvals?state={state}&limit=2&cursor={cursor}").json()
        seen += [item["id"] for item in page["approvals"]]
        cursor = page["cursor"]

    assert seen == expected
    assert cursor == ""


def test_a_service_killed_after_the_last_vote_still_grants(team: Team) -> None:
    """The grant is made from what is stored: another replica, without memory of the vote, gives the same one."""
    approval = team.ask()
    for client in team.release:
        vote(client, approval)
    again = Site(team.site.store, team.site.clock)
    enrolled = EnrolledMachine(team.site.machine.id, team.site.machine.organisation)
    one = again.service.approvals.read_answers(enrolled, [approval["request"]], int(again.clock.now()))
    two = team.site.service.approvals.read_answers(enrolled, [approval["request"]], int(again.clock.now()))

    assert one == two
    assert one[approval["request"]]["grant"]["not_after"] == int(again.clock.now()) + 1800


def test_a_machine_that_was_offline_at_the_decision_uses_it_once(team: Team) -> None:
    """Ten minutes later it takes the answer; the time counts from the decision."""
    approval = team.ask()
    for client in team.release:
        vote(client, approval)
    team.site.clock.seconds += 600
    team.courier.deliver()
    assert [team.machine.decide().passed, team.machine.decide().passed] == [True, False]


def test_an_answer_that_is_taken_too_late_is_not_used(team: Team) -> None:
    """After the time of the yes has passed, the machine refuses it, and says so."""
    approval = team.ask()
    for client in team.release:
        vote(client, approval)
    team.site.clock.seconds += 1801
    team.courier.deliver()

    assert team.courier.problems == {approval["request"]: f"the answer to approval {approval['request']} came too late"}
    assert not team.machine.decide().passed


def test_the_terminal_is_faster(team: Team) -> None:
    """What ran after the host's prompt ends the question, and a vote comes too late."""
    call = build_call("twine upload dist/*", call="c1")
    team.machine.decide(call)
    team.courier.deliver()
    approval = team.list_waiting()[0]
    team.machine.governance.after(call, Outcome(success=True))
    team.courier.deliver()

    assert vote(team.owner, approval) == (403, NOT_ASKED)
    assert team.list_history()[0]["state"] == "cancelled"


def test_a_vote_under_a_policy_that_is_no_longer_in_force_is_refused(team: Team) -> None:
    """What the session decides next shows the policy in force; a yes to the old one could never be used."""
    approval = team.ask()
    team.machine.govern(POLICY + "  - {name: extra, command: [make], verdict: warn, reason: r, fix: f}\n")
    team.machine.decide(build_call("git status"))
    team.courier.deliver()

    assert vote(team.release[0], approval) == (403, NOT_ASKED)
    assert team.list_verbs()[0] == "approve_rejected"
    assert team.list_history()[0]["state"] == "cancelled"
    entries = [summarize_entry(entry) for entry in team.machine.store.read_entries("s1")]
    assert entries[-1] == f"approval {approval['request']} ended, because the policy changed"
    # The same call is asked about again, under the policy that is in force now.
    again = team.ask()
    assert again["digest"] != approval["digest"]
    assert [vote(client, again)[1] for client in team.release] == ["waiting", "approved"]


def test_a_decision_in_another_directory_tells_nothing_of_the_policy_here(team: Team) -> None:
    """A session may work in two projects, each with a policy of its own."""
    approval = team.ask()
    team.machine.govern("profile: none\n")
    team.machine.decide(replace(build_call("git status"), cwd="/home/dev/other"))
    team.courier.deliver()
    team.machine.govern(POLICY)

    assert [vote(client, approval)[1] for client in team.release] == ["waiting", "approved"]
    team.courier.deliver()
    assert team.machine.decide().passed


def test_the_same_question_twice_is_one(team: Team) -> None:
    """A machine that sends again after a crash finds its question; another call under its id is refused."""
    team.ask()
    team.courier._submitted.clear()
    team.courier.deliver()

    assert len(team.list_waiting()) == 1
    assert team.list_verbs().count("ask") == 0  # asked in this process


def test_a_call_that_waits_is_one_question_with_a_counter(team: Team) -> None:
    """However often the agent makes it; what a late repetition of an older request says does not count back."""
    assert team.ask()["calls"] == 1
    first = describe_request(team.machine.store, "s1", team.list_waiting()[0]["request"])
    assert first is not None
    for _ in range(3):
        team.machine.decide()
    team.courier.deliver()
    team.courier.source.submit(first)

    assert [item["calls"] for item in team.list_waiting()] == [4]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"calls": 0}, "expected how often"),
        ({"calls": True}, "expected how often"),
        ({"digest": "0" * 64}, "does not have the digest"),
        ({"document": {}}, "expected a document of this version"),
        ({"expires": 0}, "expected times"),
        ({"expires": 2**40 - 1}, "expected an approval that waits for 168 hours at most"),
        ({"id": "../x"}, "expected an id"),
        ({"texts": None}, "expected `texts`"),
    ],
)
def test_a_question_that_is_not_what_it_says_is_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    """What people see has the digest that they approve."""
    machine = AskingMachine(tmp_path / "data")
    id, _ = machine.ask()
    request = describe_request(machine.store, "s1", id)
    assert request is not None
    assert parse_request(request).summary == "Bash ./deploy.sh prod"

    with pytest.raises(WireError, match=message):
        parse_request({**request, **change})


def test_a_text_that_was_not_pinned_is_not_shown(tmp_path: Path) -> None:
    """A machine cannot show people another script than the one whose digest they approve."""
    machine = AskingMachine(tmp_path / "data")
    id, _ = machine.ask()
    request = describe_request(machine.store, "s1", id)
    assert request is not None
    texts = {**request["texts"], "/home/dev/project/deploy.sh": "echo harmless\n"}

    assert "/home/dev/project/deploy.sh" in parse_request(request).texts
    assert "/home/dev/project/deploy.sh" not in parse_request({**request, "texts": texts}).texts


def test_what_a_revoked_machine_asked_for_ends(team: Team) -> None:
    """It is no more on the page, what is approved is granted no more, and a vote in the same moment does not count."""
    approval = team.ask()
    for client in team.release:
        vote(client, approval)
    waiting = team.ask("./deploy.sh staging")
    team.site.store.revoke_machine(team.site.machine.organisation, team.site.machine.id, NOW)
    enrolled = EnrolledMachine(team.site.machine.id, team.site.machine.organisation)
    approvals, now = team.site.service.approvals, int(team.site.clock.now())
    answers = approvals.read_answers(enrolled, [approval["request"]], now)
    with team.site.store.database.begin_write() as connection:
        # One that came while its key was still known.
        connection.execute(update(schema.approval).where(schema.approval.c.id == waiting["id"]).values(state="waiting"))

    assert answers == {approval["request"]: {"state": "cancelled"}}
    assert [item["id"] for item in team.list_waiting()] == [waiting["id"]]
    assert vote(team.release[0], waiting) == (403, "the machine that asks was revoked")


def test_what_no_person_approved_is_never_granted(team: Team) -> None:
    """A machine that says that it used an approval which waits ends it: no grant is signed, and no vote counts."""
    approval = team.ask()
    enrolled = EnrolledMachine(team.site.machine.id, team.site.machine.organisation)
    approvals, now = team.site.service.approvals, int(team.site.clock.now())
    approvals.report(enrolled, approval["request"], ApprovalState.USED, now)
    answers = approvals.read_answers(enrolled, [approval["request"]], now)

    assert answers == {approval["request"]: {"state": "cancelled"}}
    assert vote(team.release[0], approval) == (403, NOT_ASKED)
    assert not team.machine.decide().passed


def test_a_grant_that_the_service_did_not_sign_is_not_taken(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine holds the grant against its own question and the key it knows."""
    approval = team.ask()
    for client in team.release:
        vote(client, approval)
    monkeypatch.setattr(LocalAnswers, "verify_grant", lambda *_: False)
    team.courier.deliver()

    assert "not signed by the service" in team.courier.problems[approval["request"]]
    assert read_request_state(team.machine.store, "s1", approval["request"]) is ApprovalState.WAITING


def test_another_organisation_sees_nothing(team: Team) -> None:
    """Neither the list, nor the question, nor keys and places of its people."""
    approval = team.ask()
    other = team.sign_in("Mallory", "auditor", "approver", group="release", other=True)

    assert team.list_waiting(other) == []
    assert other.get(f"/v1/approvals/{approval['id']}").status_code == 404
    assert team.owner.get(f"/v1/approvals/{approval['id']}").json()["document"]["action"]["tool"] == "Bash"


@pytest.mark.parametrize(
    ("roles", "group", "is_visible"),
    [
        (["auditor"], "", True),
        (["admin"], "", True),
        (["approver"], "release", True),
        (["approver"], "web", False),
        (["developer"], "release", False),
        (["viewer"], "release", False),
        (["viewer"], "shop", True),
    ],
)
def test_a_question_is_seen_by_those_whom_it_concerns(
    team: Team, roles: list[str], group: str, *, is_visible: bool
) -> None:
    """Its person, those who can answer, the machine's team, and those who see all."""
    with team.site.store.database.begin_write() as connection:
        connection.exec_driver_sql("UPDATE machine SET team = 'shop'")
    approval = team.ask()
    client = team.sign_in("Pat", *roles, group=group)

    assert bool(team.list_waiting(client)) is is_visible
    assert client.get(f"/v1/approvals/{approval['id']}").status_code == (200 if is_visible else 404)


def test_the_actions_before_are_linked_for_those_who_may_see_them(team: Team) -> None:
    """Who answers for a group need not see what the machine sends."""
    approval = team.ask()
    team.site.machine.send(*build_lines(approval["session"], range(1, 4)))
    path = f"/v1/approvals/{approval['id']}"
    release = team.sign_in("Ben", "approver", group="release")

    assert team.owner.get(path).json()["chain"] == team.site.machine.list_sessions()[0]["chain"]
    assert release.get(path).json()["chain"] is None


def test_what_others_were_asked_is_not_shown_for_comparison(team: Team) -> None:
    """A script that another group approved under a rule of the same name is not for those who answer now."""
    approval = team.ask()
    assert [vote(client, approval)[0] for client in team.release] == [200, 200]
    later = team.ask("./deploy.sh eu")
    release = team.sign_in("Ben", "approver", group="release")
    shown = release.get(f"/v1/approvals/{later['id']}").json()["previous_texts"]
    with team.site.store.database.begin_write() as connection:
        connection.exec_driver_sql(f"UPDATE approval SET groups = '\nsecurity\n' WHERE id = {approval['id']}")

    assert list(shown) != []
    assert release.get(f"/v1/approvals/{later['id']}").json()["previous_texts"] == {}


def test_votes_that_come_at_once_are_counted_one_by_one(team: Team) -> None:
    """Six people press the key in the same moment: two votes settle it, the others hear that it is settled."""
    approval = team.ask()
    people = [team.sign_in(f"P{number}", "approver", group="release") for number in range(6)]
    barrier = threading.Barrier(6)
    replies: list[tuple[int, str]] = []

    def press(client: TestClient) -> None:
        barrier.wait()
        replies.append(vote(client, approval))

    threads = [threading.Thread(target=press, args=(client,)) for client in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(replies) == [
        (200, "approved"),
        (200, "waiting"),
        *[(403, "this approval is approved already")] * 4,
    ]


def test_a_token_cannot_vote_and_its_attempt_is_recorded(team: Team) -> None:
    """What a program holds can be copied: a vote is a person's, in a browser that signed in."""
    approval = team.ask()
    id = team.site.people.ensure_person(
        team.site.machine.organisation, "Ben", "Ben", frozenset({"approver"}), ["release"]
    )
    person = Person(id, team.site.machine.organisation, "Ben", frozenset({"approver"}), frozenset({"release"}))
    token = team.site.service.tokens.create_token(person, "ci", frozenset({"read"}), 1, team.site.clock.now())
    body = {"approved": True, "digest": approval["digest"]}
    path = f"/v1/approvals/{approval['id']}/votes"

    response = post(team.site.open_client(), path, body, Authorization=f"Bearer {token}")

    assert response.status_code == 403
    assert response.json()["error"] == "a token cannot do this: sign in"
    event = team.site.people.list_events(team.site.machine.organisation)[0]
    assert (event["actor"], event["verb"], event["object"]) == (f"token of Ben ({id})", "refused", path)
    assert team.list_waiting()[0]["needs"][0]["given"] == 0


@pytest.mark.parametrize("change", [dict, write_otherwise, mirror_signature])
def test_a_signature_of_a_key_answers_one_question(team: Team, change: Callable[..., dict[str, Any]]) -> None:
    """The same call, asked about again, has the same digest: what a key signed for the first time is not enough."""
    ben = team.sign_in("Ben", "approver", group="release")
    organisation = team.site.machine.organisation
    id = team.site.people.ensure_person(organisation, "Ben", "Ben", frozenset({"approver"}), ["release"])
    key = SoftwareKey(team.site.store, Person(id, organisation, "Ben", frozenset()), ORIGIN)
    call = "release-it --major"

    team.ask(call)
    first = team.list_waiting(ben)[-1]
    signed = key.sign(ben.get(f"/v1/approvals/{first['id']}").json()["challenge"])
    assert vote(ben, first, assertion=signed) == (200, "approved")
    team.courier.deliver()
    assert team.machine.decide(build_call(call)).passed
    team.courier.deliver()
    team.ask(call)
    second = team.list_waiting(ben)[-1]

    assert second["digest"] == first["digest"]
    assert vote(ben, second, assertion=change(signed))[0] == 403
    assert team.list_verbs()[0] == "approve_rejected"
    fresh = key.sign(ben.get(f"/v1/approvals/{second['id']}").json()["challenge"])
    assert vote(ben, second, assertion=fresh) == (200, "approved")


def test_a_signature_counts_for_its_own_person_and_page_only(team: Team) -> None:
    """A key that signed on another site, or is another person's, and a yes without any, are refused and recorded."""
    ben, cleo = team.release
    organisation = team.site.machine.organisation
    people = {}
    for name in ("Ben", "Cleo"):
        id = team.site.people.ensure_person(organisation, name, name, frozenset({"approver"}), ["release"])
        people[name] = Person(id, organisation, name, frozenset())
    elsewhere = SoftwareKey(team.site.store, people["Ben"], "http://127.0.0.1:9999")
    own = SoftwareKey(team.site.store, people["Ben"], ORIGIN)
    team.machine.decide(build_call("release-it --major"))
    team.courier.deliver()
    approval = team.list_waiting(ben)[-1]
    challenge = ben.get(f"/v1/approvals/{approval['id']}").json()["challenge"]
    before = team.list_verbs().count("approve_rejected")

    assert vote(ben, approval, assertion=elsewhere.sign(challenge))[0] == 403
    assert vote(cleo, approval, assertion=own.sign(challenge)) == (403, "this is not one of your security keys")
    assert vote(ben, approval) == (403, "this needs your security key")
    assert vote(ben, approval, assertion={"id": "%%%"})[0] == 403
    assert team.list_verbs().count("approve_rejected") == before + 4
    assert vote(ben, approval, assertion=own.sign(challenge)) == (200, "approved")


RELEASE = "release-it --major"


def ask_with_keys(team: Team, *keys: SoftwareKey) -> tuple[TestClient, dict[str, Any]]:
    """Let the agent ask for a yes that only these keys can sign; return Ben's browser and the question."""
    ben = team.sign_in("Ben", "approver", group="release")
    names = {row["id"]: row["key"] for row in ben.get("/v1/keys").json()["keys"]}
    named = ", ".join(names[key.number] for key in keys)
    team.machine.govern(build_asking_policy(release=f"{{by: {{group: release}}, strong: true, keys: [{named}]}}"))
    team.machine.decide(build_call(RELEASE))
    team.courier.deliver()
    return ben, team.list_waiting(ben)[-1]


@pytest.fixture
def ben(team: Team) -> Person:
    """Return a member of the group `release`."""
    organisation = team.site.machine.organisation
    id = team.site.people.ensure_person(organisation, "Ben", "Ben", frozenset({"approver"}), ["release"])
    return Person(id, organisation, "Ben", frozenset())


def test_where_the_policy_names_keys_only_these_count(team: Team, ben: Person) -> None:
    """A key that was added with a stolen cookie is a key of the person, and still none that the policy names."""
    named, added = SoftwareKey(team.site.store, ben, ORIGIN), SoftwareKey(team.site.store, ben, ORIGIN)
    client, approval = ask_with_keys(team, named)
    challenge = client.get(f"/v1/approvals/{approval['id']}").json()["challenge"]
    status, problem = vote(client, approval, assertion=added.sign(challenge))
    assert vote(client, approval, assertion=named.sign(challenge)) == (200, "approved")
    team.courier.deliver()

    assert (status, problem[:52]) == (403, "the policy names the security keys that count here, ")
    assert approval["needs"][0]["text"] == "`release` (with a security key that the policy names)"
    assert team.machine.decide(build_call(RELEASE)).passed


@pytest.mark.parametrize("forged", ["nothing", "a name", "another key", "another call", "a changed signature"])
def test_a_service_that_was_taken_over_grants_nothing_that_is_strong(
    team: Team, ben: Person, monkeypatch: pytest.MonkeyPatch, forged: str
) -> None:
    """It holds the key that signs grants: the machine verifies what the security key signed, and which key it was."""
    named, invented = SoftwareKey(team.site.store, ben, ORIGIN), SoftwareKey(team.site.store, ben, ORIGIN)
    client, approval = ask_with_keys(team, named)
    challenge = client.get(f"/v1/approvals/{approval['id']}").json()["challenge"]
    right = trim_assertion(named.sign(challenge), named.public_key)
    signed: Any = {
        "nothing": None,
        "a name": {"public_key": named.public_key.hex()},
        "another key": trim_assertion(invented.sign(challenge), invented.public_key),
        "another call": trim_assertion(named.sign("00" * 32), named.public_key),
        "a changed signature": right | {"signature": right["signature"][:-4] + "AAAA"},
    }[forged]
    votes = [{"person": ben.id, "name": "Ben", "approved": True, "reason": "", "assertion": signed}]
    monkeypatch.setattr(
        "verdikt.serve.approvals.build_grant", lambda **fields: build_grant(**{**fields, "votes": votes})
    )
    with team.site.store.database.begin_write() as connection:
        connection.execute(update(schema.approval).values(state="approved", decided=1, not_after=2**40))
    team.courier.deliver()

    assert team.courier.problems[approval["request"]].startswith("the grant has fewer votes than the policy asks for")
    assert not team.machine.decide(build_call(RELEASE)).passed


@pytest.mark.parametrize("round", range(8))
def test_prompt_and_browser_race_and_the_call_is_allowed_once(team: Team, round: int) -> None:
    """Both answer in the same moment: whichever is first, the other is used up with it."""
    call = build_call("twine upload dist/*", call="c1")
    team.machine.decide(call)
    team.courier.deliver()
    vote(team.owner, team.list_waiting()[0])
    barrier = threading.Barrier(2)

    def answer_at_the_prompt() -> None:
        barrier.wait()
        team.machine.governance.after(call, Outcome(success=True))

    prompt = threading.Thread(target=answer_at_the_prompt)
    prompt.start()
    barrier.wait()
    team.courier.deliver()
    prompt.join()
    team.courier.deliver()

    assert not team.machine.decide(build_call("twine upload dist/*", call="c2")).passed
    assert [item["state"] for item in team.list_history()] in (["used"], ["cancelled"])
