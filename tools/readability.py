"""Measure how the source reads: `python tools/readability.py [DIRECTORY]`.

Prints one row per package and one for the tree. The bars that must hold are in `tests/test_readability.py`.
"""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

BANNED_WORDS = re.compile(r"\b(?:nobody|somebody|whoever|anew)\b", re.IGNORECASE)
"""Words that make a sentence need a second reading; plain ones are `no one`, `the caller`, `the client`, `again`."""

IRREGULAR_PARTICIPLES = frozenset(
    """
    told made kept given found said seen shown held taken known gone done begun bought built brought caught chosen drawn
    driven fallen felt fought forgotten forgiven frozen got grown heard hidden laid led left lent lost meant met paid
    sent sold spent spoken stood stuck swept taught thought thrown understood won worn written bound broken
    borne born struck
    """.split()
)
NOT_PARTICIPLES = frozenset("need feed seed speed embed exceed proceed succeed".split())
MAX_COLUMNS = 120
GENERATED = "_compiled.py"
"""The module that is compiled from the records of programs; no one reads it."""


@dataclass
class Measurement:
    """Counts over a set of files."""

    files: int = 0
    lines: int = 0
    functions: int = 0
    one_word: int = 0
    participles: int = 0
    banned_words: int = 0
    comment_lines: int = 0
    function_imports: int = 0
    long_lines: int = 0

    def add(self, other: "Measurement") -> None:
        """Add the counts of another measurement to this one."""
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))

    def describe(self, name: str) -> str:
        """Return the measurement as one line of the table."""
        functions, lines = max(self.functions, 1), max(self.lines, 1)
        return (
            f"{name:<12}{self.files:>6}{self.lines:>8}{self.functions:>7}"
            f"{self.one_word / functions:>9.1%}{self.participles / functions:>9.1%}{self.banned_words:>7}"
            f"{self.comment_lines / lines:>9.1%}{self.function_imports:>8}{self.long_lines:>6}"
        )


def starts_with_participle(name: str) -> bool:
    """Tell whether the first word of a function name is a past participle."""
    word = name.strip("_").split("_")[0]
    return word in IRREGULAR_PARTICIPLES or (word.endswith("ed") and len(word) > 3 and word not in NOT_PARTICIPLES)


def list_functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield every function and method except the special ones, whose names Python chose."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("__"):
            yield node


def list_function_imports(tree: ast.AST) -> set[int]:
    """Return the lines of the imports that stand inside a function."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return {
        node.lineno
        for function in functions
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }


def measure_source(source: str) -> Measurement:
    """Return the counts of one file."""
    tree, lines = ast.parse(source), source.splitlines()
    names = [function.name for function in list_functions(tree)]
    return Measurement(
        files=1,
        lines=len(lines),
        functions=len(names),
        one_word=sum("_" not in name.strip("_") for name in names),
        participles=sum(map(starts_with_participle, names)),
        banned_words=len(BANNED_WORDS.findall(source)),
        comment_lines=sum(line.lstrip().startswith("#") for line in lines),
        function_imports=len(list_function_imports(tree)),
        long_lines=sum(len(line) > MAX_COLUMNS for line in lines),
    )


def measure_tree(root: Path) -> dict[str, Measurement]:
    """Return the counts of every package below a directory, by its name, and of the whole tree under `total`."""
    packages: dict[str, Measurement] = defaultdict(Measurement)
    for path in sorted(path for path in root.rglob("*.py") if path.name != GENERATED):
        measurement = measure_source(path.read_text(encoding="utf-8"))
        packages[path.relative_to(root).parts[0]].add(measurement)
        packages["total"].add(measurement)
    packages["total"] = packages.pop("total", Measurement())  # last in the table
    return dict(packages)


def main() -> None:
    """Print the table."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent / "src" / "verdikt")
    titles = ("files", 6), ("lines", 8), ("funcs", 7), ("1 word", 9), ("partic.", 9), ("banned", 7)
    print(
        " " * 12 + "".join(title.rjust(width) for title, width in (*titles, ("comm.", 9), ("imports", 8), (">120", 6)))
    )
    for name, measurement in measure_tree(root).items():
        print(measurement.describe(name))


if __name__ == "__main__":
    main()
