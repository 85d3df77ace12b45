"""What makes a client drop hooks in silence. `tests/clients/test_shape.py` holds some of these rows against the clients."""

from typing import Any

import pytest

from verdikt.hosts.registry import HOSTS, load_wiring
from verdikt.hosts.wiring.settings_schema import find_schema_error

HOOK = {"type": "command", "command": "true"}


def find_error(host: str, settings: dict[str, Any]) -> str:
    """Return the first place that the host does not understand."""
    return find_schema_error(load_wiring(host).schema, HOSTS[host].events, settings)


def group(**more: Any) -> dict[str, Any]:
    """A hook of somebody else, with something odd in it."""
    return {"hooks": [HOOK | more]}


CASES: list[tuple[str, Any, str]] = [
    ("a sound hook", group(), ""),
    ("a number for a group", 5, "claude codex"),
    ("null for a group", None, "claude codex"),
    ("null for a hook", {"hooks": [None]}, "claude codex"),
    ("a group without hooks", {}, "claude"),
    ("an object for hooks", {"hooks": {}}, "claude codex"),
    ("null for hooks", {"hooks": None}, "claude codex"),
    ("a number for a matcher", {"matcher": 5, "hooks": [HOOK]}, "claude codex gemini"),
    ("null for a matcher", {"matcher": None, "hooks": [HOOK]}, "claude"),
    ("no command", {"hooks": [{"type": "command"}]}, "claude codex"),
    ("a type that nobody knows", {"hooks": [{"type": "odd"}]}, "claude codex"),
    ("an http hook", {"hooks": [{"type": "http", "url": "http://127.0.0.1:9/x"}]}, "codex"),
    ("an http hook without an address", {"hooks": [{"type": "http"}]}, "claude codex"),
    ("a prompt", {"hooks": [{"type": "prompt", "prompt": "x"}]}, ""),
    ("an agent", {"hooks": [{"type": "agent", "prompt": "x"}]}, ""),
    ("text for a timeout", group(timeout="5"), "claude codex"),
    ("half a second for a timeout", group(timeout=5.5), "codex"),
    ("no time at all", group(timeout=0), "claude"),
    ("a timeout below nothing", group(timeout=-1), "claude codex"),
    ("null for a timeout", group(timeout=None), "claude"),
    ("a truth for a timeout", group(timeout=True), "claude codex"),
    ("a number for a message", group(statusMessage=5), "claude codex"),
    ("text for async", group(**{"async": "x"}), "claude codex"),
    ("a number for a condition", group(**{"if": 5}), "claude"),
    ("a number for arguments", group(args=5), "claude"),
    ("arguments", group(args=["x"]), ""),
    ("text for once", group(once="x"), "claude"),
    ("a shell that nobody knows", group(shell="odd"), "claude"),
    ("onFailure that nobody knows", group(onFailure="odd"), "claude"),
    ("a key that nobody knows", {"x": 1, "hooks": [HOOK | {"x": 2}]}, ""),
]
"""What a hook of somebody else looks like, and which clients then drop ours as well; measured on 2.1.325, 0.166.0, 0.61.0."""

EVENTS = {"claude": "PreToolUse", "codex": "PreToolUse", "gemini": "BeforeTool"}


@pytest.mark.parametrize(("what", "entry", "dropped"), CASES, ids=[case[0] for case in CASES])
def test_what_was_seen_to_drop_hooks_is_named(what: str, entry: Any, dropped: str) -> None:
    """By the place in the file where it stands, and for the clients that do so."""
    for host, event in EVENTS.items():
        found = find_error(host, {"hooks": {event: [group(), entry]}})
        assert bool(found) == (host in dropped.split()), host
        assert not found or found.startswith(f"hooks.{event}[1]")


@pytest.mark.parametrize(
    ("top", "flawed"),
    [({"description": "x"}, ""), ({"description": 5}, "description"), ({"$schema": "x"}, "$schema"), ({"x": 1}, "x")],
)
def test_codex_knows_every_key_at_the_top(top: dict[str, Any], flawed: str) -> None:
    """One that it does not know, and it reads none of the hooks; the others leave such keys alone."""
    settings = top | {"hooks": {"PreToolUse": [group()]}}

    assert find_error("codex", settings) == flawed
    assert not any(find_error(host, settings) for host in ("claude", "gemini", "copilot", "cursor"))


@pytest.mark.parametrize(("host", "event"), [("codex", "Stop"), ("copilot", "agentStop"), ("claude", "Stop")])
def test_an_event_must_be_a_list(host: str, event: str) -> None:
    """An event that nobody knows is passed over."""
    assert find_error(host, {"hooks": {event: {}}}) == f"hooks.{event}"
    assert find_error(host, {"hooks": {"Whatever": {}}}) == ""
