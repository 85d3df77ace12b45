"""What was tried before an agent claims to be blocked, or asks a person for something. Pure."""

import re
from collections.abc import Callable, Mapping

from verdikt.knowledge import find_role, find_task_words
from verdikt.prompts.contract import LADDER
from verdikt.runs.logged_call import LoggedCall
from verdikt.runs.program_kinds import resolve_program_name
from verdikt.turns.turn import TurnEvidence

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
    wanted, ways = f" for `{keyword}`" if keyword else "", f": {', '.join(tried)}" if tried else ""
    return f"{len(tried)} of {REQUIRED_WAYS} distinct ways that were tried and failed{wanted}{ways}"


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
    if hop == LADDER[-1]:
        # Another way: at least two calls that failed, and differ from each other.
        failures = {call.command or f"{call.tool} {call.target}": call.seq for call in turn.calls if call.failed}
        return list(failures.values()) if len(failures) > 1 else []
    tries = _HOP_TESTS.get(hop)
    return [call.seq for call in turn.calls if (tries(call) if tries else _shares_words(call, hop))]


def _shares_words(call: LoggedCall, hop: str) -> bool:
    # A hop of the user's own ladder is plain text; one shared word would match nearly every call.
    words = set(re.findall(r"[a-z0-9]{3,}", hop.lower()))
    call_words = set(re.findall(r"[a-z0-9]{3,}", f"{call.tool} {call.command} {call.target}".lower()))
    return bool(words) and len(words & call_words) >= min(2, len(words))


def _is_network_command(argv: tuple[str, ...]) -> bool:
    """Return whether a program contacts another machine."""
    name = resolve_program_name(argv[0]) if argv else ""
    has_command = not find_task_words(name, "network").isdisjoint(argv[1:3])
    return has_command or name in _HTTP_CLIENTS or name in _NETWORK_PROGRAMS


_HOP_TESTS: Mapping[str, Callable[[LoggedCall], bool]] = {
    LADDER[0]: lambda call: call.kind == "read" or any(run.kind == "look" for run in call.runs),
    LADDER[1]: lambda call: any(run.kind != "look" for run in call.runs),
    LADDER[2]: lambda call: call.kind in ("fetch", "mcp") or any(_is_network_command(run.argv) for run in call.runs),
}
"""Hop of the usual ladder → whether a call tried it; the last one is about several calls."""
