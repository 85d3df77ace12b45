"""Ends of quoted and bracketed pieces of shell text, found in linear time whatever the nesting."""

import re

from verdikt.model.lazy_regex import compile_lazily

_COMMANDS = r"""[^\\'"$`()\#<\nSTOP]*                           # nothing of interest
    (?: (?P<skip>\\.|'[^']*'|\$'[^'\\]*(?:\\.[^'\\]*)*'|<<<)        # quoted, or looks like a here-document and is not
      | (?P<open>"|\$\(|\$\{|`|\()
      | (?P<close>\))
      | (?P<comment>\#)
      | (?P<here><<-?)
      | (?P<line>\n)
      | (?P<case>case\b|esac\b)
      | (?P<one>.) )"""
# Two variants: most texts contain no `case`, and need not be stopped at every `c` and `e` to look for one.
_IN_COMMANDS = compile_lazily(_COMMANDS.replace("STOP", ""), re.VERBOSE | re.DOTALL)
_IN_CASES = compile_lazily(_COMMANDS.replace("STOP", "ce"), re.VERBOSE | re.DOTALL)
_IN_BRACES = compile_lazily(
    r"""[^\\'"$`}]*(?:(?P<skip>\\.|\$'[^'\\]*(?:\\.[^'\\]*)*')|(?P<single>'[^']*')"""
    r"""|(?P<open>"|\$\(|\$\{|`)|(?P<close>\})|(?P<one>.))""",
    re.DOTALL,
)
_IN_DOUBLE = compile_lazily(r"""[^\\"$`]*(?:(?P<skip>\\.)|(?P<open>\$\(|\$\{|`)|(?P<close>")|(?P<one>.))""", re.DOTALL)
_IN_BACKTICK = compile_lazily(r"""[^\\`]*(?:(?P<skip>\\.)|(?P<close>`)|(?P<one>.))""", re.DOTALL)
_IN_ARITHMETIC = compile_lazily(
    r"""[^\\'"$`()]*(?:(?P<skip>\\.|'[^']*')|(?P<open>"|\$\(|\$\{|`|\()|(?P<close>\))|(?P<one>.))""", re.DOTALL
)
_DELIMITER = compile_lazily(r"""[ \t]*(?P<word>(?:[^\s\\'"$`;&|<>()]|\\.|'[^']*'|"[^"]*")+)""", re.DOTALL)
# A stack instead of recursion, and a limit: 10,000 open brackets must neither raise nor take long.
_MAX_DEPTH = 64
_BEFORE_COMMENT = " \t\n;&|()"
_COMMAND_POSITION = compile_lazily(r"(?:^|[\n;&|(]|\b(?:then|do|else|in))[ \t]*$")

_PATTERN_BY_OPENER = {
    '"': _IN_DOUBLE,
    "$(": _IN_COMMANDS,
    "<(": _IN_COMMANDS,
    ">(": _IN_COMMANDS,
    "(": _IN_COMMANDS,
    "${": _IN_BRACES,
    "`": _IN_BACKTICK,
    "((": _IN_ARITHMETIC,
}


class _Level:
    """One open bracket or quote."""

    __slots__ = ("is_quoted", "open_cases", "opener", "pattern", "pending_heredocs")

    def __init__(self, opener: str, is_quoted: bool) -> None:
        self.opener = opener
        self.pattern = _PATTERN_BY_OPENER[opener]
        self.is_quoted = is_quoted  # inside double quotes, where a single quote is a letter
        self.open_cases = 0  # `case` not yet closed by `esac`: there, `)` ends a pattern
        self.pending_heredocs: list[tuple[str, bool]] = []


def find_closing(text: str, start: int, opener: str, may_have_case: bool = True) -> int:
    """Return the index after what `opener` at `start` opens; -1 when nothing closes it, -2 when nested too deeply.

    `may_have_case` says that the text may contain `case`, in which a `)` closes nothing.
    """
    levels = [_Level(opener, False)]
    at = start + len(opener)
    size = len(text)
    while at < size:
        level = levels[-1]
        pattern = _IN_CASES if may_have_case and level.pattern is _IN_COMMANDS else level.pattern
        token_match = pattern.match(text, at)
        if token_match is None:
            return -1
        kind = token_match.lastgroup
        at = token_match.end()
        if kind == "close":
            if not level.open_cases:
                levels.pop()
                if not levels:
                    return at
        elif kind == "open":
            token = token_match["open"]
            if token in ("$(", "(") and level.opener != "((" and text.startswith("(", at):
                levels.append(_Level("(", False))
                token, at = "((", at + 1
            elif token == "(" and level.opener == "((":
                token = "(("
            if len(levels) > _MAX_DEPTH:
                return -2
            levels.append(_Level(token, token == "${" and (level.opener == '"' or level.is_quoted)))
        elif kind == "single":
            if level.is_quoted:
                at = token_match.start("single") + 1
        elif kind not in ("skip", "one", None):
            at = _skip_command_token(text, level, kind, token_match.start(kind), at)
    return -1


def _skip_command_token(text: str, level: _Level, kind: str, start: int, at: int) -> int:
    """Return the index after a comment, here-document or `case`, which mean something only among commands."""
    if kind == "comment":
        if start and text[start - 1] in _BEFORE_COMMENT:
            newline = text.find("\n", at)
            return newline if newline >= 0 else len(text)
    elif kind == "here":
        delimiter_match = _DELIMITER.match(text, at)
        if delimiter_match:
            level.pending_heredocs.append(
                (unquote_delimiter(delimiter_match["word"]), text[start : start + 3] == "<<-")
            )
            return delimiter_match.end()
    elif kind == "line":
        for delimiter, strip in level.pending_heredocs:
            at = read_heredoc(text, at, delimiter, strip, is_substitution=True)[1]
        level.pending_heredocs.clear()
    elif kind == "case" and _COMMAND_POSITION.search(text, max(0, start - 12), start):
        level.open_cases = max(0, level.open_cases + (1 if text[start] == "c" else -1))
    return at


def read_heredoc(
    text: str, start: int, delimiter: str, strip_tabs: bool, is_substitution: bool = False
) -> tuple[str, int]:
    """Return the here-document that begins at `start`, the line after its operator, and the index after its last line.

    With `is_substitution` it is inside `$(…)`, where the closing bracket may follow the delimiter on its line.
    """
    lines: list[str] = []
    at = start
    size = len(text)
    while at < size:
        newline = text.find("\n", at)
        stop = newline if newline >= 0 else size
        line = text[at:stop]
        if strip_tabs:
            line = line.lstrip("\t")
        if line == delimiter:
            return "".join(lines), min(stop + 1, size)
        if is_substitution and line.startswith(delimiter) and line[len(delimiter) :].lstrip().startswith(")"):
            return "".join(lines), text.index(")", stop - len(line) + len(delimiter))
        lines.append(line + "\n")
        at = stop + 1
    return "".join(lines), size


_QUOTED_PART = compile_lazily(r"""\\(.)|'([^']*)'|"([^"]*)"|(\$(?=["']))""", re.DOTALL)


def unquote_delimiter(word: str) -> str:
    """Return a here-document's delimiter without its quotes."""
    return _QUOTED_PART.sub(lambda quoted: quoted[1] or quoted[2] or quoted[3] or "", word)
