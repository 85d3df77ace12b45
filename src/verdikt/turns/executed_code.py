"""Whether a run executed a file of code: by its name, as a module, or by inline code that imports it. Pure."""

import ast
import posixpath
from collections.abc import Sequence
from contextlib import suppress

from verdikt.knowledge import find_language, find_record, find_role
from verdikt.runs.program_kinds import resolve_program_name
from verdikt.runs.shell_runs import ProgramRun, is_file_handler
from verdikt.turns.turn import is_same_path

_TASK_RUNNERS = find_role("task_runner")


def executes_code(run: ProgramRun, code: Sequence[str]) -> bool:
    """Return whether a run names one of these files or its module, and is no program that only copies or formats it."""
    if is_file_handler(run.argv):
        return False
    paths = [path for path in code if path != "*"]
    words = (*_list_operands(run.argv), *([run.reads] if run.reads else ()))
    stems = {posixpath.splitext(posixpath.basename(path))[0] for path in paths}
    # Short stems such as `a` or `io` would match by accident.
    is_named = any(is_same_path(word, path) for word in words for path in paths) or any(
        stem in word.split(".") for word in run.argv for stem in stems if len(stem) > 2
    )
    is_imported = find_language(run.argv[0]) == "python" and not stems.isdisjoint(_find_imported_modules(run.argv))
    return is_named or is_imported or (run.argv[0] in _TASK_RUNNERS and "Makefile" in stems)


def _list_operands(argv: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words of a command; those of a database's client hold statements, such as `.read totals.sql`."""
    record = find_record(resolve_program_name(argv[0])) or {}
    is_database = str(record.get("handler", "")).startswith("database")
    return tuple(part for word in argv for part in word.split()) if is_database else argv


def _find_imported_modules(argv: tuple[str, ...]) -> set[str]:
    """Return the parts of the names of modules that inline code imports at once, as in `python -c "import cart"`."""
    modules: set[str] = set()
    for word in argv[1:]:
        # Parsed, not searched: a text that only mentions an import runs nothing.
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            for statement in ast.parse(word).body:
                if isinstance(statement, ast.Import):
                    modules.update(*(alias.name.split(".") for alias in statement.names))
                elif isinstance(statement, ast.ImportFrom) and statement.module:
                    modules.update(statement.module.split("."), (alias.name for alias in statement.names))
    return modules
