"""Rules, which are guards described by data, and rule sets, which evaluate many of them behind one index."""

from __future__ import annotations

import marshal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from verdikt.errors import PolicyError
from verdikt.graph.cel_condition import CelCondition
from verdikt.graph.context import TraceEntry
from verdikt.graph.failure import describe_error
from verdikt.graph.matcher import CONDITION_KEYS, Matcher
from verdikt.graph.message_template import MessageTemplate
from verdikt.graph.rule_index import RuleIndex
from verdikt.graph.verdict_order import strictest_verdict
from verdikt.layers import GovernanceLayer
from verdikt.model.verdict import Verdict, VerdictKind

if TYPE_CHECKING:
    from verdikt.graph.context import GovernanceContext
    from verdikt.graph.rule_exception import RuleException
    from verdikt.model.action import Action
    from verdikt.model.approval import ApprovalNeed
    from verdikt.model.effect import Effect, Target

_MAX_MEANINGS = 6
"""How many effects a catalogue names for one rule."""

VERDICT_KINDS = {kind.word: kind for kind in VerdictKind}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A guard that gives its verdict when its conditions hold and those of `unless` do not; otherwise it passes.

    With conditions on effects or targets, `unless` exempts one effect or target at a time: the rule fires as long as
    one match is not exempt.
    """

    governance_layer: ClassVar[GovernanceLayer] = GovernanceLayer.BOUNDARY

    name: str
    when: Matcher
    verdict: VerdictKind
    unless: Matcher | None = None
    reason: str = ""
    fix: str = ""
    red_line: bool = False
    exceptions: tuple[RuleException, ...] = ()
    approval: ApprovalNeed | None = None
    meanings: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    """What effects mean in words, for `{does}`; not part of what the rule decides."""
    _reason: MessageTemplate = field(init=False, repr=False, compare=False)
    _fix: MessageTemplate = field(init=False, repr=False, compare=False)
    _fixed_verdict: Verdict | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.name:
            raise PolicyError("a rule needs a `name`")
        if self.when.is_empty:
            # It would fire on every action, which is never intended.
            raise PolicyError(f"rule `{self.name}` needs at least one condition")
        if self.unless is not None and self.unless.is_empty:
            raise PolicyError(f"`unless` of rule `{self.name}` needs at least one condition")
        if self.verdict >= VerdictKind.ASK and not (self.reason.strip() and self.fix.strip()):
            raise PolicyError(f"rule `{self.name}` says {self.verdict.word}: expected a `reason` and a `fix`")
        if self.verdict is VerdictKind.WARN and not self.reason.strip():
            raise PolicyError(f"rule `{self.name}` says warn: expected a `reason`")
        if self.red_line and self.verdict is not VerdictKind.BLOCK:
            raise PolicyError(f"rule `{self.name}` is a red line: expected `verdict: block`, found {self.verdict.word}")
        if self.approval is not None and self.verdict is not VerdictKind.ASK:
            raise PolicyError(
                f"rule `{self.name}` has an `approval`: expected `verdict: ask`, found {self.verdict.word}"
            )
        object.__setattr__(self, "_reason", MessageTemplate.parse(self.reason))
        object.__setattr__(self, "_fix", MessageTemplate.parse(self.fix))
        # Without placeholders the verdict is always the same, so it is built once.
        is_fixed = not (self._reason.placeholders or self._fix.placeholders)
        object.__setattr__(self, "_fixed_verdict", self._render_verdict({}) if is_fixed else None)

    @classmethod
    def from_data(cls, data: Mapping[str, Any], meanings: Mapping[str, str] | None = None) -> Rule:
        """Return a rule from plain data with the keys of the policy file; `if` is already compiled.

        `meanings` are the words for `{does}`: effect → what it does.
        """
        unknown = (
            set(data)
            - set(CONDITION_KEYS)
            - {"name", "unless", "verdict", "reason", "fix", "red_line", "exceptions", "approval"}
        )
        if unknown:
            raise PolicyError(f"rule `{data.get('name', '')}` has no key `{min(unknown)}`")
        unless = data.get("unless")
        if data.get("verdict") not in VERDICT_KINDS:
            raise PolicyError(f"expected a verdict of {', '.join(VERDICT_KINDS)}, found `{data.get('verdict')}`")
        return cls(
            name=data.get("name", ""),
            when=matcher_from_data({key: value for key, value in data.items() if key in CONDITION_KEYS}),
            unless=None if unless is None else matcher_from_data(unless),
            verdict=VERDICT_KINDS[data["verdict"]],
            reason=data.get("reason", ""),
            fix=data.get("fix", ""),
            red_line=data.get("red_line", False),
            exceptions=_read_exceptions(data["exceptions"]) if "exceptions" in data else (),
            approval=_read_approval(data["approval"]) if "approval" in data else None,
            meanings=meanings or {},
        )

    @property
    def general_reason(self) -> str:
        """The reason as a catalogue shows it: `{does}` is all that the rule can mean, not one command's effect."""
        patterns = self.when.effect
        words = [text for name, text in self.meanings.items() if any(_is_below(name, each) for each in patterns)]
        shown = [*words[:_MAX_MEANINGS], *(["…"] if len(words) > _MAX_MEANINGS else [])]
        return self.reason.replace("{does}", " / ".join(shown) or "{does}")

    def dump(self) -> dict[str, Any]:
        """Return the rule as plain data; `if` as its source text."""
        data = {"name": self.name, **self.when.dump(), "verdict": self.verdict.word}
        if self.unless is not None:
            data["unless"] = self.unless.dump()
        if self.exceptions:
            data["exceptions"] = [exception.dump() for exception in self.exceptions]
        if self.approval is not None:
            data["approval"] = self.approval.dump()
        return data | {"reason": self.reason, "fix": self.fix, "red_line": self.red_line}

    def check(self, action: Action, ctx: GovernanceContext) -> Verdict:
        """Return the rule's verdict if it fires, else a pass."""
        return self.match_action(action, ctx) or Verdict(kind=VerdictKind.PASS, guard=self.name)

    def match_action(self, action: Action, ctx: GovernanceContext) -> Verdict | None:
        """Return the rule's verdict if it fires, else None."""
        when = self.when
        if when.on_action and not when.fits_action(action, ctx):
            return None
        if when.on_effect and not self._fits_any_effect(ctx):
            return None
        exemptions = self._find_exemptions(action, ctx) if self.unless is not None or self.exceptions else ()
        if exemptions and any(not exemption.on_effect for exemption in exemptions):
            return None
        if not when.on_effect and (not exemptions or not ctx.effects.items):
            # Without an effect there is nothing that an exemption could look at.
            return self._build_verdict(action, ctx, None, None)
        for effect in ctx.effects.items:
            if when.fits_effect(effect):
                for target in self._list_targets(effect, ctx, exemptions):
                    if not exemptions or not any(_fits_pair(each, effect, target, ctx) for each in exemptions):
                        return self._build_verdict(action, ctx, effect, target)
        return None

    def _fits_any_effect(self, ctx: GovernanceContext) -> bool:
        """Return whether the conditions on effects and targets hold for one of them, whatever is exempt."""
        when = self.when
        for effect in ctx.effects.items:
            if when.fits_effect(effect):
                if not when.on_target:
                    return True
                for target in effect.targets:
                    if when.fits_target(target, ctx):
                        return True
        return False

    def _find_exemptions(self, action: Action, ctx: GovernanceContext) -> list[Matcher]:
        """Return `unless` and the exceptions in force whose conditions on the action itself hold."""
        matchers = [self.unless] if self.unless is not None else []
        matchers += [exception.matcher for exception in self.exceptions if exception.holds(ctx)]
        return [matcher for matcher in matchers if not matcher.on_action or matcher.fits_action(action, ctx)]

    def _list_targets(
        self, effect: Effect, ctx: GovernanceContext, exemptions: Sequence[Matcher]
    ) -> Sequence[Target | None]:
        """Return the targets of an effect for which the conditions hold; None stands for an effect without a target."""
        when = self.when
        if when.on_target:
            return [target for target in effect.targets if when.fits_target(target, ctx)]
        # Each target by itself where an exemption may cover one and not another.
        is_split = bool(exemptions) and any(exemption.on_target for exemption in exemptions)
        return (effect.targets if is_split else effect.targets[:1]) or (None,)

    def _build_verdict(
        self, action: Action, ctx: GovernanceContext, effect: Effect | None, target: Target | None
    ) -> Verdict:
        """Return the verdict, with the placeholders filled from the match."""
        if self._fixed_verdict is not None:
            return self._fixed_verdict
        if effect is None and ctx.effects.items:
            effect = ctx.effects.items[0]
            target = effect.targets[0] if effect.targets else None
        subject = action.command or action.path
        values = {
            "target": target.text if target else subject,
            "path": (target.path or target.text) if target else action.path,
            "zone": target.zone.value if target else "unknown",
            "by": (effect.by if effect else "") or subject,
            "what": effect.what if effect else action.kind,
            "does": self._describe_effect(effect.what) if effect else "is matched by this rule",
            "note": effect.note if effect else "",
            "tool": action.tool or action.kind,
        }
        return self._render_verdict(values)

    def _describe_effect(self, what: str) -> str:
        """Return an effect in words: those of its name, or of the nearest name above it."""
        name = what
        while name and name not in self.meanings:
            name = name.rpartition(".")[0]
        return self.meanings.get(name, f"has the effect {what}")

    def _render_verdict(self, values: Mapping[str, str]) -> Verdict:
        return Verdict(
            kind=self.verdict,
            guard=self.name,
            reason=self._reason.render(values),
            fix=self._fix.render(values),
            red_line=self.red_line,
            approvals=() if self.approval is None else (self.approval,),
        )


def _read_exceptions(exceptions: Sequence[Mapping[str, Any]]) -> tuple[RuleException, ...]:
    from verdikt.graph.rule_exception import exception_from_data  # few rules have exceptions

    return tuple(map(exception_from_data, exceptions))


def _read_approval(data: Mapping[str, Any]) -> ApprovalNeed:
    from verdikt.model.approval import need_from_data  # few policies have approvals

    return need_from_data(data)


def _is_below(name: str, parent: str) -> bool:
    """Return whether a dotted name is another one, or below it."""
    return name == parent or name.startswith(f"{parent}.")


def _fits_pair(matcher: Matcher, effect: Effect, target: Target | None, ctx: GovernanceContext) -> bool:
    """Return whether the effect-level and target-level conditions of a matcher hold for this pair."""
    if not matcher.on_effect:
        return True
    if not matcher.fits_effect(effect):
        return False
    return not matcher.on_target or (target is not None and matcher.fits_target(target, ctx))


def matcher_from_data(data: Mapping[str, Any]) -> Matcher:
    """Return a matcher from plain data with the keys of the policy file; a single value stands for a list."""
    conditions: dict[str, Any] = {}
    for key, value in data.items():
        if key not in CONDITION_KEYS:
            raise PolicyError(f"a rule has no condition `{key}`")
        match key:
            case "certainty" | "recoverable":
                conditions[key] = value
            case "equals":
                conditions[key] = tuple(value.items())
            case "if":
                conditions["condition"] = value
            case _:
                conditions["cls" if key == "class" else key] = (value,) if isinstance(value, str) else tuple(value)
    return Matcher(**conditions)


class _LazyRules(Sequence[Rule]):
    """Rules from a compiled policy, each of which is built when it is first used."""

    __slots__ = ("_cache", "_encoded")

    def __init__(self, encoded: Sequence[bytes]) -> None:
        self._encoded = encoded
        self._cache: dict[int, Rule] = {}

    def __len__(self) -> int:
        return len(self._encoded)

    def __getitem__(self, number: Any) -> Any:
        if number not in self._cache:
            # The standard profile has about ninety rules, of which a decision needs a few.
            data = marshal.loads(self._encoded[number])
            for part in (data, data.get("unless", {})):
                if "if" in part:
                    part["if"] = CelCondition(part["if"])
            meanings = data.pop("meanings")
            self._cache[number] = Rule.from_data(data, meanings)
        return self._cache[number]


class RuleSet:
    """Many rules as one node: its verdict is that of `All` over them, and only rules that can fire are evaluated.

    Rules that fire are added to `ctx.verdicts` and `ctx.trace`; the others are not.
    """

    __slots__ = ("_index", "_pass_entry", "name", "rules")

    def __init__(self, *rules: Rule, name: str = "rules") -> None:
        if not rules:
            raise PolicyError("`rules` needs at least one rule")
        self.name = name
        self.rules: Sequence[Rule] = rules
        self._index = RuleIndex(rules)
        self._pass_entry = TraceEntry(name, Verdict(kind=VerdictKind.PASS, guard=name))

    def dump(self) -> tuple[Any, ...]:
        """Return the set as plain data, each rule as bytes of its own, so that few rules have to be decoded."""
        rules = (marshal.dumps({**rule.dump(), "meanings": dict(rule.meanings)}) for rule in self.rules)
        return self.name, tuple(rules), self._index.dump()

    @classmethod
    def load(cls, data: tuple[Any, ...]) -> RuleSet:
        """Return the set that `dump` wrote."""
        rule_set = cls.__new__(cls)
        rule_set.name, rules, index = data
        rule_set.rules = _LazyRules(rules)
        rule_set._index = RuleIndex.load(index, rule_set.rules)
        rule_set._pass_entry = TraceEntry(rule_set.name, Verdict(kind=VerdictKind.PASS, guard=rule_set.name))
        return rule_set

    def evaluate(self, action: Action, ctx: GovernanceContext, depth: int = 0) -> Verdict:
        """Return the strictest verdict of the rules that fire, and of equals the first."""
        try:
            candidates: Sequence[Rule] = self._index.find_candidates(action, ctx)
        except Exception:
            # An index that fails must not hide a rule: every rule is evaluated, and each failure blocks by itself.
            candidates = self.rules
        if not candidates:
            ctx.trace.append(self._pass_entry if not depth else self._pass_entry._replace(depth=depth))
            return self._pass_entry.verdict
        trace_start = len(ctx.trace)
        fired: list[Verdict] = []
        for rule in candidates:
            try:
                verdict = rule.match_action(action, ctx)
            except Exception as error:
                # A rule that fails blocks, and the other rules are still evaluated.
                verdict = _make_failure(rule.name, error)
            if verdict is not None:
                ctx.verdicts.append(verdict)
                ctx.trace.append(TraceEntry(verdict.guard, verdict, depth + 1))
                fired.append(verdict)
        verdict = strictest_verdict(fired) if fired else self._pass_entry.verdict
        ctx.trace.insert(trace_start, TraceEntry(self.name, verdict, depth))
        return verdict


def _make_failure(guard: str, error: Exception) -> Verdict:
    """Return the block for a rule that cannot be evaluated: a crash never becomes permission."""
    return Verdict.block(
        guard=guard,
        reason=f"rule `{guard}` failed: {describe_error(error)}",
        fix="repair the rule in the policy file; until then it blocks",
        error=True,
    )
