"""Read the fields of a log entry that people look for, and summarize the entry in one line."""

from collections.abc import Mapping
from typing import Any

from verdikt.model.entry import Entry, EntryKind


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


def summarize_entry(entry: Entry, width: int = 100) -> str:
    """Return a short description of the entry, at most `width` characters long."""
    action = receipt_of(entry).get("action")
    parts = []
    if isinstance(action, Mapping):
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
    # A command may span many lines; here it must stay in one.
    text = " ".join(" ".join(filter(None, parts)).split())
    return text if len(text) <= width else text[: width - 1] + "…"
