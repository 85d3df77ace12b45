"""The output of `printf`, from its format and its constant values."""

import re
from shlex import quote

from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import UNKNOWN
from verdikt.shell.escape_sequences import decode_escapes

_MAX_OUTPUT = 1 << 20
_DIRECTIVE = compile_lazily(
    r"%(?:%|(?P<flags>[-+ #0]*)(?P<width>\*|\d{0,4})(?:\.(?P<precision>\*|\d{0,4}))?(?P<kind>[a-zA-Z]))"
)


def predict_printf(args: list[str]) -> str | None:
    """Return the output of `printf`; None for a format that is not computed here."""
    if args[:1] == ["--"]:
        args = args[1:]
    if not args or args[0] == "-v":
        return "" if args else None
    template, values = args[0], args[1:]
    # `\\c` ends the output at once; no real format uses it.
    if "\\c" in template:
        return None
    if UNKNOWN in template:
        return UNKNOWN
    pieces: list[str] = []
    size = 0
    while True:
        value_count = len(values)
        piece, values = _apply_format(template, values)
        if piece is None:
            return None
        pieces.append(piece)
        size += len(piece)
        if not values or len(values) == value_count or size > _MAX_OUTPUT:
            return "".join(pieces)


def _apply_format(template: str, values: list[str]) -> tuple[str | None, list[str]]:
    remaining_values = values.copy()
    failed = False

    def format_match(directive: re.Match[str]) -> str:
        nonlocal failed
        if directive[0] == "%%":
            return "%"
        width = remaining_values.pop(0) if directive["width"] == "*" and remaining_values else directive["width"]
        precision = (
            remaining_values.pop(0) if directive["precision"] == "*" and remaining_values else directive["precision"]
        )
        kind = directive["kind"]
        value = remaining_values.pop(0) if remaining_values else ("" if kind in "sbqc" else "0")
        flags = directive["flags"].replace("-", "<") if "-" in directive["flags"] else directive["flags"]
        if UNKNOWN in value:
            return UNKNOWN
        try:
            return _format_directive(kind, value, flags, width or "", precision)
        except (ValueError, OverflowError):
            failed = True
            return ""

    # Escapes in the constant parts first, so that `\x25s` does not become a directive: bash reads both in one pass.
    pieces: list[str] = []
    at = 0
    for directive in _DIRECTIVE.finditer(template):
        pieces += [decode_escapes(template[at : directive.start()]), format_match(directive)]
        at = directive.end()
    pieces.append(decode_escapes(template[at:]))
    return (None if failed else "".join(pieces)), remaining_values


def _format_directive(kind: str, value: str, flags: str, width: str, precision: str | None) -> str:
    is_left_aligned = "<" in flags
    if kind in "di":
        text = str(int(value, 0) if value[:1] not in "'\"" else ord(value[1]))
    elif kind in "xXou":
        text = format(int(value, 0) if value[:1] not in "'\"" else ord(value[1]), kind if kind != "u" else "d")
    elif kind in "fFeEgG":
        text = f"%.{precision or 6}{kind}" % float(value)
    elif kind == "b":
        text = decode_escapes(value)
    elif kind == "c":
        text = value[:1]
    elif kind == "q":
        text = quote(value)
    elif kind == "s":
        text = value[: int(precision)] if precision not in (None, "") else value
    else:
        raise ValueError(kind)
    size = int(width or 0)
    # `printf '%999999999s'` would fill the memory.
    if size > 10_000:
        raise ValueError(width)
    return (
        text.ljust(size) if is_left_aligned else text.rjust(size, "0" if "0" in flags and kind not in "sbqc" else " ")
    )
