"""Texts without compound statements: lists and pipelines of simple commands, which need no grammar."""

from verdikt.model.regex import regex
from verdikt.shell import span
from verdikt.shell.lexer import (
    COMPLEX,
    GROUP_OPERATOR,
    GROUP_REDIRECT,
    GROUP_WORD,
    RESERVED,
    TOKEN,
    Heredoc,
    word_end,
)
from verdikt.shell.statement import ASSIGNMENT, Piped, RawRedirect, Simple, Statement, redirection, sequence

_WORD = r"""(?:[^ \t\n"'\\$`;&|<>()#]++|'[^']*+'|"[^"\\$`]*+"|\$[A-Za-z_]\w*+)++"""
_MARK = r"\|\||&&|[|;&\n]"
_SEND = r"[0-9]*+(?:>>|>&|>|<(?![<(&>]))|&>>?"
_EASY = regex(rf"(?:[ \t]*+(?:(?:{_SEND})[ \t]*+{_WORD}|{_WORD}|{_MARK}))*+[ \t]*+")
_PIECES = regex(rf"([ \t]*+)(?:(({_SEND})([ \t]*+{_WORD}))|({_WORD})|({_MARK}))")


def read(text: str) -> tuple[Statement, list[str]] | None:
    """What such a text says and what is wrong with it; None as soon as it turns out to be another kind of text."""
    if _EASY.fullmatch(text) and (easy := _easily(text)) is not None:
        return easy, []
    line = _Line(text)
    return (line.statement(), line.problems) if line.read() else None


def _easily(text: str) -> Statement | None:
    """The same, when it is nothing but words and the marks between commands; None when it needs a closer look."""
    items: list[Statement] = []
    joins: list[str] = []
    stages: list[Statement] = []
    words: list[str] = []
    redirects: list[RawRedirect] = []
    at = start = 0
    for blank, sent, op, target, word, mark in _PIECES.findall(text):
        at += len(blank)
        if word:
            if not words:
                if word in RESERVED or word == "[[" or "=" in word:
                    return None
                start = at
            words.append(word)
            at += len(word)
            continue
        if not words:
            return None
        if sent:
            redirects.append(redirection(op, target.lstrip(" \t"), None))
            at += len(sent)
            continue
        stages.append(_made(words, redirects, start, at - len(blank)))
        words, redirects = [], []
        at += len(mark)
        if mark != "|":
            items.append(stages[0] if len(stages) == 1 else Piped(stages))
            joins.append(mark if mark != "\n" else ";")
            stages = []
    if words:
        stages.append(_made(words, redirects, start, at))
        items.append(stages[0] if len(stages) == 1 else Piped(stages))
        joins.append("")
    elif stages or not joins or joins[-1] in ("&&", "||"):
        return None
    return sequence(items, joins)


def _made(words: list[str], redirects: list[RawRedirect], start: int, end: int) -> Simple:
    simple = Simple(words, start, end)
    if redirects:
        simple.redirects = redirects
    return simple


class _Line:
    __slots__ = ("cases", "items", "joins", "pending", "problems", "redirect", "simple", "stages", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.cases = "esac" in text
        self.items: list[Statement] = []
        self.joins: list[str] = []
        self.stages: list[Statement] = []
        self.simple: Simple | None = None
        self.pending: list[Heredoc] = []
        self.problems: list[str] = []
        self.redirect = ""  # an operator that waits for its target

    def read(self) -> bool:
        text, match = self.text, TOKEN.match
        at, size = 0, len(text)
        while at < size and (found := match(text, at)) is not None:
            kind = found.lastindex or GROUP_WORD
            raw, start, at = found[kind], found.start(kind), found.end()
            if kind == GROUP_WORD:
                if at < size and text[at] in COMPLEX:
                    at = word_end(text, start, at, self.cases, self.problems)
                    raw = text[start:at]
                simple = self.simple
                if raw and simple is not None and simple.words and not self.redirect:
                    simple.words.append(raw)
                    simple.end = at
                elif raw and not self._word(raw, start, at):
                    return False
            elif kind == GROUP_OPERATOR:
                if raw in "()":
                    return False
                self._operator(raw)
                if raw == "\n" and self.pending:
                    at = self._heredocs(at)
            elif kind == GROUP_REDIRECT:
                self._redirect(raw, start)
        if self.redirect:
            self._complain(self.redirect)
        if self.pending:
            self._heredocs(size)
        return True

    def statement(self) -> Statement:
        """What was read."""
        if self.simple is not None or self.stages:
            self._close("")
        elif self.joins and self.joins[-1] in ("&&", "||"):
            self._complain(self.joins[-1])
        return sequence(self.items, self.joins)

    def _begin(self, start: int) -> Simple:
        simple = self.simple = Simple([], start, start)
        return simple

    def _redirect(self, raw: str, start: int) -> None:
        if self.redirect:
            self._complain(self.redirect)
        self.redirect = raw
        if self.simple is None:
            self._begin(start)

    def _word(self, raw: str, start: int, stop: int) -> bool:
        simple = self.simple
        if simple is None:
            if raw in RESERVED or raw == "[[":
                return False
            simple = self._begin(start)
        simple.end = stop
        if self.redirect:
            self._redirected(simple, self.redirect, raw)
            self.redirect = ""
        elif not simple.words and "=" in raw and (found := ASSIGNMENT.match(raw)):
            simple.assignments.append((found[1], found[2] or "", found[3], raw[found.end() :]))
        else:
            simple.words.append(raw)
        return True

    def _redirected(self, simple: Simple, redirect: str, raw: str) -> None:
        heredoc = None
        if redirect.endswith(("<<", "<<-")) and not redirect.endswith("<<<"):
            delimiter = span.unquote(raw)
            heredoc = Heredoc(delimiter, delimiter != raw, redirect.endswith("-"))
            self.pending.append(heredoc)
        simple.redirects.append(redirection(redirect, raw, heredoc))

    def _operator(self, op: str) -> None:
        if self.redirect:
            self._complain(self.redirect)
            self.redirect = ""
        if op in ("|", "|&"):
            if self.simple is None:
                self._complain(op)
            else:
                self.stages.append(self.simple)
                self.simple = None
        else:
            if op.startswith(";") and op != ";":
                self._complain(op)
            if self.simple is not None:
                self._close(";" if op not in ("&", "&&", "||") else op)
            elif op != "\n":
                self._complain(op)

    def _close(self, join: str) -> None:
        """Ends the command or the pipeline being read."""
        if self.simple is not None:
            self.stages.append(self.simple)
        else:
            self._complain("|")
        self.items.append(self.stages[0] if len(self.stages) == 1 else Piped(self.stages))
        self.joins.append(join)
        self.stages, self.simple = [], None

    def _heredocs(self, at: int) -> int:
        for heredoc in self.pending:
            heredoc.body, at = span.document(self.text, at, heredoc.delimiter, heredoc.strip)
        self.pending.clear()
        return at

    def _complain(self, op: str) -> None:
        if not self.problems:
            self.problems.append(f"the shell would not accept this near `{op}`")
