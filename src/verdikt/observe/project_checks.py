"""Detection of the commands that test, build, lint and type-check a project, by the files at its top."""

import json
import os
import re
from collections.abc import Iterator, Mapping

from verdikt.observe.small_file import read_small_text
from verdikt.observe.world import find_project_root

MAX_TEST_FILE_SEARCH = 2_000
"""Number of directory entries that are looked at for test files."""

_TASK_NAMES: Mapping[str, tuple[str, ...]] = {
    "test": ("test", "tests", "check"),
    "build": ("build", "all", "compile"),
    "lint": ("lint",),
    "types": ("typecheck", "type-check", "types", "mypy", "tsc"),
}
"""Kind of check → names of tasks that run it, the usual ones first."""

_CHECKS_BY_FILE: tuple[tuple[str, Mapping[str, str]], ...] = (
    ("Cargo.toml", {"test": "cargo test", "build": "cargo build"}),
    ("go.mod", {"test": "go test ./...", "build": "go build ./...", "lint": "go vet ./..."}),
    ("pom.xml", {"test": "mvn -q test", "build": "mvn -q compile"}),
    ("gradlew", {"test": "./gradlew test", "build": "./gradlew assemble"}),
    ("build.gradle", {"test": "gradle test", "build": "gradle assemble"}),
    ("mix.exs", {"test": "mix test", "build": "mix compile"}),
    ("phpunit.xml", {"test": "vendor/bin/phpunit"}),
    (".rspec", {"test": "bundle exec rspec"}),
    ("tox.ini", {"test": "tox"}),
    ("noxfile.py", {"test": "nox"}),
    ("pytest.ini", {"test": "pytest -q"}),
    ("CMakeLists.txt", {"build": "cmake --build build"}),
    ("ruff.toml", {"lint": "ruff check ."}),
    (".ruff.toml", {"lint": "ruff check ."}),
    (".flake8", {"lint": "flake8"}),
    ("mypy.ini", {"types": "mypy ."}),
    ("tsconfig.json", {"types": "npx tsc --noEmit"}),
    ("eslint.config.js", {"lint": "npx eslint ."}),
    (".eslintrc.json", {"lint": "npx eslint ."}),
)
"""File at the top of a project → the checks that it shows to exist, the strongest first."""

_CHECKS_BY_SECTION: tuple[tuple[str, str, str], ...] = (
    (r"^\[tool\.pytest", "test", "pytest -q"),
    (r"^\[tool:pytest\]", "test", "pytest -q"),
    (r"^\[tool\.ruff", "lint", "ruff check ."),
    (r"^\[tool\.mypy", "types", "mypy ."),
    (r"^\[mypy", "types", "mypy ."),
)
"""Section of `pyproject.toml` or `setup.cfg` → the check that it configures."""

_TEST_FILES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"^(?:test_\w+|\w+_test)\.py$"), "pytest -q"),
    (re.compile(r"\.test\.(?:mjs|cjs|js)$"), "node --test"),
    (re.compile(r"_spec\.rb$"), "bundle exec rspec"),
)
_TARGET = re.compile(r"^([A-Za-z][\w-]*)\s*:(?!=)", re.MULTILINE)


def detect_project_checks(cwd: str, home: str = "") -> dict[str, str]:
    """Return kind of check → command, only of checks that the project's files show to exist. Never raises.

    Commands that the project names itself (a script, a make target) come before the usual ones.
    """
    if not os.path.isabs(cwd) or not os.path.isdir(cwd):
        return {}
    root = find_project_root(os.path.realpath(cwd), home)
    commands: dict[str, str] = {}
    for kind, command in (*_find_scripts(root), *_find_targets(root), *_find_by_files(root), *_find_sections(root)):
        commands.setdefault(kind, command)
    # Last, because it has to look into directories.
    if "test" not in commands and (command := _find_test_files(root)):
        commands["test"] = command
    return commands


def _find_scripts(root: str) -> Iterator[tuple[str, str]]:
    scripts = read_package_scripts(root)
    runner = next(
        (name for file, name in (("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn")) if _exists(root, file)), "npm"
    )
    for kind, names in _TASK_NAMES.items():
        for name in names:
            script = scripts.get(name, "")
            # The script that `npm init` writes only says that there is none.
            if script and "no test specified" not in script:
                yield kind, f"{runner} test" if name == "test" else f"{runner} run {name}"


def _find_targets(root: str) -> Iterator[tuple[str, str]]:
    for file, runner in (("Makefile", "make"), ("GNUmakefile", "make"), ("justfile", "just")):
        targets = set(_TARGET.findall(read_small_text(os.path.join(root, file)) or ""))
        for kind, names in _TASK_NAMES.items():
            yield from ((kind, f"{runner} {name}") for name in names if name in targets)


def _find_by_files(root: str) -> Iterator[tuple[str, str]]:
    for name, checks in _CHECKS_BY_FILE:
        if _exists(root, name):
            yield from checks.items()


def _find_sections(root: str) -> Iterator[tuple[str, str]]:
    text = "\n".join(read_small_text(os.path.join(root, name)) or "" for name in ("pyproject.toml", "setup.cfg"))
    for pattern, kind, command in _CHECKS_BY_SECTION:
        if re.search(pattern, text, re.MULTILINE):
            yield kind, command


def _find_test_files(root: str) -> str:
    """Return the command for the first test file at the top or in a directory of tests; empty without one."""
    count = 0
    for directory in ("", "tests", "test", "spec", "src"):
        for _, directories, names in os.walk(os.path.join(root, directory)):
            if not directory:
                directories.clear()
            directories[:] = [name for name in directories if not name.startswith(".") and name != "node_modules"]
            for name in names:
                count += 1
                for pattern, command in _TEST_FILES:
                    if pattern.search(name):
                        return command
            if count > MAX_TEST_FILE_SEARCH:
                return ""
    return ""


def read_task_script(directory: str, argv: tuple[str, ...]) -> str:
    """Return the commands behind `npm test`, `make target` and the like; empty when they are not known."""
    words = [word for word in argv[1:] if not word.startswith("-")]
    program = os.path.basename(argv[0]) if argv else ""
    if program in ("npm", "yarn", "pnpm", "bun"):
        name = words[1] if words[:1] in (["run"], ["run-script"]) and len(words) > 1 else (words or [""])[0]
        return read_package_scripts(directory).get("test" if name in ("t", "tst") else name, "")
    if program in ("make", "gmake") and "-f" not in argv and "-C" not in argv:
        text = read_small_text(os.path.join(directory, "Makefile")) or ""
        target = words[0] if words else next(iter(_TARGET.findall(text)), "")
        recipe = (
            re.search(rf"(?m)^{re.escape(target)}\s*:(?!=)[^\n]*\n((?:\t[^\n]*(?:\n|$))+)", text) if target else None
        )
        return "\n".join(line.strip().lstrip("@-+") for line in recipe[1].splitlines()) if recipe else ""
    return ""


def read_package_scripts(directory: str) -> dict[str, str]:
    """Return the scripts of `package.json`; empty without it."""
    try:
        document = json.loads(read_small_text(os.path.join(directory, "package.json")) or "null")
    except (ValueError, RecursionError):
        return {}
    scripts = document.get("scripts") if isinstance(document, dict) else None
    pairs = scripts.items() if isinstance(scripts, dict) else ()
    return {str(name): script for name, script in pairs if isinstance(script, str)}


def _exists(root: str, name: str) -> bool:
    return os.path.exists(os.path.join(root, name))
