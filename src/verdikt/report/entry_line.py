"""Read the fields of a log entry that people look for, and summarize the entry in one line."""

from collections.abc import Callable, Mapping
from typing import Any

from verdikt.model.action import describe_payload
from verdikt.model.entry import Entry, EntryKind
from verdikt.model.gap import describe_gap
from verdikt.report.counted_noun import format_count
from verdikt.report.findings import escape_nonprintable

_DIGEST_LENGTH = 12
"""Characters of a digest that identify it for a person; `ledger show` has all of it."""


_SHORT_ID_LENGTH = 8

# A dictionary, which a body nearly always is, is known at once; of any other class the registry is asked.
_OBJECT = (dict, Mapping)


def shorten_session(session: str) -> str:
    """Return the beginning of a long session id, which every command accepts in its place."""
    return session if len(session) <= _SHORT_ID_LENGTH + 4 else session[:_SHORT_ID_LENGTH]


def receipt_of(entry: Entry) -> Mapping[str, Any]:
    """Return the receipt of a decision's entry."""
    # An entry of another writer may lack it; then the body's own fields are all there is to show.
    receipt = entry.body.get("receipt")
    return receipt if isinstance(receipt, _OBJECT) else entry.body


def verdict_of(entry: Entry) -> tuple[str, str]:
    """Return the verdict's kind and guard; empty texts for an entry that is not a decision."""
    if entry.kind is not EntryKind.DECISION:
        return "", ""
    verdict = receipt_of(entry).get("verdict")
    if isinstance(verdict, _OBJECT):
        return str(verdict.get("kind", "")), str(verdict.get("guard", ""))
    return str(verdict or ""), str(receipt_of(entry).get("guard", ""))


def paused_verdict_of(entry: Entry) -> tuple[str, str]:
    """Return kind and guard of the verdict that a pause suspended; empty texts when there was no pause."""
    pause = receipt_of(entry).get("pause")
    verdict = pause.get("verdict") if isinstance(pause, Mapping) else None
    return (str(verdict.get("kind", "")), str(verdict.get("guard", ""))) if isinstance(verdict, Mapping) else ("", "")


def granted_verdict_of(entry: Entry) -> tuple[str, str, str]:
    """Return kind and guard of the verdict that a grant lifted, and the grant's id; empty texts when there was none."""
    receipt = receipt_of(entry)
    grants, verdict = receipt.get("grants"), receipt.get("ruled")
    if verdict_of(entry)[0] not in ("pass", "warn") or not isinstance(verdict, Mapping) or not grants:
        return "", "", ""
    ids = ", ".join(str(grant.get("id", "")) for grant in grants if isinstance(grant, Mapping))
    return str(verdict.get("kind", "")), str(verdict.get("guard", "")), ids


def effects_of(entry: Entry) -> tuple[str, ...]:
    """Return the classes of a decision's effects, the most restrictive first."""
    if entry.kind is not EntryKind.DECISION:
        return ()
    classes = receipt_of(entry).get("classes")
    return tuple(map(str, classes)) if isinstance(classes, list) else ()


def _get_fields(body: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return a member that is an object; empty for anything else, because an entry may come from another writer."""
    value = body.get(key)
    return value if isinstance(value, _OBJECT) else {}


def _list_fields(body: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    value = body.get(key)
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _summarize_call(body: Mapping[str, Any]) -> str:
    text = describe_payload(body.get("payload"))
    status = body.get("exit_code")
    outcome = "ok" if body.get("success") else f"failed with status {status}" if status else "failed"
    return f"{body.get('tool', '')} {text}".strip() + (f": {outcome}" if "success" in body else "")


def _summarize_receipt(receipt: Mapping[str, Any]) -> str:
    action = _get_fields(receipt, "action")
    text = describe_payload(action.get("payload"))
    return f"{action.get('tool') or action.get('kind') or ''} {text}".strip()


def _summarize_snapshot(body: Mapping[str, Any]) -> str:
    dirty = body.get("dirty")
    differing = format_count(len(dirty), "file") if isinstance(dirty, Mapping) else "too many files"
    suffix = "differs" if differing.startswith("1 ") else "differ"
    state = f"{differing} {suffix} from the last commit" if dirty or dirty is None else "as committed"
    return f"the work tree {body.get('root', '')} when the turn began: {state}"


def _summarize_operator(body: Mapping[str, Any]) -> str:
    if "approval" in body:
        return _summarize_approval(body)
    if grant := _get_fields(body, "grant"):
        often = "once, " if grant.get("once") else ""
        who = grant.get("by") or "unknown"
        return f"{grant.get('guard')} for {grant.get('target')} {often}by {who}: {grant.get('reason')}"
    if pause := _get_fields(body, "pause"):
        verb = "pause" if pause.get("until") else "pause ended"
        reason = f": {pause.get('reason')}" if pause.get("until") else ""
        return f"{verb} by {pause.get('by') or 'unknown'}{reason}"
    if accepted := _get_fields(body, "accept"):
        digest = str(accepted.get("digest", ""))[:_DIGEST_LENGTH]
        how = accepted.get("how") or "unknown"
        return f"policy {digest} of {accepted.get('root')} accepted by {accepted.get('by') or 'unknown'} ({how})"
    if isinstance(body.get("exceptions"), list):
        rules = ", ".join(str(item.get("rule")) for item in _list_fields(body, "exceptions"))
        return f"exceptions for {rules} in {body.get('file')}"
    if "used_by" in body:
        return f"used up: grant {body.get('revoke')}, by session {body['used_by']}"
    if "revoke" in body:
        return f"revoked: grant {body['revoke']}"
    return _summarize_fields(body)


def _summarize_finding(body: Mapping[str, Any]) -> str:
    finding = _get_fields(body, "finding")
    cleared = f"; cleared by {body['by']}: {body.get('why', '')}" if "by" in body else ""
    return f"[{finding.get('level', '')}] {finding.get('title', '')}{cleared}"


def _summarize_review(body: Mapping[str, Any]) -> str:
    review = _get_fields(body, "review")
    failure = f": {review['failure']}" if review.get("failure") else ""
    council = f" for {body['council']}" if body.get("council") else ""
    return f"{review.get('reviewer', '')}{council}: {review.get('status', '')}{failure}"


def _summarize_feedback(body: Mapping[str, Any]) -> str:
    given = [f"{item.get('provider', '')}: {item.get('text', '')}" for item in _list_fields(body, "given")]
    failed = [f"{name} failed: {error}" for name, error in _get_fields(body, "failures").items()]
    return "; ".join([*given, *failed]) or "the memory of a tool policy"


_STOP_RESULTS = {
    "silent": "the agent stopped and claimed nothing",
    "proven": "the agent stopped, and what it said is proven",
    "refused": "a claim without proof",
    "ended_unproven": "the turn ended unproven",
    "unread": "the transcript could not be read",
}
"""Result of the evidence gate → what it means for the turn."""


def _summarize_completion(body: Mapping[str, Any]) -> str:
    if "child" in body:
        return f"sub-agent {body['child']}: {_STOP_RESULTS.get(str(body.get('result')), body.get('result'))}"
    if body.get("by") == "completion":
        if not body.get("allowed"):
            return f"stop refused, the work is incomplete: {body.get('text', '')}"
        return f"stopped with unfinished work: {body.get('text', '')}" if body.get("unfinished") else "work is complete"
    result = str(body.get("result", ""))
    missing = "; ".join(
        f"“{item.get('words', '')}”: {item.get('reason', '')}" for item in _list_fields(body, "missing")
    )
    # A refusal that is not enforced only stands in the log: the agent has stopped.
    mode = " (recorded only)" if result in ("refused", "unread") and not body.get("enforced") else ""
    return f"{_STOP_RESULTS.get(result, result)}{mode}{f': {missing}' if missing else ''}"


def _summarize_proof(body: Mapping[str, Any]) -> str:
    words = f" “{body['words']}”" if body.get("words") else ""
    by = f" by {body['validator']}" if body.get("validator") else ""
    return f"proven: {body.get('claim', '')}{words}{by}"


def _summarize_override(body: Mapping[str, Any]) -> str:
    found = body.get("found")
    pairs = [pair for pair in found if isinstance(pair, list) and len(pair) == 2] if isinstance(found, list) else []
    return "a prompt asks to get past a check, which changes nothing: " + ", ".join(f"“{words}”" for _, words in pairs)


def _summarize_rotation(body: Mapping[str, Any]) -> str:
    if expired := _get_fields(body, "expired"):
        return f"archives of {format_count(len(expired), 'session')} deleted, their time is over"
    return f"entries {body.get('first')} to {body.get('last')} moved into the archive of {body.get('month')}"


def _summarize_key_rotation(body: Mapping[str, Any]) -> str:
    if not body.get("old"):
        return f"the log is signed with {body.get('new')} from here on"
    lost = ", which was lost" if body.get("lost") else ""
    return f"signed with {body.get('new')} from here on, in place of {body.get('old')}{lost}"


_CHECKPOINT_REASONS = {
    "session_end": "the session ended",
    "interval": "as after every few entries",
    "repeated": "repeated in the operator's log",
}


def _summarize_checkpoint(body: Mapping[str, Any]) -> str:
    reason = str(body.get("reason", ""))
    session = f" of session {body['session']}" if body.get("session") else ""
    reason = _CHECKPOINT_REASONS.get(reason, reason)
    return f"every entry{session} so far is signed{f': {reason}' if reason else ''}"


def _summarize_fields(body: Mapping[str, Any]) -> str:
    """Return the plain fields of a body that is like none of ours."""
    # Artifacts are digests, which say nothing to a reader.
    fields = ((key, value) for key, value in body.items() if isinstance(value, str | int | bool) and key != "artifacts")
    return " ".join(f"{key}={value}" for key, value in fields)


def _summarize_posture(body: Mapping[str, Any]) -> str:
    after = body.get("after", body.get("to", ""))
    return f"{body.get('before', '')} → {after} {body.get('reason', '')}"


_APPROVAL_ENDS = {
    "used": "used",
    "terminal": "ended at the terminal",
    "policy": "ended, because the policy changed",
}
"""How a request ended → in words."""


def _summarize_approval(body: Mapping[str, Any]) -> str:
    """Return a question to people away from the terminal, its answer, or its end."""
    answer, request = body.get("approval"), body.get("request")
    if isinstance(answer, Mapping):
        word = "approved" if answer.get("approved") is True else "refused"
        names = answer.get("by")
        people = ", ".join(map(str, names)) if isinstance(names, list) else "unknown"
        because = f": {answer['reason']}" if answer.get("reason") else ""
        return f"approval {answer.get('id', '')} {word} by {people}{because}"
    if isinstance(request, Mapping):
        return f"approval {request.get('id', '')} asked for, digest {str(request.get('digest', ''))[:12]}"
    if "repeated" in body:
        return f"approval {body.get('id', '')} waited for again"
    return f"approval {body.get('id', '')} {_APPROVAL_ENDS.get(str(body.get('closed')), 'ended')}"


def _summarize_answer(body: Mapping[str, Any]) -> str:
    if "approval" in body:
        return _summarize_approval(body)
    word = "approved" if body.get("approved") is True else "rejected"
    by, channel = (str(body.get(name) or "unknown") for name in ("by", "channel"))
    return f"call {body.get('call_id', '')} {word} by {by} over {channel}"


_SUMMARIES: dict[EntryKind, Callable[[Mapping[str, Any]], str]] = {
    EntryKind.TOOL_CALL: _summarize_call,
    EntryKind.CONTRACT: lambda body: str(body.get("objective", "")),
    EntryKind.SNAPSHOT: _summarize_snapshot,
    EntryKind.VALIDATOR_PASS: _summarize_proof,
    EntryKind.OVERRIDE: _summarize_override,
    EntryKind.REVIEW: _summarize_review,
    EntryKind.FEEDBACK: _summarize_feedback,
    EntryKind.COMPLETION: _summarize_completion,
    EntryKind.ROTATION: _summarize_rotation,
    EntryKind.KEY_ROTATION: _summarize_key_rotation,
    EntryKind.CHECKPOINT: _summarize_checkpoint,
    EntryKind.SESSION: lambda body: f"session {body.get('session', '')} began",
    EntryKind.GRANT: _summarize_operator,
    EntryKind.GAP: describe_gap,
    EntryKind.FINDING: _summarize_finding,
    EntryKind.FINDING_CLEARED: _summarize_finding,
    EntryKind.POSTURE: _summarize_posture,
    EntryKind.ANSWER: _summarize_answer,
    EntryKind.APPROVAL: _summarize_approval,
}
"""Kind of an entry → one line about its body; other kinds show their plain fields."""


def summarize_entry(entry: Entry, width: int = 100) -> str:
    """Return a short description of the entry, at most `width` characters long."""
    if entry.kind is EntryKind.DECISION:
        text = _summarize_receipt(receipt_of(entry)) or _summarize_fields(entry.body)
    else:
        text = _SUMMARIES.get(entry.kind, _summarize_fields)(entry.body)
    # A command may span many lines; here it must stay in one. What an agent wrote must not move the cursor either.
    text = escape_nonprintable(" ".join(text.split()))
    return text if len(text) <= width else text[: width - 1] + "…"
