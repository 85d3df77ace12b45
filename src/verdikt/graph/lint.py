"""Problems of a policy that loads: rules that never fire, never decide, or contradict each other."""

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
    is_searchable,
)
from verdikt.graph.matcher import Matcher, fits_name
from verdikt.graph.policy import Policy, PolicyLayer, build_unknown_tool_rules
from verdikt.graph.re2_pattern import has_match
from verdikt.graph.regex_sample import find_required_texts, is_unanchored, sample_pattern
from verdikt.graph.rule import Rule
from verdikt.graph.rule_exception import RuleException
from verdikt.model.action import Action, ActionKind
from verdikt.model.verdict import VerdictKind
from verdikt.model.yaml_node import suggest_name


@dataclass(frozen=True, slots=True)
class Flaw:
    """One problem; `kind` is never, shadowed, contradiction, idle or narrow."""

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
    """Check every rule and pattern of every layer, each layer by itself with the profile it builds on."""
    flaws: list[Flaw] = []
    witnesses: list[tuple[str, str, WitnessAction]] = []
    for layer in policy.layers:
        base = _list_rules(layer.base) if layer.base else []
        own = _list_rules(layer)
        for located in [*own, *base]:
            witness, rule_flaws = lint_rule(located, names or {})
            flaws += rule_flaws
            flaws += _find_shell_gap(located)
            if witness is not None:
                witnesses.append((located.item.name, located.where, witness))
        for located in layer.located_items:
            flaws += _lint_guard_patterns(located)
        flaws += [flaw for located in layer.conditions if (flaw := _find_unmet_condition(located)) is not None]
        # Flaws among the profile's own rules are reported once, and not again for every layer that builds on it.
        flaws += _compare_rules(base)
        flaws += [
            flaw for flaw in _compare_rules([*own, *base]) if flaw.where not in {located.where for located in base}
        ]
        flaws += _find_idle_approvals(policy, layer)
        flaws += _lint_exceptions(policy, layer, names or {})
        explained = {flaw.where for flaw in flaws}
        flaws += [flaw for located in own if located.where not in explained for flaw in _find_idle_pass(located)]
    return LintReport(tuple(dict.fromkeys(flaws)), tuple(witnesses))


def _list_rules(layer: PolicyLayer) -> list[LocatedItem]:
    return [located for located in layer.located_items if isinstance(located.item, Rule)]


def lint_rule(located: LocatedItem, names: EffectClasses) -> tuple[WitnessAction | None, list[Flaw]]:
    """Return a witness for a rule, and a flaw for the rule or for each of its alternatives that can never fire."""
    rule: Rule = located.item
    when = rule.when

    def make_never_flaw(message: str) -> Flaw:
        return Flaw("never", rule.name, located.where, f"rule `{rule.name}` can never fire: {message}")

    if reason := _explain_impossible(rule):
        return None, [make_never_flaw(reason)]
    witness = find_witness(rule, names)
    if witness is None and not is_searchable(rule):
        return None, []
    if witness is None:
        if any(not list(sample_pattern(pattern)) for pattern in when.pattern) and len(when.pattern) == 1:
            return None, [make_never_flaw(f"no text was found that the pattern `{when.pattern[0]}` matches")]
        if not any(generate_candidates(when, names)):
            return None, [make_never_flaw("no effect has both this name and this class")]
        return None, [make_never_flaw("no action was found for which all its conditions hold")]
    flaws = []
    # The rule fires, but perhaps thanks to some of its alternatives only.
    for key in ("pattern", "command", "effect", "tool", "target"):
        alternatives: Sequence[str] = getattr(when, key)
        for value in alternatives if len(alternatives) > 1 else ():
            narrowed: dict[str, Any] = {key: (value,)}
            part = replace(rule, when=replace(when, **narrowed))
            if find_witness(part, names) is None:
                message = f"`{value}` under `{key}` of rule `{rule.name}` can never make it fire"
                flaws.append(Flaw("never", rule.name, located.where, message))
    return witness, flaws


def _find_idle_pass(located: LocatedItem) -> Iterator[Flaw]:
    """Yield a flaw for a rule that says pass: the strictest verdict wins, so it changes nothing anywhere."""
    if located.item.verdict is VerdictKind.PASS:
        message = (
            f"rule `{located.item.name}` never matters: a rule that says pass overrules no other one;"
            " add `unless` to the rule that objects, or an exception"
        )
        yield Flaw("idle", located.item.name, located.where, message)


def _find_shell_gap(located: LocatedItem) -> Iterator[Flaw]:
    """Yield a flaw for a rule about writes that sees the file tools and not the shell."""
    when = located.item.when
    # What only a file tool has, such as its name or a field of its input, shows that the rule is about that tool.
    is_about_tool = when.tool or when.equals or when.field or when.condition is not None
    if set(when.kind) - {ActionKind.READ} == {ActionKind.WRITE} and not is_about_tool:
        message = (
            f"rule `{located.item.name}` does not see what a shell command writes: `kind: write` is the file tools"
            " alone; `class: write` is every write"
        )
        yield Flaw("narrow", located.item.name, located.where, message)


def _find_unmet_condition(located: LocatedItem) -> Flaw | None:
    """Return a flaw for a `when` whose condition holds for no action that was tried."""
    condition = located.item
    rule = Rule(name="when", when=Matcher(condition=condition), verdict=VerdictKind.PASS)
    if find_witness(rule) is not None or not is_searchable(rule):
        return None
    return Flaw("never", "when", located.where, f"no action was found for which `{condition.text}` holds")


def _lint_guard_patterns(located: LocatedItem) -> Iterator[Flaw]:
    """Yield flaws of the patterns that a guard blocks: those that never fire or that another one covers."""
    for key, values in located.settings.items():
        if not key.startswith("blocked") or not key.endswith("patterns") or not isinstance(values, list | tuple):
            continue
        guard = as_node(located.item)
        for number, pattern in enumerate(values):
            name = f"`{pattern}` under `{key}` of guard `{located.item.name}`"
            shadow = next((other for other in values[:number] if _is_implied(other, pattern)), None)
            samples = list(sample_pattern(pattern))
            # An exception of the guard may cover the sample alone and not a longer command that contains it.
            if all(
                _passes_command(guard, text) for sample in samples for text in (sample, f"a {sample}", f"{sample}; a")
            ):
                yield Flaw("never", located.item.name, located.where, f"{name} can never fire")
            elif shadow is not None:
                yield Flaw(
                    "shadowed", located.item.name, located.where, f"{name} never decides: `{shadow}` comes first"
                )


def _passes_command(guard: PolicyNode, command: str) -> bool:
    """Return whether a guard passes a command."""
    witness = WitnessAction(Action(kind=ActionKind.BASH, tool="Bash", payload={"command": command}, cwd=PROJECT))
    return guard.evaluate(witness.action, witness.build_context()).kind is VerdictKind.PASS


def _explain_impossible(rule: Rule) -> str:
    """Return why a rule can never fire if its conditions alone show it, or an empty string."""
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
    """Yield a flaw for each rule that another one always overrules or contradicts."""
    for number, rule in enumerate(rules):
        for other_number, other in enumerate(rules):
            if number == other_number:
                continue
            if (flaw := _compare_pair(rule, other, other_number < number)) is not None:
                yield flaw
                break


def _compare_pair(located: LocatedItem, other: LocatedItem, other_is_first: bool) -> Flaw | None:
    rule, by = located.item, other.item
    if not covers_rule(by, rule):
        return None
    place = f"`{by.name}` ({other.where})"
    if rule.verdict is VerdictKind.PASS and by.verdict > VerdictKind.PASS:
        message = f"rule `{rule.name}` says pass where {place} says {by.verdict.word}, which wins: use `unless` there"
        return Flaw("contradiction", rule.name, located.where, message)
    if by.verdict < rule.verdict or (by.verdict is rule.verdict and not other_is_first):
        return None
    if by.verdict > rule.verdict and covers_rule(rule, by):
        words = f"{rule.verdict.word} where {place} says {by.verdict.word} on the same conditions"
        return Flaw("contradiction", rule.name, located.where, f"rule `{rule.name}` says {words}")
    if by.red_line >= rule.red_line:
        says = f"and says {by.verdict.word}"
        if by.verdict is rule.verdict:
            says = f"says {by.verdict.word} and comes first"
        comma = "," if by.verdict is rule.verdict else ""
        message = f"rule `{rule.name}` never decides: {place} fires on the same actions{comma} {says}"
        return Flaw("shadowed", rule.name, located.where, message)
    return None


def _find_idle_approvals(policy: Policy, layer: PolicyLayer) -> Iterator[Flaw]:
    """Yield flaws for approvals that approve nothing."""
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


def _lint_exceptions(policy: Policy, layer: PolicyLayer, names: EffectClasses) -> Iterator[Flaw]:
    """Yield flaws for exceptions that let nothing through, or everything that their rule would stop."""
    where = layer.locate_key("exceptions")
    rules = {rule.name: rule for rule in (*policy.rules, *build_unknown_tool_rules(VerdictKind.ASK).rules)}
    within_reach = _list_rules_below(policy, layer)
    for exception in layer.exceptions:
        rule = rules.get(exception.rule)
        prefix = f"the exception for `{exception.rule}`"
        if rule is not None and exception.rule not in within_reach:
            message = f"{prefix} is not in force: the rule belongs to a higher layer, which this file can't loosen"
            yield Flaw("idle", exception.rule, where, message)
        elif rule is None:
            hint = suggest_name(exception.rule, rules, list_names=False)
            yield Flaw("never", exception.rule, where, f"{prefix} can never match: there is no such rule{hint}")
        elif rule.red_line:
            yield Flaw("never", exception.rule, where, f"{prefix} can never match: a red line has no exceptions")
        elif not _can_match(rule, exception, names):
            message = f"{prefix} can never match: the rule fires on nothing in its scope"
            yield Flaw("never", exception.rule, where, message)
        elif find_witness(replace(rule, exceptions=(_without_limits(exception),)), names) is None:
            message = f"{prefix} swallows the whole rule: narrow it, or leave the rule out with `disable`"
            yield Flaw("contradiction", exception.rule, where, message)


def _list_rules_below(policy: Policy, layer: PolicyLayer) -> set[str]:
    """Return the names of the rules for which exceptions of a layer hold: its own and those of lower layers."""
    index = next(number for number, other in enumerate(policy.layers) if other is layer)
    parts = [part for other in policy.layers[index:] for part in (other, other.base) if part]
    names = {located.item.name for part in parts for located in _list_rules(part)}
    return names | ({rule.name for rule in build_unknown_tool_rules(VerdictKind.ASK).rules} if index == 0 else set())


def _can_match(rule: Rule, exception: RuleException, names: EffectClasses) -> bool:
    """Return whether an action was found on which the rule fires and which is in the scope of the exception."""
    when = rule.when
    if exception.tool and when.tool and not any(fits_name(name, exception.tool) for name in when.tool):
        return False
    if exception.command:
        text = exception.command.strip()
        starts = not when.command or text.startswith(when.command)
        return starts and (not when.pattern or bool(when.field) or any(has_match(p, text) for p in when.pattern))
    if exception.path and not when.target:
        # The rule's own conditions, on a target in the scope of the exception.
        return find_witness(replace(rule, when=replace(when, target=exception.path)), names) is not None
    return True


def _without_limits(exception: RuleException) -> RuleException:
    """Return the exception for every project and time, because no witness has either."""
    return replace(exception, project="", until="")


def covers_rule(wide: Rule, narrow: Rule) -> bool:
    """Return whether `wide` certainly fires on every action on which `narrow` does."""
    same_exemptions = wide.unless is None or wide.unless == narrow.unless
    return same_exemptions and covers_matcher(wide.when, narrow.when)


def covers_matcher(wide: Matcher, narrow: Matcher) -> bool:
    """Return whether the conditions of `wide` hold wherever those of `narrow` do; false when in doubt."""
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
    """Return whether each alternative of `narrow` is covered by one of `wide`; no condition covers everything."""
    return not wide or (bool(narrow) and all(any(fits(a, b) for a in wide) for b in narrow))


def _covers_pattern(wide: Matcher, narrow: Matcher) -> bool:
    if not wide.pattern:
        return True
    if wide.field != narrow.field:
        return False
    if not narrow.pattern:
        # Every command of `narrow` begins with one of these texts, so an unanchored pattern can be tried on them.
        texts = narrow.command if not wide.field else ()
        return bool(texts) and all(any(is_unanchored(p) and has_match(p, text) for p in wide.pattern) for text in texts)
    return _covers_alternatives(wide.pattern, narrow.pattern, _is_implied)


def _is_implied(wide: str, narrow: str) -> bool:
    """Return whether `wide` certainly occurs wherever `narrow` does."""
    return wide == narrow or (
        is_unanchored(wide) and any(has_match(wide, text) for text in find_required_texts(narrow))
    )
