"""The conditions of a rule: on the action, on one of its effects, on one target of that effect."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from dataclasses import field as _derived  # `field` is the name of a condition
from typing import TYPE_CHECKING, Any

from verdikt.errors import PolicyError
from verdikt.graph.context import GovernanceContext
from verdikt.graph.glob import escape_glob, match_glob, match_segment
from verdikt.graph.re2_pattern import compile_pattern, has_match
from verdikt.model.action import Action, ActionKind
from verdikt.model.effect import Certainty, EffectClass, Zone
from verdikt.model.posture import Posture

if TYPE_CHECKING:
    from verdikt.model.effect import Effect, Target

Condition = Callable[[Action, GovernanceContext], bool]
"""A compiled `if`; it raises when it cannot be evaluated."""

CONDITION_KEYS: dict[str, str] = {
    "kind": "kinds of action",
    "tool": "tool names; a trailing `*` matches every name that begins so",
    "host": "hosts the action comes from",
    "agent": "names of the agent",
    "posture": "postures in force",
    "effect": "dotted names of effects; each matches itself and everything below it",
    "class": "classes of effect",
    "certainty": "whether the effect is certain or only possible",
    "recoverable": "whether the effect can be undone",
    "target_kind": "what sort of thing the effect falls on",
    "zone": "where the target lies",
    "state": "what git and the disk know of the target",
    "target": "globs over the target's path, or over its text when it is no path",
    "command": "literal beginnings of the whole command text; `effect` sees a command anywhere in it",
    "equals": "payload fields (dotted path) and the values they must have",
    "pattern": "google-re2, searched in the command text, or in the fields named by `field`",
    "field": "payload fields (dotted path) in which `pattern` is searched",
    "if": "a CEL condition over action, effects, posture, session and risk",
}
"""Key of a rule's conditions → its meaning."""

TARGET_KINDS = ("path", "host", "ref", "pid", "package", "database", "unit", "resource", "other")
TARGET_STATES = ("tracked", "modified", "untracked", "own", "ignored", "absent")

CONDITION_CHOICES: dict[str, tuple[str, ...]] = {
    "kind": tuple(ActionKind),
    "posture": tuple(Posture),
    "class": tuple(EffectClass),
    "certainty": tuple(Certainty),
    "target_kind": TARGET_KINDS,
    "zone": tuple(Zone),
    "state": TARGET_STATES,
}
"""Conditions whose values come from a closed list."""


def values_at(payload: object, path: str) -> Iterator[object]:
    """Yield every value at a dotted path into a payload of any shape; a list on the way stands for all its items."""
    if isinstance(payload, list | tuple):
        for item in payload:
            yield from values_at(item, path)
    elif path == "":
        yield payload
    elif isinstance(payload, Mapping):
        key, _, remaining_path = path.partition(".")
        if key in payload:
            yield from values_at(payload[key], remaining_path)


def _has_value_at(payload: object, path: str, expected: object) -> bool:
    """Return whether a value at the path equals the expected one."""
    # Nearly always the value is a text directly under its key.
    if type(payload) is dict and "." not in path and type(value := payload.get(path)) is str:
        return value == expected
    return any(equals_json(expected, value) for value in values_at(payload, path))


def equals_json(expected: object, actual: object) -> bool:
    """Compare as JSON does: `true` is not `1`."""
    return expected == actual and isinstance(expected, bool) == isinstance(actual, bool)


@dataclass(frozen=True, slots=True, kw_only=True)
class Matcher:
    """Conditions, all of which must hold. An empty field is no condition.

    Conditions on the effect must hold for the same effect, those on the target for the same target of it.
    """

    kind: tuple[str, ...] = ()
    tool: tuple[str, ...] = ()
    host: tuple[str, ...] = ()
    agent: tuple[str, ...] = ()
    posture: tuple[str, ...] = ()
    effect: tuple[str, ...] = ()
    cls: tuple[str, ...] = ()
    certainty: str = ""
    recoverable: bool | None = None
    target_kind: tuple[str, ...] = ()
    zone: tuple[str, ...] = ()
    state: tuple[str, ...] = ()
    target: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    equals: tuple[tuple[str, Any], ...] = ()
    pattern: tuple[str, ...] = ()
    field: tuple[str, ...] = ()
    condition: Condition | None = None
    effect_prefixes: tuple[str, ...] = _derived(init=False, repr=False, compare=False)
    """The names in `effect` with a final dot, so that `fs.delete` fits `fs.delete.tree` and not `fs.deleted`."""
    on_effect: bool = _derived(init=False, repr=False, compare=False)
    on_target: bool = _derived(init=False, repr=False, compare=False)
    on_action: bool = _derived(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for key, allowed in CONDITION_CHOICES.items():
            values = getattr(self, "cls" if key == "class" else key)
            for value in (values,) if isinstance(values, str) else values:
                if value and value not in allowed:
                    raise PolicyError(f"`{key}`: expected one of {', '.join(allowed)}, found `{value}`")
        # An invalid pattern is reported when the policy is loaded, and not at the first action it would see.
        for pattern in self.pattern:
            compile_pattern(pattern)
        if self.field and not self.pattern:
            raise PolicyError("`field` names where `pattern` is searched: expected a `pattern` beside it, found none")
        object.__setattr__(self, "effect_prefixes", tuple(f"{name}." for name in self.effect))
        # Derived once: which of the three levels have conditions decides how a rule is evaluated.
        on_target = bool(self.target_kind or self.zone or self.state or self.target)
        object.__setattr__(self, "on_target", on_target)
        on_effect = bool(self.effect or self.cls or self.certainty) or self.recoverable is not None
        object.__setattr__(self, "on_effect", on_effect or on_target)
        on_action = (self.kind, self.tool, self.host, self.agent, self.posture, self.command, self.equals, self.pattern)
        object.__setattr__(self, "on_action", any(on_action) or self.condition is not None)

    def dump(self) -> dict[str, Any]:
        """Return the conditions with the keys of the policy file; `if` as its source text."""
        conditions: dict[str, Any] = {}
        for key in CONDITION_KEYS:
            value = getattr(self, {"class": "cls", "if": "condition"}.get(key, key))
            if value is None or value in ("", ()):
                continue
            conditions[key] = dict(value) if key == "equals" else value.text if key == "if" else value
        return conditions

    @property
    def is_empty(self) -> bool:
        """Whether there is no condition at all."""
        return not (self.on_action or self.on_effect)

    def fits_action(self, action: Action, ctx: GovernanceContext) -> bool:
        """Return whether every condition on the action itself holds; the expensive ones are checked last."""
        if self.kind and action.kind not in self.kind:
            return False
        if self.tool and not any(fits_name(name, action.tool) for name in self.tool):
            return False
        if self.host and action.host not in self.host:
            return False
        if self.agent and action.agent not in self.agent:
            return False
        if self.posture and ctx.posture not in self.posture:
            return False
        for path, expected in self.equals:
            if not _has_value_at(action.payload, path, expected):
                return False
        if self.command and not action.command.startswith(self.command):
            return False
        if self.pattern and not self._fits_pattern(action):
            return False
        return self.condition is None or self.condition(action, ctx)

    def _fits_pattern(self, action: Action) -> bool:
        return any(
            has_match(pattern, text) for text in iter_search_texts(action, self.field) for pattern in self.pattern
        )

    def fits_effect(self, effect: Effect) -> bool:
        """Return whether every condition on the effect holds for this one."""
        if self.effect and not f"{effect.what}.".startswith(self.effect_prefixes):
            return False
        if self.cls and effect.cls not in self.cls:
            return False
        if self.certainty and effect.certainty != self.certainty:
            return False
        return self.recoverable is None or effect.recoverable == self.recoverable

    def fits_target(self, target: Target, ctx: GovernanceContext) -> bool:
        """Return whether every condition on the target holds for this one."""
        if self.target_kind and target.kind not in self.target_kind:
            return False
        if self.zone and target.zone not in self.zone:
            return False
        if self.state and target.state not in self.state:
            return False
        if not self.target:
            return True
        for glob in self.target:  # noqa: SIM110  most targets fit none, and a generator doubles the cost of a test
            if fits_glob(glob, target, ctx):
                return True
        return False


def iter_search_texts(action: Action, fields: tuple[str, ...]) -> Iterator[str]:
    """Yield the texts in which a pattern is searched: the named fields, or the command text."""
    if not fields:
        yield action.command
    for name in fields:
        yield from (value for value in values_at(action.payload, name) if isinstance(value, str))


def fits_name(pattern: str, name: str) -> bool:
    """Return whether the name equals the pattern or, with a trailing `*`, begins with it."""
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern


def fits_glob(glob: str, target: Target, ctx: GovernanceContext) -> bool:
    """Return whether a target fits a glob.

    For paths, `~` is the home directory, a glob without `/` is a file name anywhere, and any other relative one starts
    at the project root. For other targets it is matched against the text as written.
    """
    if not target.path:
        return match_glob(glob, target.text)
    if glob.startswith("/"):
        return match_glob(glob, target.path)
    if glob == "~" or glob.startswith("~/"):
        home = ctx.facts.home if ctx.facts else ""
        # Escaped, because a directory's name may contain wildcards.
        return match_glob(escape_glob(home) + glob[1:], target.path) if home else match_glob(glob, target.text)
    if "/" not in glob:
        return match_segment(glob, posixpath.basename(target.path))
    if glob.startswith("**/"):
        return match_glob("/" + glob, target.path)
    root = ctx.facts.project_root if ctx.facts else ""
    relative = glob.removeprefix("./")
    return (
        match_glob(posixpath.join(escape_glob(root), relative), target.path)
        if root
        else match_glob(relative, target.text)
    )
