"""Frozen files: the answer to every host at every event for every ruling, and the meaning of every recorded payload.

A change of these files is a change of what hosts are told. `python -m tests.contract.test_answers` writes them again.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.contract.test_adapters import RECORDED, decode
from verdikt.hosts.hook_event import HookEvent, HookEventKind
from verdikt.hosts.host_decision import HostDecision
from verdikt.hosts.registry import HOSTS, load_adapter
from verdikt.model.hook_message import Turn
from verdikt.model.verdict import VerdictKind

VECTORS = Path(__file__).parent.parent / "vectors"
ANSWERS, MOMENTS = VECTORS / "host_answers.json", VECTORS / "host_moments.json"

RULINGS = {
    "pass": HostDecision(),
    "warn": HostDecision(kind=VerdictKind.WARN, context="C"),
    "approved": HostDecision(approved=True, context="C"),
    "ask": HostDecision(kind=VerdictKind.ASK, reason="R", context="C"),
    "block": HostDecision(kind=VerdictKind.BLOCK, reason="R", context="C"),
}
EVENTS = [(host, event) for host in HOSTS for event in HOSTS[host].events]


def answers(host: str, event: str) -> dict[str, str]:
    """Return the kind of the event, and for each ruling the status, the document and the text on stderr."""
    adapter = load_adapter(host)
    kind = HOSTS[host].events[event]
    turn = Turn(message="m") if kind is HookEventKind.STOP else None
    moment = HookEvent(kind=kind, host=host, name=event, can_ask=True, turn=turn)
    found = {"moment": kind.value}
    for name, ruling in RULINGS.items():
        reply = adapter.encode(moment, ruling)
        found[name] = " ".join(part for part in (str(reply.exit_code), reply.stdout, reply.stderr) if part)
    return found


def stands_for(name: str) -> dict[str, Any]:
    """Return what was understood of a recorded payload, without the empty fields."""
    moment = decode(name)
    found: dict[str, Any] = {
        "kind": moment.kind.value,
        "session": moment.session_id,
        "agent": moment.agent,
        "cwd": moment.cwd,
        "asks": moment.can_ask,
        "posture": moment.posture.value if moment.posture else "",
    }
    if moment.action:
        found |= {"action": moment.action.kind.value, "tool": moment.action.tool, "call": moment.action.call_id}
        found |= {"target": moment.action.command or moment.action.path, "given": sorted(moment.action.payload)}
    if moment.outcome:
        outcome = moment.outcome
        found |= {"success": outcome.success, "exit": outcome.exit_code, "output": outcome.output[:200]}
        found |= {"error": outcome.error[:200], "seconds": outcome.duration_seconds}
    if moment.prompt:
        found |= {"prompt": moment.prompt.text[:200], "human": moment.prompt.human}
    if moment.turn:
        found |= {"message": moment.turn.message, "transcript": moment.turn.transcript_path}
        found |= {"again": moment.turn.stop_hook_active, "background": list(moment.turn.background)}
    empty = ("", None, [])
    return {key: value for key, value in found.items() if value not in (empty if key != "message" else (None,))}


@pytest.mark.parametrize(("host", "event"), EVENTS)
def test_what_a_host_is_told(host: str, event: str) -> None:
    """Byte for byte."""
    assert answers(host, event) == json.loads(ANSWERS.read_text())[f"{host} {event}"]


@pytest.mark.parametrize("name", RECORDED)
def test_what_a_payload_stands_for(name: str) -> None:
    """Whose call it was, what it was about, what came of it."""
    assert stands_for(name) == json.loads(MOMENTS.read_text())[name]


def test_nothing_is_frozen_that_is_gone() -> None:
    """Every row has its event and every payload its row."""
    assert set(json.loads(ANSWERS.read_text())) == {f"{host} {event}" for host, event in EVENTS}
    assert set(json.loads(MOMENTS.read_text())) == set(RECORDED)


if __name__ == "__main__":
    told = {f"{host} {event}": answers(host, event) for host, event in EVENTS}
    ANSWERS.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n")
    MOMENTS.write_text(json.dumps({name: stands_for(name) for name in RECORDED}, indent=1, ensure_ascii=False) + "\n")
