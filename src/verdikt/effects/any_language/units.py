"""Split text of any language into units: statements, calls with the records that they are given, and settings.

A unit ends at a line's end or a semicolon unless a round or square bracket is open, or the next line goes on with it.
A record (`{url: …, body: …}`) is a unit of its own, and a part of the call that it is given to. The statements of
a block know the unit that opens it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from verdikt.model.lazy_regex import compile_lazily

MAX_TOKENS = 60_000
MAX_UNIT_TOKENS = 400
"""A longer unit is cut, so that words that stand far apart do not meet."""

_TOKEN = compile_lazily(
    r"(?P<string>\"\"\"[\s\S]*?\"\"\"|'''[\s\S]*?'''|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)"
    r"|(?P<address>[a-z][a-z+]{1,9}://[^\s\"'`<>)\]},;]+)"
    # A path without quotes, as in makefiles, settings and Tcl.
    r"|(?P<path>(?:~|\.\.)(?=/)[\w./*@+{}$()-]*"
    r"|\$(?:ENV|env)?(?:\{[\w.:]+\}|\([\w.:]+\)|\w+)(?:(?:\.\.)?/[\w./*@+-]*|\.\.)(?:\$\{\w+\}[\w./*@+-]*)*"
    r"|(?<![\w.)\]])/(?:home|Users|root|etc|usr|bin|lib|boot|System|Library)/[\w./*@+-]+)"
    r"|(?P<number>\d+(?:\.\d+)*)"
    r"|(?P<name>[A-Za-z_]\w*(?:-[A-Za-z]\w*)*[!?]?)"
    r"|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<line>\n[ \t]*)|(?P<end>;)"
    r"|(?P<sign>=>|->|<-|:=|\+=|\?=|\|>|<<|==|!=|<=|>=|&&|\|\||::|[-=:,.|+<>$#@%/\\?&!])"
)
_KEY = compile_lazily(r"[A-Za-z_][\w-]*")
_CONTINUING_SIGNS = frozenset("= := += ?= , . + && || |> -> <- ? :: \\ ( [".split())
_RECORD_BEFORE = frozenset(("(", "[", ",", "=", ":", "=>(", "?", "|", "||", "&&", "<-", ":=", "const", "let", "var"))
_SUBSTITUTIONS = frozenset("$#%@")
_CLOSING = {"(": ")", "[": "]", "{": "}"}


class Token(NamedTuple):
    """One token; `depth` counts the round and square brackets of its unit that are open."""

    kind: str
    text: str
    position: int
    depth: int = 0

    @property
    def content(self) -> str:
        """What stands between the quotes of a string; the text of anything else."""
        if self.kind != "string":
            return self.text
        width = 3 if self.text[:3] in ('"""', "'''") and len(self.text) >= 6 else 1
        return self.text[width:-width]


@dataclass(slots=True, eq=False)
class Unit:
    """Tokens that belong together; `opener` is the unit in whose block or record it stands."""

    opener: Unit | None = None
    is_record: bool = False
    indent: int = 0
    tokens: list[Token] = field(default_factory=list)

    def add(self, token: Token) -> None:
        """Append a token unless the unit is full."""
        if len(self.tokens) < MAX_UNIT_TOKENS:
            self.tokens.append(token)


class _Frame(NamedTuple):
    """An open bracket: its sign, the unit around it, and whether it is a block, a record or a group."""

    sign: str
    unit: Unit
    kind: str


def iter_tokens(text: str) -> Iterator[Token]:
    """Yield the tokens of a text; characters that mean nothing here are left out."""
    for number, match in enumerate(_TOKEN.finditer(text)):
        if number >= MAX_TOKENS:
            return
        yield Token(match.lastgroup or "", match[0], match.start())


def _is_key(token: Token, tokens: list[Token], index: int) -> bool:
    """Return whether a string is the name of a setting: `"outDir": …`."""
    is_before_colon = index + 1 < len(tokens) and tokens[index + 1].text in (":", "=>")
    return is_before_colon and _KEY.fullmatch(token.content) is not None


class UnitReader:
    """Groups the tokens of one text into units."""

    def __init__(self) -> None:
        self.units: list[Unit] = []
        self._frames: list[_Frame] = []
        self._unit = Unit()
        self._previous = ""
        self._depth = 0
        self._indent = 0

    def read(self, text: str) -> list[Unit]:
        """Return the units of a text in the order in which they end."""
        tokens = list(iter_tokens(text))
        for index, token in enumerate(tokens):
            if token.kind in ("line", "end"):
                self._indent = len(token.text) - 1 if token.kind == "line" else self._indent
                if not self._goes_on(token, tokens[index + 1] if index + 1 < len(tokens) else None):
                    self._end_unit()
                continue
            if token.kind == "open":
                self._open(token, tokens[index + 1].text if index + 1 < len(tokens) else "")
            elif token.kind == "close":
                self._close(token)
            elif token.kind == "string" and _is_key(token, tokens, index):
                self._add(Token("name", token.content, token.position))
            else:
                self._add(token)
            self._previous = token.text
        self._end_unit()
        return self.units

    def _goes_on(self, token: Token, following: Token | None) -> bool:
        """Return whether the unit goes on after a line's end or a semicolon."""
        if self._frames and self._frames[-1].kind != "block":
            if len(self._unit.tokens) < MAX_UNIT_TOKENS:
                return True
            # A bracket that nothing closes, or a table of data: what follows is read afresh.
            self._frames.clear()
            return False
        if token.kind == "end":
            return False
        if self._previous in _CONTINUING_SIGNS:
            return bool(self._unit.tokens)
        return following is not None and following.text in (".", "?", "|>", "&&", "||", "+", "::", ")", "]")

    def _add(self, token: Token) -> None:
        if not self._unit.tokens:
            self._unit.indent = self._indent
        self._unit.add(token._replace(depth=self._depth))

    def _open(self, token: Token, following: str) -> None:
        if token.text != "{" or self._previous in _SUBSTITUTIONS:
            self._add(token)
            self._frames.append(_Frame(token.text, self._unit, "group"))
            self._depth += 1
            return
        # A document in JSON, and what Elixir takes apart: `{:ok, body} = …`.
        begins_record = not (self._previous or self.units) or following == ":"
        is_record = self._previous in _RECORD_BEFORE or begins_record
        self._frames.append(_Frame("{", self._unit, "record" if is_record else "block"))
        opener = self._unit
        self._unit = Unit(opener, is_record=is_record, indent=self._indent)
        self._depth = 0

    def _close(self, token: Token) -> None:
        while self._frames:
            frame = self._frames.pop()
            if frame.kind == "group":
                self._depth = max(0, self._depth - 1)
                if _CLOSING[frame.sign] == token.text:
                    self._add(token._replace(depth=self._depth))
                    return
                continue
            self._end_unit()
            self._unit = frame.unit
            self._depth = sum(1 for each in self._frames if each.kind == "group" and each.unit is frame.unit)
            if token.text == "}":
                return

    def _end_unit(self) -> None:
        if self._unit.tokens:
            self.units.append(self._unit)
        block = next((frame for frame in reversed(self._frames) if frame.kind != "group"), None)
        self._unit = Unit(block.unit if block is not None else None, indent=self._indent)
        self._depth = 0
