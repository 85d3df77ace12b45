"""The `knowledge` section of a policy file: records of programs that verdikt does not know, or knows too little of.

What a layer says of a program is added to what is known of it without the layer, so that no layer can make a program
look harmless.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from verdikt.effects.effect_catalog import EFFECT_CATALOG
from verdikt.effects.invocation import Invocation
from verdikt.effects.program_evaluator import evaluate_program
from verdikt.effects.program_record import Program, build_program
from verdikt.effects.record_check import find_row_mistakes
from verdikt.errors import PolicyError
from verdikt.knowledge.compiler import ROW_KEYS, RecordError, compile_files, iter_entries, parse_entry
from verdikt.model.lazy_regex import compile_lazily
from verdikt.model.schema_type import SchemaType, Section
from verdikt.model.yaml_document import YamlDocument, to_plain
from verdikt.model.yaml_node import YamlNode
from verdikt.shell.exec_options import iter_exec_values
from verdikt.shell.option_parser import parse_options
from verdikt.shell.runner import build_runner
from verdikt.shell.wrapped_command import find_subcommand_row

if TYPE_CHECKING:
    from verdikt.knowledge import Record
    from verdikt.model.effect import Effect
    from verdikt.shell.command import Word
    from verdikt.shell.runner import Runner, Wrapper

# Not `handler`, `trace` and the like: those name functions, and a policy file is data.
_ENTRY_KEYS = ROW_KEYS | frozenset(
    "names values globals glued flags single_dash posix abbreviate own prefixes verb dry_run needs runs exec effects "
    "commands".split()
)
_FILE_KEYS = frozenset(("title", "simple", "program"))
_RUNS_KEYS = frozenset(("skip", "joined", "after"))
_EXEC_KEYS = frozenset(("options", "prefix"))


@dataclass(frozen=True)
class ProgramLayer:
    """The records of all layers, by program name."""

    records: Mapping[str, tuple[Record, ...]]

    @cached_property
    def _programs(self) -> dict[str, tuple[Program, ...]]:
        return {name: tuple(map(build_program, records)) for name, records in self.records.items()}

    def is_mentioned(self, text: str) -> bool:
        """Return whether a text may call one of the programs."""
        return any(name in text for name in self.records)

    def classify(self, call: Invocation) -> Iterator[Effect]:
        """Yield what the layers say about a command."""
        for program, record in zip(self._programs.get(call.name, ()), self.records.get(call.name, ()), strict=True):
            own_call = Invocation(call.command, call.resolver, call.commands, call.shell_classifier)
            yield from evaluate_program(program, own_call)
            for text in _iter_inner_texts(build_runner(record), list(call.command.argv)):
                yield from call.classify_shell(text)


def _iter_inner_texts(runner: Runner, words: list[Word]) -> Iterator[str]:
    """Yield the commands that a program of the layer runs: as a wrapper, by a command of its own, by an option."""
    for row, start in ((runner.wrapper, 1), find_subcommand_row(words, runner)):
        if row is not None:
            yield " ".join(map(_quote, _find_inner_words(row, words, start)))
    for _, text in iter_exec_values(runner, words):
        yield text


def _find_inner_words(row: Wrapper, words: list[Word], start: int) -> Sequence[Word]:
    """Return the words of the command that a row finds among the words from `start` on."""
    if row.after:
        marks = row.after.split()
        return words[next((index + 1 for index, word in enumerate(words) if word.text in marks), len(words)) :]
    return words[parse_options(words, start, row.valued)[1] + row.skip :]


def _quote(word: Word) -> str:
    return word.raw or word.text


def read_layer(node: YamlNode) -> ProgramLayer | None:
    """Return the records of one policy file; record every mistake on its node."""
    records: dict[str, tuple[Record, ...]] = {}
    for item in node.read_items(what="a list of programs"):
        if not _check_keys(item, _ENTRY_KEYS):
            continue
        try:
            compiled = compile_files({"policy": {"program": [to_plain(item.value)]}})
        except RecordError as error:
            item.add_error(str(error).removeprefix("policy.toml: "))
            continue
        for record in compiled.values():
            if _check_effects(item, record) and _check_rows(item, record):
                records.update({name: (*records.get(name, ()), record) for name in record["names"]})
    return ProgramLayer(records)


def insert_records(document: YamlDocument, files: Mapping[str, bytes]) -> YamlDocument:
    """Return the document of a policy with the records of these files in place of their names under `knowledge`."""
    items = document.value.get("knowledge") if isinstance(document.value, Mapping) else None
    if not isinstance(items, Sequence) or isinstance(items, str):
        return document
    records: list[Any] = []
    for item in items:
        data = files.get(item) if isinstance(item, str) else None
        records += [item] if data is None else _read_record_file(item, data, document)
    return replace(document, value={**document.value, "knowledge": records})


def _read_record_file(name: str, data: bytes, document: YamlDocument) -> list[Any]:
    """Return the records of a TOML file; its errors become those of the document."""
    try:
        content = tomllib.loads(data.decode())
    except ValueError as error:
        document.errors.append(PolicyError(f"invalid TOML: {error}", where=name))
        return []
    if unknown_keys := sorted(content.keys() - _FILE_KEYS):
        document.errors.append(PolicyError(f"expected `program` or `simple`, found `{unknown_keys[0]}`", where=name))
        return []
    try:
        entries = [parse_entry(entry, name) for entry in (*content.get("simple", ()), *content.get("program", ()))]
    except RecordError as error:
        document.errors.append(PolicyError(str(error).removeprefix(f"{name}: "), where=name))
        return []
    own_document = YamlDocument(name, entries)
    read_layer(YamlNode.from_document(own_document))
    document.errors.extend(own_document.errors)
    return [] if own_document.errors else list(own_document.value)


def _check_keys(node: YamlNode, allowed: frozenset[str]) -> bool:
    """Return whether an entry has only keys that a policy may use, at every level."""
    if not isinstance(node.value, Mapping):
        node.add_mismatch("a program (a mapping with `names`), or a `.toml` file that can be read")
        return False
    if unknown_keys := [str(key) for key in node.value if key not in allowed]:
        node.add_unknown_name("key", unknown_keys[0], sorted(allowed))
        return False
    children = node.read_mapping()
    if "runs" in children and not _check_keys(children["runs"], _RUNS_KEYS):
        return False
    for row in children["exec"].read_items() if "exec" in children else ():
        if not _check_keys(row, _EXEC_KEYS):
            return False
        if "options" not in row.read_mapping():
            row.add_mismatch("`options`")
            return False
    rows = children["effects"].read_items() if "effects" in children else []
    commands = children["commands"].read_items() if "commands" in children else []
    # A text in place of a table is read by the compiler, which reports what is wrong with it.
    checks = [_check_keys(row, ROW_KEYS) for row in rows if not isinstance(row.value, str)]
    checks += [_check_keys(entry, _ENTRY_KEYS) for entry in commands if not isinstance(entry.value, str)]
    return all(checks) and all(_check_type(key, child) for key, child in children.items())


_TYPES: dict[str, tuple[type, str]] = {
    **dict.fromkeys(
        "names values globals glued flags prefixes verb dry_run does on as when unless recoverable_when note options "
        "prefix after".split(),
        (str, "a text"),
    ),
    **dict.fromkeys(("skip", "needs"), (int, "a number")),
    **dict.fromkeys(
        "joined single_dash posix abbreviate own always possible recoverable else".split(), (bool, "true or false")
    ),
}
"""Key → the type of its value. What is wrong here would fail in the middle of a decision."""
_VERB_PLACE = compile_lazily(r"[0-9]:?")


def _check_type(key: str, node: YamlNode) -> bool:
    expected, description = _TYPES.get(key, (object, ""))
    is_valid = isinstance(node.value, expected) if expected is not int else type(node.value) is int
    if key == "verb" and is_valid and not _VERB_PLACE.fullmatch(node.value):
        is_valid, description = False, "the place of an operand, such as `1` or `1:`"
    if not is_valid:
        node.add_mismatch(description)
    return is_valid


def _check_effects(node: YamlNode, record: Record) -> bool:
    for _, entry in iter_entries(record):
        for row in entry.get("effects", ()):
            if row.get("does") not in EFFECT_CATALOG:
                node.add_unknown_name("effect", str(row.get("does")), EFFECT_CATALOG)
                return False
    return True


def _check_rows(node: YamlNode, record: Record) -> bool:
    mistakes = list(find_row_mistakes(record))
    for mistake in mistakes:
        node.add_error(mistake)
    return not mistakes


def merge_layers(layers: Sequence[ProgramLayer]) -> ProgramLayer:
    """Return the records of all layers: each adds effects, and none takes one away."""
    records: dict[str, tuple[Record, ...]] = {}
    for layer in layers:
        for name, more_records in layer.records.items():
            records[name] = (*records.get(name, ()), *more_records)
    return ProgramLayer(records)


_SCHEMA: dict[str, Any] = {
    "type": "array",
    "items": {"anyOf": [{"type": "object", "required": ["names"]}, {"type": "string", "pattern": r"\.toml$"}]},
}

SECTION = Section(
    SchemaType(read_layer, _SCHEMA, "a list of programs"),
    "programs of your own, and what they do",
    merge_layers,
)
