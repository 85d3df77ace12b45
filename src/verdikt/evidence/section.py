"""The `evidence` section of a policy file: which claims need proof, and what counts as one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from verdikt.model.schema_type import (
    Field,
    SchemaType,
    Section,
    choice_type,
    int_type,
    mapping_schema,
    read_fields,
    text_type,
)
from verdikt.model.yaml_node import YamlNode

MODES = ("off", "shadow", "enforce")
"""From the loosest to the strictest: a lower layer can only move to the right."""


@dataclass(frozen=True, slots=True)
class CustomValidator:
    """A validator without Python: a command that must have succeeded since the last edit."""

    name: str
    command: str
    about: str = ""


@dataclass(frozen=True, slots=True)
class EvidenceSettings:
    """The settings of the gate. `shadow` records what it would have done and lets the agent stop."""

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
    "name": Field(text_type(), "what refusals and the log call it", required=True),
    "command": Field(text_type(), "the command that must have succeeded since the last edit", required=True),
    "about": Field(text_type(), "what it proves"),
}


def _read_validators(node: YamlNode) -> tuple[CustomValidator, ...]:
    validators = []
    for inner in node.read_items():
        values = read_fields(inner, _VALIDATOR)
        if {"name", "command"} <= values.keys():
            validators.append(CustomValidator(**values))
    return tuple(validators)


FIELDS: Mapping[str, Field] = {
    "mode": Field(choice_type(MODES), "what is done about a claim without proof; absent: shadow"),
    "coverage": Field(
        choice_type(MODES), "what is done about tool calls that no decision in the log covers; absent: shadow"
    ),
    "final_block": Field(
        choice_type(MODES), "whether a fenced final block is asked for after high-stakes work; absent: off"
    ),
    "final_name": Field(text_type(), "the name of that block; absent: verdikt_final"),
    "refusals": Field(
        int_type(1, 10), "refusals without new evidence after which the agent may stop, unproven; absent: 3"
    ),
    "validators": Field(
        SchemaType(
            _read_validators,
            {"type": "array", "items": mapping_schema(_VALIDATOR)},
            "a list of commands that prove something",
        ),
        "your own validators",
    ),
    "memory": Field(text_type(), "the agent's memory file, in which breaches of thresholds are noted; absent: none"),
    "notices": Field(text_type(), "a file to which notices for people are added; absent: none"),
    "overrides_per_day": Field(int_type(1, 1000), "attempts to override after which a note is written; absent: 3"),
    "crashes_per_hour": Field(int_type(1, 1000), "crashes of one hook after which a note is written; absent: 3"),
}


def read_settings(node: YamlNode) -> EvidenceSettings | None:
    """Return the settings, or None after recording what is wrong with them."""
    if not isinstance(node.value, Mapping):
        node.add_mismatch("a mapping")
        return None
    values: dict[str, Any] = read_fields(node, FIELDS)
    return EvidenceSettings(**values)


def merge_settings(layers: Sequence[EvidenceSettings]) -> EvidenceSettings:
    """Return the strictest modes and thresholds, all validators, and the other settings of the highest layer."""
    top = layers[0]
    # The highest layer comes last here, so that its validator wins under an equal name.
    validators = {validator.name: validator for settings in reversed(layers) for validator in settings.validators}
    modes = {
        name: max((getattr(settings, name) for settings in layers), key=MODES.index)
        for name in ("mode", "coverage", "final_block")
    }
    return replace(
        top,
        **modes,
        # More refusals are stricter, lower thresholds are.
        refusals=max(settings.refusals for settings in layers),
        validators=tuple(validators.values()),
        overrides_per_day=min(settings.overrides_per_day for settings in layers),
        crashes_per_hour=min(settings.crashes_per_hour for settings in layers),
    )


SECTION = Section(
    SchemaType(read_settings, mapping_schema(FIELDS), "mapping"),
    "which claims need proof",
    merge_settings,
    default=EvidenceSettings,
)
