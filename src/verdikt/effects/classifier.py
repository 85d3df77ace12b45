"""The one question that this room answers: what would this action do, to what, and how sure are we?"""

from __future__ import annotations

from collections.abc import Mapping

from verdikt.effects.name import named
from verdikt.effects.native import read_tool
from verdikt.effects.reading import Reading
from verdikt.effects.recall import Recall
from verdikt.effects.target import Resolver
from verdikt.model.action import ActionKind
from verdikt.model.effect import Certainty, Effect, EffectClass, Effects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from verdikt.model.action import Action
    from verdikt.model.facts import Facts

MOST = 2_000
"""How many effects one action is described by; what comes after them is told as unknown."""


def classify(action: Action, facts: Facts, *, manifest: Mapping[str, Any] | None = None) -> Effects:
    """What an action would do. Never raises; what cannot be told is an effect of its own (`unknown.*`).

    `manifest` maps tools to declared effects and annotations; arguments raise what it declares and never lower it.
    """
    if action.kind is ActionKind.BASH and action.tool not in _POWERSHELL:
        text = command_text(action)
        return _RECENT.effects(text, facts, lambda: understand(text, facts))
    resolver = Resolver(facts)
    if action.kind is ActionKind.BASH:
        effects = _powershell(command_text(action), resolver)
    else:
        effects = [*read_tool(action, resolver, manifest)]
    return Effects(_unique(effects or [_NOTHING]))


_RECENT = Recall()
_NOTHING = Effect(cls=EffectClass.READ, what="none")


def understand(text: str, facts: Facts) -> Effects:
    """What shell text would do, whether or not it was met before."""
    effects = Reading(Resolver(facts)).script(text) if text and not text.isspace() else []
    return Effects(_unique(effects or [_NOTHING]))


_POWERSHELL = frozenset("PowerShell powershell write_powershell".split())


def _powershell(text: str, resolver: Resolver) -> list[Effect]:
    from verdikt.effects.call import Call
    from verdikt.effects.code import read_code
    from verdikt.shell.command import Command, Word

    return [*read_code("powershell", text, Call(Command(argv=(Word(text[:80]),)), resolver))]


def command_text(action: Action) -> str:
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
                return " ".join(_quoted(word) for word in words)
    return ""


def _quoted(word: str) -> str:
    if word and all(c.isalnum() or c in "-_./=:,@%+" for c in word):
        return word
    return "'" + word.replace("'", "'\\''") + "'"


def _unique(effects: Sequence[Effect]) -> tuple[Effect, ...]:
    """The effects in order, each once."""
    if len(effects) < 2:
        return tuple(effects)
    seen: dict[Any, Effect] = {}
    for effect in effects:
        # By its texts: to hash a whole effect takes longer than to make one.
        targets = [target.path or target.text for target in effect.targets]
        seen.setdefault((effect.what, effect.by, effect.note, effect.recoverable, effect.certain, *targets), effect)
    found = tuple(seen.values())
    return found if len(found) <= MOST else (*found[:MOST], _too_much())


def _too_much() -> Effect:
    entry = named("unknown.parse")
    return Effect(
        cls=entry.cls,
        what="unknown.parse",
        certainty=Certainty.POSSIBLE,
        recoverable=False,
        note="it does more than can be looked at",
    )
