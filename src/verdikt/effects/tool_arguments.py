"""What the arguments of a tool are: shell text, words of a command, SQL, code, paths or addresses.

Each value is told by the tool's schema if there is one, by its key, or by its shape. Nothing here knows a tool:
servers name the same argument `cmd`, `command_line` or `argv`, and put it as deep as they like.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from verdikt.effects.code import quote_shell_word
from verdikt.effects.code.decoder import decode_base64
from verdikt.effects.file_address import read_file_address
from verdikt.knowledge import find_record, find_role, resolve_language
from verdikt.model.action import UNKNOWN
from verdikt.model.argument_kind import ArgumentKind, find_schema_kinds
from verdikt.model.lazy_regex import compile_lazily

_MAX_ARGUMENTS = 1024
"""Number of values of one call that are looked at; hosts send a handful."""
_MAX_DEPTH = 32
_MAX_SHAPE = 64_000
"""Letters by which the kind of a text is told."""
_MAX_TEXT = 1 << 18
"""Letters of a text that are analysed."""
SCHEMA_KEYS = ("inputSchema", "input_schema", "parameters")
METADATA_KEY = "_meta"
"""Field of a payload that tells about the call and is no argument of the tool."""


class Argument(NamedTuple):
    """One argument: its kind, its text, and the language of code."""

    kind: ArgumentKind
    text: str
    language: str = ""


class _Traits(NamedTuple):
    """What the name of a tool tells of it."""

    runs: bool
    searches: bool
    in_browser: bool = False


_KEY_WORD = compile_lazily(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SHELL_WORDS = frozenset("command commands cmd cmds shell bash sh script exec execute cmdline terminal stdin".split())
_KEYSTROKE_WORDS = frozenset("keys keystrokes typed".split())
_PROSE_WORDS = frozenset("topic title subject question search term keyword keywords label".split())
"""Keys of words for people: `drop table` in one of them is what a person asks about."""
_PLURAL_WORDS = frozenset("commands cmds scripts steps".split())
"""Keys of lists of which each text is a command of its own."""
_ARGV_WORDS = frozenset("argv args arguments params parameters flags options".split())
_CODE_WORDS = frozenset(
    "code source snippet javascript python js ts typescript program cell expression function".split()
)
_PATH_WORDS = frozenset(
    "path paths file files filename filepath filenames directory dir folder destination dest source src target output "
    "uri root cwd".split()
)
_URL_WORDS = frozenset("url urls uri uris link href endpoint address website webhook callback".split())
_ENCODING_KEYS = ("encoding", "contentEncoding", "content_encoding")
_BASE64_WORDS = frozenset(("base64", "b64"))
_SHELL_LANGUAGES = find_role("shell") | {"shell"}
# Up to the next `;`, so that a search through the whole text stays linear.
_SQL_STATEMENT = (
    r"\s*(?:explain\b(?:\s+analyze\b)?\s*)?(?:select\b[^;]+\bfrom|insert\s+into|update\s+\S+\s+set|"
    r"delete\s+from|drop\s+(?:table|database|schema|index|view|user|role)|truncate\s+(?:table\s+)?\w|alter\s+(?:table|"
    r"role|user|database)|create\s+(?:table|database|user|role|index|view)|grant\s+\w|revoke\s+\w|with\s+\w+\s+as\s*\()"
)
_SQL_START = compile_lazily(rf"(?is)^{_SQL_STATEMENT}")
_SQL_ANYWHERE = compile_lazily(rf"(?is)(?:^|;){_SQL_STATEMENT}")
_SQL_LINE_COMMENT = compile_lazily(r"--[^\n]*")
_SQL_WORDS = frozenset("sql query queries statement statements ddl dml q".split())
"""Keys of text in which a later statement counts as well: `begin; drop table x`."""
_RUNNING_KINDS = frozenset((ArgumentKind.SHELL, ArgumentKind.CODE, ArgumentKind.SQL))
_ADDRESS = compile_lazily(r"(?i)^\s*(?:(?:https?|ftp|wss?)://|file:)\S+\s*$")
_ROOTED_PATH = compile_lazily(r"^(?:~(?:/|$)|/(?!/)|\.{1,2}/|[A-Za-z]:\\)[^\n]*$")
# Words of a command line that prose does not have: options, rooted paths, operators of the shell.
_COMMAND_SHAPE = compile_lazily(r"\s-{1,2}[A-Za-z]|\s(?:~|\.{0,2})/|[|;&]|>\s*\S|\$\(")


def find_schema(*holders: Any) -> Mapping[str, Any]:
    """Return the first input schema that a manifest entry, a payload or its metadata holds; empty without one."""
    for holder in holders:
        metadata = holder.get(METADATA_KEY) if isinstance(holder, Mapping) else None
        places = [place for place in (holder, metadata) if isinstance(place, Mapping)]
        for schema in (place.get(key) for place in places for key in SCHEMA_KEYS):
            if isinstance(schema, Mapping) and isinstance(schema.get("properties"), Mapping):
                return schema
    return {}


class ToolArguments(NamedTuple):
    """What the arguments of a tool mean; not all of them if they are too many, too long or too deep in each other."""

    arguments: list[Argument]
    is_complete: bool = True


class _TooDeepError(Exception):
    """Values are nested deeper than they are looked at."""


def list_tool_arguments(
    payload: Any,
    schema: Mapping[str, Any] | None = None,
    *,
    runs: bool = False,
    searches: bool = False,
    in_browser: bool = False,
) -> ToolArguments:
    """Return what a tool's arguments mean.

    Its name tells whether it `runs` something, `searches` for words, or has a page run its scripts.
    """
    if not isinstance(payload, Mapping):
        return ToolArguments([])
    arguments: list[Argument] = []
    traits = _Traits(runs, searches, in_browser)
    try:
        for argument in _iter_mapping(payload, schema or {}, traits=traits, depth=0):
            if len(arguments) >= _MAX_ARGUMENTS or len(argument.text) > _MAX_TEXT:
                return ToolArguments(arguments, is_complete=False)
            arguments.append(argument)
    except _TooDeepError:
        return ToolArguments(arguments, is_complete=False)
    return ToolArguments(arguments)


def _iter_mapping(
    payload: Mapping[Any, Any], schema: Mapping[str, Any], *, traits: _Traits, depth: int
) -> Iterator[Argument]:
    language = next((str(payload[key]).lower() for key in ("language", "lang", "kernel") if key in payload), "")
    joined_keys = frozenset[Any]()
    if (line := _join_command(payload)) is not None:
        joined_keys = line[1]
        yield Argument(ArgumentKind.SHELL, line[0])
    properties = schema.get("properties")
    is_encoded = any(str(payload.get(key, "")).lower() in _BASE64_WORDS for key in _ENCODING_KEYS)
    # In one order, whatever the host's: a receipt has its keys sorted, and a replay reads them from there.
    for key, value in sorted(payload.items(), key=_get_key):
        if key in joined_keys or (depth == 0 and key in (METADATA_KEY, *SCHEMA_KEYS[:2], "annotations")):
            continue
        inner_schema = properties.get(key) if isinstance(properties, Mapping) else None
        if is_encoded or not _BASE64_WORDS.isdisjoint(str(key).lower().split("_")):
            value = _decode_text(value) or value  # noqa: PLW2901 - what it stands for is the argument
        yield from _iter_value(str(key), value, inner_schema, language=language, traits=traits, depth=depth)


def _decode_text(value: Any) -> str:
    """Return the text that base64 stands for; empty for anything but text."""
    text = decode_base64(value) if isinstance(value, str) else UNKNOWN
    # What is no text: a picture, or no base64 at all.
    is_text = UNKNOWN not in text and "\ufffd" not in text
    return text if is_text and all(letter.isprintable() or letter in "\r\n\t" for letter in text) else ""


def _get_key(item: tuple[Any, Any]) -> str:
    return str(item[0])


def _iter_value(key: str, value: Any, schema: Any, *, language: str, traits: _Traits, depth: int) -> Iterator[Argument]:
    """Yield what one value means, or those inside it."""
    if depth > _MAX_DEPTH:
        raise _TooDeepError
    if isinstance(value, Mapping):
        yield from _iter_mapping(value, schema if isinstance(schema, Mapping) else {}, traits=traits, depth=depth + 1)
    elif isinstance(value, list | tuple):
        words = [item for item in value if isinstance(item, str | int | float)]
        names = _split_key(key)
        is_command = bool(names & (_SHELL_WORDS | _ARGV_WORDS)) and not names & _PLURAL_WORDS
        if words and len(words) == len(value) and is_command and _is_argv(words):
            yield Argument(ArgumentKind.SHELL, _join_words(words))
            return
        item_schema = schema.get("items") if isinstance(schema, Mapping) else None
        for item in value:
            yield from _iter_value(key, item, item_schema, language=language, traits=traits, depth=depth + 1)
    elif isinstance(value, str) and value.strip():
        for kind in _find_kinds(key, value.lstrip()[:_MAX_SHAPE], schema, language=language, traits=traits):
            yield _build_argument(kind, value, key, language)


def _build_argument(kind: ArgumentKind, text: str, key: str, language: str) -> Argument:
    if kind is not ArgumentKind.CODE:
        return Argument(kind, text)
    words = _split_key(key)
    named = language or next((word for word in ("javascript", "js", "typescript", "ts", "python") if word in words), "")
    if named in _SHELL_LANGUAGES:
        return Argument(ArgumentKind.SHELL, text)
    return Argument(kind, text, resolve_language(named))


def _join_command(payload: Mapping[Any, Any]) -> tuple[str, frozenset[Any]] | None:
    """Return a program and its arguments as one line, with their keys: `{"command": "git", "args": ["push"]}`."""
    program = next((key for key in payload if _split_key(str(key)) & (_SHELL_WORDS | {"program", "executable"})), None)
    words = next((key for key in payload if _split_key(str(key)) & _ARGV_WORDS), None)
    if program is None and isinstance(name := payload.get("file"), str) and find_record(name.rsplit("/", 1)[-1]):
        # `spawn(file, args)`, as Node calls it.
        program = "file"
    if program is None or words is None or program == words:
        return None
    name, arguments = payload[program], payload[words]
    if not isinstance(name, str) or not name or not isinstance(arguments, list | tuple):
        return None
    texts = [item for item in arguments if isinstance(item, str | int | float)]
    return f"{name} {_join_words(texts)}".strip(), frozenset((program, words))


def _join_words(words: list[Any]) -> str:
    texts = [str(word) for word in words]
    # `["bash", "-lc", "text"]`: the text itself is what matters.
    if len(texts) >= 3 and texts[0].rsplit("/", 1)[-1] in _SHELL_LANGUAGES and texts[1] in ("-c", "-lc", "-ic"):
        return texts[2]
    return " ".join(quote_shell_word(text, "~*") for text in texts)


def _is_argv(words: list[Any]) -> bool:
    return isinstance(words[0], str) and find_record(words[0].rsplit("/", 1)[-1]) is not None


def _split_key(key: str) -> frozenset[str]:
    return _split_short_key(key[:80])


# The keys of a tool's arguments recur with every call.
@lru_cache(maxsize=1024)
def _split_short_key(key: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _KEY_WORD.findall(key))


def _find_kinds(key: str, text: str, schema: Any, *, language: str, traits: _Traits) -> Iterable[ArgumentKind]:
    """Return the kinds of a text: by its shape alone, or all that the schema and the key with the shape say."""
    names = _split_key(key)
    is_prose = bool(names & _PROSE_WORDS) or (traits.searches and "sql" not in names)
    if _holds_sql(text, anywhere=bool(names & _SQL_WORDS)) and (not is_prose or ";" in text):
        return (ArgumentKind.SQL,)
    by_key = _find_kind_by_key(names, text, language=language, traits=traits)
    # A server may describe an argument as less than its name says; each reading counts.
    kinds = dict.fromkeys((*find_schema_kinds(schema), *((by_key,) if by_key else ())))
    if _ADDRESS.match(text):
        # A tool that writes or deletes files takes the address of one as well.
        by_shape = (ArgumentKind.URL, ArgumentKind.PATH) if read_file_address(text) else (ArgumentKind.URL,)
        # What runs is not only an address: `file:;rm${IFS}-rf${IFS}~`.
        return (*by_shape, *(kind for kind in kinds if kind in _RUNNING_KINDS))
    return kinds


def _holds_sql(text: str, *, anywhere: bool) -> bool:
    """Return whether a text is SQL by its shape: as it is, or without what seem to be comments."""
    find = _SQL_ANYWHERE.search if anywhere else _SQL_START.match
    if find(text):
        return True
    return ("/*" in text or "--" in text) and find(_blank_comments(text)) is not None


def _blank_comments(text: str) -> str:
    parts, at = [], 0
    while (start := text.find("/*", at)) >= 0 and (end := text.find("*/", start + 2)) >= 0:
        parts.append(text[at:start])
        at = end + 2
    return _SQL_LINE_COMMENT.sub(" ", " ".join([*parts, text[at:]]))


def _find_kind_by_key(names: frozenset[str], text: str, *, language: str, traits: _Traits) -> ArgumentKind | None:
    """Return the kind of a text by its key and its shape together, else by its shape."""
    if names & _KEYSTROKE_WORDS and find_record(text.split(None, 1)[0].rsplit("/", 1)[-1]) is not None:
        return ArgumentKind.SHELL
    is_script = traits.in_browser and "script" in names
    if is_script or (names & _SHELL_WORDS and language and language not in _SHELL_LANGUAGES):
        return ArgumentKind.CODE
    if names & _SHELL_WORDS and "language" not in names:
        return ArgumentKind.SHELL
    if names & _CODE_WORDS and (traits.runs or "\n" in text or "(" in text):
        return ArgumentKind.CODE
    if names & _PATH_WORDS and "\n" not in text:
        return ArgumentKind.PATH
    if names & _URL_WORDS:
        return ArgumentKind.URL
    if _ROOTED_PATH.match(text) and " " not in text:
        return ArgumentKind.PATH
    first = text.split(None, 1)[0].rsplit("/", 1)[-1]
    # The name first: to look for the shape in a text of megabytes takes much longer.
    if traits.runs and find_record(first) is not None and _COMMAND_SHAPE.search(text):
        return ArgumentKind.SHELL
    return None
