"""Parse Python that this version cannot parse as a whole line by line: another version may still run it."""

import ast
import warnings

from verdikt.model.lazy_regex import compile_lazily

_MAX_ATTEMPTS = 2_000
"""Maximum number of pieces that are parsed; lines after that count as unreadable."""

_MAX_STATEMENT_LINES = 50
"""Maximum number of lines of one statement."""

_INCOMPLETE_ERROR = compile_lazily(r"never closed|unterminated|EOF|incomplete|indented block")
"""Messages of Python about a piece that the next line may complete."""

_RISKY_CALL = compile_lazily(
    r"\b(?:system|popen\w*|Popen|run|call|check_call|check_output|get(?:status)?output|spawn\w*|exec\w*|eval|compile"
    r"|__import__"
    r"|import_module|getattr|remove|removedirs|unlink|rmdir|rmtree|remove_tree|truncate|urlopen|urlretrieve|post|put"
    r"|socket|b64decode)"
    r"\s*\(|\bexec\s+\S"
)
"""Calls that make an unreadable line suspicious."""


class FallbackParser:
    """A program as a `tree`: the whole of it if `is_complete`, or the statements that can be parsed one by one.

    `has_risky_line` says that an unreadable line calls something dangerous. Raises what `ast.parse` raises besides
    `SyntaxError`.
    """

    def __init__(self, text: str) -> None:
        self.has_risky_line = False
        self._attempts_left = _MAX_ATTEMPTS
        try:
            self.tree = _parse_source(text)
            self.is_complete = True
        except SyntaxError:
            self.tree = ast.Module([], [])
            self.is_complete = False
            self._parse_lines([line.strip() for line in reversed(text.splitlines())])

    def _parse_lines(self, lines: list[str]) -> None:
        while lines:
            if count := self._parse_statement(lines):
                del lines[-count:]
            # One unreadable statement must not hide the others on its line.
            elif ";" in lines[-1]:
                lines += [part.strip() for part in reversed(lines.pop().split(";"))]
            else:
                self.has_risky_line = bool(_RISKY_CALL.search(lines.pop())) or self.has_risky_line

    def _parse_statement(self, lines: list[str]) -> int:
        """Parse the next statement of the reversed lines; return how many lines it takes, 0 if it cannot be parsed."""
        piece = ""
        for count, line in enumerate(reversed(lines[-_MAX_STATEMENT_LINES:]), start=1):
            piece = f"{piece}\n{line}" if piece else line
            if not self._attempts_left:
                return 0
            self._attempts_left -= 1
            try:
                self.tree.body += _parse_source(f"{piece} pass" if line.endswith(":") else piece).body
            except SyntaxError as error:
                if not _INCOMPLETE_ERROR.search(error.msg or ""):
                    return 0
            else:
                return count
        return 0


def _parse_source(text: str) -> ast.Module:
    # Invalid escapes in other people's code are no warnings of ours.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)
