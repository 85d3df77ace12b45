"""For which parts of a command its exit status is proof."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verdikt.runs.shell_runs import MAX_RUNS, ProgramRun, find_edited_paths, hides_status, read_runs

PROVES = [
    "pytest -q",
    "cd api && pytest -q",
    "pytest -q && echo ok",
    "timeout 60 pytest",
    "poetry run pytest tests",
    "python -m pytest tests",
    "python3 -m unittest",
    ".venv/bin/pytest",
    "node_modules/.bin/jest",
    "npx jest",
    "npm test",
    "npm run test:unit",
    "make test",
    "go test ./...",
    "cargo test",
    "./gradlew test",
    "./mvnw -q test",
    "mvn -q verify",
    "ctest --output-on-failure",
    "pytest > log 2>&1",
    "CI=1 pytest",
    "bash -c 'cd x && pytest'",
    "set -e; pytest; echo done",
    "set -o pipefail; pytest | tee log",
    "set -euo pipefail\npytest | tail -5\necho ok",
    "pytest && git add -A && git commit -m x",
    "ruff format . && pytest",
    "pytest && echo done > notes.md",
]
PROVES_NOT = [
    "pytest && git stash pop",
    "git stash && pytest && git stash pop",
    "pytest && ruff format .",
    "bash -c pytest && mv new.py app.py",
    "alias pytest=true; pytest",
    "hash -p ./fake pytest && pytest",
    "pytest || true",
    "pytest || :",
    "true # pytest",
    "echo pytest",
    "echo '42 passed'",
    "pytest --collect-only",
    "pytest --co -q",
    "pytest | tail -5",
    "pytest; echo done",
    "pytest & wait",
    "! pytest",
    "if pytest; then echo ok; fi",
    "false && pytest || true",
    "bash -c 'pytest || true'",
    "bash -c 'pytest; true'",
    "echo $(pytest)",
    "cat results.xml",
    "cat test-output.txt | grep passed",
    "pytest --version",
    "cargo test --no-run",
    "mvn -DskipTests install",
    "gradle build -x test",
    "ctest -N",
    "make -n test",
    "jest --listTests",
    "./fake/pytest",
    "PYTEST_ADDOPTS=--collect-only pytest",
    "for i in 1 2; do pytest; done",
    "pytest -q; exit 0",
    "pytest && true || true",
    "ssh web1 pytest",
    "printf '42 passed in 1s'",
]


def proves_tests(command: str) -> bool:
    """Return whether a status of 0 would prove that tests ran."""
    return any(run.kind == "test" and run.status_propagates and not run.dry_run for run in read_runs(command))


@pytest.mark.parametrize("command", PROVES)
def test_status_of_an_ordinary_run_is_proof(command: str) -> None:
    """Ordinary ways to run tests count."""
    assert proves_tests(command)


@pytest.mark.parametrize("command", PROVES_NOT)
def test_status_that_is_always_zero_is_no_proof(command: str) -> None:
    """A command line that ends with 0 anyway proves nothing."""
    assert not proves_tests(command)


@pytest.mark.parametrize(
    ("script", "hidden"),
    [
        ("eslint . || true", True),
        ("eslint . | tee lint.log", True),
        ("set -e\nruff check . || true\necho done", True),
        ("eslint . ; exit 0", True),
        ("eslint .", False),
        ("eslint . ; prettier --check .", False),
        ("set -e\nruff check .\necho done", False),
        ("eslint . || exit 1", False),
        ("set -e\nfor d in a b; do ruff check $d; done", False),
        ("$npm_execpath run build:all", False),
    ],
)
def test_task_that_always_ends_well_is_told(script: str, hidden: bool) -> None:
    """The status of a task says nothing where it throws that of each program away."""
    runs = [run for run in read_runs(script) if run.kind != "look"]

    assert hides_status(script, runs) is hidden


def test_shell_edits_are_found() -> None:
    """Redirections and in-place editors change files; output to /dev/null does not."""
    assert find_edited_paths("echo x > a.py; sed -i s/a/b/ b.py; ls > /dev/null 2>&1; git checkout main") == (
        "a.py",
        "b.py",
        "*",
    )


@pytest.mark.parametrize(
    ("command", "paths"),
    [
        ("cd app && sed -i s/a/b/ b.py", ("app/b.py",)),
        ("cd ../spike && echo x > a.py", ("../spike/a.py",)),
        ("cd app && touch /srv/a ~/b", ("/srv/a", "~/b")),
        ('cd "$DIR" && sed -i s/a/b/ b.py', ("*",)),
    ],
)
def test_edit_below_another_directory_is_located(command: str, paths: tuple[str, ...]) -> None:
    """A path is seen from where the whole command starts; in a directory that is not known, anything may change."""
    assert find_edited_paths(command) == paths


@pytest.mark.parametrize(
    ("command", "argv"),
    [
        ("PYTEST_ADDOPTS='-k cart' pytest -q", ("pytest", "-q", "-k", "cart")),
        ("export PYTEST_ADDOPTS='-k cart'; pytest -q", ("pytest", "-q", "-k", "cart")),
        ("env GOFLAGS=-run=One go test ./...", ("go", "test", "./...", "-run=One")),
        ("CI=1 pytest -q", ("pytest", "-q")),
    ],
)
def test_options_in_a_variable_are_options_of_the_run(command: str, argv: tuple[str, ...]) -> None:
    """What a runner takes from its variable chooses tests like what stands behind its name."""
    assert read_runs(command)[-1].argv == argv


def test_standard_input_of_a_run_is_known() -> None:
    """`sqlite3 shop.db < totals.sql` runs that file."""
    (run,) = read_runs("sqlite3 :memory: < totals.sql")

    assert run.reads == "totals.sql"
    assert ProgramRun.from_record(run.record()) == run


CODEX_PATCH = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-a\n+b\n*** Add File: b.py\n+x\n*** End Patch\n"
DIFF = "--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-a\n+b\n"


@pytest.mark.parametrize(
    ("command", "paths"),
    [
        (f"apply_patch <<'EOF'\n{CODEX_PATCH}EOF", ("src/a.py", "b.py")),
        (f"applypatch '{CODEX_PATCH}'", ("src/a.py", "b.py")),
        (f"cd lib && apply_patch <<'EOF'\n{CODEX_PATCH}EOF", ("lib/src/a.py", "lib/b.py")),
        (f"patch -p1 <<'EOF'\n{DIFF}EOF", ("src/a.py",)),
        (f"git apply <<'EOF'\n{DIFF}EOF", ("src/a.py",)),
        (f"git apply --directory=lib <<'EOF'\n{DIFF}EOF", ("*",)),
        ("git apply x.patch", ("*",)),
        ("git am x.mbox", ("*",)),
        ("patch -p1 < x.patch", ("*",)),
    ],
)
def test_edits_of_a_patch_are_those_that_it_names(command: str, paths: tuple[str, ...]) -> None:
    """The reader that guards the policy also tells what was edited; a patch in a file may change anything."""
    assert find_edited_paths(command) == paths


def test_patch_that_is_only_looked_at_edits_nothing_that_it_names() -> None:
    """`--check` and the like change no file."""
    assert "src/a.py" not in find_edited_paths(f"git apply --check <<'EOF'\n{DIFF}EOF")


@given(st.text(max_size=80))
def test_any_text_gives_bounded_runs_and_named_paths(text: str) -> None:
    """Any text gives at most `MAX_RUNS` runs, and paths that are not empty."""
    assert len(read_runs(text)) <= MAX_RUNS
    assert all(find_edited_paths(text))


@pytest.mark.parametrize(
    ("command", "kind", "speaks"),
    [
        ("set -e; cd api && pytest -q; echo ok", "test", False),
        ("set -e; pytest -q; echo ok", "test", True),
        ("watch pytest -q", "other", True),
        ("sed -i s/a/b/ src/app.py", "other", True),
        ("sed -n 1,9p src/app.py", "look", True),
        ("tsc --noEmit", "lint", True),
        ("tsc -p .", "build", True),
    ],
)
def test_runs_and_their_status_propagation(command: str, kind: str, speaks: bool) -> None:
    """A part that may be skipped without a trace proves nothing, and one name may do different things."""
    runs = [run for run in read_runs(command) if run.argv[0] not in ("set", "cd", "echo")]

    assert [(run.kind, run.status_propagates) for run in runs] == [(kind, speaks)]
