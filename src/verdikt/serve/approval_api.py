"""What the service answers about approvals: for people who vote, and for machines that ask."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from anyio.to_thread import run_sync

from verdikt.errors import WireError
from verdikt.model.approval import ApprovalState
from verdikt.model.canonical_json import parse_json
from verdikt.serve.approvals import Ballot, VoteRefused
from verdikt.serve.entry_search import parse_cursor
from verdikt.serve.json_response import build_json_response
from verdikt.serve.people import SEE_ALL
from verdikt.serve.routes import PAGE, READERS, VOTERS, ApiCall, ApiRoute, NotFound
from verdikt.team.approval_wire import parse_request

if TYPE_CHECKING:
    from starlette.responses import Response

    from verdikt.serve.machine_api import MachineApi
    from verdikt.serve.machines import EnrolledMachine

MAX_PAGE = 1000
MAX_ASKED = 200
MAX_WAIT_SECONDS = 30
_DAY_SECONDS = 86_400
POLL_SECONDS = 0.4
"""How often a long poll looks; a look is one read by index, and there are long polls only while something waits."""


def list_approvals(call: ApiCall) -> Any:
    """Return the approval requests that wait, or those that have ended."""
    state = call.query.get("state", "waiting")
    if state not in ("waiting", "history"):
        raise WireError(f"expected `waiting` or `history` as state, found `{state[:40]}`")
    call.service.approvals.expire(int(call.now))
    limit = call.read_limit(50, MAX_PAGE)
    cursor = call.query.get("cursor", "")
    approvals = call.service.approvals.list_approvals(
        call.signed_in,
        history=state == "history",
        text=call.query.get("q", "")[:200],
        after=parse_cursor(cursor, parts=3) if cursor else (),
        limit=limit,
    )
    last = approvals[-1] if len(approvals) == limit else None
    return {
        "approvals": approvals,
        "cursor": f"{last['risk']}.{last['asked']}.{last['id']}" if last else "",
        "now": int(call.now),
    }


def read_approval(call: ApiCall) -> Any:
    """Return one request with everything that people decide by."""
    call.service.approvals.expire(int(call.now))
    approval = call.service.approvals.read_approval(call.signed_in, call.read_id("approval"))
    if approval is None:
        raise NotFound("no such approval")
    chain = approval["chain"]
    if chain is not None and call.open_reader().read_chain(chain) is None:
        # Who answers for a group need not see what the machine sends: a link would lead nowhere.
        approval["chain"] = None
    return approval | {"now": int(call.now)}


def list_approvers(call: ApiCall) -> Any:
    """Return how people answered approvals in the last days."""
    since = int(call.now) - call.read_number("days", 30, 366) * _DAY_SECONDS
    return {"approvers": call.service.approvals.summarise_approvers(call.organisation, since)}


def vote(call: ApiCall) -> Any:
    """Count a vote; what does not count is recorded too."""
    approval, ballot = call.read_id("approval"), _read_ballot(call)
    try:
        state = call.service.approvals.vote(call.signed_in, approval, ballot, int(call.now))
    except VoteRefused as error:
        call.record(f"{ballot.verb}_rejected", f"{approval}: {error}")
        raise
    return {"state": state}


def _read_ballot(call: ApiCall) -> Ballot:
    body = call.read_body()
    approved, digest, reason = body.get("approved"), body.get("digest"), body.get("reason", "")
    assertion = body.get("assertion")
    if type(approved) is not bool or not isinstance(digest, str) or not isinstance(reason, str):
        raise WireError("expected `approved`, the `digest` that was shown, and perhaps a `reason`")
    if not (assertion is None or isinstance(assertion, Mapping)):
        raise WireError("expected the answer of a security key as `assertion`")
    return Ballot(approved=approved, digest=digest, reason=reason, assertion=assertion, origin=call.origin)


def list_keys(call: ApiCall) -> Any:
    """Return the security keys of the person."""
    return {"keys": call.service.security_keys.list_keys(call.signed_in)}


def begin_key(call: ApiCall) -> Any:
    """Return what the browser needs to add a key."""
    options = call.service.security_keys.begin_registration(call.signed_in, call.origin, int(call.now))
    call.record("begin_key", "")
    return options


def add_key(call: ApiCall) -> Any:
    """Add a key that the browser made."""
    body = call.read_body()
    name, response = body.get("name", ""), body.get("response")
    if not isinstance(name, str) or not isinstance(response, Mapping):
        raise WireError("expected a `name` and the browser's `response`")
    now = int(call.now)
    key = call.service.security_keys.finish_registration(call.signed_in, name, response, call.origin, now)
    call.record("add_key", str(key))
    return {"id": key}


def remove_key(call: ApiCall) -> Any:
    """Remove a key."""
    key = call.read_id("key")
    if not call.service.security_keys.remove_key(call.signed_in, key):
        raise NotFound("no such key")
    call.record("remove_key", str(key))
    return {}


APPROVAL_ROUTES: tuple[ApiRoute, ...] = (
    ApiRoute(
        "GET",
        "/v1/approvals",
        list_approvals,
        READERS,
        "approvals that people are asked for",
        {
            "state": "`waiting` or `history`",
            "q": "text in the call, the rule, the session or the machine's name",
        }
        | PAGE,
    ),
    ApiRoute("GET", "/v1/approvals/{approval}", read_approval, READERS, "one approval with what it is about"),
    ApiRoute(
        "GET",
        "/v1/approvers",
        list_approvers,
        SEE_ALL,
        "how people answered approvals",
        {"days": "of the last days; 30 unless it is said"},
    ),
    ApiRoute("POST", "/v1/approvals/{approval}/votes", vote, VOTERS, "approve or refuse"),
    ApiRoute("GET", "/v1/keys", list_keys, READERS, "your security keys", scope=""),
    ApiRoute("POST", "/v1/keys/options", begin_key, VOTERS, "begin to add a security key"),
    ApiRoute("POST", "/v1/keys", add_key, VOTERS, "add a security key"),
    ApiRoute("POST", "/v1/keys/{key}/removal", remove_key, VOTERS, "remove a security key"),
)


# What machines call


async def receive_request(api: MachineApi, machine: EnrolledMachine, body: bytes) -> Response:
    """Store an approval request of a machine."""
    request = parse_request(parse_json(body))
    asking = request.document["machine"]
    if not isinstance(asking, Mapping) or asking.get("id") != machine.id:
        raise WireError("the approval is one of another machine")
    service = api.service
    number, is_new = await run_sync(service.approvals.submit, machine, request, int(service.clock.now()))
    if is_new:
        await run_sync(
            service.people.record_event,
            machine.organisation,
            f"machine {machine.id}",
            "ask",
            str(number),
            service.clock.now(),
        )
    return build_json_response({"approval": number})


async def answer_requests(api: MachineApi, machine: EnrolledMachine, body: bytes) -> Response:
    """Return what became of a machine's requests; wait for a change as long as the machine says."""
    fields = parse_json(body)
    requests, wait = _read_asked(fields)
    service = api.service
    waited = 0.0
    while True:
        answers = await run_sync(service.approvals.read_answers, machine, list(requests), int(service.clock.now()))
        has_changed = any(answer["state"] != requests[id] for id, answer in answers.items())
        if has_changed or waited >= wait:
            return build_json_response({"answers": answers, "time": int(service.clock.now())})
        await asyncio.sleep(POLL_SECONDS)
        waited += POLL_SECONDS


def _read_asked(fields: Any) -> tuple[dict[str, str], float]:
    """Return the requests that a machine asks about, with the states that it knows, and how long it waits."""
    requests = fields.get("requests") if isinstance(fields, Mapping) else None
    if not isinstance(requests, Mapping) or not 0 < len(requests) <= MAX_ASKED:
        raise WireError(f"expected 1 to {MAX_ASKED} approvals")
    if not all(isinstance(id, str) and isinstance(state, str) for id, state in requests.items()):
        raise WireError("expected ids and states")
    wait = fields.get("wait", 0)
    if type(wait) not in (int, float) or not 0 <= wait <= MAX_WAIT_SECONDS:
        raise WireError(f"expected to wait at most {MAX_WAIT_SECONDS} seconds")
    return dict(requests), float(wait)


async def receive_outcome(api: MachineApi, machine: EnrolledMachine, body: bytes) -> Response:
    """Note that an approval was used, or that a request was answered at the terminal."""
    fields = parse_json(body)
    request, state = (fields.get(name) if isinstance(fields, Mapping) else None for name in ("id", "state"))
    if not isinstance(request, str) or state not in (ApprovalState.USED, ApprovalState.CANCELLED):
        raise WireError("expected the `id` of an approval, and `used` or `cancelled`")
    service = api.service
    now = service.clock.now()
    await run_sync(service.approvals.report, machine, request, ApprovalState(state), int(now))
    return build_json_response({})
