"""The HTTP interface: who may call what, what is refused, and what comes back."""

import io
import json
import re
import secrets
from pathlib import Path
from typing import Any

import httpx2
import pyarrow.parquet
import pytest
from sqlalchemy import update
from starlette.testclient import TestClient

from tests.cleanup import close_after_test
from tests.unit.serve.http_client import ORIGIN, Site, post
from tests.unit.serve.security_key import SoftwareKey
from tests.unit.serve.stored_approval import build_request
from tests.unit.serve.submissions import add_machine
from tests.unit.team.chains import build_lines
from verdikt.model.canonical_json import sha256_hex
from verdikt.model.entry import EntryKind, build_entry
from verdikt.serve import schema
from verdikt.serve.api import ROUTES
from verdikt.serve.app import PAGES, SECURITY_HEADERS
from verdikt.serve.exports import defuse_formulas
from verdikt.serve.feed import FEED_ROUTE
from verdikt.serve.fleet_reads import TRAITS
from verdikt.serve.machine_api import MACHINE_ROUTES
from verdikt.serve.machines import EnrolledMachine
from verdikt.serve.people import COOKIE_SECONDS, LINK_SECONDS, ROLES, Person
from verdikt.serve.request_body import MAX_BODY_BYTES
from verdikt.serve.routes import ApiRoute
from verdikt.serve.safe_request import SafeSender
from verdikt.serve.session_reads import REPEAT_SECONDS
from verdikt.serve.store import TeamStore

CHAIN = build_lines("s", range(1, 21))
GUARDED = [route for route in ROUTES if route.roles]


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send nothing to a place, which is a public address."""
    monkeypatch.setattr(SafeSender, "post", lambda *_: None)


@pytest.fixture
def site(store: TeamStore) -> Site:
    """Return a service with one session of twenty entries."""
    site = Site(store)
    site.machine.send(*CHAIN)
    return site


@pytest.fixture
def sqlite_site(tmp_path: Path) -> Site:
    """Return the same on SQLite, for what does not depend on the database."""
    site = Site(close_after_test(TeamStore(f"sqlite:///{tmp_path / 'team.db'}", create=True)))
    site.machine.send(*CHAIN)
    return site


PLACE = {"kind": "webhook", "address": "https://93.184.215.14/"}
BODIES: dict[str, object] = {"/v1/people/{person}/access": {"allowed": True}, "/v1/notifiers": PLACE}
"""What a write needs in its body to be understood, where that is not nothing."""

NEEDS_BROWSER = "/v1/keys"
"""The one write whose body only a browser with a security key can make; `test_approvals_page` has it."""


def make_named_things(route: ApiRoute, site: Site, owner: Person) -> dict[str, Any]:
    """Return what a path names, made for this call: things of the first organisation, and of one of its people."""
    service, now = site.service, site.clock.now()
    named: dict[str, Any] = {"chain": site.machine.list_sessions()[0]["chain"], "seq": 5, "machine": site.machine.id}
    named["person"] = owner.id
    if "{token}" in route.path:
        service.tokens.create_token(owner, "t", frozenset({"read"}), 1, now)
        named["token"] = service.tokens.list_tokens(owner.organisation, None)[0]["id"]
    if "{code}" in route.path:
        begun = service.devices.begin("laptop", secrets.token_bytes(32), now)
        assert begun is not None
        named["code"] = begun.code
    if "{approval}" in route.path:
        # Another machine each time: what a revoked one asked for is asked no more.
        asking = add_machine(site.store, f"asking-{secrets.token_hex(8)}", team="web")
        request = build_request(secrets.randbelow(2**40), asking.id)
        enrolled = EnrolledMachine(asking.id, asking.organisation)
        named["approval"], _ = service.approvals.submit(enrolled, request, int(now))
        named["digest"] = request.digest
    if "{key}" in route.path:
        named["key"] = SoftwareKey(site.store, owner, ORIGIN).number
    if "{notifier}" in route.path:
        named["notifier"] = service.notifications.add_notifier(owner, PLACE, int(now))["id"]
    return named


def call_route(client: TestClient, route: ApiRoute, site: Site, owner: Person | None = None) -> httpx2.Response:
    """Call a route with a path of the first organisation; what has a person is the owner's, or that of another one."""
    if owner is None:
        id = site.people.ensure_person(site.machine.organisation, "named", "Bo", frozenset({"viewer"}))
        owner = Person(id, site.machine.organisation, "Bo", frozenset({"viewer"}))
    named = make_named_things(route, site, owner)
    path = route.path.format(**named)
    if "{approval}" in route.path and route.is_write:
        return post(client, path, {"approved": True, "digest": named["digest"]})
    return post(client, path, BODIES.get(route.path)) if route.is_write else client.get(path)


def expect_status(route: ApiRoute, role: str) -> int:
    """Return what the first organisation's team gets: who sees own machines only does not find those of the team."""
    sees_own_only = role in ("developer", "publisher")
    # An approval of the team's machine: its members vote; a developer can call, and is no member as far as votes go.
    if role not in route.roles or (route.path == "/v1/approvals/{approval}/votes" and role != "approver"):
        return 403
    if ("{chain}" in route.path or "{approval}" in route.path) and sees_own_only:
        return 404
    if ("{token}" in route.path and role != "admin") or "{key}" in route.path or "{notifier}" in route.path:
        return 404
    return 400 if route.is_write and route.path == NEEDS_BROWSER else 200


def test_each_route_needs_one_of_its_roles(site: Site) -> None:
    """Without a login 401, with other roles 403, with each of its roles an answer."""
    assert {call_route(site.open_client(), route, site).status_code for route in GUARDED} == {401}
    for role in ROLES:
        # Signing out comes last: it ends the login that the others need.
        client = site.sign_in(role)
        for route in sorted(GUARDED, key=lambda route: route.path == "/v1/sign-out"):
            expected = expect_status(route, role)
            assert call_route(client, route, site).status_code == expected, (role, route.path)


def test_each_route_shows_nothing_of_another_organisation(site: Site) -> None:
    """What is named is not found, and what is listed is empty or one's own."""
    for route in GUARDED:
        response = call_route(site.sign_in(*ROLES, other_organisation=True), route, site)
        # A machine that shows a code has no organisation yet.
        is_own = "{" not in route.path or "{code}" in route.path
        expected = 400 if route.is_write and route.path == NEEDS_BROWSER else 200
        assert response.status_code == (expected if is_own else 404), route.path
        for word in ("echo", '"ana"', '"Bo"', "deploy"):
            assert word not in response.text, (word, route.path)


def test_every_write_leaves_one_event(site: Site) -> None:
    """The service's own record has who did what."""
    client = site.sign_in(*ROLES)
    organisation, roles = site.machine.organisation, frozenset(ROLES)
    id = site.people.ensure_person(organisation, f"{organisation}-{'-'.join(ROLES)}", "Ana", roles, ["web"])
    caller = Person(id, organisation, "Ana", roles, frozenset({"web"}))
    writes = [route for route in GUARDED if route.is_write and route.path not in ("/v1/sign-out", NEEDS_BROWSER)]
    for route in writes:
        before = len(site.people.list_events(site.machine.organisation))
        # A person cannot shut themselves out.
        owner = None if "{person}" in route.path else caller
        assert call_route(client, route, site, owner).status_code == 200, route.path
        assert len(site.people.list_events(site.machine.organisation)) == before + 1, route.path
    post(client, "/v1/sign-out")

    verbs = [str(event["verb"]) for event in site.people.list_events(site.machine.organisation)]
    assert verbs[0] == "sign_out"
    assert verbs[-1] == "sign_in"
    assert len(set(verbs)) == len(writes) + 2


def test_the_record_of_the_service_has_pages_and_shows_what_was_changed(site: Site) -> None:
    """Each row once, newest first; a row that was edited or removed is named, of any organisation."""
    client = site.sign_in("auditor")
    for number in range(5):
        site.people.record_event(site.machine.organisation, "Ana", "look", str(number), site.clock.now())
        site.people.record_event(site.other_machine.organisation, "Eve", "look", "", site.clock.now())
    rows, cursor = [], ""
    for _ in range(3):
        page = client.get(f"/v1/events?limit=2&cursor={cursor}").json()
        rows += page["events"]
        cursor = page["cursor"]

    assert [row["object"] for row in rows][:5] == ["4", "3", "2", "1", "0"]
    assert client.get("/v1/events/verification").json() == {"intact": True, "broken": None}
    first, second = rows[4]["n"], rows[3]["n"]
    with site.store.database.begin_write() as connection:
        connection.exec_driver_sql(f"UPDATE audit_event SET actor = 'Bo' WHERE n = {second}")
    assert client.get("/v1/events/verification").json() == {"intact": False, "broken": second}
    with site.store.database.begin_write() as connection:
        connection.exec_driver_sql(f"DELETE FROM audit_event WHERE n = {first}")
    assert client.get("/v1/events/verification").json() == {"intact": False, "broken": first + 1}


def test_people_see_the_machines_of_their_team_and_their_own(site: Site) -> None:
    """A viewer sees the team's, a developer their own, and neither learns that there are others."""
    hidden = add_machine(site.store, "secret-host", team="payments")
    hidden.send(*build_lines("hidden", range(1, 4)))
    viewer, developer, auditor = (site.sign_in(role) for role in ("viewer", "developer", "auditor"))
    chain = next(row["chain"] for row in hidden.list_sessions() if row["session"] == "hidden")

    assert [item["session"] for item in viewer.get("/v1/sessions").json()["sessions"]] == ["s"]
    assert developer.get("/v1/sessions").json()["sessions"] == []
    assert len(auditor.get("/v1/sessions").json()["sessions"]) == 2
    for client in (viewer, developer):
        for path in (f"/v1/sessions/{chain}", f"/v1/sessions/{chain}/entries", f"/v1/entries/{chain}/1"):
            assert client.get(path).status_code == 404
        for path in ("/v1/machines", "/v1/entries", "/v1/sessions", "/v1/overview"):
            assert "secret-host" not in client.get(path).text
    assert {entry["session"] for entry in viewer.get("/v1/entries").json()["entries"]} == {"s"}


def test_the_list_of_machines_has_pages_and_its_numbers_are_those_of_lists(site: Site) -> None:
    """By name, those with one trait or a part of a name alone; a viewer's counts are of what they see."""
    now = int(site.clock.now() * 1e6)
    statuses: dict[str, tuple[str, int | None]] = {
        "ben": ('{"lost": ["claude"]}', now),
        "cleo": ('{"faults": ["the policy"], "lost": ["codex"], "unsent": 3}', now),
        "dan": ("{}", now - 16 * 60 * 1_000_000),
        "eve": ('{"faults": ["the policy"]}', now),
    }
    for name, (status, seen) in statuses.items():
        machine = add_machine(site.store, name, team="shop")
        with site.store.database.begin_write() as connection:
            row = update(schema.machine).where(schema.machine.c.id == machine.id)
            connection.execute(row.values(status=status, seen=seen, revoked=now if name == "eve" else None))
    auditor = site.sign_in("auditor")

    def list_names(**query: str) -> list[str]:
        names, cursor = [], ""
        while True:
            page = auditor.get("/v1/machines", params={"limit": "2", "cursor": cursor, **query}).json()
            names += [machine["name"] for machine in page["machines"]]
            cursor = page["cursor"]
            if not cursor:
                return names

    assert list_names() == ["ana", "ben", "cleo", "dan", "eve"]
    counts = auditor.get("/v1/machines").json()["counts"]
    assert counts == {"all": 5, "no-hook": 2, "doctor": 1, "rewritten": 0, "unsent": 1, "silent": 1, "revoked": 1}
    for trait in TRAITS:
        assert len(list_names(trait=trait)) == counts[trait], trait
    assert (list_names(trait="no-hook"), list_names(q="SHO"), list_names(q="_")) == (
        ["ben", "cleo"],
        ["ben", "cleo", "dan", "eve"],
        [],
    )
    assert auditor.get("/v1/machines?trait=x").status_code == 400
    overview = auditor.get("/v1/overview").json()
    assert (overview["machines_without_hook"], overview["machines_at_fault"]) == (counts["no-hook"], counts["doctor"])
    assert site.sign_in("viewer").get("/v1/machines").json()["counts"]["all"] == 1
    sent = auditor.get("/v1/machines?q=ana").json()["machines"][0]
    assert (sent["sessions"], sent["entries"]) == (1, 20)


def test_a_look_at_a_session_of_another_team_is_recorded_once_an_hour(site: Site) -> None:
    """An auditor sees everything, and that is seen; a session of the own team leaves no entry."""
    hidden = add_machine(site.store, "secret-host", team="payments")
    hidden.send(*build_lines("hidden", range(1, 4)))
    own, foreign = (
        next(row["chain"] for row in hidden.list_sessions() if row["session"] == name) for name in ("s", "hidden")
    )
    auditor = site.sign_in("auditor")

    def list_looks() -> list[object]:
        events = site.people.list_events(site.machine.organisation)
        return [row["object"] for row in events if row["verb"] == "read_session"]

    for path in (f"/v1/sessions/{own}", f"/v1/sessions/{foreign}", f"/v1/entries/{foreign}/2"):
        assert auditor.get(path).status_code == 200
    assert list_looks() == [str(foreign)]
    site.clock.seconds += REPEAT_SECONDS
    auditor.get(f"/v1/sessions/{foreign}")

    assert list_looks() == [str(foreign)] * 2


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": ORIGIN},
        {"X-Verdikt": "1"},
        {"Origin": "http://evil.example", "X-Verdikt": "1"},
        {"Origin": "null", "X-Verdikt": "1"},
        {"Origin": ORIGIN, "X-Verdikt": "1", "Sec-Fetch-Site": "cross-site"},
    ],
    ids=str,
)
def test_a_write_of_another_site_is_refused(sqlite_site: Site, headers: dict[str, str]) -> None:
    """A form or a script of another page cannot write, even with the person's cookie; that it tried is recorded."""
    client = sqlite_site.sign_in(*ROLES)
    paths = [re.sub(r"{\w+}", "1", route.path) for route in ROUTES if route.is_write]
    before = len(sqlite_site.people.list_events(sqlite_site.machine.organisation))

    assert {client.post(path, json={}, headers=headers).status_code for path in paths} == {403}
    events = sqlite_site.people.list_events(sqlite_site.machine.organisation)[:-before]
    assert [(event["actor"], event["verb"], event["object"]) for event in events[::-1]] == [
        ("Ana (1)", "refused", path) for path in paths
    ]
    # Without a person's right there is nothing to record, and a flood of it fills nothing.
    assert sqlite_site.open_client().post(paths[0], json={}, headers=headers).status_code == 403
    assert len(sqlite_site.people.list_events(sqlite_site.machine.organisation)) == before + len(paths)


def test_the_record_tells_those_apart_who_chose_one_name(sqlite_site: Site) -> None:
    """People and machines choose what they are called: the record has their number, and no machine is a person."""
    organisation, now = sqlite_site.machine.organisation, sqlite_site.clock.now()
    for subject in ("ana", "mallory"):
        person = sqlite_site.people.ensure_person(organisation, subject, "Ana", frozenset({"viewer"}))
        link = sqlite_site.people.create_link(person, now)
        assert post(sqlite_site.open_client(), "/v1/sign-in", {"code": link}).status_code == 200
    code = sqlite_site.service.machines.create_code(organisation, 1, 60, now)
    body = {"code": code, "name": "Ana", "public_key": "07" * 32}
    machine = sqlite_site.open_client().post("/v1/enrol", json=body).json()["machine"]
    events = sqlite_site.people.list_events(organisation)

    assert [(event["actor"], event["verb"], event["object"]) for event in events] == [
        (f"machine {machine}", "enrol", "Ana"),
        ("Ana (2)", "sign_in", "Ana"),
        ("Ana (1)", "sign_in", "Ana"),
    ]


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost:8787", ""])
def test_a_request_for_another_name_is_refused(sqlite_site: Site, host: str) -> None:
    """A site that makes its name point here (DNS rebinding) gets nothing, not even the sign-in page."""
    for path in ("/", "/v1/me", "/v1/openapi.json", "/static/app.js", "/healthz/", "/%68ealthz/../v1/me"):
        assert sqlite_site.open_client().get(path, headers={"Host": host}).status_code == 421


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
def test_a_load_balancer_asks_a_replica_by_its_address(sqlite_site: Site, path: str) -> None:
    """It knows no name of the service; what it hears names no machine and no session."""
    answer = sqlite_site.open_client().get(path, headers={"Host": "10.0.0.1:8787"})

    names = [machine.name for machine in sqlite_site.store.read_as(1).list_machines()]

    assert answer.status_code == 200
    assert names
    assert not any(name in answer.text for name in names)


def test_every_answer_has_the_headers_that_protect_browsers(site: Site) -> None:
    """Pages, files, data, errors and refusals alike."""
    client = site.sign_in("viewer")
    paths = [*PAGES, "/static/app.js", "/v1/me", "/v1/nothing", "/v1/sessions?q=verdict:no", "/v1/events"]
    for path in paths:
        response = client.get(path.replace("{chain}", "1"))
        assert {name: response.headers.get(name) for name in SECURITY_HEADERS} == SECURITY_HEADERS, path
    # Said here once more: a policy that lost one of them would still be the same on every answer.
    policy = set(client.get("/approvals").headers["Content-Security-Policy"].split("; "))
    assert policy >= {"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "trusted-types 'none'"}
    assert policy >= {"base-uri 'none'", "form-action 'none'", "require-trusted-types-for 'script'"}
    assert client.get("/", headers={"Host": "x"}).headers["X-Content-Type-Options"] == "nosniff"
    assert client.get("/v1/me").headers["Cache-Control"] == "no-store"


def test_a_link_signs_in_once_and_not_for_long(site: Site) -> None:
    """A used, an old and a made-up link are refused, and none of them sets a cookie."""
    person = site.people.ensure_person(site.machine.organisation, "p", "Ana", frozenset({"viewer"}))
    used, old = (site.people.create_link(person, site.clock.now()) for _ in range(2))
    client = site.open_client()
    response = post(client, "/v1/sign-in", {"code": used})
    cookie = response.headers["set-cookie"]

    assert all(part in cookie for part in ("HttpOnly", "SameSite=strict", f"Max-Age={COOKIE_SECONDS}", "Path=/"))
    site.clock.seconds += LINK_SECONDS + 1
    for code in (used, old, "", "x", None, 7, response.cookies.get("verdikt_login")):
        refused = post(site.open_client(), "/v1/sign-in", {"code": code})
        assert (refused.status_code, "set-cookie" in refused.headers) == (403, False), code
    # The secret of a link is no cookie either.
    unused = site.people.create_link(person, site.clock.now())
    assert site.people.find_person(unused, site.clock.now()) is None


def test_a_login_ends_by_time_by_sign_out_and_with_the_person(site: Site) -> None:
    """A stolen cookie is worth nothing after any of them, from the next request on, at every route."""
    client, other, late = (site.sign_in("viewer") for _ in range(3))
    ended = site.sign_in("auditor")
    organisation = site.machine.organisation
    person = site.people.ensure_person(organisation, f"{organisation}-auditor", "Ana", frozenset({"auditor"}), ["web"])
    site.people.set_disabled(organisation, person, disabled=True)
    assert {call_route(ended, route, site).status_code for route in GUARDED} == {401}
    site.people.set_disabled(organisation, person, disabled=False)
    assert ended.get("/v1/me").status_code == 401, "letting a person in again does not bring a stolen cookie back"
    stolen = client.cookies["verdikt_login"]
    assert post(client, "/v1/sign-out").status_code == 200
    client.cookies.set("verdikt_login", stolen)
    assert client.get("/v1/me").status_code == 401
    assert other.get("/v1/me").status_code == 200
    site.clock.seconds += COOKIE_SECONDS + 1

    assert late.get("/v1/me").status_code == 401


def test_secure_service_uses_a_host_bound_cookie(store: TeamStore) -> None:
    """By TLS the cookie is bound to the host and sent by TLS only."""
    site = Site(store)
    site.service.origins = frozenset({"https://verdikt.example"})

    assert (site.service.cookie_name, site.service.is_secure) == ("__Host-verdikt", True)


def test_session_and_its_entries_are_what_was_sent(site: Site) -> None:
    """Lists, index, single entries and verification agree with the lines."""
    client = site.sign_in("viewer")
    session = client.get("/v1/sessions").json()["sessions"][0]
    index = client.get(f"/v1/sessions/{session['chain']}/entries?since=3&limit=2").json()
    entry = client.get(f"/v1/entries/{session['chain']}/5").json()
    report = client.get(f"/v1/sessions/{session['chain']}/verification").json()

    assert (session["seq"], session["blocks"]) == (20, 2)
    assert client.get(f"/v1/sessions/{session['chain']}").json() == session
    assert ([row[0] for row in index["rows"]], index["head"], index["columns"][0]) == ([4, 5], 20, "seq")
    assert entry["line"].encode() == CHAIN[4]
    assert entry["entry"]["body"]["receipt"]["verdict"]["kind"] == "block"
    assert (report["intact"], report["entries"], report["findings"]) == (True, 20, [])


def test_a_team_says_where_a_decision_is_replayed(site: Site) -> None:
    """Policies stay on their machines; an entry that is not there is not found."""
    client, chain = site.sign_in("viewer"), site.machine.list_sessions()[0]["chain"]
    problem = client.get(f"/v1/entries/{chain}/3/replay").json()["problem"]

    assert "`verdikt replay 3 --session s` on this one" in problem
    assert {client.get(f"/v1/entries/{chain}/{seq}/replay").status_code for seq in (0, 99, "x")} == {404}


def test_the_outcome_of_a_decision_is_found_by_its_call(site: Site) -> None:
    """The tool call with the same id is the decision's outcome."""
    decision, first = build_entry(
        seq=1, ts=1, session="o", kind=EntryKind.DECISION, body={"call_id": "c1"}, prev="0" * 64
    )
    outcome = {"call_id": "c1", "success": False, "exit_code": 2, "seconds": 0.5}
    second = build_entry(seq=2, ts=2, session="o", kind=EntryKind.TOOL_CALL, body=outcome, prev=decision.hash)[1]
    site.machine.send(first, second)
    client = site.sign_in("viewer")
    chain = client.get("/v1/sessions?q=session:o").json()["sessions"][0]["chain"]

    answer = client.get(f"/v1/entries/{chain}/1").json()["outcome"]
    assert answer == {"seq": 2, "success": False, "exit_code": 2, "seconds": 0.5}
    assert client.get(f"/v1/entries/{chain}/2").json()["outcome"] is None


def test_the_outcome_of_a_call_without_an_id_is_found_by_what_it_did(site: Site) -> None:
    """The next call of the same tool with the same payload is its outcome; what is unknown is left out."""
    push = {"tool": "Bash", "payload": {"command": "git push"}}
    bodies = [
        (EntryKind.DECISION, {"call_id": "", "receipt": {"action": push}}),
        (EntryKind.TOOL_CALL, push | {"call_id": "c9", "success": True}),
        (EntryKind.TOOL_CALL, {"tool": "Bash", "payload": {"command": "ls"}, "call_id": "", "success": True}),
        (EntryKind.TOOL_CALL, push | {"call_id": "", "success": False, "exit_code": None, "seconds": None}),
        (EntryKind.DECISION, {"call_id": "", "receipt": {"action": push}}),
        (EntryKind.DECISION, {"call_id": "", "receipt": {"action": push}}),
        (EntryKind.TOOL_CALL, push | {"call_id": "", "success": True}),
    ]
    lines, prev = [], "0" * 64
    for seq, (kind, body) in enumerate(bodies, start=1):
        entry, line = build_entry(seq=seq, ts=seq, session="n", kind=kind, body=body, prev=prev)
        lines.append(line)
        prev = entry.hash
    site.machine.send(*lines)
    client = site.sign_in("viewer")
    chain = client.get("/v1/sessions?q=session:n").json()["sessions"][0]["chain"]

    outcomes = [client.get(f"/v1/entries/{chain}/{seq}").json()["outcome"] for seq in (1, 5, 6)]
    # Of two equal calls in a row the first did not run: its outcome would have come before the second was decided.
    assert outcomes == [{"seq": 4, "success": False}, None, {"seq": 7, "success": True}]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/v1/sessions/999999", 404),
        ("/v1/sessions/x", 404),
        ("/v1/sessions/999999/entries", 404),
        ("/v1/sessions/99999999999999999999", 404),
        ("/v1/entries/1/0", 404),
        ("/v1/entries/1/21", 404),
        ("/v1/entries/1/%00", 404),
        ("/v1/sessions?cursor=x", 400),
        ("/v1/sessions?limit=-1", 400),
        ("/v1/entries?q=verdict:maybe", 400),
        ("/v1/entries?q=%22open", 400),
        ("/v1/entries?q=%00", 400),
        ("/v1/entries?q=" + "x" * 1001, 400),
        ("/v1/export?format=exe", 400),
        ("/nothing", 404),
        ("/static/../app.py", 404),
        ("/static/%2e%2e/files.py", 404),
        ("/static/vendor", 404),
    ],
)
def test_what_does_not_exist_or_make_sense_is_named(sqlite_site: Site, path: str, status: int) -> None:
    """The status says which, and nothing fails."""
    assert sqlite_site.sign_in("auditor").get(path).status_code == status


def test_export_is_the_lines_or_a_table_of_what_was_found(site: Site) -> None:
    """The export equals the search; lines are byte for byte those of the log, and no cell is a formula."""
    client = site.sign_in("auditor")
    lines = client.get("/v1/export?q=verdict:block&format=jsonl")
    body = {"receipt": {"action": {"tool": "=cmd|' /C calc'!A0"}, "verdict": {"kind": "pass", "guard": "@x"}}}
    site.machine.send(build_entry(seq=1, ts=1, session="f", kind=EntryKind.DECISION, body=body, prev="0" * 64)[1])
    table = client.get("/v1/export?format=csv&q=session:f")

    assert lines.content == CHAIN[12] + CHAIN[4]
    assert lines.headers["content-disposition"] == 'attachment; filename="verdikt-export.jsonl"'
    assert client.get("/v1/export").content.count(b"\n") == 21
    parquet = pyarrow.parquet.read_table(io.BytesIO(client.get("/v1/export?format=parquet&q=verdict:block").content))
    assert [row["guard"] for row in parquet.to_pylist()] == ["delete_outside"] * 2
    assert "'=cmd" in table.text
    assert "'@x" in table.text
    assert ",=cmd" not in table.text


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("-2", "'-2"),
        ("@SUM(A1)", "'@SUM(A1)"),
        # As wide characters, which some spreadsheets take for the plain ones.
        ("\uff1d1+1", "'\uff1d1+1"),
        ("\uff20x", "'\uff20x"),
        (" =1+1", "' =1+1"),
        ("\n=1+1", "\n'=1+1"),
        # Where a semicolon or a tab begins a cell, whatever is quoted.
        ("echo x;=cmd|' /C calc'!A0", "echo x;'=cmd|' /C calc'!A0"),
        ("a;\t+1", "a;\t'+1"),
        ('a";"=1', 'a";"\'=1'),
        ("one\n=2", "one\n'=2"),
        ("git commit -m a=b; rm -f x; echo +1", "git commit -m a=b; rm -f x; echo +1"),
    ],
)
def test_a_cell_of_a_table_is_no_formula(text: str, cell: str) -> None:
    """Whichever separator a spreadsheet takes, and however the sign of a formula is written; other text stays."""
    assert defuse_formulas(text) == cell


def test_an_export_is_recorded_before_its_first_line(sqlite_site: Site) -> None:
    """What leaves the service may be of every team; a program is named as what it is."""
    auditor = sqlite_site.sign_in("auditor")
    auditor.get("/v1/export?format=csv&q=verdict:block")
    token = post(auditor, "/v1/tokens", {"scopes": ["export"]}).json()["token"]
    sqlite_site.open_client().get("/v1/export", headers={"Authorization": f"Bearer {token}"})
    events = sqlite_site.people.list_events(sqlite_site.machine.organisation)

    assert [(event["actor"], event["object"]) for event in events if event["verb"] == "export"] == [
        ("token of Ana (1)", "jsonl"),
        ("Ana (1)", "csv verdict:block"),
    ]


def test_export_of_parquet_without_pyarrow_says_so(sqlite_site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer is an error before it begins, and the pages do not offer it; nor any export to those who may not."""
    client = sqlite_site.sign_in("auditor")
    offered = client.get("/v1/me").json()["exports"]
    monkeypatch.setattr("verdikt.serve.exports.find_spec", lambda _: None)
    response = client.get("/v1/export?format=parquet")

    assert offered == ["jsonl", "csv", "parquet"]
    assert client.get("/v1/me").json()["exports"] == ["jsonl", "csv"]
    assert sqlite_site.sign_in("viewer").get("/v1/me").json()["exports"] == []
    assert (response.status_code, "pip install pyarrow" in response.text) == (400, True)


@pytest.mark.parametrize(
    ("role", "team", "status"),
    [("developer", "web", 200), ("developer", "", 200), ("developer", "payments", 403), ("admin", "payments", 200)],
)
def test_a_person_puts_a_machine_into_their_own_team(sqlite_site: Site, role: str, team: str, status: int) -> None:
    """Else anyone could put what they like before another team's eyes."""
    begun = sqlite_site.service.devices.begin("laptop", secrets.token_bytes(32), sqlite_site.clock.now())
    assert begun is not None
    response = post(sqlite_site.sign_in(role), f"/v1/device-codes/{begun.code}/confirmation", {"team": team})

    assert response.status_code == status


def test_a_code_for_machines_is_made_by_admins(sqlite_site: Site) -> None:
    """The code works for as many machines as it says; other numbers are refused."""
    client = sqlite_site.sign_in("admin")
    code = post(client, "/v1/enrolment-codes", {"uses": 2, "hours": 1}).json()["code"]
    machines, now = sqlite_site.service.machines, sqlite_site.clock.now()

    assert [machines.enrol(code, "m", bytes([n]) * 32, now) is not None for n in range(3)] == [True, True, False]
    for body in ({"uses": 0}, {"uses": "5"}, {"hours": 721}, {"uses": True}):
        assert post(client, "/v1/enrolment-codes", body).status_code == 400


def test_overview_counts_the_decisions_of_the_last_days(site: Site) -> None:
    """The numbers are those of the entries."""
    overview = site.sign_in("viewer").get("/v1/overview?days=7").json()

    assert sum(hour.get("block", 0) for hour in overview["hours"]) == 2
    assert sum(hour.get("ask", 0) for hour in overview["hours"]) == 3
    assert (overview["machines"], overview["machines_seen_today"], overview["rewritten_sessions"]) == (1, 1, 0)


def test_a_too_large_body_is_refused(site: Site) -> None:
    """A body is read to its limit only."""
    response = site.open_client().post(
        "/v1/sign-in", content=b"x" * (MAX_BODY_BYTES + 1), headers={"Origin": ORIGIN, "X-Verdikt": "1"}
    )

    assert response.status_code == 413
    assert post(site.open_client(), "/v1/sign-in", []).status_code in (400, 403)


def test_lone_surrogates_in_a_body_are_answered(site: Site) -> None:
    """A hostile log can hold what UTF-8 cannot; the page shows an escape."""
    line = build_entry(seq=1, ts=1, session="u", kind=EntryKind.GAP, body={"x": "Q"}, prev="0" * 64)[1]
    text = b'{"x":"\\ud800"}'
    payload = (
        line[: line.find(b',"hash":')].replace(sha256_hex(b'{"x":"Q"}').encode(), sha256_hex(text).encode()) + b"}"
    )
    hostile = payload[:-1] + f',"hash":"{sha256_hex(payload)}","sig":"","body":'.encode() + text + b"}\n"
    site.machine.send(hostile)
    client = site.sign_in("viewer")
    chain = client.get("/v1/sessions?q=session:u").json()["sessions"][0]["chain"]

    assert client.get(f"/v1/entries/{chain}/1").json()["entry"]["body"] == {"x": "\ud800"}


def test_openapi_describes_exactly_the_routes(site: Site) -> None:
    """Every route is in the description, with its roles, and nothing else is."""
    document = site.open_client().get("/v1/openapi.json").json()
    described = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}

    machines = {(route.method, route.path) for route in MACHINE_ROUTES} | {("POST", "/v1/enrol")}
    assert described == {(route.method, route.path) for route in (*ROUTES, FEED_ROUTE)} | machines
    assert "security" in document["paths"]["/v1/me"]["get"]
    assert "security" not in document["paths"]["/healthz"]["get"]


def test_health_readiness_and_metrics_need_no_login(site: Site) -> None:
    """Monitoring sees counts, and nothing of what was logged."""
    client = site.open_client()

    assert client.get("/healthz").json() == client.get("/readyz").json() == {"status": "ok"}
    metrics = client.get("/metrics").text
    assert "# TYPE verdikt_requests_total counter\n" in metrics
    # Without a worker, jobs stay due: that is how one sees that none runs.
    assert "\nverdikt_jobs_due 0\n" in metrics
    assert 'verdikt_requests_total{method="GET",route="/healthz",status="200"} 1\n' in metrics
    assert "echo" not in metrics


def test_a_database_that_is_gone_is_503_and_names_nothing(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The browser hears that the service cannot answer; the reason is in the service's log."""
    client = site.sign_in("viewer")
    with site.store.database.begin_write() as connection:
        connection.exec_driver_sql("ALTER TABLE login RENAME TO gone")
    response = client.get("/v1/me")

    assert response.status_code == 503
    assert "login" not in json.dumps(response.json())
