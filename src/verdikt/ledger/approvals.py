"""Approval requests, which are answered away from the terminal, in the log of the session that asked.

A request is part of the decision that asked; an answer is a signed entry; the use of an answer is the decision that
goes by it. All are written under the session's lock, so an answer is used at most once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from verdikt.errors import LedgerError
from verdikt.ledger.approval_outbox import explain_other_session
from verdikt.ledger.key_introduction import is_introduced
from verdikt.ledger.projections import APPROVALS
from verdikt.model.approval import (
    ApprovalAnswer,
    ApprovalNeed,
    ApprovalState,
    build_document,
    describe_needs,
    explain_misfit,
    hash_parts,
    parse_need,
)
from verdikt.model.canonical_json import hash_canonical
from verdikt.model.entry import EntryKind
from verdikt.model.redaction import redact_text
from verdikt.observe.clock import format_local_time as format_time

if TYPE_CHECKING:
    from pathlib import Path

    from verdikt.ledger.files import FileStore
    from verdikt.ledger.store import LogWriter
    from verdikt.model.entry import Entry

MAX_WAITING = 10
"""Most requests of one session that may wait at once: more would be signed without being read."""

_MICROSECONDS = 1_000_000
_CLOCK_SKEW_SECONDS = 60.0
_MAX_TEXT = 300
_ID_LENGTH = 8

_UNREADABLE = "what this would run or push cannot be told in full, so no person can be asked to approve it"
_USED = "approval {id} was used already"

GO_ON = "go on with something else, or make exactly this call again to see whether it was answered"
GO_ON_WITHOUT = "go on with something else; this call stays blocked until the machine is enrolled at a service"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalLookup:
    """What the log knows of a call that needs an approval."""

    id: str
    digest: str
    state: ApprovalState
    call: str = ""
    """Digest of the call without its session."""
    answer: ApprovalAnswer | None = None
    reason: str = ""
    """What the agent hears beside the reason of the rule; empty when the answer says it."""
    request: Mapping[str, Any] | None = None
    """What the log has to say about a new request."""
    can_be_answered: bool = False
    """Whether the request waits for people who can be reached: a group has no member at a machine without a service."""


def read_service(home: Path) -> dict[str, Any]:
    """Return which machine of which service this is; empty and 0 when there is no service."""
    try:
        config = json.loads((home / "ship" / "config.json").read_bytes())
        return {"service": str(config["url"]), "id": int(config["machine"])}
    except (OSError, ValueError, KeyError, TypeError):
        return {"service": "", "id": 0}


def look_up_approval(
    store: FileStore,
    log: LogWriter,
    receipt: Mapping[str, Any],
    needs: Sequence[ApprovalNeed],
    contents: Mapping[str, str],
) -> ApprovalLookup:
    """Return what was asked and answered about a call, or the new request about it.

    `contents` are digests of what the call rests on beside the facts in its receipt; an empty one cannot be told.
    """
    machine = read_service(store.home)
    document = build_document(receipt, needs, machine, contents)
    digest, parts, now = hash_canonical(document), hash_parts(document), store.clock.now()
    call = hash_canonical({**document["action"], "session_id": ""})
    if not all(contents.values()):
        # Else one unknown would fit another: whatever became of file or repository, the digest would be the same.
        return ApprovalLookup(id="", digest=digest, state=ApprovalState.CANCELLED, reason=_UNREADABLE)
    requests: dict[str, Any] = log.read_projection(APPROVALS.name)
    same = [(id, request) for id, request in requests.items() if request["digest"] == digest]
    note = ""
    if same:
        # The newest one: earlier ones have ended.
        id, request = max(same, key=lambda item: item[1]["seq"])
        lookup, note = _judge_request(store, log.session_id, id, request)
        if lookup is not None:
            return replace(lookup, call=call)
    else:
        note = _explain_unfit(requests, parts, now) or explain_other_session(store.home, log.session_id, call)
    waiting = sum(
        not request["answer"] and not request["closed"] and now < request["expires"] for request in requests.values()
    )
    if waiting >= MAX_WAITING:
        reason = f"{MAX_WAITING} approvals of this session wait for an answer already; no further one is asked"
        return ApprovalLookup(id="", digest=digest, state=ApprovalState.CANCELLED, reason=reason)
    id = hash_canonical([digest, log.session_id, log.head.seq])[:_ID_LENGTH]
    expires = now + min(need.expires for need in needs)
    reason = _describe_waiting(id, needs, expires, has_service=bool(machine["service"]))
    return ApprovalLookup(
        id=id,
        digest=digest,
        call=call,
        state=ApprovalState.WAITING,
        reason=f"{note}; {reason}" if note else reason,
        can_be_answered=bool(machine["service"]) or not any(need.group for need in needs),
        request={
            "id": id,
            "digest": digest,
            "parts": parts,
            "needs": [need.to_record() for need in needs],
            "machine": machine,
            "contents": dict(contents),
            "expires": int(expires),
        },
    )


def _explain_unfit(requests: Mapping[str, Any], parts: Mapping[str, str], now: float) -> str:
    """Return why the newest approval of the session does not cover a call with these parts; empty without any."""
    approved = [(id, request) for id, request in requests.items() if request["answer"] and request["approved"]]
    for id, request in sorted(approved, key=lambda item: -item[1]["seq"]):
        if not request["closed"] and now < request["until"]:
            return explain_misfit(id, request["parts"], parts)
        # What the call itself changed when it ran makes the digest of its repetition another one.
        if request["closed"] and request["parts"]["action"] == parts["action"]:
            return _USED.format(id=id)
    return ""


def _judge_request(
    store: FileStore, session: str, id: str, request: Mapping[str, Any]
) -> tuple[ApprovalLookup | None, str]:
    """Return what a request about the same digest means for a call; or None, and why it means nothing any more."""
    digest, now = request["digest"], store.clock.now()
    if request["closed"]:
        return None, _USED.format(id=id) if request["approved"] else ""
    if not request["answer"]:
        if now >= request["expires"]:
            return None, f"no answer to approval {id} came until {format_time(request['expires'])}"
        entry = store.reader.read_entry(session, request["seq"])
        needs = _read_needs(entry)
        machine = read_service(store.home)
        has_service = bool(machine["service"])
        reason = _describe_waiting(id, needs, request["expires"], has_service=has_service)
        can_be_answered = has_service or not any(need.group for need in needs)
        lookup = ApprovalLookup(
            id=id, digest=digest, state=ApprovalState.WAITING, reason=reason, can_be_answered=can_be_answered
        )
        return lookup, ""
    fields = _read_answer(store, session, request["answer"], id, digest)
    if fields is None:
        return None, f"the answer to approval {id} is not signed as it should be"
    answered_at, body = fields
    answer = ApprovalAnswer(
        id=id,
        digest=digest,
        approved=body["approved"] is True,
        by=tuple(str(name) for name in body["by"]),
        reason=str(body.get("reason", "")),
    )
    if not answer.approved:
        if now >= request["expires"]:
            return None, ""
        return ApprovalLookup(id=id, digest=digest, state=ApprovalState.REFUSED, answer=answer), ""
    if now < answered_at - _CLOCK_SKEW_SECONDS:
        return None, f"the clock of this machine was set back after approval {id}"
    if now >= body["until"]:
        return None, f"approval {id} could be used until {format_time(body['until'])}"
    return ApprovalLookup(id=id, digest=digest, state=ApprovalState.APPROVED, answer=answer), ""


def _describe_waiting(id: str, needs: Sequence[ApprovalNeed], expires: float, *, has_service: bool) -> str:
    who = describe_needs(needs)
    if has_service:
        return f"waiting for approval {id} by {who}, until {format_time(expires)}"
    if any(need.group for need in needs):
        return f"approval {id} by {who} cannot be asked for: this machine has no service (`verdikt ship enrol`)"
    return f"waiting for approval {id} by {who} in `verdikt serve`, until {format_time(expires)}"


def _read_needs(entry: Entry | None) -> tuple[ApprovalNeed, ...]:
    if entry is None:
        raise LedgerError("the approval is not where `state.db` says; run `verdikt doctor`")
    return tuple(parse_need(record) for record in entry.body["request"]["needs"])


def _read_answer(
    store: FileStore, session: str, seq: int, id: str, digest: str
) -> tuple[float, Mapping[str, Any]] | None:
    """Return when an answer was recorded, and what it says; None unless its entry is there and signed."""
    entry = store.reader.read_entry(session, seq)
    if entry is None or entry.kind not in (EntryKind.GRANT, EntryKind.ANSWER) or not entry.sig:
        return None
    body = entry.body.get("approval")
    if not isinstance(body, Mapping) or (body.get("id"), body.get("digest")) != (id, digest):
        return None
    if store.keyring.check_entry_signature(entry.kid, entry.hash, entry.sig, entry.ts) is not None:
        return None
    return (entry.timestamp_seconds, body) if is_introduced(store, entry.kid) else None


def append_request(log: LogWriter, lookup: ApprovalLookup, decision: Entry) -> None:
    """Append the request that a decision asks, that it was asked already, or the use of the answer that it goes by."""
    if lookup.request is not None:
        body = {**lookup.request, "decision": decision.seq, "call_id": str(decision.body.get("call_id", ""))}
        log.append(EntryKind.APPROVAL, {"request": body})
    elif lookup.state is ApprovalState.APPROVED:
        log.append(EntryKind.APPROVAL, {"id": lookup.id, "closed": "used", "decision": decision.seq})
    elif lookup.state is ApprovalState.WAITING:
        log.append(EntryKind.APPROVAL, {"id": lookup.id, "repeated": decision.seq})


def record_approval(
    store: FileStore,
    session: str,
    id: str,
    *,
    digest: str,
    approved: bool,
    by: Sequence[str],
    until: float,
    reason: str = "",
    evidence: Mapping[str, Any] | None = None,
) -> Entry:
    """Append what people answered to a request, signed; `until` is when a yes ends, by this machine's clock.

    The first answer stands. Raises `LedgerError` when the request is not open in this session, or is another one.
    """
    with store.session(session) as log:
        request = log.read_projection(APPROVALS.name).get(id)
        if request is None:
            raise LedgerError(f"approval {id} was not asked for in the session `{session}`")
        if request["digest"] != digest:
            raise LedgerError(f"the answer to approval {id} is for another call")
        if request["closed"]:
            raise LedgerError(f"approval {id} was used or answered at the terminal before")
        if request["answer"]:
            raise LedgerError(f"approval {id} was answered before")
        if approved and store.clock.now() >= until:
            raise LedgerError(f"the answer to approval {id} came too late")
        body = {
            "id": id,
            "digest": digest,
            "approved": approved,
            "by": [_shorten(name) for name in by],
            "reason": _shorten(reason),
            "until": int(until),
            **({"evidence": dict(evidence)} if evidence else {}),
        }
        # Both kinds are always signed.
        return log.append(EntryKind.GRANT if approved else EntryKind.ANSWER, {"approval": body})


def describe_request(store: FileStore, session: str, id: str) -> dict[str, Any] | None:
    """Return a request for the people who answer it, with its document; None when the log has no such request."""
    request = store.read_projection(APPROVALS.name, session).get(id)
    asked = store.reader.read_entry(session, request["seq"]) if request else None
    fields = asked.body.get("request", {}) if asked and asked.kind is EntryKind.APPROVAL else {}
    decision = store.reader.read_entry(session, fields["decision"]) if fields.get("id") == id else None
    if asked is None or decision is None or decision.kind is not EntryKind.DECISION:
        return None
    needs = tuple(parse_need(record) for record in fields["needs"])
    receipt = decision.body["receipt"]
    verdict = receipt["verdict"]
    return {
        "id": id,
        "digest": fields["digest"],
        "document": build_document(receipt, needs, fields["machine"], fields["contents"]),
        "texts": {path: text for path, text in receipt["facts"]["text"].items() if isinstance(text, str)},
        "seq": decision.seq,
        "rule": verdict["guard"],
        "reason": verdict["reason"],
        "dominant": receipt["dominant"] or "",
        "asked": asked.ts // _MICROSECONDS,
        "expires": fields["expires"],
        "calls": request.get("calls", 1),
    }


def read_request_state(store: FileStore, session: str, id: str) -> ApprovalState | None:
    """Return what the log says became of a request; None when it has no such request."""
    request = store.read_projection(APPROVALS.name, session).get(id)
    if request is None:
        return None
    if request["closed"]:
        return ApprovalState.USED if request["closed"] == "used" else ApprovalState.CANCELLED
    if request["answer"]:
        if not request["approved"]:
            return ApprovalState.REFUSED
        return ApprovalState.EXPIRED if store.clock.now() >= request["until"] else ApprovalState.APPROVED
    return ApprovalState.EXPIRED if store.clock.now() >= request["expires"] else ApprovalState.WAITING


def count_calls(store: FileStore, session: str, id: str) -> int:
    """Return how often the call of a request was made while it waited; 0 when the log has no such request."""
    request = store.read_projection(APPROVALS.name, session).get(id)
    return int(request.get("calls", 1)) if request else 0


def _shorten(text: str) -> str:
    return redact_text(str(text))[0][:_MAX_TEXT]
