"""Tokens → statements: the grammar is tree-sitter-bash, read over the skeleton that the lexer leaves."""

import re
from functools import cache
from typing import TYPE_CHECKING

from verdikt.shell.lexer import RESERVED, SLOT, Heredoc, Lexer, TokenKind

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\[[^\]]*\])?(\+?=)", re.DOTALL)
_REDIRECT = re.compile(r"(\d+|\{\w+\})?(.+)")
_SEPARATORS = frozenset((";", "\n", "&", "&&", "||", "|", "|&"))
_DEEPEST = 60

RawRedirect = tuple[str, int, str, Heredoc | None]
RawAssignment = tuple[str, str, str, str]
"""Name, subscript, `=` or `+=`, value as written."""


class Simple:
    """A command as written: assignments, words, redirections. `test` holds the text of a `[[ … ]]` or `(( … ))`."""

    __slots__ = ("assignments", "end", "redirects", "start", "test", "words")

    def __init__(self) -> None:
        self.assignments: list[RawAssignment] = []
        self.words: list[str] = []
        self.redirects: list[RawRedirect] = []
        self.test = ""
        self.start = 0
        self.end = 0


class Sequence:
    """Statements one after another; `joins[i]` stands after `items[i]`: `;`, `&`, `&&`, `||` or nothing."""

    __slots__ = ("items", "joins")

    def __init__(self, items: list["Statement"], joins: list[str]) -> None:
        self.items = items
        self.joins = joins


class Piped:
    """Statements that feed each other."""

    __slots__ = ("stages",)

    def __init__(self, stages: list["Statement"]) -> None:
        self.stages = stages


class Group:
    """`{ … }`, or `( … )` when `subshell`; also any compound statement with redirections."""

    __slots__ = ("body", "redirects", "start", "subshell")

    def __init__(self, body: "Statement", *, subshell: bool, redirects: list[RawRedirect], start: int) -> None:
        self.body = body
        self.subshell = subshell
        self.redirects = redirects
        self.start = start


class Branch:
    """`if` and `case`: what is always looked at, and the bodies of which one may run."""

    __slots__ = ("bodies", "subject", "tests", "words")

    def __init__(self) -> None:
        self.subject = ""
        self.words: list[list[str]] = []
        self.tests: list[Statement] = []
        self.bodies: list[Statement] = []


class Loop:
    """`for`, `select`, `while`, `until`; `values` are the words of a `for`, None when it takes none from the text."""

    __slots__ = ("body", "condition", "name", "source", "values")

    def __init__(self, name: str, values: list[str] | None, condition: "Statement | None", body: "Statement") -> None:
        self.name = name
        self.values = values
        self.condition = condition
        self.body = body
        self.source = ""


class Function:
    """A function definition."""

    __slots__ = ("body", "name")

    def __init__(self, name: str, body: "Statement") -> None:
        self.name = name
        self.body = body


Statement = Simple | Sequence | Piped | Group | Branch | Loop | Function


@cache
def _parser() -> "Parser":
    from tree_sitter import Language, Parser
    from tree_sitter_bash import language

    return Parser(Language(language()))


def parse(text: str) -> tuple[Statement, list[str]]:
    """What a text says, and what is wrong with it in words. A text that the grammar refuses still gives every command in it."""
    lexer = Lexer(text)
    problems = lexer.problems
    if not lexer.compound:
        return _Flat(lexer, problems).sequence(), problems
    tree = _parser().parse(lexer.skeleton.encode())
    root = tree.root_node
    if root.has_error:
        if not problems:
            problems.append(_complaint(lexer, root))
        return _Flat(lexer, problems, broken=True).sequence(), problems
    return _Builder(lexer, problems).statements(root.children, 0), problems


def _complaint(lexer: Lexer, root: "Node") -> str:
    node = root
    while not node.is_error and not node.is_missing:
        inner = next((child for child in node.children if child.has_error or child.is_missing), None)
        if inner is None:
            break
        node = inner
    slot = min(node.start_byte // SLOT, len(lexer.places) - 1)
    place = min(lexer.places[slot], len(lexer.tokens) - 1)
    return f"the shell would not accept this near `{lexer.tokens[place][1][:40].strip() or 'the end of a line'}`"


def _simple(lexer: Lexer, first: int) -> tuple[Simple, int]:
    """The simple command that begins at a token, and the index of the token after it."""
    simple = Simple()
    tokens = lexer.tokens
    words = simple.words
    index, count = first, len(tokens)
    simple.start = simple.end = tokens[first][2] if first < count else 0
    while index < count:
        kind, raw, _, stop, _ = tokens[index]
        if kind == TokenKind.WORD:
            if not words and "=" in raw and (found := _ASSIGNMENT.match(raw)):
                simple.assignments.append((found[1], found[2] or "", found[3], raw[found.end() :]))
            else:
                words.append(raw)
        elif kind == TokenKind.OPERATOR:
            break
        elif kind == TokenKind.REDIRECT:
            index += _redirect(lexer, index, simple.redirects)
            stop = tokens[index][3]
        else:
            simple.test = raw
        simple.end = stop
        index += 1
    return simple, index


def _redirect(lexer: Lexer, index: int, redirects: list[RawRedirect]) -> int:
    """Reads the redirection at a token; says how many further tokens it took."""
    _, raw, _, _, document = lexer.tokens[index]
    found = _REDIRECT.match(raw)
    prefix, op = (found[1], found[2]) if found else (None, raw)
    fd = int(prefix) if prefix and prefix.isdigit() and len(prefix) < 6 else (0 if op.startswith("<") else 1)
    following = lexer.tokens[index + 1] if index + 1 < len(lexer.tokens) else None
    if following is None or following[0] != TokenKind.TARGET:
        redirects.append((op, fd, "", document))
        return 0
    redirects.append((op, fd, following[1], document))
    return 1


class _Flat:
    """Lists and pipelines, which need no grammar; when `broken`, whatever commands a refused text holds."""

    def __init__(self, lexer: Lexer, problems: list[str], broken: bool = False) -> None:
        self.lexer = lexer
        self.problems = problems
        self.broken = broken

    def sequence(self) -> Statement:
        lexer, tokens = self.lexer, self.lexer.tokens
        items: list[Statement] = []
        joins: list[str] = []
        stages: list[Statement] = []
        index, count = 0, len(tokens)
        while index < count:
            kind, raw, *_ = tokens[index]
            if self.broken and kind == TokenKind.WORD and raw in RESERVED:
                index += 1
                continue
            if kind != TokenKind.OPERATOR:
                simple, index = _simple(lexer, index)
                stages.append(simple)
                continue
            index += 1
            if raw in ("|", "|&"):
                if not stages:
                    self._complain(raw)
                continue
            if stages:
                items.append(stages[0] if len(stages) == 1 else Piped(stages))
                joins.append(";" if raw == "\n" or raw not in _SEPARATORS else raw)
                stages = []
            elif raw != "\n" and not (items and joins[-1] in ("&&", "||") and raw == "\n"):
                self._complain(raw)
        if stages:
            items.append(stages[0] if len(stages) == 1 else Piped(stages))
            joins.append("")
        elif joins and joins[-1] in ("&&", "||"):
            self._complain(joins[-1])
        return items[0] if len(items) == 1 and joins[0] in ("", ";") else Sequence(items, joins)

    def _complain(self, op: str) -> None:
        if not self.problems:
            self.problems.append(f"the shell would not accept this near `{op}`")


class _Builder:
    """Statements from the grammar's tree, with the words taken from the tokens."""

    def __init__(self, lexer: Lexer, problems: list[str]) -> None:
        self.lexer = lexer
        self.problems = problems
        self.places = lexer.places

    def statements(self, nodes: "list[Node]", depth: int) -> Statement:
        items: list[Statement] = []
        joins: list[str] = []
        for node in nodes:
            if node.is_named:
                self._add(node, items, joins, depth)
            elif items and (kind := node.type) in (";", "\n", "&"):
                joins[-1] = "&" if kind == "&" else ";"
        return items[0] if len(items) == 1 and joins[0] in ("", ";") else Sequence(items, joins)

    def _add(self, node: "Node", items: list[Statement], joins: list[str], depth: int) -> None:
        # `a && b && c` leans left in the tree, one level for each join: unrolled, since a line may hold thousands.
        tail: list[tuple[Node, str]] = []
        while node.type == "list":
            left, join, right = node.children
            tail.append((right, join.type))
            node = left
        items.append(self.statement(node, depth))
        joins.append("")
        for right, join_type in reversed(tail):
            joins[-1] = join_type
            items.append(self.statement(right, depth))
            joins.append("")

    def statement(self, node: "Node", depth: int) -> Statement:
        kind = node.type
        if kind == "command":
            return _simple(self.lexer, self._place(node))[0]
        if depth > _DEEPEST:
            self.problems.append("it is nested too deeply to follow")
            return Sequence([], [])
        if kind == "list":
            return self.statements([node], depth + 1)
        if kind == "pipeline":
            return Piped([self.statement(child, depth + 1) for child in node.children if child.is_named])
        if kind == "function_definition":
            return self._function(node, depth)
        built = self._compound(node, kind, depth + 1)
        redirects = self._trailing(node)
        if redirects and isinstance(built, Group):
            built.redirects = redirects
        elif redirects:
            return Group(built, subshell=False, redirects=redirects, start=self._start(node))
        return built

    def _compound(self, node: "Node", kind: str, depth: int) -> Statement:
        if kind in ("compound_statement", "subshell"):
            body = self.statements(node.children[1:-1], depth)
            return Group(body, subshell=kind == "subshell", redirects=[], start=self._start(node))
        if kind == "if_statement":
            return self._if(node, depth)
        if kind == "case_statement":
            return self._case(node, depth)
        if kind in ("for_statement", "c_style_for_statement", "while_statement"):
            return self._loop(node, kind, depth)
        return self.statements(node.children, depth)

    def _place(self, node: "Node") -> int:
        return self.places[node.start_byte // SLOT]

    def _start(self, node: "Node") -> int:
        return self.lexer.tokens[self._place(node)][2]

    def _trailing(self, node: "Node") -> list[RawRedirect]:
        """The redirections after a compound statement."""
        redirects: list[RawRedirect] = []
        tokens = self.lexer.tokens
        index = self.places[(node.end_byte - 1) // SLOT] + 1
        while index < len(tokens) and tokens[index][0] == TokenKind.REDIRECT:
            index += _redirect(self.lexer, index, redirects) + 1
        return redirects

    def _function(self, node: "Node", depth: int) -> Statement:
        name = node.child_by_field_name("name")
        body = node.child_by_field_name("body")
        if name is None or body is None:
            return self.statements(node.children, depth + 1)
        return Function(self.lexer.tokens[self._place(name)][1], self.statement(body, depth + 1))

    def _if(self, node: "Node", depth: int) -> Branch:
        branch = Branch()
        part: list[Node] = []
        into = branch.tests
        for child in (piece for clause in node.children for piece in self._clause(clause)):
            if child.type in ("if", "elif", "then", "else", "fi"):
                if part:
                    into.append(self.statements(part, depth))
                part = []
                into = branch.tests if child.type in ("if", "elif") else branch.bodies
            else:
                part.append(child)
        return branch

    @staticmethod
    def _clause(node: "Node") -> "list[Node]":
        return node.children if node.type in ("elif_clause", "else_clause") else [node]

    def _case(self, node: "Node", depth: int) -> Branch:
        branch = Branch()
        subject = node.child_by_field_name("value")
        branch.subject = self.lexer.tokens[self._place(subject)][1] if subject else ""
        for item in node.children:
            if item.type != "case_item":
                continue
            patterns = item.children_by_field_name("value")
            branch.words.append([self.lexer.tokens[self._place(pattern)][1] for pattern in patterns])
            known = {pattern.id for pattern in patterns}
            branch.bodies.append(self.statements([child for child in item.children if child.id not in known], depth))
        return branch

    def _loop(self, node: "Node", kind: str, depth: int) -> Loop:
        body_node = node.child_by_field_name("body")
        body = self.statements(body_node.children, depth) if body_node else Sequence([], [])
        tokens = self.lexer.tokens
        if kind == "while_statement":
            loop = Loop("", None, self.statements(node.children_by_field_name("condition"), depth), body)
        elif kind == "c_style_for_statement":
            loop = Loop("", None, None, body)
        else:
            index = self._place(node) + 1
            name = tokens[index][1]
            values: list[str] | None = None
            while index + 1 < len(tokens) and tokens[index + 1][0] == TokenKind.WORD and tokens[index + 1][1] != "do":
                index += 1
                if values is None and tokens[index][1] == "in":
                    values = []
                elif values is not None:
                    values.append(tokens[index][1])
            loop = Loop(name, values, None, body)
        loop.source = self.lexer.text[
            tokens[self._place(node)][2] : tokens[self.places[(node.end_byte - 1) // SLOT]][3]
        ]
        return loop
