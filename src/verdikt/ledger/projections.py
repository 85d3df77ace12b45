"""Projections: what is computed from the log, entry by entry, and stored beside it in `state.db`.

A projection folds the entries of one session into a state of plain data. The folds of all projections are here, because
every process that writes to a log must apply the same ones; a new one is a `Projection` and its place in
`_PROJECTIONS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from json import loads
from typing import TYPE_CHECKING, Any, NamedTuple

from verdikt.errors import LedgerError
from verdikt.ledger.council_fold import fold_council, is_milder
from verdikt.ledger.store import OPERATOR
from verdikt.model.action import extract_path, hash_call
from verdikt.model.canonical_json import encode_canonical
from verdikt.model.entry import EntryKind
from verdikt.model.reporter import Reporter
from verdikt.model.session_state import MAX_HISTORY, fold_changes
from verdikt.model.work_tree import name_test_run

if TYPE_CHECKING:
    from verdikt.model.entry import Entry

MAX_TEST_COMMANDS = 32
"""Number of test commands whose largest number of tests is remembered."""

_MAX_CALLER_NAMES = 64
"""Number of agents and prompts whose calls are counted separately; the calls of further ones are counted together."""

MAX_STANDING_ASKS = 512
"""Number of calls of a session about which a person was asked and whose end is not recorded; the newest are kept."""

MAX_APPROVALS = 128
"""Number of requests of a session that are remembered by their digests; the newest are kept."""

_TASK_KINDS = ("agent", "submit_task")


class Projection(NamedTuple):
    """A fold over the entries of one session, and the state it begins with.

    `fold(state, entry)` is pure and returns the next state. The state must stay of bounded size, because it is written
    with every entry that changes it. `kinds` names the entries that can change it (None: all). Raise `version` when the
    fold changes: stored states of another version are computed again from the log.
    """

    name: str
    fold: Callable[[Any, Entry], Any]
    initial: Any = None
    kinds: frozenset[EntryKind] | None = None
    version: int = 1

    @property
    def label(self) -> str:
        """Return `name:version`, which identifies what a stored state means."""
        return f"{self.name}:{self.version}"

    def applies_to(self, entry: Entry) -> bool:
        """Return whether the entry can change the state."""
        return self.kinds is None or entry.kind in self.kinds

    def create_initial_state(self) -> Any:
        """Return a new copy of the initial state."""
        return loads(encode_canonical(self.initial))


def index_by_name(projections: tuple[Projection, ...]) -> dict[str, Projection]:
    """Return the projections by name; raise `LedgerError` when two have the same name."""
    by_name = {projection.name: projection for projection in projections}
    if len(by_name) != len(projections):
        names = [projection.name for projection in projections]
        duplicate = next(name for name in names if names.count(name) > 1)
        raise LedgerError(f"expected each projection once, found `{duplicate}` twice")
    return by_name


def _fold_session(state: dict[str, Any], entry: Entry) -> dict[str, Any]:
    """Fold decisions and outcomes into the session's counters, risk, guard slots and newest actions."""
    if entry.kind is EntryKind.TOOL_CALL:
        return {**state, "history": _set_outcome(state["history"], entry.body)}
    receipt = entry.body.get("receipt", {})
    if "verdict" not in receipt or "after" not in receipt:
        # Written by another program: its place in the chain is valid, but it says nothing about the session.
        return {**state, "action_count": state["action_count"] + 1}
    verdict, after = receipt["verdict"], receipt["after"]
    is_block = verdict["kind"] == "block"
    action = receipt["action"]
    newest = {
        "kind": action["kind"],
        # Cut, because the whole history is written with every decision.
        "tool": str(action["tool"])[:200],
        "path": extract_path(action["payload"])[:400],
        "call_id": str(entry.body.get("call_id", ""))[:200],
        "verdict": verdict["kind"],
        "guard": verdict["guard"],
        "success": None,
    }
    return {
        "action_count": state["action_count"] + 1,
        "block_count": state["block_count"] + is_block,
        "consecutive_blocks": state["consecutive_blocks"] + 1 if is_block else 0,
        "risk": after["risk"],
        "history": [*state["history"], newest][-MAX_HISTORY:],
        "slots": after.get("slots", state["slots"]),
    }


def _set_outcome(history: list[dict[str, Any]], call: Any) -> list[dict[str, Any]]:
    """Return the history with a call's outcome set at the newest action that it can belong to."""
    for index in range(len(history) - 1, -1, -1):
        action = history[index]
        is_same_call = action["tool"] == call.get("tool") and action["call_id"] == call.get("call_id")
        if action["success"] is None and is_same_call:
            return [*history[:index], {**action, "success": bool(call.get("success"))}, *history[index + 1 :]]
    return history


def _fold_posture(state: str, entry: Entry) -> str:
    return str(entry.body.get("after", state))


def _fold_grants(state: dict[str, Any], entry: Entry) -> dict[str, Any]:
    """Fold the operator's grants and revocations into the live grants."""
    body = entry.body
    if entry.session != OPERATOR:
        return state  # only the operator's session can grant anything
    # Expired grants are dropped here, which keeps the state of bounded size.
    live = {id: grant for id, grant in state.items() if grant["expires"] > entry.timestamp_seconds}
    if "revoke" in body:
        live.pop(str(body["revoke"]), None)
    elif isinstance(body.get("grant"), Mapping):
        grant = body["grant"]
        live[str(grant.get("id"))] = {
            "seq": entry.seq,
            "expires": grant.get("expires", 0),
            "session": grant.get("session", ""),
        }
    return live


def _fold_pause(state: dict[str, Any], entry: Entry) -> dict[str, Any]:
    pause = entry.body.get("pause")
    if entry.session != OPERATOR or not isinstance(pause, Mapping):
        return state
    return {"seq": entry.seq, "until": pause.get("until", 0)}


def _fold_findings(state: dict[str, dict[str, str]], entry: Entry) -> dict[str, dict[str, str]]:
    """Fold a council's findings into the open ones.

    In buckets by the beginning of their ids, of which each fold copies one: a scanner reports thousands of findings.
    """
    if entry.kind is EntryKind.FINDING_CLEARED:
        return _set_open_level(state, str(entry.body.get("id")), None)
    finding = entry.body.get("finding")
    if not isinstance(finding, Mapping):
        return state
    id, level = str(finding.get("id")), str(finding.get("level"))
    # An agent under governance may report what is worse. What it makes milder stays as it was.
    is_agent = entry.body.get("reporter") == Reporter.AGENT
    for old in finding.get("supersedes") or ():
        if not (is_agent and is_milder(level, _get_open_level(state, str(old)))):
            state = _set_open_level(state, str(old), None)
    if is_agent and is_milder(level, _get_open_level(state, id)):
        return state
    return _set_open_level(state, id, level)


def _get_open_level(state: dict[str, dict[str, str]], id: str) -> str:
    return state.get(id[:2], {}).get(id, "")


def _set_open_level(state: dict[str, dict[str, str]], id: str, level: str | None) -> dict[str, dict[str, str]]:
    """Return the open findings with the level of one set, or without it."""
    key = id[:2]
    bucket = {other: known for other, known in state.get(key, {}).items() if other != id}
    bucket |= {} if level is None else {id: level}
    return {**state, key: bucket} if bucket else {name: known for name, known in state.items() if name != key}


def _fold_evidence(state: dict[str, Any], entry: Entry) -> dict[str, Any]:
    """Fold contracts, test runs and stops into where the turn began and how often its claims were refused."""
    body = entry.body
    if entry.kind is EntryKind.CONTRACT:
        return {**state, "contract": entry.seq, "open": True}
    if entry.kind is EntryKind.SNAPSHOT:
        # The first snapshot of a turn is what its changes are compared with.
        return state if state["baseline"] else {**state, "baseline": entry.seq}
    if entry.kind is EntryKind.TOOL_CALL:
        best = _update_test_counts(state["best"], body)
        return state if best is state["best"] else {**state, "best": best}
    if body.get("by") != "evidence":
        return state
    if body.get("result") == "refused" and body.get("enforced"):
        counters = {"refusals": int(body.get("refusals", 0)), "progress": str(body.get("progress", ""))}
        return {**state, **counters, "refused": state["refused"] + 1}
    ended = {"turn": entry.seq, "open": False, "refusals": 0, "progress": "", "refused": 0, "baseline": 0}
    best = {**state["best"], **{name[:400]: int(count) for name, count in (body.get("smaller") or {}).items()}}
    return {**state, **ended, "best": best, "proven": _fold_proven(state["proven"], entry)}


def _fold_proven(proven: dict[str, Any], entry: Entry) -> dict[str, Any]:
    """Return what the stops of the session have proven about the sources as they are."""
    facts = entry.body.get("facts")
    if entry.body.get("result") != "proven" or not isinstance(facts, Mapping) or not facts.get("sha256"):
        return proven
    states = facts.get("git") or [None, None]
    head = str((states[-1] or {}).get("head", ""))
    topics = {str(topic) for topic in entry.body.get("topics", ())}
    if (proven.get("sha256"), proven.get("head")) == (facts["sha256"], head):
        topics |= set(proven["topics"])
    return {"sha256": facts["sha256"], "head": head, "topics": sorted(topics), "seq": entry.seq}


def _update_test_counts(best: dict[str, int], body: Mapping[str, Any]) -> dict[str, int]:
    """Return the largest number of passing tests by command and directory; the newest commands stay."""
    evidence = body.get("evidence")
    evidence = evidence if isinstance(evidence, Mapping) else {}
    tests = evidence.get("tests")
    if body.get("exit_code") != 0 or not isinstance(tests, Mapping) or tests.get("failed") or not tests.get("total"):
        return best
    for run in evidence.get("runs", ()):
        if run.get("kind") == "test" and run.get("speaks") and not run.get("dry"):
            key = name_test_run(str(body.get("cwd", "")), str(run.get("cwd", "")), run.get("argv", ()))
            total = max(int(tests["total"]), best.get(key, 0))
            # Inserted again at the end, so that the oldest command is the one that is dropped.
            best = {**{name: count for name, count in best.items() if name != key}, key: total}
    return dict(list(best.items())[-MAX_TEST_COMMANDS:])


def _fold_memory(state: dict[str, Any], entry: Entry) -> dict[str, Any]:
    changes = entry.body.get("kept")
    return fold_changes(state, changes) if changes and isinstance(changes, dict) else state


def _fold_calls(state: dict[str, Any], entry: Entry) -> dict[str, Any]:
    """Fold decisions into calls by caller, delegated tasks, and the advice of the last refusal."""
    receipt = entry.body.get("receipt")
    if not isinstance(receipt, dict):
        return state
    action, verdict = receipt.get("action") or {}, receipt.get("verdict") or {}
    counts = dict(state["by"])
    # Bounded, because the names come from the agent.
    names = {str(action.get(field) or "")[:80] for field in ("agent", "task_type")} - {""}
    for name in sorted(names):
        counter = name if name in counts or len(counts) < _MAX_CALLER_NAMES else ""
        counts[counter] = counts.get(counter, 0) + 1
    is_block = verdict.get("kind") == "block"
    return {
        "since": state["since"] or entry.timestamp_seconds,
        "count": state["count"] + 1,
        "tasks": state["tasks"] + (action.get("kind") in _TASK_KINDS and not is_block),
        "by": counts,
        "fix": str(verdict.get("fix") or "")[:400] if is_block else state["fix"],
    }


def _fold_asks(state: dict[str, Any], entry: Entry) -> dict[str, Any]:
    """Fold asks, answers and outcomes into the asks that stand."""
    body = entry.body
    call_id = str(body.get("call_id") or "")
    asked = state.get(call_id)
    if entry.kind is EntryKind.DECISION:
        return _add_ask(state, call_id, entry)
    if asked is None:
        return state
    if entry.kind is EntryKind.ANSWER:
        # A no stays one: whatever comes after it was not asked for.
        is_final = asked["no"]
        answer = {"answer": entry.seq, "no": body.get("approved") is not True}
        return state if is_final else {**state, call_id: {**asked, **answer}}
    # The call has run: a yes counts once, and a host that asked by itself has its answer.
    return state if asked["no"] else {id: other for id, other in state.items() if id != call_id}


def _add_ask(state: dict[str, Any], call_id: str, entry: Entry) -> dict[str, Any]:
    """Return the asks with that of a decision; the first one about the same call stays."""
    receipt = entry.body.get("receipt")
    # Most decisions are no asks, and then nothing is computed.
    if not call_id or not isinstance(receipt, dict) or (receipt.get("verdict") or {}).get("kind") != "ask":
        return state
    action = receipt.get("action") or {}
    call = hash_call(str(action.get("tool", "")), action.get("payload"))
    if call_id in state and state[call_id]["call"] == call:
        return state
    calls = dict(state)
    calls[call_id] = {"seq": entry.seq, "call": call, "answer": 0, "no": False}
    if len(calls) <= MAX_STANDING_ASKS:
        return calls
    oldest = min(asked["seq"] for asked in calls.values())
    return {id: asked for id, asked in calls.items() if asked["seq"] != oldest}


def _fold_approvals(state: dict[str, Any], entry: Entry) -> dict[str, Any]:
    """Fold requests that are answered away from the terminal, their answers and their uses."""
    body = entry.body
    if entry.kind is not EntryKind.APPROVAL:
        answer = body.get("approval")
        if not isinstance(answer, Mapping):
            return state
        request = state.get(str(answer.get("id")))
        # The first answer stands.
        if request is None or request["answer"] or request["closed"]:
            return state
        changes = {"answer": entry.seq, "approved": answer["approved"] is True, "until": answer["until"]}
        return {**state, str(answer["id"]): {**request, **changes}}
    if "request" in body:
        return _add_request(state, body["request"], entry)
    id = str(body.get("id"))
    if id not in state:
        return state
    request = state[id]
    if "repeated" in body:
        return {**state, id: {**request, "calls": request.get("calls", 1) + 1}}
    return {**state, id: {**request, "closed": str(body.get("closed"))}}


def _add_request(state: dict[str, Any], fields: Mapping[str, Any], entry: Entry) -> dict[str, Any]:
    requests = dict(state)
    requests[str(fields["id"])] = {
        "seq": entry.seq,
        "digest": fields["digest"],
        "parts": fields["parts"],
        "call_id": fields["call_id"],
        "expires": fields["expires"],
        "answer": 0,
        "approved": False,
        "until": 0,
        "closed": "",
        # How often the call was made while it waited.
        "calls": 1,
    }
    if len(requests) <= MAX_APPROVALS:
        return requests
    oldest = min(request["seq"] for request in requests.values())
    return {id: request for id, request in requests.items() if request["seq"] != oldest}


SESSION = Projection(
    name="session",
    initial={
        "action_count": 0,
        "block_count": 0,
        "consecutive_blocks": 0,
        "risk": 0.0,
        "history": [],
        "slots": {},
    },
    fold=_fold_session,
    kinds=frozenset({EntryKind.DECISION, EntryKind.TOOL_CALL}),
)
POSTURE = Projection(name="posture", initial="", fold=_fold_posture, kinds=frozenset({EntryKind.POSTURE}))

GRANTS = Projection(name="grants", initial={}, fold=_fold_grants, kinds=frozenset({EntryKind.GRANT}))
"""Grants that have neither expired nor been revoked: id → seq of the entry, which alone is trusted."""

PAUSE = Projection(name="pause", initial={}, fold=_fold_pause, kinds=frozenset({EntryKind.GRANT}))
"""The seq of the operator's last entry about pausing, which alone is trusted."""

FINDINGS = Projection(
    name="findings",
    initial={},
    fold=_fold_findings,
    kinds=frozenset({EntryKind.FINDING, EntryKind.FINDING_CLEARED}),
    version=3,
)
"""Open findings of a plan: beginning of the id → id → level. A verdict file that lacks one was edited by hand."""

COUNCIL = Projection(
    name="council",
    initial={"repo": "", "council": "", "open": {}, "closed": {}, "reports": {}},
    fold=fold_council,
    kinds=frozenset({EntryKind.FINDING, EntryKind.FINDING_CLEARED, EntryKind.REVIEW}),
)
"""Who reported on a plan, and the findings that stop later plans, too: id → finding, contents, reporter and time."""

EVIDENCE = Projection(
    name="evidence",
    initial={
        "turn": 0,
        "contract": 0,
        "open": False,
        "refusals": 0,
        "refused": 0,
        "progress": "",
        "best": {},
        "baseline": 0,
        "proven": {},
    },
    fold=_fold_evidence,
    kinds=frozenset({EntryKind.CONTRACT, EntryKind.SNAPSHOT, EntryKind.TOOL_CALL, EntryKind.COMPLETION}),
    version=3,
)
"""`turn` is the seq after which the current turn's entries begin; `contract` is the seq of the newest contract,
`baseline` that of the snapshot at the prompt, `proven` what earlier stops have shown about the sources as they are."""

MEMORY = Projection(
    name="memory",
    initial={"kept": {}, "marks": ""},
    fold=_fold_memory,
    kinds=frozenset({EntryKind.DECISION, EntryKind.TOOL_CALL, EntryKind.FEEDBACK, EntryKind.COMPLETION}),
    version=2,
)
CALLS = Projection(
    name="calls",
    initial={"since": 0, "count": 0, "tasks": 0, "by": {}, "fix": ""},
    fold=_fold_calls,
    kinds=frozenset({EntryKind.DECISION}),
)

ASKS = Projection(
    name="asks",
    initial={},
    fold=_fold_asks,
    kinds=frozenset({EntryKind.DECISION, EntryKind.TOOL_CALL, EntryKind.ANSWER}),
)
"""Calls about which a person was asked: call id → seq of the ask and of the answer, which alone are trusted."""

APPROVALS = Projection(
    name="approvals",
    initial={},
    fold=_fold_approvals,
    kinds=frozenset({EntryKind.APPROVAL, EntryKind.GRANT, EntryKind.ANSWER}),
)
"""Requests that are answered away from the terminal: id → seq of request and answer, which alone are trusted."""

_PROJECTIONS = (SESSION, POSTURE, GRANTS, FINDINGS, COUNCIL, EVIDENCE, PAUSE, MEMORY, CALLS, ASKS, APPROVALS)


def load_projections() -> tuple[Projection, ...]:
    """Return every projection, to open a store with."""
    return _PROJECTIONS
