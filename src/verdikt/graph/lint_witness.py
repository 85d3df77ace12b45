"""Construction of an action on which a rule fires, from the rule's own conditions."""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from verdikt.errors import PolicyError
from verdikt.graph.cel_condition import CelCondition
from verdikt.graph.context import GovernanceContext
from verdikt.graph.matcher import Matcher
from verdikt.graph.regex_sample import sample_glob, sample_pattern
from verdikt.graph.rule import Rule
from verdikt.model.action import Action, ActionKind
from verdikt.model.effect import Certainty, Effect, EffectClass, Effects, Target, Zone
from verdikt.model.facts import Facts
from verdikt.model.posture import Posture
from verdikt.model.session_state import SessionState
from verdikt.model.world import RecordedWorld

HOME, PROJECT = "/home/dev", "/home/dev/project"
PLACE = {"now": 0.0, "cwd": PROJECT, "home": HOME, "project_root": PROJECT, "user": "dev"}
# The product of all alternatives can be huge; rules of ordinary size are covered by a fraction of this.
MAX_TRIES = 4_000
"""Number of actions that are tried for one condition."""

COMMAND_KINDS = {ActionKind.BASH, ActionKind.EXECUTE_CODE, ActionKind.MCP, ActionKind.OTHER, ActionKind.SUBMIT_TASK}
"""Kinds of action that can have a command text."""

_TOOL_BY_KIND = {
    ActionKind.BASH: "Bash",
    ActionKind.READ: "Read",
    ActionKind.WRITE: "Write",
    ActionKind.FETCH: "WebFetch",
}


@dataclass(frozen=True, slots=True)
class WitnessAction:
    """An action with everything that a rule may read of it."""

    action: Action
    effects: tuple[Effect, ...] = ()
    posture: Posture = Posture.INTERACTIVE
    risk: float = 0.0
    session: Mapping[str, int] = field(default_factory=dict)

    def build_context(self) -> GovernanceContext:
        """Return the context for its evaluation."""
        world = RecordedWorld({"place": PLACE, "path": {}, "text": {}, "git": {}})
        return GovernanceContext(
            action=self.action,
            effects=Effects(self.effects),
            facts=Facts(world),
            posture=self.posture,
            risk_score=self.risk,
            session=SessionState(**self.session),  # type: ignore[arg-type]
        )

    def __str__(self) -> str:
        action = self.action
        what = action.command or action.path or ", ".join(f"{key}={value!r}" for key, value in action.payload.items())
        effects = "; ".join(
            f"{effect.what} {' '.join(target.text or target.zone for target in effect.targets)}".strip()
            for effect in self.effects
        )
        return f"{action.tool or action.kind} {what}".strip() + (f" [{effects}]" if effects else "")


EffectClasses = Mapping[str, EffectClass]
"""Names of effects and the class of each; empty when unknown."""


def find_witness(rule: Rule, names: EffectClasses | None = None) -> WitnessAction | None:
    """Return an action on which the rule fires, or None when none was found."""
    candidates = (
        changed for base in generate_candidates(rule.when, names or {}) for changed in _vary_by_condition(base, rule)
    )
    for candidate in itertools.islice(candidates, MAX_TRIES):
        try:
            if rule.match_action(candidate.action, candidate.build_context()) is not None:
                return candidate
        except (ValueError, TypeError, LookupError, AttributeError, RuntimeError):
            # A condition that fails on this action may hold on another.
            continue
    return None


def is_searchable(rule: Rule) -> bool:
    """Return whether the search varies everything that a rule reads, so that finding no action means something."""
    conditions = [part.condition for part in (rule.when, rule.unless) if part is not None]
    texts = [
        _STRING_LITERAL.sub("''", condition.text) for condition in conditions if isinstance(condition, CelCondition)
    ]
    return not any(name in text for text in texts for name in _UNVARIED_VARIABLES)


def generate_candidates(when: Matcher, names: EffectClasses) -> Iterator[WitnessAction]:
    """Yield actions that are built to fit the conditions; the rule itself decides whether they do."""
    kinds = [ActionKind(kind) for kind in when.kind] or [ActionKind.BASH, ActionKind.WRITE, ActionKind.OTHER]
    if when.command or (when.pattern and not when.field):
        kinds = [kind for kind in kinds if kind in COMMAND_KINDS]
    tools = [name.rstrip("*") + "x" * name.endswith("*") for name in when.tool] or [""]
    postures = [Posture(posture) for posture in when.posture] or [Posture.INTERACTIVE]
    combinations = itertools.product(kinds, tools, postures, _candidate_texts(when), _candidate_effects(when, names))
    for kind, tool, posture, text, effect in combinations:
        payload = _build_payload(when, text)
        host, agent = (when.host or ("",))[0], (when.agent or ("",))[0]
        action = Action(
            kind=kind, tool=tool or _TOOL_BY_KIND.get(kind, kind), payload=payload, host=host, agent=agent, cwd=PROJECT
        )
        yield WitnessAction(action, () if effect is None else (effect,), posture)


def _build_payload(when: Matcher, text: str | None) -> dict[str, Any]:
    """Return a payload with the values that the conditions compare, and this text where they look for one."""
    payload: dict[str, Any] = {}
    for path, value in when.equals:
        _set_at_path(payload, path, value)
    if text is not None:
        _set_at_path(payload, when.field[0] if when.field else "command", text)
    if when.command and when.field:
        payload.setdefault("command", when.command[0])
    return payload


def _candidate_texts(when: Matcher) -> list[str | None]:
    """Return command texts, or texts of the field, that fit the prefixes and patterns."""
    prefixes: Sequence[str] = when.command if not when.field else ()
    if not when.pattern:
        return list(prefixes) or [None]
    samples = [sample for pattern in when.pattern for sample in sample_pattern(pattern)]
    if not prefixes:
        return list(samples)
    joined = [prefix + gap + sample for sample in samples for prefix in prefixes for gap in ("", " ")]
    return [*samples, *joined]


def _candidate_effects(when: Matcher, names: EffectClasses) -> list[Effect | None]:
    """Return effects that fit the conditions on effect and target."""
    if not when.on_effect:
        return [None]
    effects: list[Effect | None] = []
    for what, cls in _candidate_effect_names(when, names):
        for effect_class in [cls] if cls else [EffectClass(name) for name in when.cls] or [EffectClass.WRITE]:
            if when.cls and effect_class not in when.cls:
                continue
            effect = Effect(
                cls=effect_class,
                what=what or "fs.write",
                certainty=Certainty(when.certainty or "certain"),
                recoverable=bool(when.recoverable) if when.recoverable is not None else True,
                by="x",
            )
            effects += [effect._replace(targets=targets) for targets in _candidate_targets(when)]
    return effects


def _candidate_effect_names(when: Matcher, names: EffectClasses) -> list[tuple[str, EffectClass | None]]:
    """Return names of effects that fit the conditions, each with its class where that is known."""
    if names and when.effect:
        return [(n, c) for n, c in names.items() if any(f"{n}.".startswith(f"{name}.") for name in when.effect)]
    if names and when.cls:
        return [(next((n for n, c in names.items() if c == cls), ""), EffectClass(cls)) for cls in when.cls]
    return [(name, names.get(name)) for name in when.effect] or [("", None)]


def _candidate_targets(when: Matcher) -> list[tuple[Target, ...]]:
    if not when.on_target:
        return [(), (Target("x", path=f"{PROJECT}/x", zone=Zone.PROJECT),)]
    zones = [Zone(zone) for zone in when.zone] or [Zone.PROJECT, Zone.UNKNOWN]
    states = list(when.state) or [""]
    kinds = list(when.target_kind) or ["path", "other"]
    targets: list[tuple[Target, ...]] = []
    for kind, zone, state, glob in itertools.product(kinds, zones, states, when.target or ("x",)):
        text = sample_glob(glob)
        targets.append(
            (Target(text, kind=kind, path=_to_absolute(text) if kind == "path" else "", zone=zone, state=state),)
        )
    return targets


def _to_absolute(text: str) -> str:
    if text == "~" or text.startswith("~/"):
        return HOME + text[1:]
    return text if text.startswith("/") else f"{PROJECT}/{text.removeprefix('./')}"


def _set_at_path(payload: dict[str, Any], path: str, value: Any) -> None:
    *parents, last = path.split(".")
    for key in parents:
        inner = payload.get(key)
        payload = payload.setdefault(key, {}) if isinstance(inner, dict) or inner is None else payload
    payload[last] = value


# Conditions. CEL cannot be solved in general, but people compare a variable with a literal, so the literals of the
# condition are the values to try.

_STRING_LITERAL = re.compile(r"""r?(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")""")
_NUMBER = re.compile(r"(?<![\w.'\"])-?\d+(?:\.\d+)?")
_PAYLOAD_FIELD = re.compile(r"action\.payload(?:\.(\w+)|\[['\"](\w+)['\"]\])")
_TEXT_VARIABLES = ("tool", "task_type", "agent", "host", "session_id", "cwd")
# Histories and sizes have too many values to try; a rule that reads them is not called dead.
_UNVARIED_VARIABLES = ("session.history", "session.risk", "size(")
_COUNT_VARIABLES = ("action_count", "block_count", "consecutive_blocks")


def _vary_by_condition(base: WitnessAction, rule: Rule) -> Iterator[WitnessAction]:
    """Yield the witness itself, then variants with values from the rule's condition in its variables."""
    yield base
    condition = rule.when.condition
    if not isinstance(condition, CelCondition):
        return
    choices = _list_choices(condition.text)
    for values in itertools.product(*choices.values()):
        yield _apply_values(base, dict(zip(choices, values, strict=True)))


def _list_choices(text: str) -> dict[str, list[Any]]:
    """Return the values to try for each variable of the condition."""
    words = _list_literal_words(text)
    numbers = [float(number) for number in _NUMBER.findall(_STRING_LITERAL.sub("", text))]
    # Around each number, because `>` and `>=` differ only there.
    counts = [0, 1, *(max(0, int(n) + d) for n in numbers for d in (-1, 0, 1))]
    pairs = [f"{a} {b}" for a, b in itertools.permutations(words[:4], 2)]
    values: dict[str, list[Any]] = {
        **{f"action.{name}": ["", *words] for name in _TEXT_VARIABLES},
        "action.kind": [ActionKind(word) for word in words if word in list(ActionKind)] or list(ActionKind),
        "action.command": [*words, *pairs, "x"],
        "action.path": [*words, "x"],
        "posture": list(Posture),
        "risk": [0.0, 1.0, *(min(1.0, max(0.0, n + d)) for n in numbers for d in (-0.01, 0.0, 0.01))],
        **{f"session.{name}": counts for name in _COUNT_VARIABLES},
        "effects": _effects_from_words(words),
    }
    fields = [f"action.payload.{a or b}" for a, b in _PAYLOAD_FIELD.findall(text)]
    free = {name: [*words, *map(int, numbers), True, False, "x"] for name in fields}
    return {name: tries for name, tries in values.items() if name in text} | free


def _list_literal_words(text: str) -> list[str]:
    """Return the string literals of a condition, then texts that they match as patterns, each once."""
    literals = [a or b for a, b in _STRING_LITERAL.findall(text)]
    samples = (sample for word in literals for sample in itertools.islice(_sample_literal(word), 3))
    return list(dict.fromkeys([*literals, *samples]))


def _sample_literal(word: str) -> Iterator[str]:
    """Yield samples of a literal that is used as a pattern."""
    try:
        yield from sample_pattern(word)
    except PolicyError:
        # Most literals are no patterns.
        return


def _effects_from_words(words: Sequence[str]) -> list[tuple[Effect, ...]]:
    """Return effects made of the literals: classes, zones, names."""
    classes = [EffectClass(word) for word in words if word in list(EffectClass)] or [EffectClass.WRITE]
    zones = [Zone(word) for word in words if word in list(Zone)] or [Zone.PROJECT]
    names = [
        "fs.write",
        *(word for word in words if "." in word),
        *(f"{word}x" for word in words if word.endswith(".")),
    ]
    certain = (Certainty.CERTAIN, Certainty.POSSIBLE)
    effects: list[tuple[Effect, ...]] = [()]
    for cls, zone, name, certainty, recoverable in itertools.product(classes, zones, names, certain, (True, False)):
        target = Target(words[0] if words else "x", path=f"{PROJECT}/x", zone=zone)
        effect = Effect(cls=cls, what=name, targets=(target,), certainty=certainty, recoverable=recoverable)
        effects.append((effect,))
    return effects


def _apply_values(base: WitnessAction, values: Mapping[str, Any]) -> WitnessAction:
    payload = dict(base.action.payload)
    session = dict(base.session)
    fields: dict[str, Any] = {}
    other: dict[str, Any] = {}
    for name, value in values.items():
        match name.split("."):
            case ["action", "payload", key]:
                payload[key] = value
            case ["action", "command" | "path" as key]:
                payload["file_path" if key == "path" else key] = value
            case ["action", key]:
                fields[key] = value
            case ["session", key]:
                session[key] = value
            case _:
                other[name] = value
    return replace(base, action=replace(base.action, payload=payload, **fields), session=session, **other)
