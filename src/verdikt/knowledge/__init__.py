"""What programs do, as data: one record per program in `programs/*.toml`, looked up by name.

A record is parsed when its program is met for the first time. `effects` interprets it, and `shell` finds in it the
commands that a program runs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Set
from functools import cache, lru_cache
from importlib import import_module
from types import SimpleNamespace
from typing import Any

Record = dict[str, Any]
MAX_COMMAND_WORDS = 4
"""How many words of a command line are compared with the names of commands."""

_DIGITS = frozenset("0123456789")
_VERSION_CHARACTERS = "0123456789.-"
_NO_TASK: Record = {"kinds": {}}


@cache
def _load_compiled() -> Any:
    """Return the compiled module, or an object with the same names."""
    try:
        return import_module("verdikt.knowledge._compiled")
    except ModuleNotFoundError:
        # A checkout that was never built: slower, and the same answers.
        compiler = import_module("verdikt.knowledge.compiler")
        return SimpleNamespace(**compiler.build_namespace(compiler.read_files()))


@cache
def _load_tables() -> tuple[dict[str, int], tuple[str, ...], dict[str, list[str]]]:
    """Return the place of each name, the records as JSON text, and the names by role."""
    compiled = _load_compiled()
    return compiled.INDEX, compiled.RECORDS, compiled.ROLES


def find_record(name: str) -> Record | None:
    """Return the record of a program by one of its names; None if there is none.

    `RM.EXE` is `rm`, `prisma@latest` is `prisma`, and `python3.15` is `python`.
    """
    index = _load_tables()[0]
    place = index.get(name)
    if place is None:
        plain_name = name.lower().removesuffix(".exe").partition("@")[0]
        place = index.get(plain_name)
        if place is None:
            return _find_versioned_record(plain_name)
    return _parse_record(place)


def _find_versioned_record(name: str) -> Record | None:
    """Return the record of a shell or an interpreter whose name ends with a version, as `python3.15` and `node-20`."""
    if name[-1:] not in _DIGITS:
        return None
    place = _load_tables()[0].get(name.rstrip(_VERSION_CHARACTERS))
    record = None if place is None else _parse_record(place)
    return record if record is not None and ("code" in record or record.get("trace") == "shell") else None


@cache
def _parse_record(place: int) -> Record:
    record: Record = json.loads(_load_tables()[1][place])
    return record


@cache
def _load_server_tools() -> dict[str, dict[str, str]]:
    tools: dict[str, dict[str, str]] = json.loads(_load_compiled().MCP_SERVERS)
    return tools


def find_server_tool(service: Set[str], tool: str) -> str | None:
    """Return what a tool of a well-known MCP server does, by a word of the server's name; None without a record."""
    servers = _load_server_tools()
    return next((servers[word][tool] for word in sorted(service & servers.keys()) if tool in servers[word]), None)


def list_server_tools() -> list[tuple[str, str, str]]:
    """Return word of a server's name, tool and what it does, for every record."""
    return [(word, tool, line) for word, tools in _load_server_tools().items() for tool, line in tools.items()]


def list_programs() -> list[str]:
    """Return the names of all programs that have a record."""
    return list(_load_tables()[0])


def is_role(role: str) -> bool:
    """Return whether there is such a role."""
    return role in _load_tables()[2]


def list_role(role: str) -> list[str]:
    """Return the names of the programs that have a role, in the order of the record."""
    return _load_tables()[2][role]


@cache
def find_role(role: str) -> frozenset[str]:
    """Return the names of the programs that have a role, such as `downloader`, `shell` or `decoder`.

    A role that no file lists raises `KeyError`: an empty set would make the caller blind without a word.
    """
    return frozenset(list_role(role))


@cache
def find_role_words(role: str) -> dict[str, frozenset[str]]:
    """Return program → its words, for a role whose items are written `program=word,word`, with `_` for a blank."""
    rows = (item.replace("_", " ").partition("=") for item in list_role(role))
    return {program: frozenset(words.split(",")) for program, _, words in rows}


def join_role(*roles: str) -> str:
    """Return the names of the programs that have one of these roles, as alternatives of a regular expression."""
    return "|".join(sorted({re.escape(name) for role in roles for name in list_role(role)}))


@cache
def _load_tasks() -> dict[str, Record]:
    tasks: dict[str, Record] = json.loads(_load_compiled().TASKS)
    return tasks


def find_task(name: str) -> Record:
    """Return which words make a program test, build, rewrite and so on; empty if nothing is known of that.

    `kinds` maps a word to `test`, `build`, `lint`, `commit` or `look`; the other keys are those of `task.toml`.
    """
    return _load_tasks().get(name, _NO_TASK)


# Bounded: the names of programs come from commands.
@lru_cache(maxsize=1024)
def find_task_words(name: str, key: str) -> frozenset[str]:
    """Return the words of one key of a program's tasks, such as `dry` or `rewrites`."""
    return frozenset(find_task(name).get(key, "").split())


def resolve_alias(name: str) -> str:
    """Return the name under which the tasks of a program are listed: `mvnw` is `mvn`, `python3.11` is `python`."""
    alias: str | None = _load_compiled().ALIASES.get(name)
    if alias is None and name[-1:] in _DIGITS and name not in _load_tasks():
        plain_name = name.rstrip(_VERSION_CHARACTERS)
        return plain_name if plain_name in _load_tasks() and _find_versioned_record(name) is not None else name
    return alias or name


def find_starts() -> dict[str, list[Record]]:
    """Return program → which files it runs without being told their names: the rows `starts` of `task.toml`."""
    starts: dict[str, list[Record]] = _load_compiled().STARTS
    return starts


def list_checks() -> list[dict[str, str]]:
    """Return what the files of a project say about its checks: `{"file": "go.mod", "test": "go test ./..."}`."""
    checks: list[dict[str, str]] = _load_compiled().CHECKS
    return checks


def find_page_check() -> str:
    """Return the command that asks a server for the status of a page; `{}` stands for its address."""
    return next(row["page"] for row in list_checks() if "page" in row)


def find_variable_kind(name: str) -> str:
    """Return what the value of a variable is to the programs that read it, such as `command`; empty if unknown."""
    kind: str = _load_compiled().VARIABLES.get(name, "")
    return kind


def list_reports() -> list[Record]:
    """Return how test runners report results: the rows `reports` of `report.toml`, as regular expressions."""
    reports: list[Record] = _load_compiled().REPORTS
    return reports


def list_summaries() -> list[dict[str, str]]:
    """Return how other checks say that they found nothing or something: the rows `summaries` of `report.toml`."""
    summaries: list[dict[str, str]] = _load_compiled().SUMMARIES
    return summaries


def list_secret_arguments() -> list[dict[str, str]]:
    """Return how command lines hold passwords: the rows `secret_arguments` of `secret.toml`."""
    rows: list[dict[str, str]] = _load_compiled().SECRET_ARGUMENTS
    return rows


def find_suffix_program(suffix: str) -> str:
    """Return the program that runs files with this ending (`.py`); empty if there is none."""
    program: str = _load_compiled().SUFFIXES.get(suffix, {}).get("program", "")
    return program


def find_parse_command(suffix: str) -> str:
    """Return the command that parses a file with this ending without any project; `{}` stands for the file."""
    command: str = _load_compiled().SUFFIXES.get(suffix, {}).get("parse", "")
    return command


def find_language(program: str, suffix: str = "") -> str:
    """Return the language of the files that a program runs, or of files with this ending; empty if unknown."""
    record = find_record(program) or {}
    suffix_row: Record = _load_compiled().SUFFIXES.get(suffix, {})
    language: str = record.get("code", {}).get("language") or suffix_row.get("language", "")
    return language


_LANGUAGE_NAMES = {"javascript": "node", "typescript": "node", "shell": "bash"}


def resolve_language(name: str) -> str:
    """Return the language that a host or a tool means: `python3`, `ipython` and `py` are `python`, `zsh` is `bash`."""
    if name in find_role("shell"):
        return "bash"
    return find_language(name) or find_language("", f".{name}") or _LANGUAGE_NAMES.get(name, name)
