"""The manifest in a policy file: read with places, merged without loosening."""

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
    """The policy in a text, over a profile with one rule."""
    rule = b"rules: [{name: r, tool: nothing, verdict: warn, reason: none}]"
    return build_policy(
        [PolicyFile("file", "governance.yaml", text.encode())],
        read_profile_document=lambda name: parse_document(rule, name),
    )


def test_tools_are_declared_by_name() -> None:
    """The same fields as in a manifest of its own, without the name said twice."""
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
    ("text", "says"),
    [
        ("manifest:\n  t: {effects: [fly]}", "governance.yaml:2:17: "),
        ("manifest:\n  t: {permitted_postures: [locked]}", "expected the key `effects`"),
        ("manifest:\n  t: {effects: [read], colour: red}", "colour"),
        ("manifest:\n  t: read", "expected a mapping"),
        ("manifest: [t]", "expected a mapping"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(text: str, says: str) -> None:
    """File, line and column, what was expected and what was found."""
    with pytest.raises(PolicyError) as refusal:
        parse_policy(text)
    assert says in str(refusal.value)


def test_a_lower_layer_can_only_add_effects_and_constraints() -> None:
    """Whatever either layer says of a tool holds; what only one declares is kept."""
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

    both = merge_manifests([upper, lower])

    assert both.get("t").effects == (EffectClass.NETWORK, EffectClass.READ)
    assert both.get("t").permitted_postures == (Posture.INTERACTIVE,)
    assert both.get("t").require_confirmation
    assert both.get("u") == lower.get("u")
    apart = parse_manifest({"tools": {"t": {"name": "t", "effects": ["read"], "permitted_postures": ["dry_run"]}}})
    assert merge_manifests([upper, apart]).get("t").permitted_postures == (Posture.INTERACTIVE, Posture.LOCKED)
