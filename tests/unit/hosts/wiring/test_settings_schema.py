"""What makes a client drop hooks in silence; `tests/clients/test_settings_schema.py` tries some rows on the clients."""

from typing import Any

import pytest

from verdikt.hosts.registry import HOSTS, load_wiring
from verdikt.hosts.wiring.settings_schema import find_schema_error

HOOK = {"type": "command", "command": "true"}


def find_error(host: str, settings: dict[str, Any]) -> str:
    """Return the first place that the host does not understand."""
    return find_schema_error(load_wiring(host).schema, HOSTS[host].events, settings)


def group(**more: Any) -> dict[str, Any]:
    """Return a hook of another program, with these further fields."""
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
    ("an unknown type", {"hooks": [{"type": "odd"}]}, "claude codex"),
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
    ("an unknown shell", group(shell="odd"), "claude"),
    ("an unknown onFailure", group(onFailure="odd"), "claude"),
    ("an unknown key", {"x": 1, "hooks": [HOOK | {"x": 2}]}, ""),
]
"""Description, hook of another program, clients that then drop ours; measured on 2.1.325, 0.166.0 and 0.61.0."""

EVENTS = {"claude": "PreToolUse", "codex": "PreToolUse", "gemini": "BeforeTool"}


@pytest.mark.parametrize(("what", "entry", "dropped"), CASES, ids=[case[0] for case in CASES])
def test_find_schema_error_names_what_makes_a_client_drop_hooks(what: str, entry: Any, dropped: str) -> None:
    """It returns the place in the file, for exactly those clients that were seen to drop hooks."""
    for host, event in EVENTS.items():
        place = find_error(host, {"hooks": {event: [group(), entry]}})
        assert bool(place) == (host in dropped.split()), host
        assert not place or place.startswith(f"hooks.{event}[1]")


@pytest.mark.parametrize(
    ("top", "flawed"),
    [({"description": "x"}, ""), ({"description": 5}, "description"), ({"$schema": "x"}, "$schema"), ({"x": 1}, "x")],
)
def test_find_schema_error_with_an_unknown_key_at_the_top_is_an_error_for_codex_only(
    top: dict[str, Any], flawed: str
) -> None:
    """Codex then reads none of the hooks; the other clients ignore such keys."""
    settings = top | {"hooks": {"PreToolUse": [group()]}}

    assert find_error("codex", settings) == flawed
    assert not any(find_error(host, settings) for host in ("claude", "gemini", "copilot", "cursor"))


@pytest.mark.parametrize(("host", "event"), [("codex", "Stop"), ("copilot", "agentStop"), ("claude", "Stop")])
def test_find_schema_error_requires_a_list_for_every_known_event(host: str, event: str) -> None:
    """An unknown event is ignored."""
    assert find_error(host, {"hooks": {event: {}}}) == f"hooks.{event}"
    assert find_error(host, {"hooks": {"Whatever": {}}}) == ""
