"""A rule is one guard described by data; a rule set is many of them behind one index."""

from __future__ import annotations

import marshal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from verdikt.errors import PolicyError
from verdikt.graph.cel_condition import CelCondition
from verdikt.graph.combinator import strictest_verdict
from verdikt.graph.context import TraceEntry
from verdikt.graph.matcher import CONDITION_KEYS, Matcher
from verdikt.graph.message_template import MessageTemplate
from verdikt.graph.rule_index import RuleIndex
from verdikt.layers import GovernanceLayer
from verdikt.model.verdict import Verdict, VerdictKind

if TYPE_CHECKING:
    from verdikt.graph.context import GovernanceContext
    from verdikt.model.action import Action
    from verdikt.model.effect import Effect, Target

VERDICT_KINDS = {kind.word: kind for kind in VerdictKind}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A guard that gives its verdict when its conditions hold and those of `unless` do not; otherwise it passes.

    With conditions on effects or targets, `unless` excuses one effect or target at a time: the rule fires as long as
    one that matches is not excused.
    """

    governance_layer: ClassVar[GovernanceLayer] = GovernanceLayer.BOUNDARY

    name: str
    when: Matcher
    verdict: VerdictKind
    unless: Matcher | None = None
    reason: str = ""
    fix: str = ""
    red_line: bool = False
    _reason: MessageTemplate = field(init=False, repr=False, compare=False)
    _fix: MessageTemplate = field(init=False, repr=False, compare=False)
    _fixed_verdict: Verdict | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.name:
            raise PolicyError("a rule needs a `name`")
        if self.when.is_empty:
            # It would fire on every action, which is never what was meant.
            raise PolicyError(f"rule `{self.name}` needs at least one condition")
        if self.unless is not None and self.unless.is_empty:
            raise PolicyError(f"`unless` of rule `{self.name}` needs at least one condition")
        if self.verdict >= VerdictKind.ASK and not (self.reason.strip() and self.fix.strip()):
            raise PolicyError(f"rule `{self.name}` says {self.verdict.word}: expected a `reason` and a `fix`")
        if self.verdict is VerdictKind.WARN and not self.reason.strip():
            raise PolicyError(f"rule `{self.name}` says warn: expected a `reason`")
        if self.red_line and self.verdict is not VerdictKind.BLOCK:
            raise PolicyError(f"rule `{self.name}` is a red line: expected `verdict: block`, found {self.verdict.word}")
        object.__setattr__(self, "_reason", MessageTemplate.parse(self.reason))
        object.__setattr__(self, "_fix", MessageTemplate.parse(self.fix))
        # What has no placeholders is said in the same words every time.
        fixed = not (self._reason.placeholders or self._fix.placeholders)
        object.__setattr__(self, "_fixed_verdict", self._render_verdict({}) if fixed else None)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Rule:
        """A rule from plain data with the keys of the policy file; `if` is a compiled condition here."""
        unknown = set(data) - set(CONDITION_KEYS) - {"name", "unless", "verdict", "reason", "fix", "red_line"}
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
        )

    def dump(self) -> dict[str, Any]:
        """The rule as plain data; `if` as a text."""
        found = {"name": self.name, **self.when.dump(), "verdict": self.verdict.word}
        if self.unless is not None:
            found["unless"] = self.unless.dump()
        return found | {"reason": self.reason, "fix": self.fix, "red_line": self.red_line}

    def check(self, action: Action, ctx: GovernanceContext) -> Verdict:
        """The rule's verdict if it fires, else a pass."""
        return self.match_action(action, ctx) or Verdict(kind=VerdictKind.PASS, guard=self.name)

    def match_action(self, action: Action, ctx: GovernanceContext) -> Verdict | None:
        """The rule's verdict, or None when it has nothing to say about this action."""
        when, unless = self.when, self.unless
        if when.on_action and not when.fits_action(action, ctx):
            return None
        if not when.on_effect:
            if unless is None:
                return self._build_verdict(action, ctx, None, None)
            if not unless.on_effect:
                return None if unless.fits_action(action, ctx) else self._build_verdict(action, ctx, None, None)
            if not ctx.effects.items:
                return self._build_verdict(action, ctx, None, None)
        excused = unless is not None and (not unless.on_action or unless.fits_action(action, ctx))
        for effect, target in self._find_matches(ctx):
            if not (excused and unless is not None and _fits_pair(unless, effect, target, ctx)):
                return self._build_verdict(action, ctx, effect, target)
        return None

    def _find_matches(self, ctx: GovernanceContext) -> Iterator[tuple[Effect, Target | None]]:
        """Each effect with each of its targets that the conditions hold for."""
        when = self.when
        for effect in ctx.effects.items:
            if when.fits_effect(effect):
                if when.on_target:
                    yield from ((effect, target) for target in effect.targets if when.fits_target(target, ctx))
                elif self.unless is not None and self.unless.on_target:
                    yield from ((effect, target) for target in effect.targets or (None,))
                else:
                    yield effect, (effect.targets[0] if effect.targets else None)

    def _build_verdict(
        self, action: Action, ctx: GovernanceContext, effect: Effect | None, target: Target | None
    ) -> Verdict:
        """What the rule says, with the placeholders filled from what it matched."""
        if self._fixed_verdict is not None:
            return self._fixed_verdict
        if effect is None and ctx.effects.items:
            effect = ctx.effects.items[0]
            target = effect.targets[0] if effect.targets else None
        written = action.command or action.path
        values = {
            "target": target.text if target else written,
            "path": (target.path or target.text) if target else action.path,
            "zone": target.zone.value if target else "unknown",
            "by": (effect.by if effect else "") or written,
            "what": effect.what if effect else action.kind,
            "note": effect.note if effect else "",
            "tool": action.tool or action.kind,
        }
        return self._render_verdict(values)

    def _render_verdict(self, values: Mapping[str, str]) -> Verdict:
        return Verdict(
            kind=self.verdict,
            guard=self.name,
            reason=self._reason.render(values),
            fix=self._fix.render(values),
            red_line=self.red_line,
        )


def _fits_pair(matcher: Matcher, effect: Effect, target: Target | None, ctx: GovernanceContext) -> bool:
    """Whether the effect-level and target-level conditions of a matcher hold for this pair."""
    if not matcher.on_effect:
        return True
    if not matcher.fits_effect(effect):
        return False
    return not matcher.on_target or (target is not None and matcher.fits_target(target, ctx))


def matcher_from_data(data: Mapping[str, Any]) -> Matcher:
    """A matcher from plain data with the keys of the policy file; one value may stand for a list of one."""
    given: dict[str, Any] = {}
    for key, value in data.items():
        if key not in CONDITION_KEYS:
            raise PolicyError(f"a rule has no condition `{key}`")
        match key:
            case "certainty" | "recoverable":
                given[key] = value
            case "equals":
                given[key] = tuple(value.items())
            case "if":
                given["condition"] = value
            case _:
                given["cls" if key == "class" else key] = (value,) if isinstance(value, str) else tuple(value)
    return Matcher(**given)


class _LazyRules(Sequence[Rule]):
    """Rules that were read before, each made when it is first asked for."""

    __slots__ = ("_cache", "_encoded")

    def __init__(self, encoded: Sequence[bytes]) -> None:
        self._encoded = encoded
        self._cache: dict[int, Rule] = {}

    def __len__(self) -> int:
        return len(self._encoded)

    def __getitem__(self, number: Any) -> Any:
        if number not in self._cache:
            data = marshal.loads(self._encoded[number])
            for part in (data, data.get("unless", {})):
                if "if" in part:
                    part["if"] = CelCondition(part["if"])
            self._cache[number] = Rule.from_data(data)
        return self._cache[number]


class RuleSet:
    """Many rules as one node: its verdict is that of `All` over them, and only rules that can fire are looked at.

    Rules that fire are added to `ctx.verdicts` and `ctx.trace`; the others leave no mark.
    """

    __slots__ = ("_index", "_pass_verdict", "name", "rules")

    def __init__(self, *rules: Rule, name: str = "rules") -> None:
        if not rules:
            raise PolicyError("`rules` needs at least one rule")
        self.name = name
        self.rules: Sequence[Rule] = rules
        self._index = RuleIndex(rules)
        self._pass_verdict = Verdict(kind=VerdictKind.PASS, guard=name)

    def dump(self) -> tuple[Any, ...]:
        """The set as plain data, each rule by itself as bytes, so that only those that can fire need be read."""
        return self.name, tuple(marshal.dumps(rule.dump()) for rule in self.rules), self._index.dump()

    @classmethod
    def load(cls, data: tuple[Any, ...]) -> RuleSet:
        """The set that `dump` gave."""
        found = cls.__new__(cls)
        found.name, rules, index = data
        found.rules = _LazyRules(rules)
        found._index = RuleIndex.load(index, found.rules)
        found._pass_verdict = Verdict(kind=VerdictKind.PASS, guard=found.name)
        return found

    def evaluate(self, action: Action, ctx: GovernanceContext, depth: int = 0) -> Verdict:
        """The strictest verdict of the rules that fire, the first of them in order."""
        at = len(ctx.trace)
        fired: list[Verdict] = []
        for rule in self._find_candidates(action, ctx):
            try:
                verdict = rule.match_action(action, ctx)
            except Exception as error:
                verdict = _make_failure(rule.name, error)
            if verdict is not None:
                ctx.verdicts.append(verdict)
                ctx.trace.append(TraceEntry(verdict.guard, verdict, depth + 1))
                fired.append(verdict)
        verdict = strictest_verdict(fired) if fired else self._pass_verdict
        ctx.trace.insert(at, TraceEntry(self.name, verdict, depth))
        return verdict

    def _find_candidates(self, action: Action, ctx: GovernanceContext) -> Sequence[Rule]:
        """The rules that can fire, in order; all of them when the index cannot tell."""
        try:
            return self._index.find_candidates(action, ctx)
        except Exception:
            return self.rules


def _make_failure(guard: str, error: Exception) -> Verdict:
    """A rule that cannot be evaluated blocks: a crash never becomes permission."""
    return Verdict.block(
        guard=guard,
        reason=f"rule `{guard}` failed: {type(error).__name__}: {error}",
        fix="repair the rule in the policy file; until then it blocks",
        error=True,
    )
