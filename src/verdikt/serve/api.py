"""What the service answers: one function per route, and the table of them."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from starlette.responses import PlainTextResponse, Response

from verdikt.errors import ServiceError
from verdikt.ledger.chain_verifier import verify_chain
from verdikt.model.entry import unseal_line
from verdikt.serve.approval_api import APPROVAL_ROUTES
from verdikt.serve.entry_search import parse_cursor
from verdikt.serve.exports import EXPORT_ROUTES
from verdikt.serve.feed import FEED_ROUTE
from verdikt.serve.fleet_api import FLEET_ROUTES
from verdikt.serve.fleet_reads import FleetQuery, count_traits
from verdikt.serve.jobs import JobQueue
from verdikt.serve.machine_api import MACHINE_ROUTES
from verdikt.serve.notification_api import NOTIFICATION_ROUTES
from verdikt.serve.openapi import build_openapi
from verdikt.serve.people_api import PEOPLE_ROUTES
from verdikt.serve.routes import ANYBODY, AUDITORS, PAGE, QUERY_PARAMETER, READERS, ApiCall, ApiRoute, NotFound
from verdikt.team.index_row import VERDICT_CODES

if TYPE_CHECKING:
    from verdikt.serve.store_reader import StoredChain, StoreReader

MAXPAGE = 500
MAX_INDEXPAGE = 20_000
_DAY_MICROSECONDS = 86_400_000_000
_VERDICT_WORDS = {code: word for word, code in VERDICT_CODES.items()}


def read_overview(call: ApiCall) -> Any:
    """Return the decisions of the last days by hour, and what needs attention."""
    reader, now = call.open_reader(), call.service.now_microseconds()
    days = call.read_number("days", 7, 366)
    since = now - days * _DAY_MICROSECONDS
    machines, rewritten_sessions = reader.read_fleet()
    traits = count_traits(machines, FleetQuery())
    hours: dict[int, dict[str, int]] = {}
    for hour, verdict, count in reader.count_verdicts(since, now):
        hours.setdefault(hour, {})[_VERDICT_WORDS.get(verdict, "")] = count
    return {
        "now": now,
        "since": since,
        "hours": [{"hour": hour, **counts} for hour, counts in sorted(hours.items())],
        "machines": len(machines),
        "machines_seen_today": sum((machine.seen or 0) > now - _DAY_MICROSECONDS for machine in machines),
        "machines_without_hook": traits["no-hook"],
        "machines_at_fault": traits["doctor"],
        "rewritten_sessions": rewritten_sessions,
        "problems": [{"session": name, "problem": text} for name, text in sorted(call.service.problems.items())],
    }


def list_sessions(call: ApiCall) -> Any:
    """Return a page of sessions, the last active first."""
    limit = call.read_limit(50, MAXPAGE)
    page = call.open_reader().find_sessions(call.read_query(), call.query.get("cursor", ""), limit)
    return {"sessions": page.sessions, "cursor": page.cursor}


def read_session(call: ApiCall) -> Any:
    """Return one session with its counts."""
    reader = call.open_reader()
    session = reader.read_session(_find_chain(call, reader).id)
    if session is None:
        raise NotFound("no such session")
    return session


def list_session_entries(call: ApiCall) -> Any:
    """Return the index rows of a session after an entry, oldest first, as arrays: a session may have 100,000."""
    reader = call.open_reader()
    chain = _find_chain(call, reader)
    limit = call.read_limit(5000, MAX_INDEXPAGE)
    since = call.read_number("since", 0, 2**53)
    rows = reader.read_index(chain.id, since, limit)
    columns = ("seq", "ts", "kind", "verdict", "guard", "class", "effect", "summary")
    return {
        "columns": columns,
        "rows": [[row[column] for column in columns] for row in rows],
        "head": chain.head.seq,
    }


def read_entry(call: ApiCall) -> Any:
    """Return one entry: its fields, its line as it was sent, and whether its own hash is right."""
    reader = call.open_reader()
    chain = _find_chain(call, reader)
    seq = call.read_id("seq")
    line = next(reader.read_lines(chain.id, since=seq - 1, limit=1), None)
    if line is None or seq < 1:
        raise NotFound("no such entry")
    fields = unseal_line(line)
    if isinstance(fields, str):
        return {"line": line.decode(errors="replace"), "problem": fields}
    return {"entry": fields, "line": line.decode(), "problem": "", "outcome": _find_outcome(reader, chain, fields)}


def replay_entry(call: ApiCall) -> Any:
    """Make the decision of an entry again from its receipt, and compare every byte."""
    reader = call.open_reader()
    chain, seq = _find_chain(call, reader), call.read_id("seq")
    line = next(reader.read_lines(chain.id, since=seq - 1, limit=1), None)
    if line is None or seq < 1:
        raise NotFound("no such entry")
    if call.service.replay_line is None:
        command = f"verdikt replay {seq} --session {chain.session}"
        return {"problem": f"policies stay on their machines: `{command}` on this one replays it", "differences": []}
    return call.service.replay_line(line)


def _find_outcome(reader: StoreReader, chain: StoredChain, fields: dict[str, Any]) -> Any:
    """Return the tool call of a decision: the first one after it with its id, or without ids with its payload."""
    body = fields.get("body", {})
    call = _identify_call(body, _read_action(body)) if fields["kind"] == "decision" else None
    if call is None:
        return None
    for line in reader.read_lines(chain.id, since=fields["seq"], limit=200):
        later = unseal_line(line)
        if not isinstance(later, dict):
            continue
        body = later.get("body", {})
        if later["kind"] == "tool_call" and _identify_call(body, body) == call:
            outcome = {name: body.get(name) for name in ("success", "exit_code", "seconds", "error")}
            return {"seq": later["seq"], **{name: value for name, value in outcome.items() if value is not None}}
        # An id may be decided about twice, by two hooks. Without one it is another call, and the first did not run.
        is_unnumbered_decision = later["kind"] == "decision" and not body.get("call_id")
        if is_unnumbered_decision and _identify_call(body, _read_action(body)) == call:
            return None
    return None


def _read_action(body: dict[str, Any]) -> dict[str, Any]:
    """Return what a decision was about; empty where a machine sent no action."""
    receipt = body.get("receipt")
    action = receipt.get("action") if isinstance(receipt, dict) else None
    return action if isinstance(action, dict) else {}


def _identify_call(body: dict[str, Any], action: dict[str, Any]) -> tuple[Any, ...] | None:
    """Return what a decision and the outcome of the same call have in common; None where nothing tells."""
    if call_id := body.get("call_id"):
        return (call_id,)
    return (action["tool"], action["payload"]) if action.get("tool") and action.get("payload") else None


def verify_session(call: ApiCall) -> Any:
    """Verify the whole chain of a session as it is stored: links, hashes, bodies that are there, its head."""
    reader = call.open_reader()
    chain = _find_chain(call, reader)
    report = verify_chain(lambda: reader.read_lines(chain.id), session=chain.session)
    return {
        "intact": report.is_intact and report.head == chain.head,
        "entries": report.entry_count,
        "absent_bodies": report.absent_body_count,
        "signed_seq": chain.signed_seq,
        "head": {"seq": chain.head.seq, "hash": chain.head.hash},
        "findings": [finding.message for finding in report.findings],
        "forks": [
            {"seq": seq, "received": received, "bytes": len(data)}
            for seq, received, data in reader.read_forks(chain.id)
        ],
    }


def list_entries(call: ApiCall) -> Any:
    """Return a page of the entries that a query selects, newest first."""
    limit = call.read_limit(100, MAXPAGE)
    page = call.open_reader().search_entries(call.read_query(), call.query.get("cursor", ""), limit)
    return {"entries": page.entries, "cursor": page.cursor}


def list_events(call: ApiCall) -> Any:
    """Return a page of what was done to this service, newest first."""
    limit = call.read_limit(200, MAXPAGE)
    cursor = call.query.get("cursor", "")
    before = parse_cursor(cursor, parts=1)[0] if cursor else None
    events = call.service.people.list_events(call.organisation, limit, before)
    return {"events": events, "cursor": str(events[-1]["n"]) if len(events) == limit else ""}


def verify_events(call: ApiCall) -> Any:
    """Verify the chain of the service's own record, which has the rows of all organisations."""
    broken = call.service.people.find_broken_event()
    return {"intact": broken is None, "broken": broken}


def read_openapi(_: ApiCall) -> Any:
    """Return the description of this interface."""
    return build_openapi((*ROUTES, FEED_ROUTE), MACHINE_ROUTES)


def read_metrics(call: ApiCall) -> Response:
    """Return counters for Prometheus, and how many jobs no worker does, as far as the database answers."""
    gauges: dict[str, float] = {}
    # The counters of a process whose database is gone are wanted most.
    with suppress(ServiceError):
        due, given_up = JobQueue(call.service.store.database).count_stuck(call.service.clock.now())
        gauges = {"verdikt_jobs_due": due, "verdikt_jobs_given_up": given_up}
    return PlainTextResponse(call.service.metrics.render(gauges), media_type="text/plain; version=0.0.4")


def read_health(_: ApiCall) -> Any:
    """Return that the process answers."""
    return {"status": "ok"}


def read_readiness(call: ApiCall) -> Any:
    """Return that the database answers; an error otherwise."""
    call.service.store.check()
    return {"status": "ok"}


ROUTES: tuple[ApiRoute, ...] = (
    *PEOPLE_ROUTES,
    *FLEET_ROUTES,
    *APPROVAL_ROUTES,
    *NOTIFICATION_ROUTES,
    ApiRoute("GET", "/v1/overview", read_overview, READERS, "decisions by hour", {"days": "how many days"}),
    ApiRoute("GET", "/v1/sessions", list_sessions, READERS, "sessions, the last active first", QUERY_PARAMETER | PAGE),
    ApiRoute("GET", "/v1/sessions/{chain}", read_session, READERS, "one session"),
    ApiRoute(
        "GET",
        "/v1/sessions/{chain}/entries",
        list_session_entries,
        READERS,
        "the index of a session, oldest first",
        {"since": "after this entry", "limit": "at most this many"},
    ),
    ApiRoute("GET", "/v1/sessions/{chain}/verification", verify_session, READERS, "verify a session's chain"),
    ApiRoute("GET", "/v1/entries", list_entries, READERS, "search entries, newest first", QUERY_PARAMETER | PAGE),
    ApiRoute("GET", "/v1/entries/{chain}/{seq}", read_entry, READERS, "one entry with its line"),
    ApiRoute("GET", "/v1/entries/{chain}/{seq}/replay", replay_entry, READERS, "replay an entry's decision"),
    *EXPORT_ROUTES,
    ApiRoute("GET", "/v1/events", list_events, AUDITORS, "what was done to this service", PAGE, scope="export"),
    ApiRoute("GET", "/v1/events/verification", verify_events, AUDITORS, "verify that record's chain", scope="export"),
    ApiRoute("GET", "/v1/openapi.json", read_openapi, ANYBODY, "this description"),
    ApiRoute("GET", "/metrics", read_metrics, ANYBODY, "counters for Prometheus"),
    ApiRoute("GET", "/healthz", read_health, ANYBODY, "the process answers"),
    ApiRoute("GET", "/readyz", read_readiness, ANYBODY, "the database answers"),
)
"""Every route but the pages, their files and the feed, which is a stream (`FEED_ROUTE`)."""


def _find_chain(call: ApiCall, reader: StoreReader) -> StoredChain:
    chain = reader.read_chain(call.read_id("chain"))
    # Whether there is one that this person may not see is not said either.
    if chain is None:
        raise NotFound("no such session")
    if reader.sees_all:
        _record_foreign_read(call, chain)
    return chain


def _record_foreign_read(call: ApiCall, chain: StoredChain) -> None:
    """Record that a person whose role shows them everything looks at a session of another person and another team."""
    person = call.signed_in
    own = call.service.machines.find_machines(person.organisation, person.id, person.groups)
    if chain.machine not in own and call.service.session_reads.is_new(person.id, chain.id, call.now):
        call.record("read_session", str(chain.id))
