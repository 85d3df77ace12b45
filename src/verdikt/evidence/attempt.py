"""What was tried before an agent claims to be blocked, or asks a person for something. Pure."""

import re
from collections.abc import Callable, Mapping

from verdikt.evidence.contract import LADDER
from verdikt.evidence.logged_call import LoggedCall
from verdikt.evidence.program_kinds import resolve_program_name
from verdikt.evidence.turn import TurnEvidence
from verdikt.knowledge import find_role, find_task_words

REQUIRED_WAYS = 3
"""Number of distinct ways to get something that must have failed before a person is asked for it."""

RECENT_CALLS = 10
"""Number of calls at the end of a turn among which one must have failed."""

# These succeed or fail without trying to get anything.
_TRIVIAL_PROGRAMS = find_role("trivial")
_NETWORK_PROGRAMS = find_role("network")
_HTTP_CLIENTS = find_role("http_task")


def identify_tool(call: LoggedCall) -> str:
    """Return the tool with which a call tried to get something; empty when it did not."""
    if call.kind in ("fetch", "mcp", "read"):
        return call.tool
    names = (resolve_program_name(run.argv[0]) for run in call.runs if run.argv)
    return next((name for name in names if name not in _TRIVIAL_PROGRAMS), "")


def fetch_attempt_proof(turn: TurnEvidence, arguments: Mapping[str, str]) -> tuple[int, ...] | str:
    """Return the calls that prove that at least three distinct tools failed to get it, or what is missing."""
    keyword = arguments.get("keyword", "").lower()
    tried: dict[str, int] = {}
    for call in turn.calls:
        tool = identify_tool(call)
        if tool and call.failed and (not keyword or keyword in f"{call.command} {call.target}".lower()):
            # The first failure of each tool: trying the same one again is not another way.
            tried.setdefault(tool, call.seq)
    if len(tried) >= REQUIRED_WAYS:
        return tuple(tried.values())
    message = f"{len(tried)} of {REQUIRED_WAYS} distinct ways that were tried and failed"
    return (
        message
        + (f" for `{keyword}`" if keyword else "")
        + (f": {', '.join(list(tried)[:REQUIRED_WAYS])}" if tried else "")
    )


def suggest_next_attempt(turn: TurnEvidence, claim: str) -> str:
    """Return what to try before the agent may claim to be blocked, or ask a person."""
    if claim == "delegation":
        tried_tools = sorted({tool for call in turn.calls if call.failed and (tool := identify_tool(call))})
        return "get it yourself: read it, run what prints it, fetch it" + (
            f" (tried: {', '.join(tried_tools[:5])})" if tried_tools else ""
        )
    hops = turn.contract.ladder if turn.contract else LADDER
    return next((hop for hop in hops if not _find_attempts(hop, turn)), hops[-1] if hops else "")


def ladder_exhaustion_proof(turn: TurnEvidence, arguments: Mapping[str, str]) -> tuple[int, ...] | str:
    """Return the calls that prove that every hop was tried and a recent call failed, or what is missing."""
    hops = turn.contract.ladder if turn.contract else LADDER
    tried = {hop: _find_attempts(hop, turn) for hop in hops}
    missing = [hop.partition(":")[0] for hop, attempts in tried.items() if not attempts]
    if missing:
        return f"not tried yet: {', '.join(missing)}"
    failures = [call.seq for call in turn.calls[-RECENT_CALLS:] if call.failed]
    if not failures:
        return f"nothing failed in the last {RECENT_CALLS} calls"
    return tuple(sorted({*(seq for attempts in tried.values() for seq in attempts[-1:]), *failures}))[:20]


def _find_attempts(hop: str, turn: TurnEvidence) -> list[int]:
    """Return the calls that tried a hop: a built-in hop by what they did, another by at least two of its words."""
    finder = _HOP_FINDERS.get(hop)
    if finder is not None:
        return finder(turn)
    hop_words = set(re.findall(r"[a-z0-9]{3,}", hop.lower()))
    # A hop of the user's own ladder is plain text; one shared word would match nearly every call.
    required = min(2, len(hop_words))
    attempts = []
    for call in turn.calls:
        call_words = set(re.findall(r"[a-z0-9]{3,}", f"{call.tool} {call.command} {call.target}".lower()))
        if required and len(hop_words & call_words) >= required:
            attempts.append(call.seq)
    return attempts


def _find_project_reads(turn: TurnEvidence) -> list[int]:
    return [call.seq for call in turn.calls if call.kind == "read" or any(run.kind == "look" for run in call.runs)]


def _find_command_runs(turn: TurnEvidence) -> list[int]:
    return [call.seq for call in turn.calls if any(run.kind != "look" for run in call.runs)]


def _find_outside_requests(turn: TurnEvidence) -> list[int]:
    return [
        call.seq
        for call in turn.calls
        if call.kind in ("fetch", "mcp") or any(_is_network_command(run.argv) for run in call.runs)
    ]


def _is_network_command(argv: tuple[str, ...]) -> bool:
    """Return whether a program contacts another machine."""
    name = resolve_program_name(argv[0]) if argv else ""
    if name in _HTTP_CLIENTS or name in _NETWORK_PROGRAMS:
        return True
    return not find_task_words(name, "network").isdisjoint(argv[1:3])


def _find_distinct_failures(turn: TurnEvidence) -> list[int]:
    """Return the failed calls when at least two differ from each other."""
    failures = {call.command or f"{call.tool} {call.target}": call.seq for call in turn.calls if call.failed}
    return list(failures.values()) if len(failures) > 1 else []


_HOP_FINDERS: Mapping[str, Callable[[TurnEvidence], list[int]]] = dict(
    zip(LADDER, (_find_project_reads, _find_command_runs, _find_outside_requests, _find_distinct_failures), strict=True)
)
