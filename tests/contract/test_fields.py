"""Every field of every event of every host, with every kind of wrong value in it.

The answer is well formed, and closed where it must be.
"""

import json
from collections.abc import Iterable, Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.contract.hook import Said
from tests.contract.test_adapters import RECORDED, RULINGS, event_of, load, members
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


def places(value: object, above: Place = ()) -> Iterator[Place]:
    """Yield the path of every member; of a list, its first two."""
    inside = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    for key, member in inside:
        yield (*above, key)
        yield from places(member, (*above, key))


def with_wrong(payload: dict[str, Any], place: Place, wrong: object) -> dict[str, Any]:
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
def events() -> dict[tuple[str, str], list[dict[str, Any]]]:
    """(host, event) → payloads. An event that was not recorded gets all fields that its host was ever seen to send."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for name in RECORDED:
        found.setdefault((name.split("/")[0].split("_")[0], event_of(name)), []).append(load(name)["payload"])
    for host in HOSTS:
        every: dict[str, Any] = {}
        for (other, _), payloads in found.items():
            every |= {key: value for payload in payloads for key, value in payload.items() if other == host}
        for event in HOSTS[host].events:
            named = {key: event for key in ("hook_event_name", "hookName", "event", "ev") if key in every}
            found.setdefault((host, event), [every | named])
    return found


def wrongs(host: str, event: str, values: Iterable[str] = WRONG) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every wrong value in every place, each place once."""
    seen: set[Place] = set()
    for payload in events()[host, event]:
        for place in places(payload):
            if place not in seen:
                seen.add(place)
                for what in values:
                    yield f"{what} in {place}", with_wrong(payload, place, WRONG[what])


def well_formed(reply: HookResponse, host: str, *, asks: bool) -> None:
    """Check that the answer is one object on one line without null or empty text.

    Status 2 comes only with a block in words, and an ask only where a user can be asked.
    """
    document = json.loads(reply.stdout)
    assert isinstance(document, dict)
    assert reply.stdout.isascii()
    assert "\n" not in reply.stdout
    assert all(member is not None and member != "" for member in members(document))
    assert reply.exit_code in (0, 2)
    assert reply.exit_code == 0 or is_block(said(reply))
    assert asks or "ask" not in members(document)
    if host == "codex":
        assert set(document) <= {"decision", "reason", "hookSpecificOutput", "systemMessage"}
        assert document.get("decision", "block") == "block"


def said(reply: HookResponse) -> Said:
    """Return the reply as a client receives it."""
    return Said(reply.exit_code, reply.stdout.encode(), reply.stderr.encode())


ENV = {"CLAUDE_CODE_SESSION_ATTENDED": "1"}
EVENTS = sorted({(host, event) for host in HOSTS for event in HOSTS[host].events} | set(events()))


@pytest.mark.parametrize(("host", "event"), EVENTS)
def test_wrong_values_are_understood_or_refused_in_words(host: str, event: str) -> None:
    """The adapter by itself raises no exception but its own, and every ruling on the decoded payload holds."""
    adapter = load_adapter(host)
    for what, payload in wrongs(host, event):
        try:
            moment = adapter.decode(payload, event, ENV)
        except VerdiktError as refused:
            call = HookCall([host, event], ENV, "/")
            call.adapter = adapter
            reply = call.build_failure_response(refused)
            well_formed(reply, host, asks=False)
            closed = HOSTS[host].events.get(event, HookEventKind.BEFORE).fails_closed
            assert is_block(said(reply)) if closed else reply == HookResponse(), what
            continue
        assert event not in HOSTS[host].events or moment.kind is HOSTS[host].events[event], what
        for name, ruling in RULINGS.items():
            reply = adapter.encode(moment, ruling.resolve_ask(moment))
            well_formed(reply, host, asks=moment.can_ask)
            if name == "block" and moment.kind.fails_closed:
                assert is_block(said(reply)), what
            if name in ("pass", "warn", "approved"):
                assert not is_block(said(reply)), what


# Where Copilot stops, the agent's last words are waited for, and nobody writes them here.
DECIDED = [
    (host, event)
    for host, event in EVENTS
    if (kind := HOSTS[host].events.get(event)) is not HookEventKind.NOTICE and (host, kind) != ("copilot", "stop")
]


@pytest.mark.parametrize(("host", "event"), DECIDED)
def test_wrong_values_go_through_governance(host: str, event: str, tmp_path: Path) -> None:
    """A payload that the adapter accepts is decided and logged, with none of our own paths in the answer."""
    env = {"HOME": str(tmp_path), "VERDIKT_HOME": str(tmp_path / "data"), **ENV}
    (tmp_path / "project").mkdir()
    governance = Governance.load(cwd=str(tmp_path / "project"), env=env)
    for what, payload in wrongs(host, event, ("absent", "null", "a list", "an object", "no text", "odd characters")):
        call = HookCall([host, event], env, str(tmp_path / "project"))
        try:
            reply = call.decide_payload(json.dumps(payload).encode(), lambda cwd, env: governance)
        except HookError:
            continue  # as above
        except VerdiktError as refused:
            reply = call.build_failure_response(refused)
            assert is_block(said(reply)) == call.fails_closed, what
        well_formed(reply, host, asks=bool(call.hook_event and call.hook_event.can_ask))
        assert str(tmp_path / "data") not in reply.stdout + reply.stderr, what
    governance.store.close()
