"""Single keys in Codex's TOML files, with everything else left as it stands."""

import json
import re
import tomllib
from typing import Any

from verdikt.errors import WiringError


def parse(data: bytes | None, where: str) -> dict[str, Any]:
    """The tables in a file; no file is no tables."""
    try:
        return tomllib.loads((data or b"").decode())
    except (ValueError, RecursionError) as error:
        raise WiringError(
            f"{where}: expected TOML, found something else ({error}); mend the file and run this again"
        ) from error


def put(data: bytes | None, table: tuple[str, ...], key: str, value: str | bool, where: str) -> bytes:
    """The file with the key set in that table, which is added at the end where there is none."""
    before = parse(data, where)
    wanted = _with(before, (*table, key), value)
    if wanted == before:
        return data or b""
    line = f"{key} = {json.dumps(value)}"
    text = (data or b"").decode()
    for result in (_replaced(text, table, key, line), _inserted(text, table, line), _appended(text, table, line)):
        # What the edit means is checked by reading it back, so that it does not matter how people write their files.
        if result is not None and _reads_as(result, wanted):
            return result.encode()
    name = ".".join(table)
    raise WiringError(f"{where}: could not set `{key}` in `[{name}]`; put `{line}` there yourself and run this again")


def _with(tables: dict[str, Any], path: tuple[str, ...], value: str | bool) -> dict[str, Any]:
    copy = dict(tables)
    head, *rest = path
    if rest:
        inner = copy.get(head, {})
        copy[head] = _with(inner if isinstance(inner, dict) else {}, tuple(rest), value)
    else:
        copy[head] = value
    return copy


def _reads_as(text: str, wanted: dict[str, Any]) -> bool:
    try:
        return tomllib.loads(text) == wanted
    except ValueError:
        return False


def _name(part: str) -> str:
    return part if re.fullmatch(r"[A-Za-z0-9_-]+", part) else json.dumps(part, ensure_ascii=False)


def _header(table: tuple[str, ...]) -> str:
    return "[" + ".".join(map(_name, table)) + "]"


def _section(text: str, table: tuple[str, ...]) -> tuple[int, int] | None:
    """Where the table's lines begin and end."""
    found = re.search(rf"^[ \t]*{re.escape(_header(table))}[ \t]*(#.*)?$\n?", text, re.MULTILINE)
    if not found:
        return None
    following = re.compile(r"^[ \t]*\[", re.MULTILINE).search(text, found.end())
    return found.end(), following.start() if following else len(text)


def _replaced(text: str, table: tuple[str, ...], key: str, line: str) -> str | None:
    section = _section(text, table)
    if section is None:
        return None
    start, end = section
    body, count = re.subn(
        rf"^[ \t]*{re.escape(key)}[ \t]*=.*$", lambda _: line, text[start:end], count=1, flags=re.MULTILINE
    )
    return text[:start] + body + text[end:] if count else None


def _inserted(text: str, table: tuple[str, ...], line: str) -> str | None:
    section = _section(text, table)
    if section is None:
        return None
    start = section[0]
    gap = "" if text[:start].endswith("\n") else "\n"
    return f"{text[:start]}{gap}{line}\n{text[start:]}"


def _appended(text: str, table: tuple[str, ...], line: str) -> str:
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    return f"{text}{gap}{_header(table)}\n{line}\n"
