"""What functions of a script are handed when it calls them, and what its tables hold under a key."""

import re

from verdikt.effects.code.string_normalization import quote_string
from verdikt.model.lazy_regex import compile_lazily

_MAX_MATCHES = 60
_STRING = r"""(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')"""
_FUNCTION_DEFINITION = compile_lazily(
    r"\b(?:function|def|fn|func|fun|local\s+function|sub)\s+(?P<name>[A-Za-z_]\w*)\s*(?:\(\s*(?P<first>\$?[A-Za-z_]\w*)?|\{)"
    r"|\b(?:const|let|var)\s+(?P<arrow>[A-Za-z_]\w*)\s*=\s*(?:async\s+)?(?:function\s*)?\(?\s*(?P<given>[A-Za-z_]\w*)\s*[,):=]"
)
_KEY_VALUE = compile_lazily(rf"""(?:["']|:)?\b([A-Za-z_]\w*)["']?\s*(?:=>|:)\s*{_STRING}""")


def find_constant_arguments(language: str, text: str) -> dict[str, str]:
    """The first parameter of each function that is called with a constant, and the constant."""
    found: dict[str, str] = {}
    for defined in list(_FUNCTION_DEFINITION.finditer(text))[:_MAX_MATCHES]:
        name = defined["name"] or defined["arrow"]
        parameter = defined["first"] or defined["given"] or ("$_0" if language == "perl" else "")
        called = re.search(rf"(?<![\w.]){name}\s*\(\s*{_STRING}", text[defined.end() :]) if parameter else None
        if called is not None:
            found[parameter] = next(g for g in called.groups() if g is not None)
    return found


def inline_table_values(text: str) -> str:
    """The same script, with what a table holds under a constant key in the place of `table[key]`."""
    pairs = {
        found[1]: found[2] if found[2] is not None else found[3]
        for found in list(_KEY_VALUE.finditer(text))[:_MAX_MATCHES]
    }
    for key, value in pairs.items():
        if key in text.replace(value, "", 1):
            pattern = rf"""[$%@]?\b[A-Za-z_]\w*(?:\[\s*(?::{key}|["']{key}["'])\s*\]|\{{\s*["']?{key}["']?\s*\}})(?!\s*=[^=])"""
            text = re.sub(pattern, quote_string(value).replace("\\", "\\\\"), text)
    return text
