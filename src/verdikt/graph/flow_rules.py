"""The `flow` section of a policy file: what may follow after text from outside was read.

A page, an issue or the answer of a connected service may hold words that are meant for the agent. The session remembers
where it read from; a flow says which effects are asked about or blocked from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from verdikt.errors import PolicyError
from verdikt.model.action import ActionKind
from verdikt.model.effect import EffectClass
from verdikt.model.named_words import find_unnamed_value
from verdikt.model.schema_type import Field, Section, choice_type, keep_all, mapping_list_type, text_list_type
from verdikt.model.verdict import Verdict

if TYPE_CHECKING:
    from verdikt.model.action import Action
    from verdikt.model.effect import Effect

GUARD = "flow"
SOURCES = ("web", "issue", "outside", "mcp")
"""Where text may come from: a fetched page, a forge, a file outside the project, a connected service."""
NAMED = "named"
"""Value of `unless`: what the person named in their own words may follow."""
_FIX = "tell the person what the text asked for, and let them decide"
_SERVICE_KINDS = (ActionKind.MCP, ActionKind.OTHER)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowRule:
    """The verdict on effects that follow a read from one of the sources, except on those that answer the host read."""

    after: tuple[str, ...]
    effect: tuple[str, ...]
    verdict: str = "ask"
    unless: str = ""

    def __post_init__(self) -> None:
        if unknown := sorted(set(self.after) - set(SOURCES)):
            raise PolicyError(f"`after`: expected one of {', '.join(SOURCES)}, found `{unknown[0]}`")

    def matches(self, effect: Effect) -> bool:
        """Return whether an effect is one of those that the flow names."""
        return any(effect.what == name or effect.what.startswith(f"{name}.") for name in self.effect)


def check_flows(
    rules: Sequence[FlowRule],
    action: Action,
    effects: Iterable[Effect],
    sources: Mapping[str, Any],
    read_named: Callable[[], str],
) -> Verdict | None:
    """Return the verdict on effects after what the session has read; None when no flow applies.

    `sources` maps a source to what was read from it: name → seq of the entry in the log. `read_named` returns the
    words that the person named, by digest.
    """
    verdicts = []
    for rule in rules:
        origins = [(source, name, seq) for source in rule.after for name, seq in sources.get(source, {}).items()]
        for effect in effects if origins else ():
            if not rule.matches(effect) or not (origin := _find_foreign_origin(effect, origins)):
                continue
            unnamed = _find_unnamed(action, effect, read_named()) if rule.unless == NAMED else ""
            if rule.unless == NAMED and not unnamed:
                continue
            source, name, seq = origin
            reason = f"`{effect.by or effect.what}` follows text from outside: {source} `{name}` was read at #{seq}"
            reason += f", and the person did not name `{unnamed}`" if unnamed else ""
            build = Verdict.block if rule.verdict == "block" else Verdict.ask
            verdicts.append(build(guard=GUARD, reason=reason, fix=_FIX))
    return max(verdicts, key=lambda verdict: verdict.kind, default=None)


def _find_unnamed(action: Action, effect: Effect, named: str) -> str:
    """Return what an effect is about and the person did not name; empty when they named all of it."""
    # A service's own tool is told by its arguments; a command or a file by the targets of its effect.
    values: Any = action.payload if action.kind in _SERVICE_KINDS else [target.text for target in effect.targets]
    if not values:
        return effect.what
    return find_unnamed_value(values, named, with_numbers=effect.cls is EffectClass.DESTRUCTIVE)


def _find_foreign_origin(effect: Effect, origins: list[tuple[str, str, Any]]) -> tuple[str, str, Any] | None:
    """Return an origin other than the host to which the effect talks: answering a page's own host is ordinary."""
    hosts = {target.text for target in effect.targets if target.kind == "host"}
    return next((origin for origin in origins if not hosts or origin[1] not in hosts), None)


_FIELDS: Mapping[str, Field] = {
    "after": Field(text_list_type("web, issue, outside, mcp"), "where text was read from before", required=True),
    "effect": Field(text_list_type("effects"), "the effects that are then asked about or blocked", required=True),
    "verdict": Field(choice_type(("ask", "block")), "what happens then; ask by default"),
    "unless": Field(choice_type((NAMED,)), "`named`: not where the person's own prompt names what it is about"),
}

SECTION = Section(
    mapping_list_type(_FIELDS, FlowRule, items="flows", description="a flow, or a list of them"),
    "what may follow after text from outside was read",
    keep_all,
)
