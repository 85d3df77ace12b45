"""Tokens → statements: the grammar is tree-sitter-bash, read over the skeleton that the lexer leaves."""

from functools import cache
from typing import TYPE_CHECKING

from verdikt.shell import line
from verdikt.shell.lexer import MISPLACED, OPERATOR, REDIRECT, RESERVED, TARGET, WORD, Lexer
from verdikt.shell.statement import (
    ASSIGNMENT,
    Branch,
    Function,
    Group,
    Loop,
    Piped,
    RawRedirect,
    Sequence,
    Simple,
    Statement,
    redirection,
    sequence,
)

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Parser

_DEEPEST = 60
_HEADERS = frozenset(("for", "select", "case", "function"))


@cache
def _language() -> "Language":
    from tree_sitter import Language
    from tree_sitter_bash import language

    return Language(language())


def _parser() -> "Parser":
    from tree_sitter import Parser

    return Parser(_language())  # one for each text: threads must not share it, and it costs next to nothing


def parse(text: str) -> tuple[Statement, list[str]]:
    """What a text says, and what is wrong with it in words. A text that the grammar refuses still gives every command in it."""
    if (read := line.read(text)) is not None:
        return read
    lexer = Lexer(text)
    problems = lexer.problems
    tree = _parser().parse(lexer.skeleton.encode())
    root = tree.root_node
    if root.has_error:
        if not problems:
            problems.append(_complaint(lexer, root))
        return _Broken(lexer).sequence(), problems
    return _Builder(lexer, problems).statements(root.children, 0), problems


def _complaint(lexer: Lexer, root: "Node") -> str:
    node = root
    while not node.is_error and not node.is_missing:
        inner = next((child for child in node.children if child.has_error or child.is_missing), None)
        if inner is None:
            break
        node = inner
    slot = lexer.skeleton.count(" ", 0, node.start_byte)
    place = min(lexer.places[min(slot, len(lexer.places) - 1)], len(lexer.tokens) - 1)
    return f"the shell would not accept this near `{lexer.tokens[place][1][:40].strip() or 'the end of a line'}`"


def _simple(lexer: Lexer, first: int) -> tuple[Simple, int]:
    """The simple command that begins at a token, and the index of the token after it."""
    tokens = lexer.tokens
    words: list[str] = []
    index, count = first, len(tokens)
    start = tokens[first][2] if first < count else 0
    simple = Simple(words, start, start)
    while index < count:
        kind, raw, _, stop, _ = tokens[index]
        if kind == WORD:
            if not words and "=" in raw and (found := ASSIGNMENT.match(raw)):
                simple.assignments.append((found[1], found[2] or "", found[3], raw[found.end() :]))
            else:
                words.append(raw)
        elif kind == OPERATOR:
            break
        elif kind == REDIRECT:
            index += _redirect(lexer, index, simple.redirects)
            stop = tokens[index][3]
        else:
            simple.test = raw
        simple.end = stop
        index += 1
    return simple, index


def _redirect(lexer: Lexer, index: int, redirects: list[RawRedirect]) -> int:
    """Reads the redirection at a token; says how many further tokens it took."""
    _, raw, _, _, heredoc = lexer.tokens[index]
    following = lexer.tokens[index + 1] if index + 1 < len(lexer.tokens) else None
    if following is None or following[0] != TARGET:
        redirects.append(redirection(raw, "", heredoc))
        return 0
    redirects.append(redirection(raw, following[1], heredoc))
    return 1


class _Broken:
    """Whatever commands a refused text holds, one after another."""

    def __init__(self, lexer: Lexer) -> None:
        self.lexer = lexer

    def sequence(self) -> Statement:
        tokens = self.lexer.tokens
        items: list[Statement] = []
        joins: list[str] = []
        stages: list[Statement] = []
        index, count = 0, len(tokens)
        while index < count:
            kind, raw, *_ = tokens[index]
            if kind == WORD and raw in RESERVED:
                index += 1
                while raw in _HEADERS and index < count and tokens[index][0] == WORD:
                    index += 1
            elif kind != OPERATOR:
                simple, index = _simple(self.lexer, index)
                stages.append(simple)
            else:
                index += 1
                if raw not in ("|", "|&") and stages:
                    items.append(stages[0] if len(stages) == 1 else Piped(stages))
                    joins.append(raw if raw in ("&", "&&", "||") else ";")
                    stages = []
        if stages:
            items.append(stages[0] if len(stages) == 1 else Piped(stages))
            joins.append("")
        return sequence(items, joins)


class _Builder:
    """Statements from the grammar's tree, with the words taken from the tokens."""

    def __init__(self, lexer: Lexer, problems: list[str]) -> None:
        self.lexer = lexer
        self.problems = problems
        self.starts: dict[int, int] = {}  # where a token begins in the skeleton → the token
        self.ends: dict[int, int] = {}
        at = 0
        for slot, place in zip(lexer.slots, lexer.places, strict=True):
            self.starts[at] = place
            at += len(slot) + 1
            self.ends[at - 1] = place

    def statements(self, nodes: "list[Node]", depth: int) -> Statement:
        items: list[Statement] = []
        joins: list[str] = []
        for node in nodes:
            if node.is_named:
                self._add(node, items, joins, depth)
            elif items and (kind := node.type) in (";", "\n", "&"):
                joins[-1] = "&" if kind == "&" else ";"
        return sequence(items, joins)

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
            simple = _simple(self.lexer, self._place(node))[0]
            if simple.words and simple.words[0] in MISPLACED and not simple.assignments:
                # The grammar takes it for a name.
                self.problems.append(f"the shell would not accept this near `{simple.words[0]}`")
            elif node.child_count > 1 and (last := node.children[-1]).type == "subshell":
                # The grammar allows it, bash does not; fish and PowerShell would run it.
                self.problems.append("the shell would not accept this near `(`")
                return sequence([simple, self.statement(last, depth + 1)], [";", ""])
            return simple
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
        return self.starts[node.start_byte]

    def _start(self, node: "Node") -> int:
        return self.lexer.tokens[self._place(node)][2]

    def _trailing(self, node: "Node") -> list[RawRedirect]:
        """The redirections after a compound statement."""
        redirects: list[RawRedirect] = []
        tokens = self.lexer.tokens
        index = self.ends[node.end_byte] + 1
        while index < len(tokens) and tokens[index][0] == REDIRECT:
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
            while index + 1 < len(tokens) and tokens[index + 1][0] == WORD and tokens[index + 1][1] != "do":
                index += 1
                if values is None and tokens[index][1] == "in":
                    values = []
                elif values is not None:
                    values.append(tokens[index][1])
            loop = Loop(name, values, None, body)
        loop.source = self.lexer.text[tokens[self._place(node)][2] : tokens[self.ends[node.end_byte]][3]]
        return loop
