"""Parse files whose format has a syntax of its own. Bounded; never raises."""

import configparser
import json
import os
import re
import tomllib
from collections.abc import Callable
from xml.parsers import expat

import yaml

from verdikt.observe.small_file import read_small_text

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
        # The parser of YAML does not know the file's name.
        reason = str(error).replace('in "<unicode string>", ', "at ")
        return " ".join(reason.split())[:200] or type(error).__name__
    return ""


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
        # The parser would take it for a key without a value.
        if line.rstrip().endswith("]") and not re.search(r"[\[=:#;]", line):
            raise ValueError(f"the section `{line[:80]}` is not opened")
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
