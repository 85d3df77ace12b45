"""The files of a patch, in every format that an agent or a tool writes."""

import shutil
import subprocess
from pathlib import Path

import pytest

from verdikt.model.patch import PatchedFile, read_patch_paths

UNIFIED = """--- a/src/x.py\t2026-01-01
+++ b/src/x.py\t2026-01-02
@@ -1,2 +1,2 @@
 keep
--- a/looks/like/a/header
+++ b/looks/like/a/header
"""

CODEX = """*** Begin Patch
*** Update File: src/a.py
@@ def f():
-old
+new
 *** Delete File: quoted/in/the/text.py
*** Add File: notes/b.md
+hello
*** Update File: c.py
*** Move to: d.py
@@
-x
+y
*** Delete File: e.py
*** End Patch
"""


def test_codex_format_names_every_file_with_its_change() -> None:
    """Added, updated, moved and deleted files are listed; a line of context that looks like a header is not."""
    patch = read_patch_paths(CODEX)

    assert patch.format == "codex"
    assert patch.files == (
        PatchedFile("src/a.py", "update", "new"),
        PatchedFile("notes/b.md", "add", "hello"),
        PatchedFile("c.py", "delete"),
        PatchedFile("d.py", "move", "y"),
        PatchedFile("e.py", "delete"),
    )
    assert patch.strip_paths(1)[0] == "src/a.py", "names in this format are never stripped"


def test_unified_diff_counts_off_its_hunks() -> None:
    """A removed line that looks like a header is a removed line."""
    patch = read_patch_paths(UNIFIED)

    assert patch.paths == ("b/src/x.py", "a/src/x.py")
    assert patch.strip_paths(1) == ("src/x.py",)
    assert patch.files[0].added == "++ b/looks/like/a/header"


def test_patch_without_a_strip_count_names_the_whole_path_and_the_last_part() -> None:
    """`patch` without `-p` takes either, depending on what exists."""
    assert read_patch_paths(UNIFIED).strip_paths(None) == ("b/src/x.py", "x.py", "a/src/x.py")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("diff --git a/x b/y\nrename from x\nrename to y\n", [("a/x", "delete"), ("b/y", "move")]),
        ("diff --git a/x b/x\nold mode 100644\nnew mode 100755\n", [("b/x", "update"), ("a/x", "update")]),
        ("diff --git a/x b/x\ndeleted file mode 100644\nindex 1..0\n", [("a/x", "delete"), ("b/x", "delete")]),
        ("diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n", [("b/x", "add")]),
        ("diff --git a/a b.md b/a b.md\nnew file mode 100644\n", [("b/a b.md", "add")]),
        ('diff --git "a/\\303\\244" "b/\\303\\244"\nnew file mode 100644\n', [("b/ä", "add")]),
        ("--- x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", [("x", "delete")]),
        ("*** a/x\n--- b/x\n***************\n*** 1 ****\n", [("b/x", "update"), ("a/x", "update")]),
        ("Index: x\n====\n--- x\n+++ x\n@@ -1 +1 @@\n-a\n+b\n", [("x", "update")]),
        ("From 1 Mon\nSubject: y\n\n---\n x | 2 +-\n\ndiff --git a/x b/x\n", [("b/x", "update"), ("a/x", "update")]),
        ("no patch at all\n--- nor this\n", []),
        ("", []),
    ],
)
def test_every_diff_format_is_read(text: str, expected: list[tuple[str, str]]) -> None:
    """Renames, modes, deletions, quoted names, context diffs and mailboxes are understood."""
    assert [(file.path, file.change) for file in read_patch_paths(text).files] == expected


def test_files_of_a_real_git_diff_are_those_that_git_lists(tmp_path: Path) -> None:
    """What `git diff` writes is read as git means it, strange names included."""
    git = shutil.which("git") or "git"

    def run(*arguments: str) -> str:
        command = [git, "-c", "user.name=x", "-c", "user.email=x@x", "-C", str(tmp_path), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    run("init", "-q")
    for name in ("a.txt", "sub dir/b ü.txt", "gone.txt", 'quo"te.txt'):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"{name}\n-- x\n")
    run("add", ".")
    run("commit", "-qm", "x")
    (tmp_path / "a.txt").write_text("changed\n")
    (tmp_path / 'quo"te.txt').write_text("changed\n")
    (tmp_path / "gone.txt").unlink()
    (tmp_path / "sub dir/b ü.txt").rename(tmp_path / "moved.txt")
    run("add", "-A")

    listed = set(filter(None, run("diff", "--cached", "--name-only", "--no-renames", "-z").split("\0")))
    assert set(read_patch_paths(run("diff", "--cached", "-M")).strip_paths(1)) == listed


def test_huge_patch_is_read_in_linear_time_and_bounded() -> None:
    """A patch of very many files is cut off and says so."""
    patch = read_patch_paths("".join(f"*** Delete File: f{n}\n" for n in range(20_100)))

    assert len(patch.files) == 20_000
    assert not patch.complete
