"""No program is known by name in Python: what verdikt knows of programs stands in the records."""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.test_architecture import SOURCE
from verdikt.hosts.registry import HOSTS
from verdikt.knowledge import list_programs
from verdikt.knowledge.compiler import compile_files, iter_entries, read_files

MIN_NAME_LENGTH = 3
"""Shorter names (`rm`, `fd`, `go`) are too often something else: an option, a suffix, a key."""

WORDS = frozenset(
    """
    command kind host type file seq code test red pass open source local read write http head hash script look diff exec
    true tree init now timeout install set history repo yes standard time where export dir env patch info false last
    tail profiles eval select reset toolbox port socket print format step continue readonly complete help users paste
    join unlink return trash skill service installer coverage date next builtin batch delta exit enable crash rename
    top task indent daemon security verdikt split pre-commit cmd alias https sqlite groups wait route logger
    """.split()
)
"""Programs whose names are words of everyday code too: keys of a payload, kinds of an effect, verbs, a hook of git."""

LANGUAGES = frozenset(("bash", "powershell", "awk", "vim", "gnuplot", "raku"))
"""Languages of code that no record names, because the shell analysis or a host finds the code."""

ALLOWED: tuple[tuple[str, str, str], ...] = (
    ("effects/handlers/", "", "handlers, each named in the record that uses it"),
    ("call_permissions.py", "git", "the facts about repositories"),
    ("claims/cues.py", "ant", "an ending of French verbs"),
    ("effects/secret_issuers.py", "", "issuers of secrets, which often have a program of their name"),
    ("effects/secret_sends.py", "git", "the index of git, in which a secret may lie"),
    ("effects/armed_text.py", "", "words of a line, by which the line of an effect is found"),
    ("effects/code_sections.py", "", "languages and files by their names"),
    ("shell/evaluated_text.py", "", "builtins, as in builtin.py"),
    ("shell/shell_words.py", "", "builtins, as in builtin.py"),
    ("runs/shell_runs.py", "git", "the two programs that apply patches"),
    ("effects/git_guarded.py", "git", "the handler of git for files that its words don't name"),
    ("effects/git_call.py", "git", "the words of one command of git, for that handler"),
    ("effects/code/", "", "functions, modules and dialects of the languages that are read there"),
    ("shell/git_inner_commands.py", "", "trace functions, each named in the record that uses it"),
    ("shell/inner_commands.py", "", "the registry of trace functions, by the names that records use for them"),
    ("shell/repeated_command.py", "echo", "what xargs runs without a command"),
    ("shell/builtin.py", "", "builtins change the shell itself: they are part of its language, like its keywords"),
    ("shell/lexer.py", "coproc", "a keyword of the shell"),
    ("shell/statement_walker.py", "coproc", "a keyword of the shell"),
    ("shell/text_filters.py", "base64", "the first word of a command of openssl"),
    ("runs/runner_output.py", "", "formats of reports, which several programs print"),
    ("evidence/suite_predicates.py", "pytest", "the runner that the validator of this name asks for"),
    ("effects/tool_classifier.py", "python3", "a language, as hosts spell it"),
    ("effects/tool_arguments.py", "python3", "a language, as tools spell it"),
    ("guards/sandbox.py", "python3 ipython", "a language, as hosts spell it"),
    ("effects/mcp_tools.py", "git", "the name of a service, as tools have it in theirs"),
    ("graph/lint_witness.py", "git", "an example of a command"),
    ("model/secret_formats.py", "", "words beside which a password stands, in any text"),
    ("model/secret_detection.py", "pwd", "a name of a field that holds a password"),
    ("model/", "git", "the part of the facts that is about git"),
    ("ledger/projections.py", "git", "the part of the facts that is about git"),
    ("turns/facts.py", "git", "the part of the facts that is about git"),
    ("observe/", "git", "verdikt runs git itself"),
    ("observe/project_checks.py", "mypy tsc", "names of tasks that projects give to such a check"),
    ("observe/world.py", "setup.py", "a file at the top of a project"),
    ("cli/", "git", "verdikt runs git itself, and has a command of this name"),
    ("cli/completion.py", "zsh fish", "shells that verdikt completes for"),
    ("daemon/native/build.py", "gcc clang", "compilers that verdikt runs itself"),
    ("integrations/crewai.py", "invoke", "a method of CrewAI's tools"),
    ("hosts/", "", "the hosts' own programs and tools, and those that their live checks run"),
)
"""File or directory, the names that may stand there (none: all), and why."""


def list_languages() -> set[str]:
    """Return the names that the records use for languages: `python` is one, besides being a program."""
    entries = [entry for record in compile_files(read_files()).values() for _, entry in iter_entries(record)]
    readers = [reader for entry in entries for reader in (entry.get("code", {}), *entry.get("exec", ()))]
    return {reader["language"] for reader in readers if "language" in reader}


def list_literals(tree: ast.Module) -> Iterator[ast.Constant]:
    """Yield the string literals of a file, except docstrings."""
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node


def find_program_names(path: str, source: str, names: frozenset[str]) -> list[str]:
    """Return the literals of a file that are the name of a program, or a list of such names."""
    allowed: set[str] = set()
    for prefix, exceptions, _ in ALLOWED:
        if path.startswith(prefix):
            if not exceptions:
                return []
            allowed.update(exceptions.split())
    forbidden = names - allowed
    return [
        f"{path}:{literal.lineno}: {literal.value}"
        for literal in list_literals(ast.parse(source))
        if (words := re.split(r"[ |\n]+", literal.value)) != [""] and forbidden.issuperset(words)
    ]


@pytest.fixture(scope="module")
def names() -> frozenset[str]:
    """Return the names that no literal may be."""
    programs = {name for name in list_programs() if len(name) >= MIN_NAME_LENGTH}
    return frozenset(programs - WORDS - LANGUAGES - list_languages() - HOSTS.keys())


def test_no_literal_outside_the_handlers_is_the_name_of_a_program(names: frozenset[str]) -> None:
    """A program that Python knows by name is a fact that no record, no lint and no outsider can see or change."""
    violations: list[str] = []
    for file in sorted(SOURCE.rglob("*.py")):
        path = file.relative_to(SOURCE).as_posix()
        if not path.endswith("_compiled.py"):
            violations += find_program_names(path, file.read_text(encoding="utf-8"), names)
    hint = "move it into a record or a role; if the name is an ordinary word of code, add it to WORDS"
    assert not violations, "\n".join([hint, *violations])


def test_every_exception_is_still_needed(names: frozenset[str]) -> None:
    """An exception that nothing needs any more would let a new name in unseen."""
    literals: dict[str, set[str]] = {}
    for file in SOURCE.rglob("*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        literals[file.relative_to(SOURCE).as_posix()] = {str(literal.value) for literal in list_literals(tree)}
    for prefix, exceptions, reason in ALLOWED:
        texts = {text for path, values in literals.items() if path.startswith(prefix) for text in values}
        unused = set(exceptions.split()) - texts if exceptions else set() if names & texts else {"*"}
        assert not unused, f"{prefix}: {reason}: {unused}"


@pytest.mark.parametrize("source", ['x = call.name == "curl"', 'x = "curl wget"', 'x = "wget|curl"', 'x = ("curl",)'])
def test_a_name_in_any_form_of_literal_is_found(source: str, names: frozenset[str]) -> None:
    """A name counts alone, in a tuple and in a list of words; a docstring may say what it likes."""
    assert find_program_names("effects/x.py", source, names)
    assert not find_program_names("effects/x.py", '"""curl"""', names)
