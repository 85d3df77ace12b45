"""The `evidence` section of a policy file: which claims need proof, and what counts as one."""

from collections.abc import Mapping, Sequence
from typing import Any

from verdikt.model.node import Node
from verdikt.model.shape import Field, Section, Shape, choice, read_fields, record_schema, text, whole
from verdikt.model.value import Value

MODES = ("off", "shadow", "enforce")
"""From the loosest to the strictest: a lower layer can only move to the right."""


class CustomValidator(Value):
    """A validator without Python: a command that must have succeeded since the last edit."""

    name: str
    command: str
    about: str = ""


class EvidenceSettings(Value):
    """What the gate does. `shadow` records what it would have done and lets the agent stop."""

    mode: str = "shadow"
    coverage: str = "shadow"
    final_block: str = "off"
    final_name: str = "verdikt_final"
    refusals: int = 3
    validators: tuple[CustomValidator, ...] = ()
    memory: str = ""
    notices: str = ""
    overrides_per_day: int = 3
    crashes_per_hour: int = 3


_VALIDATOR: Mapping[str, Field] = {
    "name": Field(text(), "what refusals and the log call it", required=True),
    "command": Field(text(), "the command that must have succeeded since the last edit", required=True),
    "about": Field(text(), "what it proves"),
}


def _validators(node: Node) -> tuple[CustomValidator, ...]:
    found = []
    for inner in node.items():
        values = read_fields(inner, _VALIDATOR)
        if {"name", "command"} <= values.keys():
            found.append(CustomValidator(**values))
    return tuple(found)


FIELDS: Mapping[str, Field] = {
    "mode": Field(choice(MODES), "what is done about a claim without proof; absent: shadow"),
    "coverage": Field(
        choice(MODES), "what is done about tool calls that no decision in the log covers; absent: shadow"
    ),
    "final_block": Field(
        choice(MODES), "whether a fenced final block is asked for after high-stakes work; absent: off"
    ),
    "final_name": Field(text(), "the name of that block; absent: verdikt_final"),
    "refusals": Field(
        whole(1, 10), "refusals without new evidence after which the agent may stop, unproven; absent: 3"
    ),
    "validators": Field(
        Shape(
            _validators,
            {"type": "array", "items": record_schema(_VALIDATOR)},
            "a list of commands that prove something",
        ),
        "your own validators",
    ),
    "memory": Field(text(), "the agent's memory file, in which breaches of thresholds are noted; absent: none"),
    "notices": Field(text(), "a file to which notices for people are added; absent: none"),
    "overrides_per_day": Field(whole(1, 1000), "attempts to override after which a note is written; absent: 3"),
    "crashes_per_hour": Field(whole(1, 1000), "crashes of one hook after which a note is written; absent: 3"),
}


def read(node: Node) -> EvidenceSettings | None:
    """The settings, or None after recording what is wrong with them."""
    if not isinstance(node.value, Mapping):
        node.expected("a mapping")
        return None
    values: dict[str, Any] = read_fields(node, FIELDS)
    return EvidenceSettings(**values)


def merge(values: Sequence[EvidenceSettings]) -> EvidenceSettings:
    """The strictest mode that a layer names, every layer's validators, and the rest as the highest layer says."""
    top = values[0]
    validators = {one.name: one for settings in reversed(values) for one in settings.validators}
    return EvidenceSettings(
        mode=_strictest(settings.mode for settings in values),
        coverage=_strictest(settings.coverage for settings in values),
        final_block=_strictest(settings.final_block for settings in values),
        final_name=top.final_name,
        refusals=max(settings.refusals for settings in values),
        validators=tuple(validators.values()),
        memory=top.memory,
        notices=top.notices,
        overrides_per_day=min(settings.overrides_per_day for settings in values),
        crashes_per_hour=min(settings.crashes_per_hour for settings in values),
    )


def _strictest(modes: Any) -> str:
    found: str = max(modes, key=MODES.index)
    return found


SECTION = Section(Shape(read, record_schema(FIELDS), "mapping"), "which claims need proof", merge)
