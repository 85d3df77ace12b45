"""What the agent did after a block: followed the fix, tried another way, repeated the call, or gave up."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from verdikt.model.action import describe_payload
from verdikt.report.activity.occurrence import Occurrence

FOLLOWED_FIX, ANOTHER_WAY, REPEATED, GAVE_UP = "followed_fix", "another_way", "repeated", "gave_up"

OUTCOMES = {
    FOLLOWED_FIX: "followed the fix",
    ANOTHER_WAY: "tried another way",
    REPEATED: "repeated the call",
    GAVE_UP: "gave up",
}
"""Outcome of a block → its name in a report."""

MAX_LATER_CALLS = 8
"""How many calls after a block can be a reaction to it."""

# What a fix quotes, or an option that it names: the words that an agent takes over when it follows the advice.
_ADVICE = re.compile(r"`([^`]{3,})`|(?<![\w-])(--[a-z][\w-]+)")


@dataclass(slots=True)
class _OpenBlock:
    """A block whose outcome is not known yet."""

    occurrence: Occurrence
    text: str
    advice: frozenset[str]
    traits: frozenset[str]
    remaining_calls: int = MAX_LATER_CALLS


class BlockTracker:
    """Follows one session, and reports each block with its outcome."""

    def __init__(self, report: Callable[[str, Occurrence], None]) -> None:
        self._report = report
        self._open: list[_OpenBlock] = []

    def add_decision(self, occurrence: Occurrence, receipt: Mapping[str, Any]) -> None:
        """Compare a call with the open blocks, and open one if it was blocked itself."""
        action = receipt.get("action")
        text = describe_payload(action.get("payload")) if isinstance(action, Mapping) else ""
        traits = frozenset(_list_traits(receipt))
        passed = occurrence.verdict in ("pass", "warn")
        still_open = []
        for block in self._open:
            outcome = _classify_reaction(block, text, traits, passed=passed)
            block.remaining_calls -= 1
            if outcome:
                verb = "ran" if passed else f"got {occurrence.verdict}"
                self._report(outcome, block.occurrence.with_note(f"then {verb}: {occurrence.what}"))
            elif block.remaining_calls:
                still_open.append(block)
            else:
                self._report(GAVE_UP, block.occurrence)
        self._open = still_open
        if occurrence.verdict == "block":
            verdict = receipt.get("verdict")
            fix = str(verdict.get("fix") or "") if isinstance(verdict, Mapping) else ""
            self._open.append(_OpenBlock(occurrence, text, frozenset(_list_advice(fix, text)), traits))

    def end_turn(self) -> None:
        """Close the open blocks: the agent stopped, or a person asked for something else."""
        for block in self._open:
            self._report(GAVE_UP, block.occurrence)
        self._open = []


def _classify_reaction(block: _OpenBlock, text: str, traits: frozenset[str], *, passed: bool) -> str:
    """Return the outcome of a block that a later call shows; empty when the call has nothing to do with it."""
    if text and text == block.text:
        # A person may have allowed it meanwhile; for the agent it is the same call again.
        return REPEATED
    if passed and any(words in text for words in block.advice):
        return FOLLOWED_FIX
    return ANOTHER_WAY if block.traits & traits else ""


def _list_advice(fix: str, text: str) -> Iterator[str]:
    """Yield the words of a fix that a call contains when the agent follows it."""
    for quoted, option in _ADVICE.findall(fix):
        if (words := quoted or option) not in text:
            yield words


def _list_traits(receipt: Mapping[str, Any]) -> Iterator[str]:
    """Yield by what two calls are recognized as attempts at the same thing: a target, or the kind of effect."""
    effects = receipt.get("effects")
    for effect in effects if isinstance(effects, list) else ():
        # Reading what could not be changed is looking, not another attempt.
        if not isinstance(effect, Mapping) or effect.get("class") == "read":
            continue
        yield "effect " + ".".join(str(effect.get("what", "")).split(".")[:2])
        for target in effect.get("targets") or ():
            if isinstance(target, Mapping) and target.get("text"):
                yield f"target {target['text']}"
