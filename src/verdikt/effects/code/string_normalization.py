"""Rewrite scripts into a common form before their constants are folded.

Strings get ordinary quotes, character codes become text, Lisp is put into infix form, and values that a table holds or
a function is called with are put where they are used.
"""

import re

from verdikt.model.lazy_regex import compile_lazily

_SPECIAL_QUOTES = {
    "perl": compile_lazily(
        r"\bqq?\s*(?:\{([^{}]*)\}|\(([^()]*)\)|\[([^\[\]]*)\]|/([^/\n]*)/|\|([^|\n]*)\||!([^!\n]*)!)"
    ),
    "ruby": compile_lazily(r"%[qQ]?(?:\{([^{}]*)\}|\(([^()]*)\)|\[([^\[\]]*)\]|\|([^|\n]*)\||!([^!\n]*)!)"),
    "lua": compile_lazily(r"\[\[([^\[\]]*)\]\]"),
}
# `[114, 109].pack("c*")`, `String.fromCharCode(...[114, 109])`: text written as numbers to be overlooked.
_CHARACTER_CODES = compile_lazily(
    r"""(?:\bjoin\s*\(?\s*(?:''|"")\s*,\s*map\s*(?:\{\s*chr[^{}]*\}|chr\s*,)\s*\(?"""
    r"""|\bString\.fromCharCode\(\s*\.\.\.\s*\[|\bBuffer\.from\(\s*\["""
    r"""|\[)(\s*\d{1,3}(?:\s*,\s*\d{1,3}){2,})\s*,?\s*"""
    r"""(?:\)\s*\)|\]\s*\)(?:\.toString\([^()]*\))?|\]\s*\.pack\(\s*["'][CcU]\*["']\s*\)"""
    r"""|\]\s*\.map\([^()]*(?:fromCharCode|chr)(?:\([^()]*\))?\)\s*\.join(?:\(\s*(?:''|"")\s*\))?)"""
)
# Perl: `unlink` without an argument deletes `$_`.
_IMPLICIT_TOPIC = compile_lazily(r"\b(unlink|rmdir|rmtree)\b(?=\s*(?:for\b|foreach\b|;|\}|$))")
_LISP_HOME = compile_lazily(
    r'\((?:getenv|uiop:getenv|System/getenv|sys:getenv|os/getenv)\s+"HOME"\)|\(user-homedir-pathname\)'
    r"|\(find-system-path\s+\'home-dir\)"
)
_LISP_PATH = compile_lazily(
    r'\((?:expand-file-name|string-to-path|string->path|file-truename|pathname|namestring)\s+("[^"]*")\)'
)
_LISP_JOIN = compile_lazily(r'\((?:concat|string-append|str|concatenate\s+\'string|build-path)((?:\s+"[^"]*")+)\s*\)')
_BARE_QUOTE = compile_lazily(r'(?<!\\)"')
# Bounds the work on scripts that define thousands of functions or keys.
_MAX_MATCHES = 60
_STRING = r"""(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')"""
_FUNCTION_DEFINITION = compile_lazily(
    r"\b(?:function|def|fn|func|fun|local\s+function"
    r"|sub)\s+(?P<name>[A-Za-z_]\w*)\s*(?:\(\s*(?P<first>\$?[A-Za-z_]\w*)?|\{)"
    r"|\b(?:const|let|var)\s+(?P<arrow>[A-Za-z_]\w*)\s*=\s*(?:async\s+)?(?:function\s*)?"
    r"\(?\s*(?P<given>[A-Za-z_]\w*)\s*[,):=]"
)
_KEY_VALUE = compile_lazily(rf"""(?:["']|:)?\b([A-Za-z_]\w*)["']?\s*(?:=>|:)\s*{_STRING}""")


def normalize_strings(language: str, text: str) -> str:
    """Return the same script with its strings between ordinary quotes."""
    if (special_quotes := _SPECIAL_QUOTES.get(language)) is not None:
        text = special_quotes.sub(lambda m: quote_string(next((g for g in m.groups() if g is not None), "")), text)
    text = _CHARACTER_CODES.sub(lambda m: quote_string("".join(map(chr, map(int, m[1].split(","))))), text)
    if language in ("lisp", "scheme", "elisp"):
        return _normalize_lisp(text)
    return _IMPLICIT_TOPIC.sub(r"\1 $_ ", text).replace("$_[0]", "$_0") if language == "perl" else text


def _normalize_lisp(text: str) -> str:
    """Return Lisp with constant paths and concatenations replaced by their result."""
    text = _LISP_HOME.sub('"~"', text)
    # Each round resolves one level of nesting.
    for _ in range(4):
        text = _LISP_PATH.sub(r"\1", text)
        text = _LISP_JOIN.sub(lambda m: quote_string("".join(re.findall(r'"([^"]*)"', m[1]))), text)
    return text


def quote_string(value: str) -> str:
    """Return a value as a string literal of any language; escapes in it are left as they are."""
    return '"' + _BARE_QUOTE.sub(r'\\"', value) + '"'


def find_constant_arguments(language: str, text: str) -> dict[str, str]:
    """Return the first parameter of each function that is called with a constant → that constant."""
    arguments: dict[str, str] = {}
    for definition in list(_FUNCTION_DEFINITION.finditer(text))[:_MAX_MATCHES]:
        name = definition["name"] or definition["arrow"]
        parameter = definition["first"] or definition["given"] or ("$_0" if language == "perl" else "")
        call = re.search(rf"(?<![\w.]){name}\s*\(\s*{_STRING}", text[definition.end() :]) if parameter else None
        if call is not None:
            arguments[parameter] = next(g for g in call.groups() if g is not None)
    return arguments


def inline_table_values(text: str) -> str:
    """Return the same script with `table[key]` replaced by the constant that the table holds under the key."""
    pairs = {
        match[1]: match[2] if match[2] is not None else match[3]
        for match in list(_KEY_VALUE.finditer(text))[:_MAX_MATCHES]
    }
    for key, value in pairs.items():
        if key in text.replace(value, "", 1):
            pattern = (
                rf"""[$%@]?\b[A-Za-z_]\w*(?:\[\s*(?::{key}|["']{key}["'])\s*\]"""
                rf"""|\{{\s*["']?{key}["']?\s*\}})(?!\s*=[^=])"""
            )
            text = re.sub(pattern, quote_string(value).replace("\\", "\\\\"), text)
    return text
