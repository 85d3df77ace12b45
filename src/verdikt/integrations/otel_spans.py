"""What verdikt says in OpenTelemetry: names of spans, attributes and metrics, of a decision or an entry of the log.

The names are ours until there is a convention for decisions. Arguments and reasons are in none of them: they quote
commands and paths. A block is no error: the span's status stays unset.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from verdikt.model.canonical_json import sha256_hex
from verdikt.model.entry import Entry, EntryKind

Attributes = dict[str, "str | bool | int | float"]

SCOPE = "verdikt"
"""The name of the tracer and of the meter."""

DECISIONS_METRIC = "verdikt.decisions"
DURATION_METRIC = "verdikt.decision.duration"
ASKS_METRIC = "verdikt.asks"
ANSWER_EVENT = "verdikt.answer"

_REFUSALS = ("refused", "unread")
"""Results of the evidence gate that send the agent back to work, where the gate is enforced."""

_ENDED_UNPROVEN = "ended_unproven"
"""The result of a turn that was refused often enough."""

_MICROSECOND = 1_000
_SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True)
class SpanRecord:
    """One span that has ended, times in nanoseconds since the epoch; `events` all happened at its end."""

    name: str
    start: int
    end: int
    attributes: Attributes
    events: tuple[tuple[str, Attributes], ...] = ()
    trace_id: int = 0  # 0: that of the span around it
    span_id: int = 0


@dataclass(frozen=True, slots=True)
class CallRecord:
    """Which call a span is about."""

    tool: str = ""
    call_id: str = ""
    session: str = ""
    host: str = ""
    agent: str = ""

    def to_attributes(self) -> Attributes:
        """Return the attributes that are not empty."""
        attributes: Attributes = {
            "gen_ai.tool.name": self.tool,
            "gen_ai.tool.call.id": self.call_id,
            "gen_ai.tool.type": "function" if self.tool else "",
            "gen_ai.conversation.id": self.session,
            "gen_ai.agent.name": self.agent,
            "verdikt.host": self.host,
        }
        return {name: value for name, value in attributes.items() if value}


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRecord:
    """What was decided about a call."""

    verdict: str
    guard: str
    red_line: bool = False
    dominant: str = ""
    posture: str = ""
    policy: str = ""
    receipt: str = ""
    approved: bool | None = None  # what a person had answered to an earlier ask about the call
    channel: str = ""
    call: CallRecord = field(default_factory=CallRecord)

    def to_attributes(self) -> Attributes:
        """Return the attributes of the span; `verdikt.receipt` leads to the entry in the log."""
        attributes: Attributes = {
            "verdikt.moment": "before",
            "verdikt.verdict": self.verdict,
            "verdikt.guard": self.guard,
            "verdikt.effect.dominant": self.dominant,
            "verdikt.posture": self.posture,
            "verdikt.policy.digest": self.policy,
            "verdikt.receipt": self.receipt,
        }
        present = {name: value for name, value in attributes.items() if value}
        return present | {"verdikt.red_line": self.red_line} | self.call.to_attributes()

    def list_events(self) -> tuple[tuple[str, Attributes], ...]:
        """Return the person's answer as an event, if there was one."""
        if self.approved is None:
            return ()
        return ((ANSWER_EVENT, describe_answer(self.approved, self.channel)),)


def describe_answer(approved: bool, channel: str) -> Attributes:
    """Return the attributes of a person's answer; not who gave it."""
    return {"verdikt.answer.approved": approved, "verdikt.answer.channel": channel}


def describe_prompt(call: CallRecord) -> Attributes:
    """Return the attributes of the span about a person's request; never its text."""
    attributes: Attributes = {"verdikt.moment": "prompt"}
    return attributes | call.to_attributes()


def describe_stop(verdict: str, guard: str, call: CallRecord) -> Attributes:
    """Return the attributes of the span about the end of a turn."""
    attributes: Attributes = {"verdikt.moment": "stop", "verdikt.verdict": verdict, "verdikt.guard": guard or "verdikt"}
    return attributes | call.to_attributes()


def describe_outcome(success: bool, call: CallRecord) -> Attributes:
    """Return the attributes of the span about what came of a call."""
    attributes: Attributes = {"verdikt.moment": "after", "verdikt.success": success}
    return attributes | call.to_attributes()


def read_decision(entry: Entry) -> DecisionRecord:
    """Return the decision that an entry of that kind holds."""
    receipt = entry.body["receipt"]
    verdict, standing = receipt["verdict"], _as_mapping(receipt.get("standing"))
    return DecisionRecord(
        verdict=str(verdict["kind"]),
        guard=str(verdict["guard"]),
        red_line=verdict.get("red_line") is True,
        dominant=str(receipt.get("dominant") or ""),
        posture=str(_as_mapping(receipt.get("posture")).get("before", "")),
        policy=str(receipt.get("policy", "")),
        receipt=str(entry.body["receipt_sha256"]),
        approved=standing.get("approved"),
        channel=str(standing.get("channel", "")),
        call=_read_call(entry, _as_mapping(receipt.get("action"))),
    )


def read_stop(entry: Entry) -> tuple[str, str]:
    """Return verdict and guard of the end of a turn; `warn` for an unproven end, and for what is only recorded."""
    body = entry.body
    if body.get("by") == "completion":
        return "pass" if body.get("allowed") is True else "block", "completion"
    result = body.get("result")
    if result in _REFUSALS and body.get("enforced") is True:
        return "block", "evidence"
    return "warn" if result in (*_REFUSALS, _ENDED_UNPROVEN) else "pass", "evidence"


def build_span(entry: Entry) -> SpanRecord | None:
    """Return the span of an entry of the log; None for kinds that are no moment.

    Its ids come from the entry, so that an entry which is exported twice is the same span twice. The entries of one
    call are one trace.
    """
    if not entry.has_body or entry.kind not in _BUILDERS:
        return None
    name, seconds, attributes, events = _BUILDERS[entry.kind](entry)
    end = entry.ts * _MICROSECOND
    call_id = str(entry.body.get("call_id") or "")
    trace = sha256_hex(f"{entry.session}\0{call_id}".encode("utf-8", "surrogatepass")) if call_id else entry.hash[16:]
    return SpanRecord(
        name=name,
        start=end - max(0, int(seconds * _SECOND)),
        end=end,
        attributes=attributes,
        events=events,
        trace_id=int(trace[:32], 16) or 1,
        span_id=int(entry.hash[:16], 16) or 1,
    )


_Parts = tuple[str, float, Attributes, tuple[tuple[str, Attributes], ...]]


def _build_before(entry: Entry) -> _Parts:
    decision = read_decision(entry)
    seconds = float(entry.body.get("microseconds") or 0) / 1_000_000
    return "verdikt.before", seconds, decision.to_attributes(), decision.list_events()


def _build_after(entry: Entry) -> _Parts:
    attributes = describe_outcome(entry.body.get("success") is True, _read_call(entry, entry.body))
    return "verdikt.after", float(entry.body.get("seconds") or 0), attributes, ()


def _build_answer(entry: Entry) -> _Parts:
    answer = describe_answer(entry.body.get("approved") is True, str(entry.body.get("channel", "")))
    receipt: Attributes = {"verdikt.receipt": str(entry.body.get("receipt_sha256", ""))}
    return "verdikt.answer", 0, receipt | answer | _read_call(entry, {}).to_attributes(), ((ANSWER_EVENT, answer),)


def _build_stop(entry: Entry) -> _Parts:
    verdict, guard = read_stop(entry)
    host = {"host": entry.body.get("host", "")}
    return "verdikt.stop", 0, describe_stop(verdict, guard, _read_call(entry, host)), ()


def _build_prompt(entry: Entry) -> _Parts:
    host = {"host": entry.body.get("host", "")}
    return "verdikt.prompt", 0, describe_prompt(_read_call(entry, host)), ()


_BUILDERS = {
    EntryKind.CONTRACT: _build_prompt,
    EntryKind.DECISION: _build_before,
    EntryKind.TOOL_CALL: _build_after,
    EntryKind.ANSWER: _build_answer,
    EntryKind.COMPLETION: _build_stop,
}


def _read_call(entry: Entry, action: Mapping[str, Any]) -> CallRecord:
    return CallRecord(
        tool=str(action.get("tool", "")),
        call_id=str(entry.body.get("call_id") or ""),
        session=entry.session,
        host=str(action.get("host", "")),
        agent=str(action.get("agent", "")),
    )


def _as_mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
