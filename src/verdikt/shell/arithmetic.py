"""Evaluator of shell arithmetic over constants."""

import re
from collections.abc import Callable

from verdikt.model.lazy_regex import compile_lazily

_TOKEN = compile_lazily(
    r"\s*(\d+#\w+|0[xX][0-9a-fA-F]+|\d+|[A-Za-z_]\w*|\*\*|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%<>&|^!~?:(),])"
)
_PRECEDENCE_LEVELS: tuple[tuple[str, ...], ...] = (
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
_INT64_LIMIT = 1 << 63


def evaluate_arithmetic(text: str, look_up: Callable[[str], str]) -> int | None:
    """Return the value of an expression; None when it is not constant, assigns something or is not arithmetic."""
    # The evaluator recurses; real expressions are far shorter.
    if len(text) > 400:
        return None
    tokens: list[str] = []
    at = 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            if text[at:].strip():
                return None
            break
        tokens.append(token[1])
        at = token.end()
    if not tokens:
        return 0
    try:
        reader = _ArithmeticEvaluator(tokens, look_up)
        value = reader.evaluate_ternary(0)
    except (ValueError, ZeroDivisionError, OverflowError):
        return None
    return value if reader.position == len(tokens) else None


class _ArithmeticEvaluator:
    def __init__(self, tokens: list[str], look_up: Callable[[str], str]) -> None:
        self.tokens = tokens
        self.look_up = look_up
        self.position = 0

    def peek_token(self) -> str:
        return self.tokens[self.position] if self.position < len(self.tokens) else ""

    def take_token(self) -> str:
        token = self.peek_token()
        self.position += 1
        return token

    def evaluate_ternary(self, depth: int) -> int:
        if depth > 16:
            raise ValueError("too deep")
        condition = self.evaluate_binary(0, depth)
        if self.peek_token() != "?":
            return condition
        self.take_token()
        yes = self.evaluate_ternary(depth + 1)
        if self.take_token() != ":":
            raise ValueError("`?` without `:`")
        no = self.evaluate_ternary(depth + 1)
        return yes if condition else no

    def evaluate_binary(self, level: int, depth: int) -> int:
        if level == len(_PRECEDENCE_LEVELS):
            return self.evaluate_unary(depth)
        left = self.evaluate_binary(level + 1, depth)
        while self.peek_token() in _PRECEDENCE_LEVELS[level]:
            left = _apply_operator(self.take_token(), left, self.evaluate_binary(level + 1, depth))
        return left

    def evaluate_unary(self, depth: int) -> int:
        if depth > 16:
            raise ValueError("too deep")
        token = self.take_token()
        if token in ("-", "+", "!", "~"):
            value = self.evaluate_unary(depth + 1)
            return {"-": -value, "+": value, "!": int(not value), "~": ~value}[token]
        if token == "(":
            value = self.evaluate_ternary(depth + 1)
            if self.take_token() != ")":
                raise ValueError("`(` without `)`")
            return value
        return self.resolve_number(token, depth)

    def resolve_number(self, token: str, depth: int) -> int:
        if "#" in token:
            base, digits = token.split("#", 1)
            return int(digits, int(base))
        if token[:1].isdigit():
            if token[:2] in ("0x", "0X"):
                return int(token, 16)
            # A leading zero means octal, as in `$((010))`.
            return int(token, 8) if token[0] == "0" else int(token)
        if not token[:1].isidentifier():
            raise ValueError(token)
        value = self.look_up(token).strip() or "0"
        return self.resolve_number(value, depth + 1) if re.fullmatch(r"\w+", value) and depth < 8 else int(value)


def _apply_operator(op: str, left: int, right: int) -> int:
    # The shell divides as C does, towards zero; Python rounds down.
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
    # `9**9**9` would fill the memory; the shell wraps around at 64 bits.
    value = results[op]()
    return (value + _INT64_LIMIT) % (2 * _INT64_LIMIT) - _INT64_LIMIT
