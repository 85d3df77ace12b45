"""Classify calls of well-known MCP servers by their records: like the command, query or request they stand for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from shlex import quote
from typing import TYPE_CHECKING, Any

from verdikt.effects import host
from verdikt.effects.code import classify_code, classify_query
from verdikt.effects.file_address import read_file_address
from verdikt.effects.tool_data_store import settle_tool_losses
from verdikt.effects.zone_effects import derive_zone_effects
from verdikt.knowledge import find_record, find_server_tool
from verdikt.model.effect import Effect, Target, Zone
from verdikt.shell.command import Word

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation
    from verdikt.model.action import Action

_ARGUMENT = re.compile(r"\{(\w+)\}")
_OPTIONAL = re.compile(r"\[([^\]]*)\]")
_MAX_PATHS = 64
_SUBCOMMAND_KEYS = ("action", "mode", "operation", "subcommand", "verb")
PLACE_KEYS = frozenset(("repo_path", "repoPath", "repository", "cwd", "directory", "workdir"))
"""Arguments that say where a command runs, and are no words of it."""


def classify_recorded(action: Action, service: Set[str], call: Invocation) -> list[Effect] | None:
    """Return the effects of a tool that has a record; None for one that has none, or is called otherwise than usual."""
    tool = action.tool.rpartition("__")[2]
    record = find_server_tool(service, tool)
    if record is None or not isinstance(action.payload, Mapping):
        return None
    effects: list[Effect] = []
    for part in record.split(";"):
        found = _classify_part(part.strip(), action.payload, action.tool, call)
        if found is None:
            return None  # arguments that the record does not know are read by name, like any other tool's
        effects += found
    return effects


def is_named_for_command(words: Sequence[str]) -> bool:
    """Whether a tool's name begins with a program and one of its commands: `git_blame`."""
    record = find_record(words[0]) if len(words) > 1 else None
    return record is not None and words[1] in record.get("commands", ())


def find_places(payload: Mapping[str, Any], call: Invocation) -> frozenset[str]:
    """Return the arguments that only say where in the project a command runs.

    Another place is a word of the command, since it may be what that creates, fetches or deletes.
    """
    texts = [text for key in PLACE_KEYS for text in _list_texts(payload.get(key))]
    return frozenset(
        text
        for text in texts
        if text == "." or (text.startswith("/") and call.resolve_path(Word(text, text)).zone is Zone.PROJECT)
    )


def classify_counterpart(action: Action, words: Sequence[str], call: Invocation) -> list[Effect]:
    """Return the effects of the command that a tool without a record is named for, as `git_blame` is; else none."""
    payload = action.payload if isinstance(action.payload, Mapping) else {}
    if not is_named_for_command(words):
        return []
    places = find_places(payload, call)
    items = [(key, text) for key, value in payload.items() for text in _list_texts(value) if text not in places]
    # `git_stash` with `mode: clear`: the command of the command, which goes before all else.
    items.sort(key=lambda item: item[0] not in _SUBCOMMAND_KEYS)
    flags = [f"--{key.replace('_', '-')}" for key, value in payload.items() if value is True]
    effects = _classify_words([*words, *flags, *(text for _, text in items)], call)
    if any(effect.what.startswith("unknown.") for effect in effects):
        return []
    # `git_rebase` with `exec`: a name may be that of an option.
    options = [f"--{key.replace('_', '-')}={text}" for key, text in items]
    other_effects = _classify_words([*words, *flags, *options], call) if options else []
    return effects + [effect for effect in other_effects if not effect.what.startswith("unknown.")]


def _classify_words(words: Sequence[str], call: Invocation) -> list[Effect]:
    return list(call.classify_shell(" ".join(map(quote, words))))


def _classify_part(part: str, payload: Mapping[str, Any], tool: str, call: Invocation) -> list[Effect] | None:
    if part.startswith("run:"):
        command = _build_command(part.removeprefix("run:").strip(), payload)
        return None if command is None else list(call.classify_shell(command))
    what, *words = part.split()
    keys = [word.strip("[]") for word in words]
    if what in _TEXT_READERS:
        texts = [text for key in keys if isinstance(text := payload.get(key), str) and text]
        effects = [effect for text in texts for effect in _TEXT_READERS[what](text, call)]
        return list(settle_tool_losses(call, effects, payload)) if texts else None
    if not keys:
        return [call.make_effect(what, (Target(tool, "other"),))]
    paths = [path for key in keys for path in _list_texts(payload.get(key))][:_MAX_PATHS]
    if not paths:
        return [] if words[0].startswith("[") else None
    effects = list(call.make_effects(what, [Word(path, path) for path in paths]))
    return [*effects, *derive_zone_effects(effects, call.facts)] or [call.make_effect("none")]


def _build_command(template: str, payload: Mapping[str, Any]) -> str | None:
    """Return the command that a call stands for; None when an argument is missing that it needs, or all of them are."""
    needed = _OPTIONAL.sub(lambda match: match[1] if _has_arguments(match[1], payload) else "", template)
    names = _ARGUMENT.findall(template)
    if not _has_arguments(needed, payload) or (names and not any(_list_words(payload.get(name)) for name in names)):
        return None
    command = _ARGUMENT.sub(lambda match: " ".join(map(quote, _list_words(payload.get(match[1])))), needed)
    # A server of the same name may take it where the recorded one does not.
    return f"{command} --force" if payload.get("force") is True else command


def _has_arguments(template: str, payload: Mapping[str, Any]) -> bool:
    return all(_list_words(payload.get(name)) for name in _ARGUMENT.findall(template))


def _list_words(value: object) -> list[str]:
    """Return the words of a command that an argument stands for; of an object each field is an option."""
    if not isinstance(value, Mapping):
        return _list_texts(value)
    return [f"--{key}" if inner is True else f"--{key}={inner}" for key, inner in value.items() if inner is not False]


def _list_texts(value: object) -> list[str]:
    """Return the texts of an argument: itself, a number, or the items of a list."""
    if isinstance(value, str):
        return [value] if value else []
    if isinstance(value, int | float) and not isinstance(value, bool):
        return [str(value)]
    if isinstance(value, list | tuple):
        return [item for item in value if isinstance(item, str) and item]
    return []


def _read_url(text: str, call: Invocation) -> Iterator[Effect]:
    if paths := read_file_address(text):
        effects = list(call.make_effects("fs.read", [Word(path, path) for path in paths]))
        yield from (*effects, *derive_zone_effects(effects, call.facts))
        return
    name = host.parse_host(text)
    yield call.make_effect("net.local" if host.is_local_host(name) else "net.fetch", (Target(name, "host"),))
    if host.is_metadata_host(name):
        yield call.make_effect("cred.read", (Target(name, "host"),), note="credentials of the machine")


def _read_sql(text: str, call: Invocation) -> Iterator[Effect]:
    effects = list(classify_query(text, call))
    yield from effects or [call.make_effect("mcp.read", note="a query")]


def _read_shell(text: str, call: Invocation) -> Iterator[Effect]:
    yield call.make_effect("mcp.run")
    yield from call.classify_shell(text)


def _read_code(text: str, call: Invocation) -> Iterator[Effect]:
    yield call.make_effect("mcp.run")
    yield from classify_code("node", text, call)


_TEXT_READERS = {"url": _read_url, "sql": _read_sql, "shell": _read_shell, "code": _read_code}
