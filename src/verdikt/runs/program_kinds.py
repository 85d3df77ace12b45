"""What a program's run is as evidence: whether it tests, builds, lints, commits, fetches, or only looks."""

import itertools
import posixpath
import re
from collections.abc import Sequence

from verdikt.knowledge import Record, find_record, find_role, find_task, find_task_words, resolve_alias
from verdikt.model.lazy_regex import compile_lazily

_TEST_WORD = compile_lazily(r"(?:^|[:_.-])(?:unit|e2e|integration)?-?(?:tests?|specs?|check)(?:$|[:_.-])")

_KIND_BY_PROGRAM = {
    name: kind for kind in ("test", "build", "lint", "http", "look") for name in find_role(f"{kind}_task")
}

_TASK_RUNNERS = find_role("task_runner")
_SCRIPT_HOLDERS = find_role("package_script")
_PROJECT_WRAPPERS = find_role("project_wrapper")
_TYPE_CHECKERS = find_role("type_checker")

ANY_PROGRAM = "*"
"""The name under which tasks lists what holds for every runner."""

MODULE_VARIABLES = find_task_words(ANY_PROGRAM, "modules")
"""Variables with directories whose modules come before the installed ones."""
_DRY_RUN_FLAGS = find_task_words(ANY_PROGRAM, "dry")
_RULE_OPTIONS = find_task_words(ANY_PROGRAM, "rules")


def classify_run(argv: Sequence[str]) -> str:
    """Return `test`, `build`, `lint`, `commit`, `http`, `look` or `other`."""
    if not argv:
        return "look"
    name, arguments = resolve_program_name(argv[0]), _drop_package_choice(argv)
    # In place, it changes files; without that flag it only shows them.
    if edits_in_place(name, arguments):
        return "other"
    return (
        _classify_command(name, arguments) or _classify_runner(name, arguments) or _KIND_BY_PROGRAM.get(name, "other")
    )


def split_directory(argv: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    """Return a task runner's words without the option that sends it elsewhere, and that directory; empty for here."""
    options = find_task_words(resolve_program_name(argv[0]), "directory") if argv else frozenset()
    for index, word in enumerate(argv):
        name, _, value = word.partition("=")
        if index and name in options:
            end = index + 1 if value else index + 2
            place = value or "".join(argv[index + 1 : end])
            place = posixpath.dirname(place) if place.endswith(".toml") else place
            return (*argv[:index], *argv[end:]), "" if place in (".", "./") else place
    return argv, ""


def list_chosen_packages(argv: Sequence[str]) -> tuple[str, ...]:
    """Return the packages of the project that a command names: `pnpm --filter @shop/text test`."""
    options = find_task_words(resolve_program_name(argv[0]) if argv else "", "packages")
    apart = (following for word, following in itertools.pairwise(argv if options else ()) if word in options)
    joined = (word.partition("=")[2] for word in argv if options and "=" in word and word.partition("=")[0] in options)
    return (*apart, *joined)


def _drop_package_choice(argv: Sequence[str]) -> list[str]:
    """Return the words after the program, without those that choose a package before the command."""
    options = find_task_words(resolve_program_name(argv[0]), "packages")
    words = list(argv[1:])
    while words and words[0].partition("=")[0] in options:
        del words[: 1 if "=" in words[0] else 2]
    return words


def edits_in_place(name: str, arguments: Sequence[str]) -> bool:
    """Return whether an option makes a program edit the files that it names: `sed -i`, `perl -pi.bak`."""
    options = find_task_words(name, "in_place")
    letters = {option[1] for option in options if len(option) == 2}
    return any(
        word.partition("=")[0] in options or (word[:1] == "-" and word[1:2] != "-" and letters & set(word[1:]))
        for word in (arguments if options else ())
    )


def _classify_command(name: str, arguments: list[str]) -> str:
    """Return the kind of a program by its command, its goals or an option; empty when they tell nothing."""
    task = find_task(name)
    kinds: dict[str, str] = task["kinds"]
    if not kinds:
        return ""
    if _list_module_options(name):
        # Its other words are files and what those are given.
        return kinds.get(_find_module(name, arguments) or "", "other")
    has_command = False
    for word in arguments:
        is_option = word.startswith("-")
        # Only the first word is the command, except for tools that take several goals.
        if not is_option and has_command and not task.get("goals"):
            continue
        has_command = has_command or not is_option
        kind = kinds.get(word.partition("=")[0] if is_option else word)
        # A goal may have the name of its project before it: `:app:test`.
        if kind := kind or (kinds.get(word.rsplit(":", 1)[-1]) if task.get("goals") else None):
            return kind
    return ""


def _list_module_options(name: str) -> list[str]:
    record = find_record(name)
    options: str = record.get("code", {}).get("module", "") if record is not None else ""
    return options.split()


def _find_module(name: str, arguments: list[str]) -> str | None:
    """Return the module that an interpreter runs with `-m`; None when it runs something else."""
    options = _list_module_options(name)
    for option, word in itertools.pairwise([*arguments[:4], ""]):
        if option in options:
            return word
    return None


def _classify_runner(name: str, arguments: list[str]) -> str:
    """Return the kind of the named task that a task runner starts; empty for other programs."""
    # `make -j 4 -C . test`; another directory has tasks of its own.
    words = [word for word in arguments if not word.startswith("-") and word != "." and not word.isdecimal()]
    if name in _TASK_RUNNERS:
        return _classify_task_name(words[0] if words else "all")
    if name in _SCRIPT_HOLDERS and words[:1] in (["run"], ["run-script"]):
        return _classify_task_name(words[1] if len(words) > 1 else "")
    return ""


def names_task(argv: Sequence[str]) -> bool:
    """Return whether a command starts a task that the project names: `make ci`, `npm run verify`."""
    name = resolve_program_name(argv[0]) if argv else ""
    return name in _TASK_RUNNERS or (name in _SCRIPT_HOLDERS and argv[1:2] in (("run",), ("run-script",)))


def split_goals(argv: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Return the command once for each of its tasks: `make lint test` is `make lint` and `make test`."""
    name = resolve_program_name(argv[0]) if argv else ""
    task = find_task(name)
    if not task.get("goals") or task["kinds"]:
        return (argv,)
    valued = (find_record(name) or {}).get("values", "").split()
    goals = [
        position
        for position, word in enumerate(argv)
        if position and not word.startswith("-") and "=" not in word and argv[position - 1] not in valued
        if not word.isdecimal()
    ]
    if len(goals) < 2:
        return (argv,)
    return tuple(
        tuple(word for position, word in enumerate(argv) if position == goal or position not in goals) for goal in goals
    )


def applies_some_rules(argv: Sequence[str]) -> bool:
    """Return whether options of a linter choose which rules it applies."""
    return not _RULE_OPTIONS.isdisjoint(word.partition("=")[0] for word in argv[1:])


def _classify_task_name(name: str) -> str:
    """Return the kind of a project's named task, by its name."""
    if _TEST_WORD.search(name):
        return "test"
    if re.search(r"lint|typecheck|type-check|format|fmt", name):
        return "lint"
    return "build" if re.search(r"build|compile|^all$|dist|bundle", name) else "other"


_TYPE_CHECK_TASK = compile_lazily(r"^(?:type-?check\w*|types)$")


def is_type_check(argv: Sequence[str]) -> bool:
    """Return whether a linter run is one of a type checker."""
    names = [resolve_program_name(word) for word in argv[:4]]
    return any(name in _TYPE_CHECKERS or _TYPE_CHECK_TASK.match(name) for name in names)


_INSTALL_HANDLER = "package.install"
_INSTALL_EFFECTS = frozenset(("pkg.install", "pkg.system", "pkg.foreign"))
_CONDITION_SIGN = compile_lazily(r"[\s=|+!]+")


def installs_packages(argv: Sequence[str]) -> bool:
    """Return whether a program's record says that it installs packages with these words."""
    name, *words = normalize_argv(argv) or ("",)
    operands = [word for word in words if word[:1] != "-"]
    entry: Record = find_record(name) or {}
    while commands := entry.get("commands"):
        depth = next((n for n in range(len(operands[:4]), 0, -1) if " ".join(operands[:n]) in commands), 0)
        if not depth:
            break
        entry, operands = commands[" ".join(operands[:depth])], operands[depth:]
    # A condition holds where it names one of the words: `0=install`, `-S`.
    return entry.get("handler") == _INSTALL_HANDLER or any(
        row["does"] in _INSTALL_EFFECTS
        and ("when" not in row or not set(_CONDITION_SIGN.split(row["when"])).isdisjoint(words))
        for row in entry.get("effects", ())
    )


def is_dry_run(argv: Sequence[str]) -> bool:
    """Return whether a flag makes the program do less than its name says: list tests, print help, ignore failures."""
    name = resolve_program_name(argv[0]) if argv else ""
    flags = {word.partition("=")[0] if not word.startswith("-D") else word for word in argv[1:]}
    if flags & _DRY_RUN_FLAGS or flags & find_task_words(name, "dry"):
        return True
    excluding_options, kinds = find_task_words(name, "excludes"), find_task(name)["kinds"]
    return any(
        option in excluding_options and kinds.get(goal) == "test"
        for option, goal in itertools.pairwise(argv if excluding_options else ())
    )


_SELECTION_FLAGS = find_task_words(ANY_PROGRAM, "parts")
_FULL_SUITE_PATHS = frozenset(
    ". ./... ./ tests tests/ test test/ spec spec/ src src/ __tests__ all //... discover".split()
)
_TEST_PATH = compile_lazily(r"/|\.(?:py|js|jsx|ts|tsx|mjs|cjs|rb|php|go|rs|java|kt|exs)(?:$|[:#\[])|::")


def is_partial_test_run(argv: Sequence[str]) -> bool:
    """Return whether a test run was told to run only a part of the tests."""
    name, arguments = resolve_program_name(argv[0]) if argv else "", list(argv[1:])
    module = _find_module(name, arguments)
    if module is not None:
        name, arguments = module, arguments[arguments.index(module) + 1 :] if module else []
    # A runtime such as bun has a test runner of its own, with options of its own.
    runs_named_tasks = name in _TASK_RUNNERS or (name in _SCRIPT_HOLDERS and "code" not in (find_record(name) or {}))
    kinds = find_task(name)["kinds"]
    selection_flags = _SELECTION_FLAGS | find_task_words(name, "parts")
    for index, word in enumerate(arguments):
        flag = word.partition("=")[0]
        # Of node `--test` is what makes it a test runner. What follows `--` is for the runner behind a named task.
        is_own_flag = runs_named_tasks and "--" not in arguments[:index] and flag in ("-m", "-t", "-g")
        is_other_flag = flag in kinds or flag in find_task_words(name, "targets") or is_own_flag
        if flag in selection_flags and not is_other_flag:
            return True
        if not word.startswith("-") and word not in _FULL_SUITE_PATHS and _TEST_PATH.search(word):
            return True
    valued = (find_record(name) or {}).get("values", "").split()
    words = [
        word
        for option, word in itertools.pairwise(["", *arguments])
        if not word.startswith("-") and (option not in valued or "/" in word)
    ]
    is_local = is_local_run(argv) and not any(word.endswith("...") for word in words)
    if list_chosen_packages(argv):
        return True
    selecting = find_task_words(name, "selects")
    has_operand = ANY_PROGRAM in selecting and not _FULL_SUITE_PATHS.issuperset(words[:1])
    return is_local or has_operand or (len(words) > 1 and words[0] in selecting)


def is_local_run(argv: Sequence[str]) -> bool:
    """Return whether a command is about the packages of the directories that it names, and not of those below."""
    return not find_task_words(resolve_program_name(argv[0]) if argv else "", "local").isdisjoint(argv[1:2])


_QUIET = frozenset(("-s", "-q", "--silent", "--quiet"))


def is_optional_task(argv: Sequence[str]) -> bool:
    """Return whether a named task of this directory may be missing without a failure: `npm run types --if-present`."""
    optional = find_task_words(resolve_program_name(argv[0]) if argv else "", "optional")
    options = {word for word in argv[1:] if word.startswith("-")} - _QUIET
    # With other options, the task may be that of another directory.
    return bool(options) and options <= optional


def is_project_wrapper(word: str) -> bool:
    """Return whether a word names a file of the project that starts the real tool: `./gradlew`."""
    return word.rpartition("/")[2] in _PROJECT_WRAPPERS


def resolve_program_name(word: str) -> str:
    """Return the program that a word starts; the whole word when it lies where programs usually do not."""
    directory, _, name = word.rpartition("/")
    name = name.removesuffix(".exe")
    # `./pytest` in a project may be any script; `.venv/bin/pytest` is the tool.
    is_tool = name in _PROJECT_WRAPPERS or re.search(r"(?:^|/)(?:s?bin|\.bin|Scripts)$", directory)
    return word if directory and not is_tool else resolve_alias(name)


def normalize_argv(argv: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a command from the program's own name on: `python -m pytest -q` is `pytest -q`.

    Options before the command of a program such as git are left out: `git -C app commit` is `git commit`.
    """
    if not argv:
        return ()
    name, rest = resolve_program_name(argv[0]), list(argv[1:])
    record = find_record(name) or {}
    if len(rest) > 1 and rest[0] in _list_module_options(name):
        return tuple(rest[1:])
    if "globals" in record:
        options_with_value = f"{record['globals']} {record.get('values', '')}".split()
        while rest and rest[0].startswith("-"):
            del rest[: 2 if rest[0] in options_with_value else 1]
    return (name, *rest)
