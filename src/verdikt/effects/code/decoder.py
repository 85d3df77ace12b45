"""Functions that make a constant of constants: decoders, joiners and what turns text round, in the languages of scripts."""

import base64
import binascii
import codecs
import re
from collections.abc import Callable

from verdikt.model.regex import regex
from verdikt.shell.command import UNKNOWN

_CALL = regex(
    r"(?:String\.|string\.|Base64\.|MIME::Base64::|Buffer\.|scalar\s+|codecs\.|:?base64[:.])*"
    r"(?P<name>atob|base64_decode|decode_base64|decode64|strict_decode64|urlsafe_decode64|decode64!|hex2bin|strrev|str_rot13|reverse|fromCharCode|char|chr|from|pack|implode|join|StringReverse|decodeURIComponent|unescape|urldecode|rawurldecode|escapeshellarg|shellescape|paste0?|sprintf|format|str_c|concat)!?\s*\(\s*"
)
_METHOD = regex(
    r"""\s*(?:\.|:|->|\?\.)\s*(?P<name>toString|trim|strip|chomp|to_s|freeze|dup|trim_end|reverse|rstrip|downcase|toLowerCase|unwrap|to_string|as_str|split\(\s*(?:''|"")\s*\)\.reverse\(\)\.join\(\s*(?:''|"")\s*\)|unpack1?\(\s*["']m0?["']\s*\)(?:\[0\]|\.first)?|swapcase)(?![\w])(?:\(\s*(?:['"][\w-]*['"])?\s*\))?"""
)
_JOINED = regex(r"""\s*\.\s*(?:join|pack)\s*(?:\(\s*(['"])(?P<by>[^'"]*)\1\s*\)|(?P<none>\(\s*\)|(?![\w(])))""")


_LETS_THROUGH = ("paste", "paste0", "sprintf", "format", "str_c", "concat", "join", "implode")
"""Functions whose result is known in part where one of their arguments is not."""


def unquoted(text: str) -> str:
    """Text in which letters are written as `%20`."""
    return re.sub(r"%([0-9a-fA-F]{2})", lambda found: chr(int(found[1], 16)), text)


def method(text: str, position: int, value: str) -> tuple[str, int] | None:
    """What a method that follows a constant makes of it, and where it ends; None where none does."""
    found = _METHOD.match(text, position)
    if found is None:
        return None
    name = found["name"]
    if name == "reverse" or ".reverse" in name:
        value = value[::-1]
    elif name.startswith("unpack"):
        value = _unbase64(value)
    elif name == "swapcase":
        value = value.swapcase()
    return value, found.end()


def decoded(text: str, position: int, arguments: Callable[[int], tuple[list[str], int]]) -> tuple[str, int] | None:
    """The constant that a call or a joined list comes to, and where it ends; None for anything else."""
    if text[position] == "[":
        return _list(text, position, arguments)
    found = _CALL.match(text, position)
    if found is None:
        return None
    given, end = arguments(found.end())
    if not given or (found["name"] not in _LETS_THROUGH and any(UNKNOWN in argument for argument in given)):
        return None
    value = _value(found["name"], given)
    return (value, end) if value is not None else None


def _list(text: str, position: int, arguments: Callable[[int], tuple[list[str], int]]) -> tuple[str, int] | None:
    """`["r", "m"].join("")`, `["726d"].pack("H*")`."""
    close = text.find("]", position)
    if close < 0 or close > position + 2_000 or (found := _JOINED.match(text, close + 1)) is None:
        return None
    items = [first or second for first, second in re.findall(r'"([^"]*)"|\'([^\']*)\'', text[position:close])]
    if not items or not re.fullmatch(r"""\[\s*(?:(?:"[^"]*"|'[^']*')\s*,?\s*)+""", text[position:close]):
        return None
    if ".pack" in found[0].replace(" ", ""):
        value = _packed(found["by"] or "", items[0])
        return (value, found.end()) if value is not None else None
    return (found["by"] or ("," if found["none"] == "()" else "")).join(items), found.end()


def _value(name: str, given: list[str]) -> str | None:
    first = given[0]
    if name in (
        "atob",
        "base64_decode",
        "decode_base64",
        "decode64",
        "decode64!",
        "strict_decode64",
        "urlsafe_decode64",
    ):
        return _unbase64(first)
    if name == "from":
        return _packed({"base64": "m", "hex": "H*"}.get(given[1] if len(given) > 1 else "", ""), first)
    if name == "pack":
        return _packed(first, given[1]) if len(given) > 1 else None
    if name == "hex2bin":
        return _packed("H*", first)
    if name in ("strrev", "reverse", "StringReverse"):
        return "".join(given)[::-1]
    if name == "str_rot13":
        return codecs.decode(first, "rot13")
    if name in ("fromCharCode", "char", "chr"):
        return _characters(given)
    if name in ("implode", "join"):
        return first.join(given[1:]) if len(given) > 2 else None
    if name in ("paste", "paste0", "str_c", "concat"):
        return (" " if name == "paste" else "").join(given)
    if name in ("escapeshellarg", "shellescape"):
        return first
    if name in ("sprintf", "format"):
        return _formatted(first, given[1:])
    return unquoted(first)


def _formatted(form: str, given: list[str]) -> str:
    rest = iter(given)
    return re.sub(r"%[sdv]|\{\}", lambda _: next(rest, UNKNOWN), form)


def _characters(codes: list[str]) -> str | None:
    try:
        found = [int(code, 0) for code in codes]
    except ValueError:
        return None
    return "".join(map(chr, found)) if all(0 < code < 0x110000 for code in found) else None


def _packed(form: str, text: str) -> str | None:
    if form.startswith(("m", "u")):
        return _unbase64(text)
    if form.startswith("H"):
        try:
            return bytes.fromhex(text).decode(errors="replace")
        except ValueError:
            return None
    return None


def _unbase64(text: str) -> str:
    try:
        return base64.b64decode(text.replace("-", "+").replace("_", "/") + "==").decode(errors="replace")
    except (binascii.Error, ValueError):
        return UNKNOWN
