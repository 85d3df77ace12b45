"""Files of statements that a database client carries out: by option, operand or input, and those that these include."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from posixpath import dirname
from typing import TYPE_CHECKING

from verdikt.knowledge import find_record, find_role
from verdikt.model.effect import Effect, Target, Zone
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import Word

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation

_INCLUDE = compile_lazily(
    r"(?im)(?:^|;)[ \t]*(?:(?:\\(?:ir?|include(?:_relative)?|\.)|source|:r|:source|\.read)[ \t]+|@@?)"
    r"['\"]?([^\s'\";|`]+)|\bload\(\s*['\"]([^'\"]+)"
)
"""Commands by which a client carries out another file: `\\i x.sql`, `source x.sql`, `@x.sql`, `load("x.js")`."""
_DESTROYING_NAME = compile_lazily(
    r"(?i)(?:^|[/_.\-])(?:drop|delete|truncate|wipe|reset|destroy|purge|down|rollback)(?:[_.\-]|$)"
)
_RESTORING_NAME = compile_lazily(r"(?i)(?:^|[/_.\-])(?:dump|backup|restore|prod|production)(?:[_.\-]|$)")
_SCRIPT_ENDINGS = (".sql", ".js", ".mongodb", ".cql", ".cypher", ".psql", ".ddl")
_READABLE_ZONES = (Zone.PROJECT, Zone.TEMP)
_MAX_INCLUDES = 16
_CONCATENATORS = find_role("concatenator")


def read_client_files(call: Invocation, options: str) -> Iterator[str]:
    """Yield the texts of the scripts of a client, as far as they can be read, each followed by what it includes.

    `options` are those that name a file; an operand may be one as well: `mongosh URL x.js`, `sqlplus … @x.sql`.
    """
    if call.command.host:
        return
    words = call.args.get_values(options) + [r.target for r in call.command.redirects if r.op == "<"]
    above = next(call.iter_upstream(), None)
    if above is not None and above.name in _CONCATENATORS:
        words += [word for word in above.argv[1:] if not word.text.startswith("-")]
    operands = [Word(word.text.removeprefix("@"), word.raw) for word in call.args.operands]
    words += [word for word in operands if word.text.endswith(_SCRIPT_ENDINGS) and " " not in word.text]
    for word in words:
        target = call.resolve_path(word)
        if text := _read_target(call, target):
            yield from _expand_includes(call, text, target.path, {target.path})


def read_included_texts(call: Invocation, texts: Iterable[str]) -> Iterator[str]:
    """Yield texts that a client is given, each followed by the files that it includes: `-e 'source x.sql'`."""
    for text in texts:
        yield from _expand_includes(call, text, "", set())


def list_shell_lines(call: Invocation, texts: Iterable[str]) -> list[str]:
    """Return the lines of files that a client hands to a shell; the shell analysis has those of its input."""
    prefixes = tuple(p for p in (find_record(call.name) or {}).get("lines", ()) if not p.startswith("\\"))
    lines = [line.strip() for text in texts if prefixes for line in text.splitlines()]
    return [line[len(prefix) :] for line in lines for prefix in prefixes if line.startswith(prefix)]


def _expand_includes(call: Invocation, text: str, path: str, seen: set[str]) -> Iterator[str]:
    yield text
    for match in _INCLUDE.finditer(text) if not call.command.host else ():
        name = match[1] or match[2]
        target = call.resolve_path(Word(name))
        included = _read_target(call, target)
        if included is None and path and name[:1] not in ("/", "~"):
            # `\ir` and `@@` count from the file in which they stand.
            target = call.resolve_path(Word(f"{dirname(path)}/{name}"))
            included = _read_target(call, target)
        if included and target.path not in seen and len(seen) < _MAX_INCLUDES:
            seen.add(target.path)
            yield from _expand_includes(call, included, target.path, seen)


def _read_target(call: Invocation, target: Target) -> str | None:
    return call.facts.text(target.path) if target.path and target.zone in _READABLE_ZONES else None


def classify_unread_files(
    call: Invocation, options: str, databases: tuple[Target, ...], *, is_remote: bool
) -> Iterator[Effect]:
    """Yield the effects of scripts that can't be read: by what their names say, and for a server that is not here."""
    named = call.args.get_values(options)
    for word in named + [r.target for r in call.command.redirects if r.op == "<"]:
        if not word.text or call.facts.text(call.resolve_path(word).path) is not None:
            continue
        is_destroying, is_restoring = _DESTROYING_NAME.search(word.text), _RESTORING_NAME.search(word.text)
        if is_destroying or is_restoring:
            target = Target(word.display_text, "database")
            what = "db.drop" if is_destroying else "db.restore"
            yield call.make_effect(what, (target,), possible=True, note="by the script's name")
    if is_remote and any(call.facts.text(call.resolve_path(word).path) is None for word in named):
        yield call.make_effect("db.write.live", databases, possible=True, note="a script that can't be read")
