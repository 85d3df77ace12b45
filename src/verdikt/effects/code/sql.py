"""What SQL text does, statement by statement."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from verdikt.effects.argument import words
from verdikt.effects.call import Call
from verdikt.model.effect import Effect, Target
from verdikt.model.regex import regex
from verdikt.shell.command import UNKNOWN, Word

_START = regex(
    r"^\s*(?:--[^\n]*\n|/\*.*?\*/|\s)*(?:select|insert|update|delete|drop|truncate|alter|create|grant|revoke|with|merge|replace|copy|vacuum|set|show|explain|begin|use|call|exec|do|reindex|attach|pragma|load)\b",
    re.IGNORECASE | re.DOTALL,
)
_PROGRAM = regex(r"\b(?:to|from)\s+program\s+'((?:[^']|'')+)'|xp_cmdshell\s+'((?:[^']|'')+)'", re.IGNORECASE)
_RISKY = regex(
    r"drop|truncate|delete|update|alter|grant|revoke|copy|outfile|dumpfile|load_file|load_extension|xp_cmdshell|sp_configure|create\s+(?:user|role|login|or)|"
    r"password|set\s+global|alter\s+system|replace|overwrite|execute|lo_export|lo_import|pg_read|pg_write|pg_terminate|shutdown|reset\s|purge|dblink|detach|\bdo\b|attach",
    re.IGNORECASE,
)
"""Without any of these nothing is lost, and the tokenizer need not be loaded."""

_HOLDS_DATA = words(
    "TABLE DATABASE SCHEMA KEYSPACE TABLESPACE CATALOG OWNED COLLECTION DATASET WAREHOUSE BUCKET STREAM TOPIC GRAPH SPACE STAGE"
)
_ACCOUNTS = frozenset(("USER", "ROLE", "LOGIN", "GROUP", "SYSTEM", "SERVER", "CREDENTIAL", "PROFILE"))
_REACHES_OUT = words(
    "XP_CMDSHELL LO_EXPORT LO_IMPORT LOAD_EXTENSION LOAD_FILE PG_READ_FILE PG_WRITE_FILE SYS_EXEC SYS_EVAL OUTFILE DUMPFILE SP_CONFIGURE "
    "PG_LS_DIR"
)
_BEFORE_NAME = words(
    "IF EXISTS ONLY FROM TABLE TEMPORARY TEMP CONCURRENTLY LOW_PRIORITY IGNORE QUICK INTO OR REPLACE NOT TOP"
)
_ALWAYS = regex(r"^(?:TRUE|1|(\S+)\s*=\s*\1|NOT\s+FALSE|NOT\s+0|1\s*(?:<>|!=|>)\s*0)$")


class Statement(NamedTuple):
    """One statement's effect: a name of the `db` family, what it falls on, and whether it can be made again."""

    what: str
    on: str = ""
    light: bool = False
    note: str = ""


def looks_like_sql(text: str) -> bool:
    """Whether text begins like a statement."""
    return _START.match(text) is not None


def read_sql(text: str, call: Call, dialect: str = "", *, recoverable: bool = False) -> Iterator[Effect]:
    """The effects of SQL that would run; `recoverable` says that nobody would miss the database."""
    for program in _PROGRAM.finditer(text):
        yield from call.shell((program.group(1) or program.group(2)).replace("''", "'"))
    yield from touched_files(text, call)
    known = UNKNOWN not in text
    for found in statements(text, dialect):
        targets = (Target(found.on, "database"),) if found.on else ()
        yield call.effect(
            found.what,
            targets,
            recoverable=True if recoverable or found.light else None,
            possible=not known and found.what != "db.read" and not found.on,
            note=found.note,
        )


def touched_files(text: str, call: Call) -> Iterator[Effect]:
    """Files that a database reads, writes or loads as code."""
    for function, name in _FILES.findall(text):
        kind = function.lower()
        if kind == "load_extension":
            yield call.effect("code.unknown", (call.path(Word(name)),), note="loads code into the database")
        else:
            yield from call.on("fs.overwrite" if kind in ("writefile", "edit") else "fs.read", [Word(name)])
    for name in _PUT.findall(text):
        yield from call.on("fs.overwrite", [Word(name)])


_FILES = regex(r"(?i)\b(load_extension|writefile|readfile|read_text|read_blob|read_csv|read_json)\s*\(\s*'([^']+)'")
_PUT = regex(r"(?i)\bcopy\b[^;]*\bto\s+'(/[^']+|~[^']+)'")


_LONGEST = 200_000
"""Characters that are looked at statement by statement."""


def statements(text: str, dialect: str = "") -> list[Statement]:
    """What each statement of the text does, in order."""
    if not text.strip():
        return []
    if not _RISKY.search(text):
        return [Statement("db.read" if text.lstrip(" \n\t(;").lower().startswith(_READING) else "db.write")]
    parts = _split(text[:_LONGEST], dialect)
    if parts is None:
        return [Statement("db.drop", note="text that does not end where it should", light=True)]
    found: list[Statement] = []
    made: set[str] = set()
    for tokens in parts:
        found.extend(_statement(tokens, made, dialect))
    if _RISKY.search(text, _LONGEST):
        found.append(Statement("db.drop", note="more than anybody reads", light=True))
    elif _undone(parts, dialect):
        return [Statement("db.read", note="the transaction is rolled back")]
    return found


_READING = (
    "select",
    "show",
    "explain",
    "describe",
    "desc ",
    "pragma",
    "with",
    "values",
    "\\d",
    "\\l",
    ".schema",
    ".tables",
)


class _Token(NamedTuple):
    text: str
    upper: str
    string: bool


def _split(text: str, dialect: str) -> list[list[_Token]] | None:
    """Statements as tokens, comments left out; None when quotes do not match."""
    from sqlglot import tokenize
    from sqlglot.errors import SqlglotError

    try:
        raw = tokenize(text.replace(UNKNOWN, "unknown"), read=dialect or None)
    except SqlglotError:
        return None
    parts: list[list[_Token]] = [[]]
    strings = ("STRING", "HEREDOC_STRING", "RAW_STRING", "NATIONAL_STRING")
    for token in raw:
        kind = token.token_type.name
        if kind == "SEMICOLON":
            parts.append([])
            continue
        is_string = kind in strings
        # `RENAME …`, `EXECUTE …`, `DO …` come as one token with the rest as a string.
        if (
            is_string
            and parts[-1]
            and parts[-1][-1].upper in ("EXPLAIN", "ALTER", "GRANT", "RENAME", "CALL", "ANALYZE", "EXECUTE", "EXEC")
        ):
            parts[-1].extend(
                _Token(word.strip("();,'\""), word.upper().strip("();,'\""), string=False)
                for word in token.text.split()
            )
            continue
        parts[-1].append(_Token(token.text, token.text.upper(), is_string))
    return [part for part in parts if part]


def _undone(parts: list[list[_Token]], dialect: str) -> bool:
    """Whether it is all one transaction that ends in a rollback. MySQL commits before each change of a table."""
    first, last = parts[0][0].upper if parts else "", parts[-1][0].upper if parts else ""
    return (
        dialect != "mysql"
        and first in ("BEGIN", "START")
        and last in ("ROLLBACK", "ABORT")
        and not any(part[0].upper in ("COMMIT", "END") for part in parts)
    )


def _statement(tokens: list[_Token], made: set[str], dialect: str) -> Iterator[Statement]:
    head = tokens[0].upper
    if head == "EXPLAIN" and not any(token.upper == "ANALYZE" for token in tokens[:4]):
        yield Statement("db.read")
        return
    if head in ("DO", "EXECUTE", "EXEC", "CALL", "PREPARE"):
        yield from _nested(tokens, made, dialect)
    upper = [token.upper for token in tokens if not token.string]
    if any(word in _REACHES_OUT for word in upper) or (head in ("COPY", "\\COPY") and "PROGRAM" in upper):
        yield Statement("db.exec", note="reaches from the database into the machine it runs on")
    # A transaction block or a common table expression may hold the statement further in.
    start = next((i for i, word in enumerate(upper) if word in _CHANGES), -1)
    if start < 0:
        yield Statement("db.read" if head in ("SELECT", "SHOW", "WITH", "DESCRIBE", "PRAGMA", "VALUES") else "db.write")
        return
    if head == "MERGE" or (
        start and head in ("SELECT", "INSERT", "CREATE", "COMMENT", "SHOW", "COPY") and upper[start] != "OVERWRITE"
    ):
        yield from _create(tokens, upper, made)
        return
    rest = upper[start:]
    names = [token.text for token in tokens if not token.string][start:]
    yield from _change(rest, names, tokens, made)


_CHANGES = frozenset(
    (
        "DROP",
        "TRUNCATE",
        "DELETE",
        "UPDATE",
        "ALTER",
        "GRANT",
        "REVOKE",
        "REPLACE",
        "SHUTDOWN",
        "RESET",
        "PURGE",
        "SET",
        "CREATE",
        "OVERWRITE",
        "UNDROP",
        "DETACH",
    )
)


def _change(rest: list[str], names: list[str], tokens: list[_Token], made: set[str]) -> Iterator[Statement]:
    head = rest[0]
    if head == "DROP":
        yield from _drop(rest, names, made)
    elif head == "TRUNCATE":
        yield Statement("db.delete.all", _name(rest, names, 1), note="every row")
    elif head == "DELETE":
        name = _name(rest, names, 1)
        yield (
            Statement("db.delete", name, note="chosen rows")
            if _chosen(tokens, "DELETE")
            else Statement("db.delete.all", name, note="every row")
        )
    elif head == "UPDATE":
        name = _name(rest, names, 1)
        yield (
            Statement("db.write", name, note="chosen rows")
            if _chosen(tokens, "UPDATE")
            else Statement("db.write.all", name, note="every row")
        )
    elif head == "ALTER":
        yield from _alter(rest, names, tokens)
    elif head in ("GRANT", "REVOKE", "SHUTDOWN", "RESET"):
        yield Statement("db.admin", " ".join(names[1:4]))
    elif head == "SET":
        admin = any(word in ("GLOBAL", "PASSWORD", "PERSIST") for word in rest[1:3])
        yield Statement("db.admin", " ".join(names[1:4])) if admin else Statement("db.read")
    elif head == "OVERWRITE":
        yield Statement("db.delete.all", _name(rest, names, 1), note="every row is replaced")
    elif head == "CREATE":
        yield from _create(tokens, rest, made)
    else:
        yield Statement("db.write", _name(rest, names, 1))


def _nested(tokens: list[_Token], made: set[str], dialect: str) -> Iterator[Statement]:
    """A block or a string that is run as SQL."""
    for token in tokens[1:]:
        if token.string and _RISKY.search(token.text):
            inner = token.text.strip("$ \n")
            body = re.sub(r"(?is)^\s*(?:declare\b.*?)?begin\b", "", inner)
            for part in _split(body, dialect) or []:
                yield from _statement(part, made, dialect)


def _drop(rest: list[str], names: list[str], made: set[str]) -> Iterator[Statement]:
    kind = next(
        (
            word
            for word in rest[1:3]
            if word not in ("TEMPORARY", "TEMP", "EXTERNAL", "FOREIGN", "MATERIALIZED", "TRANSIENT")
        ),
        "",
    )
    name = _name(rest, names, rest.index(kind) + 1) if kind else ""
    if kind in _ACCOUNTS:
        yield Statement("db.admin", name)
    elif "TEMPORARY" in rest[1:2] or "TEMP" in rest[1:2] or name.lower() in made:
        yield Statement("db.schema", name)
    elif kind in _HOLDS_DATA:
        yield Statement("db.drop", name, note=kind.lower(), light=throwaway(name))
    else:
        yield Statement("db.schema.drop", name, note=kind.lower())


def _alter(rest: list[str], names: list[str], tokens: list[_Token]) -> Iterator[Statement]:
    kind = rest[1] if len(rest) > 1 else ""
    name = _name(rest, names, 2)
    if kind in _ACCOUNTS or (kind == "DATABASE" and "OWNER" in rest):
        yield Statement("db.admin", name)
    elif "DROP" in rest:
        after = rest[rest.index("DROP") + 1 :][:1]
        light = after and after[0] in (
            "CONSTRAINT",
            "INDEX",
            "DEFAULT",
            "NOT",
            "IDENTITY",
            "EXPRESSION",
            "FOREIGN",
            "KEY",
            "PRIMARY",
            "CHECK",
            "UNIQUE",
            "FEATURE",
            "POLICY",
            "TAG",
        )
        yield (
            Statement("db.schema.drop", name)
            if light
            else Statement("db.drop", name, note="a column or a partition with its values")
        )
    elif "DELETE" in rest:
        yield (
            Statement("db.delete", name)
            if _chosen(tokens, "DELETE")
            else Statement("db.delete.all", name, note="every row")
        )
    else:
        yield Statement("db.schema", name)


def _create(tokens: list[_Token], upper: list[str], made: set[str]) -> Iterator[Statement]:
    if upper[0] != "CREATE":
        yield Statement("db.read" if upper[0] in ("SELECT", "SHOW") else "db.write")
        return
    names = [token.text for token in tokens if not token.string]
    kind = next(
        (
            word
            for word in upper[1:5]
            if word
            not in (
                "OR",
                "REPLACE",
                "TEMPORARY",
                "TEMP",
                "UNIQUE",
                "GLOBAL",
                "LOCAL",
                "EXTERNAL",
                "TRANSIENT",
                "UNLOGGED",
            )
        ),
        "",
    )
    name = _name(upper, names, upper.index(kind) + 1) if kind else ""
    if kind in _ACCOUNTS:
        yield Statement("db.admin", name)
    elif kind == "TABLE" and "REPLACE" in upper[1:3]:
        yield Statement("db.drop", name, note="replaces the table with its rows")
    else:
        if kind == "TABLE" and "EXISTS" not in upper[:7]:
            made.add(name.lower())
        yield Statement("db.schema", name)


def _name(rest: list[str], names: list[str], start: int) -> str:
    for index in range(start, len(rest)):
        if rest[index] not in _BEFORE_NAME:
            end = index + 1
            while end + 1 < len(rest) and rest[end] == ".":
                end += 2
            return "".join(names[index:end])
    return ""


def _chosen(tokens: list[_Token], head: str) -> bool:
    """Whether a condition or a limit chooses rows; a condition that always holds does not."""
    start = next((i for i, token in enumerate(tokens) if token.upper == head and not token.string), 0)
    depth = 0
    for index in range(start, len(tokens)):
        upper = tokens[index].upper
        if tokens[index].string:
            continue
        depth += {"(": 1, ")": -1}.get(upper, 0)
        if depth < 0:
            return False
        if upper in ("WHERE", "LIMIT", "TOP") and depth == 0:
            condition = " ".join(token.upper for token in tokens[index + 1 :]).strip("() ")
            return upper != "WHERE" or not _ALWAYS.match(condition)
    return False


_THROWAWAY = regex(
    r"(?:^|[^a-z])(?:test|tests|testing|tmp|temp|dev|ci|scratch|sandbox|local|example|demo|playground|fixture|fixtures|staging_test)(?:$|[^a-z])"
)


def throwaway(name: str) -> bool:
    """Whether a database's or table's name says that nobody would miss it."""
    return bool(_THROWAWAY.search(name.lower()))
