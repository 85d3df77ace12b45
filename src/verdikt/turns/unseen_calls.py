"""Tool calls that the log has and the host's transcript lacks: they prove nothing. Pure.

Any program of the user can run the hook about a call that no agent made. The host writes its transcript itself, so a
call that is not in it did not happen in this session.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace

from verdikt.hosts.registry import get_host
from verdikt.runs.logged_call import LoggedCall
from verdikt.turns.turn import TurnEvidence

GAP_UNSEEN = "not in the host's transcript"
"""The `reason` of the gap entry that reports such calls; `calls` has their sequence numbers."""


def can_compare_transcript(host: str, agent: str, *, has_own_transcript: bool) -> bool:
    """Return whether the transcript of a turn names every tool call of it."""
    # A sub-agent without a transcript of its own would be compared with that of its parent.
    return get_host(host).name == host and get_host(host).transcript_has_calls and (not agent or has_own_transcript)


def find_unseen_calls(calls: Iterable[LoggedCall], transcript_call_ids: Collection[str]) -> tuple[LoggedCall, ...]:
    """Return the calls whose ids the transcript lacks; one without an id is not in it either."""
    return tuple(call for call in calls if not call.call_id or call.call_id not in transcript_call_ids)


def drop_unseen_proof(evidence: TurnEvidence, unseen: Collection[LoggedCall]) -> TurnEvidence:
    """Return the evidence without what these calls would prove. What they changed still makes other proof stale."""
    seqs = {call.seq for call in unseen}

    def clean_call(call: LoggedCall) -> LoggedCall:
        return call if call.seq not in seqs else replace(call, ok=False, runs=(), tests=None, http=None, written={})

    return replace(
        evidence, calls=tuple(map(clean_call, evidence.calls)), earlier=tuple(map(clean_call, evidence.earlier))
    )


def describe_unseen_calls(unseen: Collection[LoggedCall]) -> str:
    """Return the sentence that tells agent and person about such calls; empty without any."""
    if not unseen:
        return ""
    names = ", ".join(f"{call.seq} (`{(call.command or call.target or call.tool)[:60]}`)" for call in unseen)
    return f"These entries of the log are not in the host's transcript and prove nothing: {names}"
