"""Detection of the commands that test, build, lint and type-check a project, by the files at its top."""

import json
import os
import re
from collections.abc import Iterator, Mapping

from verdikt.knowledge import find_role, list_checks, list_role, resolve_alias
from verdikt.observe.small_file import read_small_text
from verdikt.observe.world import find_project_root

MAX_TEST_FILE_SEARCH = 2_000
"""Number of directory entries that are looked at for test files."""

_TASK_NAMES: Mapping[str, tuple[str, ...]] = {
    "test": ("test", "tests", "check"),
    "build": ("build", "all", "compile"),
    "lint": ("lint",),
    "types": ("typecheck", "type-check", "types", *list_role("type_checker")),
}
"""Kind of check → names of tasks that run it, the usual ones first."""

_TARGET = re.compile(r"^([A-Za-z][\w-]*)\s*:(?!=)", re.MULTILINE)


def detect_project_checks(cwd: str, home: str = "") -> dict[str, str]:
    """Return kind of check → command, only of checks that the project's files show to exist. Never raises.

    Commands that the project names itself (a script, a make target) come before the usual ones.
    """
    if not os.path.isabs(cwd) or not os.path.isdir(cwd):
        return {}
    return list_checks_at(find_project_root(os.path.realpath(cwd), home))


def list_checks_at(root: str) -> dict[str, str]:
    """Return kind of check → command of the project or the package whose top is this directory."""
    commands: dict[str, str] = {}
    for kind, command in (*_find_scripts(root), *_find_targets(root), *_find_by_files(root), *_find_sections(root)):
        commands.setdefault(kind, command)
    # Last, because it has to look into directories.
    if "test" not in commands and (command := _find_test_files(root)):
        commands["test"] = command
    return commands


def _find_scripts(root: str) -> Iterator[tuple[str, str]]:
    scripts = read_package_scripts(root)
    runner = next((row["runner"] for row in list_checks() if "lock" in row and _exists(root, row["lock"])), "")
    for kind, names in _TASK_NAMES.items():
        for name in names:
            script = scripts.get(name, "")
            # The script that `npm init` writes only says that there is none.
            if script and "no test specified" not in script:
                yield kind, f"{runner} test" if name == "test" else f"{runner} run {name}"


def _find_targets(root: str) -> Iterator[tuple[str, str]]:
    for file, runner in _list_target_files():
        targets = set(_TARGET.findall(read_small_text(os.path.join(root, file)) or ""))
        for kind, names in _TASK_NAMES.items():
            yield from ((kind, f"{runner} {name}") for name in names if name in targets)


def _list_target_files() -> list[tuple[str, str]]:
    """Return the files with named tasks, and the programs that run these."""
    return [(row["targets"], row["runner"]) for row in list_checks() if "targets" in row]


def _find_by_files(root: str) -> Iterator[tuple[str, str]]:
    for row in list_checks():
        if "file" in row and _exists(root, row["file"]):
            yield from ((kind, command) for kind, command in row.items() if kind in _TASK_NAMES)


def _find_sections(root: str) -> Iterator[tuple[str, str]]:
    text = "\n".join(read_small_text(os.path.join(root, name)) or "" for name in ("pyproject.toml", "setup.cfg"))
    for row in list_checks():
        if "section" in row and re.search(row["section"], text, re.MULTILINE):
            yield from ((kind, command) for kind, command in row.items() if kind in _TASK_NAMES)


def _find_test_files(root: str) -> str:
    """Return the command for the first test file at the top or in a directory of tests; empty without one."""
    patterns = [(re.compile(row["tests"]), row["test"]) for row in list_checks() if "tests" in row]
    count = 0
    for directory in ("", "tests", "test", "spec", "src"):
        for _, directories, names in os.walk(os.path.join(root, directory)):
            if not directory:
                directories.clear()
            directories[:] = [name for name in directories if not name.startswith(".") and name != "node_modules"]
            for name in names:
                count += 1
                for pattern, command in patterns:
                    if pattern.search(name):
                        return command
            if count > MAX_TEST_FILE_SEARCH:
                return ""
    return ""


def read_task_script(directory: str, argv: tuple[str, ...]) -> str:
    """Return the commands behind `npm test`, `make target` and the like; empty when they are not known."""
    words = [word for word in argv[1:] if not word.startswith("-")]
    program = os.path.basename(argv[0]) if argv else ""
    if program in find_role("package_script"):
        name = words[1] if words[:1] in (["run"], ["run-script"]) and len(words) > 1 else (words or [""])[0]
        return read_package_scripts(directory).get("test" if name in ("t", "tst") else name, "")
    files = [file for file, runner in _list_target_files() if runner == resolve_alias(program)]
    if files and "-f" not in argv and "-C" not in argv:
        text = read_small_text(os.path.join(directory, files[0])) or ""
        target = words[0] if words else next(iter(_TARGET.findall(text)), "")
        recipe = _read_recipe(text, target, set()) if target else []
        return " && ".join(f"(\n{line}\n)" for line in recipe)
    return ""


def _read_recipe(text: str, target: str, seen: set[str]) -> list[str]:
    """Return the commands of a target, after those of the targets that it needs first."""
    rule = re.search(rf"(?m)^{re.escape(target)}\s*:(?!=)([^\n#]*)[^\n]*(?:\n|$)((?:\t[^\n]*(?:\n|$))*)", text)
    if rule is None or target in seen:
        return []
    seen.add(target)
    needed = [line for name in rule[1].split() for line in _read_recipe(text, name, seen)]
    return [*needed, *map(_read_recipe_line, rule[2].replace("\\\n\t", " ").splitlines())]


def _read_recipe_line(line: str) -> str:
    """Return a line of a recipe as a shell would have it: a dash before it says that its failure does not count."""
    command = line.strip().lstrip("@-+")
    marks = line.strip()[: len(line.strip()) - len(command)]
    return f"{command} || true" if "-" in marks else command


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
