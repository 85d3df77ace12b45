"""Classify SQL text, statement by statement."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from verdikt.effects.arguments import word_set
from verdikt.effects.installation_names import is_throwaway
from verdikt.effects.invocation import Invocation
from verdikt.model.effect import Effect, Target
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import UNKNOWN, Word

_STATEMENT_START = compile_lazily(
    r"^\s*(?:--[^\n]*\n|/\*.*?\*/|\s)*(?:select|insert|update|delete|drop|truncate|alter|create|grant|revoke|with"
    r"|merge|replace|copy|vacuum|set|show|explain|begin|use|call|exec|do|reindex|attach|pragma|load)\b",
    re.IGNORECASE | re.DOTALL,
)
_PROGRAM_CALL = compile_lazily(
    r"\b(?:to|from)\s+program\s+'((?:[^']|'')+)'|xp_cmdshell\s+'((?:[^']|'')+)'", re.IGNORECASE
)
_RISKY_KEYWORD = compile_lazily(
    r"drop|truncate|delete|update|alter|grant|revoke|copy|outfile|dumpfile|load_file|load_extension|xp_cmdshell"
    r"|sp_configure|create\s+(?:user|role|login|or)|"
    r"password|set\s+global|alter\s+system|replace|overwrite|execute|lo_export|lo_import|pg_read|pg_write"
    r"|pg_terminate|pg_cancel|pg_promote|pg_reload|lo_unlink|shutdown|reset\s|purge|dblink|detach|\bdo\b|attach",
    re.IGNORECASE,
)
"""Text without any of these loses nothing, and does not need the tokenizer."""

_DATA_OBJECTS = word_set(
    "TABLE DATABASE SCHEMA KEYSPACE TABLESPACE CATALOG OWNED COLLECTION DATASET WAREHOUSE BUCKET STREAM TOPIC GRAPH "
    "SPACE STAGE"
)
_ACCOUNT_OBJECTS = frozenset(("USER", "ROLE", "LOGIN", "GROUP", "SYSTEM", "SERVER", "CREDENTIAL", "PROFILE"))
_HOST_ACCESS_FUNCTIONS = word_set(
    "XP_CMDSHELL LO_EXPORT LO_IMPORT LOAD_EXTENSION LOAD_FILE PG_READ_FILE PG_WRITE_FILE SYS_EXEC SYS_EVAL OUTFILE "
    "DUMPFILE SP_CONFIGURE PG_LS_DIR"
)
_ACTING_FUNCTIONS = word_set(
    "PG_TERMINATE_BACKEND PG_CANCEL_BACKEND PG_PROMOTE PG_RELOAD_CONF PG_DROP_REPLICATION_SLOT LO_UNLINK"
)
"""Functions by which a query changes the server."""
_PASSWORD_QUERY = compile_lazily(
    r"(?is)\bselect\b[^;]*(?:\*|passw|authentication_string)[^;]*\bfrom\b[^;]*"
    r"\b(?:pg_shadow|pg_authid|mysql\s*\.\s*(?:user|global_priv)|sql_logins|syslogins|dba_users)\b"
)
_NAME_PREFIX_WORDS = word_set(
    "IF EXISTS ONLY FROM TABLE TEMPORARY TEMP CONCURRENTLY LOW_PRIORITY IGNORE QUICK INTO OR REPLACE NOT TOP"
)
_TRUE_CONDITION = compile_lazily(r"^(?:TRUE|1|(\S+)\s*=\s*\1|NOT\s+FALSE|NOT\s+0|1\s*(?:<>|!=|>)\s*0)$")
_FILE_FUNCTION = compile_lazily(
    r"(?i)\b(load_extension|writefile|readfile|read_text|read_blob|read_csv|read_json)\s*\(\s*'([^']+)'"
)
_COPY_TO_FILE = compile_lazily(r"(?i)\bcopy\b[^;]*\bto\s+'(/[^']+|~[^']+)'")


_MAX_TEXT = 200_000
"""Maximum number of characters that are tokenized."""
_READING_HEADS = word_set(
    "SELECT SHOW EXPLAIN DESCRIBE DESC PRAGMA WITH VALUES TABLE FROM SUMMARIZE "
    "BEGIN START COMMIT END ROLLBACK ABORT SAVEPOINT RELEASE USE"
)
"""How a statement begins that changes no row by itself: queries, and what opens or ends a transaction."""
_LOOKING_COMMANDS = ("\\D", "\\L", ".SCHEMA", ".TABLES")
"""How commands of a client begin that show what there is."""
_CHANGE_KEYWORDS = frozenset(
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


REPLACED_TABLE = "replaces the table with its rows"


class StatementEffect(NamedTuple):
    """The effect of one statement: a `db` name, its target, and whether the target can be made again."""

    what: str
    target: str = ""
    recoverable: bool = False
    note: str = ""


def looks_like_sql(text: str) -> bool:
    """Return whether text begins like a statement."""
    return _STATEMENT_START.match(text) is not None


def classify_sql(text: str, call: Invocation, dialect: str = "", *, recoverable: bool = False) -> Iterator[Effect]:
    """Yield the effects of SQL; `recoverable` says that the database can be lost without harm."""
    # `COPY … TO PROGRAM` and `xp_cmdshell` run a shell command on the machine of the database.
    for program in _PROGRAM_CALL.finditer(text):
        yield from call.classify_shell((program.group(1) or program.group(2)).replace("''", "'"))
    yield from classify_file_access(text, call)
    if _PASSWORD_QUERY.search(text):
        yield call.make_effect("cred.read", (Target("the passwords of accounts", "other"),))
    known = UNKNOWN not in text
    for statement in classify_statements(text, dialect):
        targets = (Target(statement.target, "database"),) if statement.target else ()
        yield call.make_effect(
            statement.what,
            targets,
            recoverable=True if recoverable or statement.recoverable else None,
            possible=not known and statement.what != "db.read" and not statement.target,
            note=statement.note,
        )


def classify_file_access(text: str, call: Invocation) -> Iterator[Effect]:
    """Yield the effects on files that a database reads, writes or loads as code."""
    for function, name in _FILE_FUNCTION.findall(text):
        kind = function.lower()
        if kind == "load_extension":
            yield call.make_effect(
                "code.unknown", (call.resolve_path(Word(name)),), note="loads code into the database"
            )
        else:
            yield from call.make_effects("fs.overwrite" if kind in ("writefile", "edit") else "fs.read", [Word(name)])
    for name in _COPY_TO_FILE.findall(text):
        yield from call.make_effects("fs.overwrite", [Word(name)])


def classify_statements(text: str, dialect: str = "") -> list[StatementEffect]:
    """Return the effect of each statement of the text, in order."""
    if not text.strip():
        return []
    if not _RISKY_KEYWORD.search(text):
        # A semicolon inside a string makes a part that begins like no query, which is the stricter reading.
        heads = [part.split(None, 1)[0].upper() for part in text.replace("(", " ").split(";") if part.strip()]
        only_reads = all(head in _READING_HEADS or head.startswith(_LOOKING_COMMANDS) for head in heads)
        return [StatementEffect("db.read" if only_reads else "db.write")]
    parts = _split_statements(text[:_MAX_TEXT], dialect)
    # Quotes that do not match hide where statements end; the keywords alone allow the worst.
    if parts is None:
        return [StatementEffect("db.drop", note="text that does not end where it should", recoverable=True)]
    effects: list[StatementEffect] = []
    created_tables: set[str] = set()
    for tokens in parts:
        effects.extend(_classify_statement(tokens, created_tables, dialect))
    if _RISKY_KEYWORD.search(text, _MAX_TEXT):
        effects.append(StatementEffect("db.drop", note="too long to be read", recoverable=True))
    elif _is_rolled_back(parts, dialect):
        return [StatementEffect("db.read", note="the transaction is rolled back")]
    elif _is_read_only(parts, dialect):
        # The database refuses changes; what reaches into its machine it does all the same.
        note = "the transaction is read-only"
        return [effect for effect in effects if effect.what == "db.exec"] or [StatementEffect("db.read", note=note)]
    return effects


class _Token(NamedTuple):
    text: str
    upper: str
    is_string: bool


def _split_statements(text: str, dialect: str) -> list[list[_Token]] | None:
    """Split SQL into statements of tokens without comments; None if quotes do not match."""
    # sqlglot takes longer to import than everything else here, and most texts have no risky keyword.
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
        # sqlglot returns `RENAME …`, `EXECUTE …`, `DO …` as a keyword and one string with everything after it.
        if (
            is_string
            and parts[-1]
            and parts[-1][-1].upper in ("EXPLAIN", "ALTER", "GRANT", "RENAME", "CALL", "ANALYZE", "EXECUTE", "EXEC")
        ):
            parts[-1].extend(
                _Token(word.strip("();,'\""), word.upper().strip("();,'\""), is_string=False)
                for word in token.text.split()
            )
            continue
        parts[-1].append(_Token(token.text, token.text.upper(), is_string))
    return [part for part in parts if part]


def _is_rolled_back(parts: list[list[_Token]], dialect: str) -> bool:
    """Return whether everything is one transaction that ends in a rollback.

    Not in MySQL, which commits before each change of a table.
    """
    first, last = parts[0][0].upper if parts else "", parts[-1][0].upper if parts else ""
    return (
        dialect != "mysql"
        and first in ("BEGIN", "START")
        and last in ("ROLLBACK", "ABORT")
        and not any(part[0].upper in ("COMMIT", "END") for part in parts)
    )


_READ_ONLY_DIALECTS = ("postgres", "mysql")
# Statements that end a transaction, begin another one, or may lift what was set for it.
_LEAVES_TRANSACTION = word_set(
    "BEGIN START COMMIT ROLLBACK END ABORT SET RESET DISCARD DO CALL EXECUTE EXEC PREPARE WRITE SET_CONFIG PROGRAM"
)


def _is_read_only(parts: list[list[_Token]], dialect: str) -> bool:
    """Return whether everything is one transaction that begins as read-only, and is left by its last statement only."""
    first = [token.upper for token in parts[0]] if parts else []
    if dialect not in _READ_ONLY_DIALECTS or first[:1] not in (["BEGIN"], ["START"]) or first[-2:] != ["READ", "ONLY"]:
        return False
    inner = parts[1:-1] if parts[-1][0].upper in ("COMMIT", "ROLLBACK", "END") and len(parts[-1]) == 1 else parts[1:]
    return not any(token.upper in _LEAVES_TRANSACTION or token.text[:1] == "\\" for part in inner for token in part)


def _classify_statement(tokens: list[_Token], created_tables: set[str], dialect: str) -> Iterator[StatementEffect]:
    head = tokens[0].upper
    # EXPLAIN only plans a statement; EXPLAIN ANALYZE runs it.
    if head == "EXPLAIN" and not any(token.upper == "ANALYZE" for token in tokens[:4]):
        yield StatementEffect("db.read")
        return
    if head in ("DO", "EXECUTE", "EXEC", "CALL", "PREPARE"):
        yield from _classify_nested(tokens, created_tables, dialect)
    upper = [token.upper for token in tokens if not token.is_string]
    if _reaches_host(head, upper):
        yield StatementEffect("db.exec", note="reaches from the database into the machine it runs on")
    if head == "SELECT" and not _ACTING_FUNCTIONS.isdisjoint(upper):
        yield StatementEffect("db.admin", note="changes the server by a function")
    # A transaction block or a common table expression may hold the statement further in.
    start = next((i for i, word in enumerate(upper) if word in _CHANGE_KEYWORDS), -1)
    if start < 0:
        yield StatementEffect("db.read" if head in _READING_HEADS else "db.write")
        return
    if head == "MERGE" or (
        start and head in ("SELECT", "INSERT", "CREATE", "COMMENT", "SHOW", "COPY") and upper[start] != "OVERWRITE"
    ):
        yield from _classify_create(tokens, upper, created_tables)
        return
    names = [token.text for token in tokens if not token.is_string][start:]
    yield from _classify_change(upper[start:], names, tokens, created_tables)


def _reaches_host(head: str, keywords: list[str]) -> bool:
    """Return whether a statement runs a program or opens a file on the database's machine."""
    return any(word in _HOST_ACCESS_FUNCTIONS for word in keywords) or (
        head in ("COPY", "\\COPY") and "PROGRAM" in keywords
    )


def _classify_change(
    keywords: list[str], names: list[str], tokens: list[_Token], created_tables: set[str]
) -> Iterator[StatementEffect]:
    head = keywords[0]
    if head == "DROP":
        yield from _classify_drop(keywords, names, created_tables)
    elif head == "TRUNCATE":
        yield StatementEffect("db.delete.all", _find_name(keywords, names, 1), note="every row")
    elif head == "DELETE":
        name = _find_name(keywords, names, 1)
        yield (
            StatementEffect("db.delete", name, note="chosen rows")
            if _has_row_filter(tokens, "DELETE")
            else StatementEffect("db.delete.all", name, note="every row")
        )
    elif head == "UPDATE":
        name = _find_name(keywords, names, 1)
        yield (
            StatementEffect("db.write", name, note="chosen rows")
            if _has_row_filter(tokens, "UPDATE")
            else StatementEffect("db.write.all", name, note="every row")
        )
    elif head == "ALTER":
        yield from _classify_alter(keywords, names, tokens)
    elif head in ("GRANT", "REVOKE", "SHUTDOWN", "RESET"):
        yield StatementEffect("db.admin", " ".join(names[1:4]))
    elif head == "SET":
        admin = any(word in ("GLOBAL", "PASSWORD", "PERSIST") for word in keywords[1:3])
        yield StatementEffect("db.admin", " ".join(names[1:4])) if admin else StatementEffect("db.read")
    elif head == "OVERWRITE":
        yield StatementEffect("db.delete.all", _find_name(keywords, names, 1), note="every row is replaced")
    elif head == "CREATE":
        yield from _classify_create(tokens, keywords, created_tables)
    else:
        yield StatementEffect("db.write", _find_name(keywords, names, 1))


def _classify_nested(tokens: list[_Token], created_tables: set[str], dialect: str) -> Iterator[StatementEffect]:
    """Yield the effects of a block or a string that is run as SQL."""
    for token in tokens[1:]:
        if token.is_string and _RISKY_KEYWORD.search(token.text):
            # `DO $$ BEGIN … END $$`: without its frame the block is a list of statements.
            inner = token.text.strip("$ \n")
            body = re.sub(r"(?is)^\s*(?:declare\b.*?)?begin\b", "", inner)
            for part in _split_statements(body, dialect) or []:
                yield from _classify_statement(part, created_tables, dialect)
                # `FOR … LOOP EXECUTE format('DROP TABLE %I', …)`: a string is run inside the block.
                words = [inner_token.upper for inner_token in part]
                if "EXECUTE" in words[1:]:
                    yield from _classify_nested(part[words.index("EXECUTE") :], created_tables, dialect)


def _classify_drop(keywords: list[str], names: list[str], created_tables: set[str]) -> Iterator[StatementEffect]:
    kind = next(
        (
            word
            for word in keywords[1:3]
            if word not in ("TEMPORARY", "TEMP", "EXTERNAL", "FOREIGN", "MATERIALIZED", "TRANSIENT")
        ),
        "",
    )
    name = _find_name(keywords, names, keywords.index(kind) + 1) if kind else ""
    if kind in _ACCOUNT_OBJECTS:
        yield StatementEffect("db.admin", name)
    elif "TEMPORARY" in keywords[1:2] or "TEMP" in keywords[1:2] or name.lower() in created_tables:
        yield StatementEffect("db.schema", name)
    elif kind in _DATA_OBJECTS:
        yield StatementEffect("db.drop", name, note=kind.lower(), recoverable=is_throwaway(name))
    else:
        yield StatementEffect("db.schema.drop", name, note=kind.lower())


def _classify_alter(keywords: list[str], names: list[str], tokens: list[_Token]) -> Iterator[StatementEffect]:
    kind = keywords[1] if len(keywords) > 1 else ""
    name = _find_name(keywords, names, 2)
    if kind in _ACCOUNT_OBJECTS or (kind == "DATABASE" and "OWNER" in keywords):
        yield StatementEffect("db.admin", name)
    elif "DROP" in keywords:
        after = keywords[keywords.index("DROP") + 1 :][:1]
        holds_no_rows = after and after[0] in (
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
            StatementEffect("db.schema.drop", name)
            if holds_no_rows
            else StatementEffect("db.drop", name, note="a column or a partition with its values")
        )
    elif "DELETE" in keywords:
        yield (
            StatementEffect("db.delete", name)
            if _has_row_filter(tokens, "DELETE")
            else StatementEffect("db.delete.all", name, note="every row")
        )
    else:
        yield StatementEffect("db.schema", name)


def _classify_create(tokens: list[_Token], keywords: list[str], created_tables: set[str]) -> Iterator[StatementEffect]:
    if keywords[0] != "CREATE":
        yield StatementEffect("db.read" if keywords[0] in ("SELECT", "SHOW") else "db.write")
        return
    names = [token.text for token in tokens if not token.is_string]
    kind = next(
        (
            word
            for word in keywords[1:5]
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
    name = _find_name(keywords, names, keywords.index(kind) + 1) if kind else ""
    if kind in _ACCOUNT_OBJECTS:
        yield StatementEffect("db.admin", name)
    # `CREATE OR REPLACE TABLE` drops the old table first.
    elif kind == "TABLE" and "REPLACE" in keywords[1:3]:
        yield StatementEffect("db.drop", name, note=REPLACED_TABLE)
    else:
        # Dropping a table that the same text created loses nothing, unless it may have existed before.
        if kind == "TABLE" and "EXISTS" not in keywords[:7]:
            created_tables.add(name.lower())
        yield StatementEffect("db.schema", name)


def _find_name(keywords: list[str], names: list[str], start: int) -> str:
    """Return the first name from `start` on, with its schema: `public.users`."""
    for index in range(start, len(keywords)):
        if keywords[index] not in _NAME_PREFIX_WORDS:
            end = index + 1
            while end + 1 < len(keywords) and keywords[end] == ".":
                end += 2
            return "".join(names[index:end])
    return ""


def _has_row_filter(tokens: list[_Token], head: str) -> bool:
    """Return whether a condition or a limit selects rows; a condition that is always true does not."""
    start = next((i for i, token in enumerate(tokens) if token.upper == head and not token.is_string), 0)
    depth = 0
    for index in range(start, len(tokens)):
        upper = tokens[index].upper
        if tokens[index].is_string:
            continue
        depth += {"(": 1, ")": -1}.get(upper, 0)
        # The parenthesis of a subquery ends here; a WHERE after it filters the outer statement.
        if depth < 0:
            return False
        if upper in ("WHERE", "LIMIT", "TOP") and depth == 0:
            condition = " ".join(token.upper for token in tokens[index + 1 :]).strip("() ")
            return upper != "WHERE" or not _TRUE_CONDITION.match(condition)
    return False
