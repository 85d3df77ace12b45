"""Rewrite scripts into a common form before their constants are folded.

Strings get ordinary quotes, character codes become text, Lisp is put into infix form, and values that a table holds or
a function is called with are put where they are used.
"""

import re

from verdikt.model.lazy_regex import compile_lazily

# Brackets may stand in a string between the same brackets, if each is closed.
_BRACKETED = (
    r"\{((?:[^{}]|\{[^{}]*\})*)\}|\(((?:[^()]|\([^()]*\))*)\)|\[((?:[^\[\]]|\[[^\[\]]*\])*)\]"
    r"|\|([^|\n]*)\||!([^!\n]*)!"
)
_SPECIAL_QUOTES = {
    "perl": compile_lazily(rf"\bqq?\s*(?:{_BRACKETED}|/([^/\n]*)/)"),
    "ruby": compile_lazily(rf"%[qQ]?(?:{_BRACKETED})"),
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
_PHP_DEFINE = compile_lazily(r"""\bdefine\(\s*["'](\w+)["']\s*,\s*""")
# Perl: `unlink` without an argument deletes `$_`.
_IMPLICIT_TOPIC = compile_lazily(r"\b(unlink|rmdir|rmtree)\b(?=\s*(?:for\b|foreach\b|;|\}|$))")
_LISP_HOME = compile_lazily(
    r'\((?:getenv|uiop:getenv|System/getenv|sys:getenv|os/getenv)\s+"HOME"\)|\(user-homedir-pathname\)'
    r"|\(find-system-path\s+\'home-dir\)"
)
_LISP_PATH = compile_lazily(
    r'\((?:expand-file-name|string-to-path|string->path|file-truename|pathname|namestring)\s+("[^"]*")\)'
)
_LISP_EXPAND = compile_lazily(r'\(expand-file-name\s+"([^"]*)"\s+"([^"]*?)/?"\)')
_LISP_JOIN = compile_lazily(r'\((?:concat|string-append|str|concatenate\s+\'string|build-path)((?:\s+"[^"]*")+)\s*\)')
_LISP_BINDING = compile_lazily(r'(?:\(\(|\(setq\s+|\(defvar\s+|\(defconst\s+)([a-z][\w-]*)\s+("[^"]*")\s*\)')
_BARE_QUOTE = compile_lazily(r'(?<!\\)"')
# Bounds the work on scripts that define thousands of functions or keys.
_MAX_MATCHES = 60
_STRING = r"""(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')"""
_FUNCTION_DEFINITION = compile_lazily(
    r"\b(?:function|def|fn|func|fun|local\s+function"
    r"|sub)\s+(?P<name>[A-Za-z_]\w*)\s*(?:\(\s*(?P<all>[^()]*)|\{)"
    r"|\b(?:const|let|var)\s+(?P<arrow>[A-Za-z_]\w*)\s*=\s*(?:async\s+)?(?:function\s*)?"
    r"\(?\s*(?P<given>[A-Za-z_][\w, ]*)\s*[):=]"
)
_PARAMETER = compile_lazily(r"\$?\w+|\W+$")
_NAME_PLACE = {"java": -1, "c": -1, "csharp": -1, "groovy": -1, "php": -1, "dart": -1}
"""Where the name of a parameter stands among its words; the type of others follows it."""
# `format!("{home}/x")` of Rust and `$"{home}/x"` of C#.
_FORMATTED = {
    "rust": compile_lazily(r"&?\bformat!\(\s*\"([^\"\\]*)\"\s*(?:,\s*([^()]*))?\)"),
    "csharp": compile_lazily(r"[$@]{1,2}\"([^\"\\]*)\"()"),
}
_FORMAT_FIELD = compile_lazily(r"\{([^{}]*)\}")
_HOME_IN_STRING = compile_lazily(
    r"""\$\{System\.getenv\(\s*["']HOME["']\s*\)\}|\$\{System\.getProperty\(\s*["']user\.home["']\s*\)\}|\$\(homedir\(\)\)"""
)
# Julia: `foreach(p -> rm(p), list)` is `for p in list rm(p)`, and `rm.(list)` calls it for each item.
_FOREACH_CALL = compile_lazily(r"\bforeach\(\s*(\w+)\s*->\s*(.+?),\s*((?:readdir|walkdir|glob|\[).*)\)", re.DOTALL)
# Go: in `for _, e := range entries`, where `entries` was read from a directory, `e.Name()` is a bare name.
_GO_LISTING = compile_lazily(r"\b(\w+)\s*(?:,\s*\w+)?\s*:?=\s*(?:os|ioutil)\.ReadDir\(")
_GO_RANGE = compile_lazily(r"\bfor\s+\w+\s*,\s*(\w+)\s*:?=\s*range\s+(\w+)\s*\{")
_KEY_VALUE = compile_lazily(rf"""(?:["']|:)?\b([A-Za-z_]\w*)["']?\s*(?:=>|:)\s*{_STRING}""")


def normalize_strings(language: str, text: str) -> str:
    """Return the same script with its strings between ordinary quotes."""
    if (special_quotes := _SPECIAL_QUOTES.get(language)) is not None:
        text = special_quotes.sub(lambda m: quote_string(next((g for g in m.groups() if g is not None), "")), text)
    if language == "php":
        text = _PHP_DEFINE.sub(r"(\1 = ", text)
    elif language == "go" and "ReadDir(" in text:
        text = _name_go_entries(text)
    elif language == "julia":
        text = _FOREACH_CALL.sub(r"for \1 in \3; \2", text).replace("rm.(", "rm(")
    elif (formatted := _FORMATTED.get(language)) is not None:
        text = formatted.sub(_join_format, text)
    if "HOME" in text or "home" in text:
        text = _HOME_IN_STRING.sub("~", text)
    text = _CHARACTER_CODES.sub(lambda m: quote_string("".join(map(chr, map(int, m[1].split(","))))), text)
    if language in ("lisp", "scheme", "elisp"):
        return _normalize_lisp(text)
    return _IMPLICIT_TOPIC.sub(r"\1 $_ ", text).replace("$_[0]", "$_0") if language == "perl" else text


def _name_go_entries(text: str) -> str:
    """Return a program with a wildcard for the name of an entry, which may be any in its directory and none above."""
    listings = set(_GO_LISTING.findall(text))
    loops = [(match[1], match[2] in listings) for match in _GO_RANGE.finditer(text)]
    for entry in {name for name, _ in loops} - {name for name, is_listing in loops if not is_listing}:
        text = text.replace(f" {entry}.Name()", ' "*"').replace(f"({entry}.Name()", '("*"')
    return text


def _join_format(match: "re.Match[str]") -> str:
    """Return a formatted string as a join of its parts, which is folded like any other."""
    given = iter([part.strip() for part in (match[2] or "").split(",")])
    parts = []
    for index, part in enumerate(_FORMAT_FIELD.split(match[1])):
        name = part.partition(":")[0] or next(given, "") if index % 2 else quote_string(part)
        parts.append(name or '""')
    return " + ".join(part for part in parts if part != '""') or '""'


def _normalize_lisp(text: str) -> str:
    """Return Lisp with constant paths and concatenations replaced by their result."""
    text = _LISP_HOME.sub('"~"', text)
    # Each round resolves one level of nesting.
    for _ in range(4):
        text = _LISP_EXPAND.sub(lambda m: quote_string(m[1] if m[1][:1] in ("/", "~") else f"{m[2]}/{m[1]}"), text)
        text = _LISP_PATH.sub(r"\1", text)
        text = _LISP_JOIN.sub(lambda m: quote_string("".join(re.findall(r'"([^"]*)"', m[1]))), text)
    for name, value in _LISP_BINDING.findall(text)[:_MAX_MATCHES]:
        text = re.sub(rf"(?<=[\s]){re.escape(name)}(?=[\s)])", value.replace("\\", r"\\"), text)
    return text


def quote_string(value: str) -> str:
    """Return a value as a string literal of any language; escapes in it are left as they are."""
    return '"' + _BARE_QUOTE.sub(r'\\"', value) + '"'


def find_constant_arguments(language: str, text: str) -> dict[str, list[str]]:
    """Return the parameters of each function that is called with constants → those constants."""
    arguments: dict[str, list[str]] = {}
    for definition in list(_FUNCTION_DEFINITION.finditer(text))[:_MAX_MATCHES]:
        name = definition["name"] or definition["arrow"]
        words = definition["all"] or definition["given"] or ("$_0" if language == "perl" else "")
        parameters = [
            _PARAMETER.findall(word)[_NAME_PLACE.get(language, 0)] for word in words.split(",") if word.strip()
        ]
        pattern = rf"(?<!\w){name}\s*\(\s*({_STRING}(?:\s*,\s*{_STRING})*)"
        for call in list(re.finditer(pattern, text))[:_MAX_MATCHES]:
            strings = [first or second for first, second in re.findall(_STRING, call[1])]
            for parameter, value in zip(parameters, strings, strict=False):
                arguments.setdefault(parameter, []).append(value)
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
