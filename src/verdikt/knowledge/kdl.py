"""Read KDL, the document language of `usage` specs: nodes with arguments, properties and children.

It reads what both versions of the language share, and the spellings in which they differ (`true` and `#true`, `r"…"`
and `#"…"#`). Types, numbers and bare words are left as text: nothing here asks for more.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

MAX_DEPTH = 64
"""How deeply nodes may be nested; no program has commands as deep."""

_SKIPPED = re.compile(r"(?:[^\S\n]|\\[^\S\n]*(?://[^\n]*)?\n|/\*.*?\*/)+", re.DOTALL)
_COMMENT = re.compile(r"//[^\n]*")
_RAW_STRING = re.compile(r'r?(#+)"(.*?)"\1|r"([^"]*)"', re.DOTALL)
_BLOCK_STRING = re.compile(r'"""(.*?)"""', re.DOTALL)
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_BARE_WORD = re.compile(r'[^\s"=;{}()/\\]+(?:/[^\s"=;{}()/\\]+)*')
_TYPE = re.compile(r"\([^()\n]*\)")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}


class KdlError(Exception):
    """Text that is no KDL; the message names the line."""


@dataclass(slots=True)
class KdlNode:
    """A node: its name, its arguments and properties as text, and the nodes in its braces."""

    name: str
    arguments: list[str] = field(default_factory=list)
    properties: dict[str, str] = field(default_factory=dict)
    children: list[KdlNode] = field(default_factory=list)


def parse_kdl(text: str) -> list[KdlNode]:
    """Return the nodes of a document; raises `KdlError`."""
    return _Reader(text.removeprefix("\ufeff").replace("\r\n", "\n")).read_nodes(0)


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def read_nodes(self, depth: int) -> list[KdlNode]:
        """Read nodes up to the end of the text, or of the braces around them."""
        if depth > MAX_DEPTH:
            raise self._fail("nodes are nested too deeply")
        nodes: list[KdlNode] = []
        while True:
            self._skip_blank_lines()
            if self._at >= len(self._text):
                if depth:
                    raise self._fail("expected `}`, found the end of the file")
                return nodes
            if self._text[self._at] == "}":
                if not depth:
                    raise self._fail("expected a node, found `}`")
                self._at += 1
                return nodes
            is_dropped = self._take("/-")
            self._skip(_SKIPPED)
            node = self._read_node(depth)
            if not is_dropped:
                nodes.append(node)

    def _read_node(self, depth: int) -> KdlNode:
        self._skip(_TYPE)
        node = KdlNode(self._read_value())
        while True:
            self._skip(_SKIPPED)
            self._skip(_COMMENT)
            if self._at >= len(self._text) or self._text[self._at] in "\n;}":
                # The brace belongs to the node around this one.
                self._at += self._at < len(self._text) and self._text[self._at] != "}"
                return node
            is_dropped = self._take("/-")
            self._skip(_SKIPPED)
            if self._take("{"):
                children = self.read_nodes(depth + 1)
                node.children += [] if is_dropped else children
            else:
                self._read_entry(node, is_dropped=is_dropped)

    def _read_entry(self, node: KdlNode, *, is_dropped: bool) -> None:
        self._skip(_TYPE)
        value = self._read_value()
        if self._take("="):
            self._skip(_TYPE)
            property_value = self._read_value()
            node.properties.update({} if is_dropped else {value: property_value})
        elif not is_dropped:
            node.arguments.append(value)

    def _read_value(self) -> str:
        for pattern in (_RAW_STRING, _BLOCK_STRING, _STRING):
            if match := pattern.match(self._text, self._at):
                self._at = match.end()
                text = match[match.lastindex or 0]
                is_raw = pattern is _RAW_STRING
                return text if is_raw else _ESCAPE.sub(lambda escape: _ESCAPED.get(escape[1], escape[1]), text)
        match = _BARE_WORD.match(self._text, self._at)
        if match is None:
            raise self._fail(f"expected a name or a value, found `{self._text[self._at : self._at + 10]}`")
        self._at = match.end()
        return match[0].removeprefix("#")

    def _take(self, mark: str) -> bool:
        is_there = self._text.startswith(mark, self._at)
        self._at += len(mark) * is_there
        return is_there

    def _skip(self, pattern: re.Pattern[str]) -> bool:
        match = pattern.match(self._text, self._at)
        self._at = match.end() if match else self._at
        return match is not None

    def _skip_blank_lines(self) -> None:
        while self._skip(_SKIPPED) or self._skip(_COMMENT) or self._take("\n") or self._take(";"):
            pass

    def _fail(self, problem: str) -> KdlError:
        return KdlError(f"line {self._text.count(chr(10), 0, self._at) + 1}: {problem}")
