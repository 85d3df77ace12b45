"""Notifications: to those who can answer, once, signed, and never to a place that only the service can reach."""

import hmac
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.controller import Controller

from tests.asking_machine import AskingMachine, build_call
from tests.cleanup import close_after_test
from tests.unit.serve.http_client import Site
from tests.unit.ship.tls_front import write_certificates
from verdikt.errors import WireError
from verdikt.serve.local_answers import LocalAnswers
from verdikt.serve.machines import EnrolledMachine
from verdikt.serve.notice_messages import Mailer, Notice, build_mail
from verdikt.serve.notice_plan import NoticePlan
from verdikt.serve.notifications import MAX_TRIES, Notifications, NotificationSettings
from verdikt.serve.people import Person
from verdikt.serve.safe_request import DeliveryFailed, SafeSender
from verdikt.serve.service import Service
from verdikt.serve.store import TeamStore
from verdikt.serve.worker import Worker
from verdikt.ship.approval_courier import ApprovalCourier

SECRET_TEXT = "./deploy.sh --password hunter2-swordfish"


class Receiver(ThreadingHTTPServer):
    """A web server that keeps what it was sent, and answers with a status of the test's choice."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[tuple[dict[str, str], bytes]] = []
        self.status = 200
        self.location = ""
        self.thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02})
        self.thread.start()

    @property
    def place(self) -> str:
        """Host and port."""
        return f"127.0.0.1:{self.server_port}"

    def close(self) -> None:
        """End the server."""
        self.shutdown()
        self.thread.join()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        server = self.server
        assert isinstance(server, Receiver)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        server.requests.append(({name.lower(): value for name, value in self.headers.items()}, body))
        self.send_response(server.status)
        if server.location:
            self.send_header("Location", server.location)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """Return a running web server."""
    receiver = Receiver()
    yield receiver
    receiver.close()


class MailBox:
    """What a mail server took."""

    def __init__(self) -> None:
        self.mails: list[Any] = []

    async def handle_DATA(  # noqa: N802 - the server's name for it
        self, server: object, session: object, envelope: Any
    ) -> str:
        """Take a mail."""
        self.mails.append(envelope)
        return "250 taken"


@pytest.fixture
def mail_server() -> Iterator[tuple[str, MailBox]]:
    """Return the address of a real mail server, and its box."""
    box = MailBox()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    controller = Controller(box, hostname="127.0.0.1", port=port)
    controller.start()
    yield f"smtp://127.0.0.1:{port}", box
    controller.stop()


class Office:
    """A service whose machine asks, with people who are told."""

    def __init__(self, store: TeamStore, home: Path) -> None:
        self.site = Site(store)
        self.machine = AskingMachine(home, number=self.site.machine.id, clock=self.site.clock)
        enrolled = EnrolledMachine(self.site.machine.id, self.site.machine.organisation)
        self.courier = ApprovalCourier(self.machine.store, LocalAnswers(self.site.service, enrolled))
        self.store = store
        store.assign_machine(enrolled.id, self.add_person("Zoe", "developer").id)

    def add_person(self, name: str, *roles: str, group: str = "") -> Person:
        """Return a person of the organisation."""
        organisation = self.site.machine.organisation
        id = self.site.people.ensure_person(organisation, name, name, frozenset(roles), [group] if group else [])
        return Person(id, organisation, name, frozenset(roles), frozenset({group} - {""}))

    def open_notifications(self, *allowed: str, mailer: Mailer | None = None, **sender: Any) -> Notifications:
        """Return notifications that may reach these places."""
        settings = NotificationSettings(SafeSender(frozenset(allowed), **sender), mailer or Mailer())
        return Notifications(self.store.database, "https://verdikt.example", settings)

    def ask(self, command: str = SECRET_TEXT) -> None:
        """Let the agent ask."""
        self.machine.decide(build_call(command))
        self.courier.deliver()

    @property
    def now(self) -> int:
        """The time."""
        return int(self.site.clock.now())


@pytest.fixture
def office(store: TeamStore, tmp_path: Path) -> Office:
    """Return an office on each database."""
    return Office(store, tmp_path / "data")


@pytest.fixture
def small_office(tmp_path: Path) -> Office:
    """Return an office on SQLite, for what does not depend on the database."""
    store = close_after_test(TeamStore(f"sqlite:///{tmp_path / 'team.db'}", create=True))
    return Office(store, tmp_path / "data")


def test_only_those_who_can_answer_are_told_and_once(office: Office, receiver: Receiver) -> None:
    """A member of the group hears of it; the person of the machine, a stranger and a viewer do not."""
    notifications = office.open_notifications(receiver.place)
    owner = office.add_person("Ana", "developer", "approver", group="release")
    office.store.assign_machine(office.site.machine.id, owner.id)
    people = [owner, office.add_person("Ben", "approver", group="release"), office.add_person("Vi", "viewer")]
    for person in people:
        url = f"http://{receiver.place}/{person.name}"
        notifications.add_notifier(person, {"kind": "webhook", "address": url}, office.now)
    office.ask()
    for _ in range(3):
        notifications.send_due(office.now)
    office.ask()  # the same call again is the same question
    notifications.send_due(office.now)

    assert len(receiver.requests) == 1
    body = json.loads(receiver.requests[0][1])
    assert [approval["rule"] for approval in body["approvals"]] == ["deploy"]
    assert body["approvals"][0]["url"].startswith("https://verdikt.example/approvals?id=")


def test_no_message_has_what_the_agent_wrote(
    small_office: Office, receiver: Receiver, mail_server: tuple[str, MailBox]
) -> None:
    """Neither the command nor a secret in it leaves by webhook, chat or mail."""
    url, box = mail_server
    notifications = small_office.open_notifications(receiver.place, mailer=Mailer(url, "verdikt@example.org"))
    person = small_office.add_person("Ben", "approver", group="release")
    for kind, address in (
        ("webhook", f"http://{receiver.place}/hook"),
        ("slack", f"http://{receiver.place}/chat"),
        ("email", "ben@example.org"),
    ):
        notifications.add_notifier(person, {"kind": kind, "address": address}, small_office.now)
    small_office.ask()

    assert notifications.send_due(small_office.now) == 3
    sent = [body for _, body in receiver.requests] + [mail.content for mail in box.mails]
    assert len(sent) == 3
    for message in sent:
        assert b"hunter2" not in message
        assert b"deploy.sh" not in message
        assert b"/approvals?id=" in message
    assert b"Subject: An agent waits for your approval" in box.mails[0].content
    assert json.loads(receiver.requests[1][1])["text"].startswith("An agent on ana waits for an approval (deploy")


def test_a_webhook_is_signed_over_time_and_body(small_office: Office, receiver: Receiver) -> None:
    """A receiver that has the secret can tell that the message is ours and when it was sent."""
    notifications = small_office.open_notifications(receiver.place)
    person = small_office.add_person("Ben", "approver", group="release")
    place = {"kind": "webhook", "address": f"http://{receiver.place}/"}
    secret = notifications.add_notifier(person, place, small_office.now)["secret"]
    small_office.ask()
    notifications.send_due(small_office.now)
    headers, body = receiver.requests[0]
    time, signature = (part.split("=")[1] for part in headers["verdikt-signature"].split(","))

    assert int(time) == small_office.now
    assert hmac.new(secret.encode(), f"{time}.".encode() + body, "sha256").hexdigest() == signature
    assert secret not in json.dumps(notifications.list_notifiers(person))


def test_a_digest_collects_by_risk(small_office: Office, receiver: Receiver) -> None:
    """High at once, the others together at the end of their hour or day."""
    notifications = small_office.open_notifications(receiver.place)
    person = small_office.add_person("Ben", "approver", group="release")
    place = {"kind": "slack", "address": f"http://{receiver.place}/", "mode": "digest"}
    notifications.add_notifier(person, place, small_office.now)
    small_office.ask("./deploy.sh one")
    small_office.ask("./deploy.sh two")
    assert notifications.send_due(small_office.now) == 0
    small_office.machine.world.texts["/home/dev/project/deploy.sh"] = "kubectl delete namespace prod\n"
    small_office.ask("./deploy.sh three")
    assert notifications.send_due(small_office.now) == 1
    small_office.site.clock.seconds += 3600
    assert notifications.send_due(small_office.now) == 1

    texts = [json.loads(body)["text"] for _, body in receiver.requests]
    assert [text.count("An agent on") for text in texts] == [1, 2]
    assert "risk high" in texts[0]


def test_what_was_answered_before_is_not_told(small_office: Office, receiver: Receiver) -> None:
    """A question that has ended when its message is due is left out."""
    notifications = small_office.open_notifications(receiver.place)
    person = small_office.add_person("Ben", "approver", group="release")
    place = {"kind": "slack", "address": f"http://{receiver.place}/", "mode": "digest"}
    notifications.add_notifier(person, place, small_office.now)
    small_office.ask()
    notifications.send_due(small_office.now)
    small_office.site.clock.seconds += 5 * 3600
    notifications.send_due(small_office.now)

    assert receiver.requests == []


def test_a_place_that_does_not_answer_is_tried_again_and_then_given_up(office: Office, receiver: Receiver) -> None:
    """With growing pauses; the page says what is wrong, without what the other side answered."""
    notifications = office.open_notifications(receiver.place)
    person = office.add_person("Ben", "approver", group="release")
    notifications.add_notifier(person, {"kind": "webhook", "address": f"http://{receiver.place}/"}, office.now)
    office.ask()
    receiver.status = 500
    for _ in range(MAX_TRIES + 2):
        notifications.send_due(office.now)
        office.site.clock.seconds += 1200

    assert len(receiver.requests) == MAX_TRIES
    (place,) = notifications.list_notifiers(person)
    assert (place["state"], place["problem"]) == ("failed", "`127.0.0.1` answers 500")


@pytest.mark.parametrize(
    "url",
    [
        "https://93.184.215.14/é",
        "https://93.184.215.14/a b",
        "https://93.184.215.14/\r\nX-Y: z",
        f"https://{'a' * 70}.example/",
        "https://.example/",
        "https://[::1",
        "https://[x]/",
        "https://127.0.0.1/",
        "https://localhost/",
        "https://[::1]/",
        "https://[::ffff:127.0.0.1]/",
        "https://[::ffff:7f00:1]/",
        "https://[64:ff9b::7f00:1]/",
        "https://[2002:7f00:1::]/",
        "https://2130706433/",
        "https://0x7f000001/",
        "https://017700000001/",
        "https://127.1/",
        "https://0/",
        "https://10.0.0.8/",
        "https://192.168.1.1/",
        "https://169.254.169.254/latest/meta-data/",
        "https://100.64.0.1/",
        "https://[fd00::1]/",
        "https://[fe80::1]/",
        "https://224.0.0.1/",
        "http://93.184.215.14/",
        "file:///etc/passwd",
        "gopher://93.184.215.14/",
        "https://user@93.184.215.14/",
        "",
    ],
)
def test_a_place_that_is_not_public_is_refused(url: str) -> None:
    """However the address is written; also without TLS, with a name in it, or by another scheme."""
    with pytest.raises((WireError, DeliveryFailed)):
        SafeSender().check_url(url)


def test_a_public_address_is_taken() -> None:
    """What everybody can reach may be told."""
    assert SafeSender().check_url("https://93.184.215.14/hook?x=1").path == "/hook?x=1"
    assert (
        SafeSender(resolve=lambda *_: ["2606:2800:21f:cb07:6820:80da:af6b:8b2c"]).check_url("https://a.example/").port
        == 443
    )


def answer_in_turn(*answers: list[str]) -> Callable[[str, int], list[str]]:
    """Return a resolver that gives another answer each time, as a rebinding server does."""
    remaining = list(answers)
    return lambda host, port: remaining.pop(0) if len(remaining) > 1 else remaining[0]


def test_a_name_that_is_bound_to_another_address_reaches_nothing(
    small_office: Office, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Public when it was entered, local when it is used: refused. And what was checked is what is connected to."""
    resolve = answer_in_turn(["93.184.215.14"], ["127.0.0.1"])
    notifications = small_office.open_notifications(resolve=resolve)
    person = small_office.add_person("Ben", "approver", group="release")
    place = {"kind": "webhook", "address": f"https://rebind.example:{receiver.server_port}/"}
    notifications.add_notifier(person, place, small_office.now)
    small_office.ask()
    notifications.send_due(small_office.now)

    assert receiver.requests == []
    (shown,) = notifications.list_notifiers(person)
    assert shown["problem"] == "`rebind.example` leads to 127.0.0.1, which is not a public address"


def test_one_local_address_among_public_ones_is_enough_to_refuse() -> None:
    """Which of them would be used is not ours to choose."""
    with pytest.raises(WireError, match="not a public address"):
        SafeSender(resolve=lambda *_: ["93.184.215.14", "10.0.0.1"]).check_url("https://mixed.example/")


def test_the_connection_goes_to_the_address_that_was_checked(receiver: Receiver) -> None:
    """The name is resolved once for a request; its second meaning is never asked for."""
    calls: list[str] = []

    def resolve(host: str, port: int) -> list[str]:
        calls.append(host)
        return ["127.0.0.1"]

    sender = SafeSender(frozenset({f"hooks.example:{receiver.server_port}"}), resolve)
    sender.post(f"http://hooks.example:{receiver.server_port}/", b"{}", {})

    assert calls == ["hooks.example"]
    assert receiver.requests[0][0]["host"] == f"hooks.example:{receiver.server_port}"


def test_a_redirect_is_not_followed(receiver: Receiver) -> None:
    """An address that is allowed cannot lead on to one that is not."""
    receiver.status, receiver.location = 302, "http://169.254.169.254/latest/meta-data/"

    with pytest.raises(DeliveryFailed, match="a redirect, which is not followed"):
        SafeSender(frozenset({receiver.place})).post(f"http://{receiver.place}/", b"{}", {})
    assert len(receiver.requests) == 1


def test_one_place_that_fails_in_its_own_way_keeps_none_from_being_told(
    small_office: Office, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever goes wrong there, the worker goes on, and the others hear of it in the same round."""
    person = small_office.add_person("Ben", "approver", group="release")
    settings = NotificationSettings(SafeSender(frozenset({receiver.place})))
    service = Service(small_office.store, frozenset({"https://verdikt.example"}), small_office.site.clock)
    service.notifications = Notifications(small_office.store.database, "https://verdikt.example", settings)
    for path in ("broken", "whole"):
        place = {"kind": "slack", "address": f"http://{receiver.place}/{path}"}
        service.notifications.add_notifier(person, place, small_office.now)
    check_url = SafeSender.check_url

    def fail(sender: SafeSender, url: str) -> Any:
        if url.endswith("broken"):
            raise UnicodeError("as a resolver does")
        return check_url(sender, url)

    monkeypatch.setattr(SafeSender, "check_url", fail)
    small_office.ask()
    Worker(service).notify()

    assert len(receiver.requests) == 1
    assert [place["problem"] for place in service.notifications.list_notifiers(person)] == ["as a resolver does", ""]
    assert "telling 1 failed" in caplog.text


def test_what_was_planned_already_takes_no_lock(small_office: Office, receiver: Receiver) -> None:
    """A worker looks every few seconds: on SQLite, a write would hold up the machines that send meanwhile."""
    person = small_office.add_person("Ben", "approver", group="release")
    notifications = small_office.open_notifications(receiver.place)
    place = {"kind": "slack", "address": f"http://{receiver.place}/", "mode": "digest"}
    notifications.add_notifier(person, place, small_office.now)
    small_office.ask()
    database = small_office.store.database
    plan = NoticePlan(database)
    plan.add_missing(small_office.now)
    with database.begin_write():
        plan.add_missing(small_office.now)
        NoticePlan(database).add_missing(small_office.now)

    with database.begin_read() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM delivery").scalar_one() == 1


@pytest.fixture
def tls_mail_server(tmp_path: Path) -> Iterator[tuple[str, MailBox, Path]]:
    """Return the address of a mail server whose certificate an authority of the test signed, its box, and that one."""
    authority, chain = write_certificates(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain)
    box = MailBox()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    controller = Controller(box, hostname="127.0.0.1", port=port, tls_context=context)
    controller.start()
    yield f"smtp://localhost:{port}", box, authority
    controller.stop()


def test_mail_goes_to_a_server_that_is_the_one_it_says(tls_mail_server: tuple[str, MailBox, Path]) -> None:
    """Its certificate is checked: another one between could read the password and every message."""
    url, box, authority = tls_mail_server
    notice = Notice(approval=1, rule="deploy", risk=3, machine="ana", expires=1, url="https://verdikt.example/")
    mail = build_mail([notice], "verdikt@example.org", "ben@example.org")
    with pytest.raises(DeliveryFailed, match="SSLCertVerificationError"):
        Mailer(url, "verdikt@example.org").send(mail)
    assert box.mails == []
    Mailer(url, "verdikt@example.org", ssl.create_default_context(cafile=str(authority))).send(mail)

    assert len(box.mails) == 1


def test_no_password_is_sent_in_the_clear(mail_server: tuple[str, MailBox], monkeypatch: pytest.MonkeyPatch) -> None:
    """A server elsewhere that offers no TLS, or seems to, gets neither password nor mail."""
    url, box = mail_server
    port = url.rpartition(":")[2]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [(2, 1, 6, "", ("127.0.0.1", int(port)))])
    mail = build_mail([], "verdikt@example.org", "ben@example.org")
    with pytest.raises(DeliveryFailed, match="offers no TLS"):
        Mailer(f"smtp://ana:secret@mail.example:{port}", "verdikt@example.org").send(mail)

    assert box.mails == []


@pytest.mark.parametrize("address", ["", "x", "a@b\r\nBcc: all@example.org", "a b@example.org", "<a@example.org>"])
def test_a_mail_address_is_one_address(small_office: Office, address: str) -> None:
    """Nothing in it can add a header or another recipient."""
    notifications = small_office.open_notifications(mailer=Mailer("smtp://127.0.0.1:1", "verdikt@example.org"))
    with pytest.raises(WireError, match="expected a mail address"):
        notifications.add_notifier(
            small_office.add_person("Ben", "approver"), {"kind": "email", "address": address}, small_office.now
        )


def test_a_whole_group_is_told_by_an_admin_only(small_office: Office, receiver: Receiver) -> None:
    """A channel of a group hears of the questions to that group."""
    notifications = small_office.open_notifications(receiver.place)
    place = {"kind": "slack", "address": f"http://{receiver.place}/", "group": "release"}
    with pytest.raises(WireError, match="only an admin"):
        notifications.add_notifier(small_office.add_person("Ben", "approver"), place, small_office.now)
    notifications.add_notifier(small_office.add_person("Root", "admin"), place, small_office.now)
    notifications.add_notifier(
        small_office.add_person("Root", "admin"), {**place, "group": "security"}, small_office.now
    )
    small_office.ask()

    assert notifications.send_due(small_office.now) == 1


def test_a_removed_place_is_told_nothing(office: Office, receiver: Receiver) -> None:
    """Also of what was planned; another person cannot remove it."""
    notifications = office.open_notifications(receiver.place)
    person = office.add_person("Ben", "approver", group="release")
    place = {"kind": "slack", "address": f"http://{receiver.place}/", "mode": "digest"}
    id = notifications.add_notifier(person, place, office.now)["id"]
    office.ask()
    notifications.send_due(office.now)
    assert not notifications.remove_notifier(office.add_person("Eve", "approver"), id)
    assert notifications.send_test(office.add_person("Eve", "approver"), id, office.now) is None
    assert notifications.send_test(person, id, office.now) == ""
    assert notifications.remove_notifier(person, id)
    office.site.clock.seconds += 86_400
    notifications.send_due(office.now)

    assert len(receiver.requests) == 1  # the test message


def test_two_workers_tell_once(office: Office, receiver: Receiver) -> None:
    """Workers that plan and send at the same time send one message, and end what has expired."""
    person = office.add_person("Ben", "approver", group="release")
    settings = NotificationSettings(SafeSender(frozenset({receiver.place})))
    services = [
        Service(office.store, frozenset({"https://verdikt.example"}), office.site.clock, settings=settings)
        for _ in range(2)
    ]
    place = {"kind": "webhook", "address": f"http://{receiver.place}/"}
    services[0].notifications.add_notifier(person, place, office.now)
    office.ask()
    barrier = threading.Barrier(2)

    def work(service: Service) -> None:
        barrier.wait()
        Worker(service).notify()

    threads = [threading.Thread(target=work, args=(service,)) for service in services]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    office.site.clock.seconds += 5 * 3600
    Worker(services[0]).notify()

    assert len(receiver.requests) == 1
    assert services[0].approvals.list_approvals(person, history=False) == []
