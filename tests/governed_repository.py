"""Real repositories with a policy and settings in them, for tests of what commands do to guarded files."""

import os
import shutil
import subprocess
import tarfile
import zipfile
from pathlib import Path

GIT = shutil.which("git") or "git"
SETTINGS = '{"hooks": {"PreToolUse": []}}\n'
POLICY = "profile: standard\n"
EVIL_PATCH = """From 1111111111111111111111111111111111111111 Mon Sep 17 00:00:00 2001
From: x <x@x>
Date: Mon, 1 Jan 2024 00:00:00 +0000
Subject: [PATCH] x

---
diff --git a/governance.yaml b/governance.yaml
--- a/governance.yaml
+++ b/governance.yaml
@@ -1 +1 @@
-profile: standard
+profile: none
diff --git a/src/app.py b/src/app.py
--- a/src/app.py
+++ b/src/app.py
@@ -1 +1 @@
-print(1)
+print(2)
"""


def run_git(root: Path, *arguments: str, input: str | None = None) -> str:
    """Run git in a repository, without the settings of the person who runs the tests."""
    env = {"PATH": os.environ["PATH"], "HOME": str(root.parent), "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
    identity = ("-c", "user.name=x", "-c", "user.email=x@x", "-c", "init.defaultBranch=main")
    completed_process = subprocess.run(
        [GIT, *identity, "-C", str(root), *arguments],
        env=env,
        check=True,
        capture_output=True,
        text=True,
        input=input,
    )
    return completed_process.stdout


def _write_files(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def _commit(root: Path, message: str, files: dict[str, str]) -> None:
    _write_files(root, files)
    run_git(root, "add", "-A")
    run_git(root, "commit", "-qm", message)


GUARDED_FILES = {"governance.yaml": POLICY, ".claude/settings.json": SETTINGS}
SOURCES = {"src/app.py": "print(1)\n", "README.md": "x\n"}


def create_repository(root: Path, kind: str) -> Path:
    """Create a repository of one of the kinds that `tests/cases/guarded_sets.yaml` describes."""
    root.mkdir(parents=True)
    run_git(root, "init", "-q")
    run_git(root, "config", "alias.co", "checkout")
    run_git(root, "config", "user.name", "x")
    run_git(root, "config", "user.email", "x@x")
    if kind == "unborn":
        _write_files(root, GUARDED_FILES)
    elif kind == "untracked":
        _commit(root, "first", SOURCES)
        _write_files(root, GUARDED_FILES | {"build/x": "x\n"})
    elif kind == "ignored":
        _commit(root, "first", SOURCES | {".gitignore": "governance.yaml\n.claude/\n"})
        _write_files(root, GUARDED_FILES)
    elif kind == "dirty":
        _commit(root, "first", SOURCES | {"governance.yaml": POLICY, ".claude/settings.json": "{}\n"})
        _write_files(root, {".claude/settings.json": SETTINGS, "src/app.py": "print(2)\n"})
    else:
        _create_tracked(root)
    return root


def add_million_files(root: Path) -> None:
    """Commit a million files that are in the index and in no work tree: a thousand times the same directory."""
    blob = run_git(root, "hash-object", "-w", "README.md").strip()
    files = "".join(f"100644 blob {blob}\tf{number:03}\n" for number in range(1000))
    tree = run_git(root, "mktree", input=files).strip()
    directories = "".join(f"040000 tree {tree}\td{number:03}\n" for number in range(1000))
    many = run_git(root, "mktree", input=directories).strip()
    top = run_git(root, "ls-tree", "HEAD") + f"040000 tree {many}\tmany\n"
    commit = run_git(
        root, "commit-tree", "-p", "HEAD", "-m", "many", run_git(root, "mktree", input=top).strip()
    ).strip()
    run_git(root, "update-ref", "HEAD", commit)
    run_git(root, "read-tree", "HEAD")


def _create_tracked(root: Path) -> None:
    """Create branches that differ in the guarded files and branches that do not, and files to apply and unpack."""
    _commit(root, "first", SOURCES | GUARDED_FILES | {"governance.yaml": "profile: none\n"})
    _commit(root, "touches", {"governance.yaml": POLICY, "src/touched.py": "x\n"})
    run_git(root, "tag", "touches")
    _commit(root, "plain", {"src/plain.py": "x\n"})
    run_git(root, "tag", "plain")
    run_git(root, "checkout", "-q", "-b", "other")
    _commit(root, "other", {"governance.yaml": "profile: relaxed\n", "src/other.py": "x\n"})
    run_git(root, "remote", "add", "origin", "../elsewhere")
    run_git(root, "update-ref", "refs/remotes/origin/far", "other")
    run_git(root, "checkout", "-q", "-b", "bare", "main")
    run_git(root, "rm", "-q", "-r", "governance.yaml", ".claude")
    run_git(root, "commit", "-qm", "bare")
    run_git(root, "checkout", "-q", "-b", "same", "main")
    _commit(root, "same", {"src/same.py": "x\n"})
    run_git(root, "checkout", "-q", "main")
    run_git(root, "update-ref", "refs/remotes/origin/main", "main")
    _write_files(root, {"src/app.py": "print(3)\n"})
    run_git(root, "stash")
    _write_files(root, {".claude/settings.json": "{}\n", "src/app.py": "print(4)\n"})
    run_git(root, "stash")
    _write_files(
        root,
        {
            "evil.patch": EVIL_PATCH,
            "plain.patch": "diff --git" + EVIL_PATCH.rpartition("diff --git")[2],
            "evil/.claude/settings.json": "{}\n",
            "evil/readme": "x\n",
            "equal/.claude/settings.json": SETTINGS,
            "harmless/src/app.py": "x\n",
        },
    )
    _write_archives(root)
    elsewhere = root.parent / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    run_git(elsewhere, "init", "-q")
    _commit(elsewhere, "x", {"governance.yaml": "profile: none\n", "x": "x\n"})


def _write_archives(root: Path) -> None:
    policy, source = root.parent / "policy", root.parent / "source"
    policy.write_text("profile: none\n")
    source.write_text("x\n")
    archives = {
        "evil.tgz": {"governance.yaml": policy, "src/new.py": source},
        "nested.tgz": {"top/governance.yaml": policy, "top/src/new.py": source},
        "plain.tgz": {"src/new.py": source},
    }
    for name, members in archives.items():
        with tarfile.open(root / name, "w:gz") as tar:
            for member, file in members.items():
                tar.add(file, member)
    with tarfile.open(root / "flat.tar", "w") as tar:
        tar.add(policy, "settings.json")
    with zipfile.ZipFile(root / "evil.zip", "w") as archive:
        archive.write(policy, "governance.yaml")
        archive.write(source, "src/new.py")
