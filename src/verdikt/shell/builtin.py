"""Effects of the shell's builtins on the text after them: directory, variables, arguments, aliases."""

import re
from collections.abc import Callable
from posixpath import join, normpath
from typing import TYPE_CHECKING

from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import UNKNOWN, Word
from verdikt.shell.evaluated_text import walk_arithmetic_names
from verdikt.shell.option_parser import parse_options
from verdikt.shell.printf_format import predict_printf
from verdikt.shell.redirection import read_contents
from verdikt.shell.scope import UNSET, Scope, VariableValue

if TYPE_CHECKING:
    from verdikt.shell.command_call import Frame
    from verdikt.shell.command_walker import CommandWalker
    from verdikt.shell.statement import RawAssignment

_NAME = compile_lazily(r"[A-Za-z_]\w*")
_ASSIGNMENT = compile_lazily(r"([A-Za-z_]\w*)(\[[^\]]{0,200}\])?(\+?=)(.*)", re.DOTALL)
_QUOTES = "\"'"
_KEYED_ELEMENT = compile_lazily(r"\[([^\]\s]{1,80})\]=(\"[^\"]*\"|'[^']*'|[^\s()]+)")
# `x=$x$x` in a loop doubles the value each time.
_MAX_VALUE_LENGTH = 32_768
_MAX_PATH_LENGTH = 4096


def evaluate_assignment(
    walker: "CommandWalker", assignment: "RawAssignment", scope: Scope, *, persist: bool
) -> tuple[str, Word]:
    """Evaluate an assignment as written; with `persist`, the commands after it see the value."""
    name, subscript, op, raw = assignment
    if "$(" in subscript or "`" in subscript:
        # `a[$(cmd)]=1` runs the command in the subscript.
        walker.expand_quoted(subscript, scope)
    elif subscript:
        walk_arithmetic_names(walker, subscript, scope)
    if raw.startswith("(") and raw.endswith(")"):
        values = walker.expand_array(raw, scope)
        if persist:
            before = scope.get_variable(name)
            scope.set_variable(name, [*before, *values] if op == "+=" and isinstance(before, list) else values)
        return name, Word(" ".join(values), raw)
    word = walker.expand_word(raw, scope)
    if persist:
        _store_variable(scope, name, subscript, op, word.text)
    return name, word


def _store_variable(scope: Scope, name: str, subscript: str, op: str, value: VariableValue) -> None:
    before = scope.get_variable(name)
    if subscript:
        index = subscript[1:-1]
        if scope.get_variable(f"{name}[]"):
            scope.set_variable(f"{name}[{index.strip(_QUOTES)}]", value)
            scope.set_variable(name, [UNKNOWN])
            return
        if isinstance(before, list) and index.isdigit() and int(index) <= len(before) and isinstance(value, str):
            copy = before.copy()
            copy[int(index) : int(index) + 1] = [value]
            scope.set_variable(name, copy)
        elif index == "0" and not before:
            scope.set_variable(name, [value] if isinstance(value, str) else value)
        else:
            scope.set_variable(name, [UNKNOWN])
        return
    if op == "+=" and isinstance(value, str):
        if before is None or isinstance(before, tuple):
            value = value if before == UNSET else UNKNOWN + value
        elif isinstance(before, str):
            value = before + value
    if isinstance(value, str) and (len(value) > _MAX_VALUE_LENGTH or (value and not value.strip(UNKNOWN))):
        value = UNKNOWN
    scope.set_variable(name, value)


def _apply_cd(walker: "CommandWalker", words: list[Word], scope: Scope, frame: "Frame") -> None:
    targets = [word for word in words[1:] if word.text[:1] != "-" or not re.fullmatch(r"-[LPe@]+|--", word.text)]
    before = scope.cwd
    if not targets:
        home = walker.look_up("HOME", scope)
        scope.cwd = home if isinstance(home, str) else UNKNOWN
    elif targets[0].text == "-":
        old = scope.get_variable("OLDPWD")
        scope.cwd = old if isinstance(old, str) else UNKNOWN
    else:
        scope.cwd = _resolve_directory(walker, scope, targets[0].text if not targets[0].glob else UNKNOWN)
    scope.set_variable("OLDPWD", before if before is not None else walker.start_directory or UNKNOWN)


def _resolve_directory(walker: "CommandWalker", scope: Scope, path: str) -> str:
    base = scope.cwd if scope.cwd is not None else walker.start_directory
    joined = join(base, path) if base else path
    if len(joined) > _MAX_PATH_LENGTH:
        return UNKNOWN
    # `$x/..` is not the directory before it when `$x` has several parts.
    if UNKNOWN in joined and ".." in joined:
        return joined
    return normpath(joined) if joined else "."


def _apply_pushd(walker: "CommandWalker", words: list[Word], scope: Scope, frame: "Frame") -> None:
    targets = [word for word in words[1:] if not word.text.startswith(("-", "+"))]
    stack = scope.directory_stack
    if targets:
        scope.directory_stack = (*stack, _resolve_directory(walker, scope, targets[0].text))
    elif len(stack) > 1:
        scope.directory_stack = (*stack[:-2], stack[-1], stack[-2])


def _apply_popd(walker: "CommandWalker", words: list[Word], scope: Scope, frame: "Frame") -> None:
    if len(scope.directory_stack) > 1:
        scope.directory_stack = scope.directory_stack[:-1]


def _apply_declare(walker: "CommandWalker", words: list[Word], scope: Scope, frame: "Frame") -> None:
    exports = words[0].text == "export"
    is_nameref = is_keyed = False
    for word in words[1:]:
        if re.fullmatch(r"[-+][A-Za-z]+", word.text):
            exports = exports or ("x" in word.text and word.text[0] == "-")
            is_nameref = is_nameref or "n" in word.text
            is_keyed = is_keyed or "A" in word.text
            continue
        assignment = _ASSIGNMENT.fullmatch(word.text)
        name = assignment[1] if assignment else word.text
        # Within a function these make a local variable; the outer value is put back when the function returns.
        if walker.local_variables is not None and words[0].text in ("local", "declare", "typeset"):
            walker.local_variables.setdefault(name, scope.get_variable(name))
            scope.set_variable(name, UNSET)
        if is_keyed:
            scope.set_variable(f"{name}[]", "keyed")
        if is_nameref and assignment:
            # `declare -n r=x`: from here on an assignment to `r` changes `x`.
            scope.set_variable(assignment[4], UNKNOWN)
        raw_value = word.raw.split("=", 1)[-1]
        if assignment and raw_value.startswith("(") and raw_value.endswith(")"):
            _store_array(walker, scope, name, raw_value, is_keyed=is_keyed)
        elif assignment:
            value = UNKNOWN if is_nameref else assignment[4]
            _store_variable(scope, name, assignment[2] or "", assignment[3], value)
        if exports:
            scope.export_variable(name)


def _store_array(walker: "CommandWalker", scope: Scope, name: str, raw_value: str, *, is_keyed: bool) -> None:
    """Set an array from `(…)`; with keys, each element is also a variable of its own."""
    scope.set_variable(name, walker.expand_array(raw_value, scope))
    for key, value in _KEYED_ELEMENT.findall(raw_value) if is_keyed else ():
        scope.set_variable(f"{name}[{key.strip(_QUOTES)}]", walker.expand_word(value, scope).text)


def _apply_unset(walker: "CommandWalker", words: list[Word], scope: Scope, frame: "Frame") -> None:
    functions = any(word.text == "-f" for word in words[1:])
    for word in words[1:]:
        # Without `-f`, bash removes a function only when no variable has the name.
        if functions or scope.get_variable(word.text) is None:
            scope.define_function(word.text, None)
        if not functions:
            scope.set_variable(word.text, UNSET)


_MAX_PIECES = 1_000


def _apply_read(walker: "CommandWalker", words: list[Word], scope: Scope, frame: "Frame") -> None:
    options, at = parse_options(words, 1, "d i n N p t u")
    names = [word.text for word in words[at:]] or ["REPLY"]
    value_by_option = dict(options)
    line = _read_descriptor(walker, value_by_option.get("-u"), scope) if "-u" in value_by_option else frame.stdin
    # In a loop each turn reads another line.
    if line is None and frame.stdin_file is not None and not frame.repeated:
        line = read_contents(walker, frame.stdin_file, scope)
    if line is None or UNKNOWN in line or any(option in value_by_option for option in ("-n", "-N")):
        line = None
    elif (mark := value_by_option.get("-d")) is None:
        line = line.split("\n", 1)[0]
    elif mark.text:
        line = None
    is_array = "-a" in value_by_option
    pieces = None if line is None else _split_line(walker, line, _MAX_PIECES if is_array else len(names), scope)
    for index, name in enumerate(names):
        scope.set_variable(name, UNKNOWN if pieces is None else pieces[index] if index < len(pieces) else "")
    if is_array:
        scope.set_variable(names[0], [UNKNOWN] if pieces is None else list(pieces))


def _read_descriptor(walker: "CommandWalker", descriptor: Word | None, scope: Scope) -> str | None:
    """Return what an open descriptor gives, as far as it is known."""
    file = walker.descriptors.get(descriptor.text) if descriptor is not None else None
    return None if file is None else read_contents(walker, file, scope)


def _split_line(walker: "CommandWalker", line: str, max_pieces: int, scope: Scope) -> list[str] | None:
    """Return a line split into as many pieces as there are names; None when the separators are unusual."""
    value = dict(walker.drafts[-1].assignments).get("IFS")
    separators = value.text if value is not None else scope.get_variable("IFS")
    if separators is None or separators == " \t\n":
        return line.split(None, max_pieces - 1) if max_pieces > 1 else [line.strip(" \t\n")]
    if separators == "":
        return [line]
    if isinstance(separators, str) and len(separators) == 1 and separators not in f" \t\n{UNKNOWN}":
        return line.split(separators, max_pieces - 1)
    return None


def _apply_mapfile(walker: "CommandWalker", words: list[Word], scope: Scope, frame: "Frame") -> None:
    name = words[-1].text if len(words) > 1 and not words[-1].text.startswith("-") else "MAPFILE"
    text = frame.stdin
    if text is None and frame.stdin_file is not None:
        text = read_contents(walker, frame.stdin_file, scope)
    known = text is not None and UNKNOWN not in text
    scope.set_variable(name, (text or "").splitlines() if known else [UNKNOWN])


def _apply_set(walker: "CommandWalker", words: list[Word], scope: Scope, frame: "Frame") -> None:
    for index, word in enumerate(words[1:], 1):
        if word.text == "--":
            scope.arguments = [argument.text for argument in words[index + 1 :]]
            return
        if not word.text.startswith(("-", "+")) and words[index - 1].text[-1:] != "o":
            scope.arguments = [argument.text for argument in words[index:]]
            return


def _apply_shift(walker: "CommandWalker", words: list[Word], scope: Scope, frame: "Frame") -> None:
    count = words[1].text if len(words) > 1 else "1"
    if scope.arguments is not None:
        scope.arguments = scope.arguments[int(count) :] if re.fullmatch(r"[0-9]{1,6}", count) else None


def _apply_alias(walker: "CommandWalker", words: list[Word], scope: Scope, frame: "Frame") -> None:
    for word in words[1:]:
        name, equals, value = word.text.partition("=")
        if equals and word.is_known:
            # Looking for replacements of every name costs time, so it starts with the first alias.
            walker.has_replacements = True
            scope.set_alias(name, value)


def _apply_unalias(walker: "CommandWalker", words: list[Word], scope: Scope, frame: "Frame") -> None:
    for word in words[1:]:
        scope.set_alias(word.text, None)


def _apply_hash(walker: "CommandWalker", words: list[Word], scope: Scope, frame: "Frame") -> None:
    """Apply `hash -p /bin/rm x`, after which `x` runs that program."""
    if len(words) == 4 and words[1].text == "-p" and words[2].is_known and words[3].is_known:
        walker.has_replacements = True
        scope.set_alias(words[3].text, words[2].text)


def _forget_variables(walker: "CommandWalker", words: list[Word], scope: Scope, frame: "Frame") -> None:
    """Apply `let` and `getopts`, which set variables to values that are not computed here."""
    for word in words[1:]:
        for name in _NAME.findall(word.text):
            scope.set_variable(name, UNKNOWN)


def _apply_printf(walker: "CommandWalker", words: list[Word], scope: Scope, frame: "Frame") -> None:
    if len(words) > 3 and words[1].text == "-v":
        texts = [word.text for word in words[3:]]
        formatted = predict_printf(texts)
        scope.set_variable(words[2].text, UNKNOWN if formatted is None else formatted)


BUILTINS: dict[str, Callable[["CommandWalker", list[Word], Scope, "Frame"], None]] = {
    "cd": _apply_cd,
    "chdir": _apply_cd,
    "pushd": _apply_pushd,
    "popd": _apply_popd,
    "export": _apply_declare,
    "declare": _apply_declare,
    "typeset": _apply_declare,
    "local": _apply_declare,
    "readonly": _apply_declare,
    "unset": _apply_unset,
    "read": _apply_read,
    "mapfile": _apply_mapfile,
    "readarray": _apply_mapfile,
    "set": _apply_set,
    "shift": _apply_shift,
    "alias": _apply_alias,
    "unalias": _apply_unalias,
    "hash": _apply_hash,
    "let": _forget_variables,
    "getopts": _forget_variables,
    "printf": _apply_printf,
}
