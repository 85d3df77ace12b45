"""Shell arithmetic over constants."""

import re
from collections.abc import Callable

from verdikt.model.regex import regex

_TOKEN = regex(r"\s*(\d+#\w+|0[xX][0-9a-fA-F]+|\d+|[A-Za-z_]\w*|\*\*|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%<>&|^!~?:(),])")
_LEVELS: tuple[tuple[str, ...], ...] = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!="),
    ("<", ">", "<=", ">="),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
    ("**",),
)
_HUGE = 1 << 63


def evaluate(text: str, look_up: Callable[[str], str]) -> int | None:
    """The value of an expression, or None when it is not constant, assigns something or is not arithmetic."""
    if len(text) > 400:
        return None
    tokens: list[str] = []
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            if text[at:].strip():
                return None
            break
        tokens.append(found[1])
        at = found.end()
    if not tokens:
        return 0
    try:
        reader = _Sum(tokens, look_up)
        value = reader.ternary(0)
    except (ValueError, ZeroDivisionError, OverflowError):
        return None
    return value if reader.at == len(tokens) else None


class _Sum:
    def __init__(self, tokens: list[str], look_up: Callable[[str], str]) -> None:
        self.tokens = tokens
        self.look_up = look_up
        self.at = 0

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    def ternary(self, depth: int) -> int:
        if depth > 16:
            raise ValueError("too deep")
        condition = self.binary(0, depth)
        if self.peek() != "?":
            return condition
        self.take()
        yes = self.ternary(depth + 1)
        if self.take() != ":":
            raise ValueError("`?` without `:`")
        no = self.ternary(depth + 1)
        return yes if condition else no

    def binary(self, level: int, depth: int) -> int:
        if level == len(_LEVELS):
            return self.unary(depth)
        left = self.binary(level + 1, depth)
        while self.peek() in _LEVELS[level]:
            left = _apply(self.take(), left, self.binary(level + 1, depth))
        return left

    def unary(self, depth: int) -> int:
        if depth > 16:
            raise ValueError("too deep")
        token = self.take()
        if token in ("-", "+", "!", "~"):
            value = self.unary(depth + 1)
            return {"-": -value, "+": value, "!": int(not value), "~": ~value}[token]
        if token == "(":
            value = self.ternary(depth + 1)
            if self.take() != ")":
                raise ValueError("`(` without `)`")
            return value
        return self.number(token, depth)

    def number(self, token: str, depth: int) -> int:
        if "#" in token:
            base, digits = token.split("#", 1)
            return int(digits, int(base))
        if token[:1].isdigit():
            if token[:2] in ("0x", "0X"):
                return int(token, 16)
            return int(token, 8) if token[0] == "0" else int(token)
        if not token[:1].isidentifier():
            raise ValueError(token)
        value = self.look_up(token).strip() or "0"
        return self.number(value, depth + 1) if re.fullmatch(r"\w+", value) and depth < 8 else int(value)


def _apply(op: str, left: int, right: int) -> int:
    if op in ("/", "%") and right:
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return quotient if op == "/" else left - quotient * right
    if (op == "**" and not 0 <= right <= 64) or (op in ("<<", ">>") and not 0 <= right < 64):
        raise ValueError(op)
    results: dict[str, Callable[[], int]] = {
        "||": lambda: int(bool(left or right)),
        "&&": lambda: int(bool(left and right)),
        "|": lambda: left | right,
        "^": lambda: left ^ right,
        "&": lambda: left & right,
        "==": lambda: int(left == right),
        "!=": lambda: int(left != right),
        "<": lambda: int(left < right),
        ">": lambda: int(left > right),
        "<=": lambda: int(left <= right),
        ">=": lambda: int(left >= right),
        "<<": lambda: left << right,
        ">>": lambda: left >> right,
        "+": lambda: left + right,
        "-": lambda: left - right,
        "*": lambda: left * right,
        "/": lambda: left // right,
        "%": lambda: left % right,
        "**": lambda: int(left**right),
    }
    value = results[op]()
    return (value + _HUGE) % (2 * _HUGE) - _HUGE
