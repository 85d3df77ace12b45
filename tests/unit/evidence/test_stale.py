"""Evidence is about the sources as they were: whoever changes them afterwards, and by whatever means, makes it stale."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.scene import GREEN, Scene
from verdikt.evidence.shell_runs import find_edited_paths
from verdikt.model.action import Action, ActionKind, Outcome
from verdikt.observe.source_tree import read_source_tree

APP = "src/app.py"


def git(scene: Scene, *words: str) -> None:
    """A real git in the scene's project, by nobody in particular."""
    own = ("-c", "user.name=n", "-c", "user.email=n@example.com", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *own, *words], cwd=scene.project, check=True, capture_output=True)


@pytest.fixture(params=["git", "plain"])
def scene(request: pytest.FixtureRequest, tmp_path: Path) -> Scene:
    """Work that was tested, in a repository and in a plain directory."""
    scene = Scene(tmp_path)
    write(scene, APP, "x = 0\n")
    write(scene, "src/other.py", "y = 0\n")
    write(scene, ".gitignore", "ignored/\n*.gen\n")
    if request.param == "git":
        git(scene, "init", "-q", ".")
        git(scene, "add", ".")
        git(scene, "commit", "-q", "-m", "first")
    scene.ask(f"Fix {APP}")
    scene.edit(APP)
    scene.run("pytest -q", GREEN)
    return scene


def write(scene: Scene, name: str, text: str) -> None:
    """Behind the agent's tools' back."""
    path = scene.project / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


CHANGED = [
    ("python - <<'EOF'\nopen('src/app.py', 'w').write('x = 3')\nEOF", APP),
    ("python -c \"from pathlib import Path; Path('src/app.py').write_text('x = 3')\"", APP),
    ("sed -i s/1/3/ src/app.py", APP),
    ("black .", "src/other.py"),
    ("ruff check --fix .", "src/other.py"),
    ("npx prettier --write .", "src/view.ts"),
    ("gofmt -w .", "main.go"),
    ("git checkout main -- src/other.py", "src/other.py"),
    ("git stash", "src/other.py"),
    ("./scripts/generate.sh", "src/new_module.py"),
    ("npm run codegen", "src/api.ts"),
    ("make proto", "src/schema.proto"),
    ("some-program-nobody-knows", APP),
]


@pytest.mark.parametrize(("command", "path"), CHANGED)
def test_whatever_changes_a_source_makes_the_tests_stale(scene: Scene, command: str, path: str) -> None:
    """Even a program that nothing is known of: the sources themselves are looked at."""
    write(scene, path, "x = 3  # by a program\n")
    scene.run(command)

    answer = scene.say("All tests pass.")

    assert f"`pytest -q` ran before `{path}` was changed" in answer.reason


@pytest.mark.parametrize("command", [command for command, _ in CHANGED])
def test_what_changed_nothing_takes_nothing_away(scene: Scene, command: str) -> None:
    """A formatter that was content, a generator that wrote what was there."""
    scene.run(command)

    assert scene.say("All tests pass.").allowed


@pytest.mark.parametrize("path", ["README.md", "notes.txt", "report.json", ".cache/x.py", "node_modules/a/index.js"])
def test_what_no_test_is_about_makes_nothing_stale(scene: Scene, path: str) -> None:
    """Documents, results, caches and what others wrote."""
    write(scene, path, "anything\n")
    scene.run("python tools/report.py")

    assert scene.say("All tests pass.").allowed


def test_a_build_that_ran_before_is_stale_too(scene: Scene) -> None:
    """Not only tests."""
    scene.run("npm run build")
    write(scene, APP, "x = 9\n")
    scene.run("python tools/rewrite.py")

    assert "`npm run build` ran before `src/app.py` was changed" in scene.say("The build succeeds.").reason


def test_a_new_run_heals_it(scene: Scene) -> None:
    """As it should."""
    write(scene, APP, "x = 9\n")
    scene.run("python tools/rewrite.py")
    scene.run("pytest -q", GREEN)

    assert scene.say("All tests pass.").allowed


def test_an_edit_that_was_taken_back_leaves_the_proof_standing(scene: Scene) -> None:
    """What was tested is what is there."""
    scene.edit(APP, "x = 5\n")
    scene.edit(APP, "x = 1\n")

    assert scene.say("All tests pass.").allowed


def test_a_check_by_name_goes_stale_like_any(scene: Scene) -> None:
    """A signed pass is about the sources as they were."""
    assert scene.gov.evidence_gate.validate_claim("s1", "done", "tests_pass", {}).holds
    write(scene, APP, "x = 9\n")
    scene.run("python tools/rewrite.py")

    assert not scene.say("The bug is fixed.").allowed


@pytest.mark.parametrize("scene", ["git"], indirect=True)
def test_a_commit_changes_no_source(scene: Scene) -> None:
    """Tested, staged, committed, stashed and taken out again: still what was tested."""
    for words in (("add", "."), ("commit", "-q", "-m", "second")):
        git(scene, *words)
    scene.run("git add . && git commit -m second")

    assert scene.say("All tests pass, and I committed it.").allowed


@pytest.mark.parametrize("scene", ["git"], indirect=True)
def test_a_commit_hook_that_reformats_is_seen(scene: Scene) -> None:
    """The commit is not what was tested."""
    write(scene, APP, "x=1\n")
    for words in (("add", "."), ("commit", "-q", "-m", "second")):
        git(scene, *words)
    scene.run("git add . && git commit -m second")

    assert "`pytest -q` ran before the sources were changed" in scene.say("All tests pass.").reason


@pytest.mark.parametrize("scene", ["git"], indirect=True)
def test_an_ignored_file_that_the_agent_edits_counts(scene: Scene) -> None:
    """Git does not look at it, and the log does."""
    scene.edit("ignored/settings.py", "a = 1\n")

    assert "ran before the last edit" in scene.say("All tests pass.").reason


def test_only_checks_are_worth_a_look_at_the_sources(scene: Scene) -> None:
    """Nothing else that an agent does costs it."""
    for command, looked in (("ls", False), ("python x.py", False), ("pytest -q", True), ("make lint", True)):
        assert ("tree" in scene.run(command).body["evidence"]) is looked


@pytest.mark.parametrize(
    ("command", "edits"),
    [
        ("black .", True),
        ("black --check .", False),
        ("uv run ruff format", True),
        ("ruff check .", False),
        ("npx eslint --fix src", True),
        ("npx eslint src", False),
        ("gofmt -l .", False),
        ("cargo fmt", True),
        ("cargo fmt --check", False),
        ("terraform fmt", True),
        ("protoc --python_out=. a.proto", True),
    ],
)
def test_formatters_and_generators_edit_what_they_do_not_name(command: str, edits: bool) -> None:
    """Where the sources cannot be looked at, this is what is known."""
    assert (find_edited_paths(command) == ("*",)) is edits


def test_without_a_look_the_log_decides(tmp_path: Path) -> None:
    """A directory that is not there: what calls were decided to write counts, whichever program would do it."""
    scene = Scene(tmp_path)
    scene.ask("Fix the parser")
    gone = str(tmp_path / "project" / "gone")
    scene.run("pytest -q", GREEN, cwd=gone)
    scene.run("python -c \"open('app.py', 'w').write('x')\"", cwd=gone)

    assert "`pytest -q` ran before the last edit" in scene.say("All tests pass.").reason


ODD: list[Callable[[Path], object]] = [
    lambda top: (top / "fifo.py").exists() or __import__("os").mkfifo(top / "fifo.py"),
    lambda top: (top / "loop.py").symlink_to("loop.py"),
    lambda top: (top / "big.py").write_bytes(b"#" * 3_000_000),
    lambda top: (top / "caf\udce9.py".encode("utf-8", "surrogateescape").decode("latin-1")).write_text("x"),
    lambda top: (top / ".git").write_text("garbage"),
]


@pytest.mark.parametrize("make", ODD)
def test_odd_files_are_survived(tmp_path: Path, make: Callable[[Path], object]) -> None:
    """Pipes, loops, large files, names that are no text, a broken repository."""
    make(tmp_path)

    first, second = read_source_tree(str(tmp_path)), read_source_tree(str(tmp_path))

    assert first == second


@pytest.mark.parametrize("where", ["", "relative", "/nowhere/at/all", "/"])
def test_where_there_is_no_project_there_is_no_fingerprint(where: str) -> None:
    """And no walk through the whole machine."""
    assert read_source_tree(where) is None


def test_a_call_without_a_place_is_logged_all_the_same(tmp_path: Path) -> None:
    """Some hosts tell no directory."""
    scene = Scene(tmp_path)
    action = Action(kind=ActionKind.BASH, tool="Bash", payload={"command": "pytest"}, session_id="s1")

    scene.gov.after(action, Outcome(success=True, output=GREEN, exit_code=0))

    assert "tree" not in scene.entries()[-1].body["evidence"]


def test_a_file_that_git_was_told_not_to_look_at_is_looked_at(scene: Scene) -> None:
    if not (scene.project / ".git").exists():
        return
    git(scene, "update-index", "--assume-unchanged", "src/other.py")
    before = read_source_tree(str(scene.project), {})
    write(scene, "src/other.py", "y = 1\n")
    after = read_source_tree(str(scene.project), {})
    assert before is not None
    assert after is not None
    assert before.digest != after.digest
