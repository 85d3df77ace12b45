"""Detection of the commands that test, build and lint a project, by the files at its top."""

import json
import os
import re
from collections.abc import Mapping

from verdikt.observe.world import find_project_root

MAX_CHARACTERS = 200_000

_CHECKS_BY_FILE: tuple[tuple[str, Mapping[str, str]], ...] = (
    ("Cargo.toml", {"test": "cargo test", "build": "cargo build", "lint": "cargo clippy"}),
    ("go.mod", {"test": "go test ./...", "build": "go build ./...", "lint": "go vet ./..."}),
    ("pom.xml", {"test": "mvn -q test", "build": "mvn -q compile"}),
    ("gradlew", {"test": "./gradlew test", "build": "./gradlew assemble"}),
    ("mix.exs", {"test": "mix test", "build": "mix compile"}),
    ("Gemfile", {"test": "bundle exec rspec"}),
    ("composer.json", {"test": "vendor/bin/phpunit"}),
    ("pyproject.toml", {"test": "pytest -q", "lint": "ruff check ."}),
    ("setup.py", {"test": "pytest -q"}),
    ("pytest.ini", {"test": "pytest -q"}),
    ("tox.ini", {"test": "tox"}),
    ("CMakeLists.txt", {"test": "ctest", "build": "cmake --build build"}),
)
_MAKE_TARGET = re.compile(r"^(test|check|build|lint|all)\s*:(?!=)", re.MULTILINE)


def detect_project_checks(cwd: str, home: str = "") -> dict[str, str]:
    """Return kind of check → command. Never raises.

    Commands that the project names itself (a script, a make target) come before the usual ones.
    """
    if not os.path.isabs(cwd) or not os.path.isdir(cwd):
        return {}
    root = find_project_root(os.path.realpath(cwd), home)
    commands: dict[str, str] = {}
    scripts = _parse_scripts(_read_text(os.path.join(root, "package.json")))
    for kind in ("test", "build", "lint"):
        if kind in scripts:
            commands[kind] = "npm test" if kind == "test" else f"npm run {kind}"
    targets = set(_MAKE_TARGET.findall(_read_text(os.path.join(root, "Makefile"))))
    for kind, target in (("test", "test"), ("test", "check"), ("build", "build"), ("build", "all"), ("lint", "lint")):
        if target in targets:
            commands.setdefault(kind, f"make {target}")
    # Later rows are weaker than earlier ones and than what the project names itself.
    for name, checks in _CHECKS_BY_FILE:
        if os.path.exists(os.path.join(root, name)):
            commands = {**checks, **commands}
    return commands


def _parse_scripts(text: str) -> Mapping[str, object]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    scripts = document.get("scripts") if isinstance(document, dict) else None
    return scripts if isinstance(scripts, dict) else {}


def _read_text(path: str) -> str:
    try:
        # O_NONBLOCK: a pipe of that name must not block the hook.
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return ""
    try:
        # Opening a directory's descriptor as a file raises, and would leave the descriptor open.
        with open(fd, encoding="utf-8-sig", errors="replace", closefd=False) as file:
            return file.read(MAX_CHARACTERS)
    except OSError:
        return ""
    finally:
        os.close(fd)
