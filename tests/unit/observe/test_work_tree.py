"""The fingerprint of a work tree: every state of a repository gives a bounded, correct answer."""

import subprocess
from pathlib import Path

import pytest

from verdikt.model.work_tree import classify_file, compare_files
from verdikt.observe.work_tree import list_changes_between, read_work_tree

IDENTITY = ("-c", "user.name=n", "-c", "user.email=n@example.com", "-c", "commit.gpgsign=false")


def run_git(directory: Path, *arguments: str, text: str | None = None) -> str:
    """Run a real git without a user's settings, and return what it prints."""
    completed = subprocess.run(
        ["git", *IDENTITY, "-c", "protocol.file.allow=always", *arguments],
        cwd=directory,
        input=text,
        check=True,
        capture_output=True,
        text=True,
    )
    return completed.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a repository with one commit."""
    root = tmp_path / "repository"
    root.mkdir()
    run_git(root, "init", "-q", "-b", "main", ".")
    (root / "a.py").write_text("a = 1\n")
    (root / "b.md").write_text("b\n")
    run_git(root, "add", "-A")
    run_git(root, "commit", "-q", "-m", "first")
    return root


def find_changes(root: Path, change: object) -> dict[str, tuple[str, str]]:
    """Return what differs after a change, as the gate computes it."""
    before = read_work_tree(str(root), {})
    assert callable(change)
    change()
    after = read_work_tree(str(root), {})
    assert before is not None
    assert after is not None
    assert before.git is not None
    assert after.git is not None
    between = list_changes_between(str(root), {}, before.git.head, after.git.head)
    assert between is not None
    return compare_files(before.dirty, after.dirty, between)


def test_change_is_the_same_whether_it_is_committed_or_not(repository: Path) -> None:
    """Edited, staged and committed, the same content is the same change."""

    def edit() -> None:
        (repository / "a.py").write_text("a = 2\n")

    edited = find_changes(repository, edit)
    (repository / "a.py").write_text("a = 1\n")

    def commit() -> None:
        edit()
        run_git(repository, "commit", "-q", "-am", "second")

    assert find_changes(repository, commit) == edited
    assert list(edited) == ["a.py"]


def test_commit_of_what_was_dirty_changes_nothing(repository: Path) -> None:
    """The files are as they were at the prompt."""
    (repository / "a.py").write_text("a = 2\n")
    (repository / "new.py").write_text("n = 1\n")

    def commit() -> None:
        run_git(repository, "add", "-A")
        run_git(repository, "commit", "-q", "-m", "second")

    assert find_changes(repository, commit) == {}


def test_first_commit_changes_nothing(tmp_path: Path) -> None:
    """On an unborn branch every file differs from nothing."""
    run_git(tmp_path, "init", "-q", "-b", "main", ".")
    (tmp_path / "a.py").write_text("a = 1\n")

    def commit() -> None:
        run_git(tmp_path, "add", "-A")
        run_git(tmp_path, "commit", "-q", "-m", "first")

    assert find_changes(tmp_path, commit) == {}


def test_deleted_file_is_a_change(repository: Path) -> None:
    """From the work tree, from the index, or by a commit."""
    deleted = find_changes(repository, (repository / "a.py").unlink)

    assert list(deleted) == ["a.py"]
    assert deleted["a.py"][1] == ""


def test_submodule_is_one_file(repository: Path, tmp_path: Path) -> None:
    """A new commit in it, or an edit, is a change of the submodule."""
    other = tmp_path / "other"
    other.mkdir()
    run_git(other, "init", "-q", "-b", "main", ".")
    (other / "x.py").write_text("x = 1\n")
    run_git(other, "add", "-A")
    run_git(other, "commit", "-q", "-m", "first")
    run_git(repository, "submodule", "add", "-q", str(other), "sub")
    run_git(repository, "commit", "-q", "-m", "submodule")

    def edit() -> None:
        (repository / "sub" / "x.py").write_text("x = 2\n")

    assert list(find_changes(repository, edit)) == ["sub"]


@pytest.mark.parametrize("operation", ["merge", "rebase"])
def test_operation_under_way_is_seen(repository: Path, operation: str) -> None:
    """A conflict leaves the repository in the middle of it."""
    run_git(repository, "switch", "-q", "-c", "other")
    (repository / "a.py").write_text("a = 2\n")
    run_git(repository, "commit", "-q", "-am", "other")
    run_git(repository, "switch", "-q", "main")
    (repository / "a.py").write_text("a = 3\n")
    run_git(repository, "commit", "-q", "-am", "main")
    with pytest.raises(subprocess.CalledProcessError):
        run_git(repository, operation, "other")

    tree = read_work_tree(str(repository), {})

    assert tree is not None
    assert tree.git is not None
    assert tree.git.operation == operation


def test_large_repository_is_fingerprinted(repository: Path) -> None:
    """200,000 files in a sparse checkout: none of them is read, and an edit shows."""
    blob = run_git(repository, "hash-object", "-w", "a.py")
    lines = "".join(f"100644 {blob}\tsrc/d{number % 500}/f{number}.py\n" for number in range(200_000))
    run_git(repository, "update-index", "--index-info", text=lines)
    run_git(repository, "commit", "-q", "-m", "many")
    run_git(repository, "sparse-checkout", "set", "--no-cone", "/*.py", "/*.md")

    changes = find_changes(repository, lambda: (repository / "a.py").write_text("a = 9\n"))

    assert list(changes) == ["a.py"]


def test_too_many_changed_files_give_no_fingerprint(repository: Path) -> None:
    """Then the log alone decides."""
    (repository / "src").mkdir()
    for number in range(5_001):
        (repository / "src" / f"f{number}.py").touch()

    assert read_work_tree(str(repository), {}) is None


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("src/app.py", "code"),
        ("Makefile", "code"),
        ("README", "document"),
        ("docs/x.md", "document"),
        ("web/style.scss", "style"),
        ("config.json", "data"),
        (".github/workflows/ci.yml", "ci"),
        (".gitignore", "ignore"),
        ("logo.svg", "asset"),
        ("bin/tool", "other"),
    ],
)
def test_files_are_classified_by_path(path: str, kind: str) -> None:
    """What proves a change depends on the kind of file."""
    assert classify_file(path) == kind


def test_settings_of_a_repository_are_told_from_each_other(repository: Path) -> None:
    """A remote that was added is a fact of the repository, and no change of a file."""

    def read_settings() -> str:
        tree = read_work_tree(str(repository), {})
        assert tree is not None
        assert tree.git is not None
        return tree.git.settings

    before = read_settings()
    run_git(repository, "remote", "add", "upstream", "https://example.com/shop.git")

    assert before
    assert read_settings() not in ("", before)
