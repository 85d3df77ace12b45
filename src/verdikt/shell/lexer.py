"""Lexer for shell text: cuts it into tokens as bash would.

Where a word ends decides what is a command and what is data, so that is not left to a grammar's error recovery. The
grammar (tree-sitter-bash) only sees a skeleton in which every word is the same letter.
"""

import re

from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell import delimiters
from verdikt.shell.shell_words import CLOSING_WORDS, NON_STARTING_WORDS, OPENING_WORDS, PREFIX_WORDS, RESERVED_WORDS

WORD, OPERATOR, REDIRECT, TARGET, TEST, ARITHMETIC = range(6)
"""Kinds of token: TARGET is the word after a redirection, TEST a whole `[[ … ]]`, ARITHMETIC a whole `(( … ))`."""


class Heredoc:
    """A here-document; its body is filled in when the line of its operator ends."""

    __slots__ = ("body", "delimiter", "is_quoted", "strip_tabs")

    def __init__(self, delimiter: str, is_quoted: bool, strip_tabs: bool) -> None:
        self.delimiter = delimiter
        self.is_quoted = is_quoted
        self.strip_tabs = strip_tabs
        self.body = ""


Token = tuple[int, str, int, int, Heredoc | None]
"""Kind, source, start, end, and the here-document of a `<<`."""

# No possessive quantifiers: before Python 3.11.5 they lose matches (`${x}` fell apart into words on Debian 12).
# Instead the alternatives of each loop begin with different characters, so that there is only one way to match.
_WORD_PART = (
    r"""(?:[^ \t\n"'\\$`;&|<>()]|'[^']*'|"[^"\\$`]*(?:(?:\\.|\$(?![({\[]))[^"\\$`]*)*"|\\."""
    r"""|\$'[^'\\]*(?:\\.[^'\\]*)*'|\$(?![({'\[]))"""
)
TOKEN_PATTERN = compile_lazily(
    rf"""(?:[ \t]|\\\n)*
    (?: ((?:\d+|\{{\w+\}})?(?:<<<|<<-|<<|<>|<&|>&|>>|>\||<(?!\()|>(?!\())|&>>|&>)
      | (;;&|;;|;&|&&|\|\||\|&|[;&|\n()])
      | (\#[^\n]*)
      | ({_WORD_PART}*) )""",
    re.VERBOSE | re.DOTALL,
)
GROUP_REDIRECT, GROUP_OPERATOR, GROUP_WORD = 1, 2, 4
"""Groups of `TOKEN_PATTERN`, which always matches: a word that starts with a bracket or a quote is empty at first."""

_WORD_CONTINUATION = compile_lazily(rf"{_WORD_PART}+", re.DOTALL)
_BRACKET_PREFIX = compile_lazily(r"[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=$|[^*?=]*[*?][^=]*$")
"""Text that a bracket may follow within a word: the name of an array, or a wildcard with a zsh qualifier."""
_DESCRIPTOR = compile_lazily(r"[ \t]*(\d+)(?=[<>])")
SPECIAL_CHARACTERS = frozenset("\"'$`(<>\\")

# Position of the next word: first of a command, within one, after a compound statement.
_START, _INSIDE, _AFTER = 0, 1, 2

_CASE_TERMINATORS = frozenset((";;", ";&", ";;&"))
_BINARY_OPERATORS = frozenset(("|", "|&", "&&", "||"))


def find_word_end(text: str, start: int, at: int, may_have_case: bool, problems: list[str]) -> int:
    """Return the end of the word that begins at `start` and is known to reach `at`."""
    size = len(text)
    while at < size:
        continuation = _WORD_CONTINUATION.match(text, at)
        if continuation:
            at = continuation.end()
            continue
        character = text[at]
        if character in " \t\n;&|)" or character not in SPECIAL_CHARACTERS:
            break
        opener = text[at : at + 2]
        if character in '"`':
            opener = character
        elif character == "(":
            if not (at > start and (text[at - 1] in "?*+@!" or _BRACKET_PREFIX.match(text, start, at))):
                break
            opener = character
        elif opener == "$[":
            stop = text.find("]", at)
            at = stop + 1 if stop >= 0 else size
            continue
        elif opener not in ("$(", "${", "<(", ">("):
            if character in "<>":
                break
            if character in "'\\" or opener == "$'":
                if character != "\\":
                    problems.append("a single quote is never closed")
                return size
            at += 1
            continue
        stop = delimiters.find_closing(text, at, opener, may_have_case)
        if stop < 0:
            problems.append(f"`{opener}` is never closed" if stop == -1 else "it is nested too deeply to follow")
            return size
        at = stop
    return max(at, start + 1)


class Lexer:
    """One pass over one text: its `tokens`, and the `skeleton` that the grammar reads.

    `has_syntax_error` is set for errors that show without a grammar, such as an operator without a command before it;
    `is_flat` where there are simple commands and operators between them, and no reserved word or bracket.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[Token] = []
        self.slots: list[str] = []
        self.token_indexes: list[int] = []
        self.has_syntax_error = False
        self.is_flat = True
        self.problems: list[str] = []
        self._may_have_case = "esac" in text
        self._state = _START
        self._pending_heredocs: list[Heredoc] = []
        self._brackets: list[str] = []  # what `)` would close: `(`, the `f(` of a function, or a pattern of `case`
        self._header = ""  # `for`, `select`, `case` or `function` whose first words are being read
        self._header_word_count = 0
        self._open_cases = 0  # `case` without its `esac`
        self._is_in_pattern = False  # between `case x in` or `;;` and the `)` after a pattern
        self._last_operator: str | None = "\n"  # the operator before the next token; None after anything else
        # Cleared by the first `((` that nothing closes: looking for the end of each one would take quadratic time.
        self._may_hold_arithmetic = True
        self._scan_tokens()

    @property
    def skeleton(self) -> str:
        """The text with one letter in place of each word."""
        return " ".join(self.slots)

    def _emit_slot(self, slot: str) -> None:
        self.slots.append(slot)
        self.token_indexes.append(len(self.tokens))

    def _add_syntax_problem(self, source: str) -> None:
        if not self.problems:
            self.problems.append(f"the shell would not accept this near `{source}`")

    def _scan_tokens(self) -> None:
        text, match_token = self.text, TOKEN_PATTERN.match
        at, size = 0, len(text)
        redirect: tuple[str, int] | None = None  # an operator that waits for its target, and its token index
        while at < size and (token := match_token(text, at)) is not None:
            kind = token.lastindex or GROUP_WORD
            start, at = token.start(kind), token.end()
            if kind == GROUP_WORD:
                if at < size and text[at] in SPECIAL_CHARACTERS:
                    at = self._find_word_end(start, at)
                if redirect is not None and at > start:
                    self._add_target(redirect, start, at)
                    redirect = None
                elif at > start:
                    at = self._add_word(start, at)
                self._last_operator = None if at > start else self._last_operator
            elif kind == GROUP_OPERATOR:
                if redirect is not None:
                    self._add_syntax_problem(redirect[0])
                redirect = None
                self._check_operator(token[kind])
                at = self._add_operator(token[kind], start, at)
            elif kind == GROUP_REDIRECT:
                if redirect is not None:
                    self._add_syntax_problem(redirect[0])
                redirect, at = self._add_redirect(token[kind], start, at)
                self._last_operator = None
        if redirect is not None:
            self._add_syntax_problem(redirect[0])
        if self._last_operator in _BINARY_OPERATORS:
            self._report_syntax_error(self._last_operator)
        if self._pending_heredocs:
            self._read_heredocs(size)

    def _report_syntax_error(self, source: str) -> None:
        self.has_syntax_error = True
        self._add_syntax_problem(source)

    def _check_operator(self, op: str) -> None:
        """Report an operator that has no command before it, or nothing to close."""
        if op == ")":
            if not self._brackets or self._last_operator in _BINARY_OPERATORS:
                self._report_syntax_error(op)
        elif op in _CASE_TERMINATORS:
            if not self._open_cases:
                self._report_syntax_error(op)
        elif op not in ("(", "\n") and self._last_operator is not None:
            self._report_syntax_error(op)
        if op in ("(", ")"):
            self._last_operator = None
        elif op != "\n" or self._last_operator not in _BINARY_OPERATORS:
            # A newline after `&&` or `|` continues the command.
            self._last_operator = op

    def _add_redirect(self, op: str, start: int, at: int) -> tuple[tuple[str, int] | None, int]:
        """Add an operator; return it with its token index while its target is to come, and the index after it."""
        if self._state == _START:
            self._emit_slot("x")
            self._state = _INSIDE
        self.tokens.append((REDIRECT, op, start, at, None))
        redirect = (op, len(self.tokens) - 1)
        if op.endswith("&") and (number := _DESCRIPTOR.match(self.text, at)) is not None:
            # `2>&1>file`: the number is the target of the first operator, not the descriptor of the second.
            self._add_target(redirect, number.start(1), number.end())
            return None, number.end()
        return redirect, at

    def _find_word_end(self, start: int, at: int) -> int:
        return find_word_end(self.text, start, at, self._may_have_case, self.problems)

    def _add_target(self, redirect: tuple[str, int], start: int, stop: int) -> None:
        op, index = redirect
        raw = self.text[start:stop]
        self.tokens.append((TARGET, raw, start, stop, None))
        if op.endswith(("<<", "<<-")) and not op.endswith("<<<"):
            delimiter = delimiters.unquote_delimiter(raw)
            document = Heredoc(delimiter, delimiter != raw, op.endswith("-"))
            self._pending_heredocs.append(document)
            kind, source, begin, end, _ = self.tokens[index]
            self.tokens[index] = (kind, source, begin, end, document)

    def _read_heredocs(self, at: int) -> int:
        for document in self._pending_heredocs:
            document.body, at = delimiters.read_heredoc(self.text, at, document.delimiter, document.strip_tabs)
        self._pending_heredocs.clear()
        return at

    def _add_operator(self, op: str, start: int, at: int) -> int:
        text = self.text
        if op in ("(", ")"):
            self.is_flat = False
        if op == "(":
            if self._state != _INSIDE and self._may_hold_arithmetic and text.startswith("(", at):
                stop = delimiters.find_closing(text, start, "((", self._may_have_case)
                if stop > 0 and text.startswith(")", stop):
                    return self._add_arithmetic(start, stop + 1)
                self._may_hold_arithmetic = stop > 0
            self._brackets.append("f(" if self._state == _INSIDE else "(")
            self._emit_slot(op)
            self._state = _START
        elif op == ")":
            self._emit_slot(op)
            closed = self._brackets[-1] if self._brackets else "case"
            if closed != "case":
                self._brackets.pop()
            self._state = _AFTER if closed == "(" else _START
            self._is_in_pattern = False
        else:
            self._emit_slot(self._get_operator_slot(op))
            self._state = _START
            if self._header in ("for", "select") and self._header_word_count:
                self._header = ""
        self.tokens.append((OPERATOR, op, start, at, None))
        if op == "\n" and self._pending_heredocs:
            return self._read_heredocs(at)
        return at

    def _get_operator_slot(self, op: str) -> str:
        """Return how the grammar sees an operator.

        Pipes and lists are sequences to it, and the parser takes their operators from the tokens: tree-sitter-bash
        reads `a | b | c && d` as `a | (b | c && d)`, and after such a pipeline it loses the first command of a line.
        """
        if op in _CASE_TERMINATORS:
            self._is_in_pattern = self._open_cases > 0
            return ";;"
        if op == "\n" or self._is_in_pattern:
            return op
        return ";"

    def _add_arithmetic(self, start: int, stop: int) -> int:
        if self._header == "for" and not self._header_word_count:
            self._emit_slot("((;;))")
            self._header = ""
            self._state = _START
        else:
            self._emit_slot("x")
            self._state = _AFTER
        self.tokens.append((ARITHMETIC, self.text[start:stop], start, stop, None))
        return stop

    def _add_word(self, start: int, stop: int) -> int:
        raw = self.text[start:stop]
        if self._state == _INSIDE and not self._header:
            self.slots.append("x")
            self.token_indexes.append(len(self.tokens))
        elif self._header:
            self._read_header_word(raw)
        elif raw in RESERVED_WORDS:
            return self._add_reserved_word(raw, start, stop)
        elif raw == "[[":
            end = self._find_test_end(stop)
            self._emit_slot("x")
            if end:
                self._state = _AFTER
                self.tokens.append((TEST, self.text[start:end], start, end, None))
                return end
            self._state = _INSIDE
        else:
            self._emit_slot("x")
            self._state = _INSIDE
        self.tokens.append((WORD, raw, start, stop, None))
        return stop

    def _add_reserved_word(self, raw: str, start: int, stop: int) -> int:
        self.is_flat = False
        if raw in PREFIX_WORDS:
            # `! cmd`, `time cmd` and `coproc cmd` run `cmd`; `time -p cmd` is a program with options.
            following = TOKEN_PATTERN.match(self.text, stop)
            next_word = following[GROUP_WORD] if following else None
            if raw == "time" and next_word is not None and next_word.startswith("-"):
                self._emit_slot("x")
                self._state = _INSIDE
                self.tokens.append((WORD, raw, start, stop, None))
                return stop
            if (
                raw == "coproc"
                and next_word
                and following
                and re.match(r"\w+[ \t]+[({]", self.text[following.start(GROUP_WORD) :][:200])
            ):
                return following.end()
            return stop
        if raw in NON_STARTING_WORDS and self._last_operator in _BINARY_OPERATORS:
            self._report_syntax_error(raw)
        if raw in CLOSING_WORDS and self._state == _AFTER:
            # `{ (a) }`: the shell wants no `;` after a bracket, the grammar does.
            self._emit_slot(";")
        self._emit_slot(raw)
        if raw in OPENING_WORDS:
            self._state = _START
        elif raw in CLOSING_WORDS:
            self._state = _AFTER
            if raw == "esac":
                self._is_in_pattern = False
                self._open_cases = max(0, self._open_cases - 1)
                while self._brackets and self._brackets.pop() != "case":
                    pass
        else:
            self._header, self._header_word_count = raw, 0
            if raw == "case":
                self._brackets.append(raw)
                self._open_cases += 1
        self.tokens.append((WORD, raw, start, stop, None))
        return stop

    def _read_header_word(self, raw: str) -> None:
        """Read a word between `for`, `select`, `case` or `function` and the body that follows."""
        header, self._header_word_count = self._header, self._header_word_count + 1
        if header == "function":
            self._emit_slot("x")
            self._header, self._state = "", _START
        elif header == "case":
            if self._header_word_count == 1:
                self._emit_slot("x")
            else:
                self._emit_slot("in")
                self._header, self._state = "", _START
                self._is_in_pattern = True
        elif self._header_word_count == 1:
            # `for x`, `for x in` and `for x in a b` are one thing to the grammar; the words are read from the tokens.
            for slot in ("x", "in", "x"):
                self._emit_slot(slot)
            self._state = _INSIDE
        elif raw == "do" and self._header_word_count == 2:
            self._emit_slot(";")
            self._emit_slot("do")
            self._header, self._state = "", _START

    def _find_test_end(self, at: int) -> int:
        """Return the index after the `]]` that closes a `[[`; 0 when nothing does."""
        text, size = self.text, len(self.text)
        while at < size:
            if text[at] in " \t\n;&|()<>!":
                if text[at] in "<>" and text.startswith("(", at + 1):
                    at = self._find_word_end(at, at)
                    continue
                at += 1
                continue
            stop = self._find_word_end(at, at)
            if text[at:stop] == "]]":
                return stop
            at = stop
        self.problems.append("`[[` is never closed")
        return 0
