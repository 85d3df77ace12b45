"""Tokens → statements: the grammar is tree-sitter-bash, read over the skeleton that the lexer leaves."""

from functools import cache
from typing import TYPE_CHECKING

from verdikt.shell import line_parser
from verdikt.shell.lexer import NON_STARTING_WORDS, OPERATOR, REDIRECT, RESERVED_WORDS, TARGET, WORD, Lexer
from verdikt.shell.statement import (
    ASSIGNMENT,
    Branch,
    CommandGroup,
    CommandPipeline,
    FunctionDefinition,
    Loop,
    RawRedirect,
    SimpleCommand,
    Statement,
    StatementList,
    join_statements,
    parse_redirection,
)

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Parser

_MAX_DEPTH = 60
_HEADER_WORDS = frozenset(("for", "select", "case", "function"))


@cache
def _load_language() -> "Language":
    from tree_sitter import Language
    from tree_sitter_bash import language

    return Language(language())


def _create_parser() -> "Parser":
    from tree_sitter import Parser

    return Parser(_load_language())  # one for each text: threads must not share it, and it costs next to nothing


def parse_statements(text: str) -> tuple[Statement, list[str]]:
    """What a text says, and what is wrong with it in words. A text that the grammar refuses still gives every command in it."""
    if (read := line_parser.parse_simple_text(text)) is not None:
        return read
    lexer = Lexer(text)
    problems = lexer.problems
    tree = _create_parser().parse(lexer.skeleton.encode())
    root = tree.root_node
    if root.has_error:
        if not problems:
            problems.append(_describe_error(lexer, root))
        return _FallbackParser(lexer).parse_commands(), problems
    return _StatementBuilder(lexer, problems).build_list(root.children, 0), problems


def _describe_error(lexer: Lexer, root: "Node") -> str:
    node = root
    while not node.is_error and not node.is_missing:
        inner = next((child for child in node.children if child.has_error or child.is_missing), None)
        if inner is None:
            break
        node = inner
    slot = lexer.skeleton.count(" ", 0, node.start_byte)
    place = min(lexer.token_indexes[min(slot, len(lexer.token_indexes) - 1)], len(lexer.tokens) - 1)
    return f"the shell would not accept this near `{lexer.tokens[place][1][:40].strip() or 'the end of a line'}`"


def _read_simple_command(lexer: Lexer, first: int) -> tuple[SimpleCommand, int]:
    """The simple command that begins at a token, and the index of the token after it."""
    tokens = lexer.tokens
    words: list[str] = []
    index, count = first, len(tokens)
    start = tokens[first][2] if first < count else 0
    simple = SimpleCommand(words, start, start)
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
            index += _read_redirect(lexer, index, simple.redirects)
            stop = tokens[index][3]
        else:
            simple.test_text = raw
        simple.end = stop
        index += 1
    return simple, index


def _read_redirect(lexer: Lexer, index: int, redirects: list[RawRedirect]) -> int:
    """Reads the redirection at a token; says how many further tokens it took."""
    _, raw, _, _, heredoc = lexer.tokens[index]
    following = lexer.tokens[index + 1] if index + 1 < len(lexer.tokens) else None
    if following is None or following[0] != TARGET:
        redirects.append(parse_redirection(raw, "", heredoc))
        return 0
    redirects.append(parse_redirection(raw, following[1], heredoc))
    return 1


class _FallbackParser:
    """Whatever commands a refused text holds, one after another."""

    def __init__(self, lexer: Lexer) -> None:
        self.lexer = lexer

    def parse_commands(self) -> Statement:
        tokens = self.lexer.tokens
        items: list[Statement] = []
        joins: list[str] = []
        stages: list[Statement] = []
        index, count = 0, len(tokens)
        while index < count:
            kind, raw, *_ = tokens[index]
            if kind == WORD and raw in RESERVED_WORDS:
                index += 1
                while raw in _HEADER_WORDS and index < count and tokens[index][0] == WORD:
                    index += 1
            elif kind != OPERATOR:
                simple, index = _read_simple_command(self.lexer, index)
                stages.append(simple)
            else:
                index += 1
                if raw not in ("|", "|&") and stages:
                    items.append(stages[0] if len(stages) == 1 else CommandPipeline(stages))
                    joins.append(raw if raw in ("&", "&&", "||") else ";")
                    stages = []
        if stages:
            items.append(stages[0] if len(stages) == 1 else CommandPipeline(stages))
            joins.append("")
        return join_statements(items, joins)


class _StatementBuilder:
    """Statements from the grammar's tree, with the words taken from the tokens."""

    def __init__(self, lexer: Lexer, problems: list[str]) -> None:
        self.lexer = lexer
        self.problems = problems
        self.tokens_by_start: dict[int, int] = {}  # where a token begins in the skeleton → the token
        self.tokens_by_end: dict[int, int] = {}
        at = 0
        for slot, place in zip(lexer.slots, lexer.token_indexes, strict=True):
            self.tokens_by_start[at] = place
            at += len(slot) + 1
            self.tokens_by_end[at - 1] = place

    def build_list(self, nodes: "list[Node]", depth: int) -> Statement:
        items: list[Statement] = []
        joins: list[str] = []
        for node in nodes:
            if node.is_named:
                self._append_list_items(node, items, joins, depth)
            elif items and (kind := node.type) in (";", "\n", "&"):
                joins[-1] = "&" if kind == "&" else ";"
        return join_statements(items, joins)

    def _append_list_items(self, node: "Node", items: list[Statement], operators: list[str], depth: int) -> None:
        # `a && b && c` leans left in the tree, one level for each join: unrolled, since a line may hold thousands.
        tail: list[tuple[Node, str]] = []
        while node.type == "list":
            left, join, right = node.children
            tail.append((right, join.type))
            node = left
        items.append(self.build_statement(node, depth))
        operators.append("")
        for right, join_type in reversed(tail):
            operators[-1] = join_type
            items.append(self.build_statement(right, depth))
            operators.append("")

    def build_statement(self, node: "Node", depth: int) -> Statement:
        kind = node.type
        if kind == "command":
            simple = _read_simple_command(self.lexer, self._get_token_index(node))[0]
            if simple.words and simple.words[0] in NON_STARTING_WORDS and not simple.assignments:
                # The grammar takes it for a name.
                self.problems.append(f"the shell would not accept this near `{simple.words[0]}`")
            elif node.child_count > 1 and (last := node.children[-1]).type == "subshell":
                # The grammar allows it, bash does not; fish and PowerShell would run it.
                self.problems.append("the shell would not accept this near `(`")
                return join_statements([simple, self.build_statement(last, depth + 1)], [";", ""])
            return simple
        if depth > _MAX_DEPTH:
            self.problems.append("it is nested too deeply to follow")
            return StatementList([], [])
        if kind == "list":
            return self.build_list([node], depth + 1)
        if kind == "pipeline":
            return CommandPipeline(
                [self.build_statement(child, depth + 1) for child in node.children if child.is_named]
            )
        if kind == "function_definition":
            return self._build_function(node, depth)
        built = self._build_compound(node, kind, depth + 1)
        redirects = self._read_trailing_redirects(node)
        if redirects and isinstance(built, CommandGroup):
            built.redirects = redirects
        elif redirects:
            return CommandGroup(built, is_subshell=False, redirects=redirects, start=self._get_text_offset(node))
        return built

    def _build_compound(self, node: "Node", kind: str, depth: int) -> Statement:
        if kind in ("compound_statement", "subshell"):
            body = self.build_list(node.children[1:-1], depth)
            return CommandGroup(body, is_subshell=kind == "subshell", redirects=[], start=self._get_text_offset(node))
        if kind == "if_statement":
            return self._build_if(node, depth)
        if kind == "case_statement":
            return self._build_case(node, depth)
        if kind in ("for_statement", "c_style_for_statement", "while_statement"):
            return self._build_loop(node, kind, depth)
        return self.build_list(node.children, depth)

    def _get_token_index(self, node: "Node") -> int:
        return self.tokens_by_start[node.start_byte]

    def _get_text_offset(self, node: "Node") -> int:
        return self.lexer.tokens[self._get_token_index(node)][2]

    def _read_trailing_redirects(self, node: "Node") -> list[RawRedirect]:
        """The redirections after a compound statement."""
        redirects: list[RawRedirect] = []
        tokens = self.lexer.tokens
        index = self.tokens_by_end[node.end_byte] + 1
        while index < len(tokens) and tokens[index][0] == REDIRECT:
            index += _read_redirect(self.lexer, index, redirects) + 1
        return redirects

    def _build_function(self, node: "Node", depth: int) -> Statement:
        name = node.child_by_field_name("name")
        body = node.child_by_field_name("body")
        if name is None or body is None:
            return self.build_list(node.children, depth + 1)
        return FunctionDefinition(
            self.lexer.tokens[self._get_token_index(name)][1], self.build_statement(body, depth + 1)
        )

    def _build_if(self, node: "Node", depth: int) -> Branch:
        branch = Branch()
        part: list[Node] = []
        into = branch.tests
        for child in (piece for clause in node.children for piece in self._unfold_clause(clause)):
            if child.type in ("if", "elif", "then", "else", "fi"):
                if part:
                    into.append(self.build_list(part, depth))
                part = []
                into = branch.tests if child.type in ("if", "elif") else branch.bodies
            else:
                part.append(child)
        return branch

    @staticmethod
    def _unfold_clause(node: "Node") -> "list[Node]":
        return node.children if node.type in ("elif_clause", "else_clause") else [node]

    def _build_case(self, node: "Node", depth: int) -> Branch:
        branch = Branch()
        subject = node.child_by_field_name("value")
        branch.subject = self.lexer.tokens[self._get_token_index(subject)][1] if subject else ""
        for item in node.children:
            if item.type != "case_item":
                continue
            patterns = item.children_by_field_name("value")
            branch.patterns.append([self.lexer.tokens[self._get_token_index(pattern)][1] for pattern in patterns])
            known = {pattern.id for pattern in patterns}
            branch.bodies.append(self.build_list([child for child in item.children if child.id not in known], depth))
        return branch

    def _build_loop(self, node: "Node", kind: str, depth: int) -> Loop:
        body_node = node.child_by_field_name("body")
        body = self.build_list(body_node.children, depth) if body_node else StatementList([], [])
        tokens = self.lexer.tokens
        if kind == "while_statement":
            loop = Loop("", None, self.build_list(node.children_by_field_name("condition"), depth), body)
        elif kind == "c_style_for_statement":
            loop = Loop("", None, None, body)
        else:
            index = self._get_token_index(node) + 1
            name = tokens[index][1]
            values: list[str] | None = None
            while index + 1 < len(tokens) and tokens[index + 1][0] == WORD and tokens[index + 1][1] != "do":
                index += 1
                if values is None and tokens[index][1] == "in":
                    values = []
                elif values is not None:
                    values.append(tokens[index][1])
            loop = Loop(name, values, None, body)
        loop.source = self.lexer.text[
            tokens[self._get_token_index(node)][2] : tokens[self.tokens_by_end[node.end_byte]][3]
        ]
        return loop
