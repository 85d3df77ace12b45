"""Parser: tokens → statements. The grammar is tree-sitter-bash, applied to the lexer's skeleton of the text."""

from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING

from verdikt.shell.lexer import OPERATOR, REDIRECT, TARGET, WORD, Lexer
from verdikt.shell.shell_words import NON_STARTING_WORDS, RESERVED_WORDS
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

# The builder recurses once for each level; Python's default limit of 1,000 frames leaves room for callers.
_MAX_DEPTH = 60
_PIPE_OPERATORS = frozenset(("|", "|&"))
_CONTINUED_OPERATORS = _PIPE_OPERATORS | {"&&", "||"}
_JOINS = {"&": "&", "&&": "&&", "||": "||", "": ""}
_HEADER_WORDS = frozenset(("for", "select", "case", "function"))


@cache
def _load_grammar() -> "tuple[type[Parser], Language]":
    # Imported when the first text needs it: 13 ms, which a process that only reads plain lines does not pay.
    from tree_sitter import Language, Parser
    from tree_sitter_bash import language

    return Parser, Language(language())


def parse_statements(text: str) -> tuple[Statement, list[str]]:
    """Return the statement of a text, and what is wrong with the text in words.

    A text with syntax errors still gives every command in it: the host's shell may be more lenient than bash.
    """
    return parse_tokens(Lexer(text))


def parse_tokens(lexer: Lexer) -> tuple[Statement, list[str]]:
    """Return the statement of the text that a lexer has read, and what is wrong with the text in words."""
    problems = lexer.problems
    if lexer.has_syntax_error:
        # Not left to the grammar: its error recovery takes quadratic time and memory on a long broken pipeline.
        return _parse_broken_text(lexer), problems
    if lexer.is_flat:
        # Most texts, and the grammar would only find the same commands between the same operators.
        return _parse_flat_text(lexer), problems
    # A parser for each text: threads must not share one, and building it takes a fraction of a microsecond.
    parser_class, language = _load_grammar()
    root = parser_class(language).parse(lexer.skeleton.encode()).root_node
    if root.has_error:
        if not problems:
            problems.append(_describe_error(lexer, root))
        return _parse_broken_text(lexer), problems
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
    """Return the simple command that begins at a token, and the index of the token after it."""
    tokens = lexer.tokens
    words: list[str] = []
    index, count = first, len(tokens)
    start = tokens[first][2] if first < count else 0
    simple = SimpleCommand(words, start, start)
    while index < count:
        kind, raw, _, stop, _ = tokens[index]
        if kind == WORD:
            if not words and "=" in raw and (assignment := ASSIGNMENT.match(raw)):
                name, subscript, operator = assignment.groups()
                simple.assignments.append((name, subscript or "", operator, raw[assignment.end() :]))
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
    """Read the redirection at a token; return how many further tokens it took."""
    _, raw, _, _, heredoc = lexer.tokens[index]
    following = lexer.tokens[index + 1] if index + 1 < len(lexer.tokens) else None
    if following is None or following[0] != TARGET:
        return 0
    redirects.append(parse_redirection(raw, following[1], heredoc))
    return 1


def _parse_flat_text(lexer: Lexer) -> Statement:
    """Return the commands of a text without reserved words and brackets, with the pipes and lists between them."""
    tokens = lexer.tokens
    items: list[Statement] = []
    operators: list[str] = []
    index, count = 0, len(tokens)
    while index < count:
        # The operator after a command joins it to the next; newlines before and after it mean nothing.
        if tokens[index][0] != OPERATOR:
            simple, index = _read_simple_command(lexer, index)
            items.append(simple)
            operators.append(tokens[index][1] if index < count else "")
        index += 1
    return _join_pipelines(items, operators)


def _parse_broken_text(lexer: Lexer) -> Statement:
    """Return the commands of a text with syntax errors, one after another, with the pipes and lists between them."""
    tokens = lexer.tokens
    items: list[Statement] = []
    operators: list[str] = []
    index, count = 0, len(tokens)
    while index < count:
        kind, raw, *_ = tokens[index]
        if kind == WORD and raw in RESERVED_WORDS:
            index += 1
            while raw in _HEADER_WORDS and index < count and tokens[index][0] == WORD:
                index += 1
        elif kind != OPERATOR:
            simple, index = _read_simple_command(lexer, index)
            items.append(simple)
            operators.append("")
        else:
            index += 1
            # The last of several operators counts, but a newline after `|` or `&&` continues the command.
            if operators and not (raw == "\n" and operators[-1] in _CONTINUED_OPERATORS):
                operators[-1] = raw
    return _join_pipelines(items, operators)


def _join_pipelines(items: list[Statement], operators: list[str]) -> Statement:
    """Return a list of pipelines; `operators[i]` is the token after `items[i]`, which may end the list."""
    pipelines: list[Statement] = []
    joins: list[str] = []
    stages: list[Statement] = []
    for item, operator in zip(items, operators, strict=True):
        stages.append(item)
        if operator not in _PIPE_OPERATORS:
            pipelines.append(stages[0] if len(stages) == 1 else CommandPipeline(stages))
            joins.append(_JOINS.get(operator, ";"))
            stages = []
    if stages:
        pipelines.append(stages[0] if len(stages) == 1 else CommandPipeline(stages))
        joins.append("")
    return join_statements(pipelines, joins)


class _StatementBuilder:
    """Builder of statements from the grammar's tree, with the words taken from the tokens."""

    def __init__(self, lexer: Lexer, problems: list[str]) -> None:
        self.lexer = lexer
        self.problems = problems
        # One blank is between the slots of the skeleton, so a slot ends one before the next one begins.
        offsets = list(accumulate([len(slot) + 1 for slot in lexer.slots], initial=0))
        self.tokens_by_start = dict(zip(offsets, lexer.token_indexes, strict=False))
        """Where a token begins in the skeleton → the token."""
        self.tokens_by_end = dict(zip([offset - 1 for offset in offsets[1:]], lexer.token_indexes, strict=True))
        self._ends_by_start: dict[int, int] = {}  # first token of a simple command → the token after it

    def build_list(self, nodes: "list[Node]", depth: int) -> Statement:
        """Return the statements of these nodes, with the pipes and lists that join them."""
        items: list[Statement] = []
        operators: list[str] = []
        for node in nodes:
            if node.is_named:
                items.append(self.build_statement(node, depth))
                operators.append(self._find_operator_after(node))
        return _join_pipelines(items, operators)

    def _find_operator_after(self, node: "Node") -> str:
        """Return the operator that follows a statement; empty when a closing word does."""
        tokens = self.lexer.tokens
        if node.type == "command":
            index = self._ends_by_start[self._get_token_index(node)]
        else:
            index = self.tokens_by_end[node.end_byte] + 1
            while index < len(tokens) and tokens[index][0] in (REDIRECT, TARGET):
                index += 1
        return tokens[index][1] if index < len(tokens) and tokens[index][0] == OPERATOR else ""

    def build_statement(self, node: "Node", depth: int) -> Statement:
        """Return the statement of one node; an empty list where it is nested too deeply."""
        kind = node.type
        if kind == "command":
            first = self._get_token_index(node)
            simple, self._ends_by_start[first] = _read_simple_command(self.lexer, first)
            begins_with_word = not simple.assignments and self.lexer.tokens[first][0] != REDIRECT
            if begins_with_word and simple.words and simple.words[0] in NON_STARTING_WORDS:
                # The grammar takes a stray `fi` or `done` for the name of a program.
                self.problems.append(f"the shell would not accept this near `{simple.words[0]}`")
            elif node.child_count > 1 and (last := node.children[-1]).type == "subshell":
                # The grammar allows it, bash does not; fish and PowerShell would run it.
                self.problems.append("the shell would not accept this near `(`")
                return join_statements([simple, self.build_statement(last, depth + 1)], [";", ""])
            return simple
        if depth > _MAX_DEPTH:
            self.problems.append("it is nested too deeply to follow")
            return StatementList([], [])
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
        """Return the redirections after a compound statement."""
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
            # What is between the double brackets is evaluated as `(( … ))` is.
            header = SimpleCommand([], node.start_byte, node.end_byte)
            header.test_text = tokens[self._get_token_index(node) + 1][1]
            loop = Loop("", None, header, body)
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
