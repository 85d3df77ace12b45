"""Sessions of a database client that can't change anything, and the statements that lift that again.

A session is made read-only by the way it connects (a variable, the connection string, an option, the parameters of a
file's URI) or by a statement before the others. What may lift it counts as lifting it: the price of a wrong guess is a
question, that of the opposite a lost table.
"""

import re
from collections.abc import Iterator, Sequence

from verdikt.effects.code.decoder import decode_percent
from verdikt.effects.host import is_local_address, parse_host
from verdikt.effects.installation_names import is_live_name
from verdikt.effects.invocation import Invocation
from verdikt.model.effect import Effect
from verdikt.model.lazy_regex import compile_lazily

_TRUE_VALUES = frozenset(("on", "true", "yes", "1"))
# The effects that a read-only session refuses. Files, settings of the server and other sessions are no rows.
_REFUSED_EFFECTS = frozenset(
    "db.write db.write.all db.delete db.delete.all db.drop db.schema db.schema.drop db.restore".split()
)
_POSTGRES_SETTING = compile_lazily(r"(?i)(?:^|\s)(?:-c\s*|--)default[_-]transaction[_-]read[_-]only\s*=\s*'?(\w+)")
_CONNECTION_ITEM = compile_lazily(r"(\w+)\s*=\s*('(?:[^'\\]|\\.)*'|(?:[^\s'\\]|\\.)+)", re.DOTALL)
_READ_ONLY_STATEMENT = {
    "postgres": compile_lazily(
        r"(?i)\s*set\s+(?:session\s+characteristics\s+as\s+transaction\s+read\s+only"
        r"|(?:session\s+)?default_transaction_read_only\s*(?:=|\bto\b)\s*'?(?:on|true|yes|1)'?)\s*(?:;|$)"
    ),
    "mysql": compile_lazily(
        r"(?i)\s*set\s+session\s+(?:transaction\s+read\s+only|transaction_read_only\s*:?=\s*(?:on|true|1))\s*(?:;|$)"
    ),
}
"""Dialect → the statement after which the session only reads."""
# A new transaction or session may be writable, a backslash begins a command of the client, and text that is put
# together at run time can be anything.
_LIFTING = compile_lazily(
    r"(?i)read_only|read\s+write|\\|\b(?:program|reset|discard|set_config|execute|prepare|do|connect|source|system)\b"
)
_SERVER_KEYS = frozenset(("host", "hostaddr", "PGHOST", "PGHOSTADDR", "MYSQL_HOST"))
_OTHER_FILE = compile_lazily(r"(?i)\battach\b|^\s*\.(?:open|restore|read|load)\b", re.MULTILINE)


def is_read_only_connection(call: Invocation, dialect: str, database: str, read_only: str) -> bool:
    """Return whether the way in which a client connects makes its session read-only.

    `read_only` is an option of the client, followed by the values with which nothing can be changed.
    """
    if dialect == "postgres":
        settings = [value.text for name, value in call.list_assignments() if name == "PGOPTIONS"][-1:]
        # Options of the connection string replace those of the variable.
        settings = _find_connection_options(database) or settings
        values = [value for text in settings for value in _POSTGRES_SETTING.findall(text)]
        return bool(values) and values[-1].lower() in _TRUE_VALUES
    option, _, values_text = read_only.partition(" ")
    levels = [word.text for word in call.args.get_values(option)] if option else []
    return bool(levels) and set(values_text.split()).issuperset(levels)


def _find_connection_options(database: str) -> list[str]:
    """Return the value of `options` in a connection string, written as a URL or as `key=value` pairs."""
    if "://" in database:
        items = [item.partition("=") for item in database.partition("?")[2].split("&")]
        return [decode_percent(value) for key, _, value in items if key == "options"][-1:]
    pairs = _CONNECTION_ITEM.findall(database)
    return [re.sub(r"\\(.)", r"\1", value.strip("'")) for key, value in pairs if key == "options"][-1:]


def find_server(call: Invocation, database: str) -> str:
    """Return the server that a client connects to, by option, connection string or variable; empty if none is named."""
    option = call.args.get_value("-h --host --hostname -S --server")
    if option is not None:
        return option.text
    if "://" in database:
        return parse_host(database)
    items = [(key, value.strip("'")) for key, value in _CONNECTION_ITEM.findall(database)]
    items += [(name, value.text) for name, value in call.list_assignments()]
    return next((value for key, value in items if key in _SERVER_KEYS), "")


def names_live_store(call: Invocation) -> bool:
    """Return whether a word of a client's command line, as it was written, is the name of what people depend on."""
    return any(is_live_name(word.raw or word.text) for word in call.command.argv[1:] if " " not in word.text)


def is_remote_server(call: Invocation, database: str) -> bool:
    """Return whether a client talks to another machine by name or address; a bare name is a container beside it."""
    server = find_server(call, database)
    return "." in server and not is_local_address(server)


def classify_session(
    call: Invocation, texts: Sequence[tuple[str, Iterator[Effect]]], dialect: str, *, is_read_only: bool
) -> Iterator[Effect]:
    """Yield the effects of the texts of a session in order, without those that it refuses."""
    statement = _READ_ONLY_STATEMENT.get(dialect)
    for text, effects in texts:
        match = statement.match(text) if statement is not None else None
        # PostgreSQL runs the statements of one `-c` as one transaction, which began before the setting.
        if match and dialect == "postgres" and text != call.command.stdin and match.end() < len(text.rstrip()):
            match = None
        lifting = _LIFTING.search(text, match.end() if match else 0)
        is_read_only = (is_read_only or match is not None) and lifting is None
        for effect in effects:
            if not is_read_only or effect.what not in _REFUSED_EFFECTS:
                yield effect


def is_read_only_file(call: Invocation, file: str, texts: Sequence[str]) -> bool:
    """Return whether a database that is a file is opened for reading only, and no other is opened beside it."""
    if any(map(_OTHER_FILE.search, texts)):
        return False
    if call.args.has_flag("-readonly --readonly"):
        return True
    if not file.startswith("file:"):
        return False
    items = [item.partition("=") for item in file.partition("?")[2].partition("#")[0].split("&")]
    modes = [value for key, _, value in items if key == "mode"]
    is_immutable = [value in _TRUE_VALUES for key, _, value in items if key == "immutable"]
    return (bool(modes) and modes[-1] == "ro") or (bool(is_immutable) and all(is_immutable))
