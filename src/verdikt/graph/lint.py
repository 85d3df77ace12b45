"""What is wrong with a policy that can be loaded: rules that never fire, never decide, or say two things at once."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from verdikt.graph.graph_reader import LocatedItem
from verdikt.graph.guard import PolicyNode
from verdikt.graph.guard_node import to_node as as_node
from verdikt.graph.lint_witness import (
    COMMAND_KINDS,
    PROJECT,
    EffectClasses,
    WitnessAction,
    find_witness,
    generate_candidates,
)
from verdikt.graph.matcher import Matcher, fits_name
from verdikt.graph.policy import Policy, PolicyLayer
from verdikt.graph.re2_pattern import has_match
from verdikt.graph.regex_sample import find_required_texts, is_unanchored, sample_pattern
from verdikt.graph.rule import Rule
from verdikt.model.action import Action, ActionKind
from verdikt.model.verdict import VerdictKind


@dataclass(frozen=True, slots=True)
class Flaw:
    """One thing wrong: `kind` is never, shadowed, contradiction or idle."""

    kind: str
    rule: str
    where: str
    message: str


@dataclass(frozen=True, slots=True)
class LintReport:
    """The flaws of a policy, and for each rule without one an action on which it fires."""

    flaws: tuple[Flaw, ...]
    witnesses: tuple[tuple[str, str, WitnessAction], ...]  # rule, where, action


def lint_policy(policy: Policy, names: EffectClasses | None = None) -> LintReport:
    """Looks at every rule and every pattern of every layer, each layer by itself with the profile it builds on."""
    flaws: list[Flaw] = []
    witnesses: list[tuple[str, str, WitnessAction]] = []
    for layer in policy.layers:
        base = _list_rules(layer.base) if layer.base else []
        own = _list_rules(layer)
        for placed in [*own, *base]:
            found, dead = lint_rule(placed, names or {})
            flaws += dead
            if found is not None:
                witnesses.append((placed.item.name, placed.where, found))
        for placed in layer.located_items:
            flaws += _lint_guard_patterns(placed)
        flaws += [flaw for placed in layer.conditions if (flaw := _find_unmet_condition(placed)) is not None]
        flaws += _compare_rules(base)
        flaws += [flaw for flaw in _compare_rules([*own, *base]) if flaw.where not in {placed.where for placed in base}]
        flaws += _find_idle_approvals(policy, layer)
    return LintReport(tuple(dict.fromkeys(flaws)), tuple(witnesses))


def _list_rules(layer: PolicyLayer) -> list[LocatedItem]:
    return [placed for placed in layer.located_items if isinstance(placed.item, Rule)]


def lint_rule(placed: LocatedItem, names: EffectClasses) -> tuple[WitnessAction | None, list[Flaw]]:
    """A witness for a rule, and a flaw for the rule or for each of its alternatives that can never fire."""
    rule: Rule = placed.item
    when = rule.when

    def make_never_flaw(message: str) -> Flaw:
        return Flaw("never", rule.name, placed.where, f"rule `{rule.name}` can never fire: {message}")

    if reason := _explain_impossible(rule):
        return None, [make_never_flaw(reason)]
    found = find_witness(rule, names)
    if found is None:
        if any(not list(sample_pattern(pattern)) for pattern in when.pattern) and len(when.pattern) == 1:
            return None, [make_never_flaw(f"no text was found that the pattern `{when.pattern[0]}` matches")]
        if not any(generate_candidates(when, names)):
            return None, [make_never_flaw("no effect has both this name and this class")]
        return None, [make_never_flaw("no action was found for which all its conditions hold")]
    flaws = []
    for key in ("pattern", "command", "effect", "tool", "target"):
        alternatives: Sequence[str] = getattr(when, key)
        for value in alternatives if len(alternatives) > 1 else ():
            narrowed: dict[str, Any] = {key: (value,)}
            part = replace(rule, when=replace(when, **narrowed))
            if find_witness(part, names) is None:
                message = f"`{value}` under `{key}` of rule `{rule.name}` can never make it fire"
                flaws.append(Flaw("never", rule.name, placed.where, message))
    return found, flaws


def _find_unmet_condition(placed: LocatedItem) -> Flaw | None:
    """A `when` whose condition holds for no action that was found."""
    condition = placed.item
    rule = Rule(name="when", when=Matcher(condition=condition), verdict=VerdictKind.PASS)
    if find_witness(rule) is not None:
        return None
    return Flaw("never", "when", placed.where, f"no action was found for which `{condition.text}` holds")


def _lint_guard_patterns(placed: LocatedItem) -> Iterator[Flaw]:
    """The patterns that a guard was set up to block: each must make it speak, and none may stand behind another."""
    for key, values in placed.settings.items():
        if not key.startswith("blocked") or not key.endswith("patterns") or not isinstance(values, list | tuple):
            continue
        guard = as_node(placed.item)
        for number, pattern in enumerate(values):
            name = f"`{pattern}` under `{key}` of guard `{placed.item.name}`"
            shadow = next((other for other in values[:number] if _is_implied(other, pattern)), None)
            samples = list(sample_pattern(pattern))
            # An exception may cover the sample itself and not what it is part of.
            if all(
                _passes_command(guard, text) for sample in samples for text in (sample, f"a {sample}", f"{sample}; a")
            ):
                yield Flaw("never", placed.item.name, placed.where, f"{name} can never fire")
            elif shadow is not None:
                yield Flaw("shadowed", placed.item.name, placed.where, f"{name} never decides: `{shadow}` comes first")


def _passes_command(guard: PolicyNode, command: str) -> bool:
    """Whether a guard has nothing to say about a command."""
    found = WitnessAction(Action(kind=ActionKind.BASH, tool="Bash", payload={"command": command}, cwd=PROJECT))
    return guard.evaluate(found.action, found.build_context()).kind is VerdictKind.PASS


def _explain_impossible(rule: Rule) -> str:
    """Why a rule can never fire, when its conditions tell it by themselves."""
    when, unless = rule.when, rule.unless
    if unless is not None and covers_matcher(unless, when):
        return "its `unless` holds whenever its conditions hold"
    if when.kind and (when.command or (when.pattern and not when.field)) and not COMMAND_KINDS & set(when.kind):
        what = "command" if when.command else "pattern"
        return f"actions of kind {' and '.join(when.kind)} have no command text for `{what}` to look at"
    if when.zone and when.target_kind and "path" not in when.target_kind and set(when.zone) != {"unknown"}:
        return f"only paths lie in a zone, and `target_kind` is {' or '.join(when.target_kind)}"
    return ""


def _compare_rules(rules: Sequence[LocatedItem]) -> Iterator[Flaw]:
    """Each rule against the others: shadowed when another always decides in its place, contradicted when it says otherwise."""
    for at, later in enumerate(rules):
        for before, other in enumerate(rules):
            if before != at and (flaw := _compare_pair(later, other, before < at)) is not None:
                yield flaw
                break


def _compare_pair(placed: LocatedItem, other: LocatedItem, earlier: bool) -> Flaw | None:
    rule, by = placed.item, other.item
    if not covers_rule(by, rule):
        return None
    at = f"`{by.name}` ({other.where})"
    if rule.verdict is VerdictKind.PASS and by.verdict > VerdictKind.PASS:
        message = f"rule `{rule.name}` says pass where {at} says {by.verdict.word}, which wins: use `unless` there"
        return Flaw("contradiction", rule.name, placed.where, message)
    if by.verdict < rule.verdict or (by.verdict is rule.verdict and not earlier):
        return None
    if by.verdict > rule.verdict and covers_rule(rule, by):
        words = f"{rule.verdict.word} where {at} says {by.verdict.word} on the same conditions"
        return Flaw("contradiction", rule.name, placed.where, f"rule `{rule.name}` says {words}")
    if by.red_line >= rule.red_line:
        message = (
            f"rule `{rule.name}` never decides: {at} fires on the same actions, says {by.verdict.word} and comes first"
        )
        if by.verdict > rule.verdict:
            message = f"rule `{rule.name}` never decides: {at} fires on the same actions and says {by.verdict.word}"
        return Flaw("shadowed", rule.name, placed.where, message)
    return None


def _find_idle_approvals(policy: Policy, layer: PolicyLayer) -> Iterator[Flaw]:
    """Approvals that approve nothing."""
    if not layer.approve:
        return
    where = layer.locate_key("approve")
    if layer.approve not in policy.approvals:
        message = "`approve` is not in force: the user's or the managed policy would have to approve it too"
        yield Flaw("idle", "approve", where, message)
    for matcher in layer.approve:
        for rule in policy.rules:
            if rule.unless is None and rule.verdict > VerdictKind.WARN and covers_matcher(rule.when, matcher):
                message = f"`approve` names what rule `{rule.name}` says {rule.verdict.word} to"
                yield Flaw("contradiction", "approve", where, message)
                break


def covers_rule(wide: Rule, narrow: Rule) -> bool:
    """Whether `wide` fires on every action on which `narrow` does, as far as their conditions tell."""
    excused = wide.unless is None or wide.unless == narrow.unless
    return excused and covers_matcher(wide.when, narrow.when)


def covers_matcher(wide: Matcher, narrow: Matcher) -> bool:
    """Whether the conditions of `wide` hold wherever those of `narrow` do; never true by mistake."""
    for key in ("kind", "host", "agent", "posture", "cls", "target_kind", "zone", "state"):
        if not _covers_alternatives(getattr(wide, key), getattr(narrow, key), lambda a, b: a == b):
            return False
    return (
        (not wide.certainty or wide.certainty == narrow.certainty)
        and (wide.recoverable is None or wide.recoverable == narrow.recoverable)
        and _covers_alternatives(
            wide.tool, narrow.tool, lambda a, b: a == b or (a.endswith("*") and fits_name(a, b.rstrip("*")))
        )
        and _covers_alternatives(wide.effect, narrow.effect, lambda a, b: a == b or b.startswith(a + "."))
        and _covers_alternatives(
            wide.target, narrow.target, lambda a, b: a == b or (a.endswith("/**") and b.startswith(a[:-2]))
        )
        and _covers_alternatives(wide.command, narrow.command, lambda a, b: b.startswith(a))
        and all(item in narrow.equals for item in wide.equals)
        and _covers_pattern(wide, narrow)
        and (wide.condition is None or wide.condition == narrow.condition)
    )


def _covers_alternatives(wide: Sequence[str], narrow: Sequence[str], fits: Callable[[str, str], bool]) -> bool:
    """Whether each alternative of `narrow` falls under one of `wide`; no condition at all is the widest."""
    return not wide or (bool(narrow) and all(any(fits(a, b) for a in wide) for b in narrow))


def _covers_pattern(wide: Matcher, narrow: Matcher) -> bool:
    if not wide.pattern:
        return True
    if wide.field != narrow.field:
        return False
    if not narrow.pattern:
        # A literal beginning of the command is a text like any other.
        texts = narrow.command if not wide.field else ()
        return bool(texts) and all(any(is_unanchored(p) and has_match(p, text) for p in wide.pattern) for text in texts)
    return _covers_alternatives(wide.pattern, narrow.pattern, _is_implied)


def _is_implied(wide: str, narrow: str) -> bool:
    """Whether `wide` is found wherever `narrow` is: the same pattern, or found in a text that `narrow` cannot do without."""
    return wide == narrow or (
        is_unanchored(wide) and any(has_match(wide, text) for text in find_required_texts(narrow))
    )
