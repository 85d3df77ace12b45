"""What the evidence gate made of sessions: entries in, numbers and lines out."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from verdikt.model.entry import Entry, EntryKind


def select_gate_entries(entries: Iterable[Entry]) -> list[Entry]:
    """The stops that the gate looked at."""
    return [entry for entry in entries if entry.kind is EntryKind.COMPLETION and entry.body.get("by") == "evidence"]


def gate_summary(entries: Iterable[Entry]) -> dict[str, Any]:
    """How often each came of a stop, what was claimed and what was missing; the newest refusals last."""
    stops = select_gate_entries(entries)
    results: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    claims: Counter[str] = Counter()
    refused = []
    for entry in stops:
        body = entry.body
        result = str(body.get("result", ""))
        would = result == "refused" and not body.get("enforced")
        results["would_refuse" if would else result] += 1
        claims.update(str(claim.get("type", "")) for claim in body.get("claims", ()))
        for one in body.get("missing", ()):
            reasons[_generalize_reason(str(one.get("reason", "")))] += 1
        reasons.update(f"final block: {_generalize_reason(fault)}" for fault in _list_final_block_faults(body))
        results["final_block_would_refuse"] += bool(_list_final_block_faults(body)) and not body["final_block"].get(
            "enforced"
        )
        if result in ("refused", "ended_unproven"):
            refused.append({"session": entry.session, "seq": entry.seq, "ts": entry.ts, **_refusal_to_dict(body)})
    return {
        "stops": len(stops),
        "results": {name: count for name, count in results.most_common() if count},
        "claims": dict(claims.most_common()),
        "missing": dict(reasons.most_common(20)),
        "holes": sum(len(entry.body.get("holes", ())) for entry in stops),
        "refused": refused[-20:],
    }


def _list_final_block_faults(body: Mapping[str, Any]) -> list[str]:
    """What was wrong with the fenced final block, where one was looked for."""
    found = body.get("final_block")
    return [str(fault) for fault in found.get("faults", ())] if isinstance(found, Mapping) else []


def _generalize_reason(reason: str) -> str:
    """A reason without what is particular to it, so that equal ones can be counted."""
    return re.sub(r"`[^`]*`", "`…`", reason)[:120]


def _refusal_to_dict(body: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "enforced": bool(body.get("enforced")),
        "result": body.get("result"),
        "missing": [dict(one) for one in body.get("missing", ())],
    }


def gate_story(entries: Iterable[Entry]) -> list[str]:
    """A session as the gate sees it, line by line: what was asked, what ran, what was claimed, what came of it."""
    lines = []
    for entry in entries:
        body = entry.body
        if entry.kind is EntryKind.CONTRACT:
            lines.append(f"{entry.seq:>5}  asked    {_collapse_line(body.get('objective'))}")
        elif entry.kind is EntryKind.TOOL_CALL:
            lines += _render_call(entry.seq, body)
        elif entry.kind is EntryKind.VALIDATOR_PASS:
            on = ", ".join(map(str, body.get("entries", ())))
            lines.append(
                f"{entry.seq:>5}  proof    {body.get('validator')} on {on or 'nothing'}: {_collapse_line(body.get('words'))}"
            )
        elif entry.kind is EntryKind.OVERRIDE:
            lines.append(f"{entry.seq:>5}  override {_collapse_line(body.get('found'))}")
        elif entry.kind is EntryKind.COMPLETION and body.get("by") == "evidence":
            shadow = "" if body.get("enforced") else " (shadow: the agent could stop)"
            lines.append(f"{entry.seq:>5}  stop     {body.get('result')}{shadow}")
            for one in body.get("missing", ()):
                lines.append(f"         claimed “{_collapse_line(one.get('words'))}”: {one.get('reason')}")
                if one.get("command"):
                    lines.append(f"         would help: {_collapse_line(one['command'])}")
            lines += [f"         final block: {fault}" for fault in _list_final_block_faults(body)]
            lines += [f"         no decision in the log for {hole}" for hole in body.get("holes", ())]
    return lines


def _render_call(seq: int, body: Mapping[str, Any]) -> list[str]:
    evidence = body.get("evidence")
    if not isinstance(evidence, Mapping):
        return []
    said = []
    for run in evidence.get("runs", ()):
        masks = ("" if run.get("speaks") else " (its status is lost)") + (" (dry)" if run.get("dry") else "")
        if run.get("kind") != "look":
            said.append(f"{run.get('kind')} `{' '.join(run.get('argv', ()))}` status {body.get('exit_code')}{masks}")
    tests = evidence.get("tests")
    if isinstance(tests, Mapping):
        said.append(f"{tests.get('passed')} passed, {tests.get('failed')} failed of {tests.get('total')}")
    said += [f"edited {path}" for path in evidence.get("edited", ())]
    return [f"{seq:>5}  call     {'; '.join(said)[:300]}"] if said else []


def _collapse_line(value: Any) -> str:
    return " ".join(str(value).split())[:160]
