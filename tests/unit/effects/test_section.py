"""The manifest section of a policy file: read with locations, merged without loosening."""

import pytest

from verdikt.effects.manifest import parse_manifest
from verdikt.effects.section import merge_manifests
from verdikt.errors import PolicyError
from verdikt.graph.policy import Policy
from verdikt.model.effect import EffectClass
from verdikt.model.posture import Posture
from verdikt.model.yaml_document import parse_document
from verdikt.observe.policy_files import PolicyFile
from verdikt.policy import build_policy


def parse_policy(text: str) -> Policy:
    """Return the policy of a text, on top of a profile with one rule."""
    rule = b"rules: [{name: r, tool: nothing, verdict: warn, reason: none}]"
    return build_policy(
        [PolicyFile("file", "governance.yaml", text.encode())],
        read_profile_document=lambda name: parse_document(rule, name),
    )


def test_section_declares_tools_by_name() -> None:
    """A tool has the same fields as in a manifest file; its key is its name."""
    policy = parse_policy(
        "manifest:\n"
        "  deploy: {effects: [network, execute], permitted_postures: [interactive], require_confirmation: true}\n"
        "  look: {effects: read}\n"
    )

    manifest = policy.section("manifest")

    assert manifest.get("deploy").effects == (EffectClass.EXECUTE, EffectClass.NETWORK)
    assert manifest.get("deploy").permitted_postures == (Posture.INTERACTIVE,)
    assert manifest.get("look").effects == (EffectClass.READ,)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("manifest:\n  t: {effects: [fly]}", "governance.yaml:2:17: "),
        ("manifest:\n  t: {permitted_postures: [locked]}", "expected the key `effects`"),
        ("manifest:\n  t: {effects: [read], colour: red}", "colour"),
        ("manifest:\n  t: read", "expected a mapping"),
        ("manifest: [t]", "expected a mapping"),
    ],
)
def test_invalid_section_is_refused_with_its_location(text: str, message: str) -> None:
    """The error names file, line and column, what was expected and what was found."""
    with pytest.raises(PolicyError) as refusal:
        parse_policy(text)
    assert message in str(refusal.value)


def test_lower_layer_can_only_add_effects_and_constraints() -> None:
    """A merged tool has the effects and constraints of both layers; a tool of one layer is kept."""
    upper = parse_manifest(
        {"tools": {"t": {"name": "t", "effects": ["network"], "permitted_postures": ["interactive", "locked"]}}}
    )
    lower = parse_manifest(
        {
            "tools": {
                "t": {
                    "name": "t",
                    "effects": ["read"],
                    "require_confirmation": True,
                    "permitted_postures": ["interactive"],
                },
                "u": {"name": "u", "effects": ["read"]},
            }
        }
    )

    merged = merge_manifests([upper, lower])

    assert merged.get("t").effects == (EffectClass.NETWORK, EffectClass.READ)
    assert merged.get("t").permitted_postures == (Posture.INTERACTIVE,)
    assert merged.get("t").require_confirmation
    assert merged.get("u") == lower.get("u")
    apart = parse_manifest({"tools": {"t": {"name": "t", "effects": ["read"], "permitted_postures": ["dry_run"]}}})
    assert merge_manifests([upper, apart]).get("t").permitted_postures == (Posture.INTERACTIVE, Posture.LOCKED)
