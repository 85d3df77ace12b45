"""Syntax tree of a shell text, before anything in it is expanded."""

import re

from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.lexer import Heredoc

ASSIGNMENT = compile_lazily(r"([A-Za-z_]\w*)(\[[^\]]{0,200}\])?(\+?=)", re.DOTALL)
_REDIRECT_OPERATOR = compile_lazily(r"(\d+|\{\w+\})?(.+)")

RawRedirect = tuple[str, int, str, Heredoc | None]
RawAssignment = tuple[str, str, str, str]
"""Name, subscript, `=` or `+=`, value as written."""


class SimpleCommand:
    """Simple command as written; `test_text` is the source of a `[[ … ]]` or `(( … ))`."""

    __slots__ = ("assignments", "end", "redirects", "start", "test_text", "words")

    def __init__(self, words: list[str], start: int = 0, end: int = 0) -> None:
        self.assignments: list[RawAssignment] = []
        self.words = words
        self.redirects: list[RawRedirect] = []
        self.test_text = ""
        self.start = start
        self.end = end


class StatementList:
    """Statements in sequence; `operators[i]` follows `items[i]`: `;`, `&`, `&&`, `||` or nothing."""

    __slots__ = ("items", "operators")

    def __init__(self, items: list["Statement"], operators: list[str]) -> None:
        self.items = items
        self.operators = operators


class CommandPipeline:
    """Statements of which each reads the output of the one before."""

    __slots__ = ("stages",)

    def __init__(self, stages: list["Statement"]) -> None:
        self.stages = stages


class CommandGroup:
    """`{ … }`, or `( … )` when `is_subshell`; also any compound statement with redirections."""

    __slots__ = ("body", "is_subshell", "redirects", "start")

    def __init__(self, body: "Statement", *, is_subshell: bool, redirects: list[RawRedirect], start: int) -> None:
        self.body = body
        self.is_subshell = is_subshell
        self.redirects = redirects
        self.start = start


class Branch:
    """`if` and `case`: tests that always run, and bodies of which one may run."""

    __slots__ = ("bodies", "patterns", "subject", "tests")

    def __init__(self) -> None:
        self.subject = ""
        self.patterns: list[list[str]] = []
        self.tests: list[Statement] = []
        self.bodies: list[Statement] = []


class Loop:
    """`for`, `select`, `while`, `until`; `values` are the words after `in`, None when there is no `in`."""

    __slots__ = ("body", "condition", "name", "source", "values")

    def __init__(self, name: str, values: list[str] | None, condition: "Statement | None", body: "Statement") -> None:
        self.name = name
        self.values = values
        self.condition = condition
        self.body = body
        self.source = ""


class FunctionDefinition:
    """Function definition."""

    __slots__ = ("body", "name")

    def __init__(self, name: str, body: "Statement") -> None:
        self.name = name
        self.body = body


Statement = SimpleCommand | StatementList | CommandPipeline | CommandGroup | Branch | Loop | FunctionDefinition


def join_statements(items: list[Statement], operators: list[str]) -> Statement:
    """Return a list of statements; a single one is returned as it is."""
    return items[0] if len(items) == 1 and operators[0] in ("", ";") else StatementList(items, operators)


def parse_redirection(raw: str, target: str, heredoc: Heredoc | None) -> RawRedirect:
    """Return a redirection from its operator as written, with or without a descriptor before it."""
    parts = _REDIRECT_OPERATOR.match(raw)
    prefix, op = (parts[1], parts[2]) if parts else (None, raw)
    # A longer number is no descriptor. `{name}>file` lets the shell choose one: the name stays before the operator.
    fd = int(prefix) if prefix and prefix.isdigit() and len(prefix) < 6 else (0 if op.startswith("<") else 1)
    return (prefix + op if prefix and prefix[0] == "{" else op), fd, target, heredoc
