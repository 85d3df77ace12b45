"""What functions of a script are handed when it calls them, and what its tables hold under a key."""

import re

from verdikt.effects.code.dialect import quoted
from verdikt.model.regex import regex

_MOST = 60
_STRING = r"""(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')"""
_DEFINED = regex(
    r"\b(?:function|def|fn|func|fun|local\s+function|sub)\s+(?P<name>[A-Za-z_]\w*)\s*(?:\(\s*(?P<first>\$?[A-Za-z_]\w*)?|\{)"
    r"|\b(?:const|let|var)\s+(?P<arrow>[A-Za-z_]\w*)\s*=\s*(?:async\s+)?(?:function\s*)?\(?\s*(?P<given>[A-Za-z_]\w*)\s*[,):=]"
)
_PAIR = regex(rf"""(?:["']|:)?\b([A-Za-z_]\w*)["']?\s*(?:=>|:)\s*{_STRING}""")


def handed(language: str, text: str) -> dict[str, str]:
    """The first parameter of each function that is called with a constant, and the constant."""
    found: dict[str, str] = {}
    for defined in list(_DEFINED.finditer(text))[:_MOST]:
        name = defined["name"] or defined["arrow"]
        parameter = defined["first"] or defined["given"] or ("$_0" if language == "perl" else "")
        called = re.search(rf"(?<![\w.]){name}\s*\(\s*{_STRING}", text[defined.end() :]) if parameter else None
        if called is not None:
            found[parameter] = next(g for g in called.groups() if g is not None)
    return found


def keyed(text: str) -> str:
    """The same script, with what a table holds under a constant key in the place of `table[key]`."""
    pairs = {found[1]: found[2] if found[2] is not None else found[3] for found in list(_PAIR.finditer(text))[:_MOST]}
    for key, value in pairs.items():
        if key in text.replace(value, "", 1):
            pattern = rf"""[$%@]?\b[A-Za-z_]\w*(?:\[\s*(?::{key}|["']{key}["'])\s*\]|\{{\s*["']?{key}["']?\s*\}})(?!\s*=[^=])"""
            text = re.sub(pattern, quoted(value).replace("\\", "\\\\"), text)
    return text
