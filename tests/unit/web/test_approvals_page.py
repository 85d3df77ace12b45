"""The Approvals page in a real Chromium: read, answered by keyboard, with a security key, at 360 pixels."""

import dataclasses
import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, CDPSession, Page, expect

from tests.asking_machine import SCRIPT, AskingMachine, build_asking_policy
from tests.unit.web import hostile
from tests.unit.web.browser import Complaints, check_accessibility, open_page, run_service
from verdikt.model.action import Action, ActionKind
from verdikt.observe.clock import SystemClock
from verdikt.serve import schema
from verdikt.serve.embedded import EmbeddedService

POLICY = build_asking_policy(
    deploy="{by: self}",
    publish="{by: self, strong: true}",
    release="{by: {group: release}, count: 2, separate: true}",
)
HOSTILE = "<img src=x onerror=alert(1)> \u202eexe.txt \x1b[31m"


class Desk:
    """A machine that asks, and the browser of its person."""

    def __init__(self, home: Path, browser: Browser) -> None:
        self.machine = AskingMachine(home, POLICY, number=0, clock=SystemClock())
        self.machine.decide(self.call("true"))
        self.browser = browser
        self.service: EmbeddedService
        self.page: Page
        self.complaints: Complaints

    def call(self, command: str, says: str = "routine") -> Action:
        """Return a call with what the agent says about it."""
        payload = {"command": command, "description": says}
        return Action(
            kind=ActionKind.BASH, tool="Bash", payload=payload, session_id="s1", cwd="/home/dev/project", host="claude"
        )

    def ask(self, command: str, says: str = "routine") -> None:
        """Let the agent make a call that is asked about, and bring the question to the page."""
        self.machine.decide(self.call(command, says))
        self.service.importer.import_new_lines()
        self.service.courier.deliver()

    def open(self, path: str = "/approvals", **options: bool | int) -> Page:
        """Sign in and open the page."""
        self.page, self.complaints = open_page(self.browser, self.service, **options)  # type: ignore[arg-type]
        self.page.goto(f"http://127.0.0.1:{self.service.port}{path}")
        return self.page

    def runs(self, command: str, says: str = "routine") -> bool:
        """Return whether the machine lets the call run now."""
        self.service.courier.deliver()
        return self.machine.decide(self.call(command, says)).passed


@pytest.fixture
def desk(tmp_path: Path, browser: Browser) -> Iterator[Desk]:
    """Return a desk; whatever the page complains about fails the test."""
    desk = Desk(tmp_path / "data", browser)
    with run_service(tmp_path / "data") as service:
        desk.service = service
        yield desk
        desk.page.context.close()
    assert desk.complaints == []


def test_a_person_approves_by_one_key_and_the_call_runs_once(desk: Desk) -> None:
    """What verdikt computed stands above what the agent says; `a` approves, and the machine runs it once."""
    desk.ask("./deploy.sh prod", HOSTILE)
    page = desk.open()
    page.keyboard.press("g")
    page.keyboard.press("a")
    card = page.locator(".card.open")
    expect(card.locator(".computed")).to_contain_text("code.run")
    expect(card.locator(".said")).to_contain_text("‹U+202E›exe.txt")
    computed, said = card.locator(".computed").bounding_box(), card.locator(".said").bounding_box()
    assert computed is not None
    assert said is not None
    assert computed["y"] < said["y"]
    expect(page.locator("nav .badge")).to_have_text("1")
    request = card.locator(".id").inner_text()
    page.keyboard.press("a")
    expect(page.get_by_text("No agent waits for an answer.")).to_be_visible()
    expect(page.locator(".message")).to_have_text(f"{request}: approved")
    expect(page.locator("nav .badge")).to_have_count(0)

    assert [desk.runs("./deploy.sh prod", HOSTILE), desk.runs("./deploy.sh prod", HOSTILE)] == [True, False]


def test_nothing_that_a_question_says_does_anything(desk: Desk) -> None:
    """Every text of a waiting and of an answered question, whatever a machine sent, is shown and never run."""
    desk.ask("./deploy.sh prod")
    approvals, votes = schema.approval, schema.vote
    with desk.service.store.database.begin_write() as connection:
        row = dict(connection.execute(approvals.select()).mappings().one())
        del row["id"]
        for number, text in enumerate(hostile.HOSTILE):
            texts = dict.fromkeys(("request", "session", "rule", "reason", "summary"), text)
            document = spoil_texts(json.loads(row["document"]), text)
            shown = {"document": json.dumps(document), "texts": json.dumps({text: text})}
            for state in ("waiting", "refused"):
                values = {**row, **texts, **shown, "state": state, "request": f"{text}{number}{state}"}
                asked = connection.execute(approvals.insert().values(**values).returning(approvals.c.id)).scalar_one()
                vote = {"approval": asked, "person": 1, "organisation": 1, "name": text, "approved": False, "at": 1}
                if state == "refused":
                    connection.execute(votes.insert().values(**vote, reason=text, is_owner=True, groups="[]"))
    page = desk.open()
    for address, count in (
        ("/approvals", len(hostile.HOSTILE) + 1),
        ("/approvals?state=history", len(hostile.HOSTILE)),
    ):
        page.goto(f"http://127.0.0.1:{desk.service.port}{address}")
        expect(page.locator(".card")).to_have_count(count)
        for number in range(count):
            expect(page.locator(".card").nth(number).locator(".card-body .computed")).to_be_visible()
            hostile.check_page(page)
            page.keyboard.press("j")


def spoil_texts(value: Any, text: str) -> Any:
    """Return a document in which every text is another one, except what says who has to approve."""
    if isinstance(value, dict):
        return {key: item if key in ("needs", "approval") else spoil_texts(item, text) for key, item in value.items()}
    if isinstance(value, list):
        return [spoil_texts(item, text) for item in value]
    return text if isinstance(value, str) else value


def test_a_refusal_needs_a_reason_which_the_agent_hears(desk: Desk) -> None:
    """`r` asks for the reason; Enter sends it."""
    desk.ask("./deploy.sh prod")
    page = desk.open()
    expect(page.locator(".ballot")).to_be_visible()
    page.keyboard.press("r")
    expect(page.get_by_label("Reason")).to_be_focused()
    page.keyboard.type("not on a Friday")
    page.keyboard.press("Enter")
    expect(page.get_by_text("No agent waits for an answer.")).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("tab", name="History").click()
    expect(page.locator(".card.open .votes")).to_contain_text("not on a Friday")
    desk.service.courier.deliver()

    decision = desk.machine.decide(desk.call("./deploy.sh prod"))
    assert "not on a Friday" in decision.verdict.reason


def test_the_script_is_compared_with_the_one_that_was_approved(desk: Desk) -> None:
    """After a change of the script, the page shows what changed; `p` approves and proposes an exception."""
    desk.machine.world.texts[SCRIPT] = "set -e\nkubectl apply -f prod.yaml\n"
    desk.ask("./deploy.sh prod")
    page = desk.open()
    expect(page.locator(".ballot")).to_be_visible()
    page.keyboard.press("a")
    expect(page.get_by_text("No agent waits for an answer.")).to_be_visible()
    assert desk.runs("./deploy.sh prod")
    desk.service.courier.deliver()
    desk.machine.world.texts[SCRIPT] = "set -e\nkubectl delete namespace prod\n"
    desk.ask("./deploy.sh prod")

    expect(page.locator(".diff .removed")).to_have_text(re.compile("kubectl apply"))
    expect(page.locator(".diff .added")).to_have_text(re.compile("kubectl delete namespace prod"))
    page.keyboard.press("p")
    expect(page.locator(".proposal pre")).to_contain_text('command: "./deploy.sh prod"')


def test_a_call_that_is_longer_than_its_line_is_shown_whole(desk: Desk) -> None:
    """What is approved is what is seen: the end of a long command, and what else the call was made with."""
    payload = {"command": f"./deploy.sh {'a' * 400} --really-the-end", "timeout": 600, "description": "routine"}
    action = desk.call("")
    desk.machine.decide(dataclasses.replace(action, payload=payload))
    desk.service.courier.deliver()
    page = desk.open()
    computed = page.locator(".card.open .computed")

    expect(computed).to_contain_text("--really-the-end")
    expect(computed).to_contain_text("600")
    expect(computed).not_to_contain_text("routine")
    expect(page.locator(".card.open .said")).to_contain_text("routine")


def test_more_approvals_than_fit_a_page_are_reached(desk: Desk) -> None:
    """Those that wait and those that have ended; a machine cannot hide some behind others."""
    desk.ask("./deploy.sh prod")
    approvals = schema.approval
    with desk.service.store.database.begin_write() as connection:
        row = dict(connection.execute(approvals.select()).mappings().one())
        del row["id"]
        for state in ("waiting", "expired"):
            rows = [{**row, "state": state, "shape": "other", "request": f"{state}{number}"} for number in range(120)]
            connection.execute(approvals.insert(), rows)
    page = desk.open()
    for address, count in (("/approvals", 121), ("/approvals?state=history", 120)):
        page.goto(f"http://127.0.0.1:{desk.service.port}{address}")
        expect(page.locator(".card")).to_have_count(100)
        page.get_by_role("button", name="More approvals").click()
        expect(page.locator(".card")).to_have_count(count)
        expect(page.get_by_role("button", name="More approvals")).to_have_count(0)


def test_calls_of_one_shape_are_one_card_and_are_approved_together_once_each_was_shown(desk: Desk) -> None:
    """`A` does nothing until each call was opened; then each gets a vote for its own digest, and others get none."""
    commands = ["./deploy.sh eu", "./deploy.sh us", "./deploy.sh asia"]
    for command in (commands[0], "release-it --major", *commands[1:]):
        desk.ask(command)
    page = desk.open()
    shape = page.locator(".shape")
    expect(shape.locator(".card")).to_have_count(3)
    expect(page.locator(".card")).to_have_count(4)
    for number, command in enumerate(commands, start=1):
        page.get_by_text(f"Bash {command}").click()
        expect(shape.locator(".card.open .call")).to_contain_text(command)
        expect(shape.get_by_text(f"{number} of 3 seen")).to_be_visible()
        expect(shape.get_by_role("button", name="Approve all")).to_be_enabled(enabled=number == 3)
        page.keyboard.press("A")
    expect(page.locator(".shape")).to_have_count(0)
    expect(page.locator(".card")).to_have_count(1)

    assert [desk.runs(command) for command in (*commands, *commands)] == [True, True, True, False, False, False]
    assert not desk.runs("release-it --major")


def test_a_key_does_not_answer_another_approval_than_the_one_that_was_open(desk: Desk) -> None:
    """One that is answered elsewhere stays open and says so; `a` then does nothing, until another is chosen."""
    desk.ask("./deploy.sh prod")
    desk.ask("twine upload dist/a")
    page = desk.open()
    expect(page.locator(".card.open .call")).to_contain_text("deploy.sh")
    shown = page.url
    approval = _read_waiting(page)
    assert _vote(page, approval, assertion=None) == "approved"
    expect(page.locator(".card.open .state")).to_have_text("approved")
    expect(page.locator(".ballot")).to_have_count(0)
    with page.expect_response(lambda response: "/v1/approvals?" in response.url):
        page.keyboard.press("a")
    expect(page.locator(".card.open .call")).to_contain_text("deploy.sh")
    page.keyboard.press("j")
    expect(page.locator(".card.open .call")).to_contain_text("twine")
    page.goto(shown)
    expect(page.locator(".card.open .call")).to_contain_text("deploy.sh")
    page.goto(f"http://127.0.0.1:{desk.service.port}/approvals?id={_read_waiting(page)['id']}")
    expect(page.locator(".card.open .call")).to_contain_text("twine")
    expect(page.locator(".ballot")).to_be_visible()

    assert not desk.runs("twine upload dist/a")


def test_a_lead_sees_how_people_answer(desk: Desk) -> None:
    """In the history: how many answers each person gave, how many were yes, and how many were hardly read."""
    desk.ask("./deploy.sh prod")
    page = desk.open()
    expect(page.locator(".ballot")).to_be_visible()
    page.keyboard.press("a")
    expect(page.get_by_text("No agent waits for an answer.")).to_be_visible()
    page.get_by_role("tab", name="History").click()
    page.get_by_text("How people answered").click()

    expect(page.locator(".approvers tbody tr")).to_contain_text("100 %")


def test_a_question_to_a_group_says_why_it_cannot_be_answered_here(desk: Desk) -> None:
    """The one person of the embedded form sees the question, and is not asked for a vote."""
    desk.ask("release-it --major")
    page = desk.open()

    expect(page.locator(".card.open")).to_contain_text("needs 2 of release (not the person of this machine)")
    expect(page.get_by_text("no group can be asked: this machine sends to no service")).to_be_visible()
    expect(page.locator(".ballot")).to_have_count(0)


def test_the_page_fits_a_phone(desk: Desk) -> None:
    """At 360 pixels nothing is cut off, and the buttons are large enough for a thumb."""
    desk.ask("./deploy.sh prod --with --a --rather --long --list --of --options=" + "x" * 80)
    page = desk.open(width=360, dark=True)
    button = page.get_by_role("button", name="Approve", exact=False).first
    expect(button).to_be_visible()
    box = button.bounding_box()

    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert box is not None
    assert box["height"] >= 40


def test_axe_finds_no_fault_in_waiting_and_answered_approvals(desk: Desk) -> None:
    """In light and dark, with calls of one shape and a call that cannot be answered here."""
    for command in ("./deploy.sh eu", "./deploy.sh us", "release-it --major"):
        desk.ask(command)
    page = desk.open()
    expect(page.locator(".card.open .computed")).to_be_visible()
    check_accessibility(page)
    page.emulate_media(color_scheme="dark")
    check_accessibility(page)
    expect(page.locator(".ballot")).to_be_visible()
    page.keyboard.press("a")
    expect(page.locator(".shape")).to_have_count(0)
    page.get_by_role("tab", name="History").click()
    expect(page.locator(".card.open .votes")).to_be_visible()
    check_accessibility(page)


def add_authenticator(page: Page) -> tuple[CDPSession, str]:
    """Give the browser a virtual security key."""
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
    }
    added = session.send("WebAuthn.addVirtualAuthenticator", {"options": options})
    return session, added["authenticatorId"]


def test_a_security_key_signs_the_very_call_that_is_shown(desk: Desk) -> None:
    """A strong approval needs the key; its signature for one call does not fit another, nor count twice."""
    desk.ask("twine upload dist/a")
    desk.open()
    desk.page.context.close()
    page = desk.browser.new_context(locale="en-GB").new_page()
    desk.page = page
    link = desk.service.create_link().replace("127.0.0.1", "localhost")  # keys are bound to a name
    page.goto(link)
    page.wait_for_url(f"http://localhost:{desk.service.port}/")
    add_authenticator(page)
    page.goto(f"http://localhost:{desk.service.port}/approvals")
    expect(page.locator(".ballot")).to_be_visible()
    page.keyboard.press("a")
    expect(page.get_by_text("add a security key in Settings first")).to_be_visible()

    page.goto(f"http://localhost:{desk.service.port}/settings")
    page.get_by_label("Name of the key").fill("blue key")
    page.get_by_role("button", name="Add a security key").click()
    expect(page.get_by_text("blue key")).to_be_visible()
    page.goto(f"http://localhost:{desk.service.port}/approvals")
    expect(page.locator(".ballot")).to_be_visible()
    with page.expect_request(lambda request: request.url.endswith("/votes")) as sent:
        page.keyboard.press("a")
    expect(page.get_by_text("No agent waits for an answer.")).to_be_visible()
    assert desk.runs("twine upload dist/a")

    desk.ask("twine upload dist/b")
    waiting = _read_waiting(page)
    stolen = sent.value.post_data_json["assertion"]
    replies = [
        _vote(page, waiting, assertion=stolen),
        _vote(page, waiting, assertion=None),
        _vote(page, waiting, assertion={**stolen, "id": "AAAA"}),
    ]
    assert replies == [
        "the signature of your security key is not for this approval",
        "this needs your security key",
        "this is not one of your security keys",
    ]
    fresh = page.evaluate(
        """async ([hex, keys]) => {
          const { signWithKey } = await import("/static/security_keys.js");
          return signWithKey(hex, keys);
        }""",
        ["00" * 32, _read_keys(page, waiting["id"])],
    )
    assert _vote(page, waiting, assertion=fresh) == "the signature of your security key is not for this approval"
    assert not desk.runs("twine upload dist/b")


def _read_waiting(page: Page) -> dict[str, str]:
    approval: dict[str, str] = page.evaluate(
        "async () => (await (await fetch('/v1/approvals')).json()).approvals[0]",
    )
    return approval


def _read_keys(page: Page, approval: str) -> list[str]:
    keys: list[str] = page.evaluate("async (id) => (await (await fetch(`/v1/approvals/${id}`)).json()).keys", approval)
    return keys


def _vote(page: Page, approval: dict[str, str], *, assertion: object) -> str:
    """Send a vote as the page does; return what the service says."""
    said: str = page.evaluate(
        """async ([id, digest, assertion]) => {
          const { call } = await import("/static/api.js");
          const body = { approved: true, digest, reason: "", assertion };
          try {
            return (await call(`/v1/approvals/${id}/votes`, { method: "POST", body })).state;
          } catch (error) {
            return error.message;
          }
        }""",
        [approval["id"], approval["digest"], assertion],
    )
    return said


RECORD_NOTICES = """
class RecordedNotification {
  static permission = "granted";
  constructor(title, options) {
    const notices = JSON.parse(localStorage.getItem("notices") ?? "[]");
    localStorage.setItem("notices", JSON.stringify([...notices, [title, options.body]]));
  }
}
window.Notification = RecordedNotification;
"""


def test_the_browser_tells_of_each_question_once(desk: Desk) -> None:
    """A question that this person can answer is told once, also after a reload; one to a group is not."""
    page = desk.open()
    page.add_init_script(RECORD_NOTICES)
    desk.ask("./deploy.sh prod", "the agent's own words")
    desk.ask("release-it --major")
    for _ in range(2):
        page.reload()
        expect(page.locator(".card.open .computed")).to_be_visible()
        expect(page.locator("nav .badge")).to_have_text("1")

    notices = page.evaluate("JSON.parse(localStorage.getItem('notices'))")
    assert notices == [["verdikt: an agent waits for you", f"deploy on {socket.gethostname()}"]]
