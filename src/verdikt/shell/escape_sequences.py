"""Backslash escapes of `$'…'`, `echo -e` and `printf`."""

import re

from verdikt.model.lazy_regex import compile_lazily

_SINGLE_LETTER_ESCAPES = {
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
_ESCAPE = compile_lazily(
    r"\\(?:x\{?([0-9a-fA-F]{1,2})\}?|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|c(.)|(0?[0-7]{1,3})|(.))", re.DOTALL
)


def decode_escapes(text: str, *, is_ansi_c: bool = False) -> str:
    """Return the text with its escapes resolved; bytes that are not UTF-8 become surrogates, as in file names."""
    if "\\" not in text:
        return text
    raw = False

    def decode_match(found: re.Match[str]) -> str:
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
            return chr(ord(found[4]) & 0x1F) if is_ansi_c else "\\c" + found[4]
        return _SINGLE_LETTER_ESCAPES.get(found[6], found[0])

    done = _ESCAPE.sub(decode_match, text)
    return done.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape") if raw else done
