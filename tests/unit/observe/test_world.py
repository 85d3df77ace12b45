"""Observation of a real disk with a real git."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.fakes import FakeClock
from verdikt.model.facts import Facts
from verdikt.model.world import RecordedWorld
from verdikt.observe.world import TEXT_LIMIT, RealWorld, find_project_root


def run_git(directory: Path, *arguments: str) -> None:
    """Run git without a user's settings."""
    env = {"PATH": os.environ["PATH"], "HOME": str(directory.parent), "GIT_CONFIG_NOSYSTEM": "1"}
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *identity, *arguments], cwd=directory, env=env, check=True, capture_output=True)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """Return a repository with a file in each state."""
    repo = tmp_path / "project"
    (repo / "src").mkdir(parents=True)
    (repo / "src/kept.py").write_text("1\n")
    (repo / "src/changed.py").write_text("1\n")
    (repo / ".gitignore").write_text("dist/\n")
    run_git(repo, "init", "-q")
    run_git(repo, "add", "-A")
    run_git(repo, "commit", "-qm", "first")
    run_git(repo, "remote", "add", "origin", "https://example.com/x.git")
    run_git(repo, "config", "alias.nuke", "!rm -rf .")
    run_git(repo, "config", "branch.main.remote", "origin")
    run_git(repo, "config", "branch.main.merge", "refs/heads/main")
    (repo / "src/changed.py").write_text("2\n")
    (repo / "new.py").write_text("1\n")
    (repo / "dist").mkdir()
    (repo / "dist/out.js").write_text("1\n")
    return repo


def observe(cwd: Path) -> RealWorld:
    """Return the world seen from a directory, with its own home."""
    env = {"PATH": os.environ["PATH"], "HOME": str(cwd.parent), "USER": "dev"}
    return RealWorld(str(cwd), env=env, clock=FakeClock(7.0))


@pytest.mark.parametrize(
    ("path", "state"),
    [
        ("src/kept.py", "tracked"),
        ("src/changed.py", "modified"),
        ("src", "modified"),
        ("new.py", "untracked"),
        (".", "untracked"),
        ("dist", "ignored"),
        ("dist/out.js", "ignored"),
        (".git/config", "untracked"),
    ],
)
def test_directory_has_the_state_of_its_most_exposed_file(repo: Path, path: str, state: str) -> None:
    """What git could restore is distinguished from what it could not."""
    assert observe(repo).path(os.path.normpath(repo / path)).git == state


def test_repository_facts_include_branch_upstream_remotes_and_aliases(repo: Path) -> None:
    """An alias can hide any command, so aliases are read."""
    fact = observe(repo).git(str(repo / "src"))

    assert (fact.root, fact.branch, fact.upstream) == (str(repo), "main", "origin/main")
    assert fact.remotes == {"origin": "https://example.com/x.git"}
    assert fact.aliases == {"nuke": "!rm -rf ."}


def test_settings_that_change_a_command_are_told_with_those_of_included_files(repo: Path) -> None:
    """The same `git clean` and `git push` do something else, and of a push all refspecs count."""
    (repo / "shared.inc").write_text('[remote "origin"]\n\tpush = +HEAD:main\n[diff]\n\talgorithm = histogram\n')
    run_git(repo, "config", "clean.requireForce", "false")
    run_git(repo, "config", "remote.origin.push", "HEAD:docs")
    run_git(repo, "config", "include.path", "../shared.inc")

    settings = observe(repo).git(str(repo)).settings

    assert settings == {"clean.requireforce": "false", "remote.origin.push": "HEAD:docs\n+HEAD:main"}


def test_a_repository_without_such_settings_is_recorded_as_before(repo: Path) -> None:
    """Receipts of earlier versions have no such field, and replay to the byte."""
    assert "settings" not in observe(repo).git(str(repo)).to_record()


def test_repository_settings_run_no_program(repo: Path) -> None:
    """Asking about a path must not execute what `.git/config` names."""
    run_git(repo, "config", "core.fsmonitor", f"touch {repo}/ran")

    observe(repo).path(str(repo / "src/kept.py"))

    assert not (repo / "ran").exists()


def test_link_is_resolved(repo: Path, tmp_path: Path) -> None:
    """A link that leads out of the project reports where it leads."""
    (repo / "out").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").mkdir()

    fact = observe(repo).path(str(repo / "out"))

    assert (fact.real, fact.kind, fact.symlink) == (str(tmp_path / "elsewhere"), "dir", True)


@pytest.mark.parametrize("path", ["/nonexistent\0", "/" + "x" * 5000, "/dev/null/x", "/\udcff"])
def test_odd_path_gives_a_fact(tmp_path: Path, path: str) -> None:
    """No path raises."""
    observed = observe(tmp_path)

    assert not observed.path(path).exists
    assert observed.text(path) is None


def test_text_is_returned_only_for_small_text_files(tmp_path: Path) -> None:
    """A pipe, a directory, a binary and a huge file have no text, and none blocks."""
    (tmp_path / "small").write_text("echo hi\n")
    (tmp_path / "marked").write_bytes(b'\xef\xbb\xbf{"scripts": {}}')
    (tmp_path / "binary").write_bytes(b"\x7fELF\0")
    (tmp_path / "huge").write_bytes(b"#" * (TEXT_LIMIT + 1))
    os.mkfifo(tmp_path / "pipe")
    observed = observe(tmp_path)

    assert observed.text(str(tmp_path / "small")) == "echo hi\n"
    assert observed.text(str(tmp_path / "marked")) == '{"scripts": {}}'  # as npm reads it
    assert [observed.text(str(tmp_path / name)) for name in ("binary", "huge", "pipe", "absent", ".")] == [None] * 5


def test_missing_directory_is_its_own_project(tmp_path: Path) -> None:
    """Recorded histories are judged on machines without their directories."""
    observed = RealWorld("/nowhere/project", env={"HOME": "/nowhere"})

    assert observed.place()["project_root"] == "/nowhere/project"
    assert observed.path("/nowhere/project/a.py").kind == "unknown"


def test_project_root_is_below_the_home_directory(tmp_path: Path) -> None:
    """A home directory under version control is not one project."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/pyproject.toml").write_text("")

    assert find_project_root(str(tmp_path / "a/b"), str(tmp_path)) == str(tmp_path / "a")


def test_recorded_facts_equal_observed_ones(repo: Path) -> None:
    """Replay uses the record and gets what was true then."""
    facts = Facts(observe(repo))
    observed_facts = [facts.path(str(repo / "new.py")), facts.text(str(repo / "new.py")), facts.git(str(repo))]

    again = Facts(RecordedWorld(facts.to_record()))

    assert [again.path(str(repo / "new.py")), again.text(str(repo / "new.py")), again.git(str(repo))] == observed_facts
