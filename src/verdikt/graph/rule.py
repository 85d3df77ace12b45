"""A rule is one guard described by data; a rule set is many of them behind one index."""

from __future__ import annotations

import marshal
from collections.abc import Sequence

from verdikt.errors import PolicyError
from verdikt.graph.combinator import strictest
from verdikt.graph.context import TraceEntry
from verdikt.graph.index import Index
from verdikt.graph.match import KEYS, Matcher
from verdikt.graph.template import Template
from verdikt.layers import GovernanceLayer
from verdikt.model.value import Value, field
from verdikt.model.verdict import Verdict, VerdictKind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, ClassVar

    from verdikt.graph.context import GovernanceContext
    from verdikt.model.action import Action
    from verdikt.model.effect import Effect, Target

VERDICTS = {kind.word: kind for kind in VerdictKind}


class Rule(Value, kw_only=True):
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
    _reason: Template = field(init=False, repr=False, compare=False)
    _fix: Template = field(init=False, repr=False, compare=False)
    _said: Verdict | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.name:
            raise PolicyError("a rule needs a `name`")
        if self.when.empty:
            # It would fire on every action, which is never what was meant.
            raise PolicyError(f"rule `{self.name}` needs at least one condition")
        if self.unless is not None and self.unless.empty:
            raise PolicyError(f"`unless` of rule `{self.name}` needs at least one condition")
        if self.verdict >= VerdictKind.ASK and not (self.reason.strip() and self.fix.strip()):
            raise PolicyError(f"rule `{self.name}` says {self.verdict.word}: expected a `reason` and a `fix`")
        if self.verdict is VerdictKind.WARN and not self.reason.strip():
            raise PolicyError(f"rule `{self.name}` says warn: expected a `reason`")
        if self.red_line and self.verdict is not VerdictKind.BLOCK:
            raise PolicyError(f"rule `{self.name}` is a red line: expected `verdict: block`, found {self.verdict.word}")
        object.__setattr__(self, "_reason", Template.of(self.reason))
        object.__setattr__(self, "_fix", Template.of(self.fix))
        # What has no placeholders is said in the same words every time.
        fixed = not (self._reason.names or self._fix.names)
        object.__setattr__(self, "_said", self._saying({}) if fixed else None)

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Rule:
        """A rule from plain data with the keys of the policy file; `if` is a compiled condition here."""
        unknown = set(data) - set(KEYS) - {"name", "unless", "verdict", "reason", "fix", "red_line"}
        if unknown:
            raise PolicyError(f"rule `{data.get('name', '')}` has no key `{min(unknown)}`")
        unless = data.get("unless")
        if data.get("verdict") not in VERDICTS:
            raise PolicyError(f"expected a verdict of {', '.join(VERDICTS)}, found `{data.get('verdict')}`")
        return cls(
            name=data.get("name", ""),
            when=matcher_of({key: value for key, value in data.items() if key in KEYS}),
            unless=None if unless is None else matcher_of(unless),
            verdict=VERDICTS[data["verdict"]],
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
        return self.fires(action, ctx) or Verdict(kind=VerdictKind.PASS, guard=self.name)

    def fires(self, action: Action, ctx: GovernanceContext) -> Verdict | None:
        """The rule's verdict, or None when it has nothing to say about this action."""
        when, unless = self.when, self.unless
        if when.on_action and not when.fits_action(action, ctx):
            return None
        if not when.on_effect:
            if unless is None:
                return self._verdict(action, ctx, None, None)
            if not unless.on_effect:
                return None if unless.fits_action(action, ctx) else self._verdict(action, ctx, None, None)
            if not ctx.effects.items:
                return self._verdict(action, ctx, None, None)
        excused = unless is not None and (not unless.on_action or unless.fits_action(action, ctx))
        for effect, target in self._pairs(ctx):
            if not (excused and unless is not None and _fits(unless, effect, target, ctx)):
                return self._verdict(action, ctx, effect, target)
        return None

    def _pairs(self, ctx: GovernanceContext) -> Iterator[tuple[Effect, Target | None]]:
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

    def _verdict(self, action: Action, ctx: GovernanceContext, effect: Effect | None, target: Target | None) -> Verdict:
        """What the rule says, with the placeholders filled from what it matched."""
        if self._said is not None:
            return self._said
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
        return self._saying(values)

    def _saying(self, values: Mapping[str, str]) -> Verdict:
        return Verdict(
            kind=self.verdict,
            guard=self.name,
            reason=self._reason.fill(values),
            fix=self._fix.fill(values),
            red_line=self.red_line,
        )


def _fits(matcher: Matcher, effect: Effect, target: Target | None, ctx: GovernanceContext) -> bool:
    """Whether the effect-level and target-level conditions of a matcher hold for this pair."""
    if not matcher.on_effect:
        return True
    if not matcher.fits_effect(effect):
        return False
    return not matcher.on_target or (target is not None and matcher.fits_target(target, ctx))


def matcher_of(data: Mapping[str, Any]) -> Matcher:
    """A matcher from plain data with the keys of the policy file; one value may stand for a list of one."""
    given: dict[str, Any] = {}
    for key, value in data.items():
        if key not in KEYS:
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


class _Kept(Sequence[Rule]):
    """Rules that were read before, each made when it is first asked for."""

    __slots__ = ("_made", "_written")

    def __init__(self, written: Sequence[bytes]) -> None:
        self._written = written
        self._made: dict[int, Rule] = {}

    def __len__(self) -> int:
        return len(self._written)

    def __getitem__(self, number: Any) -> Any:
        if number not in self._made:
            data = marshal.loads(self._written[number])
            for part in (data, data.get("unless", {})):
                if "if" in part:
                    from verdikt.graph.condition import CelCondition

                    part["if"] = CelCondition(part["if"])
            self._made[number] = Rule.of(data)
        return self._made[number]


class RuleSet:
    """Many rules as one node: its verdict is that of `All` over them, and only rules that can fire are looked at.

    Rules that fire are added to `ctx.verdicts` and `ctx.trace`; the others leave no mark.
    """

    __slots__ = ("_index", "_silent", "name", "rules")

    def __init__(self, *rules: Rule, name: str = "rules") -> None:
        if not rules:
            raise PolicyError("`rules` needs at least one rule")
        self.name = name
        self.rules: Sequence[Rule] = rules
        self._index = Index(rules)
        self._silent = Verdict(kind=VerdictKind.PASS, guard=name)

    def dump(self) -> tuple[Any, ...]:
        """The set as plain data, each rule by itself as bytes, so that only those that can fire need be read."""
        return self.name, tuple(marshal.dumps(rule.dump()) for rule in self.rules), self._index.dump()

    @classmethod
    def load(cls, data: tuple[Any, ...]) -> RuleSet:
        """The set that `dump` gave."""
        found = cls.__new__(cls)
        found.name, rules, index = data
        found.rules = _Kept(rules)
        found._index = Index.load(index, found.rules)
        found._silent = Verdict(kind=VerdictKind.PASS, guard=found.name)
        return found

    def evaluate(self, action: Action, ctx: GovernanceContext, depth: int = 0) -> Verdict:
        """The strictest verdict of the rules that fire, the first of them in order."""
        at = len(ctx.trace)
        fired: list[Verdict] = []
        for rule in self._candidates(action, ctx):
            try:
                verdict = rule.fires(action, ctx)
            except Exception as error:
                verdict = _failed(rule.name, error)
            if verdict is not None:
                ctx.verdicts.append(verdict)
                ctx.trace.append(TraceEntry(verdict.guard, verdict, depth + 1))
                fired.append(verdict)
        verdict = strictest(fired) if fired else self._silent
        ctx.trace.insert(at, TraceEntry(self.name, verdict, depth))
        return verdict

    def _candidates(self, action: Action, ctx: GovernanceContext) -> Sequence[Rule]:
        """The rules that can fire, in order; all of them when the index cannot tell."""
        try:
            return self._index.candidates(action, ctx)
        except Exception:
            return self.rules


def _failed(guard: str, error: Exception) -> Verdict:
    """A rule that cannot be evaluated blocks: a crash never becomes permission."""
    return Verdict.block(
        guard=guard,
        reason=f"rule `{guard}` failed: {type(error).__name__}: {error}",
        fix="repair the rule in the policy file; until then it blocks",
        error=True,
    )
