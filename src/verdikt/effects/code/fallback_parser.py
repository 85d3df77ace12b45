"""Python that this version of Python cannot read as a whole: another version may run it, so it is read line by line."""

import ast
import warnings

from verdikt.model.lazy_regex import compile_lazily

_MAX_ATTEMPTS = 2_000
"""How often a piece of it is parsed; what is left by then counts as lost."""

_MAX_STATEMENT_LINES = 50
"""Lines that one statement may go over."""

_INCOMPLETE_ERROR = compile_lazily(r"never closed|unterminated|EOF|incomplete|indented block")
"""What Python says of a piece that the next line may complete."""

_RISKY_CALL = compile_lazily(
    r"\b(?:system|popen\w*|Popen|run|call|check_call|check_output|get(?:status)?output|spawn\w*|exec\w*|eval|compile|__import__"
    r"|import_module|getattr|remove|removedirs|unlink|rmdir|rmtree|remove_tree|truncate|urlopen|urlretrieve|post|put|socket|b64decode)"
    r"\s*\(|\bexec\s+\S"
)
"""Calls of which nobody can tell what they would do when their line cannot be read."""


class FallbackParser:
    """A program as a `tree`: the `whole` of it, or the statements that can be read one by one.

    `telling` is whether a line that cannot be read may do what matters. Raises what `ast.parse` raises beside `SyntaxError`.
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
            elif ";" in lines[-1]:
                lines += [part.strip() for part in reversed(lines.pop().split(";"))]
            else:
                self.has_risky_line = bool(_RISKY_CALL.search(lines.pop())) or self.has_risky_line

    def _parse_statement(self, lines: list[str]) -> int:
        """How many lines the next statement takes, of lines in reverse; 0 when it cannot be read."""
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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)
