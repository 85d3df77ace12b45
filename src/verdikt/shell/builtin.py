"""What the shell's own commands change for the rest of the text: the directory, variables, arguments, aliases."""

import re
from collections.abc import Callable
from posixpath import join, normpath
from typing import TYPE_CHECKING

from verdikt.model.regex import regex
from verdikt.shell.command import UNKNOWN, Word
from verdikt.shell.option import options
from verdikt.shell.scope import UNSET, Scope, Value

if TYPE_CHECKING:
    from verdikt.shell.frame import Frame
    from verdikt.shell.run import Runner
    from verdikt.shell.statement import RawAssignment

_NAME = regex(r"[A-Za-z_]\w*")
_GIVEN = regex(r"([A-Za-z_]\w*)(\[[^\]]{0,200}\])?(\+?=)(.*)", re.DOTALL)
_QUOTES = "\"'"
_KEYED = regex(r"\[([^\]\s]{1,80})\]=(\"[^\"]*\"|'[^']*'|[^\s()]+)")
_LONGEST_VALUE = 32_768
_LONGEST_PATH = 4096


def assign(walker: "Runner", given: "RawAssignment", scope: Scope, *, keep: bool) -> tuple[str, Word]:
    """An assignment as written; when `keep`, the rest of the text sees it."""
    name, subscript, op, raw = given
    if "$(" in subscript or "`" in subscript:
        walker.quoted(subscript, scope)  # for the commands in it
    if raw.startswith("(") and raw.endswith(")"):
        values = walker.array(raw, scope)
        if keep:
            before = scope.get(name)
            scope.set(name, [*before, *values] if op == "+=" and isinstance(before, list) else values)
        return name, Word(" ".join(values), raw)
    word = walker.word(raw, scope)
    if keep:
        _store(scope, name, subscript, op, word.text)
    return name, word


def _store(scope: Scope, name: str, subscript: str, op: str, value: Value) -> None:
    before = scope.get(name)
    if subscript:
        index = subscript[1:-1]
        if scope.get(f"{name}[]"):
            scope.set(f"{name}[{index.strip(_QUOTES)}]", value)
            scope.set(name, [UNKNOWN])
            return
        if isinstance(before, list) and index.isdigit() and int(index) <= len(before) and isinstance(value, str):
            copy = before.copy()
            copy[int(index) : int(index) + 1] = [value]
            scope.set(name, copy)
        elif index == "0" and not before:
            scope.set(name, [value] if isinstance(value, str) else value)
        else:
            scope.set(name, [UNKNOWN])
        return
    if op == "+=" and isinstance(value, str):
        if before is None or isinstance(before, tuple):
            value = value if before == UNSET else UNKNOWN + value
        elif isinstance(before, str):
            value = before + value
    if isinstance(value, str) and (len(value) > _LONGEST_VALUE or (value and not value.strip(UNKNOWN))):
        value = UNKNOWN
    scope.set(name, value)


def _cd(walker: "Runner", words: list[Word], scope: Scope, frame: "Frame") -> None:
    targets = [word for word in words[1:] if word.text[:1] != "-" or not re.fullmatch(r"-[LPe@]+|--", word.text)]
    before = scope.cwd
    if not targets:
        home = walker.look_up("HOME", scope)
        scope.cwd = home if isinstance(home, str) else UNKNOWN
    elif targets[0].text == "-":
        old = scope.get("OLDPWD")
        scope.cwd = old if isinstance(old, str) else UNKNOWN
    else:
        scope.cwd = _joined(walker, scope, targets[0].text if not targets[0].glob else UNKNOWN)
    scope.set("OLDPWD", before if before is not None else walker.start or UNKNOWN)


def _joined(walker: "Runner", scope: Scope, path: str) -> str:
    base = scope.cwd if scope.cwd is not None else walker.start
    joined = join(base, path) if base else path
    if len(joined) > _LONGEST_PATH:
        return UNKNOWN
    if UNKNOWN in joined and ".." in joined:
        return joined
    return normpath(joined) if joined else "."


def _pushd(walker: "Runner", words: list[Word], scope: Scope, frame: "Frame") -> None:
    targets = [word for word in words[1:] if not word.text.startswith(("-", "+"))]
    stack = scope.directories
    if targets:
        scope.directories = (*stack, _joined(walker, scope, targets[0].text))
    elif len(stack) > 1:
        scope.directories = (*stack[:-2], stack[-1], stack[-2])


def _popd(walker: "Runner", words: list[Word], scope: Scope, frame: "Frame") -> None:
    if len(scope.directories) > 1:
        scope.directories = scope.directories[:-1]


def _declare(walker: "Runner", words: list[Word], scope: Scope, frame: "Frame") -> None:
    exports = words[0].text == "export"
    nameref = keyed = False
    for word in words[1:]:
        if re.fullmatch(r"[-+][A-Za-z]+", word.text):
            exports = exports or ("x" in word.text and word.text[0] == "-")
            nameref = nameref or "n" in word.text
            keyed = keyed or "A" in word.text
            continue
        found = _GIVEN.fullmatch(word.text)
        name = found[1] if found else word.text
        if walker.locals is not None and words[0].text in ("local", "declare", "typeset"):
            walker.locals.setdefault(name, scope.get(name))
            scope.set(name, UNSET)
        if keyed:
            scope.set(f"{name}[]", "keyed")
        if nameref and found:
            # What it names may be set under either name from now on.
            scope.set(found[4], UNKNOWN)
        if found:
            raw_value = word.raw.split("=", 1)[-1]
            if raw_value.startswith("(") and raw_value.endswith(")"):
                scope.set(found[1], walker.array(raw_value, scope))
                for key, value in _KEYED.findall(raw_value) if keyed else ():
                    scope.set(f"{found[1]}[{key.strip(_QUOTES)}]", walker.word(value, scope).text)
            else:
                _store(scope, found[1], found[2] or "", found[3], UNKNOWN if nameref else found[4])
        if exports:
            scope.export(name)


def _unset(walker: "Runner", words: list[Word], scope: Scope, frame: "Frame") -> None:
    functions = any(word.text == "-f" for word in words[1:])
    for word in words[1:]:
        if functions or scope.get(word.text) is None:
            scope.define(word.text, None)
        if not functions:
            scope.set(word.text, UNSET)


def _read(walker: "Runner", words: list[Word], scope: Scope, frame: "Frame") -> None:
    given, at = options(words, 1, "d i n N p t u")
    names = [word.text for word in words[at:]] or ["REPLY"]
    chosen = dict(given)
    line = frame.stdin
    if line is None or UNKNOWN in line or any(option in chosen for option in ("-a", "-n", "-N", "-u")):
        line = None
    elif (mark := chosen.get("-d")) is None:
        line = line.split("\n", 1)[0]
    elif mark.text:
        line = None
    pieces = None if line is None else _divided(walker, line, len(names), scope)
    for place, name in enumerate(names):
        scope.set(name, UNKNOWN if pieces is None else pieces[place] if place < len(pieces) else "")
    if "-a" in chosen:
        scope.set(names[0], [UNKNOWN])


def _divided(walker: "Runner", line: str, count: int, scope: Scope) -> list[str] | None:
    """A line cut into as many pieces as there are names; None when the separators are unusual."""
    value = dict(walker.drafts[-1].assignments).get("IFS")
    separators = value.text if value is not None else scope.get("IFS")
    if separators is None or separators == " \t\n":
        return line.split(None, count - 1) if count > 1 else [line.strip(" \t\n")]
    if separators == "":
        return [line]
    if isinstance(separators, str) and len(separators) == 1 and separators not in f" \t\n{UNKNOWN}":
        return line.split(separators, count - 1)
    return None


def _mapfile(walker: "Runner", words: list[Word], scope: Scope, frame: "Frame") -> None:
    name = words[-1].text if len(words) > 1 and not words[-1].text.startswith("-") else "MAPFILE"
    known = frame.stdin is not None and UNKNOWN not in frame.stdin
    scope.set(name, (frame.stdin or "").splitlines() if known else [UNKNOWN])


def _set(walker: "Runner", words: list[Word], scope: Scope, frame: "Frame") -> None:
    for place, word in enumerate(words[1:], 1):
        if word.text == "--":
            scope.arguments = [given.text for given in words[place + 1 :]]
            return
        if not word.text.startswith(("-", "+")) and words[place - 1].text[-1:] != "o":
            scope.arguments = [given.text for given in words[place:]]
            return


def _shift(walker: "Runner", words: list[Word], scope: Scope, frame: "Frame") -> None:
    count = words[1].text if len(words) > 1 else "1"
    if scope.arguments is not None:
        scope.arguments = scope.arguments[int(count) :] if re.fullmatch(r"[0-9]{1,6}", count) else None


def _alias(walker: "Runner", words: list[Word], scope: Scope, frame: "Frame") -> None:
    for word in words[1:]:
        name, equals, value = word.text.partition("=")
        if equals and word.known:
            walker.renames = True
            scope.rename(name, value)


def _unalias(walker: "Runner", words: list[Word], scope: Scope, frame: "Frame") -> None:
    for word in words[1:]:
        scope.rename(word.text, None)


def _hash(walker: "Runner", words: list[Word], scope: Scope, frame: "Frame") -> None:
    """`hash -p /bin/rm x`: `x` is then that program."""
    if len(words) == 4 and words[1].text == "-p" and words[2].known and words[3].known:
        walker.renames = True
        scope.rename(words[3].text, words[2].text)


def _forget(walker: "Runner", words: list[Word], scope: Scope, frame: "Frame") -> None:
    """`let`, `getopts`: sets variables to what we do not compute."""
    for word in words[1:]:
        for name in _NAME.findall(word.text):
            scope.set(name, UNKNOWN)


def _printf(walker: "Runner", words: list[Word], scope: Scope, frame: "Frame") -> None:
    if len(words) > 3 and words[1].text == "-v":
        from verdikt.shell.output import printf

        texts = [word.text for word in words[3:]]
        formatted = printf(texts)
        scope.set(words[2].text, UNKNOWN if formatted is None else formatted)


BUILTINS: dict[str, Callable[["Runner", list[Word], Scope, "Frame"], None]] = {
    "cd": _cd,
    "chdir": _cd,
    "pushd": _pushd,
    "popd": _popd,
    "export": _declare,
    "declare": _declare,
    "typeset": _declare,
    "local": _declare,
    "readonly": _declare,
    "unset": _unset,
    "read": _read,
    "mapfile": _mapfile,
    "readarray": _mapfile,
    "set": _set,
    "shift": _shift,
    "alias": _alias,
    "unalias": _unalias,
    "hash": _hash,
    "let": _forget,
    "getopts": _forget,
    "printf": _printf,
}
