"""Changes of single keys in TOML files; everything else stays as it is, comments included."""

import codecs
import json
import re
import tomllib
from typing import Any

from verdikt.errors import WiringError


def parse(data: bytes | None, where: str) -> dict[str, Any]:
    """Return the tables of a file; none if there is no file."""
    try:
        return tomllib.loads((data or b"").decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise WiringError(
            f"{where}: expected TOML, found something else ({error}); fix the file and run this again"
        ) from error


def find_value(tables: object, *path: str) -> object:
    """Return the value at a path in these tables; None if any part of the path is missing or not a table."""
    for key in path:
        tables = tables.get(key) if isinstance(tables, dict) else None
    return tables


TomlValue = str | bool | list[str] | dict[str, str]


def set_key(data: bytes | None, table: tuple[str, ...], key: str, value: TomlValue, where: str) -> bytes:
    """Return the file with the key set in that table, which is added at the end if it is missing."""
    before = parse(data, where)
    expected = _set_in_tables(before, (*table, key), value)
    if expected == before:
        return data or b""
    line = f"{key} = {_format_value(value)}"
    text = (data or b"").decode("utf-8-sig")
    byte_order_mark = codecs.BOM_UTF8 if (data or b"").startswith(codecs.BOM_UTF8) else b""
    for edit in (_replace_line, _replace_array, _insert_line, _append_table, _prepend_dotted_key):
        # Each edit is checked by parsing the result, so the edits need not know every way to write TOML.
        result = edit(text, table, key, line)
        if result is not None and _parses_to(result, expected):
            return byte_order_mark + result.encode()
    name = ".".join(table)
    raise WiringError(f"{where}: could not set `{key}` in `[{name}]`; put `{line}` there yourself and run this again")


def remove_key(data: bytes, table: tuple[str, ...], key: str, where: str) -> bytes:
    """Return the file without the key in that table; raise `WiringError` where that would take more than its lines."""
    before = parse(data, where)
    expected = _drop_empty_tables(_drop_from_tables(before, (*table, key)))
    text = data.decode("utf-8-sig")
    byte_order_mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    for edit in (_remove_line, _remove_table):
        result = edit(text, table, key)
        # The header of a table may go with its last key, or stay without one.
        if result is not None and _drop_empty_tables(_parse_text(result)) == expected:
            return byte_order_mark + result.encode()
    raise WiringError(
        f"{where}: could not take `{key}` out of `[{'.'.join(table)}]`; write it on one line and run this again"
    )


def _remove_line(text: str, table: tuple[str, ...], key: str) -> str | None:
    section = _find_section(text, table)
    if section is None:
        return None
    start, end = section
    line = re.compile(rf"^[ \t]*{re.escape(key)}[ \t]*=[^\r\n]*(\r?\n|\Z)", re.MULTILINE)
    return text[:start] + line.sub("", text[start:end], count=1) + text[end:]


def _remove_table(text: str, table: tuple[str, ...], key: str) -> str | None:
    """Remove a key that is a table with a header of its own."""
    section = _find_section(text, (*table, key))
    return None if section is None else text[: text.rindex("[", 0, section[0])] + text[section[1] :]


def _drop_from_tables(tables: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    key, *remaining_keys = path
    if remaining_keys:
        return tables | {key: _drop_from_tables(tables.get(key, {}), tuple(remaining_keys))}
    return {name: value for name, value in tables.items() if name != key}


def _format_value(value: TomlValue) -> str:
    if not isinstance(value, dict):
        return json.dumps(value)
    return "{ " + ", ".join(f"{_quote_key(key)} = {json.dumps(inner)}" for key, inner in value.items()) + " }"


def _set_in_tables(tables: dict[str, Any], path: tuple[str, ...], value: TomlValue) -> dict[str, Any]:
    copy = dict(tables)
    key, *remaining_keys = path
    if remaining_keys:
        inner = copy.get(key, {})
        copy[key] = _set_in_tables(inner if isinstance(inner, dict) else {}, tuple(remaining_keys), value)
    else:
        copy[key] = value
    return copy


def _parses_to(text: str, expected: dict[str, Any]) -> bool:
    return _parse_text(text) == expected


def _parse_text(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except ValueError:
        return None


def _drop_empty_tables(value: Any) -> Any:
    """Return tables without those that hold nothing."""
    if not isinstance(value, dict):
        return value
    tables = {key: _drop_empty_tables(inner) for key, inner in value.items()}
    return {key: inner for key, inner in tables.items() if inner != {}}


def _quote_key(part: str) -> str:
    return part if re.fullmatch(r"[A-Za-z0-9_-]+", part) else json.dumps(part, ensure_ascii=False)


def _format_header(table: tuple[str, ...]) -> str:
    return "[" + ".".join(map(_quote_key, table)) + "]"


def _find_section(text: str, table: tuple[str, ...]) -> tuple[int, int] | None:
    """Return where the lines of the table begin and end."""
    header = re.search(rf"^[ \t]*{re.escape(_format_header(table))}[ \t]*(#[^\r\n]*)?(\r?\n|\Z)", text, re.MULTILINE)
    if not header:
        return None
    next_header = re.compile(r"^[ \t]*\[", re.MULTILINE).search(text, header.end())
    return header.end(), next_header.start() if next_header else len(text)


def _replace_line(text: str, table: tuple[str, ...], key: str, line: str) -> str | None:
    section = _find_section(text, table)
    if section is None:
        return None
    start, end = section
    body, count = re.subn(
        rf"^[ \t]*{re.escape(key)}[ \t]*=[^\r\n]*", lambda _: line, text[start:end], count=1, flags=re.MULTILINE
    )
    return text[:start] + body + text[end:] if count else None


def _replace_array(text: str, table: tuple[str, ...], key: str, line: str) -> str | None:
    """Replace a list that is written over several lines."""
    section = _find_section(text, table)
    if section is None:
        return None
    start, end = section
    # The end of the section may lie inside the list, whose lines can begin with a bracket; the result is parsed anyway.
    pattern = re.compile(rf"^[ \t]*{re.escape(key)}[ \t]*=[ \t]*\[[^\]]*\]", re.MULTILINE)
    match = pattern.search(text, start)
    return text[: match.start()] + line + text[match.end() :] if match and match.start() < end else None


def _insert_line(text: str, table: tuple[str, ...], key: str, line: str) -> str | None:
    section = _find_section(text, table)
    if section is None:
        return None
    start = section[0]
    end = _detect_newline(text)
    gap = "" if text[:start].endswith("\n") else end
    return f"{text[:start]}{gap}{line}{end}{text[start:]}"


def _prepend_dotted_key(text: str, table: tuple[str, ...], key: str, line: str) -> str:
    """Insert a dotted key at the top, for files that write `features.foo = true` there."""
    return f"{'.'.join(map(_quote_key, table))}.{line}{_detect_newline(text)}{text}"


def _append_table(text: str, table: tuple[str, ...], key: str, line: str) -> str:
    end = _detect_newline(text)
    gap = "" if not text else end if text.endswith("\n") else end * 2
    return f"{text}{gap}{_format_header(table)}{end}{line}{end}"


def _detect_newline(text: str) -> str:
    """Return how lines end in this text."""
    return "\r\n" if "\r\n" in text else "\n"
