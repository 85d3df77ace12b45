"""One entry of the log as one line for people."""

from collections.abc import Mapping
from typing import Any

from verdikt.model.entry import Entry, EntryKind


def receipt_of(entry: Entry) -> Mapping[str, Any]:
    """What a decision's entry says of the decision: its receipt, wherever in the body that stands."""
    receipt = entry.body.get("receipt")
    return receipt if isinstance(receipt, Mapping) else entry.body


def verdict_of(entry: Entry) -> tuple[str, str]:
    """The verdict's kind and guard; empty for what is no decision."""
    if entry.kind is not EntryKind.DECISION:
        return "", ""
    verdict = receipt_of(entry).get("verdict")
    if isinstance(verdict, Mapping):
        return str(verdict.get("kind", "")), str(verdict.get("guard", ""))
    return str(verdict or ""), str(receipt_of(entry).get("guard", ""))


def effects_of(entry: Entry) -> tuple[str, ...]:
    """The classes of a decision's effects, most restrictive first."""
    if entry.kind is not EntryKind.DECISION:
        return ()
    classes = receipt_of(entry).get("classes")
    return tuple(map(str, classes)) if isinstance(classes, list) else ()


def summarize_entry(entry: Entry, width: int = 100) -> str:
    """What the entry is about, in a few words."""
    action = receipt_of(entry).get("action")
    parts = []
    if isinstance(action, Mapping):
        parts.append(str(action.get("tool") or action.get("kind") or ""))
        payload = action.get("payload")
        if isinstance(payload, Mapping):
            parts.append(next((str(value) for value in payload.values() if isinstance(value, str) and value), ""))
    else:
        parts += [
            f"{key}={value}"
            for key, value in entry.body.items()
            if isinstance(value, str | int | bool) and key != "artifacts"
        ]
    text = " ".join(" ".join(filter(None, parts)).split())
    return text if len(text) <= width else text[: width - 1] + "…"
