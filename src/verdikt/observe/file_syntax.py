"""Parse files whose format has a syntax of its own. Bounded; never raises."""

import configparser
import json
import os
import re
import stat
import tomllib
from collections.abc import Callable
from xml.parsers import expat

import yaml

MAX_BYTES = 2_000_000
"""Size up to which a file is parsed."""

_JSON_WITH_COMMENTS = re.compile(r"(?:^|/)(?:[tj]sconfig[^/]*\.json|\.vscode/|\.devcontainer/|[^/]*\.code-workspace$)")
"""Files that are called JSON and whose programs accept comments in them."""


def find_syntax_error(path: str) -> str:
    """Return why a file does not parse, in one line; empty when it does or its format is not known."""
    parse = _PARSERS.get(os.path.splitext(path)[1].lower())
    if parse is None or _JSON_WITH_COMMENTS.search(path):
        return ""
    text = read_small_text(path)
    # A template is not yet in the format that its name says.
    if text is None or "{{" in text or "{%" in text:
        return ""
    try:
        parse(text)
    except (ValueError, RecursionError, yaml.YAMLError, configparser.Error, expat.ExpatError) as error:
        return " ".join(str(error).split())[:200] or type(error).__name__
    return ""


def read_small_text(path: str) -> str | None:
    """Return the text of a regular file; None when it is too large, not text or not readable."""
    try:
        # O_NONBLOCK: a pipe of that name must not block the hook.
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
            return None
        with open(fd, "rb", closefd=False) as file:
            return file.read(MAX_BYTES).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return None
    finally:
        os.close(fd)


def _parse_yaml(text: str) -> None:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    # Events only: tags of other programs (`!Ref`) have no meaning here, and aliases are not expanded.
    for _ in yaml.parse(text, Loader=loader):
        pass


def _parse_ini(text: str) -> None:
    # Many programs accept values before the first section.
    for line in text.splitlines():
        if line.startswith("[") and "]" not in line:
            raise ValueError(f"the section `{line[:80]}` is not closed")
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    parser.read_string("[verdikt-top]\n" + text)


def _parse_xml(text: str) -> None:
    expat.ParserCreate().Parse(text, True)


_PARSERS: dict[str, Callable[[str], object]] = {
    ".json": json.loads,
    ".yaml": _parse_yaml,
    ".yml": _parse_yaml,
    ".toml": tomllib.loads,
    ".xml": _parse_xml,
    ".svg": _parse_xml,
    ".ini": _parse_ini,
    ".cfg": _parse_ini,
}
