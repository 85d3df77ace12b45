"""JSON Schema of the policy file for editors, derived from the definitions by which the file is read."""

from collections.abc import Mapping
from typing import Any

from verdikt.graph.graph_reader import (
    COMBINATOR_PARTS,
    CONDITION_TYPE,
    NODE_OPTIONS,
    NODE_READERS,
    SHORT_SECTIONS,
    GraphReader,
)
from verdikt.graph.guard_settings import infer_settings
from verdikt.graph.layer_reader import PROFILE_NAMES, TOP_LEVEL_KEYS
from verdikt.graph.policy import NO_PROFILE
from verdikt.graph.policy_registry import PolicyRegistry
from verdikt.graph.rule import VERDICT_KINDS
from verdikt.graph.rule_exception import EXCEPTION_KEYS
from verdikt.model.posture import Posture
from verdikt.model.schema_type import mapping_schema

_NODE_REF = {"$ref": "#/$defs/node"}
_NODE_LIST = {"type": "array", "items": _NODE_REF, "minItems": 1}
_RULE_LIST = {"type": "array", "items": {"$ref": "#/$defs/rule"}, "minItems": 1}
_PART_SCHEMAS: dict[str, Mapping[str, Any]] = {
    "condition": CONDITION_TYPE.json_schema,
    "count": {"type": "integer", "minimum": 1},
    "node": _NODE_REF,
    "nodes": _NODE_LIST,
}


def build_policy_schema(registry: PolicyRegistry) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a policy file."""
    reader = GraphReader(registry)
    approve = mapping_schema(reader.condition_fields())
    approve["anyOf"] = [{"required": ["class"]}, {"required": ["effect"]}]
    values: dict[str, Mapping[str, Any]] = {
        "version": {"const": 1},
        "profile": {"enum": [*PROFILE_NAMES, NO_PROFILE]},
        "disable": {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]},
        "posture": {"enum": [posture.value for posture in Posture]},
        "unknown_tools": {"enum": list(VERDICT_KINDS)},
        "approve": {"type": "array", "items": approve},
        "exceptions": {"type": "array", "items": _build_exception_schema()},
        "guards": _NODE_LIST,
        **{
            key: {"$ref": f"#/$defs/guard_{guard}"} for key, guard in SHORT_SECTIONS.items() if guard in registry.guards
        },
        **{kind: _node_value_schema(kind) for kind in NODE_READERS if kind in TOP_LEVEL_KEYS},
    }
    properties = {key: {**values[key], "description": about} for key, about in TOP_LEVEL_KEYS.items() if key in values}
    for name, section in registry.sections.items():
        properties[name] = {**section.schema_type.json_schema, "description": section.description}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "verdikt policy",
        "type": ["object", "null"],
        "additionalProperties": False,
        "properties": properties,
        "$defs": _build_definitions(registry, reader),
    }


def _build_exception_schema() -> dict[str, Any]:
    text = {"type": "string"}
    texts = {"oneOf": [text, {"type": "array", "items": text, "minItems": 1}]}
    return {
        "type": "object",
        "additionalProperties": False,
        "required": ["rule", "reason"],
        "anyOf": [{"required": [key]} for key in ("path", "command", "tool")],
        "properties": {
            key: {**(texts if key == "path" else text), "description": about} for key, about in EXCEPTION_KEYS.items()
        },
    }


def _build_definitions(registry: PolicyRegistry, reader: GraphReader) -> dict[str, Any]:
    guards = {name: _settings_schema(registry, name) for name in registry.guards}
    conditions = mapping_schema(reader.condition_fields())
    conditions["minProperties"] = 1
    rule = mapping_schema(reader.rule_fields())
    # As in `Rule`: a verdict that stops the agent needs a reason and a fix.
    rule["if"] = {"properties": {"verdict": {"enum": ["ask", "block"]}}}
    rule["then"] = {"required": ["reason", "fix"]}
    names = {"type": "string", "enum": [*registry.guards]}
    nodes = [_combinator_schema(kind) for kind in NODE_READERS]
    nodes += [_single_key_schema(name, {"$ref": f"#/$defs/guard_{name}"}, {}) for name in registry.guards]
    return {
        "conditions": conditions,
        "rule": rule,
        "node": {"oneOf": [names, *nodes]},
        **{f"guard_{name}": schema for name, schema in guards.items()},
    }


def _combinator_schema(kind: str) -> dict[str, Any]:
    options = {
        key: {**option.schema_type.json_schema, "description": option.description}
        for key, option in NODE_OPTIONS[kind].items()
    }
    return _single_key_schema(kind, _node_value_schema(kind), options)


def _single_key_schema(kind: str, value: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a mapping that has this key, and beside it only these options."""
    properties = {kind: value, **options}
    return {"type": "object", "required": [kind], "additionalProperties": False, "properties": properties}


def _node_value_schema(kind: str) -> dict[str, Any]:
    """Return the schema of the value under a node's key."""
    match kind:
        case "all" | "any":
            return _NODE_LIST
        case "not":
            return _NODE_REF
        case "rules":
            return _RULE_LIST
        case "use":
            return {"type": "string", "pattern": r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*$"}
    schema: dict[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {part: _PART_SCHEMAS[what] for part, (what, _) in COMBINATOR_PARTS[kind].items()},
        "required": [part for part, (_, required) in COMBINATOR_PARTS[kind].items() if required],
    }
    if kind == "threshold":
        schema["oneOf"] = [{"required": ["at_least"]}, {"required": ["n"]}]
    return schema


def _settings_schema(registry: PolicyRegistry, name: str) -> dict[str, Any]:
    fields = infer_settings(registry.get_guard_class(name))
    if fields is None:
        return {"type": ["object", "null"]}
    schema = mapping_schema(fields)
    # A guard without required settings may be written as `name:` with nothing after it, which is null.
    if "required" not in schema:
        schema["type"] = ["object", "null"]
    return schema
