"""The sections `tool_policies`, `feedback` and `completion` of a policy file."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass, replace
from typing import Any

from verdikt.graph.guard import PolicyNode
from verdikt.graph.guard_node import to_node as as_node
from verdikt.guidance.audience import Audience
from verdikt.guidance.budget import Budget
from verdikt.guidance.completion import (
    CommandChecker,
    Completion,
    CompositeChecker,
    EvidenceChecker,
    FileOutputChecker,
    FindingsChecker,
    TaskCompletionChecker,
)
from verdikt.guidance.feedback import FeedbackProviderConfig, FeedbackTrigger, FileCreatedTrigger
from verdikt.guidance.kind_reader import KindReader, list_items
from verdikt.guidance.parameter_policies import ParameterPolicy, ReadBeforeWritePolicy
from verdikt.guidance.provider import (
    BlockedStreakFeedback,
    BudgetFeedback,
    DeadlineFeedback,
    OpenFindingsFeedback,
    StaleEvidenceFeedback,
    StaticFeedbackProvider,
    UnprovenClaimFeedback,
)
from verdikt.guidance.sequence import ForbiddenSequencePolicy, OncePolicy, RateLimitPolicy, SequentialDependencyPolicy
from verdikt.guidance.tool_policy import ToolPolicy, ToolPolicyGuard
from verdikt.model.schema_type import (
    Field,
    SchemaType,
    Section,
    choice_type,
    int_type,
    mapping_schema,
    mapping_type,
    number_type,
    read_fields,
    text_list_type,
    text_type,
)
from verdikt.model.session_state import MEMORY_SCOPES
from verdikt.model.yaml_node import YamlNode

POLICIES: Mapping[str, Any] = {
    "sequential_dependency": SequentialDependencyPolicy,
    "read_before_write": ReadBeforeWritePolicy,
    "rate_limit": RateLimitPolicy,
    "once": OncePolicy,
    "forbidden_sequence": ForbiddenSequencePolicy,
    "parameters": ParameterPolicy,
}
"""Name of a tool policy in a file → its class."""

PROVIDERS: Mapping[str, Any] = {
    "static": StaticFeedbackProvider,
    "deadline": DeadlineFeedback,
    "blocked_streak": BlockedStreakFeedback,
    "stale_evidence": StaleEvidenceFeedback,
    "open_findings": OpenFindingsFeedback,
    "budget": BudgetFeedback,
    "unproven_claim": UnprovenClaimFeedback,
}
"""Name of a feedback provider in a file → its class."""

CHECKERS: Mapping[str, Any] = {
    "files": FileOutputChecker,
    "command": CommandChecker,
    "evidence": EvidenceChecker,
    "findings": FindingsChecker,
}
"""Name of a check in a file → its class."""

SCOPE_FIELDS: Mapping[str, Field] = {
    "agents": Field(text_list_type(), "names of the agents it is for; absent: all"),
    "prompts": Field(text_list_type(), "names of the prompts or task types it is for; absent: all"),
    "tools": Field(text_list_type(), "names of the tools it is for; absent: all"),
}
LASTING_FIELD: Mapping[str, Field] = {
    "scope": Field(choice_type(MEMORY_SCOPES), "how long it remembers: in a session, in the project, or for the user"),
}
TRIGGER_FIELDS: Mapping[str, Field] = {
    "every_n_calls": Field(int_type(1), "after so many calls since it last spoke"),
    "every_n_seconds": Field(number_type(0.001), "after so many seconds since it last spoke"),
    "on_file_created": Field(text_type(), "once, when this file first exists"),
}


_POLICY_READER = KindReader(POLICIES, {**SCOPE_FIELDS, **LASTING_FIELD}, "tool policy", ("check", "on_result"))
_PROVIDER_READER = KindReader(
    PROVIDERS, {**TRIGGER_FIELDS, **SCOPE_FIELDS}, "feedback provider", ("should_run", "provide")
)
_CHECK_READER = KindReader(CHECKERS, {}, "check", ("check",))


def read_policies(node: YamlNode) -> tuple[ToolPolicyGuard, ...]:
    """Read the section `tool_policies`."""
    guards: list[ToolPolicyGuard] = []
    for item, policy, scope in _POLICY_READER.read_items(node, "tool policies"):
        # Within one file an equal name is a mistake; across layers it is normal, see `merge_policies`.
        if any(guard.name == policy.name for guard in guards):
            item.add_error(f"expected each name of a tool policy once, found `{policy.name}` again: give it a `name`")
            continue
        lasting = scope.pop("scope", MEMORY_SCOPES[0])
        guards.append(ToolPolicyGuard(policy, Audience(**scope), lasting=lasting))
    return tuple(guards)


def read_feedback(node: YamlNode) -> tuple[FeedbackProviderConfig, ...]:
    """Read the section `feedback`."""
    configs: list[FeedbackProviderConfig] = []
    for item, provider, options in _PROVIDER_READER.read_items(node, "feedback providers"):
        trigger = {key: options[key] for key in TRIGGER_FIELDS if key in options}
        if not trigger:
            item.add_error(f"expected a trigger ({', '.join(TRIGGER_FIELDS)}), found none: it would never speak")
            continue
        if "on_file_created" in trigger:
            trigger["on_file_created"] = FileCreatedTrigger(trigger["on_file_created"])
        scope = Audience(**{key: options[key] for key in SCOPE_FIELDS if key in options})
        configs.append(FeedbackProviderConfig(provider, FeedbackTrigger(**trigger), scope=scope))
    return tuple(configs)


def read_completion(node: YamlNode) -> tuple[Completion, ...] | None:
    """Read the section `completion`."""
    before = len(node.document.errors)
    values = read_fields(node, COMPLETION_FIELDS)
    if len(node.document.errors) > before or "checks" not in values:
        return None
    checks = tuple(values.pop("checks"))
    every = values.pop("require", "all") == "all"
    checker = checks[0] if len(checks) == 1 else CompositeChecker(checks, every)
    if agents := values.pop("agents", ()):
        values["scope"] = Audience(agents=agents)
    completion = node.try_build(lambda: Completion(checker=checker, **values))
    return None if completion is None else (completion,)


def _read_check(node: YamlNode) -> TaskCompletionChecker | None:
    for key, every in (("all", True), ("any", False)):
        if isinstance(node.value, Mapping) and list(node.value) == [key]:
            inner = [_read_check(item) for item in list_items(node.get_child(key), "checks")]
            return CompositeChecker(tuple(check for check in inner if check is not None), every)
    read = _CHECK_READER.read_item(node)
    return None if read is None else read[0]


def _read_checks(node: YamlNode) -> list[TaskCompletionChecker]:
    return [check for item in list_items(node, "checks") if (check := _read_check(item)) is not None]


def _read_budget(node: YamlNode) -> Budget | None:
    values = read_fields(node, BUDGET_FIELDS)
    return node.try_build(lambda: Budget(**values))


BUDGET_FIELDS: Mapping[str, Field] = {
    "calls": Field(number_type(0), "tool calls, the refused ones included"),
    "tasks": Field(number_type(0), "tasks given to other agents"),
    "tokens": Field(number_type(0), "tokens, where the host tells them"),
    "seconds": Field(number_type(0), "seconds since the session's first call"),
    "cost": Field(number_type(0), "cost, where the host tells it"),
}
COMPLETION_FIELDS: Mapping[str, Field] = {
    "checks": Field(
        SchemaType(_read_checks, {"type": "array", "items": {"type": "object"}, "minItems": 1}, "a list of checks"),
        "what must be true before the agent may stop",
        required=True,
    ),
    "require": Field(choice_type(("all", "any")), "whether every check must pass, or one of them"),
    "budget": Field(
        SchemaType(_read_budget, mapping_schema(BUDGET_FIELDS), "mapping of limits"),
        "once it is used up, nothing is checked",
    ),
    "deadline_seconds": Field(number_type(1), "seconds since the session's first call after which nothing is checked"),
    "refusals": Field(int_type(1, 100), "how often in a row a stop is refused for one reason"),
    "remind_every_n_calls": Field(int_type(0), "after so many calls the agent is told what is missing; 0: never"),
    "agents": Field(text_list_type(), "names of the agents it is for; absent: the one that the person talks to"),
}


def to_policy_nodes(guards: Sequence[ToolPolicyGuard]) -> tuple[PolicyNode, ...]:
    """Return the tool policies as nodes of the graph."""
    return tuple(as_node(guard) for guard in guards)


def merge_policies(layers: Sequence[Sequence[ToolPolicyGuard]]) -> tuple[ToolPolicyGuard, ...]:
    """Return the policies of every layer; equal names are numbered, so that each policy has its own memory."""
    merged: list[ToolPolicyGuard] = []
    names: set[str] = set()
    for guard in (guard for value in layers for guard in value):
        name, count = guard.name, 1
        # Two layers may use the same policy, and the memory of a policy is kept under its name.
        while name in names:
            count += 1
            name = f"{guard.name}_{count}"
        names.add(name)
        merged.append(guard if name == guard.name else _rename_guard(guard, name))
    return tuple(merged)


def _rename_guard(guard: ToolPolicyGuard, name: str) -> ToolPolicyGuard:
    return ToolPolicyGuard(_rename_policy(guard.policy, name), guard.scope, lasting=guard.lasting)


def _rename_policy(policy: Any, name: str) -> ToolPolicy:
    if is_dataclass(policy) and not isinstance(policy, type) and any(f.name == "name" for f in fields(policy)):
        renamed: Any = replace(policy, name=name)
        return renamed  # type: ignore[no-any-return]
    unchanged: ToolPolicy = policy
    return unchanged


def _concatenate_layers(layers: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
    return tuple(item for value in layers for item in value)


def describe_policy(guard: ToolPolicyGuard) -> dict[str, Any]:
    """Return a tool policy as it would be written in a file; a user's own class by its import path and fields."""
    policy: Any = guard.policy
    kind = next((name for name, policy_class in POLICIES.items() if type(policy) is policy_class), "")
    scope: dict[str, Any] = {key: list(value) for key in SCOPE_FIELDS if (value := getattr(guard.scope, key))}
    scope |= {"scope": guard.lasting} if guard.lasting != MEMORY_SCOPES[0] else {}
    policy_class = type(policy)
    settings = {
        f.name: _to_plain_data(getattr(policy, f.name)) for f in _settable_fields(policy) if not _is_default(policy, f)
    }
    if kind:
        return {kind: settings, **scope}
    return {"python": f"{policy_class.__module__}:{policy_class.__qualname__}", "with": settings, **scope}


def _settable_fields(policy: Any) -> list[Any]:
    return [f for f in fields(policy) if f.init] if is_dataclass(policy) else []


def _is_default(policy: Any, setting: Any) -> bool:
    default = setting.default_factory() if setting.default_factory is not MISSING else setting.default
    return default is not MISSING and bool(getattr(policy, setting.name) == default)


def _to_plain_data(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _to_plain_data(inner) for key, inner in value.items()}
    if isinstance(value, frozenset | set):
        return sorted(map(str, value))
    if isinstance(value, str | int | float | bool | None):
        return value
    return [_to_plain_data(inner) for inner in value] if isinstance(value, Iterable) else repr(type(value))


TOOL_POLICIES = Section(
    SchemaType(
        read_policies,
        {"type": "array", "items": _POLICY_READER.item_schema, "minItems": 1},
        "a list of tool policies",
    ),
    "what must have happened before a tool is used",
    merge=merge_policies,
    guards=to_policy_nodes,
)
FEEDBACK = Section(
    SchemaType(
        read_feedback,
        {"type": "array", "items": _PROVIDER_READER.item_schema, "minItems": 1},
        "a list of feedback providers",
    ),
    "what the agent is told after an action",
    merge=_concatenate_layers,
)
_CHECK_SCHEMA = {
    "anyOf": [
        *_CHECK_READER.item_schema["anyOf"],
        *(
            {
                "type": "object",
                "required": [key],
                "additionalProperties": False,
                "properties": {key: {"type": "array", "items": {"type": "object"}, "minItems": 1}},
            }
            for key in ("all", "any")
        ),
    ]
}
_COMPLETION = mapping_type(COMPLETION_FIELDS).json_schema
COMPLETION = Section(
    SchemaType(
        read_completion,
        {
            **_COMPLETION,
            "properties": {
                **_COMPLETION["properties"],
                "checks": {**_COMPLETION["properties"]["checks"], "items": _CHECK_SCHEMA},
            },
        },
        "mapping",
    ),
    "when work counts as done",
    merge=_concatenate_layers,
)
