"""Evidence is about the sources as they were: any later change makes it stale."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.scene import GREEN, Scene
from verdikt.model.action import Action, ActionKind, Outcome
from verdikt.model.entry import Entry, EntryKind
from verdikt.observe.work_tree import read_work_tree
from verdikt.runs.shell_runs import find_edited_paths
from verdikt.turns.turn import read_turn

APP = "src/app.py"


def run_git(scene: Scene, *arguments: str) -> None:
    """Run a real git in the scene's project, without a user's settings."""
    own = ("-c", "user.name=n", "-c", "user.email=n@example.com", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *own, *arguments], cwd=scene.project, check=True, capture_output=True)


@pytest.fixture(params=["git", "plain"])
def scene(request: pytest.FixtureRequest, tmp_path: Path) -> Scene:
    """Return a turn whose work was tested, in a repository and in a plain directory."""
    scene = Scene(tmp_path)
    write_directly(scene, APP, "x = 0\n")
    write_directly(scene, "src/other.py", "y = 0\n")
    write_directly(scene, ".gitignore", "ignored/\n*.gen\n")
    if request.param == "git":
        run_git(scene, "init", "-q", ".")
        run_git(scene, "add", ".")
        run_git(scene, "commit", "-q", "-m", "first")
    scene.ask(f"Fix {APP}")
    scene.edit(APP)
    scene.run("pytest -q", GREEN)
    return scene


def write_directly(scene: Scene, name: str, text: str) -> None:
    """Write a file without the agent's tools."""
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
    ("some-unknown-program", APP),
]


@pytest.mark.parametrize(("command", "path"), CHANGED)
def test_any_change_of_a_source_makes_tests_stale(scene: Scene, command: str, path: str) -> None:
    """The sources are fingerprinted, so the program that changes them need not be known."""
    write_directly(scene, path, "x = 3  # by a program\n")
    scene.run(command)

    answer = scene.say("All tests pass.")

    assert f"`pytest -q` ran before `{path}` was changed" in answer.reason


@pytest.mark.parametrize("command", [command for command, _ in CHANGED])
def test_program_that_changes_nothing_makes_nothing_stale(scene: Scene, command: str) -> None:
    """A formatter without findings, a generator that writes the same text."""
    scene.run(command)

    assert scene.say("All tests pass.").allowed


@pytest.mark.parametrize("path", ["README.md", "notes.txt", "report.json", ".cache/x.py", "node_modules/a/index.js"])
def test_documents_and_caches_make_nothing_stale(scene: Scene, path: str) -> None:
    """Documents, results, caches and files of others do not count."""
    write_directly(scene, path, "anything\n")
    scene.run("python tools/report.py")

    assert scene.say("All tests pass.").allowed


def test_changed_file_is_named_although_its_time_is_old(scene: Scene) -> None:
    """Each check records the contents file by file, so a tool that keeps or sets back times hides nothing."""
    write_directly(scene, "src/other.py", "y = 7\n")
    os.utime(scene.project / "src/other.py", (1, 1))

    answer = scene.say("All tests pass.")

    assert "`pytest -q` ran before `src/other.py` was changed" in answer.reason


def test_check_records_each_changed_file(scene: Scene) -> None:
    """The log holds the contents of every file that differs from the commit at the end of a check."""
    calls = [entry for entry in scene.store.read_entries("s1") if entry.kind is EntryKind.TOOL_CALL]
    checked = [call.body["evidence"]["tree"] for call in calls if "tree" in call.body.get("evidence", {})]

    write_directly(scene, APP, "x = 8\n")
    scene.run("pytest -q", GREEN)
    calls = [entry for entry in scene.store.read_entries("s1") if entry.kind is EntryKind.TOOL_CALL]
    later = calls[-1].body["evidence"]["tree"]

    assert APP in checked[-1]["dirty"]
    assert later["dirty"][APP][1] != checked[-1]["dirty"][APP][1]


def test_build_before_a_change_is_stale(scene: Scene) -> None:
    """Not only tests go stale."""
    scene.run("npm run build")
    write_directly(scene, APP, "x = 9\n")
    scene.run("python tools/rewrite.py")

    assert "`npm run build` ran before `src/app.py` was changed" in scene.say("The build succeeds.").reason


def test_new_run_is_fresh(scene: Scene) -> None:
    """A run after the change is proof again."""
    write_directly(scene, APP, "x = 9\n")
    scene.run("python tools/rewrite.py")
    scene.run("pytest -q", GREEN)

    assert scene.say("All tests pass.").allowed


def test_reverted_edit_makes_nothing_stale(scene: Scene) -> None:
    """What was tested is what is there."""
    scene.edit(APP, "x = 5\n")
    scene.edit(APP, "x = 1\n")

    assert scene.say("All tests pass.").allowed


def test_explicit_validation_goes_stale(scene: Scene) -> None:
    """A signed pass is about the sources as they were."""
    assert scene.gov.evidence_gate.validate_claim("s1", "done", "tests_pass", {}).holds
    write_directly(scene, APP, "x = 9\n")
    scene.run("python tools/rewrite.py")

    assert not scene.say("The bug is fixed.").allowed


@pytest.mark.parametrize("scene", ["git"], indirect=True)
def test_commit_makes_nothing_stale(scene: Scene) -> None:
    """Tested, staged, committed, stashed and restored, the sources are still those that were tested."""
    for arguments in (("add", "."), ("commit", "-q", "-m", "second")):
        run_git(scene, *arguments)
    scene.run("git add . && git commit -m second")

    assert scene.say("All tests pass, and I committed it.").allowed


@pytest.mark.parametrize("scene", ["git"], indirect=True)
def test_reformatting_commit_hook_makes_tests_stale(scene: Scene) -> None:
    """The commit is not what was tested."""
    write_directly(scene, APP, "x=1\n")
    for arguments in (("add", "."), ("commit", "-q", "-m", "second")):
        run_git(scene, *arguments)
    scene.run("git add . && git commit -m second")

    assert "`pytest -q` ran before the sources were changed" in scene.say("All tests pass.").reason


@pytest.mark.parametrize("scene", ["git"], indirect=True)
def test_edit_of_an_ignored_file_makes_tests_stale(scene: Scene) -> None:
    """Git does not look at it, but the log has the edit."""
    scene.edit("ignored/settings.py", "a = 1\n")

    assert "ran before the last edit" in scene.say("All tests pass.").reason


def test_only_checks_fingerprint_the_sources(scene: Scene) -> None:
    """No other call pays for it."""
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
def test_formatters_and_generators_edit_unnamed_files(command: str, edits: bool) -> None:
    """Without a fingerprint, this is what is known about them."""
    assert (find_edited_paths(command) == ("*",)) is edits


def test_log_decides_without_a_fingerprint(tmp_path: Path) -> None:
    """Where the directory is missing, the writes that were decided count, whichever program makes them."""
    scene = Scene(tmp_path)
    scene.ask("Fix the parser")
    missing_directory = str(tmp_path / "project" / "gone")
    scene.run("pytest -q", GREEN, cwd=missing_directory)
    scene.run("python -c \"open('app.py', 'w').write('x')\"", cwd=missing_directory)

    assert "`pytest -q` ran before the last edit" in scene.say("All tests pass.").reason


ODD: list[Callable[[Path], object]] = [
    lambda top: (top / "fifo.py").exists() or __import__("os").mkfifo(top / "fifo.py"),
    lambda top: (top / "loop.py").symlink_to("loop.py"),
    lambda top: (top / "big.py").write_bytes(b"#" * 3_000_000),
    lambda top: (top / "caf\udce9.py".encode("utf-8", "surrogateescape").decode("latin-1")).write_text("x"),
    lambda top: (top / ".git").write_text("garbage"),
]


@pytest.mark.parametrize("make", ODD)
def test_odd_files_are_fingerprinted(tmp_path: Path, make: Callable[[Path], object]) -> None:
    """Pipes, loops, large files, names that are not text and a broken repository are handled."""
    make(tmp_path)

    first, second = read_work_tree(str(tmp_path)), read_work_tree(str(tmp_path))

    assert first == second


@pytest.mark.parametrize("where", ["", "relative", "/nowhere/at/all", "/"])
def test_no_project_gives_no_fingerprint(where: str) -> None:
    """The whole machine is never walked."""
    assert read_work_tree(where) is None


def test_call_without_directory_is_logged(tmp_path: Path) -> None:
    """Some hosts report no directory."""
    scene = Scene(tmp_path)
    action = Action(kind=ActionKind.BASH, tool="Bash", payload={"command": "pytest"}, session_id="s1")

    scene.gov.after(action, Outcome(success=True, output=GREEN, exit_code=0))

    assert "tree" not in scene.entries()[-1].body["evidence"]


def test_file_marked_unchanged_in_git_is_read(scene: Scene) -> None:
    """`assume-unchanged` does not hide a change."""
    if not (scene.project / ".git").exists():
        return
    run_git(scene, "update-index", "--assume-unchanged", "src/other.py")
    before = read_work_tree(str(scene.project), {})
    write_directly(scene, "src/other.py", "y = 1\n")
    after = read_work_tree(str(scene.project), {})
    assert before is not None
    assert after is not None
    assert before.digest != after.digest


def test_file_that_was_put_back_is_no_call_that_could_not_be_logged() -> None:
    """Only an entry about a failure makes a refusal say that a call is missing."""
    bodies = ({"moment": "after", "restored": [{"path": "x"}]}, {"moment": "after", "error": "OSError"})
    entries = [Entry(seq=1, ts=1, session="s", kind=EntryKind.GAP, body=body) for body in bodies]

    assert [read_turn([entry]).gaps for entry in entries] == [0, 1]
