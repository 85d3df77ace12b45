"""Fold a council's findings and reviews: who reported on a plan, and which findings later plans inherit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from verdikt.model.entry import EntryKind
from verdikt.model.reporter import Reporter

if TYPE_CHECKING:
    from verdikt.model.entry import Entry

# By name, and not `Level`: every hook loads the projections, and only councils need findings.
_LEVELS = ("LOW", "MEDIUM", "HIGH", "CRITICAL")
_BLOCKING_NAMES = _LEVELS[2:]


def is_milder(level: str, old: str) -> bool:
    """Return whether a level is milder than an old one; a level that is unknown counts as the worst."""
    ranks = [_LEVELS.index(name) if name in _LEVELS else len(_LEVELS) for name in (level, old)]
    return bool(old) and ranks[0] < ranks[1]


def fold_council(state: dict[str, Any], entry: Entry) -> dict[str, Any]:
    """Fold findings and reviews into who reported, and into the findings that are carried to later plans.

    Findings of commands are not carried: the command itself runs on every plan.
    """
    body = entry.body
    record = body.get("finding") if entry.kind is not EntryKind.REVIEW else None
    state = {**state, **{key: str(body[key]) for key in ("repo", "council") if body.get(key)}}
    if entry.kind is EntryKind.REVIEW:
        review = body.get("review")
        if not isinstance(review, Mapping) or review.get("failure"):
            return state
        return _add_report(state, str(review.get("reviewer", "")), str(body.get("reporter", "")))
    if not isinstance(record, Mapping):
        return state
    if entry.kind is EntryKind.FINDING_CLEARED:
        old = state["open"].get(str(record.get("id")), {})
        # The reviewer of a finding that was only carried has not seen this plan.
        if old.get("reporter") != Reporter.CARRIED:
            state = _add_report(state, str(record.get("agent", "")), Reporter.PERSON)
        return _close_finding(state, record, entry.timestamp_seconds)
    return _fold_reported_finding(state, record, entry)


def _fold_reported_finding(state: dict[str, Any], record: Mapping[str, Any], entry: Entry) -> dict[str, Any]:
    """Fold one finding into the reports and the findings to carry."""
    # Entries of earlier versions have no reporter; then only what a person or a command had recorded could count.
    reporter = str(entry.body.get("reporter", Reporter.PERSON))
    if reporter != Reporter.CARRIED:
        state = _add_report(state, str(record.get("agent", "")), reporter)
    if reporter == Reporter.COMMAND:
        return state
    if str(record.get("level")) in _BLOCKING_NAMES:
        carried = {
            "finding": dict(record),
            "contents": dict(entry.body.get("contents") or {}),
            "reporter": reporter,
            "at": entry.timestamp_seconds,
        }
        return {**state, "open": {**state["open"], str(record.get("id")): carried}}
    # A milder finding withdraws the same one from every plan, except when an agent under governance says so.
    return state if reporter == Reporter.AGENT else _close_finding(state, record, entry.timestamp_seconds)


def _add_report(state: dict[str, Any], reviewer: str, reporter: str) -> dict[str, Any]:
    reporters = state["reports"].get(reviewer, [])
    if reporter in reporters:
        return state
    return {**state, "reports": {**state["reports"], reviewer: sorted({*reporters, reporter})}}


def _close_finding(state: dict[str, Any], record: Mapping[str, Any], at: float) -> dict[str, Any]:
    """Return the state with a finding and those that it supersedes closed, by id and by reviewer and title."""
    ids = {str(record.get("id")), *map(str, record.get("supersedes") or ())}
    keys = {*ids, f"{record.get('agent', '')}|{record.get('title', '')}"}
    still_open = {id: finding for id, finding in state["open"].items() if id not in ids}
    return {**state, "open": still_open, "closed": {**state["closed"], **dict.fromkeys(sorted(keys), at)}}
