"""Expansion of `${…}`: defaults, trimming, replacing, slicing, case, indirection, arrays."""

import re
from typing import TYPE_CHECKING

from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell import wildcard
from verdikt.shell.arithmetic import evaluate_arithmetic
from verdikt.shell.command import UNKNOWN
from verdikt.shell.evaluated_text import walk_arithmetic_names
from verdikt.shell.scope import UNSET, Scope, VariableValue, WildcardValue

if TYPE_CHECKING:
    from verdikt.shell.word_expansion import Expander

_PARAMETER_FORM = compile_lazily(
    r"(?P<length>#(?=[A-Za-z_0-9@*]))?(?P<indirect>!)?(?P<name>[A-Za-z_]\w*|\d+|[@*#?$!-])"
    r"(?:\[(?P<index>[^\]]{0,200})\])?"
    r"(?P<op>:?[-=+?]|##?|%%?|//|/#|/%|/|\^\^?|,,?|~~?|@[A-Za-z]|:)?",
    re.DOTALL,
)
_QUOTES = "\"'"
# For these the default of `${HOME:-/}` is hardly ever used, so their value stays unknown.
_ALWAYS_SET = frozenset(("PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "HOSTNAME", "LANG", "TERM", "UID", "EUID"))


class _ParameterExpansion:
    """One `${…}` under expansion."""

    __slots__ = ("expander", "quoted", "scope")

    def __init__(self, scope: Scope, expander: "Expander", quoted: bool) -> None:
        self.scope = scope
        self.expander = expander
        self.quoted = quoted

    def look_up(self, name: str) -> VariableValue:
        return self.expander.look_up(name, self.scope)

    def evaluate_number(self, text: str) -> int | None:
        walk_arithmetic_names(self.expander, text, self.scope)
        return evaluate_arithmetic(
            self.expander.expand_quoted(text, self.scope), lambda name: _to_text(self.look_up(name))
        )

    def resolve_indirect(self, value: VariableValue, index: str | None, inside: str) -> VariableValue:
        if inside.endswith(("*", "@")) and index is None:
            # `${!prefix*}` lists the names of variables.
            return UNKNOWN
        if index in ("@", "*"):
            return [str(number) for number in range(len(value))] if isinstance(value, list) else UNKNOWN
        if isinstance(value, str) and re.fullmatch(r"[A-Za-z_]\w*", value):
            return self.look_up(value)
        return UNKNOWN

    def get_element(self, value: VariableValue, index: str) -> VariableValue:
        if index in ("@", "*"):
            return value if isinstance(value, list) else [value] if isinstance(value, str) else UNKNOWN
        number = self.evaluate_number(index)
        if isinstance(value, list):
            if number is None or any(UNKNOWN in item for item in value):
                return UNKNOWN
            return value[number] if -len(value) <= number < len(value) else UNSET
        return value if number == 0 else UNKNOWN if value else UNSET

    def apply_operator(self, op: str, operand: str, value: VariableValue, name: str) -> VariableValue:
        if op[-1] in "-=+?" and len(op) <= 2:
            return self.apply_default(op, operand, value, name)
        if isinstance(value, list):
            return (
                self.slice_array(value, operand)
                if op == ":"
                else [self.transform_text(op, operand, item) for item in value]
            )
        return self.transform_text(op, operand, _to_text(value))

    def apply_default(self, op: str, operand: str, value: VariableValue, name: str) -> VariableValue:
        """Apply `${x:-y}` or one of its variants; a variable that is not known to be set counts as unset here.

        The author of a default expects the variable to be unset, so the default is the likelier value.
        """
        text = value if isinstance(value, str) else ("" if not value else None)
        missing = value == UNSET or (op[0] == ":" and text == "")
        if text == UNKNOWN and self.scope.get_variable(name) is None and name not in _ALWAYS_SET and op[-1] in "-=":
            missing = True
        if op[-1] == "+":
            if text == UNKNOWN:
                return UNKNOWN
            return UNSET if missing else self.expand_operand(operand)
        if not missing or op[-1] == "?":
            return value
        fallback = self.expand_operand(operand)
        if op[-1] == "=":
            self.scope.set_variable(name, fallback)
        return fallback

    def expand_operand(self, operand: str) -> str:
        if self.quoted:
            return self.expander.expand_quoted(operand.replace('"', ""), self.scope)
        word = self.expander.expand_word(operand, self.scope)
        return WildcardValue(word.text) if word.glob else word.text

    def parse_bounds(self, operand: str) -> tuple[int, int | None] | None:
        first, _, second = self.expander.expand_quoted(operand, self.scope).partition(":")
        offset = self.evaluate_number(first)
        length = self.evaluate_number(second) if second else None
        return None if offset is None or (second and length is None) else (offset, length)

    def slice_array(self, value: list[str], operand: str) -> VariableValue:
        bounds = self.parse_bounds(operand)
        if bounds is None:
            return [UNKNOWN]
        offset, length = bounds
        offset = offset if offset >= 0 else max(0, len(value) + offset)
        return value[offset : None if length is None else offset + max(0, length)]

    def slice_text(self, text: str, operand: str) -> str:
        bounds = self.parse_bounds(operand)
        if bounds is None:
            return UNKNOWN
        offset, length = bounds
        offset = offset if offset >= 0 else max(0, len(text) + offset)
        stop = None if length is None else offset + length if length >= 0 else len(text) + length
        return text[offset:stop]

    def transform_text(self, op: str, operand: str, text: str) -> str:
        """Trim, replace, slice or change the case of one value."""
        if UNKNOWN in text:
            return UNKNOWN
        if op == ":":
            return self.slice_text(text, operand)
        if op[0] in "^,~":
            turn = {"^": str.upper, ",": str.lower, "~": str.swapcase}[op[0]]
            return turn(text) if len(op) == 2 else turn(text[:1]) + text[1:]
        if op == "@P":
            # As a prompt: the commands in the value run.
            return self.expander.expand_quoted(text, self.scope)
        if op[0] == "@":
            return {"@U": text.upper(), "@L": text.lower(), "@u": text[:1].upper() + text[1:]}.get(op, UNKNOWN)
        changed: str | None
        if op[0] == "/":
            old_raw, new_raw = _split_replacement(operand)
            old = self.expander.expand_word(old_raw, self.scope).text
            new = self.expander.expand_word(new_raw, self.scope).text
            anchor = op[1:] if op in ("/#", "/%") else ""
            changed = wildcard.replace_matches(old, text, new, everywhere=op == "//", anchor=anchor)
            return UNKNOWN if changed is None or UNKNOWN in old else changed
        glob = self.expander.expand_word(operand, self.scope).text
        trim = wildcard.strip_prefix if op[0] == "#" else wildcard.strip_suffix
        changed = trim(glob, text, longest=len(op) == 2)
        return UNKNOWN if changed is None or UNKNOWN in glob else changed


def expand_parameter(inside: str, scope: Scope, expander: "Expander", *, quoted: bool) -> tuple[VariableValue, bool]:
    """Return the value of `${inside}`, and whether each element is a word of its own."""
    form = _PARAMETER_FORM.match(inside)
    if form is None:
        return UNKNOWN, False
    name, index, op = form["name"], form["index"], form["op"] or ""
    if not op and form.end() != len(inside):
        return UNKNOWN, False
    expansion = _ParameterExpansion(scope, expander, quoted)
    is_every_element = name in ("@", "*") or index in ("@", "*")
    value = expansion.look_up(name)
    if form["indirect"]:
        value = expansion.resolve_indirect(value, index, inside)
        is_every_element = is_every_element and not isinstance(value, str)
    elif index is not None:
        key = scope.get_variable(f"{name}[{index.strip(_QUOTES)}]") if scope.get_variable(f"{name}[]") else None
        value = key if key is not None else expansion.get_element(value, index)
    if form["length"]:
        return _measure_length(value, is_every_element), False
    if op:
        value = expansion.apply_operator(op, inside[form.end() :], value, name)
    if quoted and isinstance(value, list) and (name == "*" or index == "*"):
        return expander.join_values(value, scope), False
    return value, is_every_element


def _to_text(value: VariableValue) -> str:
    if isinstance(value, str):
        return value
    return UNKNOWN if value else ""


def _measure_length(value: VariableValue, counts_elements: bool) -> str:
    if isinstance(value, list) and counts_elements:
        return UNKNOWN if any(UNKNOWN in item for item in value) else str(len(value))
    text = value[0] if isinstance(value, list) and value else _to_text(value)
    return UNKNOWN if UNKNOWN in text else str(len(text))


def _split_replacement(operand: str) -> tuple[str, str]:
    """Split `old/new` at the first slash that is not quoted."""
    parts = re.match(r"""((?:[^/\\'"]|\\.|'[^']*'|"[^"]*")*)/?(.*)""", operand, re.DOTALL)
    return (parts[1], parts[2]) if parts else (operand, "")
