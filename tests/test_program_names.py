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
    top task indent daemon security verdikt split pre-commit cmd alias https sqlite groups wait route logger convert
    """.split()
)
"""Programs whose names are words of everyday code too: keys of a payload, kinds of an effect, verbs, a hook of git."""

PROGRAMS = frozenset(list_programs())
LANGUAGES = frozenset(("bash", "powershell", "awk", "vim", "gnuplot", "raku"))
"""Languages of code that no record names, because the shell analysis or a host finds the code."""

ALL = "*"
ALLOWED: dict[str, dict[str, str]] = {
    "functions that records name: handlers of effects, and tracers of what a program runs": {
        "effects/handlers/": ALL,
        "effects/git_guarded.py": "git",
        "effects/git_call.py": "git",
        "shell/git_inner_commands.py": "git unset",
        "shell/inner_commands.py": "ant cmake find git gradle just ninja parallel sed socat tee tex trap xargs",
        "shell/repeated_command.py": "echo",
        "shell/text_filters.py": "base64",
    },
    "the language of the shell: its keywords, and the builtins that change the shell itself": {
        "shell/builtin.py": "declare getopts let mapfile popd printf pushd readarray shift typeset unalias unset",
        "shell/evaluated_text.py": "bind compgen declare getopts let mapfile printf readarray typeset unset",
        "shell/shell_words.py": "coproc",
        "shell/lexer.py": "coproc",
        "shell/statement_walker.py": "coproc getopts mapfile readarray unset",
    },
    "names of another language: a function (`rmdir`), a module (`docker`), a dialect of SQL, a keyword (`let`)": {
        "effects/code/": (
            "printf say powershell-cmdlet base64 crontab truncate dart dirname docker git python3 rmdir sendmail tar "
            "mysql kill cat mkdir"
        ),
        "effects/any_language/": "cmake dirname let rmdir",
        "effects/armed_text.py": "base64 chmod truncate",
        "effects/environment_variables.py": "psql",
        "effects/runner_settings.py": "cmake",
        "shell/makefile.py": "strip sort realpath",
    },
    "names of files that a project gives: `wscript`, `setup.py`, the ending `.just`": {
        "effects/code_sections.py": "cmake dart just wscript",
        "observe/world.py": "setup.py",
    },
    "words of an interface that is promised: a guard's default setting, a predicate that contracts name": {
        "guards/sandbox.py": "python3 ipython",
        "guards/bash_safety.py": "chmod curl git wget shutdown reboot halt poweroff",
        "evidence/suite_predicates.py": "pytest",
    },
    "git as a part of the facts, not as a program that an agent runs": {
        "call_permissions.py": "git",
        "effects/tool_name.py": "git",
        "graph/lint_witness.py": "git",
        "ledger/projections.py": "git",
        "model/": "git",
        "turns/facts.py": "git",
    },
    "programs that verdikt runs itself, or that it is wired into": {
        "observe/": "git",
        "cli/": "git",
        "cli/completion.py": "zsh fish",
        "daemon/native/build.py": "gcc clang",
        "hosts/": "cursor-agent git touch gzip systemctl",
    },
    "words that mean something else: issuers of secrets, fields that hold them, kinds of effects, a method": {
        "effects/armed_text.py": "git net",
        "effects/tool_values.py": "click",
        "effects/secret_issuers.py": ALL,
        "effects/tool_arguments.py": "base64",
        "model/secret_detection.py": "pwd",
        "integrations/crewai.py": "invoke",
    },
}
"""Why names may stand in a file or directory, and which."""


def list_exceptions() -> list[tuple[str, str]]:
    """Return each file or directory with exceptions, and the names that may stand there."""
    return [pair for files in ALLOWED.values() for pair in files.items()]


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
    for prefix, exceptions in list_exceptions():
        if path.startswith(prefix):
            if exceptions == ALL:
                return []
            allowed.update(exceptions.split())
    forbidden = names - allowed
    return [
        f"{path}:{literal.lineno}: {literal.value}"
        for literal in list_literals(ast.parse(source))
        if is_list_of_names(literal.value, forbidden)
        or (path.startswith(PATTERN_PACKAGES) and is_pattern_of_names(str(literal.value), forbidden))
    ]


PATTERN_PACKAGES = ("effects/", "shell/", "runs/", "evidence/", "guidance/", "observe/", "guards/")
"""Packages whose regular expressions are about commands; those of others are about prose."""
COMMAND_START = re.compile(r"(?:\\b|\^)(?:\(\?:)?([a-z][a-z0-9.+-]+)(?=\)?(?:\\s| ))")
"""A name with which a command begins in a regular expression: that of `^git\\s+push`, of `\\bchmod\\s`."""
GROUP = re.compile(r"\(\?:([^()]*\|[^()]*)\)(?!://)")


def list_alternatives(text: str) -> set[str]:
    """Return the names of programs among the alternatives of a regular expression, where most of them are such names.

    Of `(?:curl|wget|x+)` these are `curl` and `wget`; endings of files and words of prose are none.
    """
    names: set[str] = set()
    for group in GROUP.findall(text):
        words = group.split("|")
        programs = PROGRAMS.intersection(words)
        names |= programs if len(programs) * 2 > len(words) else set()
    return names


def is_pattern_of_names(text: str, forbidden: frozenset[str]) -> bool:
    """Return whether a regular expression is about commands of a program, or about several programs."""
    return len(list_alternatives(text) & forbidden) > 1 or not forbidden.isdisjoint(COMMAND_START.findall(text))


def is_list_of_names(text: str, forbidden: frozenset[str]) -> bool:
    """Return whether a text is a name or several; in a longer list, short names and words count as well."""
    words = set(re.split(r"[ |\n]+", text))
    if len(words - {""}) > 2 and not forbidden.isdisjoint(words):
        return PROGRAMS.issuperset(words - {""})
    return words != {""} and forbidden.issuperset(words)


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
    for prefix, exceptions in list_exceptions():
        texts = {text for path, values in literals.items() if path.startswith(prefix) for text in values}
        words = {word for text in texts for word in (*re.split(r"[ |\n]+", text), *list_alternatives(text))}
        words |= {word for text in texts for word in COMMAND_START.findall(text)}
        unused = set(exceptions.split()) - (names & words) if exceptions != ALL else set() if names & texts else {ALL}
        assert not unused, f"{prefix}: {unused}"


@pytest.mark.parametrize(
    "source",
    [
        'x = call.name == "curl"',
        'x = "curl wget"',
        'x = "wget|curl"',
        'x = ("curl",)',
        'x = "sh rm zsh"',
        r'x = r"\b(?:curl|wget)\b.*\$"',
        r'x = rf"{y}(?:curl|wget)\s"',
        r'x = r"^curl\s+-o"',
        r'x = r"\bcurl -o|\bx\b"',
    ],
)
def test_a_name_in_any_form_of_literal_is_found(source: str, names: frozenset[str]) -> None:
    """A name counts alone, in a tuple and in a list of words; a docstring may say what it likes."""
    assert find_program_names("effects/x.py", source, names)
    assert not find_program_names("effects/x.py", '"""curl"""', names)
