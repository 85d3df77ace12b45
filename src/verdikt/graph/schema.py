"""The policy file as JSON Schema, for editors: made from the definitions by which the file is read."""

from collections.abc import Mapping
from typing import Any

from verdikt.graph.config import CONDITION, NODES, OPTIONS, PARTS, SHORT, GraphReader
from verdikt.graph.layer import KEYS, PROFILES
from verdikt.graph.policy import NO_PROFILE
from verdikt.graph.registry import Registry
from verdikt.graph.rule import VERDICTS
from verdikt.graph.settings import settings_of
from verdikt.model.posture import Posture
from verdikt.model.shape import record_schema

_NODE = {"$ref": "#/$defs/node"}
_NODES = {"type": "array", "items": _NODE, "minItems": 1}
_RULES = {"type": "array", "items": {"$ref": "#/$defs/rule"}, "minItems": 1}
_PARTS: dict[str, Mapping[str, Any]] = {
    "condition": CONDITION.schema,
    "count": {"type": "integer", "minimum": 1},
    "node": _NODE,
    "nodes": _NODES,
}


def policy_schema(registry: Registry) -> dict[str, Any]:
    """JSON Schema (2020-12) of a policy file."""
    reader = GraphReader(registry)
    approve = record_schema(reader.conditions())
    approve["anyOf"] = [{"required": ["class"]}, {"required": ["effect"]}]
    values: dict[str, Mapping[str, Any]] = {
        "version": {"const": 1},
        "profile": {"enum": [*PROFILES, NO_PROFILE]},
        "disable": {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]},
        "posture": {"enum": [posture.value for posture in Posture]},
        "unknown_tools": {"enum": list(VERDICTS)},
        "approve": {"type": "array", "items": approve},
        "guards": _NODES,
        **{key: {"$ref": f"#/$defs/guard_{guard}"} for key, guard in SHORT.items() if guard in registry.guards},
        **{kind: _value(kind) for kind in NODES if kind in KEYS},
    }
    properties = {key: {**values[key], "description": about} for key, about in KEYS.items() if key in values}
    for name, section in registry.sections.items():
        properties[name] = {**section.shape.schema, "description": section.about}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "verdikt policy",
        "type": ["object", "null"],
        "additionalProperties": False,
        "properties": properties,
        "$defs": _definitions(registry, reader),
    }


def _definitions(registry: Registry, reader: GraphReader) -> dict[str, Any]:
    guards = {name: _settings(registry, name) for name in registry.guards}
    conditions = record_schema(reader.conditions())
    conditions["minProperties"] = 1
    rule = record_schema(reader.rule_fields())
    rule["if"] = {"properties": {"verdict": {"enum": ["ask", "block"]}}}
    rule["then"] = {"required": ["reason", "fix"]}
    names = {"type": "string", "enum": [*registry.guards]}
    nodes = [_combinator(kind) for kind in NODES]
    nodes += [_one(name, {"$ref": f"#/$defs/guard_{name}"}, {}) for name in registry.guards]
    return {
        "conditions": conditions,
        "rule": rule,
        "node": {"oneOf": [names, *nodes]},
        **{f"guard_{name}": schema for name, schema in guards.items()},
    }


def _combinator(kind: str) -> dict[str, Any]:
    options = {key: {**option.shape.schema, "description": option.about} for key, option in OPTIONS[kind].items()}
    return _one(kind, _value(kind), options)


def _one(kind: str, value: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """A mapping that has this key, and beside it only these options."""
    properties = {kind: value, **options}
    return {"type": "object", "required": [kind], "additionalProperties": False, "properties": properties}


def _value(kind: str) -> dict[str, Any]:
    """What stands under the key of a node."""
    match kind:
        case "all" | "any":
            return _NODES
        case "not":
            return _NODE
        case "rules":
            return _RULES
        case "use":
            return {"type": "string", "pattern": r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*$"}
    schema: dict[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {part: _PARTS[what] for part, (what, _) in PARTS[kind].items()},
        "required": [part for part, (_, required) in PARTS[kind].items() if required],
    }
    if kind == "threshold":
        schema["oneOf"] = [{"required": ["at_least"]}, {"required": ["n"]}]
    return schema


def _settings(registry: Registry, name: str) -> dict[str, Any]:
    fields = settings_of(registry.guard(name))
    if fields is None:
        return {"type": ["object", "null"]}
    schema = record_schema(fields)
    if "required" not in schema:
        schema["type"] = ["object", "null"]
    return schema
