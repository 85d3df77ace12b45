"""Classify calls of declared tools: a call has the effects that the manifest declares, whatever its arguments."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from verdikt.effects.manifest import Manifest, ToolDeclaration
from verdikt.errors import CanonicalError, HookError
from verdikt.model.canonical_json import encode_canonical, freeze, parse_json, sha256_hex
from verdikt.model.effect import EffectClass, most_restrictive
from verdikt.model.posture import Posture, dispose
from verdikt.model.spine import SpineReceipt, render_rationale


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A tool that an agent wants to call, with its arguments."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "arguments", freeze(self.arguments))


@dataclass(frozen=True, slots=True, kw_only=True)
class Classification:
    """The declared effects of one call. `rationale` is part of the receipt, byte for byte."""

    tool: str
    effects: tuple[EffectClass, ...]
    most_restrictive: EffectClass
    rationale: str

    def dump(self) -> dict[str, Any]:
        """Return the classification as plain data."""
        return {
            "tool": self.tool,
            "effects": [effect.value for effect in self.effects],
            "most_restrictive": self.most_restrictive.value,
            "rationale": self.rationale,
        }


def classify_declared(call: ToolCall, manifest: Manifest) -> Classification:
    """Return the declared effects of a call; raise `ManifestError` for a tool that the manifest does not declare."""
    return _classify_declaration(manifest.get(call.tool))


def _classify_declaration(tool: ToolDeclaration) -> Classification:
    dominant = most_restrictive(tool.effects)
    return Classification(
        tool=tool.name,
        effects=tool.effects,
        most_restrictive=dominant,
        rationale=render_rationale(tool.name, tool.effects, dominant),
    )


def receive(payload: str | bytes) -> ToolCall:
    """Parse the tool call in a hook's input; keys other than `tool` and `arguments` are ignored."""
    try:
        document = parse_json(payload)
    except CanonicalError as error:
        raise HookError(f"payload is not valid JSON: {error}") from error
    if not isinstance(document, dict):
        raise HookError("payload must be a JSON object at the top level")
    tool = document.get("tool")
    if not isinstance(tool, str) or not tool:
        raise HookError("payload missing 'tool' string field")
    arguments = document.get("arguments", {})
    if not isinstance(arguments, dict):
        raise HookError("'arguments' field must be a JSON object if present")
    try:
        encode_canonical(arguments)
    except CanonicalError as error:
        raise HookError(f"'arguments' cannot be put in a receipt: {error}") from error
    return ToolCall(tool=tool, arguments=arguments)


def judge(call: ToolCall, manifest: Manifest, posture: Posture = Posture.INTERACTIVE) -> SpineReceipt:
    """Classify a call by a manifest, settle it with a posture, and return the receipt."""
    tool = manifest.get(call.tool)
    classification = _classify_declaration(tool)
    return SpineReceipt(
        tool=call.tool,
        arguments=call.arguments,
        effects=classification.effects,
        most_restrictive=classification.most_restrictive,
        rationale=classification.rationale,
        posture=posture,
        disposition=dispose(
            posture,
            classification.most_restrictive,
            permitted=tool.permitted_postures,
            confirm=tool.require_confirmation,
        ),
        require_confirmation=tool.require_confirmation,
        manifest_sha256=sha256_hex(manifest.bytes),
    )
