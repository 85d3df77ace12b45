"""The sections `tool_policies`, `feedback` and `completion` of a policy file."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass, replace
from functools import cached_property
from typing import Any

from verdikt.graph.guard import PolicyNode
from verdikt.graph.leaf import node as as_node
from verdikt.graph.settings import settings_of
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
from verdikt.guidance.provider import (
    BlockedStreakFeedback,
    BudgetFeedback,
    DeadlineFeedback,
    OpenFindingsFeedback,
    StaleEvidenceFeedback,
    StaticFeedbackProvider,
    UnprovenClaimFeedback,
)
from verdikt.guidance.reading import ParameterPolicy, ReadBeforeWritePolicy
from verdikt.guidance.sequence import ForbiddenSequencePolicy, OncePolicy, RateLimitPolicy, SequentialDependencyPolicy
from verdikt.guidance.tool_policy import ToolPolicy, ToolPolicyGuard
from verdikt.model.node import Node
from verdikt.model.shape import (
    Field,
    Section,
    Shape,
    choice,
    number,
    read_fields,
    record,
    record_schema,
    text,
    texts,
    whole,
)
from verdikt.model.value import Value

POLICIES: Mapping[str, Any] = {
    "sequential_dependency": SequentialDependencyPolicy,
    "read_before_write": ReadBeforeWritePolicy,
    "rate_limit": RateLimitPolicy,
    "once": OncePolicy,
    "forbidden_sequence": ForbiddenSequencePolicy,
    "parameters": ParameterPolicy,
}
"""What a tool policy is called in a file → its class."""

PROVIDERS: Mapping[str, Any] = {
    "static": StaticFeedbackProvider,
    "deadline": DeadlineFeedback,
    "blocked_streak": BlockedStreakFeedback,
    "stale_evidence": StaleEvidenceFeedback,
    "open_findings": OpenFindingsFeedback,
    "budget": BudgetFeedback,
    "unproven_claim": UnprovenClaimFeedback,
}
"""What a feedback provider is called in a file → its class."""

CHECKERS: Mapping[str, Any] = {
    "files": FileOutputChecker,
    "command": CommandChecker,
    "evidence": EvidenceChecker,
    "findings": FindingsChecker,
}
"""What a check is called in a file → its class."""

SHORT = {"files": "files", "command": "command", "evidence": "validator", "findings": "level", "static": "feedback"}
"""Kind → the setting that may stand alone in its place, as in `command: pytest -q`."""

SCOPE: Mapping[str, Field] = {
    "agents": Field(texts(), "names of the agents it is for; absent: all"),
    "prompts": Field(texts(), "names of the prompts or task types it is for; absent: all"),
    "tools": Field(texts(), "names of the tools it is for; absent: all"),
}
TRIGGER: Mapping[str, Field] = {
    "every_n_calls": Field(whole(1), "after so many calls since it last spoke"),
    "every_n_seconds": Field(number(0.001), "after so many seconds since it last spoke"),
    "on_file_created": Field(text(), "once, when this file first exists"),
}
LEVELS = ("LOW", "MEDIUM", "HIGH", "CRITICAL")


class _Kinds(Value, attributes=True):
    """One thing of several kinds: a kind's name, or a mapping with one kind and its settings, and options beside it."""

    classes: Mapping[str, Any]
    options: Mapping[str, Field]
    what: str

    @cached_property
    def settings(self) -> dict[str, dict[str, Field]]:
        """Kind → its settings."""
        found = {kind: settings_of(made) or {} for kind, made in self.classes.items()}
        if "findings" in found:
            found["findings"] = {"level": Field(choice(LEVELS), "the level from which on a finding counts")}
        return found

    def read(self, node: Node) -> tuple[Any, dict[str, Any]] | None:
        """The thing and its options, or None after recording what is wrong."""
        if isinstance(node.value, str) and node.value in self.classes:
            made = self._made(node.value, {}, node)
            return None if made is None else (made, {})
        names = ", ".join(self.classes)
        if not isinstance(node.value, Mapping):
            node.expected(f"a {self.what}, one of {names}")
            return None
        given = node.mapping([*self.classes, *self.options])
        kinds = [key for key in given if key in self.classes]
        if len(kinds) != 1:
            node.fault(f"expected one {self.what} ({names}), found {', '.join(f'`{k}`' for k in kinds) or 'none'}")
            return None
        before = len(node.document.faults)
        inner = given[kinds[0]]
        values = self._values(kinds[0], inner)
        options = {k: v for k in given if k in self.options and (v := self.options[k].shape.read(given[k])) is not None}
        if len(node.document.faults) > before:
            return None
        made = self._made(kinds[0], values, inner)
        return None if made is None else (made, options)

    def each(self, node: Node, what: str) -> Iterator[tuple[Node, Any, dict[str, Any]]]:
        """Every thing of a list that can be read: where it stands, the thing, its options."""
        for item in _listed(node, what):
            read = self.read(item)
            if read is not None:
                yield item, *read

    def _values(self, kind: str, node: Node) -> dict[str, Any]:
        if node.value is None:
            return {}
        short = SHORT.get(kind)
        if short and not isinstance(node.value, Mapping):
            value = self.settings[kind][short].shape.read(node)
            return {} if value is None else {short: value}
        return read_fields(node, self.settings[kind])

    def _made(self, kind: str, values: dict[str, Any], node: Node) -> Any:
        missing = [key for key, wanted in self.settings[kind].items() if wanted.required and key not in values]
        if missing:
            if not isinstance(node.value, Mapping):
                node.fault(f"`{kind}`: expected the setting `{missing[0]}`, found none")
            return None
        return node.build(lambda: self.classes[kind](**values))

    @property
    def schema(self) -> dict[str, Any]:
        """JSON Schema of one."""
        options = record_schema(self.options)["properties"]
        bare = [kind for kind, found in self.settings.items() if not any(field.required for field in found.values())]
        variants: list[dict[str, Any]] = [{"enum": bare}] if bare else []
        for kind, found in self.settings.items():
            inner: list[Mapping[str, Any]] = [record_schema(found)]
            if kind in SHORT:
                inner.append(found[SHORT[kind]].shape.schema)
            if kind in bare:
                inner.append({"type": "null"})
            properties = {kind: {"anyOf": inner}, **options}
            variants.append(
                {"type": "object", "required": [kind], "additionalProperties": False, "properties": properties}
            )
        return {"anyOf": variants}


_POLICY = _Kinds(POLICIES, SCOPE, "tool policy")
_PROVIDER = _Kinds(PROVIDERS, {**TRIGGER, **SCOPE}, "feedback provider")
_CHECK = _Kinds(CHECKERS, {}, "check")


def read_policies(node: Node) -> tuple[ToolPolicyGuard, ...]:
    """The section `tool_policies`."""
    found: list[ToolPolicyGuard] = []
    for item, policy, scope in _POLICY.each(node, "tool policies"):
        if any(guard.name == policy.name for guard in found):
            item.fault(f"expected each name of a tool policy once, found `{policy.name}` again: give it a `name`")
            continue
        found.append(ToolPolicyGuard(policy, Audience(**scope)))
    return tuple(found)


def read_feedback(node: Node) -> tuple[FeedbackProviderConfig, ...]:
    """The section `feedback`."""
    found: list[FeedbackProviderConfig] = []
    for item, provider, options in _PROVIDER.each(node, "feedback providers"):
        trigger = {key: options[key] for key in TRIGGER if key in options}
        if not trigger:
            item.fault(f"expected a trigger ({', '.join(TRIGGER)}), found none: it would never speak")
            continue
        if "on_file_created" in trigger:
            trigger["on_file_created"] = FileCreatedTrigger(trigger["on_file_created"])
        scope = Audience(**{key: options[key] for key in SCOPE if key in options})
        found.append(FeedbackProviderConfig(provider, FeedbackTrigger(**trigger), scope=scope))
    return tuple(found)


def read_completion(node: Node) -> tuple[Completion, ...] | None:
    """The section `completion`."""
    before = len(node.document.faults)
    values = read_fields(node, COMPLETION_FIELDS)
    if len(node.document.faults) > before or "checks" not in values:
        return None
    checks = tuple(values.pop("checks"))
    every = values.pop("require", "all") == "all"
    checker = checks[0] if len(checks) == 1 else CompositeChecker(checks, every)
    if agents := values.pop("agents", ()):
        values["scope"] = Audience(agents=agents)
    made = node.build(lambda: Completion(checker=checker, **values))
    return None if made is None else (made,)


def _check(node: Node) -> TaskCompletionChecker | None:
    for key, every in (("all", True), ("any", False)):
        if isinstance(node.value, Mapping) and list(node.value) == [key]:
            inner = [_check(item) for item in _listed(node.child(key), "checks")]
            return CompositeChecker(tuple(check for check in inner if check is not None), every)
    read = _CHECK.read(node)
    return None if read is None else read[0]


def _checks(node: Node) -> list[TaskCompletionChecker]:
    return [check for item in _listed(node, "checks") if (check := _check(item)) is not None]


def _listed(node: Node, what: str) -> list[Node]:
    found = node.items(what=f"a list of {what}")
    if node.value == []:
        node.expected(f"at least one of the {what}")
    return found


def _budget(node: Node) -> Budget | None:
    values = read_fields(node, BUDGET_FIELDS)
    return node.build(lambda: Budget(**values))


BUDGET_FIELDS: Mapping[str, Field] = {
    "calls": Field(number(0), "tool calls, the refused ones included"),
    "tasks": Field(number(0), "tasks given to other agents"),
    "tokens": Field(number(0), "tokens, where the host tells them"),
    "seconds": Field(number(0), "seconds since the session's first call"),
    "cost": Field(number(0), "cost, where the host tells it"),
}
COMPLETION_FIELDS: Mapping[str, Field] = {
    "checks": Field(
        Shape(_checks, {"type": "array", "items": {"type": "object"}, "minItems": 1}, "a list of checks"),
        "what must be true before the agent may stop",
        required=True,
    ),
    "require": Field(choice(("all", "any")), "whether every check must pass, or one of them"),
    "budget": Field(
        Shape(_budget, record_schema(BUDGET_FIELDS), "mapping of limits"), "once it is used up, nothing is checked"
    ),
    "deadline_seconds": Field(number(1), "seconds since the session's first call after which nothing is checked"),
    "refusals": Field(whole(1, 100), "how often in a row a stop is refused for one reason"),
    "agents": Field(texts(), "names of the agents it is for; absent: the one that the person talks to"),
}


def guards_of(value: Sequence[ToolPolicyGuard]) -> tuple[PolicyNode, ...]:
    """The tool policies as nodes of the graph."""
    return tuple(as_node(guard) for guard in value)


def merge_policies(values: Sequence[Sequence[ToolPolicyGuard]]) -> tuple[ToolPolicyGuard, ...]:
    """The policies of every layer; those of one name get another, so that each remembers by itself."""
    found: list[ToolPolicyGuard] = []
    names: set[str] = set()
    for guard in (guard for value in values for guard in value):
        name, count = guard.name, 1
        while name in names:
            count += 1
            name = f"{guard.name}_{count}"
        names.add(name)
        found.append(guard if name == guard.name else ToolPolicyGuard(_renamed(guard.policy, name), guard.scope))
    return tuple(found)


def _renamed(policy: Any, name: str) -> ToolPolicy:
    if is_dataclass(policy) and not isinstance(policy, type) and any(f.name == "name" for f in fields(policy)):
        renamed: Any = replace(policy, name=name)
        return renamed  # type: ignore[no-any-return]
    found: ToolPolicy = policy
    return found


def _all(values: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
    return tuple(item for value in values for item in value)


def described(guard: ToolPolicyGuard) -> dict[str, Any]:
    """A tool policy as it would be written in a file; one of a user's own as its class and what it is made of."""
    policy: Any = guard.policy
    kind = next((name for name, made in POLICIES.items() if type(policy) is made), "")
    scope = {key: list(value) for key in SCOPE if (value := getattr(guard.scope, key))}
    made = type(policy)
    settings = {f.name: _plain(getattr(policy, f.name)) for f in _settable(policy) if not _is_default(policy, f)}
    if kind:
        return {kind: settings, **scope}
    return {"python": f"{made.__module__}:{made.__qualname__}", "with": settings, **scope}


def _settable(policy: Any) -> list[Any]:
    return [f for f in fields(policy) if f.init] if is_dataclass(policy) else []


def _is_default(policy: Any, setting: Any) -> bool:
    default = setting.default_factory() if setting.default_factory is not MISSING else setting.default
    return default is not MISSING and bool(getattr(policy, setting.name) == default)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, frozenset | set):
        return sorted(map(str, value))
    if isinstance(value, str | int | float | bool | None):
        return value
    return [_plain(inner) for inner in value] if isinstance(value, Iterable) else repr(type(value))


def _section(read: Callable[[Node], Any], schema: Mapping[str, Any], words: str, about: str, **more: Any) -> Section:
    return Section(Shape(read, schema, words), about, **more)


TOOL_POLICIES = _section(
    read_policies,
    {"type": "array", "items": _POLICY.schema, "minItems": 1},
    "a list of tool policies",
    "what must have happened before a tool is used",
    merge=merge_policies,
    guards=guards_of,
)
FEEDBACK = _section(
    read_feedback,
    {"type": "array", "items": _PROVIDER.schema, "minItems": 1},
    "a list of feedback providers",
    "what the agent is told after an action",
    merge=_all,
)
_CHECK_SCHEMA = {
    "anyOf": [
        *_CHECK.schema["anyOf"],
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
_COMPLETION = record(COMPLETION_FIELDS).schema
COMPLETION = _section(
    read_completion,
    {
        **_COMPLETION,
        "properties": {
            **_COMPLETION["properties"],
            "checks": {**_COMPLETION["properties"]["checks"], "items": _CHECK_SCHEMA},
        },
    },
    "mapping",
    "when work counts as done",
    merge=_all,
)
