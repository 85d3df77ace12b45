"""The backslash escapes of `$'…'`, `echo -e` and `printf`."""

import re

from verdikt.model.regex import regex

_SIMPLE = {
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "E": "\x1b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "?": "?",
}
_ESCAPE = regex(
    r"\\(?:x\{?([0-9a-fA-F]{1,2})\}?|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|c(.)|(0?[0-7]{1,3})|(.))", re.DOTALL
)


def unescape(text: str, *, ansi: bool = False) -> str:
    """The text with its escapes resolved; bytes that are not UTF-8 come out as surrogates, as in file names."""
    if "\\" not in text:
        return text
    raw = False

    def one(found: re.Match[str]) -> str:
        nonlocal raw
        if found[1] or found[5]:
            code = int(found[1], 16) if found[1] else int(found[5], 8) & 0xFF
            raw = raw or code > 127
            return chr(code) if code < 128 else chr(0xDC00 + code)
        if found[2] or found[3]:
            code = int(found[2] or found[3], 16)
            return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"
        if found[4]:
            # In `$'…'`, `\cx` is a control character; for `echo -e` and `printf`, `\c` ends the output.
            return chr(ord(found[4]) & 0x1F) if ansi else "\\c" + found[4]
        return _SIMPLE.get(found[6], found[0])

    done = _ESCAPE.sub(one, text)
    return done.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape") if raw else done
