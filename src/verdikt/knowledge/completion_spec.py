"""Read what completion specs say of a program: those of carapace, of fig, and `usage` specs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import yaml

from verdikt.knowledge.draft import Draft, DraftError, find_option_names, is_option, is_word
from verdikt.knowledge.kdl import KdlError, KdlNode, parse_kdl

MAX_DEPTH = 8
"""How many commands deep a spec is followed; a record compares up to four words."""

_USAGE_KINDS = {"read": "read", "write": "write", "destructive": "delete"}


def read_carapace_spec(text: str) -> Draft:
    """Return what a spec of carapace says: `-f, --file=` takes a value, `-v, --verbose` none."""
    try:
        spec = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise DraftError(f"expected a spec of carapace, found invalid YAML: {str(error)[:200]}") from error
    if not isinstance(spec, dict):
        raise DraftError(f"expected a spec of carapace, found {type(spec).__name__}")
    return _read_carapace_command(spec, 0)


def _read_carapace_command(spec: Mapping[str, Any], depth: int) -> Draft:
    values: list[str] = []
    flags: list[str] = []
    for key in ("flags", "persistentflags"):
        for definition in _list_texts(spec.get(key)):
            names = find_option_names(definition)
            # `?` marks a value that may be left out: such an option is listed nowhere, and read both ways.
            mark = definition.rstrip("*!&")
            if not mark.endswith("?"):
                (values if mark.endswith("=") else flags).extend(names)
    # `name` is how the command is used: `clone [options]`.
    own_names = [*str(spec.get("name") or "").split()[:1], *_list_texts(spec.get("aliases"))]
    commands = [_read_carapace_command(command, depth + 1) for command in _list_maps(spec.get("commands"), depth)]
    return Draft(tuple(values), tuple(flags), tuple(commands), tuple(filter(is_word, own_names)))


def read_fig_spec(text: str) -> Draft:
    """Return what a spec of fig, exported as JSON, says; an option with `args` takes a value."""
    try:
        spec = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DraftError(f"expected a spec of fig, found invalid JSON: {str(error)[:200]}") from error
    if not isinstance(spec, dict) or "name" not in spec:
        raise DraftError("expected a spec of fig, found JSON without `name`")
    return _read_fig_command(spec, 0)


def _read_fig_command(spec: Mapping[str, Any], depth: int) -> Draft:
    values: list[str] = []
    flags: list[str] = []
    glued: list[str] = []
    dangerous: list[str] = []
    for option in _list_maps(spec.get("options"), 0):
        names = list(filter(is_option, _list_texts(option.get("name"))))
        arguments = list(_list_maps(option.get("args"), 0))
        if option.get("isDangerous") is True:
            dangerous += names
        if option.get("requiresEquals") or option.get("requiresSeparator"):
            glued += names
        elif not arguments:
            flags += names
        elif not arguments[0].get("isOptional"):
            values += names
    words = list(_list_maps(spec.get("args"), 0))
    command_at = next((index for index, word in enumerate(words) if word.get("isCommand") is True), None)
    return Draft(
        tuple(values),
        tuple(flags),
        tuple(_read_fig_command(command, depth + 1) for command in _list_maps(spec.get("subcommands"), depth)),
        tuple(filter(is_word, _list_texts(spec.get("name")))),
        kind="delete" if spec.get("isDangerous") is True else "",
        glued=tuple(glued),
        destroying=tuple(dangerous),
        command_at=command_at,
    )


def _list_texts(value: Any) -> list[str]:
    """Return the texts in a value that may be one text, a list of texts, or a table with texts as keys."""
    items = [value] if isinstance(value, str) else value if isinstance(value, list | dict) else []
    return [item for item in items if isinstance(item, str)]


def _list_maps(value: Any, depth: int) -> Iterator[Mapping[str, Any]]:
    """Yield the tables in a value that may be one table or a list of them; nothing below `MAX_DEPTH`."""
    if depth < MAX_DEPTH:
        yield from (item for item in (value if isinstance(value, list) else [value]) if isinstance(item, dict))


def read_usage_spec(text: str) -> Draft:
    """Return what a `usage` spec says: `flag "-f --file <file>"` takes a value, `effect="destructive"` destroys."""
    try:
        nodes = parse_kdl(text)
    except KdlError as error:
        raise DraftError(f"expected a `usage` spec, found invalid KDL: {error}") from error
    if not any(node.name in ("bin", "name", "cmd", "flag", "arg") for node in nodes):
        raise DraftError("expected a `usage` spec, found no `bin`, `cmd`, `flag` or `arg`")
    return _read_usage_command(KdlNode("cmd", children=nodes), 0)


def _read_usage_command(node: KdlNode, depth: int) -> Draft:
    values: list[str] = []
    flags: list[str] = []
    changing: dict[str, list[str]] = {"read": [], "write": [], "delete": [], "": []}
    for flag in _list_children(node, "flag"):
        usage = " ".join([*flag.arguments[:1], *(a.arguments[0] for a in _list_children(flag, "arg") if a.arguments)])
        names = find_option_names(usage)
        changing[_read_usage_effect(flag)] += names
        if "[" not in usage:  # a value that may be left out: read both ways
            (values if "<" in usage else flags).extend(names)
        flags += find_option_names(flag.properties.get("negate", ""))
    aliases = [alias for child in _list_children(node, "alias") for alias in child.arguments]
    inner = _list_children(node, "cmd") if depth < MAX_DEPTH else ()
    return Draft(
        tuple(values),
        tuple(flags),
        tuple(_read_usage_command(command, depth + 1) for command in inner),
        tuple(filter(is_word, (*node.arguments[:1], *aliases))),
        kind=_read_usage_effect(node),
        destroying=tuple(changing["delete"]),
        changing=tuple(changing["write"]),
    )


def _list_children(node: KdlNode, name: str) -> Iterable[KdlNode]:
    return (child for child in node.children if child.name == name)


def _read_usage_effect(node: KdlNode) -> str:
    """Return what a node says that it does, as a property or as a child; empty when it does not say."""
    effect = node.properties.get("effect") or next(
        (child.arguments[0] for child in _list_children(node, "effect") if child.arguments), ""
    )
    if effect and effect not in _USAGE_KINDS:
        raise DraftError(f"expected one of {', '.join(_USAGE_KINDS)} as `effect`, found `{effect}`")
    return _USAGE_KINDS.get(effect, "")
