"""`${…}`: defaults, trimming, replacing, slicing, case, indirection, arrays."""

import re
from typing import TYPE_CHECKING

from verdikt.model.regex import regex
from verdikt.shell import pattern
from verdikt.shell.arithmetic import evaluate
from verdikt.shell.command import UNKNOWN
from verdikt.shell.scope import UNSET, Pattern, Scope, Value

if TYPE_CHECKING:
    from verdikt.shell.expand import Expander

_FORM = regex(
    r"(?P<length>#(?=[A-Za-z_0-9@*]))?(?P<indirect>!)?(?P<name>[A-Za-z_]\w*|\d+|[@*#?$!-])(?:\[(?P<index>[^\]]{0,200})\])?"
    r"(?P<op>:?[-=+?]|##?|%%?|//|/#|/%|/|\^\^?|,,?|~~?|@[A-Za-z]|:)?",
    re.DOTALL,
)
_QUOTES = "\"'"
_ALWAYS_SET = frozenset(("PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "HOSTNAME", "LANG", "TERM", "UID", "EUID"))


class _Parameter:
    """One `${…}` being expanded."""

    __slots__ = ("expander", "quoted", "scope")

    def __init__(self, scope: Scope, expander: "Expander", quoted: bool) -> None:
        self.scope = scope
        self.expander = expander
        self.quoted = quoted

    def look_up(self, name: str) -> Value:
        return self.expander.look_up(name, self.scope)

    def number(self, text: str) -> int | None:
        return evaluate(self.expander.quoted(text, self.scope), lambda name: _text(self.look_up(name)))

    def indirect(self, value: Value, index: str | None, inside: str) -> Value:
        if inside.endswith(("*", "@")) and index is None:
            return UNKNOWN  # names with a prefix
        if index in ("@", "*"):
            return [str(number) for number in range(len(value))] if isinstance(value, list) else UNKNOWN
        if isinstance(value, str) and re.fullmatch(r"[A-Za-z_]\w*", value):
            return self.look_up(value)
        return UNKNOWN

    def element(self, value: Value, index: str) -> Value:
        if index in ("@", "*"):
            return value if isinstance(value, list) else [value] if isinstance(value, str) else UNKNOWN
        number = self.number(index)
        if isinstance(value, list):
            if number is None or any(UNKNOWN in item for item in value):
                return UNKNOWN
            return value[number] if -len(value) <= number < len(value) else UNSET
        return value if number == 0 else UNKNOWN if value else UNSET

    def operate(self, op: str, rest: str, value: Value, name: str) -> Value:
        if op[-1] in "-=+?" and len(op) <= 2:
            return self.default(op, rest, value, name)
        if isinstance(value, list):
            return self.slice(value, rest) if op == ":" else [self.change(op, rest, item) for item in value]
        return self.change(op, rest, _text(value))

    def default(self, op: str, rest: str, value: Value, name: str) -> Value:
        """`${x:-y}` and its kin. What nobody is known to have set is taken to be unset when the text has a default for it."""
        text = value if isinstance(value, str) else ("" if not value else None)
        missing = value == UNSET or (op[0] == ":" and text == "")
        if text == UNKNOWN and self.scope.get(name) is None and name not in _ALWAYS_SET and op[-1] in "-=":
            missing = True
        if op[-1] == "+":
            if text == UNKNOWN:
                return UNKNOWN
            return UNSET if missing else self.word(rest)
        if not missing or op[-1] == "?":
            return value
        fallback = self.word(rest)
        if op[-1] == "=":
            self.scope.set(name, fallback)
        return fallback

    def word(self, rest: str) -> str:
        if self.quoted:
            return self.expander.quoted(rest.replace('"', ""), self.scope)
        word = self.expander.word(rest, self.scope)
        return Pattern(word.text) if word.glob else word.text

    def bounds(self, rest: str) -> tuple[int, int | None] | None:
        first, _, second = self.expander.quoted(rest, self.scope).partition(":")
        offset = self.number(first)
        length = self.number(second) if second else None
        return None if offset is None or (second and length is None) else (offset, length)

    def slice(self, value: list[str], rest: str) -> Value:
        bounds = self.bounds(rest)
        if bounds is None:
            return [UNKNOWN]
        offset, length = bounds
        offset = offset if offset >= 0 else max(0, len(value) + offset)
        return value[offset : None if length is None else offset + max(0, length)]

    def cut(self, text: str, rest: str) -> str:
        bounds = self.bounds(rest)
        if bounds is None:
            return UNKNOWN
        offset, length = bounds
        offset = offset if offset >= 0 else max(0, len(text) + offset)
        stop = None if length is None else offset + length if length >= 0 else len(text) + length
        return text[offset:stop]

    def change(self, op: str, rest: str, text: str) -> str:
        """Trims, replaces, slices or changes the case of one value."""
        if UNKNOWN in text:
            return UNKNOWN
        if op == ":":
            return self.cut(text, rest)
        if op[0] in "^,~":
            turn = {"^": str.upper, ",": str.lower, "~": str.swapcase}[op[0]]
            return turn(text) if len(op) == 2 else turn(text[:1]) + text[1:]
        if op[0] == "@":
            return {"@U": text.upper(), "@L": text.lower(), "@u": text[:1].upper() + text[1:]}.get(op, UNKNOWN)
        changed: str | None
        if op[0] == "/":
            old_raw, new_raw = _divide(rest)
            old = self.expander.word(old_raw, self.scope).text
            new = self.expander.word(new_raw, self.scope).text
            anchor = op[1:] if op in ("/#", "/%") else ""
            changed = pattern.replace(old, text, new, everywhere=op == "//", anchor=anchor)
            return UNKNOWN if changed is None or UNKNOWN in old else changed
        glob = self.expander.word(rest, self.scope).text
        trim = pattern.strip_prefix if op[0] == "#" else pattern.strip_suffix
        changed = trim(glob, text, longest=len(op) == 2)
        return UNKNOWN if changed is None or UNKNOWN in glob else changed


def expand(inside: str, scope: Scope, expander: "Expander", *, quoted: bool) -> tuple[Value, bool]:
    """The value of `${inside}`, and whether each element is a word of its own."""
    found = _FORM.match(inside)
    if found is None:
        return UNKNOWN, False
    name, index, op = found["name"], found["index"], found["op"] or ""
    if not op and found.end() != len(inside):
        return UNKNOWN, False
    one = _Parameter(scope, expander, quoted)
    every = name in ("@", "*") or index in ("@", "*")
    value = one.look_up(name)
    if found["indirect"]:
        value = one.indirect(value, index, inside)
        every = every and not isinstance(value, str)
    elif index is not None:
        key = scope.get(f"{name}[{index.strip(_QUOTES)}]") if scope.get(f"{name}[]") else None
        value = key if key is not None else one.element(value, index)
    if found["length"]:
        return _length(value, every), False
    if op:
        value = one.operate(op, inside[found.end() :], value, name)
    if quoted and isinstance(value, list) and (name == "*" or index == "*"):
        return expander.joined(value, scope), False
    return value, every


def _text(value: Value) -> str:
    if isinstance(value, str):
        return value
    return UNKNOWN if value else ""


def _length(value: Value, every: bool) -> str:
    if isinstance(value, list) and every:
        return UNKNOWN if any(UNKNOWN in item for item in value) else str(len(value))
    text = value[0] if isinstance(value, list) and value else _text(value)
    return UNKNOWN if UNKNOWN in text else str(len(text))


def _divide(rest: str) -> tuple[str, str]:
    """`old/new` at the first slash that is not quoted."""
    found = re.match(r"""((?:[^/\\'"]|\\.|'[^']*'|"[^"]*")*)/?(.*)""", rest, re.DOTALL)
    return (found[1], found[2]) if found else (rest, "")
