"""The `manifest` section of a policy file: tools by name, their effects and the postures in which they may run."""

from collections.abc import Mapping, Sequence
from functools import partial

from verdikt.effects.manifest import Manifest, ToolDeclaration
from verdikt.model.effect import EffectClass
from verdikt.model.posture import Posture
from verdikt.model.schema_type import (
    Field,
    SchemaType,
    Section,
    any_type,
    bool_type,
    choice_list_type,
    mapping_schema,
    read_fields,
    text_type,
)
from verdikt.model.yaml_node import YamlNode

FIELDS: Mapping[str, Field] = {
    "effects": Field(choice_list_type(tuple(EffectClass)), "what the tool does", required=True),
    "permitted_postures": Field(choice_list_type(tuple(Posture)), "the postures in which it may run; absent: all"),
    "require_confirmation": Field(bool_type(), "whether a person must say yes first"),
    "description": Field(text_type(), "what the tool is for"),
    "metadata": Field(any_type("mapping"), "whatever else you want to keep with it"),
}


def read_manifest(node: YamlNode) -> Manifest | None:
    """Return the declared tools; record every mistake on its node."""
    tools: dict[str, ToolDeclaration] = {}
    for name, inner in node.read_mapping().items():
        if not isinstance(inner.value, Mapping):
            inner.add_mismatch("a mapping")
            continue
        values = read_fields(inner, FIELDS)
        if values.get("effects"):
            tool = inner.try_build(partial(ToolDeclaration, name=name, **values))
            if tool is not None:
                tools[name] = tool
    return Manifest(tools)


def merge_manifests(manifests: Sequence[Manifest]) -> Manifest:
    """Return every tool that any layer declares, with the effects and constraints of all layers together."""
    tools: dict[str, ToolDeclaration] = {}
    for manifest in manifests:
        for name, tool in manifest.tools.items():
            tools[name] = _merge_declarations(tools[name], tool) if name in tools else tool
    return Manifest(tools)


def _merge_declarations(upper: ToolDeclaration, lower: ToolDeclaration) -> ToolDeclaration:
    allowed = [set(tool.permitted_postures) for tool in (upper, lower) if tool.permitted_postures is not None]
    # Without a common posture the upper layer wins: an empty set would mean that the tool may never run.
    postures = tuple(set.intersection(*allowed)) or upper.permitted_postures if allowed else None
    return ToolDeclaration(
        name=upper.name,
        effects=upper.effects + lower.effects,
        description=upper.description or lower.description,
        permitted_postures=postures,
        require_confirmation=upper.require_confirmation or lower.require_confirmation,
        metadata={**lower.metadata, **upper.metadata},
    )


SECTION = Section(
    SchemaType(read_manifest, {"type": "object", "additionalProperties": mapping_schema(FIELDS)}, "tools by name"),
    "which tools exist and what they do",
    merge_manifests,
)
