"""Whether two contents of a file are the same program: they differ in white space, and in Python in comments. Pure."""

import ast


def is_same_code(path: str, before: str, now: str) -> bool:
    """Return whether nothing that runs differs between two contents of a file."""
    if _list_lines(before) == _list_lines(now):
        return True
    if not path.endswith((".py", ".pyi")):
        return False
    try:
        return ast.dump(ast.parse(before)) == ast.dump(ast.parse(now))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _list_lines(text: str) -> list[str]:
    # White space before a line matters in some languages, behind it in none.
    return [line.rstrip() for line in text.splitlines() if line.strip()]
