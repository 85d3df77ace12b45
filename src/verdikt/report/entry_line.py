"""Read the fields of a log entry that people look for, and summarize the entry in one line."""

from collections.abc import Callable, Mapping
from typing import Any

from verdikt.model.entry import Entry, EntryKind
from verdikt.model.gap import describe_gap
from verdikt.report.findings import escape_nonprintable


def receipt_of(entry: Entry) -> Mapping[str, Any]:
    """Return the receipt of a decision's entry."""
    # An entry of another writer may lack it; then the body's own fields are all there is to show.
    receipt = entry.body.get("receipt")
    return receipt if isinstance(receipt, Mapping) else entry.body


def verdict_of(entry: Entry) -> tuple[str, str]:
    """Return the verdict's kind and guard; empty texts for an entry that is not a decision."""
    if entry.kind is not EntryKind.DECISION:
        return "", ""
    verdict = receipt_of(entry).get("verdict")
    if isinstance(verdict, Mapping):
        return str(verdict.get("kind", "")), str(verdict.get("guard", ""))
    return str(verdict or ""), str(receipt_of(entry).get("guard", ""))


def paused_verdict_of(entry: Entry) -> tuple[str, str]:
    """Return kind and guard of the verdict that a pause suspended; empty texts when there was no pause."""
    pause = receipt_of(entry).get("pause")
    verdict = pause.get("verdict") if isinstance(pause, Mapping) else None
    return (str(verdict.get("kind", "")), str(verdict.get("guard", ""))) if isinstance(verdict, Mapping) else ("", "")


def effects_of(entry: Entry) -> tuple[str, ...]:
    """Return the classes of a decision's effects, the most restrictive first."""
    if entry.kind is not EntryKind.DECISION:
        return ()
    classes = receipt_of(entry).get("classes")
    return tuple(map(str, classes)) if isinstance(classes, list) else ()


def _summarize_call(body: Mapping[str, Any]) -> str:
    payload = body.get("payload")
    values = payload.values() if isinstance(payload, Mapping) else ()
    text = next((value for value in values if isinstance(value, str) and value), "")
    status = body.get("exit_code")
    outcome = "ok" if body.get("success") else f"failed with status {status}" if status else "failed"
    return f"{body.get('tool', '')} {text}".strip() + (f": {outcome}" if "success" in body else "")


def _summarize_operator(body: Mapping[str, Any]) -> str:
    grant, pause = body.get("grant"), body.get("pause")
    if isinstance(grant, Mapping):
        return (
            f"{grant.get('guard')} for {grant.get('target')} by {grant.get('by') or 'unknown'}: {grant.get('reason')}"
        )
    if isinstance(pause, Mapping):
        return f"pause by {pause.get('by') or 'unknown'}: {pause.get('reason')}"
    if isinstance(exceptions := body.get("exceptions"), list):
        return f"exceptions for {', '.join(str(item.get('rule')) for item in exceptions)} in {body.get('file')}"
    return " ".join(f"{key} {value}" for key, value in body.items() if isinstance(value, str))


def _summarize_finding(body: Mapping[str, Any]) -> str:
    finding = body.get("finding")
    fields = finding if isinstance(finding, Mapping) else {}
    cleared = f"; cleared by {body['by']}: {body.get('why', '')}" if "by" in body else ""
    return f"[{fields.get('level', '')}] {fields.get('title', '')}{cleared}"


def _summarize_posture(body: Mapping[str, Any]) -> str:
    after = body.get("after", body.get("to", ""))
    return f"{body.get('before', '')} → {after} {body.get('reason', '')}"


_SUMMARIES: dict[EntryKind, Callable[[Mapping[str, Any]], str]] = {
    EntryKind.TOOL_CALL: _summarize_call,
    EntryKind.CONTRACT: lambda body: str(body.get("objective", "")),
    EntryKind.GRANT: _summarize_operator,
    EntryKind.GAP: describe_gap,
    EntryKind.FINDING: _summarize_finding,
    EntryKind.FINDING_CLEARED: _summarize_finding,
    EntryKind.POSTURE: _summarize_posture,
}
"""Kind of an entry → one line about its body; other kinds show their plain fields."""


def summarize_entry(entry: Entry, width: int = 100) -> str:
    """Return a short description of the entry, at most `width` characters long."""
    action = receipt_of(entry).get("action")
    parts = []
    if entry.kind in _SUMMARIES:
        parts.append(_SUMMARIES[entry.kind](entry.body))
    elif isinstance(action, Mapping):
        parts.append(str(action.get("tool") or action.get("kind") or ""))
        payload = action.get("payload")
        if isinstance(payload, Mapping):
            parts.append(next((str(value) for value in payload.values() if isinstance(value, str) and value), ""))
    else:
        parts += [
            # Artifacts are digests, which say nothing to a reader.
            f"{key}={value}"
            for key, value in entry.body.items()
            if isinstance(value, str | int | bool) and key != "artifacts"
        ]
    # A command may span many lines; here it must stay in one. What an agent wrote must not move the cursor either.
    text = escape_nonprintable(" ".join(" ".join(filter(None, parts)).split()))
    return text if len(text) <= width else text[: width - 1] + "…"
