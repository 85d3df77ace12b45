"""Entries of git's index file, compared with what git lists."""

from pathlib import Path

import pytest

from tests.governed_repository import create_repository, run_git
from verdikt.observe.index_file import read_index_entries

NAMES = ("governance.yaml", ".claude", "src", "absent")


def _read_by_git(root: Path) -> dict[str, tuple[str, str]]:
    rows = (line.split() for line in run_git(root, "ls-files", "-s", "--", *NAMES).splitlines())
    return {name: (mode, object_id) for mode, object_id, _, name in rows}


def _read_by_us(root: Path) -> dict[str, tuple[str, str]] | None:
    entries = read_index_entries(str(root / ".git/index"), NAMES)
    return None if entries is None else {path: (f"{e.mode:o}", e.object_id) for path, e in entries.items()}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a repository whose files have names that contain, precede and follow those that are searched for."""
    root = create_repository(tmp_path / "project", "tracked")
    for name in (
        "a/governance.yaml",
        "a/.claude/x",
        ".claude-x",
        ".claude.x",
        "src-x",
        "src/a/src/b",
        "zz",
        "src/" + "n" * 200,
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x\n")
    (root / "src/run.sh").write_text("x\n")
    (root / "src/run.sh").chmod(0o755)
    (root / "src/link").symlink_to("run.sh")
    run_git(root, "add", "-A")
    return root


def test_entries_are_those_that_git_lists(root: Path) -> None:
    """Of files and of directories with everything below them, and of nothing that is only called alike."""
    assert _read_by_us(root) == _read_by_git(root)
    status = (root / "governance.yaml").stat()
    entry = (read_index_entries(str(root / ".git/index"), NAMES) or {})["governance.yaml"]
    assert (entry.mtime_ns, entry.ctime_ns, entry.size) == (status.st_mtime_ns, status.st_ctime_ns, status.st_size)


@pytest.mark.parametrize(
    "arguments",
    [
        ("update-index", "--index-version", "4"),
        ("update-index", "--skip-worktree", "governance.yaml"),
        ("update-index", "--assume-unchanged", "governance.yaml"),
        ("rm", "-q", "--cached", "-r", "."),
    ],
)
def test_index_that_only_git_can_interpret_is_left_to_it(root: Path, arguments: tuple[str, ...]) -> None:
    """Other versions and flags give None; an index without the names gives nothing."""
    run_git(root, *arguments)

    assert _read_by_us(root) == (None if arguments[0] == "update-index" else {})


def test_both_sides_of_a_conflict_are_left_to_git(root: Path) -> None:
    """A file with several versions in the index has no single state."""
    blob = run_git(root, "hash-object", "-w", "README.md").strip()
    lines = "".join(f"100644 {blob} {stage}\tgovernance.yaml\n" for stage in (1, 2, 3))
    run_git(root, "update-index", "--force-remove", "governance.yaml")
    run_git(root, "update-index", "--index-info", input=lines)

    assert _read_by_us(root) is None


@pytest.mark.parametrize("content", [b"", b"DIRC", b"DIRC\0\0\0\x02", b"x" * 500])
def test_damaged_index_is_left_to_git(tmp_path: Path, content: bytes) -> None:
    """Whatever is in the file, nothing is raised, and nothing is found in it."""
    (tmp_path / "index").write_bytes(content)

    assert not read_index_entries(str(tmp_path / "index"), NAMES)
    assert read_index_entries(str(tmp_path / "absent"), NAMES) is None
