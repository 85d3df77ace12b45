"""What a `gap` entry says in words: something was not recorded, refused, or not as it was set up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_REASONS = {
    "torn": "the last line of the log was incomplete; what there was of it is an artifact of this entry",
    "lost": "entries before this one were cut off",
    "rewritten": "entries before this one were replaced",
    "unsent": "archives were deleted before the team's service had them: too much waited to be sent",
}
"""Reason of a gap that the log itself reports → what it means."""


def describe_gap(body: object) -> str:
    """Return one sentence about the body of a gap entry."""
    fields: Mapping[str, Any] = body if isinstance(body, Mapping) else {}
    moment = str(fields.get("moment") or "")
    if reason := fields.get("reason"):
        return f"something was not recorded: {_REASONS.get(str(reason), reason)}"
    if integrity := fields.get("integrity"):
        return f"verdikt was not as it was set up: {_join_texts(integrity)}"
    if restored := fields.get("restored"):
        return _describe_restored(restored)
    if unreported := fields.get("unreported"):
        tools = [str(call.get("tool", "")) for call in unreported if isinstance(call, Mapping)]
        return f"calls passed and the host reported no outcome: {', '.join(dict.fromkeys(tools))} × {len(tools)}"
    if failures := fields.get("failures"):
        return f"a part failed at the moment `{moment}`: {_join_texts(failures)}"
    if error := fields.get("error"):
        return f"something was not recorded: {f'`{moment}` failed with ' if moment else ''}{error}"
    if undecided := fields.get("undecided"):
        calls = [f"{call.get('tool', '')} {call.get('call_id', '')}" for call in undecided if isinstance(call, Mapping)]
        return f"calls ran without a decision: {'; '.join(calls)}"
    if fields.get("refused"):
        return f"a change of the host's settings ({fields.get('source') or 'source unknown'}) was refused"
    return f"something was not recorded at the moment `{moment}`" if moment else "something was not recorded"


def _describe_restored(records: object) -> str:
    """Return which files an action changed and verdikt put back, or could not."""
    texts = []
    for record in records if isinstance(records, list | tuple) else ():
        fields = record if isinstance(record, Mapping) else {}
        error = fields.get("error")
        texts.append(f"`{fields.get('path')}` " + (f"could not be put back ({error})" if error else "was put back"))
    return f"what watches over the agent was changed: {'; '.join(texts)}"


def _join_texts(value: object) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {text}" for name, text in value.items())
    return "; ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
