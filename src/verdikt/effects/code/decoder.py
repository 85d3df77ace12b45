"""Evaluate functions of scripting languages that turn constants into a constant: decoders, joins, reversals."""

import base64
import binascii
import codecs
import re
from collections.abc import Callable
from contextlib import suppress

from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import UNKNOWN

_DECODER_CALL = compile_lazily(
    r"(?:String\.|string\.|fmt\.|Base64\.|MIME::Base64::|Buffer\.|scalar\s+|codecs\.|:?base64[:.])*"
    r"(?P<name>atob|base64_decode|decode_base64|decode64|strict_decode64|urlsafe_decode64|decode64!|hex2bin|strrev"
    r"|str_rot13|reverse|fromCharCode|char|chr|from|pack|implode|join|StringReverse|decodeURIComponent|unescape"
    r"|urldecode|rawurldecode|escapeshellarg|shellescape|paste0?|[sS]printf|format|Format|str_c|concat)!?\s*\(\s*"
)
_STRING_METHOD = compile_lazily(
    r"""\s*(?:\.|:|->|\?\.)\s*(?P<name>toString|trim|strip|chomp|to_s|freeze|dup|trim_end|reverse|rstrip|downcase"""
    r"""|toLowerCase|unwrap|to_string|as_str|split\(\s*(?:''|"")\s*\)\.reverse\(\)\.join\(\s*(?:''|"")\s*\)"""
    r"""|unpack1?\(\s*["']m0?["']\s*\)(?:\[0\]|\.first)?|swapcase)(?![\w])(?:\(\s*(?:['"][\w-]*['"])?\s*\))?"""
)
_JOIN_METHOD = compile_lazily(
    r"""\s*\.\s*(?:join|pack)\s*(?:\(\s*(['"])(?P<by>[^'"]*)\1\s*\)|(?P<none>\(\s*\)|(?![\w(])))"""
)


_BASE64_FUNCTIONS = frozenset(
    "atob base64_decode decode_base64 decode64 decode64! strict_decode64 urlsafe_decode64".split()
)
_PARTIAL_FUNCTIONS = ("paste", "paste0", "sprintf", "Sprintf", "format", "Format", "str_c", "concat", "join", "implode")
"""Functions whose result is known in part even if one of their arguments is not."""


def decode_percent(text: str) -> str:
    """Decode text in which the bytes of its UTF-8 are written as `%20`."""
    data = text.encode("utf-8", "surrogatepass")
    return re.sub(rb"%([0-9a-fA-F]{2})", lambda match: bytes.fromhex(match[1].decode()), data).decode(
        "utf-8", "replace"
    )


def apply_method(text: str, position: int, value: str) -> tuple[str, int] | None:
    """Return what a method after a constant makes of it, and where it ends; None if no known method follows."""
    match = _STRING_METHOD.match(text, position)
    if match is None:
        return None
    name = match["name"]
    if name == "reverse" or ".reverse" in name:
        value = value[::-1]
    elif name.startswith("unpack"):
        value = decode_base64(value)
    elif name == "swapcase":
        value = value.swapcase()
    return value, match.end()


def evaluate_decoder(
    text: str, position: int, parse_arguments: Callable[[int], tuple[list[str], int]]
) -> tuple[str, int] | None:
    """Return the value of a decoder call or a joined list, and where it ends; None for anything else."""
    if text[position] == "[":
        return _join_list(text, position, parse_arguments)
    call = _DECODER_CALL.match(text, position)
    if call is None:
        return None
    name = call["name"]
    arguments, end = parse_arguments(call.end())
    if not arguments or (name not in _PARTIAL_FUNCTIONS and any(UNKNOWN in argument for argument in arguments)):
        return None
    value = _apply_function(name, arguments)
    return (value, end) if value is not None else None


def _join_list(
    text: str, position: int, parse_arguments: Callable[[int], tuple[list[str], int]]
) -> tuple[str, int] | None:
    """Return the result of `["r", "m"].join("")` or `["726d"].pack("H*")`."""
    close = text.find("]", position)
    # Longer lists are data, and searching them at every bracket would take quadratic time.
    if close < 0 or close > position + 2_000 or (method := _JOIN_METHOD.match(text, close + 1)) is None:
        return None
    items = [first or second for first, second in re.findall(r'"([^"]*)"|\'([^\']*)\'', text[position:close])]
    if not items or not re.fullmatch(r"""\[\s*(?:(?:"[^"]*"|'[^']*')\s*,?\s*)+""", text[position:close]):
        return None
    if ".pack" in method[0].replace(" ", ""):
        value = _decode_packed(method["by"] or "", items[0])
        return (value, method.end()) if value is not None else None
    # Without a separator JavaScript's `join()` takes a comma, Ruby's `join` nothing.
    return (method["by"] or ("," if method["none"] == "()" else "")).join(items), method.end()


def _apply_function(name: str, arguments: list[str]) -> str | None:
    first = arguments[0]
    if name in _BASE64_FUNCTIONS:
        return decode_base64(first)
    # Node's `Buffer.from(text, encoding)`.
    if name == "from":
        return _decode_packed({"base64": "m", "hex": "H*"}.get(arguments[1] if len(arguments) > 1 else "", ""), first)
    if name == "pack":
        return _decode_packed(first, arguments[1]) if len(arguments) > 1 else None
    if name == "hex2bin":
        return _decode_packed("H*", first)
    if name in ("strrev", "reverse", "StringReverse"):
        return "".join(arguments)[::-1]
    if name == "str_rot13":
        return codecs.decode(first, "rot13")
    if name in ("fromCharCode", "char", "chr"):
        return _decode_characters(arguments)
    if name in ("implode", "join"):
        return first.join(arguments[1:]) if len(arguments) > 2 else None
    if name in ("paste", "paste0", "str_c", "concat"):
        return (" " if name == "paste" else "").join(arguments)
    if name in ("escapeshellarg", "shellescape"):
        return first
    if name in ("sprintf", "Sprintf", "format", "Format"):
        return _format_string(first, arguments[1:])
    return decode_percent(first)


def _format_string(template: str, arguments: list[str]) -> str:
    values = iter(arguments)
    return re.sub(r"%[sdv]|\{\d?\}", lambda _: next(values, UNKNOWN), template)


def _decode_characters(codes: list[str]) -> str | None:
    try:
        numbers = [int(code, 0) for code in codes]
    except ValueError:
        return None
    return "".join(map(chr, numbers)) if all(0 < number < 0x110000 for number in numbers) else None


def _decode_packed(template: str, text: str) -> str | None:
    """Decode text by a `pack` template of Perl and Ruby: base64, uuencode or hexadecimal digits."""
    if template.startswith(("m", "u")):
        return decode_base64(text)
    if template.startswith("H"):
        try:
            return bytes.fromhex(text).decode(errors="replace")
        except ValueError:
            return None
    return None


def decode_hidden_text(text: str) -> list[str]:
    """Return what text means as hexadecimal digits, as base32 and backwards in base64, where it means anything."""
    letters = text.rstrip("=")
    candidates = [decode_base64(letters[::-1])]
    try:
        candidates.append(bytes.fromhex(letters).decode(errors="replace"))
    except ValueError:
        padded = letters.upper() + "=" * (-len(letters) % 8)
        with suppress(binascii.Error, ValueError):
            candidates.append(base64.b32decode(padded).decode(errors="replace"))
    return candidates


def decode_base64(text: str) -> str:
    """Decode base64 in either alphabet, with or without padding; `UNKNOWN` for anything else."""
    try:
        # URL-safe letters and missing padding are accepted, as the decoders of most languages do.
        return base64.b64decode(text.replace("-", "+").replace("_", "/") + "==").decode(errors="replace")
    except (binascii.Error, ValueError):
        return UNKNOWN
