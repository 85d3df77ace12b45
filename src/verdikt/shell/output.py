"""What a command would print when its words and its input are constants."""

import re
from collections.abc import Callable
from posixpath import basename, dirname, normpath
from typing import TYPE_CHECKING

from verdikt.model.regex import regex
from verdikt.shell import decode
from verdikt.shell.command import UNKNOWN
from verdikt.shell.quoting import unescape
from verdikt.shell.redirect import written

if TYPE_CHECKING:
    from verdikt.shell.invocation import Invocation

_LONGEST = 1 << 20
_DIRECTIVE = regex(r"%(?:%|(?P<flags>[-+ #0]*)(?P<width>\*|\d{0,4})(?:\.(?P<precision>\*|\d{0,4}))?(?P<kind>[a-zA-Z]))")
_SILENT = frozenset(
    ("true", ":", "cd", "pushd", "popd", "export", "local", "declare", "typeset", "readonly", "unset", "set", "shift")
) | {"mkdir", "touch", "chmod", "sleep", "test", "[", "alias", "unalias", "shopt"}


def constant_output(call: "Invocation") -> str | None:
    """The output of a command, perhaps with unknown parts; None when nothing is known of it."""
    if call.name not in COMPUTED:
        return None
    found = _output(call)
    return found if found is None or (len(found) < _LONGEST and call.walker.spend(len(found))) else None


def _output(call: "Invocation") -> str | None:
    name, words, stdin = call.name, call.words, call.frame.stdin
    if name in _SILENT:
        return ""
    if any(word.glob for word in words[1:]):
        return None
    if name == "cat":
        return _cat(call)
    if name == "pwd":
        place = call.scope.cwd if call.scope.cwd is not None else call.walker.start
        return place + "\n" if place else None
    args = [word.text for word in words[1:]]
    if (plain := _OUTPUTS.get(name)) is not None:
        return plain(args)
    if (filtered := decode.FILTERS.get(name)) is None:
        return None
    if stdin is None:
        # `base64 -d file`, of a file that the text itself wrote.
        files = (written(call.walker, word, call.scope) for word in words[1:])
        stdin = next((text for known, text in files if known), None)
    return None if stdin is None or UNKNOWN in stdin else filtered(args, stdin)


def _cat(call: "Invocation") -> str | None:
    words = call.words[1:]
    files = [word for word in words if not word.text.startswith("-") or word.text == "-"]
    if any(word.text in ("-n", "-A", "-b", "-E", "-v", "-e", "-T") for word in words):
        return None
    if not files:
        return call.frame.stdin
    pieces: list[str] = []
    for file in files:
        # Only what the text itself wrote: a file that was there before is not looked at.
        known = file.known and file.text != "-"
        contents = written(call.walker, file, call.scope)[1] if known else call.frame.stdin
        if contents is None:
            return None
        pieces.append(contents)
    return "".join(pieces)


def _echo(args: list[str]) -> str | None:
    newline, escapes = "\n", False
    while args and re.fullmatch(r"-[neE]+", args[0]):
        newline = "" if "n" in args[0] else newline
        escapes = "e" in args[0] or (escapes and "E" not in args[0])
        args = args[1:]
    text = " ".join(args)
    if escapes:
        head, stop, _ = text.partition("\\c")
        return unescape(head) + ("" if stop else newline)
    return text + newline


def printf(args: list[str]) -> str | None:
    """What `printf` prints; None when its format is one that we do not compute."""
    if args[:1] == ["--"]:
        args = args[1:]
    if not args or args[0] == "-v":
        return "" if args else None
    form, rest = args[0], args[1:]
    if "\\c" in form:
        return None
    if UNKNOWN in form:
        return UNKNOWN
    done: list[str] = []
    size = 0
    while True:
        taken = len(rest)
        piece, rest = _format(form, rest)
        if piece is None:
            return None
        done.append(piece)
        size += len(piece)
        if not rest or len(rest) == taken or size > _LONGEST:
            return "".join(done)


def _format(form: str, rest: list[str]) -> tuple[str | None, list[str]]:
    given = rest.copy()
    failed = False

    def one(found: re.Match[str]) -> str:
        nonlocal failed
        if found[0] == "%%":
            return "%"
        width = given.pop(0) if found["width"] == "*" and given else found["width"]
        precision = given.pop(0) if found["precision"] == "*" and given else found["precision"]
        kind = found["kind"]
        value = given.pop(0) if given else ("" if kind in "sbqc" else "0")
        flags = found["flags"].replace("-", "<") if "-" in found["flags"] else found["flags"]
        if UNKNOWN in value:
            return UNKNOWN
        try:
            return _directive(kind, value, flags, width or "", precision)
        except (ValueError, OverflowError):
            failed = True
            return ""

    # Escapes first in the constant parts, so that `\x25s` is not taken for a directive: bash reads them in one pass too.
    pieces: list[str] = []
    at = 0
    for found in _DIRECTIVE.finditer(form):
        pieces += [unescape(form[at : found.start()]), one(found)]
        at = found.end()
    pieces.append(unescape(form[at:]))
    return (None if failed else "".join(pieces)), given


def _directive(kind: str, value: str, flags: str, width: str, precision: str | None) -> str:
    left = "<" in flags
    if kind in "di":
        text = str(int(value, 0) if value[:1] not in "'\"" else ord(value[1]))
    elif kind in "xXou":
        text = format(int(value, 0) if value[:1] not in "'\"" else ord(value[1]), kind if kind != "u" else "d")
    elif kind in "fFeEgG":
        text = f"%.{precision or 6}{kind}" % float(value)
    elif kind == "b":
        text = unescape(value)
    elif kind == "c":
        text = value[:1]
    elif kind == "q":
        from shlex import quote

        text = quote(value)
    elif kind == "s":
        text = value[: int(precision)] if precision not in (None, "") else value
    else:
        raise ValueError(kind)
    size = int(width or 0)
    if size > 10_000:
        raise ValueError(width)
    return text.ljust(size) if left else text.rjust(size, "0" if "0" in flags and kind not in "sbqc" else " ")


def _basename(args: list[str]) -> str | None:
    args = [arg for arg in args if arg != "--"]
    if not args or args[0].startswith("-") or UNKNOWN in basename(args[0]):
        return UNKNOWN + "\n" if args else None
    found = basename(args[0].rstrip("/") or "/")
    return (found.removesuffix(args[1]) if len(args) > 1 and found != args[1] else found) + "\n"


def _dirname(args: list[str]) -> str | None:
    args = [arg for arg in args if arg != "--"]
    if not args or args[0].startswith("-") or UNKNOWN in args[0]:
        return None
    return (dirname(args[0].rstrip("/")) or ("/" if args[0].startswith("/") else ".")) + "\n"


def _realpath(args: list[str]) -> str | None:
    """The same path: what links there are nobody knows here, and most paths hold none."""
    names = [arg for arg in args if not arg.startswith("-")]
    if len(names) != 1 or not names[0].startswith("/") or UNKNOWN in names[0]:
        return None
    return normpath(names[0]) + "\n"


def _readlink(args: list[str]) -> str | None:
    return _realpath(args) if any(arg in ("-f", "-e", "-m", "--canonicalize") for arg in args) else None


def _which(args: list[str]) -> str | None:
    names = [arg for arg in args if not arg.startswith("-")]
    if len(names) != 1 or UNKNOWN in names[0]:
        return None
    return (names[0] if "/" in names[0] else f"/usr/bin/{names[0]}") + "\n"


def _mktemp(args: list[str]) -> str | None:
    """A new name in the temporary directory: its beginning is known."""
    place, template = "/tmp", ""
    index = 0
    while index < len(args):
        arg = args[index]
        if arg in ("-p", "--suffix"):
            place = args[index + 1] if arg == "-p" and index + 1 < len(args) else place
            index += 1
        elif arg.startswith("--tmpdir="):
            place = arg.split("=", 1)[1]
        elif not arg.startswith("-"):
            template = arg
        index += 1
    if not template:
        return f"{place}/tmp.{UNKNOWN}\n"
    stem = re.sub(r"X{3,}", UNKNOWN, template)
    inside = "-t" in args or "-p" in args or any(arg.startswith("--tmpdir") for arg in args)
    return (f"{place}/{stem}" if inside else stem) + "\n"


def _seq(args: list[str]) -> str | None:
    if not 1 <= len(args) <= 3 or not all(re.fullmatch(r"-?\d{1,6}", arg) for arg in args):
        return None
    numbers = [int(arg) for arg in args]
    first, step, last = (
        (1, 1, numbers[0])
        if len(args) == 1
        else (numbers[0], 1, numbers[1])
        if len(args) == 2
        else (numbers[0], numbers[1], numbers[2])
    )
    if not step:
        return None
    found = range(first, last + (1 if step > 0 else -1), step)
    return None if len(found) > 1000 else "".join(f"{number}\n" for number in found)


_OUTPUTS: dict[str, Callable[[list[str]], str | None]] = {
    "echo": _echo,
    "printf": printf,
    "basename": _basename,
    "dirname": _dirname,
    "which": _which,
    "realpath": _realpath,
    "readlink": _readlink,
    "mktemp": _mktemp,
    "seq": _seq,
}

COMPUTED = _SILENT | _OUTPUTS.keys() | decode.FILTERS.keys() | {"cat", "pwd"}
"""Programs whose output may be told without running them."""

SOURCES = COMPUTED - decode.FILTERS.keys() - {"cat"}
"""Those whose output may be told when nothing is known of what they read."""
