"""Reading of one policy document as one layer: its top-level keys, and the profile it builds on."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from verdikt.graph.graph_reader import NODE_READERS, SHORT_SECTIONS, GraphReader
from verdikt.graph.guard import PolicyNode
from verdikt.graph.matcher import Matcher
from verdikt.graph.policy import NO_PROFILE, PolicyLayer
from verdikt.graph.policy_registry import PolicyRegistry
from verdikt.graph.rule import VERDICT_KINDS, Rule, RuleSet
from verdikt.graph.rule_exception import EXCEPTION_KEYS, RuleException, exception_from_data
from verdikt.model.posture import Posture
from verdikt.model.yaml_document import YamlDocument, to_plain
from verdikt.model.yaml_node import YamlNode

PROFILE_NAMES = ("relaxed", "standard", "strict")

TOP_LEVEL_KEYS: dict[str, str] = {
    "version": "of this format: 1",
    "profile": "the shipped rules to build on; `none` for none but the red lines",
    "disable": "rules of that profile to leave out; red lines stay",
    "posture": "the posture in which sessions start",
    "unknown_tools": "verdict on a tool that is not declared",
    "approve": "effects for which the host need not ask a person",
    "exceptions": "what single rules let through, each with a scope and a reason",
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
"""Top-level key of a policy file → its meaning."""

ReadProfile = Callable[[str], YamlDocument]


def read_layer(
    name: str,
    document: YamlDocument,
    registry: PolicyRegistry,
    profile: ReadProfile,
    *,
    trusted: bool = True,
    default: str = NO_PROFILE,
    red_lines: str = NO_PROFILE,
) -> PolicyLayer | None:
    """Return the layer that a document describes, or None after recording the problems in `document.errors`.

    `default` is the profile of a document that names none. A layer without a profile still gets the red lines of the
    profile `red_lines`, because verdikt protects itself under every policy.
    """
    top = YamlNode.from_document(document)
    # An empty file is a policy that says nothing.
    if document.value is None:
        top = YamlNode(document, (), {})
    nodes_by_key = top.read_mapping(
        [*TOP_LEVEL_KEYS, *registry.sections], what="a policy: a mapping with " + ", ".join(TOP_LEVEL_KEYS)
    )
    if "version" in nodes_by_key and nodes_by_key["version"].value != 1:
        nodes_by_key["version"].add_mismatch("1, the only version there is")
    chosen, disabled, base = _read_profile(top, nodes_by_key, registry, profile, default=default, red_lines=red_lines)
    reader = GraphReader(registry)
    nodes = _read_nodes(top, nodes_by_key, reader)
    posture = _read_choice(nodes_by_key, "posture", tuple(Posture))
    unknown = _read_choice(nodes_by_key, "unknown_tools", tuple(VERDICT_KINDS))
    approve = _read_approvals(nodes_by_key["approve"], reader) if "approve" in nodes_by_key else None
    document.load_object = registry.load
    exceptions = _read_exceptions(nodes_by_key["exceptions"]) if "exceptions" in nodes_by_key else ()
    sections = {
        key: registry.sections[key].schema_type.read(nodes_by_key[key])
        for key in registry.sections
        if key in nodes_by_key
    }
    if document.errors:
        return None
    return PolicyLayer(
        name=name,
        file=document.file,
        document=to_plain(top.value),
        nodes=tuple(nodes),
        located_items=tuple(reader.located_items),
        conditions=tuple(reader.located_conditions),
        profile=chosen or NO_PROFILE,
        base=base,
        disabled=disabled,
        posture=Posture(posture) if posture else None,
        unknown_tools=VERDICT_KINDS[unknown] if unknown else None,
        approve=approve,
        sections=sections,
        where={key: document.format_location((key,), key=True) for key in top.value},
        trusted=trusted,
        exceptions=exceptions,
    )


def _read_profile(
    top: YamlNode,
    nodes_by_key: Mapping[str, YamlNode],
    registry: PolicyRegistry,
    profile: ReadProfile,
    *,
    default: str,
    red_lines: str,
) -> tuple[str | None, tuple[str, ...], PolicyLayer | None]:
    """Return the name of the profile that a document builds on, the rules that it disables, and the layer they leave.

    The name is None where it is none of the profiles.
    """
    chosen = nodes_by_key["profile"].read_choice([*PROFILE_NAMES, NO_PROFILE]) if "profile" in nodes_by_key else default
    disabled = nodes_by_key["disable"].read_texts() if "disable" in nodes_by_key else ()
    base = _read_base_profile(top, chosen, disabled, registry, profile) if chosen and chosen != NO_PROFILE else None
    if base is None and "disable" in nodes_by_key:
        nodes_by_key["disable"].add_error_at_key(
            "`disable`: expected a `profile` whose rules it leaves out, found none"
        )
    # `profile: none` removes the shipped rules, but never verdikt's protection of itself.
    if chosen == NO_PROFILE and red_lines != NO_PROFILE:
        base = _keep_red_lines(_read_base_profile(top, red_lines, (), registry, profile))
    return chosen, disabled, base


def _read_exceptions(node: YamlNode) -> tuple[RuleException, ...]:
    """Return a list of exceptions."""
    exceptions = []
    for item in node.read_items(what="a list of exceptions, as in `[{rule: NAME, path: 'scratch/**', reason: …}]`"):
        fields = item.read_mapping(EXCEPTION_KEYS, what="an exception: a mapping with `rule`, a scope and `reason`")
        values = {
            key: field.read_texts() if key == "path" else field.read_text() or "" for key, field in fields.items()
        }
        for key in ("rule", "reason"):
            if fields and key not in fields:
                item.add_error(f"expected the key `{key}` ({EXCEPTION_KEYS[key]}), found none")
        if {"rule", "reason"} <= fields.keys() and (exception := item.try_build(partial(exception_from_data, values))):
            exceptions.append(exception)
    return tuple(exceptions)


def _read_choice(nodes_by_key: Mapping[str, YamlNode], key: str, choices: Sequence[str]) -> str | None:
    """Return the value of an optional key, one of `choices`; None where the key is missing or wrong."""
    return nodes_by_key[key].read_choice(choices) if key in nodes_by_key else None


def _read_base_profile(
    top: YamlNode, name: str, disabled: tuple[str, ...], registry: PolicyRegistry, profile: ReadProfile
) -> PolicyLayer | None:
    """Return the profile as a layer, without the disabled rules."""
    document = profile(name)
    base = read_layer(f"profile {name}", document, registry, profile)
    top.document.errors += document.errors
    if base is not None and base.base is not None:
        base = _merge_profiles(base, base.base)
    if base is None or not disabled:
        return base
    rules = {located.item.name: located.item for located in base.located_items if isinstance(located.item, Rule)}
    for item in top.get_child("disable").read_one_or_more(what="names of rules"):
        if item.value not in rules:
            item.add_unknown_name(f"rule of the profile `{name}`", str(item.value), rules, at_key=False)
        elif rules[item.value].red_line:
            item.add_error(f"`disable`: expected a rule that can be disabled, found the red line `{item.value}`")
    return _drop_rules(base, frozenset(disabled))


def _keep_red_lines(profile: PolicyLayer | None) -> PolicyLayer | None:
    """Return a profile reduced to its red lines, which no policy can disable."""
    if profile is None:
        return None
    others = (
        located.item
        for located in profile.located_items
        if isinstance(located.item, Rule) and not located.item.red_line
    )
    red_lines = _drop_rules(profile, frozenset(rule.name for rule in others))
    return red_lines._replace(posture=None, unknown_tools=None, approve=None, sections={})


def _merge_profiles(profile: PolicyLayer, base: PolicyLayer) -> PolicyLayer:
    """Return a profile and the one it builds on as one layer; its own settings take precedence."""
    return profile._replace(
        nodes=(*base.nodes, *profile.nodes),
        located_items=(*base.located_items, *profile.located_items),
        document={**profile.document, "profile": base.document},
        posture=profile.get_setting("posture"),
        unknown_tools=profile.get_setting("unknown_tools"),
        approve=profile.get_setting("approve"),
        sections={**base.sections, **profile.sections},
        where={**base.where, **profile.where},
        base=None,
    )


def _drop_rules(base: PolicyLayer, disabled: frozenset[str]) -> PolicyLayer:
    nodes: list[PolicyNode] = []
    for node in base.nodes:
        if not isinstance(node, RuleSet):
            nodes.append(node)
        elif rules := [rule for rule in node.rules if rule.name not in disabled]:
            nodes.append(RuleSet(*rules, name=node.name))
    located_items = (
        item for item in base.located_items if not (isinstance(item.item, Rule) and item.item.name in disabled)
    )
    return base._replace(nodes=tuple(nodes), located_items=tuple(located_items))


def _read_nodes(top: YamlNode, nodes_by_key: dict[str, YamlNode], reader: GraphReader) -> list[PolicyNode]:
    """Return the graph of a document: its short sections, then its nodes as they are written."""
    nodes: list[PolicyNode | None] = [
        reader.read_guard(nodes_by_key[key], SHORT_SECTIONS[key], nodes_by_key[key])
        for key in SHORT_SECTIONS
        if key in nodes_by_key
    ]
    for key, node in nodes_by_key.items():
        if key == "guards":
            nodes += reader.read_children(node)
        elif key in NODE_READERS:
            nodes.append(reader.read_node(YamlNode(top.document, top.path, {key: node.value})))
    return [node for node in nodes if node is not None]


def _read_approvals(node: YamlNode, reader: GraphReader) -> tuple[Matcher, ...]:
    """Return a list of conditions; each must name the effects it approves."""
    matchers = []
    for item in node.read_items(what="a list of conditions, as in `[{class: read, zone: project}]`"):
        matcher = reader.read_matcher(item)
        if matcher is not None and not (matcher.effect or matcher.cls):
            item.add_error("`approve`: expected `class` or `effect`, so that it says what is approved, found neither")
        elif matcher is not None:
            matchers.append(matcher)
    return tuple(matchers)
