"""What the values of a tool's arguments say, whichever tool gets them: a dry run, what is live, all of it, a secret."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from verdikt.effects.arguments import word_set
from verdikt.effects.command_verbs import has_destroy_verb, split_tokens
from verdikt.effects.installation_names import is_for_trials, is_live_name
from verdikt.effects.tool_name import (
    INFRASTRUCTURE_NOTE,
    METHOD_KEYS,
    infer_verb_effect,
    is_general_tool,
    split_tool_name,
)
from verdikt.model.action import UNKNOWN
from verdikt.model.effect import Effect, Target
from verdikt.model.lazy_regex import compile_lazily

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation
    from verdikt.model.action import Action

_DRY_RUN_KEYS = word_set("dryrun preview planonly plan simulate validateonly whatif checkmode noop")
_DRY_RUN_VALUES = (True, "true", "client", "server", "All")
_STAGE_WORDS = word_set("env environment stage deployment")
_ORDERING = ("mcp.write", "mcp.run", "mcp.send", "")
_WILDCARDS = frozenset(("*", "**", "_all", "%"))
_CONCRETE_PREFIXES = ("cloud.", "k8s.", "infra.", "container.", "db.", "vm.")
_READ_METHODS = frozenset(("GET", "HEAD", "OPTIONS"))
_TEXT_KEYS = word_set(
    "body text content contents message comment description note notes observation observations summary title subject "
    "markdown html caption"
)
"""Arguments that people or other programs read later; a key that logs in stands under another."""
_PUBLIC_NOUNS = word_set("comment issue message post reply review discussion gist email thread pr")
"""What others read at once."""
_TYPING_VERBS = word_set("type fill press keys")
_FINAL_CLICK = compile_lazily(
    r"(?i)\b(?:delet|remov|clos|terminat|destroy|wip|eras|cancel|deactivat)\w*\W+(?:\w+\W+){0,2}?"
    r"(?:accounts?|repositor\w+|organi[sz]ations?|workspaces?|projects?|databases?|instances?|clusters?|subscriptions?"
    r"|buckets?|domains?|tenants?|teams?)\b|\bpermanently\b"
)
_PAGE_EFFECTS = ("click", "press", "code", "evaluate", "script")
_MAX_VALUE = 200
_MAX_DEPTH = 4


def is_dry_run(payload: Any, schema: Mapping[str, Any]) -> bool:
    """Return whether the arguments ask for a dry run; a schema that does not know such an argument makes it none."""
    properties = schema.get("properties", payload) if isinstance(payload, Mapping) else {}
    return any(
        key in properties and "".join(split_tokens(key)) in _DRY_RUN_KEYS and value in _DRY_RUN_VALUES
        for key, value in (payload.items() if isinstance(payload, Mapping) else ())
        if isinstance(key, str) and isinstance(value, str | bool)
    )


def drop_guesses(action: Action, effects: Sequence[Effect]) -> list[Effect]:
    """Return the effects without what only the tool's name suggests, where its arguments tell what it does.

    `call_aws` with `aws ec2 describe-instances` reads, and a general tool is what the address and method say.
    """
    names = {effect.what for effect in effects}
    is_told = any(e.what.startswith(_CONCRETE_PREFIXES) for e in effects if e.by != action.tool)
    if names == {"unknown.tool", "db.read"} and _has_one_text(action.payload):
        return [effect for effect in effects if effect.what != "unknown.tool"]
    if is_told and names.isdisjoint(("unknown.program", "unknown.destroy")):
        return [e for e in effects if e.note != INFRASTRUCTURE_NOTE and e.what != "unknown.tool"]
    method = find_method(action.payload)
    if is_general_tool(action.tool) and method in _READ_METHODS and any(name.startswith("net.") for name in names):
        return [effect for effect in effects if effect.what != "unknown.tool"]
    return list(effects)


def _has_one_text(payload: Any) -> bool:
    """Return whether all arguments but one are numbers, so that no other says what else a tool does."""
    values = payload.values() if isinstance(payload, Mapping) else ()
    return sum(value is not None and not isinstance(value, int | float) for value in values) == 1


def find_method(payload: Any) -> str:
    """Return the method of the request that the arguments stand for, in capital letters; empty for none."""
    if not isinstance(payload, Mapping):
        return ""
    return next((method.upper() for key in METHOD_KEYS if isinstance(method := payload.get(key), str)), "")


def classify_values(action: Action, call: Invocation, *, in_browser: bool) -> Iterator[Effect]:
    """Yield what the values of the arguments add to what the tool's name says."""
    target = (Target(action.tool, "other"),)
    verb_effect = infer_verb_effect(action.tool)
    pairs = list(iter_texts(action.payload, ""))
    yield from _classify_secrets(pairs, verb_effect, target, call, action.tool if in_browser else "")
    if in_browser:
        acts = any(word in _PAGE_EFFECTS for word in split_tool_name(action.tool))
        if acts and any(_FINAL_CLICK.search(text) for _, text in pairs):
            yield call.make_effect("mcp.delete", target, possible=True, note="what it presses can't be undone")
        return
    short = [(key, text) for key, text in pairs if len(text) < _MAX_VALUE]
    stages = [text for key, text in short if not _STAGE_WORDS.isdisjoint(split_tokens(key))]
    if verb_effect == "mcp.delete" and any(text in _WILDCARDS for _, text in short):
        if not any(is_for_trials(text) for _, text in short):
            yield call.make_effect("cloud.delete", target, recoverable=False, note="all of them")
    elif verb_effect in _ORDERING and any(map(is_live_name, stages)):
        yield call.make_effect("infra.apply", target, possible=True, note="names what people depend on")
    if find_method(action.payload) == "DELETE" and not any("://" in text for _, text in pairs):
        yield call.make_effect("mcp.delete", target, note="its method is DELETE")
    if verb_effect == "mcp.run":
        payload = action.payload if isinstance(action.payload, Mapping) else {}
        if payload.get("destroy") is True and not any(is_for_trials(text) for _, text in short):
            yield call.make_effect("infra.destroy", target, recoverable=False, note="it is told to destroy")
        elif has_destroy_verb([text for _, text in short]):
            yield call.make_effect("unknown.destroy", target, possible=True)


def _classify_secrets(
    pairs: Sequence[tuple[str, str]], verb_effect: str, target: tuple[Target, ...], call: Invocation, browser_tool: str
) -> Iterator[Effect]:
    """Yield `cred.send` for a secret in what a service keeps or shows to others, and for a key typed into a page."""
    if browser_tool:
        types = not _TYPING_VERBS.isdisjoint(split_tool_name(browser_tool))
        if types and any(UNKNOWN in text for _, text in pairs):
            yield call.make_effect("cred.send", target, possible=True, note="a key that is typed into a page")
        return
    texts = [text for key, text in pairs if not _TEXT_KEYS.isdisjoint(split_tokens(key))]
    if verb_effect in ("mcp.send", "mcp.write") and any(UNKNOWN in text for text in texts):
        is_read = verb_effect == "mcp.send" or not _PUBLIC_NOUNS.isdisjoint(split_tool_name(target[0].text))
        yield call.make_effect("cred.send", target, possible=not is_read, note="a secret in its text")


def iter_texts(value: Any, key: str, depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield the texts of the arguments, each with the nearest key above it."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, Mapping) and depth < _MAX_DEPTH:
        for name, inner in sorted(value.items(), key=lambda pair: str(pair[0])):
            yield from iter_texts(inner, str(name), depth + 1)
    elif isinstance(value, list | tuple) and depth < _MAX_DEPTH:
        for inner in value:
            yield from iter_texts(inner, key, depth + 1)
