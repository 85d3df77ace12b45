"""Refs, commits and trees, read without git and compared with what git says."""

from pathlib import Path

import pytest

from tests.governed_repository import create_repository, run_git
from verdikt.observe.git_objects import find_repository, read_guarded_ids, resolve_revision

NAMES = frozenset(("governance.yaml", ".claude", "src", "absent"))


def _read_by_git(root: Path, revision: str) -> dict[str, tuple[str, str]]:
    rows = (line.split() for line in run_git(root, "ls-tree", revision, "--", *NAMES).splitlines())
    return {name: (mode, object_id) for mode, _, object_id, name in rows}


def _read_by_us(root: Path, revision: str) -> dict[str, tuple[str, str]] | None:
    repository = find_repository(str(root))
    assert repository is not None
    entries = read_guarded_ids(repository, revision, NAMES)
    if entries is None:
        return None
    return {name: (entry.split(b" ")[0].decode().zfill(6), entry[-20:].hex()) for name, entry in entries.items()}


@pytest.mark.parametrize("packed", [False, True])
def test_entries_are_those_that_git_lists(tmp_path: Path, packed: bool) -> None:
    """Of loose objects and of packs with deltas, for branches, tags, remote branches and commits."""
    root = create_repository(tmp_path / "project", "tracked")
    for number in range(40):  # enough versions of one directory for deltas
        for name in range(60):
            (root / "src" / f"file{name}.py").write_text(f"{name}\n")
        (root / "src" / f"file{number}.py").write_text(f"changed {number}\n")
        run_git(root, "add", "src")
        run_git(root, "commit", "-qm", str(number))
    if packed:
        run_git(root, "gc", "-q", "--aggressive", "--prune=now")
        assert (root / ".git/packed-refs").exists()

    commits = run_git(root, "rev-list", "--all").split()
    for revision in ("HEAD", "main", "other", "bare", "touches", "origin/far", "refs/heads/same", *commits):
        assert _read_by_us(root, revision) == _read_by_git(root, revision), revision
    for revision in ("plain^", "HEAD~2", "HEAD^^", "main~1^", "stash@{0}^2", "stash@{1}"):
        assert _read_by_us(root, revision) == _read_by_git(root, revision), revision


def test_linked_work_tree_has_a_head_of_its_own(tmp_path: Path) -> None:
    """Its HEAD is its own, everything else is shared."""
    root = create_repository(tmp_path / "project", "tracked")
    run_git(root, "worktree", "add", "-q", str(tmp_path / "linked"), "bare")

    assert _read_by_us(tmp_path / "linked", "HEAD") == _read_by_git(root, "bare")


@pytest.mark.parametrize(
    "name", ["nowhere", "HEAD~999", "HEAD^9", "main^0", "@{-1}", "main^{tree}", "../main", "other..main", "x.lock", ""]
)
def test_name_that_is_not_plain_is_left_to_git(tmp_path: Path, name: str) -> None:
    """What git would have to interpret is not guessed."""
    assert _read_by_us(create_repository(tmp_path / "project", "tracked"), name) is None


def test_ambiguous_and_annotated_names_are_left_to_git(tmp_path: Path) -> None:
    """A tag that is also a branch, and a tag with a message."""
    root = create_repository(tmp_path / "project", "tracked")
    run_git(root, "tag", "other", "main")
    run_git(root, "tag", "-a", "-m", "x", "annotated", "main")

    assert _read_by_us(root, "other") is None
    assert _read_by_us(root, "annotated") is None


def test_upstream_is_the_branch_that_the_settings_name(tmp_path: Path) -> None:
    """As `git branch --set-upstream-to` writes it, and nothing where there is none."""
    root = create_repository(tmp_path / "project", "tracked")
    assert _read_by_us(root, "@{upstream}") is None
    run_git(root, "branch", "--set-upstream-to=origin/far")

    assert _read_by_us(root, "@{upstream}") == _read_by_git(root, "origin/far")


@pytest.mark.parametrize("packed", [False, True])
def test_replaced_objects_and_files_named_like_a_branch_are_left_to_git(tmp_path: Path, packed: bool) -> None:
    """Git would read something else there, so a decision must not rest on what is read here."""
    root = create_repository(tmp_path / "project", "tracked")
    (root / ".git/same").write_text(run_git(root, "rev-parse", "other"))
    assert _read_by_us(root, "same") is None

    run_git(root, "replace", "main^{tree}", "other^{tree}")
    if packed:
        run_git(root, "pack-refs", "--all")
    repository = find_repository(str(root))
    assert repository is None or read_guarded_ids(repository, "bare", NAMES) is None


def test_damaged_repository_is_left_to_git(tmp_path: Path) -> None:
    """Objects that are missing or cut off, and branches without commits, give no answer and no exception."""
    root = create_repository(tmp_path / "project", "tracked")
    repository = find_repository(str(root))
    assert repository is not None
    commit = resolve_revision(repository, "main")
    path = root / ".git/objects" / commit[:2] / commit[2:]
    path.chmod(0o600)
    path.write_bytes(path.read_bytes()[:10])

    assert _read_by_us(root, "main") is None
    path.unlink()
    assert _read_by_us(root, "main") is None
    assert _read_by_us(create_repository(tmp_path / "unborn", "unborn"), "HEAD") is None
    assert find_repository(str(tmp_path)) is None


def test_repository_with_extensions_is_left_to_git(tmp_path: Path) -> None:
    """Another hash or another store of refs is not read here."""
    root = create_repository(tmp_path / "project", "tracked")
    run_git(root, "config", "core.repositoryformatversion", "1")
    run_git(root, "config", "extensions.worktreeConfig", "true")
    assert find_repository(str(root)) is None


def test_objects_that_lie_elsewhere_are_left_to_git(tmp_path: Path) -> None:
    """What another repository lends is not read here; what lies in this one is."""
    root = create_repository(tmp_path / "project", "tracked")
    run_git(tmp_path, "clone", "-q", "--shared", str(root), "borrower")
    borrower = tmp_path / "borrower"
    assert _read_by_us(borrower, "HEAD") is None

    run_git(borrower, "repack", "-q", "-a", "-d")
    assert _read_by_us(borrower, "HEAD") == _read_by_git(borrower, "HEAD")


def test_parents_of_a_graft_are_left_to_git(tmp_path: Path) -> None:
    """With a graft, git has other parents for a commit than the commit names."""
    root = create_repository(tmp_path / "project", "tracked")
    assert _read_by_us(root, "HEAD^") == _read_by_git(root, "HEAD^")
    head, other = (run_git(root, "rev-parse", name).strip() for name in ("HEAD", "other"))
    (root / ".git/info/grafts").write_text(f"{head} {other}\n")

    assert _read_by_us(root, "HEAD^") is None
    assert _read_by_us(root, "HEAD") == _read_by_git(root, "HEAD")
