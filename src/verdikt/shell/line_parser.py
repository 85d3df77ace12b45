"""Texts without compound statements: lists and pipelines of simple commands, which need no grammar."""

from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell import delimiters
from verdikt.shell.lexer import (
    GROUP_OPERATOR,
    GROUP_REDIRECT,
    GROUP_WORD,
    RESERVED_WORDS,
    SPECIAL_CHARACTERS,
    TOKEN_PATTERN,
    Heredoc,
    find_word_end,
)
from verdikt.shell.statement import (
    ASSIGNMENT,
    CommandPipeline,
    RawRedirect,
    SimpleCommand,
    Statement,
    join_statements,
    parse_redirection,
)

_WORD = r"""(?:[^ \t\n"'\\$`;&|<>()#]++|'[^']*+'|"[^"\\$`]*+"|\$[A-Za-z_]\w*+)++"""
_OPERATOR = r"\|\||&&|[|;&\n]"
_REDIRECT_OPERATOR = r"[0-9]*+(?:>>|>&|>|<(?![<(&>]))|&>>?"
_EASY_TEXT = compile_lazily(rf"(?:[ \t]*+(?:(?:{_REDIRECT_OPERATOR})[ \t]*+{_WORD}|{_WORD}|{_OPERATOR}))*+[ \t]*+")
_EASY_PIECE = compile_lazily(rf"([ \t]*+)(?:(({_REDIRECT_OPERATOR})([ \t]*+{_WORD}))|({_WORD})|({_OPERATOR}))")


def parse_simple_text(text: str) -> tuple[Statement, list[str]] | None:
    """What such a text says and what is wrong with it; None as soon as it turns out to be another kind of text."""
    if _EASY_TEXT.fullmatch(text) and (easy := _parse_easy_text(text)) is not None:
        return easy, []
    line = _LineParser(text)
    return (line.build_statement(), line.problems) if line.scan_text() else None


def _parse_easy_text(text: str) -> Statement | None:
    """The same, when it is nothing but words and the marks between commands; None when it needs a closer look."""
    items: list[Statement] = []
    joins: list[str] = []
    stages: list[Statement] = []
    words: list[str] = []
    redirects: list[RawRedirect] = []
    at = start = 0
    for blank, sent, op, target, word, mark in _EASY_PIECE.findall(text):
        at += len(blank)
        if word:
            if not words:
                if word in RESERVED_WORDS or word == "[[" or "=" in word:
                    return None
                start = at
            words.append(word)
            at += len(word)
            continue
        if not words:
            return None
        if sent:
            redirects.append(parse_redirection(op, target.lstrip(" \t"), None))
            at += len(sent)
            continue
        stages.append(_build_simple_command(words, redirects, start, at - len(blank)))
        words, redirects = [], []
        at += len(mark)
        if mark != "|":
            items.append(stages[0] if len(stages) == 1 else CommandPipeline(stages))
            joins.append(mark if mark != "\n" else ";")
            stages = []
    if words:
        stages.append(_build_simple_command(words, redirects, start, at))
        items.append(stages[0] if len(stages) == 1 else CommandPipeline(stages))
        joins.append("")
    elif stages or not joins or joins[-1] in ("&&", "||"):
        return None
    return join_statements(items, joins)


def _build_simple_command(words: list[str], redirects: list[RawRedirect], start: int, end: int) -> SimpleCommand:
    simple = SimpleCommand(words, start, end)
    if redirects:
        simple.redirects = redirects
    return simple


class _LineParser:
    __slots__ = (
        "current_command",
        "items",
        "joins",
        "may_have_case",
        "pending_heredocs",
        "pending_redirect",
        "problems",
        "stages",
        "text",
    )

    def __init__(self, text: str) -> None:
        self.text = text
        self.may_have_case = "esac" in text
        self.items: list[Statement] = []
        self.joins: list[str] = []
        self.stages: list[Statement] = []
        self.current_command: SimpleCommand | None = None
        self.pending_heredocs: list[Heredoc] = []
        self.problems: list[str] = []
        self.pending_redirect = ""  # an operator that waits for its target

    def scan_text(self) -> bool:
        text, match = self.text, TOKEN_PATTERN.match
        at, size = 0, len(text)
        while at < size and (found := match(text, at)) is not None:
            kind = found.lastindex or GROUP_WORD
            raw, start, at = found[kind], found.start(kind), found.end()
            if kind == GROUP_WORD:
                if at < size and text[at] in SPECIAL_CHARACTERS:
                    at = find_word_end(text, start, at, self.may_have_case, self.problems)
                    raw = text[start:at]
                simple = self.current_command
                if raw and simple is not None and simple.words and not self.pending_redirect:
                    simple.words.append(raw)
                    simple.end = at
                elif raw and not self._add_word(raw, start, at):
                    return False
            elif kind == GROUP_OPERATOR:
                if raw in "()":
                    return False
                self._add_operator(raw)
                if raw == "\n" and self.pending_heredocs:
                    at = self._read_heredocs(at)
            elif kind == GROUP_REDIRECT:
                self._start_redirect(raw, start)
        if self.pending_redirect:
            self._add_syntax_problem(self.pending_redirect)
        if self.pending_heredocs:
            self._read_heredocs(size)
        return True

    def build_statement(self) -> Statement:
        """What was read."""
        if self.current_command is not None or self.stages:
            self._end_pipeline("")
        elif self.joins and self.joins[-1] in ("&&", "||"):
            self._add_syntax_problem(self.joins[-1])
        return join_statements(self.items, self.joins)

    def _start_command(self, start: int) -> SimpleCommand:
        simple = self.current_command = SimpleCommand([], start, start)
        return simple

    def _start_redirect(self, raw: str, start: int) -> None:
        if self.pending_redirect:
            self._add_syntax_problem(self.pending_redirect)
        self.pending_redirect = raw
        if self.current_command is None:
            self._start_command(start)

    def _add_word(self, raw: str, start: int, stop: int) -> bool:
        simple = self.current_command
        if simple is None:
            if raw in RESERVED_WORDS or raw == "[[":
                return False
            simple = self._start_command(start)
        simple.end = stop
        if self.pending_redirect:
            self._finish_redirect(simple, self.pending_redirect, raw)
            self.pending_redirect = ""
        elif not simple.words and "=" in raw and (found := ASSIGNMENT.match(raw)):
            simple.assignments.append((found[1], found[2] or "", found[3], raw[found.end() :]))
        else:
            simple.words.append(raw)
        return True

    def _finish_redirect(self, command: SimpleCommand, redirect: str, raw: str) -> None:
        heredoc = None
        if redirect.endswith(("<<", "<<-")) and not redirect.endswith("<<<"):
            delimiter = delimiters.unquote_delimiter(raw)
            heredoc = Heredoc(delimiter, delimiter != raw, redirect.endswith("-"))
            self.pending_heredocs.append(heredoc)
        command.redirects.append(parse_redirection(redirect, raw, heredoc))

    def _add_operator(self, op: str) -> None:
        if self.pending_redirect:
            self._add_syntax_problem(self.pending_redirect)
            self.pending_redirect = ""
        if op in ("|", "|&"):
            if self.current_command is None:
                self._add_syntax_problem(op)
            else:
                self.stages.append(self.current_command)
                self.current_command = None
        else:
            if op.startswith(";") and op != ";":
                self._add_syntax_problem(op)
            if self.current_command is not None:
                self._end_pipeline(";" if op not in ("&", "&&", "||") else op)
            elif op != "\n":
                self._add_syntax_problem(op)

    def _end_pipeline(self, join: str) -> None:
        """Ends the command or the pipeline being read."""
        if self.current_command is not None:
            self.stages.append(self.current_command)
        else:
            self._add_syntax_problem("|")
        self.items.append(self.stages[0] if len(self.stages) == 1 else CommandPipeline(self.stages))
        self.joins.append(join)
        self.stages, self.current_command = [], None

    def _read_heredocs(self, at: int) -> int:
        for heredoc in self.pending_heredocs:
            heredoc.body, at = delimiters.read_heredoc(self.text, at, heredoc.delimiter, heredoc.strip_tabs)
        self.pending_heredocs.clear()
        return at

    def _add_syntax_problem(self, op: str) -> None:
        if not self.problems:
            self.problems.append(f"the shell would not accept this near `{op}`")
