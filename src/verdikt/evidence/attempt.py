"""What was tried before an agent calls itself stuck, or asks somebody else. Pure."""

import re
from collections.abc import Callable, Mapping

from verdikt.evidence.contract import LADDER
from verdikt.evidence.logged_call import LoggedCall
from verdikt.evidence.program_kinds import resolve_program_name
from verdikt.evidence.turn import TurnEvidence

REQUIRED_WAYS = 3
"""Distinct ways to get something that must have failed before a person is asked for it."""

RECENT_CALLS = 10
"""Calls from the end of a turn among which something must have failed."""

_TRIVIAL_PROGRAMS = frozenset({"echo", "printf", "true", ":", "cd", "set", "export", "sleep"})
_NETWORK_PROGRAMS = frozenset(
    "pip pip3 uv npm yarn pnpm bun npx ssh scp sftp rsync gh glab apt apt-get brew dnf yum apk kubectl helm aws gcloud az psql mysql"
    " redis-cli mongosh ping dig nslookup host nc telnet cargo poetry bundle gem composer mvn gradle terraform docker podman".split()
)
_GIT_NETWORK_COMMANDS = frozenset({"fetch", "clone", "pull", "push", "ls-remote"})


def identify_tool(call: LoggedCall) -> str:
    """By which tool a call tried to get something; empty when it did not."""
    if call.kind in ("fetch", "mcp", "read"):
        return call.tool
    names = (resolve_program_name(one.argv[0]) for one in call.runs if one.argv)
    return next((name for name in names if name not in _TRIVIAL_PROGRAMS), "")


def fetch_attempt_proof(turn: TurnEvidence, arguments: Mapping[str, str]) -> tuple[int, ...] | str:
    """At least three distinct tools were tried for it and failed."""
    keyword = arguments.get("keyword", "").lower()
    tried: dict[str, int] = {}
    for call in turn.calls:
        means = identify_tool(call)
        if means and call.failed and (not keyword or keyword in f"{call.command} {call.target}".lower()):
            tried.setdefault(means, call.seq)
    if len(tried) >= REQUIRED_WAYS:
        return tuple(tried.values())
    said = f"{len(tried)} of {REQUIRED_WAYS} distinct ways that were tried and failed"
    return (
        said
        + (f" for `{keyword}`" if keyword else "")
        + (f": {', '.join(list(tried)[:REQUIRED_WAYS])}" if tried else "")
    )


def suggest_next_attempt(turn: TurnEvidence, claim: str) -> str:
    """What should be tried before the agent may say it is stuck, or ask somebody else."""
    if claim == "delegation":
        used = sorted({means for call in turn.calls if call.failed and (means := identify_tool(call))})
        return "get it yourself: read it, run what prints it, fetch it" + (
            f" (tried: {', '.join(used[:5])})" if used else ""
        )
    hops = turn.contract.ladder if turn.contract else LADDER
    return next((hop for hop in hops if not _find_attempts(hop, turn)), hops[-1] if hops else "")


def ladder_exhaustion_proof(turn: TurnEvidence, arguments: Mapping[str, str]) -> tuple[int, ...] | str:
    """Every hop of the contract's ladder was tried, and one of the last calls failed."""
    hops = turn.contract.ladder if turn.contract else LADDER
    tried = {hop: _find_attempts(hop, turn) for hop in hops}
    missing = [hop.partition(":")[0] for hop, found in tried.items() if not found]
    if missing:
        return f"not tried yet: {', '.join(missing)}"
    failures = [call.seq for call in turn.calls[-RECENT_CALLS:] if call.failed]
    if not failures:
        return f"nothing failed in the last {RECENT_CALLS} calls"
    return tuple(sorted({*(seq for found in tried.values() for seq in found[-1:]), *failures}))[:20]


def _find_attempts(hop: str, turn: TurnEvidence) -> list[int]:
    """The calls that tried a hop: one of ours by what they did, any other by at least two of its words."""
    known = _HOP_FINDERS.get(hop)
    if known is not None:
        return known(turn)
    words = set(re.findall(r"[a-z0-9]{3,}", hop.lower()))
    wanted = min(2, len(words))
    found = []
    for call in turn.calls:
        said = set(re.findall(r"[a-z0-9]{3,}", f"{call.tool} {call.command} {call.target}".lower()))
        if wanted and len(words & said) >= wanted:
            found.append(call.seq)
    return found


def _find_project_reads(turn: TurnEvidence) -> list[int]:
    return [call.seq for call in turn.calls if call.kind == "read" or any(one.kind == "look" for one in call.runs)]


def _find_command_runs(turn: TurnEvidence) -> list[int]:
    return [call.seq for call in turn.calls if any(one.kind != "look" for one in call.runs)]


def _find_outside_requests(turn: TurnEvidence) -> list[int]:
    return [
        call.seq
        for call in turn.calls
        if call.kind in ("fetch", "mcp") or any(_is_network_command(one.argv) for one in call.runs)
    ]


def _is_network_command(argv: tuple[str, ...]) -> bool:
    """Whether a program asks another machine."""
    name = resolve_program_name(argv[0]) if argv else ""
    if name in ("curl", "wget", "http", "https", "xh", "httpie") or name in _NETWORK_PROGRAMS:
        return True
    return (name == "git" and bool(_GIT_NETWORK_COMMANDS & set(argv[1:3]))) or (
        name == "go" and argv[1:2] in (("get",), ("install",))
    )


def _find_distinct_failures(turn: TurnEvidence) -> list[int]:
    """Two failures that are not the same call again."""
    failures = {call.command or f"{call.tool} {call.target}": call.seq for call in turn.calls if call.failed}
    return list(failures.values()) if len(failures) > 1 else []


_HOP_FINDERS: Mapping[str, Callable[[TurnEvidence], list[int]]] = dict(
    zip(LADDER, (_find_project_reads, _find_command_runs, _find_outside_requests, _find_distinct_failures), strict=True)
)
