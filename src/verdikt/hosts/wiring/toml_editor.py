"""Single keys in Codex's TOML files, with everything else left as it stands."""

import codecs
import json
import re
import tomllib
from typing import Any

from verdikt.errors import WiringError


def parse(data: bytes | None, where: str) -> dict[str, Any]:
    """The tables in a file; no file is no tables."""
    try:
        return tomllib.loads((data or b"").decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise WiringError(
            f"{where}: expected TOML, found something else ({error}); mend the file and run this again"
        ) from error


def find_value(tables: object, *path: str) -> object:
    """What stands at a place in these tables; None where there is nothing, whatever stands above it."""
    for key in path:
        tables = tables.get(key) if isinstance(tables, dict) else None
    return tables


def set_key(data: bytes | None, table: tuple[str, ...], key: str, value: str | bool, where: str) -> bytes:
    """The file with the key set in that table, which is added at the end where there is none."""
    before = parse(data, where)
    wanted = _set_in_tables(before, (*table, key), value)
    if wanted == before:
        return data or b""
    line = f"{key} = {json.dumps(value)}"
    text = (data or b"").decode("utf-8-sig")
    mark = codecs.BOM_UTF8 if (data or b"").startswith(codecs.BOM_UTF8) else b""
    for way in (_replace_line, _insert_line, _append_table, _prepend_dotted_key):
        # What the edit means is checked by reading it back, so that it does not matter how people write their files.
        result = way(text, table, key, line)
        if result is not None and _parses_to(result, wanted):
            return mark + result.encode()
    name = ".".join(table)
    raise WiringError(f"{where}: could not set `{key}` in `[{name}]`; put `{line}` there yourself and run this again")


def _set_in_tables(tables: dict[str, Any], path: tuple[str, ...], value: str | bool) -> dict[str, Any]:
    copy = dict(tables)
    head, *rest = path
    if rest:
        inner = copy.get(head, {})
        copy[head] = _set_in_tables(inner if isinstance(inner, dict) else {}, tuple(rest), value)
    else:
        copy[head] = value
    return copy


def _parses_to(text: str, wanted: dict[str, Any]) -> bool:
    try:
        return tomllib.loads(text) == wanted
    except ValueError:
        return False


def _quote_key(part: str) -> str:
    return part if re.fullmatch(r"[A-Za-z0-9_-]+", part) else json.dumps(part, ensure_ascii=False)


def _format_header(table: tuple[str, ...]) -> str:
    return "[" + ".".join(map(_quote_key, table)) + "]"


def _find_section(text: str, table: tuple[str, ...]) -> tuple[int, int] | None:
    """Where the table's lines begin and end."""
    found = re.search(rf"^[ \t]*{re.escape(_format_header(table))}[ \t]*(#[^\r\n]*)?(\r?\n|\Z)", text, re.MULTILINE)
    if not found:
        return None
    following = re.compile(r"^[ \t]*\[", re.MULTILINE).search(text, found.end())
    return found.end(), following.start() if following else len(text)


def _replace_line(text: str, table: tuple[str, ...], key: str, line: str) -> str | None:
    section = _find_section(text, table)
    if section is None:
        return None
    start, end = section
    body, count = re.subn(
        rf"^[ \t]*{re.escape(key)}[ \t]*=[^\r\n]*", lambda _: line, text[start:end], count=1, flags=re.MULTILINE
    )
    return text[:start] + body + text[end:] if count else None


def _insert_line(text: str, table: tuple[str, ...], key: str, line: str) -> str | None:
    section = _find_section(text, table)
    if section is None:
        return None
    start = section[0]
    end = _detect_newline(text)
    gap = "" if text[:start].endswith("\n") else end
    return f"{text[:start]}{gap}{line}{end}{text[start:]}"


def _prepend_dotted_key(text: str, table: tuple[str, ...], key: str, line: str) -> str:
    """Above everything else, for those who write `features.foo = true` there."""
    return f"{'.'.join(map(_quote_key, table))}.{line}{_detect_newline(text)}{text}"


def _append_table(text: str, table: tuple[str, ...], key: str, line: str) -> str:
    end = _detect_newline(text)
    gap = "" if not text else end if text.endswith("\n") else end * 2
    return f"{text}{gap}{_format_header(table)}{end}{line}{end}"


def _detect_newline(text: str) -> str:
    """How lines end there."""
    return "\r\n" if "\r\n" in text else "\n"
