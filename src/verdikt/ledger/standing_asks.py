"""Asks that stand in the log, by session and call id, for every process that resumes the call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from verdikt.errors import LedgerError
from verdikt.ledger.projections import APPROVALS, ASKS
from verdikt.model.action import hash_call
from verdikt.model.entry import EntryKind
from verdikt.model.redaction import redact_text
from verdikt.model.standing_ask import StandingAsk

if TYPE_CHECKING:
    from verdikt.ledger.files import FileStore
    from verdikt.ledger.store import LogWriter
    from verdikt.model.action import Action

_MAX_TEXT = 200
"""Number of characters of a name or a channel that the log keeps."""


def find_standing_ask(store: FileStore, log: LogWriter, action: Action) -> StandingAsk | None:
    """Return what a person was asked about this call, with the answer; None when there is no such ask.

    The call is the same when its id, its tool and its redacted input are: an approval of other arguments is none.
    """
    asked = log.read_projection(ASKS.name).get(action.call_id)
    if asked is None or asked["call"] != hash_call(action.tool, action.payload):
        return None
    ask, cwd = _read_ask(store, action.session_id, asked, action.call_id)
    # A command means something else in another directory, so a yes counts only where it was asked for.
    return ask._replace(approved=None) if ask.approved and cwd != action.cwd else ask


def read_ask(store: FileStore, session_id: str, call_id: str) -> StandingAsk | None:
    """Return what a person was asked about a call, with the answer; None when there is no such ask."""
    asked = store.read_projection(ASKS.name, session_id).get(call_id)
    return None if asked is None else _read_ask(store, session_id, asked, call_id)[0]


def record_answer(
    store: FileStore, session_id: str, call_id: str, *, approved: bool, by: str, channel: str
) -> StandingAsk:
    """Append a person's answer to the ask about a call, and return the ask with it.

    The same answer again is no second entry. Raises `LedgerError` when no ask about the call is open, or when a no
    would become a yes.
    """
    with store.session(session_id) as log:
        asked = log.read_projection(ASKS.name).get(call_id)
        if asked is None:
            raise LedgerError(f"no question about the call `{call_id}` is open in the session `{session_id}`")
        ask, _ = _read_ask(store, session_id, asked, call_id)
        if ask.approved is approved:
            return ask  # an SDK may report the same answer at several places
        if ask.is_rejected:
            raise LedgerError(f"the call `{call_id}` was rejected before; a no is not taken back")
        ask = ask._replace(approved=approved, by=_shorten(by), channel=_shorten(channel))
        body = {
            "call_id": call_id,
            "receipt_sha256": ask.receipt,
            "approved": ask.approved,
            "by": ask.by,
            "channel": ask.channel,
        }
        log.append(EntryKind.ANSWER, body)
    return ask


def close_answered_at_terminal(log: LogWriter, call_id: str) -> None:
    """End the requests about a call that has run: the person at the terminal was faster, and one yes is one use."""
    for id, request in log.read_projection(APPROVALS.name).items():
        if request["call_id"] == call_id and not request["closed"]:
            log.append(EntryKind.APPROVAL, {"id": id, "closed": "terminal"})


def _read_ask(store: FileStore, session_id: str, asked: Mapping[str, Any], call_id: str) -> tuple[StandingAsk, str]:
    """Return the ask and the directory it was asked in, from the log: an edit of `state.db` answers nothing."""
    entry = store.reader.read_entry(session_id, asked["seq"])
    if entry is None or entry.kind is not EntryKind.DECISION or entry.body.get("call_id") != call_id:
        raise LedgerError(f"the question about the call `{call_id}` is not where `state.db` says; run `verdikt doctor`")
    receipt = entry.body["receipt"]
    verdict = receipt["verdict"]
    ask = StandingAsk(
        receipt=entry.body["receipt_sha256"], guard=verdict["guard"], reason=verdict["reason"], fix=verdict["fix"]
    )
    if asked["answer"]:
        answer = store.reader.read_entry(session_id, asked["answer"])
        if answer is None or answer.kind is not EntryKind.ANSWER or answer.body.get("receipt_sha256") != ask.receipt:
            raise LedgerError(f"the answer about the call `{call_id}` is not where `state.db` says")
        fields = answer.body
        ask = ask._replace(approved=fields["approved"] is True, by=fields["by"], channel=fields["channel"])
    return ask, str(receipt["action"]["cwd"])


def _shorten(text: str) -> str:
    return redact_text(str(text))[0][:_MAX_TEXT]
