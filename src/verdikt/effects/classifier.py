"""The one question that this room answers: what would this action do, to what, and how sure are we?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from verdikt.effects.code import classify_code
from verdikt.effects.effect_cache import EffectCache
from verdikt.effects.effect_catalog import find_entry
from verdikt.effects.invocation import Invocation
from verdikt.effects.script_classifier import ScriptClassifier
from verdikt.effects.target import TargetResolver
from verdikt.effects.tool_classifier import classify_tool
from verdikt.model.action import ActionKind
from verdikt.model.effect import Certainty, Effect, EffectClass, Effects
from verdikt.shell.command import Command, Word

if TYPE_CHECKING:
    from verdikt.model.action import Action
    from verdikt.model.facts import Facts

MAX_EFFECTS = 2_000
"""How many effects one action is described by; what comes after them is told as unknown."""


def classify(action: Action, facts: Facts, *, manifest: Mapping[str, Any] | None = None) -> Effects:
    """What an action would do. Never raises; what cannot be told is an effect of its own (`unknown.*`).

    `manifest` maps tools to declared effects and annotations; arguments raise what it declares and never lower it.
    """
    if action.kind is ActionKind.BASH and action.tool not in _POWERSHELL_TOOLS:
        text = extract_command_text(action)
        return _CACHE.get_or_compute(text, facts, lambda: classify_shell_text(text, facts))
    resolver = TargetResolver(facts)
    if action.kind is ActionKind.BASH:
        effects = _classify_powershell(extract_command_text(action), resolver)
    else:
        effects = [*classify_tool(action, resolver, manifest)]
    return Effects(_deduplicate_effects(effects or [_NO_EFFECT]))


_CACHE = EffectCache()
_NO_EFFECT = Effect(cls=EffectClass.READ, what="none")


def classify_shell_text(text: str, facts: Facts) -> Effects:
    """What shell text would do, whether or not it was met before."""
    effects = ScriptClassifier(TargetResolver(facts)).classify_shell(text) if text and not text.isspace() else []
    return Effects(_deduplicate_effects(effects or [_NO_EFFECT]))


_POWERSHELL_TOOLS = frozenset("PowerShell powershell write_powershell".split())


def _classify_powershell(text: str, resolver: TargetResolver) -> list[Effect]:
    return [*classify_code("powershell", text, Invocation(Command(argv=(Word(text[:80]),)), resolver))]


def extract_command_text(action: Action) -> str:
    """The shell text of an action, whichever way its host writes it."""
    payload = action.payload
    if type(payload) is dict and type(text := payload.get("command")) is str:
        return text
    if isinstance(payload, Mapping):
        for key in ("command", "cmd", "script", "chars", "input"):
            value = payload.get(key)
            if isinstance(value, str) and value:
                return value
            if isinstance(value, list | tuple) and value:
                # A list in a list is no word, and may be too deep to print.
                words = [str(item) if isinstance(item, str | int | float) else "[…]" for item in value]
                if (
                    len(words) >= 3
                    and words[0].rsplit("/", 1)[-1] in ("bash", "sh", "zsh")
                    and words[1] in ("-c", "-lc", "-ic")
                ):
                    return words[2]
                return " ".join(_quote_word(word) for word in words)
    return ""


def _quote_word(word: str) -> str:
    if word and all(c.isalnum() or c in "-_./=:,@%+" for c in word):
        return word
    return "'" + word.replace("'", "'\\''") + "'"


def _deduplicate_effects(effects: Sequence[Effect]) -> tuple[Effect, ...]:
    """The effects in order, each once."""
    if len(effects) < 2:
        return tuple(effects)
    seen: dict[Any, Effect] = {}
    for effect in effects:
        # By its texts: to hash a whole effect takes longer than to make one.
        targets = [target.path or target.text for target in effect.targets]
        seen.setdefault((effect.what, effect.by, effect.note, effect.recoverable, effect.certain, *targets), effect)
    found = tuple(seen.values())
    return found if len(found) <= MAX_EFFECTS else (*found[:MAX_EFFECTS], _make_overflow_effect())


def _make_overflow_effect() -> Effect:
    entry = find_entry("unknown.parse")
    return Effect(
        cls=entry.cls,
        what="unknown.parse",
        certainty=Certainty.POSSIBLE,
        recoverable=False,
        note="it does more than can be looked at",
    )
