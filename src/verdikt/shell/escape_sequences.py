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
    # Nearly every text ends here.
    if "\\" not in text:
        return text
    has_raw_bytes = False

    def decode_match(escape: re.Match[str]) -> str:
        nonlocal has_raw_bytes
        if escape[1] or escape[5]:
            code = int(escape[1], 16) if escape[1] else int(escape[5], 8) & 0xFF
            has_raw_bytes = has_raw_bytes or code > 127
            return chr(code) if code < 128 else chr(0xDC00 + code)
        if escape[2] or escape[3]:
            code = int(escape[2] or escape[3], 16)
            return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"
        if escape[4]:
            # In `$'…'`, `\cx` is a control character; for `echo -e` and `printf`, `\c` ends the output.
            return chr(ord(escape[4]) & 0x1F) if is_ansi_c else "\\c" + escape[4]
        return _SINGLE_LETTER_ESCAPES.get(escape[6], escape[0])

    decoded = _ESCAPE.sub(decode_match, text)
    return decoded.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape") if has_raw_bytes else decoded
