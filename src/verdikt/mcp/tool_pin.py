"""Pins of tool definitions: what a person has accepted of a server's tools, and what the server says now."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import unified_diff
from json import dumps
from typing import Any

from verdikt.mcp.tool_findings import find_tool_issues
from verdikt.model.argument_kind import infer_argument_kinds
from verdikt.model.canonical_json import hash_canonical, stringify_big_integers

KNOWN_FIELDS = frozenset("name title description inputSchema outputSchema annotations _meta icons execution".split())
"""The fields of a tool in the protocol; a server may list others, and a client may show them to its model."""

INSTRUCTIONS = "(instructions)"
"""The name under which a server's instructions to the model are pinned; no tool may have it."""

MAX_TOOLS = 2000
"""Tools of one server that are pinned; a server that lists more is flooding its client, and the rest stays hidden."""

MAX_NAME_LENGTH = 200
"""Longest name of a tool that is pinned; one with a longer name stays hidden."""

_HINT_EFFECTS = (("readOnlyHint", "read"), ("destructiveHint", "destructive"), ("openWorldHint", "network"))


class PinState(enum.StrEnum):
    """What is known of a tool's definition."""

    ACCEPTED = "accepted"
    NEW = "new"  # seen, and not accepted by a person yet
    CHANGED = "changed"  # not what was accepted
    UNKNOWN = "unknown"  # never listed


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolPin:
    """One tool: the definition that was seen last, and the one that was accepted, if any."""

    name: str
    seen: Mapping[str, Any]
    seen_digest: str
    findings: tuple[str, ...] = ()
    accepted: Mapping[str, Any] | None = None
    accepted_digest: str = ""
    accepted_by: str = ""
    accepted_at: int = 0
    effects: tuple[str, ...] = ()
    """Effect classes that a person has confirmed for the tool; they count as a declaration."""

    @property
    def state(self) -> PinState:
        """Whether the tool is what a person has accepted."""
        if self.accepted is None:
            return PinState.NEW
        return PinState.ACCEPTED if self.accepted_digest == self.seen_digest else PinState.CHANGED

    def to_record(self) -> dict[str, Any]:
        """Return the pin as plain data."""
        return {
            "seen": self.seen,
            "seen_digest": self.seen_digest,
            "findings": list(self.findings),
            "accepted": self.accepted,
            "accepted_digest": self.accepted_digest,
            "accepted_by": self.accepted_by,
            "accepted_at": self.accepted_at,
            "effects": list(self.effects),
        }

    def render_diff(self) -> str:
        """Return what changed since the definition was accepted, for a person."""
        before = [] if self.accepted is None else _to_lines(self.accepted)
        return "\n".join(unified_diff(before, _to_lines(self.seen), "accepted", "now", lineterm="", n=2))


def pin_from_record(name: str, record: Mapping[str, Any]) -> ToolPin:
    """Return the pin that `to_record` wrote; raises KeyError or TypeError for anything else."""
    return ToolPin(
        name=name,
        seen=dict(record["seen"]),
        seen_digest=str(record["seen_digest"]),
        findings=tuple(map(str, record["findings"])),
        accepted=None if record["accepted"] is None else dict(record["accepted"]),
        accepted_digest=str(record["accepted_digest"]),
        accepted_by=str(record["accepted_by"]),
        accepted_at=int(record["accepted_at"]),
        effects=tuple(map(str, record["effects"])),
    )


def extract_definition(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a pin covers of a listed tool: everything, because clients may show all of it to a model."""
    plain: dict[str, Any] = stringify_big_integers(tool)  # schemas name limits beyond what a double holds
    return plain


def propose_effects(definition: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the effects that a tool's annotations suggest; a proposal: it is the server's word."""
    annotations = definition.get("annotations")
    hints = annotations if isinstance(annotations, Mapping) else {}
    return tuple(effect for hint, effect in _HINT_EFFECTS if hints.get(hint) is True)


def build_hints(pin: ToolPin) -> dict[str, Any]:
    """Return what the classification of a call may use of a tool's definition; small, because receipts hold it."""
    hints: dict[str, Any] = {}
    if pin.effects:
        hints["effects"] = list(pin.effects)
    if proposed := propose_effects(pin.seen):
        hints["proposed"] = list(proposed)
    if kinds := infer_argument_kinds(pin.seen.get("inputSchema")):
        hints["arguments"] = kinds
    return hints


@dataclass(slots=True)
class PinBook:
    """The pins of one server."""

    name: str
    identity: tuple[str, ...]
    server_info: str = ""
    is_listed: bool = False
    """Whether the server has shown a whole list; until then everything is its first."""
    pins: dict[str, ToolPin] = field(default_factory=dict)

    @property
    def has_tools(self) -> bool:
        """Whether the server has listed a tool."""
        return any(name != INSTRUCTIONS for name in self.pins)

    def list_hidden(self) -> list[str]:
        """Return what the client does not see until a person accepts it."""
        return sorted(
            name
            for name, pin in self.pins.items()
            if pin.state is PinState.CHANGED or (name == INSTRUCTIONS and pin.state is PinState.NEW)
        )

    def find(self, tool: str) -> ToolPin | None:
        """Return the pin of a tool; None when it was never listed."""
        return self.pins.get(tool) if tool != INSTRUCTIONS else None

    def record_listed(
        self, tool: Mapping[str, Any], *, trusted_by: str, now: int, taken: Iterable[str] = ()
    ) -> ToolPin:
        """Note a listed tool and return its pin. `trusted_by` accepts a tool at first sight, unless it looks wrong.

        `taken` are the names of other servers' tools, which a name of this one must not resemble.
        """
        name, definition = str(tool["name"]), extract_definition(tool)
        digest = hash_canonical(definition)
        pin = self.pins.get(name)
        if pin is not None and pin.seen_digest == digest:
            return pin
        findings = tuple(find_tool_issues(definition, taken))
        if pin is None and trusted_by and not findings:
            pin = ToolPin(name=name, seen=definition, seen_digest=digest)
            self.pins[name] = accept_pin(pin, by=trusted_by, now=now)
        elif pin is None:
            self.pins[name] = ToolPin(name=name, seen=definition, seen_digest=digest, findings=findings)
        else:
            self.pins[name] = _replace_seen(pin, definition, digest, findings)
        return self.pins[name]

    def accept(self, tool: str, *, by: str, now: int, effects: tuple[str, ...] = ()) -> ToolPin:
        """Accept a tool as it was seen last, with the effects that a person confirmed."""
        self.pins[tool] = accept_pin(self.pins[tool], by=by, now=now, effects=effects)
        return self.pins[tool]

    def to_record(self) -> dict[str, Any]:
        """Return the book as plain data."""
        tools = {name: pin.to_record() for name, pin in sorted(self.pins.items())}
        return {
            "name": self.name,
            "identity": list(self.identity),
            "server": self.server_info,
            "listed": self.is_listed,
            "tools": tools,
        }


def book_from_record(record: Mapping[str, Any]) -> PinBook:
    """Return the book that `to_record` wrote; raises KeyError or TypeError for anything else."""
    pins = {str(name): pin_from_record(str(name), tool) for name, tool in record["tools"].items()}
    is_listed = record.get("listed", bool(pins)) is not False  # absent in files of before
    return PinBook(str(record["name"]), tuple(map(str, record["identity"])), str(record["server"]), is_listed, pins)


def accept_pin(pin: ToolPin, *, by: str, now: int, effects: tuple[str, ...] = ()) -> ToolPin:
    """Return the pin with its last definition accepted; effects that were confirmed before stay confirmed."""
    return ToolPin(
        name=pin.name,
        seen=pin.seen,
        seen_digest=pin.seen_digest,
        findings=pin.findings,
        accepted=pin.seen,
        accepted_digest=pin.seen_digest,
        accepted_by=by,
        accepted_at=now,
        effects=effects or pin.effects,
    )


def _replace_seen(pin: ToolPin, definition: Mapping[str, Any], digest: str, findings: tuple[str, ...]) -> ToolPin:
    return ToolPin(
        name=pin.name,
        seen=definition,
        seen_digest=digest,
        findings=findings,
        accepted=pin.accepted,
        accepted_digest=pin.accepted_digest,
        accepted_by=pin.accepted_by,
        accepted_at=pin.accepted_at,
        effects=pin.effects,
    )


def _to_lines(definition: Mapping[str, Any]) -> list[str]:
    # Escapes for everything beyond ASCII: what a diff is read for may be characters that cannot be seen.
    return dumps(definition, indent=1, sort_keys=True).splitlines()
