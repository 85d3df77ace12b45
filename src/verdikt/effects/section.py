"""The `manifest` section of a policy file: tools by name, each with what it does and when it may run."""

from collections.abc import Mapping, Sequence
from functools import partial

from verdikt.effects.manifest import Manifest, ToolDeclaration
from verdikt.model.effect import EffectClass
from verdikt.model.node import Node
from verdikt.model.posture import Posture
from verdikt.model.shape import Field, Section, Shape, anything, choices, flag, read_fields, record_schema, text

FIELDS: Mapping[str, Field] = {
    "effects": Field(choices(tuple(EffectClass)), "what the tool does", required=True),
    "permitted_postures": Field(choices(tuple(Posture)), "the postures in which it may run; absent: all"),
    "require_confirmation": Field(flag(), "whether a person must say yes first"),
    "description": Field(text(), "what the tool is for"),
    "metadata": Field(anything("mapping"), "whatever else you want to keep with it"),
}


def read(node: Node) -> Manifest | None:
    """The tools, or None after recording what is wrong with them."""
    tools: dict[str, ToolDeclaration] = {}
    for name, inner in node.mapping().items():
        if not isinstance(inner.value, Mapping):
            inner.expected("a mapping")
            continue
        values = read_fields(inner, FIELDS)
        if values.get("effects"):
            tool = inner.build(partial(ToolDeclaration, name=name, **values))
            if tool is not None:
                tools[name] = tool
    return Manifest(tools)


def merge(values: Sequence[Manifest]) -> Manifest:
    """Every tool that a layer declares, with all the effects and all the constraints that any of them gives it."""
    tools: dict[str, ToolDeclaration] = {}
    for manifest in values:
        for name, tool in manifest.tools.items():
            tools[name] = _both(tools[name], tool) if name in tools else tool
    return Manifest(tools)


def _both(upper: ToolDeclaration, lower: ToolDeclaration) -> ToolDeclaration:
    allowed = [set(tool.permitted_postures) for tool in (upper, lower) if tool.permitted_postures is not None]
    # Where the two leave no posture in common, the upper layer's word stands.
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
    Shape(read, {"type": "object", "additionalProperties": record_schema(FIELDS)}, "tools by name"),
    "which tools exist and what they do",
    merge,
)
