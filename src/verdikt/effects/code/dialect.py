"""Scripts written so that one reader understands them all: quotes of their own, letters by their numbers, lists in prefix notation."""

import re

from verdikt.model.regex import regex

_QUOTED_OTHERWISE = {
    "perl": regex(r"\bqq?\s*(?:\{([^{}]*)\}|\(([^()]*)\)|\[([^\[\]]*)\]|/([^/\n]*)/|\|([^|\n]*)\||!([^!\n]*)!)"),
    "ruby": regex(r"%[qQ]?(?:\{([^{}]*)\}|\(([^()]*)\)|\[([^\[\]]*)\]|\|([^|\n]*)\||!([^!\n]*)!)"),
    "lua": regex(r"\[\[([^\[\]]*)\]\]"),
}
_CHARACTERS = regex(
    r"""(?:\bjoin\s*\(?\s*(?:''|"")\s*,\s*map\s*(?:\{\s*chr[^{}]*\}|chr\s*,)\s*\(?|\bString\.fromCharCode\(\s*\.\.\.\s*\[|\bBuffer\.from\(\s*\[|\[)(\s*\d{1,3}(?:\s*,\s*\d{1,3}){2,})\s*,?\s*"""
    r"""(?:\)\s*\)|\]\s*\)(?:\.toString\([^()]*\))?|\]\s*\.pack\(\s*["'][CcU]\*["']\s*\)|\]\s*\.map\([^()]*(?:fromCharCode|chr)(?:\([^()]*\))?\)\s*\.join(?:\(\s*(?:''|"")\s*\))?)"""
)
_TOPIC = regex(r"\b(unlink|rmdir|rmtree)\b(?=\s*(?:for\b|foreach\b|;|\}|$))")
_LISP_HOME = regex(
    r'\((?:getenv|uiop:getenv|System/getenv|sys:getenv|os/getenv)\s+"HOME"\)|\(user-homedir-pathname\)|\(find-system-path\s+\'home-dir\)'
)
_LISP_SAME = regex(
    r'\((?:expand-file-name|string-to-path|string->path|file-truename|pathname|namestring)\s+("[^"]*")\)'
)
_LISP_JOIN = regex(r'\((?:concat|string-append|str|concatenate\s+\'string|build-path)((?:\s+"[^"]*")+)\s*\)')
_BARE_QUOTE = regex(r'(?<!\\)"')


def plain(language: str, text: str) -> str:
    """The same script, with its strings between ordinary quotes."""
    if (otherwise := _QUOTED_OTHERWISE.get(language)) is not None:
        text = otherwise.sub(lambda found: quoted(next((g for g in found.groups() if g is not None), "")), text)
    text = _CHARACTERS.sub(lambda found: quoted("".join(map(chr, map(int, found[1].split(","))))), text)
    if language in ("lisp", "scheme", "elisp"):
        return _lisp(text)
    return _TOPIC.sub(r"\1 $_ ", text).replace("$_[0]", "$_0") if language == "perl" else text


def _lisp(text: str) -> str:
    """Lisp with its strings put together."""
    text = _LISP_HOME.sub('"~"', text)
    for _ in range(4):
        text = _LISP_SAME.sub(r"\1", text)
        text = _LISP_JOIN.sub(lambda found: quoted("".join(re.findall(r'"([^"]*)"', found[1]))), text)
    return text


def quoted(value: str) -> str:
    """A value as a string of any language; escapes in it stay what they are."""
    return '"' + _BARE_QUOTE.sub(r'\\"', value) + '"'
