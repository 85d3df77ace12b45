"""Python that this version of Python cannot read as a whole: another version may run it, so it is read line by line."""

import ast
import warnings

from verdikt.model.regex import regex

_ATTEMPTS = 2_000
"""How often a piece of it is parsed; what is left by then counts as lost."""

_LONGEST = 50
"""Lines that one statement may go over."""

_GOES_ON = regex(r"never closed|unterminated|EOF|incomplete|indented block")
"""What Python says of a piece that the next line may complete."""

_TELLING = regex(
    r"\b(?:system|popen\w*|Popen|run|call|check_call|check_output|get(?:status)?output|spawn\w*|exec\w*|eval|compile|__import__"
    r"|import_module|getattr|remove|removedirs|unlink|rmdir|rmtree|remove_tree|truncate|urlopen|urlretrieve|post|put|socket|b64decode)"
    r"\s*\(|\bexec\s+\S"
)
"""Calls of which nobody can tell what they would do when their line cannot be read."""


class Legible:
    """A program as a `tree`: the `whole` of it, or the statements that can be read one by one.

    `telling` is whether a line that cannot be read may do what matters. Raises what `ast.parse` raises beside `SyntaxError`.
    """

    def __init__(self, text: str) -> None:
        self.telling = False
        self._left = _ATTEMPTS
        try:
            self.tree = _parse(text)
            self.whole = True
        except SyntaxError:
            self.tree = ast.Module([], [])
            self.whole = False
            self._read([line.strip() for line in reversed(text.splitlines())])

    def _read(self, lines: list[str]) -> None:
        while lines:
            if count := self._statement(lines):
                del lines[-count:]
            elif ";" in lines[-1]:
                lines += [part.strip() for part in reversed(lines.pop().split(";"))]
            else:
                self.telling = bool(_TELLING.search(lines.pop())) or self.telling

    def _statement(self, lines: list[str]) -> int:
        """How many lines the next statement takes, of lines in reverse; 0 when it cannot be read."""
        piece = ""
        for count, line in enumerate(reversed(lines[-_LONGEST:]), start=1):
            piece = f"{piece}\n{line}" if piece else line
            if not self._left:
                return 0
            self._left -= 1
            try:
                self.tree.body += _parse(f"{piece} pass" if line.endswith(":") else piece).body
            except SyntaxError as error:
                if not _GOES_ON.search(error.msg or ""):
                    return 0
            else:
                return count
        return 0


def _parse(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)
