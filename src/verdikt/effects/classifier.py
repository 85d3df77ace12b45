"""Classify an action: return the effects it would have, on which targets, and with which certainty."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from json import dumps
from typing import TYPE_CHECKING, Any

from verdikt.effects.carried_state import mark_lost_work
from verdikt.effects.code import classify_code, quote_shell_word
from verdikt.effects.effect_catalog import find_entry
from verdikt.effects.invocation import SHELLS, Invocation
from verdikt.effects.mcp_tools import classify_declared_effects
from verdikt.effects.private_keys import find_shown_key
from verdikt.effects.script_classifier import ScriptClassifier
from verdikt.effects.target import TargetResolver
from verdikt.effects.tool_classifier import classify_tool
from verdikt.model.action import ActionKind
from verdikt.model.effect import Certainty, Effect, EffectClass, Effects
from verdikt.shell.command import Command, Word

if TYPE_CHECKING:
    from verdikt.effects.program_layer import ProgramLayer
    from verdikt.model.action import Action
    from verdikt.model.facts import Facts, WorldAnswers

MAX_EFFECTS = 2_000
"""Maximum number of effects reported for one action; the remainder becomes one `unknown.parse`."""
MAX_ENTRIES = 512
"""Maximum number of commands in the cache."""
MAX_TEXT_LENGTH = 16_384
"""Longer commands are not cached."""
MAX_QUESTIONS = 32
"""Commands that asked the world more questions than this are not cached: asking again costs as much as classifying."""

_POWERSHELL_TOOLS = frozenset("PowerShell powershell write_powershell".split())
_COMMAND_KEYS = ("command", "cmd", "script", "chars", "input")
# Tools whose declaration replaces the guess by their name.
_SERVICE_KINDS = (ActionKind.MCP, ActionKind.OTHER)
_NO_EFFECT = Effect(cls=EffectClass.READ, what="none")


def classify(
    action: Action, facts: Facts, *, manifest: Mapping[str, Any] | None = None, programs: ProgramLayer | None = None
) -> Effects:
    """Return the effects of an action. Never raises; what cannot be determined is an effect of its own (`unknown.*`).

    `manifest` maps tools to declared effects and annotations; arguments raise what it declares and never lower it.
    `programs` are those that the policy describes.
    """
    if manifest and action.tool in manifest and action.kind not in _SERVICE_KINDS:
        # A host's own tool: its calls are read as always, and what is declared for it comes on top.
        call = Invocation(Command(argv=(Word(action.tool),)), TargetResolver(facts))
        declared = classify_declared_effects(action, call, manifest)
        return Effects(_deduplicate_effects([*classify(action, facts), *declared]))
    if action.kind is ActionKind.BASH and action.tool not in _POWERSHELL_TOOLS:
        text = extract_command_text(action)
        if facts.secret_copies or facts.moved_work:
            # What the session remembers is no question to the world, so the cache can't tell whether it changed.
            return classify_shell_text(text, facts, programs)
        if programs is not None and programs.is_mentioned(text):
            return classify_shell_text(text, facts, programs)
        return _CACHE.get_or_compute(text, facts, lambda: classify_shell_text(text, facts))
    resolver = TargetResolver(facts)
    if action.kind is ActionKind.BASH:
        effects = _classify_powershell(extract_command_text(action), resolver)
    else:
        if not (manifest or facts.secret_copies or facts.moved_work) and (text := _render_service_call(action)):
            return _CACHE.get_or_compute(text, facts, lambda: _classify_tool_call(action, resolver))
        effects = _list_tool_effects(action, resolver, manifest)
        if moved := facts.moved_work:
            mark_lost_work(effects, moved)
    return Effects(_deduplicate_effects(effects or [_NO_EFFECT]))


def _classify_tool_call(action: Action, resolver: TargetResolver) -> Effects:
    return Effects(_deduplicate_effects(_list_tool_effects(action, resolver, None) or [_NO_EFFECT]))


def _list_tool_effects(action: Action, resolver: TargetResolver, manifest: Mapping[str, Any] | None) -> list[Effect]:
    effects = [*classify_tool(action, resolver, manifest)]
    if (shown_key := find_shown_key(effects, resolver.facts)) is not None:
        effects.append(shown_key)
    return effects


def _render_service_call(action: Action) -> str:
    """Return all of a service's call that its effects depend on, as a text that no shell command is; else nothing."""
    if action.kind not in _SERVICE_KINDS or type(action.payload) is not dict:
        return ""
    # The cache would not take it, and rendering a text of megabytes takes as long as judging it.
    if any(type(value) is str and len(value) > MAX_TEXT_LENGTH for value in action.payload.values()):
        return ""
    try:
        text = dumps((action.kind, action.host, action.tool, action.payload, action.hints))
    except (TypeError, ValueError, RecursionError):
        return ""
    return f"\0{text}"


def classify_shell_text(text: str, facts: Facts, programs: ProgramLayer | None = None) -> Effects:
    """Return the effects of shell text without consulting the cache."""
    classifier = ScriptClassifier(TargetResolver(facts), programs)
    effects = classifier.classify_shell(text) if text and not text.isspace() else []
    return Effects(_deduplicate_effects(effects or [_NO_EFFECT]))


def extract_command_text(action: Action) -> str:
    """Return the shell text of an action, whichever payload key its host uses; empty if there is none."""
    payload = action.payload
    # The common case first: a plain dict with a plain `command`, as nearly every host sends it.
    if type(payload) is dict and type(text := payload.get("command")) is str and text:
        return text
    if isinstance(payload, Mapping):
        for key in _COMMAND_KEYS:
            value = payload.get(key)
            if isinstance(value, str) and value:
                return value
            if isinstance(value, list | tuple) and value:
                return _join_argv(value)
    return ""


class EffectCache:
    """Cache of the effects of recent commands, valid only in the same place and for an unchanged world.

    Each entry keeps the questions its classification asked of the world. It is used again only if the place (directory,
    home, project) is the same and the world still gives the same answers.
    """

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: OrderedDict[tuple[object, ...], tuple[WorldAnswers, Effects]] = OrderedDict()

    def get_or_compute(self, text: str, facts: Facts, compute: Callable[[], Effects]) -> Effects:
        """Return the cached effects of the text, or compute and cache them."""
        # Facts that already hold answers are not cached: their questions cannot be told from those of this command.
        if len(text) > MAX_TEXT_LENGTH or not facts.has_no_answers:
            return compute()
        key = (text, facts.place_signature)
        entry = self._entries.get(key)
        if entry is not None and facts.revalidate_answers(entry[0]):
            return entry[1]
        effects = compute()
        answers = facts.snapshot_answers()
        question_count = len(answers.path) + len(answers.text) + len(answers.git)
        if question_count <= MAX_QUESTIONS and not facts.has_content_stamps:
            self._entries[key] = (answers, effects)
            if len(self._entries) > MAX_ENTRIES:
                self._entries.popitem(last=False)
        return effects


_CACHE = EffectCache()


def _classify_powershell(text: str, resolver: TargetResolver) -> list[Effect]:
    return [*classify_code("powershell", text, Invocation(Command(argv=(Word(text[:80]),)), resolver))]


def _join_argv(argv: Sequence[Any]) -> str:
    """Return the shell text for a command given as a list of words."""
    # A nested list is no word, and may be nested too deeply to print.
    words = [str(item) if isinstance(item, str | int | float) else "[…]" for item in argv]
    # Codex sends `["bash", "-lc", "text"]`: the text itself is what matters.
    if len(words) >= 3 and words[0].rsplit("/", 1)[-1] in SHELLS and words[1] in ("-c", "-lc", "-ic"):
        return words[2]
    return " ".join(map(quote_shell_word, words))


def _deduplicate_effects(effects: Sequence[Effect]) -> tuple[Effect, ...]:
    """Return the effects in order, each once, up to `MAX_EFFECTS`."""
    # The commands of a text differ, or what they do does: a look at both is nearly always enough.
    if len(effects) < 2 or len({(effect.what, effect.by) for effect in effects}) == len(effects) <= MAX_EFFECTS:
        return tuple(effects)
    unique: dict[Any, Effect] = {}
    for effect in effects:
        # Keyed by the texts: hashing a whole effect takes longer than building one.
        targets = [target.path or target.text for target in effect.targets]
        unique.setdefault((effect.what, effect.by, effect.note, effect.recoverable, effect.certain, *targets), effect)
    result = tuple(unique.values())
    return result if len(result) <= MAX_EFFECTS else (*result[:MAX_EFFECTS], _make_overflow_effect())


def _make_overflow_effect() -> Effect:
    entry = find_entry("unknown.parse")
    return Effect(
        cls=entry.cls,
        what="unknown.parse",
        certainty=Certainty.POSSIBLE,
        recoverable=False,
        note="it does more than can be looked at",
    )
