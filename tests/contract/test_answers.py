"""Frozen vectors: the response of every host at every event to every decision, and the event of every payload.

A change of these files changes what hosts are told. `python -m tests.contract.test_answers` writes them.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.contract.test_adapters import RECORDED, decode
from verdikt.hosts.hook_event import HookEvent, HookEventKind
from verdikt.hosts.host_decision import HostDecision
from verdikt.hosts.registry import HOSTS, load_adapter
from verdikt.model.hook_message import Answer, Turn
from verdikt.model.verdict import VerdictKind

VECTORS = Path(__file__).parent.parent / "vectors"
ANSWERS, MOMENTS = VECTORS / "host_answers.json", VECTORS / "host_moments.json"

DECISIONS = {
    "pass": HostDecision(),
    "warn": HostDecision(kind=VerdictKind.WARN, context="C"),
    "approved": HostDecision(approved=True, context="C"),
    "ask": HostDecision(kind=VerdictKind.ASK, reason="R", context="C"),
    "block": HostDecision(kind=VerdictKind.BLOCK, reason="R", context="C"),
}
STOP = HookEventKind.STOP
EVENTS = [(host, event) for host in HOSTS for event in HOSTS[host].events]


def encode_all(host: str, event: str) -> dict[str, str]:
    """Return the kind of the event, and for each decision the status, the document and stderr."""
    adapter = load_adapter(host)
    kind = HOSTS[host].events[event]
    turn = Turn(message="m") if kind is HookEventKind.STOP else None
    hook_event = HookEvent(kind=kind, host=host, name=event, can_ask=True, turn=turn)
    responses = {"moment": kind.value}
    for name, host_decision in DECISIONS.items():
        response = adapter.encode(hook_event, host_decision)
        parts = (str(response.exit_code), response.stdout, response.stderr)
        responses[name] = " ".join(part for part in parts if part)
    return responses


def describe_payload(name: str) -> dict[str, Any]:
    """Return the event of a recorded payload, without empty fields."""
    hook_event = decode(name)
    fields: dict[str, Any] = {
        "kind": hook_event.kind.value,
        "session": hook_event.session_id,
        "agent": hook_event.agent,
        "cwd": hook_event.cwd,
        "asks": hook_event.can_ask,
        "posture": hook_event.posture.value if hook_event.posture else "",
    }
    if hook_event.action:
        fields |= {
            "action": hook_event.action.kind.value,
            "tool": hook_event.action.tool,
            "call": hook_event.action.call_id,
        }
        fields |= {
            "target": hook_event.action.command or hook_event.action.path,
            "given": sorted(hook_event.action.payload),
        }
    if hook_event.outcome:
        outcome = hook_event.outcome
        fields |= {"success": outcome.success, "exit": outcome.exit_code, "output": outcome.output[:200]}
        fields |= {"error": outcome.error[:200], "seconds": outcome.duration_seconds}
    if hook_event.prompt:
        fields |= {"prompt": hook_event.prompt.text[:200], "human": hook_event.prompt.human}
    if hook_event.turn:
        fields |= {"message": hook_event.turn.message, "transcript": hook_event.turn.transcript_path}
        fields |= {"again": hook_event.turn.stop_hook_active, "background": list(hook_event.turn.background)}
    empty = ("", None, [])
    return {key: value for key, value in fields.items() if value not in (empty if key != "message" else (None,))}


@pytest.mark.parametrize(("host", "event"), EVENTS)
def test_encode_of_every_event_returns_the_frozen_responses(host: str, event: str) -> None:
    """The responses are the same byte for byte."""
    assert encode_all(host, event) == json.loads(ANSWERS.read_text())[f"{host} {event}"]


@pytest.mark.parametrize(("host", "event"), [pair for pair in EVENTS if HOSTS[pair[0]].events[pair[1]] is STOP])
def test_notice_at_a_stop_reaches_the_person_or_doctor_says_that_it_cannot(host: str, event: str) -> None:
    """A turn that ended unproven is shown wherever the host has a channel for it."""
    hook_event = HookEvent(kind=STOP, host=host, name=event, turn=Turn(message="m"))
    response = load_adapter(host).encode(hook_event, HostDecision.from_answer(Answer(notice="ended unproven")))
    is_known_gap = any("ended unproven" in gap.what for gap in HOSTS[host].known_gaps)

    assert response.exit_code == 0
    assert ("ended unproven" in response.stdout) is not is_known_gap


@pytest.mark.parametrize("name", RECORDED)
def test_decode_of_every_recorded_payload_returns_the_frozen_event(name: str) -> None:
    """Session, agent, action and outcome are the same."""
    assert describe_payload(name) == json.loads(MOMENTS.read_text())[name]


def test_the_vectors_name_exactly_the_known_events_and_payloads() -> None:
    """Every row has its event, and every payload its row."""
    assert set(json.loads(ANSWERS.read_text())) == {f"{host} {event}" for host, event in EVENTS}
    assert set(json.loads(MOMENTS.read_text())) == set(RECORDED)


if __name__ == "__main__":
    responses = {f"{host} {event}": encode_all(host, event) for host, event in EVENTS}
    ANSWERS.write_text(json.dumps(responses, indent=1, ensure_ascii=False) + "\n")
    MOMENTS.write_text(
        json.dumps({name: describe_payload(name) for name in RECORDED}, indent=1, ensure_ascii=False) + "\n"
    )
