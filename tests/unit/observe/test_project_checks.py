"""Detection of a project's test, build and lint commands."""

import os
from pathlib import Path

import pytest

from verdikt.observe.project_checks import detect_project_checks, read_task_script


@pytest.mark.parametrize(
    ("files", "commands"),
    [
        (
            {"package.json": '{"scripts": {"test": "vitest", "build": "vite build"}}'},
            {"test": "npm test", "build": "npm run build"},
        ),
        ({"package.json": '\ufeff{"scripts": {"test": "vitest"}}'}, {"test": "npm test"}),
        ({"package.json": "{}", "Makefile": "test: all\n\tx\n"}, {"test": "make test"}),
        ({"Makefile": "test := 1\ncheck:\n\tx\n"}, {"test": "make check"}),
        ({"pyproject.toml": "[project]\nname = 'x'\n"}, {}),
        ({"pyproject.toml": "[tool.pytest.ini_options]\n[tool.ruff]\n"}, {"test": "pytest -q", "lint": "ruff check ."}),
        ({"setup.cfg": "[mypy]\n", "test_app.py": ""}, {"test": "pytest -q", "types": "mypy ."}),
        ({"pyproject.toml": "[tool.ruff]\n", "Makefile": "test:\n"}, {"test": "make test", "lint": "ruff check ."}),
        ({"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'}, {}),
        (
            {"package.json": '{"scripts": {"lint": "eslint", "typecheck": "tsc"}}', "yarn.lock": ""},
            {"lint": "yarn run lint", "types": "yarn run typecheck"},
        ),
        ({"cart.test.js": ""}, {"test": "node --test"}),
        ({"go.mod": ""}, {"test": "go test ./...", "build": "go build ./...", "lint": "go vet ./..."}),
        ({"package.json": "[" * 9999}, {}),
        ({"package.json": '{"scripts": []}'}, {}),
        ({}, {}),
    ],
)  # fmt: skip
def test_checks_are_detected_by_files(tmp_path: Path, files: dict[str, str], commands: dict[str, str]) -> None:
    """Commands that the project names itself come first."""
    for name, text in files.items():
        (tmp_path / name).write_text(text)

    assert detect_project_checks(str(tmp_path)) == commands


@pytest.mark.parametrize("where", ["", "relative", "/nowhere/at/all"])
def test_no_directory_gives_no_checks(where: str) -> None:
    """Some hosts report no directory."""
    assert detect_project_checks(where) == {}


def test_directory_in_place_of_a_file_is_ignored(tmp_path: Path) -> None:
    """A directory named like a project file gives no commands, and its descriptor is closed."""
    (tmp_path / "Makefile").mkdir()
    before = len(os.listdir("/proc/self/fd"))

    assert detect_project_checks(str(tmp_path)) == {}
    assert len(os.listdir("/proc/self/fd")) == before


MAKEFILE = (
    "lint:\n\t-ruff check .\n\t@echo done\n\ntypes:\n\t@mypy .\n\n"
    "ci: types missing # first\n\tcd app && pytest \\\n\t-q\n\nround: round\n\techo round"
)


@pytest.mark.parametrize(
    ("argv", "script"),
    [
        (("npm", "run", "lint"), "eslint . || true"),
        (("npm", "run", "types", "--if-present"), ""),
        (("make", "lint"), "(\nruff check . || true\n) && (\necho done\n)"),
        (("make", "types"), "(\nmypy .\n)"),
        (("make", "-C", "app", "lint"), ""),
        (("make", "ci"), "(\nmypy .\n) && (\ncd app && pytest  -q\n)"),
        (("make", "round"), "(\necho round\n)"),
    ],
)
def test_commands_behind_a_task_are_read(tmp_path: Path, argv: tuple[str, ...], script: str) -> None:
    """As a shell would have them: a failing line ends a recipe, unless a dash before it says that it does not count."""
    (tmp_path / "package.json").write_text('{"scripts": {"lint": "eslint . || true"}}')
    (tmp_path / "Makefile").write_text(MAKEFILE)

    assert read_task_script(str(tmp_path), argv) == script
