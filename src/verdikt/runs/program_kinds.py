"""Tables of programs that are evidence: which run tests, build, lint, commit, fetch, or only look."""

import itertools
import re
from collections.abc import Sequence

from verdikt.knowledge import find_role
from verdikt.model.lazy_regex import compile_lazily

_TEST_WORD = compile_lazily(r"(?:^|[:_.-])(?:unit|e2e|integration)?-?(?:tests?|specs?|check)(?:$|[:_.-])")

_KIND_BY_PROGRAM = {
    name: kind for kind in ("test", "build", "lint", "http", "look") for name in find_role(f"{kind}_task")
}

_SUBCOMMANDS: dict[str, dict[str, str]] = {
    "go": {"test": "test", "build": "build", "vet": "lint", "install": "build"},
    "cargo": {
        "test": "test",
        "nextest": "test",
        "t": "test",
        "build": "build",
        "check": "build",
        "b": "build",
        "clippy": "lint",
    },
    "dotnet": {"test": "test", "build": "build", "publish": "build"},
    "deno": {"test": "test", "check": "build", "lint": "lint"},
    "bun": {"test": "test", "build": "build"},
    "mix": {"test": "test", "compile": "build"},
    "swift": {"test": "test", "build": "build"},
    "bazel": {"test": "test", "build": "build"},
    "ruff": {"check": "lint", "format": "lint"},
    "docker": {"build": "build", "buildx": "build"},
    "git": {
        "commit": "commit",
        "status": "look",
        "log": "look",
        "diff": "look",
        "show": "look",
        "branch": "look",
        "fetch": "look",
        "remote": "look",
        "blame": "look",
        "ls-files": "look",
        "rev-parse": "look",
        "grep": "look",
        "config": "look",
    },
    "mvn": {"test": "test", "verify": "test", "install": "test", "package": "test", "compile": "build"},
    "gradle": {"test": "test", "check": "test", "build": "test", "assemble": "build"},
    "npm": {"test": "test", "t": "test", "tst": "test"},
    "yarn": {"test": "test", "build": "build", "lint": "lint"},
    "pnpm": {"test": "test", "t": "test", "build": "build", "lint": "lint"},
    "rake": {"test": "test", "spec": "test"},
    "rails": {"test": "test"},
    "next": {"build": "build", "lint": "lint"},
    "ng": {"test": "test", "build": "build", "lint": "lint"},
    "cmake": {"--build": "build"},
    "black": {"--check": "lint"},
    "isort": {"--check": "lint", "--check-only": "lint"},
    "prettier": {"--check": "lint", "-c": "lint"},
}
_ALIASES = {"mvnw": "mvn", "gradlew": "gradle", "python3": "python", "py": "python", "nodejs": "node", "gmake": "make"}
_KIND_BY_MODULE = {
    "pytest": "test",
    "unittest": "test",
    "nose2": "test",
    "build": "build",
    "compileall": "build",
    "py_compile": "build",
    "mypy": "lint",
    "ruff": "lint",
    "flake8": "lint",
    "pylint": "lint",
    "coverage": "test",
}

_DRY_RUN_FLAGS = frozenset(
    "--collect-only --co --version --help -h --listTests --list -list --no-run --show-only --dry-run --just-print"
    " -DskipTests"
    " -Dmaven.test.skip=true --fixtures --markers --setup-plan --setup-only --passWithNoTests --exit-zero --list-tests"
    " --no-fail --exit-0 --noop --recon".split()
)
_SHORT_DRY_RUN_FLAGS = {"make": {"-n", "-q"}, "ctest": {"-N"}, "git": {"-n"}, "pytest": {"-V"}}


def classify_run(argv: Sequence[str]) -> str:
    """Return `test`, `build`, `lint`, `commit`, `http`, `look` or `other`."""
    if not argv:
        return "look"
    name, arguments = resolve_program_name(argv[0]), list(argv[1:])
    # Without output, the compiler only checks types.
    if name == "tsc" and "--noEmit" in arguments:
        return "lint"
    # In place, it changes files; without that flag it only shows them.
    if name == "sed" and any(word.startswith(("-i", "--in-place")) for word in arguments):
        return "other"
    if name in _KIND_BY_PROGRAM:
        return _KIND_BY_PROGRAM[name]
    return _classify_runner(name, arguments) or _classify_subcommand(name, arguments)


def _classify_runner(name: str, arguments: list[str]) -> str:
    """Return the kind of what an interpreter or a task runner starts; empty for other programs."""
    words = [word for word in arguments if not word.startswith("-")]
    if name == "python" and "-m" in arguments[:4]:
        module = arguments[arguments.index("-m") + 1 : arguments.index("-m") + 2]
        return _KIND_BY_MODULE.get(module[0] if module else "", "other")
    if name == "coverage" and words[:1] == ["run"]:
        return "test" if any(word in ("pytest", "unittest") for word in words) else "other"
    if name == "node" and "--test" in arguments:
        return "test"
    if name in ("make", "just", "task"):
        return _classify_task_name(words[0] if words else "all")
    if name in ("npm", "yarn", "pnpm", "bun") and words[:1] in (["run"], ["run-script"]):
        return _classify_task_name(words[1] if len(words) > 1 else "")
    return ""


def _classify_subcommand(name: str, arguments: list[str]) -> str:
    """Return the kind of a program by its subcommand or goals."""
    table = _SUBCOMMANDS.get(name, {})
    for word in arguments:
        kind = table.get(word) or (table.get(word.rsplit(":", 1)[-1]) if name == "gradle" else None)
        if kind:
            return kind
        # Only the first word is the subcommand, except for tools that take several goals.
        if not word.startswith("-") and name not in ("mvn", "gradle", "git"):
            break
    return "other"


def _classify_task_name(name: str) -> str:
    """Return the kind of a project's named task, by its name."""
    if _TEST_WORD.search(name):
        return "test"
    if re.search(r"lint|typecheck|type-check|format|fmt", name):
        return "lint"
    return "build" if re.search(r"build|compile|^all$|dist|bundle", name) else "other"


_TYPE_CHECKER = compile_lazily(r"^(?:mypy|dmypy|pyright|basedpyright|ty|pyre|vue-tsc|tsc|type-?check\w*|types)$")


def is_type_check(argv: Sequence[str]) -> bool:
    """Return whether a linter run is one of a type checker."""
    return any(_TYPE_CHECKER.match(resolve_program_name(word)) for word in argv[:4])


def is_dry_run(argv: Sequence[str]) -> bool:
    """Return whether a flag makes the program do less than its name says: list tests, print help, ignore failures."""
    name = resolve_program_name(argv[0]) if argv else ""
    flags = {word.partition("=")[0] if not word.startswith("-D") else word for word in argv[1:]}
    if flags & _DRY_RUN_FLAGS or flags & _SHORT_DRY_RUN_FLAGS.get(name, set()):
        return True
    return name in ("gradle", "gradlew") and any(pair == ("-x", "test") for pair in itertools.pairwise(argv))


_SELECTION_FLAGS = frozenset(
    "-k -m -t -R -E -run --run --lf --last-failed --sw --stepwise --nf --testNamePattern --testPathPattern --tests"
    " --filter --only --grep -g"
    " --onlyChanged --changedSince --related --findRelatedTests --bail-on-first -Dtest -Dit.test --lib --bin --doc"
    " --test --example --deselect"
    " --exclude --ignore --spec --shard".split()
)
_FULL_SUITE_PATHS = frozenset(
    ". ./... ./ tests tests/ test test/ spec spec/ src src/ __tests__ all //... discover".split()
)
_TEST_PATH = compile_lazily(r"/|\.(?:py|js|jsx|ts|tsx|mjs|cjs|rb|php|go|rs|java|kt|exs)(?:$|[:#\[])|::")


def is_partial_test_run(argv: Sequence[str]) -> bool:
    """Return whether a test run was told to run only a part of the tests."""
    name, arguments = resolve_program_name(argv[0]) if argv else "", list(argv[1:])
    if name == "python" and "-m" in arguments:
        index = arguments.index("-m")
        name, arguments = (arguments[index + 1] if index + 1 < len(arguments) else ""), arguments[index + 2 :]
    for word in arguments:
        flag = word.partition("=")[0]
        is_other_flag = (flag in ("-m", "-t", "-R", "-g") and name in ("make", "npm", "yarn", "pnpm")) or (
            # Of node it is what makes it a test runner.
            flag == "--test" and name in ("node", "python")
        )
        if flag in _SELECTION_FLAGS and not is_other_flag:
            return True
        if not word.startswith("-") and word not in _FULL_SUITE_PATHS and _TEST_PATH.search(word):
            return True
    words = [word for word in arguments if not word.startswith("-")]
    return name == "cargo" and len(words) > 1 and words[0] in ("test", "t")


def resolve_program_name(word: str) -> str:
    """Return the program that a word starts; the whole word when it lies where programs usually do not."""
    directory, _, name = word.rpartition("/")
    name = name.removesuffix(".exe")
    # `./pytest` in a project may be any script; `.venv/bin/pytest` is the tool.
    if directory and not re.search(r"(?:^|/)(?:s?bin|\.bin|Scripts)$", directory) and name not in ("mvnw", "gradlew"):
        return word
    name = _ALIASES.get(name, name)
    return "python" if re.fullmatch(r"python\d(?:\.\d+)?", name) else name
