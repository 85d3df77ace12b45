"""Every field of every event of every host with every kind of wrong value: the response is well formed.

Where the agent is about to act, it is a block.
"""

import json
from collections.abc import Iterable, Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.contract.hook import HookOutput
from tests.contract.test_adapters import DECISIONS, RECORDED, event_of, load, members
from tests.contract.test_entry import is_block
from verdikt.errors import HookError, VerdiktError
from verdikt.govern import Governance
from verdikt.hosts.hook_call import HookCall
from verdikt.hosts.hook_event import HookEventKind
from verdikt.hosts.hook_response import HookResponse
from verdikt.hosts.registry import HOSTS, load_adapter

ABSENT = object()
WRONG: dict[str, Any] = {
    "absent": ABSENT,
    "null": None,
    "a number": 7,
    "an endless number": 1e308,
    "a truth": True,
    "a list": [None, [1]],
    "no list": [],
    "an object": {"a": {"b": None}},
    "no object": {},
    "no text": "",
    "a word": "unknown",
    "a long text": "x" * 100_000,
    "odd characters": "a\0b\x1b[31m\ud800\u202e",
}

Place = tuple[str | int, ...]


def iter_places(value: object, above: Place = ()) -> Iterator[Place]:
    """Yield the path of every member; of a list, only of its first two."""
    inside = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    for key, member in inside:
        yield (*above, key)
        yield from iter_places(member, (*above, key))


def replace_value(payload: dict[str, Any], place: Place, wrong: object) -> dict[str, Any]:
    """Return the payload with that value in that place."""
    changed = deepcopy(payload)
    inside: Any = changed
    for key in place[:-1]:
        inside = inside[key]
    if wrong is ABSENT:
        del inside[place[-1]]
    else:
        inside[place[-1]] = wrong
    return changed


@cache
def load_events() -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Return (host, event) → payloads. An event that was not recorded gets all fields that its host ever sent."""
    payloads_by_event: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for name in RECORDED:
        payloads_by_event.setdefault((name.split("/")[0].split("_")[0], event_of(name)), []).append(
            load(name)["payload"]
        )
    for host in HOSTS:
        all_fields: dict[str, Any] = {}
        for (other, _), payloads in payloads_by_event.items():
            all_fields |= {key: value for payload in payloads for key, value in payload.items() if other == host}
        for event in HOSTS[host].events:
            named = {key: event for key in ("hook_event_name", "hookName", "event", "ev") if key in all_fields}
            payloads_by_event.setdefault((host, event), [all_fields | named])
    return payloads_by_event


def iter_wrong_payloads(host: str, event: str, values: Iterable[str] = WRONG) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every wrong value in every place, each place once."""
    seen: set[Place] = set()
    for payload in load_events()[host, event]:
        for place in iter_places(payload):
            if place not in seen:
                seen.add(place)
                for what in values:
                    yield f"{what} in {place}", replace_value(payload, place, WRONG[what])


def assert_well_formed(response: HookResponse, host: str, *, asks: bool) -> None:
    """Assert one object on one line without null or empty text, and no ask that would reach no person."""
    document = json.loads(response.stdout)
    assert isinstance(document, dict)
    assert response.stdout.isascii()
    assert "\n" not in response.stdout
    assert all(member is not None and member != "" for member in members(document))
    assert response.exit_code in (0, 2)
    assert response.exit_code == 0 or is_block(to_output(response))
    assert asks or "ask" not in members(document)
    if host == "codex":
        assert set(document) <= {"decision", "reason", "hookSpecificOutput", "systemMessage"}
        assert document.get("decision", "block") == "block"


def to_output(response: HookResponse) -> HookOutput:
    """Return the response as a client receives it."""
    return HookOutput(response.exit_code, response.stdout.encode(), response.stderr.encode())


ENV = {"CLAUDE_CODE_SESSION_ATTENDED": "1"}
EVENTS = sorted({(host, event) for host in HOSTS for event in HOSTS[host].events} | set(load_events()))


@pytest.mark.parametrize(("host", "event"), EVENTS)
def test_decode_of_a_wrong_value_returns_an_event_or_raises_our_own_error(host: str, event: str) -> None:
    """Every decision about the decoded event is encoded into a well-formed response."""
    adapter = load_adapter(host)
    for what, payload in iter_wrong_payloads(host, event):
        try:
            hook_event = adapter.decode(payload, event, ENV)
        except VerdiktError as error:
            call = HookCall([host, event], ENV, "/")
            call.adapter = adapter
            response = call.build_failure_response(error)
            assert_well_formed(response, host, asks=False)
            fails_closed = HOSTS[host].events.get(event, HookEventKind.BEFORE).fails_closed
            assert is_block(to_output(response)) if fails_closed else response == HookResponse(), what
            continue
        assert event not in HOSTS[host].events or hook_event.kind is HOSTS[host].events[event], what
        for name, host_decision in DECISIONS.items():
            response = adapter.encode(hook_event, host_decision.resolve_ask(hook_event))
            assert_well_formed(response, host, asks=hook_event.can_ask)
            if name == "block" and hook_event.kind.fails_closed:
                assert is_block(to_output(response)), what
            if name in ("pass", "warn", "approved"):
                assert not is_block(to_output(response)), what


# At a stop of Copilot the hook waits for the transcript, which does not exist here.
DECIDED = [
    (host, event)
    for host, event in EVENTS
    if (kind := HOSTS[host].events.get(event)) is not HookEventKind.NOTICE and (host, kind) != ("copilot", "stop")
]


@pytest.mark.parametrize(("host", "event"), DECIDED)
def test_a_wrong_value_that_the_adapter_accepts_is_decided(host: str, event: str, tmp_path: Path) -> None:
    """What the adapter accepts is decided and logged, and the response holds none of our own paths."""
    env = {"HOME": str(tmp_path), "VERDIKT_HOME": str(tmp_path / "data"), **ENV}
    (tmp_path / "project").mkdir()
    governance = Governance.load(cwd=str(tmp_path / "project"), env=env)
    for what, payload in iter_wrong_payloads(
        host, event, ("absent", "null", "a list", "an object", "no text", "odd characters")
    ):
        call = HookCall([host, event], env, str(tmp_path / "project"))
        try:
            response = call.decide_payload(json.dumps(payload).encode(), lambda cwd, env: governance)
        except HookError:
            continue  # as above
        except VerdiktError as error:
            response = call.build_failure_response(error)
            assert is_block(to_output(response)) == call.fails_closed, what
        assert_well_formed(response, host, asks=bool(call.hook_event and call.hook_event.can_ask))
        assert str(tmp_path / "data") not in response.stdout + response.stderr, what
    governance.store.close()
