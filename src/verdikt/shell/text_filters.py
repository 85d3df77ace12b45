"""Filters that turn constant input into constant output: decoders and text tools that can hide a command's name."""

import base64
import binascii
import json
import re
import zlib
from bz2 import BZ2Decompressor
from collections.abc import Callable
from lzma import LZMADecompressor, LZMAError

from verdikt.knowledge import find_role_words
from verdikt.shell.escape_sequences import decode_escapes

# A few kilobytes can decompress to gigabytes.
_MAX_OUTPUT = 1 << 20


def _encode_text(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


# Surrogates keep bytes that are not UTF-8, so that `base64 -d | gunzip` gets what it would get.
def _decode_bytes(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _has_flag(args: list[str], *flags: str) -> bool:
    letters = {flag[1] for flag in flags if len(flag) == 2}
    return any(
        arg in flags or (len(arg) > 1 and arg[0] == "-" and arg[1] != "-" and bool(letters & set(arg[1:])))
        for arg in args
    )


def _filter_base64(args: list[str], text: str) -> str | None:
    if not _has_flag(args, "-d", "-D", "--decode"):
        return _decode_bytes(base64.b64encode(_encode_text(text))) + "\n"
    return _decode_base64(text)


def _decode_base64(text: str) -> str | None:
    letters = re.sub(r"[^A-Za-z0-9+/]", "", text)
    # base64 decodes as much as it can of a text that is cut off, and a shell would run that much.
    letters = letters[: len(letters) - 1] if len(letters) % 4 == 1 else letters
    try:
        return _decode_bytes(base64.b64decode(letters + "=" * (-len(letters) % 4)))
    except (binascii.Error, ValueError):
        return None


def _filter_base32(args: list[str], text: str) -> str | None:
    if not _has_flag(args, "-d", "-D", "--decode"):
        return None
    letters = re.sub(r"[^A-Z2-7]", "", text)
    try:
        return _decode_bytes(base64.b32decode(letters + "=" * (-len(letters) % 8)))
    except (binascii.Error, ValueError):
        return None


def _filter_xxd(args: list[str], text: str) -> str | None:
    if not _has_flag(args, "-r"):
        return None
    if not _has_flag(args, "-p"):
        text = "".join(re.sub(r"^[0-9a-fA-F]+:", "", line).split("  ")[0] for line in text.splitlines())
    digits = re.sub(r"[^0-9a-fA-F]", "", text)
    return _decode_bytes(bytes.fromhex(digits[: len(digits) // 2 * 2]))


def _filter_openssl(args: list[str], text: str) -> str | None:
    plain = args[:1] == ["base64"] or (args[:1] == ["enc"] and "-base64" in args)
    return _decode_base64(text) if plain and "-d" in args else None


def _filter_rev(args: list[str], text: str) -> str:
    return "".join(
        line.rstrip("\n")[::-1] + ("\n" if line.endswith("\n") else "") for line in text.splitlines(keepends=True)
    )


def _filter_tac(args: list[str], text: str) -> str:
    return "".join(reversed([line if line.endswith("\n") else line + "\n" for line in text.splitlines(keepends=True)]))


def _expand_tr_set(tr_set: str) -> str:
    """Return the characters of a `tr` set."""
    tr_set = decode_escapes(tr_set)
    for name, letters in (
        ("upper", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
        ("lower", "abcdefghijklmnopqrstuvwxyz"),
        ("digit", "0123456789"),
        ("space", " \t\n\r\v\f"),
    ):
        tr_set = tr_set.replace(f"[:{name}:]", letters)
    characters: list[str] = []
    at = 0
    while at < len(tr_set):
        if (
            at + 2 < len(tr_set)
            and tr_set[at + 1] == "-"
            and tr_set[at] <= tr_set[at + 2]
            and ord(tr_set[at + 2]) - ord(tr_set[at]) < 256
        ):
            characters += [chr(code) for code in range(ord(tr_set[at]), ord(tr_set[at + 2]) + 1)]
            at += 3
        else:
            characters.append(tr_set[at])
            at += 1
    return "".join(characters)


def _filter_tr(args: list[str], text: str) -> str | None:
    sets = [arg for arg in args if not re.fullmatch(r"-[cCdst]+", arg)]
    flags = "".join(arg for arg in args if re.fullmatch(r"-[cCdst]+", arg))
    if "c" in flags or "C" in flags or not sets:
        return None
    first = _expand_tr_set(sets[0])
    if "d" in flags:
        return "".join(letter for letter in text if letter not in set(first))
    if "s" in flags and len(sets) == 1:
        return re.sub(f"([{re.escape(first)}])\\1+", r"\1", text) if first else text
    if len(sets) < 2 or not sets[1]:
        return None
    second = _expand_tr_set(sets[1])
    second += second[-1] * max(0, len(first) - len(second))
    return text.translate(
        {ord(old): new for old, new in zip(reversed(first), reversed(second[: len(first)]), strict=False)}
    )


def _filter_gunzip(args: list[str], text: str) -> str | None:
    decompressor = zlib.decompressobj(47)
    try:
        data = decompressor.decompress(_encode_text(text), _MAX_OUTPUT)
    except zlib.error:
        return None
    return None if decompressor.unconsumed_tail else _decode_bytes(data)


def _filter_gzip(args: list[str], text: str) -> str | None:
    return _filter_gunzip(args, text) if _has_flag(args, "-d", "--decompress") else None


def _filter_bzip2(args: list[str], text: str) -> str | None:
    return _filter_bunzip2(args, text) if _has_flag(args, "-d", "--decompress") else None


def _filter_xz(args: list[str], text: str) -> str | None:
    return _filter_unxz(args, text) if _has_flag(args, "-d", "--decompress") else None


def _filter_bunzip2(args: list[str], text: str) -> str | None:
    try:
        return _decode_bytes(BZ2Decompressor().decompress(_encode_text(text), _MAX_OUTPUT))
    except (OSError, EOFError, ValueError):
        return None


def _filter_unxz(args: list[str], text: str) -> str | None:
    try:
        return _decode_bytes(LZMADecompressor().decompress(_encode_text(text), _MAX_OUTPUT))
    except (LZMAError, EOFError, ValueError):
        return None


def _filter_head(args: list[str], text: str) -> str | None:
    count = _parse_line_count(args)
    return None if count is None else "".join(text.splitlines(keepends=True)[:count])


def _filter_tail(args: list[str], text: str) -> str | None:
    count = _parse_line_count(args)
    return None if count is None else "".join(text.splitlines(keepends=True)[-count:] if count else [])


def _parse_line_count(args: list[str]) -> int | None:
    joined = " ".join(args)
    if not joined:
        return 10
    count = re.fullmatch(r"(?:-n ?|--lines=|-)(\d{1,6})", joined)
    return int(count[1]) if count else None


def _filter_sort(args: list[str], text: str) -> str | None:
    return "".join(sorted(line + "\n" for line in text.splitlines())) if not args else None


def _filter_cut(args: list[str], text: str) -> str | None:
    match = re.fullmatch(r"-c ?(\d{1,4})(-?)(\d{0,4})", " ".join(args))
    if match:
        first = int(match[1])
        last = (int(match[3]) if match[3] else None) if match[2] else first
        return "".join(line[first - 1 : last] + "\n" for line in text.splitlines())
    match = re.fullmatch(r"-d ?(.) -f ?(\d{1,3})", " ".join(args)) or re.fullmatch(
        r"-f ?(\d{1,3}) -d ?(.)", " ".join(args)
    )
    if not match:
        return None
    mark, field = (
        (match[1], int(match[2])) if match[2].isdigit() and args[0].startswith("-d") else (match[2], int(match[1]))
    )
    rows = [line.split(mark) for line in text.splitlines()]
    return "".join((row[field - 1] if field <= len(row) else "" if len(row) > 1 else row[0]) + "\n" for row in rows)


def _filter_sed(args: list[str], text: str) -> str | None:
    """Apply `s/a/b/` with constant patterns, or print lines by number; None for every other script."""
    if args[:1] == ["-n"] and len(args) == 2 and (lines := re.fullmatch(r"(\d{1,4})(?:,(\d{1,4}))?p", args[1])):
        return "".join(text.splitlines(keepends=True)[int(lines[1]) - 1 : int(lines[2] or lines[1])])
    scripts = args[1::2] if args[0::2] == ["-e"] * (len(args) // 2) and len(args) > 1 else args
    if len(scripts) != 1 and scripts is args:
        return None
    for script in (part for argument in scripts for part in argument.split(";")):
        substitution = re.fullmatch(r"\s*s(.)((?:(?!\1)[^\\])*)\1((?:(?!\1)[^\\&])*)\1(g?)\s*", script, re.DOTALL)
        if not substitution or re.search(r"[][.*^$+?(){}|]", substitution[2]) or not substitution[2]:
            return None
        count = -1 if substitution[4] else 1
        text = "".join(line.replace(substitution[2], substitution[3], count) for line in text.splitlines(keepends=True))
    return text


def _filter_awk(args: list[str], text: str) -> str | None:
    """Return all lines, or one field of each."""
    if len(args) != 1:
        return None
    if re.fullmatch(r"\s*(?:1|\{\s*print\s*(?:\$0)?\s*;?\s*\})\s*", args[0]):
        return text
    field = re.fullmatch(r"\s*\{\s*print\s*\$(\d{1,2})\s*;?\s*\}\s*", args[0])
    if not field:
        return None
    rows = [line.split() for line in text.splitlines()]
    return "".join((row[int(field[1]) - 1] if int(field[1]) <= len(row) else "") + "\n" for row in rows)


def _filter_grep(args: list[str], text: str) -> str | None:
    """Return the lines that contain a plain word, or with `-v` the others."""
    flags = [arg for arg in args if arg.startswith("-")]
    words = [arg for arg in args if not arg.startswith("-")]
    if len(words) != 1 or not set(flags) <= {"-v", "-F", "-i", "-E"} or re.search(r"[][.*^$+?(){}|\\]", words[0]):
        return None
    fold = str.lower if "-i" in flags else str
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if (fold(words[0]) in fold(line)) != ("-v" in flags))


def _filter_jq(args: list[str], text: str) -> str | None:
    """Return one value of a document, as `jq -r .a.b` does."""
    raw = "-r" in args or "--raw-output" in args
    paths = [arg for arg in args if arg not in ("-r", "--raw-output")]
    if len(paths) != 1 or not re.fullmatch(r"(?:\.[A-Za-z_]\w*)+|\.", paths[0]):
        return None

    try:
        value = json.loads(text)
        for name in paths[0].split(".")[1:]:
            value = value[name] if name else value
    except (ValueError, RecursionError, KeyError, TypeError):
        return None
    return f"{value if raw and isinstance(value, str) else json.dumps(value)}\n"


def _filter_dd(args: list[str], text: str) -> str | None:
    return text if all(arg.startswith(("if=/dev/stdin", "status=", "bs=", "of=/dev/stdout")) for arg in args) else None


FILTERS: dict[str, Callable[[list[str], str], str | None]] = {
    name: function
    for way, function in {
        "base64-text": _filter_base64,
        "base32-text": _filter_base32,
        "hex": _filter_xxd,
        "enciphered": _filter_openssl,
        "characters-reversed": _filter_rev,
        "lines-reversed": _filter_tac,
        "characters": _filter_tr,
        "gzip-read": _filter_gunzip,
        "gzip-written": _filter_gzip,
        "bzip2-read": _filter_bunzip2,
        "bzip2-written": _filter_bzip2,
        "xz-read": _filter_unxz,
        "xz-written": _filter_xz,
        "first-lines": _filter_head,
        "last-lines": _filter_tail,
        "sorted-lines": _filter_sort,
        "fields": _filter_cut,
        "edited-lines": _filter_sed,
        "awk": _filter_awk,
        "matching-lines": _filter_grep,
        "json": _filter_jq,
        "blocks": _filter_dd,
    }.items()
    for name in find_role_words("text_filter")[way]
}
"""Program → the function that computes its output from its arguments and constant input."""
