"""What the run of a program is as evidence, by the tasks in the records."""

import pytest

from verdikt.runs.program_kinds import (
    applies_some_rules,
    classify_run,
    edits_in_place,
    installs_packages,
    is_dry_run,
    is_partial_test_run,
    is_type_check,
    normalize_argv,
    resolve_program_name,
    split_directory,
    split_goals,
)


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("pytest -q", "test"),
        ("cargo nextest run", "test"),
        ("cargo run test", "other"),
        ("mvn -q clean verify", "test"),
        ("./gradlew :app:test", "test"),
        ("python3.11 -m pytest", "test"),
        ("python -m http.server", "other"),
        ("python pytest", "other"),
        ("node --test", "test"),
        ("node test", "other"),
        ("tsc", "build"),
        ("tsc -p app --noEmit", "lint"),
        ("black src --check", "lint"),
        ("black src", "other"),
        ("npm run build", "build"),
        ("pnpm --filter @shop/text test", "test"),
        ("pnpm -F text run test:unit", "test"),
        ("pnpm --filter=text build", "build"),
        ("yarn workspace text test", "test"),
        ("npm -w packages/text test", "test"),
        ("npm --workspace=text run lint", "lint"),
        ("pnpm -r test", "test"),
        ("turbo run test", "test"),
        ("turbo build", "build"),
        ("nx run-many -t test", "test"),
        ("nx run shop:test", "test"),
        ("hatch test", "test"),
        ("hatch run ls test", "other"),
        ("npm ci", "other"),
        ("make", "build"),
        ("make test", "test"),
        ("make -j 4 test", "test"),
        ("make -C app deploy", "other"),
        ("git -C app status", "look"),
        ("git commit -m x", "commit"),
        ("sed s/a/b/ x", "look"),
        ("sed -i.bak s/a/b/ x", "other"),
        ("sed --in-place s/a/b/ x", "other"),
    ],
)
def test_kind_of_a_run(command: str, kind: str) -> None:
    """The command, a goal, a module or an option decides, and else the program."""
    assert classify_run(command.split()) == kind


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("make -n test", True),
        ("make test", False),
        ("make -i lint", True),
        ("pytest --collect-only", True),
        ("pytest --collectonly", True),
        ("python -m pytest --co", True),
        ("vitest list", True),
        ("go test -c ./...", True),
        ("gradle build -x test", True),
        ("gradle build -x javadoc", False),
        ("pytest -x test", False),
    ],
)
def test_dry_run(command: str, expected: bool) -> None:
    """Options of every runner count, and those that a program's tasks list."""
    assert is_dry_run(command.split()) is expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("pytest", False),
        ("nx run-many -t test", False),
        ("nx affected -t test", True),
        ("nx test -p shop", True),
        ("turbo run test", False),
        ("turbo run test --filter=shop", True),
        ("pytest -k one", True),
        ("python -m pytest tests/test_a.py", True),
        ("cargo test one", True),
        ("cargo test", False),
        ("cargo test --features slow", False),
        ("cargo test -p core", True),
        ("npm test -t one", False),
        ("npm test -- -t one", True),
        ("npm test -w packages/text", True),
        ("npm test --workspaces", False),
        ("pnpm --filter text test", True),
        ("pnpm -r test", False),
        ("bun test -t one", True),
        ("node --test", False),
        ("jest -o", True),
        ("jest --selectProjects api", True),
        ("vitest run --changed", True),
        ("playwright test --project=chromium", True),
        ("mocha -R spec", False),
        ("mocha -f one", True),
        ("ava --match=one", True),
        ("ctest -L quick", True),
        ("ctest -R one", True),
        ("go test -short ./...", True),
        ("go test -skip One ./...", True),
        ("cargo nextest run -E all()", True),
        ("mix test --stale", True),
        ("mvn test -pl core", True),
        ("make -k test", False),
        ("bazel test -k //...", False),
        ("hatch test -k one", True),
        ("tox -- -k one", True),
        ("nox -s tests -- -k one", True),
        ("just test -k one", True),
        ("npm test -- -k one", True),
        ("turbo run test --affected", True),
        ("turbo run test", False),
        ("nx test shop", True),
        ("nx run shop:test", True),
        ("nx run-many -t test -p shop", True),
        ("nx run-many -t test", False),
        ("nx affected:test", True),
        ("phpunit --testsuite unit", True),
        ("rspec -e one", True),
        ("python -m unittest", False),
        ("python -m unittest -v", False),
        ("python -m unittest discover -s tests", False),
        ("python -m unittest tests.test_one", True),
        ("python -m unittest -k one", True),
        ("python -m pytest -k one", True),
    ],
)
def test_partial_run(command: str, expected: bool) -> None:
    """An option or an operand selects tests, except where it means something else to the program."""
    assert is_partial_test_run(command.split()) is expected


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("python -m pytest -q", "pytest -q"),
        ("git -C app -c a=b commit", "git commit"),
        ("pytest -q", "pytest -q"),
        ("/usr/bin/python3 x.py", "python x.py"),
    ],
)
def test_words_from_the_own_name_on(command: str, words: str) -> None:
    """A module is a program of its own, and options before the command of git are left out."""
    assert " ".join(normalize_argv(command.split())) == words


@pytest.mark.parametrize(
    ("command", "words", "directory"),
    [
        ("make -C app test", "make test", "app"),
        ("make -C . test", "make test", ""),
        ("npm --prefix=app test", "npm test", "app"),
        ("cargo test --manifest-path ../copy/Cargo.toml", "cargo test", "../copy"),
        ("cargo test --manifest-path Cargo.toml", "cargo test", ""),
        ("git -C app commit", "git -C app commit", ""),
        ("make -C", "make", ""),
    ],
)
def test_directory_of_a_task_runner(command: str, words: str, directory: str) -> None:
    """A run that an option sends elsewhere is one there; git has a state of its own."""
    assert split_directory(tuple(command.split())) == (tuple(words.split()), directory)


def test_program_in_the_project_is_no_tool() -> None:
    """`./pytest` may be any script; a wrapper of a build tool and a tool in an environment are the tool."""
    assert resolve_program_name("./pytest") == "./pytest"
    assert resolve_program_name(".venv/bin/pytest") == "pytest"
    assert resolve_program_name("./mvnw") == "mvn"


def test_option_that_edits_in_place() -> None:
    """Also in a cluster, and with a suffix; the script itself is no option."""
    assert edits_in_place("perl", ["-pi", "-e", "s/a/b/", "x"])
    assert not edits_in_place("sed", ["-n", "s/i/b/", "x"])
    assert not edits_in_place("grep", ["-i", "x"])


def test_type_checker_is_told_from_other_linters() -> None:
    """By its name, or by that of the project's task."""
    assert is_type_check(["npx", "tsc", "--noEmit"])
    assert is_type_check(["npm", "run", "typecheck"])
    assert not is_type_check(["ruff", "check"])


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("pip install x", True),
        ("python -m pip install x", True),
        ("uv pip install x", True),
        ("npm ci", True),
        ("apt-get install -y x", True),
        ("pacman -S x", True),
        ("rustup component add x", True),
        ("pip list", False),
        ("npm test", False),
        ("nvm ls", False),
        ("git add x", False),
        ("nosuchprogram install x", False),
    ],
)
def test_installs_packages_by_the_record_of_the_program(command: str, expected: bool) -> None:
    """What installs is what the records say, and no second list."""
    assert installs_packages(command.split()) is expected


@pytest.mark.parametrize(
    ("command", "tasks"),
    [
        ("make -j2 lint test", ["make -j2 lint", "make -j2 test"]),
        ("make -C app -j 4 lint test V=1", ["make -C app -j 4 lint V=1", "make -C app -j 4 test V=1"]),
        ("make test V=1", ["make test V=1"]),
        ("make", ["make"]),
        # Its words are goals of one run, or words for the task.
        ("mvn clean test", ["mvn clean test"]),
        ("just test cart", ["just test cart"]),
    ],
)
def test_several_targets_are_several_runs(command: str, tasks: list[str]) -> None:
    """Each target of `make` is a task of its own; options and variables belong to all of them."""
    assert [" ".join(argv) for argv in split_goals(tuple(command.split()))] == tasks


@pytest.mark.parametrize(
    ("command", "expected"),
    [("ruff check --select I .", True), ("flake8 --ignore=E501", True), ("ruff check .", False), ("make lint", False)],
)
def test_part_of_a_linters_rules(command: str, expected: bool) -> None:
    """Options choose which rules are applied."""
    assert applies_some_rules(command.split()) is expected
