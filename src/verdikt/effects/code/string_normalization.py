"""Scripts written so that one reader understands them all: quotes of their own, letters by their numbers, lists in prefix notation."""

import re

from verdikt.model.lazy_regex import compile_lazily

_SPECIAL_QUOTES = {
    "perl": compile_lazily(
        r"\bqq?\s*(?:\{([^{}]*)\}|\(([^()]*)\)|\[([^\[\]]*)\]|/([^/\n]*)/|\|([^|\n]*)\||!([^!\n]*)!)"
    ),
    "ruby": compile_lazily(r"%[qQ]?(?:\{([^{}]*)\}|\(([^()]*)\)|\[([^\[\]]*)\]|\|([^|\n]*)\||!([^!\n]*)!)"),
    "lua": compile_lazily(r"\[\[([^\[\]]*)\]\]"),
}
_CHARACTER_CODES = compile_lazily(
    r"""(?:\bjoin\s*\(?\s*(?:''|"")\s*,\s*map\s*(?:\{\s*chr[^{}]*\}|chr\s*,)\s*\(?|\bString\.fromCharCode\(\s*\.\.\.\s*\[|\bBuffer\.from\(\s*\[|\[)(\s*\d{1,3}(?:\s*,\s*\d{1,3}){2,})\s*,?\s*"""
    r"""(?:\)\s*\)|\]\s*\)(?:\.toString\([^()]*\))?|\]\s*\.pack\(\s*["'][CcU]\*["']\s*\)|\]\s*\.map\([^()]*(?:fromCharCode|chr)(?:\([^()]*\))?\)\s*\.join(?:\(\s*(?:''|"")\s*\))?)"""
)
_IMPLICIT_TOPIC = compile_lazily(r"\b(unlink|rmdir|rmtree)\b(?=\s*(?:for\b|foreach\b|;|\}|$))")
_LISP_HOME = compile_lazily(
    r'\((?:getenv|uiop:getenv|System/getenv|sys:getenv|os/getenv)\s+"HOME"\)|\(user-homedir-pathname\)|\(find-system-path\s+\'home-dir\)'
)
_LISP_PATH = compile_lazily(
    r'\((?:expand-file-name|string-to-path|string->path|file-truename|pathname|namestring)\s+("[^"]*")\)'
)
_LISP_JOIN = compile_lazily(r'\((?:concat|string-append|str|concatenate\s+\'string|build-path)((?:\s+"[^"]*")+)\s*\)')
_BARE_QUOTE = compile_lazily(r'(?<!\\)"')


def normalize_strings(language: str, text: str) -> str:
    """The same script, with its strings between ordinary quotes."""
    if (otherwise := _SPECIAL_QUOTES.get(language)) is not None:
        text = otherwise.sub(lambda found: quote_string(next((g for g in found.groups() if g is not None), "")), text)
    text = _CHARACTER_CODES.sub(lambda found: quote_string("".join(map(chr, map(int, found[1].split(","))))), text)
    if language in ("lisp", "scheme", "elisp"):
        return _normalize_lisp(text)
    return _IMPLICIT_TOPIC.sub(r"\1 $_ ", text).replace("$_[0]", "$_0") if language == "perl" else text


def _normalize_lisp(text: str) -> str:
    """Lisp with its strings put together."""
    text = _LISP_HOME.sub('"~"', text)
    for _ in range(4):
        text = _LISP_PATH.sub(r"\1", text)
        text = _LISP_JOIN.sub(lambda found: quote_string("".join(re.findall(r'"([^"]*)"', found[1]))), text)
    return text


def quote_string(value: str) -> str:
    """A value as a string of any language; escapes in it stay what they are."""
    return '"' + _BARE_QUOTE.sub(r'\\"', value) + '"'
