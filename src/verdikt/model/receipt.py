"""The receipt of a decision: everything it rests on and what came of it, as canonical bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from verdikt.model.action import Action, ActionKind
from verdikt.model.canonical_json import MAX_DEPTH, CanonicalText, encode_canonical, parse_json, sha256_hex
from verdikt.model.effect import EffectClass
from verdikt.model.posture import Disposition, Posture
from verdikt.model.spine import SpineReceipt, render_rationale
from verdikt.model.verdict import VerdictKind

if TYPE_CHECKING:
    from verdikt.model.effect import Effect, Effects, Target
    from verdikt.model.verdict import Verdict

RECEIPT_VERSION = 1
"""Of the receipt's fields; a reader refuses what is newer than it knows."""

_MAX_CACHED_CHARS = 4000
"""Characters of effects up to which they are remembered as they are written."""

VERDICT_DISPOSITIONS = {
    VerdictKind.PASS: Disposition.ALLOW,
    VerdictKind.WARN: Disposition.ALLOW,
    VerdictKind.ASK: Disposition.ESCALATE,
    VerdictKind.BLOCK: Disposition.DENY,
}


@dataclass(frozen=True, slots=True)
class Receipt:
    """Canonical bytes with no clock and no randomness: the same inputs give the same bytes and the same digest.

    It holds nothing but its bytes, so nothing in it can be changed.
    """

    bytes: bytes

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> Receipt:
        """The receipt that says this."""
        return cls(encode_canonical(body))

    @property
    def sha256(self) -> str:
        """Lower-case hex SHA-256 of the bytes."""
        return sha256_hex(self.bytes)

    @property
    def canonical_text(self) -> CanonicalText:
        """The receipt as a part of what else is written."""
        return CanonicalText(self.bytes)

    def dump(self) -> dict[str, Any]:
        """What the receipt says, as fresh plain data."""
        body: dict[str, Any] = parse_json(self.bytes)
        return body

    def spine(self) -> SpineReceipt:
        """The eight-field form. An action without effects observes, so it reads."""
        body = self.dump()
        action, verdict = body["action"], body["verdict"]
        effects = tuple(EffectClass(name) for name in body["classes"]) or (EffectClass.READ,)
        payload = action["payload"]
        return SpineReceipt(
            tool=action["tool"],
            arguments=payload if isinstance(payload, dict) else {"input": payload},
            effects=effects,
            most_restrictive=effects[0],
            rationale=render_rationale(action["tool"], effects, effects[0]),
            posture=Posture(body["posture"]["before"]),
            disposition=VERDICT_DISPOSITIONS[VerdictKind[verdict["kind"].upper()]],
            require_confirmation=(body["ruled"] or verdict)["kind"] == "ask",
        )


# `_value_` is what `value` gives, without the detour by a property that is written in Python.


def action_to_record(action: Action) -> dict[str, Any]:
    """An action as plain data, without the host's id for the call: two calls that say the same are the same."""
    return {
        "kind": action.kind._value_,
        "tool": action.tool,
        "payload": action.payload,
        "session_id": action.session_id,
        "task_type": action.task_type,
        "cwd": action.cwd,
        "host": action.host,
        "agent": action.agent,
    }


def action_from_record(record: Mapping[str, Any]) -> Action:
    """The action that `action_record` wrote down."""
    return Action(**{**record, "kind": ActionKind(record["kind"])})


def effects_to_record(effects: Effects) -> list[dict[str, Any]]:
    """Effects as plain data, in order."""
    return [_effect_to_record(effect) for effect in effects]


def encode_effects(effects: Effects) -> CanonicalText:
    """The same as a receipt holds it."""
    try:
        return _lookup_effects(effects.items)
    except _EffectsTooLongError as found:
        return found.encoded


class _EffectsTooLongError(Exception):
    """Effects that are too long to be remembered: their targets come from outside, and memory must stay bounded."""

    def __init__(self, encoded: CanonicalText) -> None:
        self.encoded = encoded


@lru_cache(maxsize=256)
def _lookup_effects(items: tuple[Effect, ...]) -> CanonicalText:
    """The same, remembered: most commands are like ones before."""
    written = CanonicalText(encode_canonical([_effect_to_record(effect) for effect in items]))
    if len(written.text) > _MAX_CACHED_CHARS:
        raise _EffectsTooLongError(written)  # what is raised is not remembered
    return written


def _effect_to_record(effect: Effect) -> dict[str, Any]:
    record: dict[str, Any] = {
        "class": effect.cls._value_,
        "what": effect.what,
        "certainty": effect.certainty._value_,
        "recoverable": effect.recoverable,
    }
    # What is empty is left out: a receipt is written for every action, and read by machines.
    if effect.targets:
        record["targets"] = [_target_to_record(target) for target in effect.targets]
    if effect.by:
        record["by"] = effect.by
    if effect.note:
        record["note"] = effect.note
    return record


def _target_to_record(target: Target) -> dict[str, Any]:
    record = {"text": target.text, "kind": target.kind, "zone": target.zone._value_}
    if target.path and target.path != target.text:
        record["path"] = target.path
    if target.state:
        record["state"] = target.state
    return record


def verdict_to_record(verdict: Verdict) -> dict[str, Any]:
    """A verdict as plain data; `red_line` and `error` are there only when they are so."""
    record: dict[str, Any] = {
        "kind": verdict.kind.word,
        "guard": verdict.guard,
        "reason": verdict.reason,
        "fix": verdict.fix,
    }
    if verdict.red_line:
        record["red_line"] = True
    if verdict.error:
        record["error"] = True
    return record


def stringify_big_integers(value: Any, depth: int = MAX_DEPTH) -> Any:
    """A payload in which integers that a double cannot hold are written as text; what else is wrong with it stays."""
    if isinstance(value, Mapping) and depth:
        return {key: stringify_big_integers(inner, depth - 1) for key, inner in value.items()}
    if isinstance(value, (list, tuple)) and depth:
        return [stringify_big_integers(inner, depth - 1) for inner in value]
    if type(value) is int and abs(value) > 2**53:
        return str(value) if value.bit_length() < 10_000 else hex(value)
    return value
