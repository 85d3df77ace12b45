"""SQL, by its own grammar: what it reads, changes, deletes and drops."""

import re
from collections.abc import Iterator
from typing import Any

from verdikt.effects.call import Call
from verdikt.model.effect import Effect, Target

_START = re.compile(
    r"^\s*(?:--[^\n]*\n|/\*.*?\*/|\s)*(?:select|insert|update|delete|drop|truncate|alter|create|grant|revoke|with|merge|replace|copy|vacuum|set|show|explain|begin|use|call|exec|do|reindex|attach|pragma|load)\b",
    re.IGNORECASE | re.DOTALL,
)
_HARD = re.compile(
    r"\b(?:drop|truncate|delete|update|alter|grant|revoke|copy|into\s+outfile|load_file|xp_cmdshell|lo_import|pg_read_file|attach|flush|reset|shutdown|purge|set\s+password|create\s+user|create\s+role|insert|replace|merge|create|load)\b",
    re.IGNORECASE,
)
_MAX = 50_000


def looks_like_sql(text: str) -> bool:
    """Whether text begins like a statement."""
    return _START.match(text) is not None


def read_sql(text: str, call: Call) -> Iterator[Effect]:
    """What SQL text would do; statements that do not parse are told by their first words."""
    if not _HARD.search(text):
        # A query is the commonest text by far, and needs no grammar to be told apart.
        yield call.effect("db.read")
        return
    yield from _extras(text, call)
    for statement in _statements(text[:_MAX]):
        if isinstance(statement, str):
            yield from _by_words(statement, call)
        else:
            yield from _by_tree(statement, call)


def _statements(text: str) -> list[Any]:
    import logging

    import sqlglot
    from sqlglot.errors import SqlglotError

    logging.getLogger("sqlglot").setLevel(logging.ERROR)
    try:
        return [statement for statement in sqlglot.parse(text) if statement is not None]
    except (SqlglotError, RecursionError, ValueError, TypeError, AttributeError, IndexError, KeyError):
        return [part for part in text.split(";") if part.strip()]


def _by_tree(tree: Any, call: Call) -> Iterator[Effect]:
    from sqlglot import exp

    if isinstance(tree, exp.Command):
        yield from _by_words(tree.sql(), call)
        return
    found = False
    for node in tree.walk():
        if what := _does(node):
            found = True
            yield call.effect(what, _tables(node))
            if isinstance(node, exp.Alter):
                break
    if not found:
        yield call.effect("db.read")


def _does(node: Any) -> str:
    """The name of what one node of a statement does; empty for most nodes."""
    from sqlglot import exp

    match node:
        case exp.Drop():
            kind = str(node.args.get("kind") or "").upper()
            if kind in ("USER", "ROLE"):
                return "db.admin"
            return "db.schema" if kind in _LIGHT else "db.drop"
        case exp.TruncateTable():
            return "db.drop"
        case exp.Delete():
            return "db.delete" if node.args.get("where") is not None else "db.delete.all"
        case exp.Update():
            return "db.write" if node.args.get("where") is not None else "db.write.all"
        case exp.Insert() | exp.Merge():
            return "db.write"
        case exp.Alter():
            dropping = any(isinstance(action, exp.Drop) for action in node.args.get("actions") or ())
            return "db.drop" if dropping else "db.schema"
        case exp.Create():
            return "db.schema"
        case exp.Grant():
            return "db.admin"
    return ""


_LIGHT = ("INDEX", "VIEW", "TRIGGER", "FUNCTION", "PROCEDURE", "SEQUENCE", "TYPE", "CONSTRAINT")


def _tables(node: Any) -> tuple[Target, ...]:
    from sqlglot import exp

    table = node.find(exp.Table)
    return (Target(table.sql(), "database"),) if table is not None else ()


_WORDS: tuple[tuple[str, str], ...] = (
    (
        "db.drop",
        r"drop\s+(?:database|schema|table|tablespace|keyspace|collection|user\s+mapping|materialized|owned|extension|column|server|partition)|truncate|alter\s+table\s+.*\bdrop\b|reset\s+master|flush|purge",
    ),
    (
        "db.admin",
        r"drop\s+(?:user|role)|grant|revoke|create\s+(?:user|role|login)|alter\s+(?:user|role|system|login)|set\s+(?:global|password)|shutdown|kill",
    ),
    ("db.delete.all", r"delete\s+from\s+[^\s;]+\s*;?\s*$"),
    ("db.delete", r"delete"),
    ("db.write.all", r"update\s+(?:(?!\bwhere\b).)*$"),
    ("db.write", r"insert|update|merge|replace|copy|load|call|exec"),
    ("db.schema", r"create|alter|drop|rename|comment|reindex|vacuum|analyze"),
)


def _by_words(text: str, call: Call) -> Iterator[Effect]:
    stripped = re.sub(r"/\*.*?\*/|--[^\n]*", " ", text, flags=re.DOTALL).strip()
    for what, pattern in _WORDS:
        if found := re.match(rf"(?:{pattern})(?:\b|$)", stripped, re.IGNORECASE | re.DOTALL):
            rest = stripped[found.end() :].split()
            yield call.effect(what, (Target(rest[0].strip(";`\"'"), "database"),) if rest else ())
            return
    yield call.effect("db.read")


def _extras(text: str, call: Call) -> Iterator[Effect]:
    """What reaches from the database to the machine."""
    for found in re.finditer(
        r"\b(?:to|from)\s+program\s+'((?:[^']|'')+)'|xp_cmdshell\s+'((?:[^']|'')+)'", text, re.IGNORECASE
    ):
        yield from call.shell((found.group(1) or found.group(2)).replace("''", "'"))
        yield call.effect("code.unknown", possible=True, note="the database server runs a program")
    if re.search(r"\binto\s+(?:outfile|dumpfile)\b|\blo_export\b", text, re.IGNORECASE):
        yield call.effect("fs.write", note="the database server writes a file")
