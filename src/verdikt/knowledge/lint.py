"""Find mistakes in compiled records: unknown effects, rows that can't apply, options that contradict themselves."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from verdikt.knowledge.compiler import Record, iter_entries


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
    """Yield the rows that never apply, because an earlier one always does, or that say the same again."""
    has_unconditional_row = False
    for index, row in enumerate(rows):
        if has_unconditional_row and row.get("else"):
            yield f"`{row['does']}` is never reached: an earlier row always applies"
        elif row in rows[:index]:
            yield f"`{row['does']}` is listed twice with the same conditions"
        is_certain = "on" not in row or row.get("always", False)
        has_unconditional_row = has_unconditional_row or (is_certain and not {"when", "unless"} & row.keys())


def _lint_commands(name: str, record: Record) -> Iterator[str]:
    """Yield the options that a program takes with a value and one of its commands without, or the reverse."""
    values, flags = set(record.get("values", "").split()), set(record.get("flags", "").split())
    for path, command in record.get("commands", {}).items():
        if command.get("own"):
            continue
        for option in sorted(values & set(command.get("flags", "").split())):
            yield f"{record['family']}.toml: {name} {path}: `{option}` takes a value by the program's own list"
        for option in sorted(flags & set(command.get("values", "").split())):
            yield f"{record['family']}.toml: {name} {path}: `{option}` takes no value by the program's own list"
