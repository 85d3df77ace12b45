"""What programs do, as data: one record per program in `programs/*.toml`, looked up by name.

A record is parsed when its program is met for the first time. `effects` interprets it, and `shell` finds in it the
commands that a program runs.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import import_module
from typing import Any

Record = dict[str, Any]

_DIGITS = frozenset("0123456789")
_VERSION_CHARACTERS = "0123456789.-"


@cache
def _load_tables() -> tuple[dict[str, int], tuple[str, ...], dict[str, list[str]]]:
    """Return the place of each name, the records as JSON text, and the names by role."""
    try:
        compiled = import_module("verdikt.knowledge._compiled")
    except ModuleNotFoundError:
        # A checkout that was never built: slower, and the same answers.
        compiler = import_module("verdikt.knowledge.compiler")
        tables: tuple[dict[str, int], tuple[str, ...], dict[str, list[str]]]
        tables = compiler.build_tables(compiler.read_files())
        return tables
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


def list_programs() -> list[str]:
    """Return the names of all programs that have a record."""
    return list(_load_tables()[0])


@cache
def find_role(role: str) -> frozenset[str]:
    """Return the names of the programs that have a role, such as `downloader`, `shell` or `decoder`.

    A role that no file lists raises `KeyError`: an empty set would make the caller blind without a word.
    """
    return frozenset(_load_tables()[2][role])
