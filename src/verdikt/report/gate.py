"""Summarize what the evidence gate decided, from log entries."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from verdikt.model.entry import Entry, EntryKind


def select_gate_entries(entries: Iterable[Entry]) -> list[Entry]:
    """Return the stops that the gate checked."""
    return [entry for entry in entries if entry.kind is EntryKind.COMPLETION and entry.body.get("by") == "evidence"]


def gate_summary(entries: Iterable[Entry]) -> dict[str, Any]:
    """Count results, claims and missing evidence of all stops, and list the newest refusals, oldest first."""
    stops = select_gate_entries(entries)
    results: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    claims: Counter[str] = Counter()
    refused = []
    for entry in stops:
        body = entry.body
        result = str(body.get("result", ""))
        # In shadow mode the gate records a refusal and lets the agent stop.
        would_refuse = result == "refused" and not body.get("enforced")
        results["would_refuse" if would_refuse else result] += 1
        claims.update(str(claim.get("type", "")) for claim in body.get("claims", ()))
        for missing in body.get("missing", ()):
            reasons[_generalize_reason(str(missing.get("reason", "")))] += 1
        block_faults = _list_final_block_faults(body)
        reasons.update(f"final block: {_generalize_reason(fault)}" for fault in block_faults)
        results["final_block_would_refuse"] += bool(block_faults) and not body["final_block"].get("enforced")
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


def summarize_projects(entries: Iterable[Entry]) -> list[dict[str, Any]]:
    """Return, for each project, what enforcing the gate does there, and whether later checks show that to be right.

    A stop is settled by the next check of the same sources: green means that the claim was true, red that it was false.
    Without such a check it stays open. A refusal is right when the claim was false.
    """
    ordered = sorted(entries, key=lambda entry: entry.ts)
    projects: dict[str, Counter[str]] = {}
    open_stops: dict[tuple[str, str], list[str]] = {}
    # In the order of time, across sessions: the check that settles a stop may be another session's.
    for entry in ordered:
        if entry.kind is EntryKind.TOOL_CALL:
            _settle_stops(open_stops, projects, entry)
        elif entry.kind is EntryKind.COMPLETION and entry.body.get("by") == "evidence" and entry.body.get("claims"):
            facts = entry.body.get("facts") or {}
            root, digest = str(facts.get("root", "")), str(facts.get("sha256", ""))
            passed = entry.body.get("result") in ("proven", "silent")
            word = "let_through" if passed else "refused" if entry.body.get("enforced") else "would_refuse"
            projects.setdefault(root, Counter())[word] += 1
            open_stops.setdefault((root, digest), []).append("pass" if passed else "refuse")
    return [
        {
            "project": root,
            **{word: counts[word] for word in ("let_through", "refused", "would_refuse")},
            **{word: counts[word] for word in ("refusals_right", "refusals_wrong", "passes_right", "passes_wrong")},
        }
        for root, counts in sorted(projects.items(), key=lambda item: -item[1].total())
    ]


def _settle_stops(
    open_stops: dict[tuple[str, str], list[str]], projects: dict[str, Counter[str]], entry: Entry
) -> None:
    """Count the stops about the same sources as right or wrong, by how this check ended."""
    evidence = entry.body.get("evidence")
    tree = evidence.get("tree") if isinstance(evidence, Mapping) else None
    if not isinstance(evidence, Mapping) or not isinstance(tree, Mapping):
        return
    checks = [run for run in evidence.get("runs", ()) if run.get("kind") in ("test", "build", "lint")]
    status, tests = entry.body.get("exit_code"), evidence.get("tests")
    has_failed = bool(status) or (isinstance(tests, Mapping) and bool(tests.get("failed")))
    if not checks or (status is None and not has_failed):
        return
    root = str(tree.get("root", ""))
    for decision in open_stops.pop((root, str(tree.get("sha256", ""))), ()):
        is_right = has_failed if decision == "refuse" else not has_failed
        name = "refusals" if decision == "refuse" else "passes"
        projects[root][f"{name}_{'right' if is_right else 'wrong'}"] += 1


def _list_final_block_faults(body: Mapping[str, Any]) -> list[str]:
    """Return the problems of the fenced final block, where one was required."""
    final_block = body.get("final_block")
    return [str(fault) for fault in final_block.get("faults", ())] if isinstance(final_block, Mapping) else []


def _generalize_reason(reason: str) -> str:
    """Return a reason without its quoted names, so that equal reasons can be counted."""
    return re.sub(r"`[^`]*`", "`…`", reason)[:120]


def _refusal_to_dict(body: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "enforced": bool(body.get("enforced")),
        "result": body.get("result"),
        "missing": [dict(missing) for missing in body.get("missing", ())],
    }


def gate_story(entries: Iterable[Entry]) -> list[str]:
    """Return a session as the gate sees it, line by line: requests, calls, claims and results."""
    lines = []
    for entry in entries:
        body = entry.body
        if entry.kind is EntryKind.CONTRACT:
            lines.append(f"{entry.seq:>5}  asked    {_collapse_line(body.get('objective'))}")
        elif entry.kind is EntryKind.TOOL_CALL:
            lines += _render_call(entry.seq, body)
        elif entry.kind is EntryKind.VALIDATOR_PASS:
            on = ", ".join(map(str, body.get("entries", ()))) or "nothing"
            words = _collapse_line(body.get("words"))
            # Weaker than an exit status: what a runner printed is all that shows how it ended.
            grade = " (by its output)" if body.get("grade") == "output" else ""
            lines.append(f"{entry.seq:>5}  proof    {body.get('validator')} on {on}{grade}: {words}")
        elif entry.kind is EntryKind.OVERRIDE:
            lines.append(f"{entry.seq:>5}  override {_collapse_line(body.get('found'))}")
        elif entry.kind is EntryKind.COMPLETION and body.get("by") == "evidence":
            shadow = "" if body.get("enforced") else " (shadow: the agent could stop)"
            lines.append(f"{entry.seq:>5}  stop     {body.get('result')}{shadow}")
            for missing in body.get("missing", ()):
                lines.append(f"         claimed “{_collapse_line(missing.get('words'))}”: {missing.get('reason')}")
                if missing.get("command"):
                    lines.append(f"         would help: {_collapse_line(missing['command'])}")
            lines += [f"         final block: {fault}" for fault in _list_final_block_faults(body)]
            lines += [f"         no decision in the log for {hole}" for hole in body.get("holes", ())]
    return lines


def _render_call(seq: int, body: Mapping[str, Any]) -> list[str]:
    evidence = body.get("evidence")
    if not isinstance(evidence, Mapping):
        return []
    parts = []
    for run in evidence.get("runs", ()):
        notes = ("" if run.get("speaks") else " (its exit status is hidden)") + (" (dry)" if run.get("dry") else "")
        # Reads prove nothing, and there are many of them.
        if run.get("kind") != "look":
            command = " ".join(run.get("argv", ()))
            parts.append(f"{run.get('kind')} `{command}` status {body.get('exit_code')}{notes}")
    tests = evidence.get("tests")
    if isinstance(tests, Mapping):
        parts.append(f"{tests.get('passed')} passed, {tests.get('failed')} failed of {tests.get('total')}")
    parts += [f"edited {path}" for path in evidence.get("edited", ())]
    return [f"{seq:>5}  call     {'; '.join(parts)[:300]}"] if parts else []


def _collapse_line(value: Any) -> str:
    return " ".join(str(value).split())[:160]
