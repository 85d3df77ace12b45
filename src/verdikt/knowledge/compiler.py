"""Compile the records of programs (`programs/*.toml`) into one module that loads fast.

The compiled module `_compiled.py` holds each record as JSON text, so that reading a command parses the records of its
own programs and no others, and no TOML parser is needed. The package's build writes it; in a checkout `python -m
verdikt.knowledge.compiler` does, and the test suite before it runs. It imports nothing of verdikt, because the build
runs it before the package is installed.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

Record = dict[str, Any]

PROGRAMS = Path(__file__).parent / "programs"
MCP_SERVERS = Path(__file__).parent / "mcp_servers.toml"
COMPILED = Path(__file__).parent / "_compiled.py"
ROW_KEYS = frozenset("does on as when unless else recoverable recoverable_when possible always note".split())
"""The keys of an effect; an entry with a single effect may have them itself instead of a list `effects`."""

_ROW_FLAGS = frozenset(("always", "possible", "recoverable"))
_ROW_TEXT = re.compile(
    r"(?P<otherwise>else )?(?P<does>@?[a-z0-9_.]+)"
    r"(?: (?!on |as |always|possible|recoverable|when |unless |note )(?P<kind>[a-z_:]+))?"
    r"(?: on (?P<on>.+?))?(?: as (?P<as>[a-z_:]+))?"
    r"(?P<always> always)?(?P<possible> possible)?(?P<recoverable> recoverable)?"
    r"(?: when (?P<when>.+?))?(?: unless (?P<unless>.+?))?"
    r"(?: recoverable_when (?P<recoverable_when>.+?))?(?: note (?P<note>.+))?"
)
_SET_REFERENCE = re.compile(r"(?<!\w)@([a-z_]+)([^+|@\s]*)")
_NUMBER = re.compile(r"\{([a-z]+[0-9]?)\}")


class RecordError(Exception):
    """A record that can't be compiled; the text names the file and the program."""


def read_files(place: Path = PROGRAMS) -> dict[str, Record]:
    """Return the parsed files of a directory by family, in alphabetical order, or the one file."""
    files = {}
    for path in sorted(place.glob("*.toml")) if place.is_dir() else (place,):
        try:
            files[path.stem] = tomllib.loads(path.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise RecordError(f"{path.name}: invalid TOML: {error}") from error
    return files


def compile_files(files: Mapping[str, Record]) -> dict[str, Record]:
    """Return the compiled records by the first of their names."""
    records: dict[str, Record] = {}
    owners: dict[str, str] = {}
    for family, file in files.items():
        _check_named_rows(family, file)
        # `simple` lists programs in the short notation; a table of its own, `[[program]]`, is for longer ones.
        for source in (*file.get("simple", ()), *file.get("program", ())):
            record = _compile_record(parse_entry(source, f"{family}.toml"), family, file)
            for name in record["names"]:
                if name in owners:
                    raise RecordError(f"{family}.toml: `{name}` is already in {owners[name]}.toml")
                owners[name] = family
            records[record["names"][0]] = record
    return {
        name: _derive_values(_resolve_like(record, f"{record['family']}.toml: {name}", records))
        for name, record in records.items()
    }


def _check_named_rows(family: str, file: Record) -> None:
    """Raise for a list of rows that has the name of a set, since both are referred to as `@name`."""
    for name in file.get("rows", {}).keys() & file.get("sets", {}).keys():
        raise RecordError(f"{family}.toml: `{name}` is the name of a set and of rows")


def _compile_record(source: Record, family: str, file: Record) -> Record:
    names = source.get("names", "").split()
    if not names:
        raise RecordError(f"{family}.toml: a program without `names`")
    where = f"{family}.toml: {names[0]}"
    sets = file.get("sets", {})
    rows = {name: _parse_rows(items, where) for name, items in file.get("rows", {}).items()}
    rows = _expand_sets(rows, sets, where)
    record = _compile_entry(_expand_sets(source, sets, where), where, rows)
    return {**record, "names": names, "family": family}


def _resolve_like(entry: Record, where: str, records: Mapping[str, Record], seen: tuple[str, ...] = ()) -> Record:
    """Return an entry with the keys and the commands of the program, or of a command of it, that it is `like`."""
    resolved = {key: value for key, value in entry.items() if key != "like"}
    if "commands" in entry:
        commands = entry["commands"].items()
        resolved["commands"] = {
            name: _resolve_like(command, f"{where} {name}", records, seen) for name, command in commands
        }
    if "like" not in entry:
        return resolved
    base_name = entry["like"]
    program_name, _, command_name = base_name.partition(" ")
    base = records.get(program_name, {})
    if command_name:
        base = base.get("commands", {}).get(command_name, {})
    if not base or base_name in seen:
        raise RecordError(f"{where}: expected another program after `like`, found `{base_name}`")
    base = _resolve_like(base, where, records, (*seen, base_name))
    base = {key: value for key, value in base.items() if key not in ("names", "family")}
    if "commands" in base and "commands" in resolved:
        resolved["commands"] = {**base["commands"], **resolved["commands"]}
    return {**base, **resolved}


def _parse_row(text: str, where: str) -> Record:
    """Return an effect that is written as text: `else fs.write on -o when -x` is a row with these keys.

    `k8s.write resource` is short for `k8s.write on * as resource always`.
    """
    match = _ROW_TEXT.fullmatch(text)
    if match is None or (match["kind"] and (match["on"] or match["as"] or match["always"])):
        raise RecordError(f"{where}: expected `EFFECT [KIND] [on WORDS] [when CONDITIONS]`, found `{text}`")
    row: Record = {key: value for key, value in match.groupdict().items() if value and key in ROW_KEYS}
    row |= dict.fromkeys(_ROW_FLAGS & row.keys(), True)
    if match["kind"]:
        row |= {"on": "*", "as": match["kind"], "always": True}
    return row | ({"else": True} if match["otherwise"] else {})


def _parse_rows(rows: list[Record | str], where: str) -> list[Record]:
    return [_parse_row(row, where) if isinstance(row, str) else row for row in rows]


def parse_entry(entry: Record | str, where: str) -> Record:
    """Return a program or a command with tables in place of texts, at every level.

    `EFFECT: NAMES` is an entry that has this effect and nothing else; a text after `does` may be a whole row.
    """
    if isinstance(entry, str):
        row, _, names = entry.rpartition(": ")
        return {"names": names, **_parse_row(row, where)}
    parsed = dict(entry)
    if "effects" in entry:
        parsed["effects"] = _parse_rows(entry["effects"], where)
    if "commands" in entry:
        parsed["commands"] = [parse_entry(command, where) for command in entry["commands"]]
    if " " in entry.get("does", ""):
        row_keys = sorted(ROW_KEYS & entry.keys() - {"does"})
        if row_keys:
            raise RecordError(f'{where}: expected nothing beside `does = "{entry["does"]}"`, found `{row_keys[0]}`')
        parsed |= _parse_row(entry["does"], where)
    return parsed


def _compile_entry(entry: Record, where: str, rows: Mapping[str, list[Record]]) -> Record:
    """Return a program or a command with its effects as a list and its commands by name."""
    compiled = {key: value for key, value in entry.items() if key not in ROW_KEYS and key not in ("names", "commands")}
    if "does" in entry:
        if "effects" in entry:
            raise RecordError(f"{where}: expected `does` or `effects`, found both")
        compiled["effects"] = _list_rows({key: value for key, value in entry.items() if key in ROW_KEYS}, where, rows)
    elif row_keys := sorted(ROW_KEYS & entry.keys()):
        raise RecordError(f"{where}: `{row_keys[0]}` without `does`")
    commands: dict[str, Record] = {}
    for command in entry.get("commands", ()):
        names = [" ".join(name.split()) for name in command.get("names", "").split(",")]
        for name in names:
            if not name or name in commands:
                raise RecordError(f"{where}: expected a new name of a command, found `{name}`")
            commands[name] = _compile_entry(command, f"{where} {name}", rows)
    if commands:
        compiled["commands"] = commands
    return compiled


def _list_rows(row: Record, where: str, rows: Mapping[str, list[Record]]) -> list[Record]:
    """Return the rows that an entry with `does` has: its own, or those of the file that it names with `@`."""
    name = row["does"].removeprefix("@")
    if name == row["does"]:
        return [row]
    if name not in rows:
        raise RecordError(f"{where}: expected the name of rows of the file after `@`, found `{name}`")
    if len(row) > 1:
        raise RecordError(f'{where}: expected nothing beside `does = "@{name}"`, found {", ".join(sorted(row)[1:])}')
    return rows[name]


def _derive_values(entry: Record) -> Record:
    """Return an entry with all its options that take a value under `values`, at every level."""
    derived = dict(entry)
    if values := " ".join(_list_values(entry)):
        derived["values"] = values
    if "commands" in entry:
        derived["commands"] = {name: _derive_values(command) for name, command in entry["commands"].items()}
    return derived


def _list_values(entry: Record) -> dict[str, None]:
    """Return the options that take a value: those listed, and those whose value is code, a command or a directory."""
    runs, code = entry.get("runs", {}), entry.get("code", {})
    texts = [entry.get("values", ""), code.get("options", ""), code.get("module", "")]
    texts += [runs.get(key, "") for key in ("text", "directory", "program")]
    texts += [row["options"] for row in entry.get("exec", ())]
    return dict.fromkeys(name for text in texts for name in text.split() if name[0] == "-")


def _expand_sets(value: Any, sets: Mapping[str, str], where: str) -> Any:
    """Replace each `@name` in the strings of a record by the words of the set with that name."""
    if isinstance(value, dict):
        # The name after `does = "@…"` is that of rows.
        return {key: item if key == "does" else _expand_sets(item, sets, where) for key, item in value.items()}
    if isinstance(value, list):
        return [_expand_sets(item, sets, where) for item in value]
    if not isinstance(value, str) or "@" not in value or not sets:
        return value
    # A misspelt set would be a condition that never holds.
    for reference in _SET_REFERENCE.finditer(value):
        if reference[1] not in sets:
            raise RecordError(f"{where}: unknown set `@{reference[1]}`")
    return " ".join(_expand_word(word, sets) for word in value.split(" "))


def _expand_word(word: str, sets: Mapping[str, str]) -> str:
    """Replace a set that is a whole word by its words, and one after `=` by alternatives: `0=@kinds` → `0=a|b`.

    What follows the name belongs to each alternative: `0=@kinds:*` → `0=a:*|b:*`.
    """
    if word[:1] == "@" and word[1:] in sets:
        return " ".join(sets[word[1:]].split())

    def join_alternatives(reference: re.Match[str]) -> str:
        return "|".join(item + reference[2] for item in sets[reference[1]].split())

    return _SET_REFERENCE.sub(join_alternatives, word)


def iter_entries(record: Record) -> Iterator[tuple[str, Record]]:
    """Yield a program's entry and those of its commands at every level, with the words that lead there."""
    yield "", record
    for name, command in record.get("commands", {}).items():
        for path, entry in iter_entries(command):
            yield f"{name} {path}".strip(), entry


def build_tables(files: Mapping[str, Record]) -> tuple[dict[str, int], tuple[str, ...], dict[str, list[str]]]:
    """Return the place of each name, the records as JSON text, and the names by role."""
    records = compile_files(files)
    index = {name: place for place, record in enumerate(records.values()) for name in record["names"]}
    roles: dict[str, list[str]] = {}
    for file in files.values():
        for role, names in file.get("roles", {}).items():
            roles.setdefault(role, []).extend(names.split())
    for record in records.values():
        for role in record.get("roles", "").split():
            roles.setdefault(role, []).extend(record["names"])
    texts = tuple(json.dumps(record, separators=(",", ":"), ensure_ascii=False) for record in records.values())
    return index, texts, roles


_TASK_KINDS = ("test", "build", "lint", "commit", "look")


def build_tasks(files: Mapping[str, Record]) -> tuple[dict[str, Record], dict[str, str]]:
    """Return program → its tasks, with the kind of each word under `kinds`, and the other names of programs."""
    tasks: dict[str, Record] = {}
    aliases: dict[str, str] = {}
    for family, file in files.items():
        for row in file.get("tasks", ()):
            task = {key: value for key, value in row.items() if key not in ("names", "aliases", *_TASK_KINDS)}
            task["kinds"] = {word: kind for kind in _TASK_KINDS for word in row.get(kind, "").split()}
            names = row["names"].split()
            for name in names:
                if name in tasks:
                    raise RecordError(f"{family}.toml: `{name}` has tasks already")
                tasks[name] = task
            aliases |= dict.fromkeys(row.get("aliases", "").split(), names[0])
    return tasks, aliases


def build_starts(files: Mapping[str, Record]) -> dict[str, list[Record]]:
    """Return program → the rows that say which files it runs without being told their names."""
    starts: dict[str, list[Record]] = {}
    for file in files.values():
        for row in file.get("starts", ()):
            for name in row["names"].split():
                starts.setdefault(name, []).append({key: value for key, value in row.items() if key != "names"})
    return starts


def list_checks(files: Mapping[str, Record]) -> list[dict[str, str]]:
    """Return what the files of a project say about its checks, in the order of the records."""
    return [row for file in files.values() for row in file.get("checks", ())]


def list_reports(files: Mapping[str, Record]) -> list[Record]:
    """Return the formats of test reports, with `{passed}` and the like as named groups of a number."""
    return [
        {key: _NUMBER.sub(r"(?P<\1>\\d+)", value) if isinstance(value, str) else value for key, value in row.items()}
        for file in files.values()
        for row in file.get("reports", ())
    ]


def build_variables(files: Mapping[str, Record]) -> dict[str, str]:
    """Return variable of the environment → what its value is to the programs that read it."""
    variables: dict[str, str] = {}
    for family, file in files.items():
        for kind, names in file.get("variables", {}).items():
            for name in names.split():
                if name in variables:
                    raise RecordError(f"{family}.toml: the variable `{name}` is a `{variables[name]}` already")
                variables[name] = kind
    return variables


def build_server_tools(path: Path = MCP_SERVERS) -> dict[str, dict[str, str]]:
    """Return word of an MCP server's name → its tools, each with what it does."""
    servers: dict[str, dict[str, str]] = {}
    for name, table in tomllib.loads(path.read_text(encoding="utf-8")).items():
        tools = {tool: line for names, line in table.items() if names != "names" for tool in names.split()}
        for word in table["names"].split():
            if word in servers:
                raise RecordError(f"{path.name}: `{word}` of `{name}` is a name of another server already")
            servers[word] = tools
    return servers


def build_namespace(files: Mapping[str, Record]) -> dict[str, Any]:
    """Return the names of the compiled module with their values."""
    index, records, roles = build_tables(files)
    tasks, aliases = build_tasks(files)
    task_text = json.dumps(tasks, separators=(",", ":"), ensure_ascii=False)
    return {
        "INDEX": index,
        "RECORDS": records,
        "ROLES": roles,
        "TASKS": task_text,
        "ALIASES": aliases,
        "STARTS": build_starts(files),
        "CHECKS": list_checks(files),
        "VARIABLES": build_variables(files),
        "REPORTS": list_reports(files),
        "SECRET_ARGUMENTS": [row for file in files.values() for row in file.get("secret_arguments", ())],
        "SUMMARIES": [row for file in files.values() for row in file.get("summaries", ())],
        "MCP_SERVERS": json.dumps(build_server_tools(), separators=(",", ":")),
        "SUFFIXES": {
            suffix: row
            for file in files.values()
            for suffixes, row in file.get("suffixes", {}).items()
            for suffix in suffixes.split()
        },
    }


def render_module(files: Mapping[str, Record]) -> str:
    """Return the source of the compiled module."""
    namespace = build_namespace(files)
    lines = ['"""Generated from programs/*.toml by `python -m verdikt.knowledge.compiler`; not edited by hand."""', ""]
    lines += [f"{name} = {value!r}" for name, value in namespace.items() if name != "RECORDS"]
    lines += ["RECORDS = (", *(f"    {text!r}," for text in namespace["RECORDS"]), ")"]
    return "\n".join(lines) + "\n"


def write_module(target: Path = COMPILED, directory: Path = PROGRAMS) -> bool:
    """Write the compiled module if it differs from what is there; return whether it did."""
    source = render_module(read_files(directory))
    if target.exists() and target.read_text(encoding="utf-8") == source:
        return False
    # Put in place at once: another process may be importing it.
    draft = target.with_suffix(f".{os.getpid()}")
    draft.write_text(source, encoding="utf-8")
    draft.replace(target)
    return True


if __name__ == "__main__":
    write_module()
