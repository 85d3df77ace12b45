"""`verdikt policy show`: print the merged policy, with the source of each part."""

import json
import os
from collections.abc import Iterator
from typing import Any

import click

from verdikt.cli.policy import load_selected_policy, policy_options
from verdikt.graph.combinator import Escalate, Threshold, When
from verdikt.graph.policy import Policy, PolicyLayer
from verdikt.graph.rule import Rule, RuleSet
from verdikt.graph.rule_exception import EXCEPTION_KEYS, exception_from_data
from verdikt.ratchet import describe_pending
from verdikt.report.graph_view import render_graph_text, render_mermaid, render_svg

COLOURS = {"block": "red", "ask": "yellow", "warn": "cyan", "pass": "green"}


@click.command()
@policy_options
@click.option(
    "--graph",
    "form",
    is_flag=False,
    flag_value="text",
    type=click.Choice(["text", "mermaid", "svg"]),
    help="Print the policy graph instead; as text, if no form is named.",
)
def command(file: str | None, project: str, managed: str | None, as_json: bool, form: str | None) -> None:
    """Print the policy on disk: layers, settings, rules and guards, each with its file and line.

    It is in force as it is printed if a person has accepted it; otherwise the accepted one is in force beside it.

    \b
    Example: verdikt policy show --json
             verdikt policy show --graph svg > policy.svg
    """  # noqa: D301
    policy = load_selected_policy(file, project, managed)
    if form:
        graph = describe_node(policy.root)
        renderers = {"text": render_graph_text, "mermaid": render_mermaid, "svg": render_svg}
        click.echo(json.dumps(graph, indent=2) if as_json else renderers[form](graph))
        return
    description = describe_policy(policy)
    description["pending"] = "" if file or managed else describe_pending(os.path.realpath(project), os.environ)
    if as_json:
        click.echo(json.dumps(description, indent=2, ensure_ascii=False))
    else:
        click.echo("\n".join(_render_policy(description)))


def describe_node(node: Any, edge: str = "") -> dict[str, Any]:
    """Return a node of the policy graph and everything below it as plain data."""
    if isinstance(node, RuleSet):
        # A profile has about ninety rules: their number says more than their names, which `show` lists.
        return _describe_graph_node(node.name, "rules", edge, f"{len(node.rules)} rules")
    if isinstance(node, When):
        condition = getattr(node.condition, "text", "") or getattr(node.condition, "__name__", "a condition")
        branches = [describe_node(node.then, f"if {condition}")]
        branches += [describe_node(node.otherwise, "otherwise")] if node.otherwise is not None else []
        return _describe_graph_node(node.name, "when", edge, children=branches)
    if isinstance(node, Escalate):
        branches = [describe_node(node.primary, "primary"), describe_node(node.fallback, "fallback on block")]
        return _describe_graph_node(node.name, "escalate", edge, children=branches)
    children = [describe_node(child) for child in getattr(node, "children", ())]
    notes = [f"{node.n} of {len(children)}"] if isinstance(node, Threshold) else []
    notes += ["short circuit"] if getattr(node, "short_circuit", False) else []
    kind = type(node).__name__.lower() if children else "guard"
    return _describe_graph_node(node.name, kind, edge, ", ".join(notes), children)


def _describe_graph_node(
    name: str, kind: str, edge: str = "", note: str = "", children: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    return {"name": name, "type": kind, "edge": edge, "note": note, "children": children or []}


def describe_policy(policy: Policy) -> dict[str, Any]:
    """Return the merged policy as plain data."""
    layers = [
        {"layer": layer.name, "file": layer.file, "profile": layer.profile, "disabled": list(layer.disabled)}
        for layer in policy.layers
    ]
    return {
        "digest": policy.digest,
        "layers": layers,
        "posture": _describe_setting(policy, "posture", policy.posture.value),
        "unknown_tools": _describe_setting(policy, "unknown_tools", policy.unknown_tools.word),
        "approve": _describe_approvals(policy),
        "exceptions": [
            {**exception.dump(), "from": layer.locate_key("exceptions"), "layer": layer.name, "in_force": layer.trusted}
            for layer in policy.layers
            for exception in layer.exceptions
        ],
        "sections": {
            name: _describe_section(policy, name)
            for name in policy.section_definitions
            if policy.section(name) is not None
        },
        "nodes": [node.name for node in policy.nodes],
        "parts": list(_describe_parts(policy)),
    }


def _describe_setting(policy: Policy, name: str, value: str) -> dict[str, Any]:
    """Return a setting and the layer that decided it: the highest layer that has the value in force."""
    for layer in policy.layers:
        setting = layer.get_setting(name)
        # A setting is one of two enumerations: a verdict kind has `word`, a posture has `value`.
        if setting is not None and value in (getattr(setting, "word", None), getattr(setting, "value", None)):
            return {"value": value, "from": layer.locate_key(name), "layer": layer.name}
    return {"value": value, "from": "default", "layer": "default"}


def _describe_approvals(policy: Policy) -> list[dict[str, Any]]:
    return [
        {
            "from": layer.locate_key("approve"),
            "layer": layer.name,
            "in_force": layer.get_setting("approve") in policy.approvals,
        }
        for layer in policy.layers
        if layer.get_setting("approve")
    ]


def _describe_section(policy: Policy, name: str) -> dict[str, Any]:
    layers = [layer for layer in policy.layers if layer.section(name) is not None]
    return {"from": [layer.locate_key(name) for layer in layers], "layers": [layer.name for layer in layers]}


def _describe_parts(policy: Policy) -> Iterator[dict[str, Any]]:
    """Yield every rule and guard, in the order of evaluation."""
    for layer in policy.layers:
        yield from _describe_layer_parts(layer, layer.name)
        if layer.base is not None:
            yield from _describe_layer_parts(layer.base, f"{layer.name} → {layer.base.name}")


def _describe_layer_parts(layer: PolicyLayer, name: str) -> Iterator[dict[str, Any]]:
    for placed in layer.located_items:
        item = placed.item
        if isinstance(item, Rule):
            details = {"kind": "rule", "verdict": item.verdict.word, "red_line": item.red_line, "reason": item.reason}
        else:
            details = {"kind": "guard", "settings": {key: repr(value) for key, value in placed.settings.items()}}
        yield {"name": item.name, "layer": name, "from": placed.where, **details}


def _render_policy(description: dict[str, Any]) -> Iterator[str]:
    yield f"policy {description['digest'][:12]}"
    for layer in description["layers"]:
        profile = f" on profile {layer['profile']}" if layer["profile"] != "none" else ""
        without = f" without {', '.join(layer['disabled'])}" if layer["disabled"] else ""
        yield f"  {layer['layer']:<10} {layer['file']}{profile}{without}"
    if description["pending"]:
        yield click.style("  pending    ", fg="yellow") + description["pending"]
    yield ""
    for name in ("posture", "unknown_tools"):
        yield f"{name:<14} {description[name]['value']:<12} {_style_dim(description[name]['from'])}"
    for approve in description["approve"]:
        state = "in force" if approve["in_force"] else "not in force"
        yield f"{'approve':<14} {state:<12} {_style_dim(approve['from'])}"
    for exception in description["exceptions"]:
        # A project's file loosens nothing by itself, so what it says is shown and does not hold.
        state = "in force" if exception["in_force"] else "not in force"
        fields = {key: value for key, value in exception.items() if key in EXCEPTION_KEYS}
        summary = exception_from_data(fields).summary
        yield f"{'exception':<14} {state:<12} {summary}  {_style_dim(exception['from'])}"
    for name, section in description["sections"].items():
        yield f"{name:<14} {'':<12} {_style_dim(', '.join(section['from']))}"
    width = max((len(part["name"]) for part in description["parts"]), default=0)
    layer = None
    for part in description["parts"]:
        if part["layer"] != layer:
            layer = part["layer"]
            yield f"\n{layer}"
        word = part.get("verdict", "guard")
        label = click.style(f"{word:<5}", fg=COLOURS.get(word))
        mark = "!" if part.get("red_line") else " "
        yield f"  {label}{mark} {part['name']:<{width}}  {_style_dim(part['from'])}"


def _style_dim(text: str) -> str:
    return click.style(text, dim=True)
