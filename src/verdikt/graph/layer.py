"""One document of a policy → one layer: its top-level keys, and the profile it builds on."""

from collections.abc import Callable

from verdikt.graph.config import NODES, SHORT, GraphReader
from verdikt.graph.guard import PolicyNode
from verdikt.graph.match import Matcher
from verdikt.graph.policy import NO_PROFILE, PolicyLayer
from verdikt.graph.registry import Registry
from verdikt.graph.rule import VERDICTS, Rule, RuleSet
from verdikt.model.document import Document, plain
from verdikt.model.node import Node
from verdikt.model.posture import Posture
from verdikt.model.value import replace

PROFILES = ("relaxed", "standard", "strict")

KEYS: dict[str, str] = {
    "version": "of this format: 1",
    "profile": "the shipped rules to build on; `none` for none but the red lines",
    "disable": "rules of that profile to leave out; red lines stay",
    "posture": "the posture in which sessions start",
    "unknown_tools": "what is said of a tool that nobody declared",
    "approve": "effects for which the host need not ask a person",
    "boundaries": "where files may be touched: the settings of the guard `file_boundary`",
    "bash_safety": "which commands are refused: the settings of the guard `bash_safety`",
    "guards": "guards and combinators, all of which must pass",
    "rules": "rules, all of which must pass",
    "all": "children, all of which must pass",
    "any": "children, one of which must pass",
    "not": "a child that must block",
    "when": "a condition and what follows from it",
    "threshold": "children, some of which must pass",
    "escalate": "a child and what decides when it blocks",
}
"""Top-level key of a policy file → what it is for."""

ReadProfile = Callable[[str], Document]


def read_layer(
    name: str,
    document: Document,
    registry: Registry,
    profile: ReadProfile,
    *,
    trusted: bool = True,
    default: str = NO_PROFILE,
    red_lines: str = NO_PROFILE,
) -> PolicyLayer | None:
    """The layer that a document describes, or None after recording what is wrong with it in `document.faults`.

    `default` is the profile it builds on when it names none. One that builds on none has the red lines
    of the profile `red_lines` all the same: verdikt guards itself whatever it is told to guard.
    """
    top = Node.top(document)
    if document.value is None:
        top = Node(document, (), {})
    given = top.mapping([*KEYS, *registry.sections], what="a policy: a mapping with " + ", ".join(KEYS))
    if "version" in given and given["version"].value != 1:
        given["version"].expected("1, the only version there is")
    chosen = given["profile"].choice([*PROFILES, NO_PROFILE]) if "profile" in given else default
    disabled = given["disable"].texts() if "disable" in given else ()
    base = _base(top, chosen, disabled, registry, profile) if chosen and chosen != NO_PROFILE else None
    if base is None and "disable" in given:
        given["disable"].fault_at_key("`disable`: expected a `profile` whose rules it leaves out, found none")
    if chosen == NO_PROFILE and red_lines != NO_PROFILE:
        base = _red_lines(_base(top, red_lines, (), registry, profile))
    reader = GraphReader(registry)
    nodes = _nodes(top, given, reader)
    posture = given["posture"].choice(tuple(Posture)) if "posture" in given else None
    unknown = given["unknown_tools"].choice(tuple(VERDICTS)) if "unknown_tools" in given else None
    approve = _approve(given["approve"], reader) if "approve" in given else None
    sections = {key: registry.sections[key].shape.read(given[key]) for key in registry.sections if key in given}
    if document.faults:
        return None
    return PolicyLayer(
        name=name,
        file=document.file,
        document=plain(top.value),
        nodes=tuple(nodes),
        placed=tuple(reader.placed),
        conditions=tuple(reader.conditions_placed),
        profile=chosen or NO_PROFILE,
        base=base,
        disabled=disabled,
        posture=Posture(posture) if posture else None,
        unknown_tools=VERDICTS[unknown] if unknown else None,
        approve=approve,
        sections=sections,
        where={key: document.where((key,), key=True) for key in top.value},
        trusted=trusted,
    )


def _base(
    top: Node, name: str, disabled: tuple[str, ...], registry: Registry, profile: ReadProfile
) -> PolicyLayer | None:
    """The profile as a layer, without the rules that are disabled."""
    document = profile(name)
    base = read_layer(f"profile {name}", document, registry, profile)
    top.document.faults += document.faults
    if base is not None and base.base is not None:
        base = _whole(base, base.base)
    if base is None or not disabled:
        return base
    rules = {placed.item.name: placed.item for placed in base.placed if isinstance(placed.item, Rule)}
    for item in top.child("disable").one_or_more(what="names of rules"):
        if item.value not in rules:
            item.unknown(f"rule of the profile `{name}`", str(item.value), rules, at_key=False)
        elif rules[item.value].red_line:
            item.fault(f"`disable`: expected a rule that can be disabled, found the red line `{item.value}`")
    return _without(base, frozenset(disabled))


def _red_lines(profile: PolicyLayer | None) -> PolicyLayer | None:
    """Nothing of a profile but what no policy can take away."""
    if profile is None:
        return None
    others = (placed.item for placed in profile.placed if isinstance(placed.item, Rule) and not placed.item.red_line)
    left = _without(profile, frozenset(rule.name for rule in others))
    return replace(left, posture=None, unknown_tools=None, approve=None, sections={})


def _whole(profile: PolicyLayer, below: PolicyLayer) -> PolicyLayer:
    """A profile that builds on another, as one layer: what it does not say itself comes from below."""
    from dataclasses import replace

    return replace(
        profile,
        nodes=(*below.nodes, *profile.nodes),
        placed=(*below.placed, *profile.placed),
        document={**profile.document, "profile": below.document},
        posture=profile.setting("posture"),
        unknown_tools=profile.setting("unknown_tools"),
        approve=profile.setting("approve"),
        sections={**below.sections, **profile.sections},
        where={**below.where, **profile.where},
        base=None,
    )


def _without(base: PolicyLayer, disabled: frozenset[str]) -> PolicyLayer:
    nodes: list[PolicyNode] = []
    for node in base.nodes:
        if not isinstance(node, RuleSet):
            nodes.append(node)
        elif rules := [rule for rule in node.rules if rule.name not in disabled]:
            nodes.append(RuleSet(*rules, name=node.name))
    placed = (item for item in base.placed if not (isinstance(item.item, Rule) and item.item.name in disabled))
    return replace(base, nodes=tuple(nodes), placed=tuple(placed))


def _nodes(top: Node, given: dict[str, Node], reader: GraphReader) -> list[PolicyNode]:
    """The graph of a document: its short sections, then its nodes in the order in which they are written."""
    found: list[PolicyNode | None] = [reader.guard(given[key], SHORT[key], given[key]) for key in SHORT if key in given]
    for key, node in given.items():
        if key == "guards":
            found += reader.children(node)
        elif key in NODES:
            found.append(reader.node(Node(top.document, top.path, {key: node.value})))
    return [node for node in found if node is not None]


def _approve(node: Node, reader: GraphReader) -> tuple[Matcher, ...]:
    """A list of conditions; each must say which effects it approves."""
    matchers = []
    for item in node.items(what="a list of conditions, as in `[{class: read, zone: project}]`"):
        matcher = reader.matcher(item)
        if matcher is not None and not (matcher.effect or matcher.cls):
            item.fault("`approve`: expected `class` or `effect`, so that it says what is approved, found neither")
        elif matcher is not None:
            matchers.append(matcher)
    return tuple(matchers)
