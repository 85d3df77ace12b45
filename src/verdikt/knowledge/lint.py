"""Find mistakes in records: keys that don't exist, unknown effects, rows that can't apply, contradicting options."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from verdikt.knowledge import MAX_COMMAND_WORDS
from verdikt.knowledge.compiler import Record, iter_entries, list_reports

SCHEMA = Path(__file__).with_name("schema.json")
_REPORT_GROUPS = frozenset("passed failed skipped total ran words word number".split())


def lint_files(files: Mapping[str, Any]) -> Iterator[str]:
    """Yield one line for each place where a file is not as the schema says; a misspelt key would count for nothing."""
    import jsonschema  # heavy, and only a check of records needs it

    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
    for family, document in files.items():
        for error in validator.iter_errors(document):
            place = "/".join(map(str, error.absolute_path))
            yield f"{family}.toml: {f'{place}: ' if place else ''}{error.message[:200]}"


def lint_reports(files: Mapping[str, Any]) -> Iterator[str]:
    """Yield one line for each mistake in the formats of reports, which a run of tests would be read by."""
    reports = list_reports(files)
    for row in reports:
        for key in ("pattern", "words"):
            try:
                groups = re.compile(row.get(key, "")).groupindex
            except re.error as error:
                yield f"report `{row['name']}`: `{key}` is no regular expression: {error}"
                continue
            for group in sorted({name.rstrip("0123456789") for name in groups} - _REPORT_GROUPS):
                yield f"report `{row['name']}`: unknown group `{group}`"
    names = {row["name"] for row in reports}
    tasks = [task for file in files.values() for task in file.get("tasks", ())]
    for task in tasks:
        for name in sorted(set(task.get("reports", "").split()) - names) if reports else ():
            yield f"tasks of `{task['names']}`: unknown report `{name}`"


def lint_records(records: Mapping[str, Record], effects: Collection[str]) -> Iterator[str]:
    """Yield one line for each mistake in the records; `effects` are the names of the catalogue."""
    for name, record in records.items():
        for path, entry in iter_entries(record):
            where = f"{record['family']}.toml: {name} {path}".rstrip()
            yield from (f"{where}: {problem}" for problem in _lint_entry(entry, effects))
        yield from _lint_commands(name, record)


def _lint_entry(entry: Record, effects: Collection[str]) -> Iterator[str]:
    rows = entry.get("effects", [])
    for row in rows:
        if row["does"] not in effects:
            yield f"unknown effect `{row['does']}`"
    yield from _lint_rows(rows)
    values, flags = set(entry.get("values", "").split()), set(entry.get("flags", "").split())
    for option in sorted(values & flags):
        yield f"`{option}` is listed with and without a value"


def _lint_rows(rows: list[Record]) -> Iterator[str]:
    """Yield the rows that never apply, because earlier ones always do, or that say the same again."""
    has_unconditional_row = False
    # Conditions under which an earlier row surely applies, and those that follow with `else` do not.
    covered: list[frozenset[str]] = []
    for index, row in enumerate(rows):
        conditions = _split_conditions(row)
        if has_unconditional_row and row.get("else"):
            yield f"`{row['does']}` is never reached: an earlier row always applies"
        elif row in rows[:index]:
            yield f"`{row['does']}` is listed twice with the same conditions"
        elif conditions and all(any(f"!{term}" in terms for term in terms) for terms in conditions):
            yield f"`{row['does']}` is never reached: its conditions contradict each other"
        elif row.get("else") and conditions and all(any(map(terms.issuperset, covered)) for terms in conditions):
            yield f"`{row['does']}` is never reached: earlier rows apply under the same conditions"
        is_certain = "on" not in row or row.get("always", False)
        if is_certain and "unless" not in row:
            has_unconditional_row = has_unconditional_row or not conditions
            covered += conditions


def _split_conditions(row: Record) -> list[frozenset[str]]:
    """Return the alternatives of a row's condition, each with the terms that must all hold."""
    return [frozenset(alternative.split("+")) for alternative in row.get("when", "").split()]


def _lint_commands(name: str, record: Record) -> Iterator[str]:
    """Yield the commands that never match, and the options that take a value by one list and none by another."""
    prefixes = record.get("prefixes", "").split()
    for path in record.get("commands", {}):
        first, *others = path.split()
        if len(others) >= MAX_COMMAND_WORDS:
            yield f"{record['family']}.toml: {name} {path}: only {MAX_COMMAND_WORDS} words are compared with a command"
        if any(fnmatchcase(first, prefix) for prefix in prefixes):
            yield f"{record['family']}.toml: {name} {path}: is never reached: `{first}` is one of the `prefixes`"
    values, flags = set(record.get("values", "").split()), set(record.get("flags", "").split())
    for path, command in record.get("commands", {}).items():
        if command.get("own"):
            continue
        for option in sorted(values & set(command.get("flags", "").split())):
            yield f"{record['family']}.toml: {name} {path}: `{option}` takes a value by the program's own list"
        for option in sorted(flags & set(command.get("values", "").split())):
            yield f"{record['family']}.toml: {name} {path}: `{option}` takes no value by the program's own list"


def lint_overlaps(records: Mapping[str, Record], find_shipped: Callable[[str], Record | None]) -> Iterator[str]:
    """Yield the options about which a record and the one that verdikt ships for the same program disagree."""
    for name, record in records.items():
        shipped = find_shipped(name)
        if shipped is None or shipped == record:
            continue
        for key, other_key, problem in (("values", "flags", "a value"), ("flags", "values", "no value")):
            for option in sorted(set(record.get(key, "").split()) & set(shipped.get(other_key, "").split())):
                yield f"{record['family']}.toml: {name}: `{option}` takes {problem} here, unlike in the shipped record"
