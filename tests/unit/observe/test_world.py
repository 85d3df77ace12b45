"""The observer, on a real disk with a real git."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.fakes import FakeClock
from verdikt.model.facts import Facts, RecordedWorld
from verdikt.observe.world import TEXT_LIMIT, RealWorld, find_project_root


def git(directory: Path, *arguments: str) -> None:
    """Runs git without anybody's settings."""
    env = {"PATH": os.environ["PATH"], "HOME": str(directory.parent), "GIT_CONFIG_NOSYSTEM": "1"}
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *identity, *arguments], cwd=directory, env=env, check=True, capture_output=True)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository with a file in each state."""
    repo = tmp_path / "project"
    (repo / "src").mkdir(parents=True)
    (repo / "src/kept.py").write_text("1\n")
    (repo / "src/changed.py").write_text("1\n")
    (repo / ".gitignore").write_text("dist/\n")
    git(repo, "init", "-q")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "first")
    git(repo, "remote", "add", "origin", "https://example.com/x.git")
    git(repo, "config", "alias.nuke", "!rm -rf .")
    git(repo, "config", "branch.main.remote", "origin")
    git(repo, "config", "branch.main.merge", "refs/heads/main")
    (repo / "src/changed.py").write_text("2\n")
    (repo / "new.py").write_text("1\n")
    (repo / "dist").mkdir()
    (repo / "dist/out.js").write_text("1\n")
    return repo


def world(cwd: Path) -> RealWorld:
    """The world from there, with a home of its own."""
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
def test_a_path_is_as_exposed_as_its_most_exposed_file(repo: Path, path: str, state: str) -> None:
    """What git could bring back is told apart from what it could not."""
    assert world(repo).path(os.path.normpath(repo / path)).git == state


def test_a_repository_tells_branch_upstream_remotes_and_aliases(repo: Path) -> None:
    """An alias can hide anything, so it is read."""
    fact = world(repo).git(str(repo / "src"))

    assert (fact.root, fact.branch, fact.upstream) == (str(repo), "main", "origin/main")
    assert fact.remotes == {"origin": "https://example.com/x.git"}
    assert fact.aliases == {"nuke": "!rm -rf ."}


def test_a_repository_cannot_have_git_run_its_programs(repo: Path) -> None:
    """Asking about a path must not execute what `.git/config` names."""
    git(repo, "config", "core.fsmonitor", f"touch {repo}/ran")

    world(repo).path(str(repo / "src/kept.py"))

    assert not (repo / "ran").exists()


def test_a_link_is_followed(repo: Path, tmp_path: Path) -> None:
    """A link in the project that leads out of it says where it leads."""
    (repo / "out").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").mkdir()

    fact = world(repo).path(str(repo / "out"))

    assert (fact.real, fact.kind, fact.symlink) == (str(tmp_path / "elsewhere"), "dir", True)


@pytest.mark.parametrize("path", ["/nonexistent\0", "/" + "x" * 5000, "/dev/null/x", "/\udcff"])
def test_an_odd_path_is_an_answer_not_an_error(tmp_path: Path, path: str) -> None:
    """Bad input is normal input."""
    here = world(tmp_path)

    assert not here.path(path).exists
    assert here.text(path) is None


def test_text_is_small_regular_and_text(tmp_path: Path) -> None:
    """A pipe, a directory, a binary and a huge file have no text, and none of them holds the decision up."""
    (tmp_path / "small").write_text("echo hi\n")
    (tmp_path / "marked").write_bytes(b'\xef\xbb\xbf{"scripts": {}}')
    (tmp_path / "binary").write_bytes(b"\x7fELF\0")
    (tmp_path / "huge").write_bytes(b"#" * (TEXT_LIMIT + 1))
    os.mkfifo(tmp_path / "pipe")
    here = world(tmp_path)

    assert here.text(str(tmp_path / "small")) == "echo hi\n"
    assert here.text(str(tmp_path / "marked")) == '{"scripts": {}}'  # as npm reads it
    assert [here.text(str(tmp_path / name)) for name in ("binary", "huge", "pipe", "absent", ".")] == [None] * 5


def test_a_directory_that_does_not_exist_is_its_own_project(tmp_path: Path) -> None:
    """Histories are judged on machines where their directories never were."""
    here = RealWorld("/nowhere/project", env={"HOME": "/nowhere"})

    assert here.place()["project_root"] == "/nowhere/project"
    assert here.path("/nowhere/project/a.py").kind == "unknown"


def test_the_project_ends_below_the_home_directory(tmp_path: Path) -> None:
    """A home under version control is not one big project."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/pyproject.toml").write_text("")

    assert find_project_root(str(tmp_path / "a/b"), str(tmp_path)) == str(tmp_path / "a")


def test_recorded_facts_answer_the_same(repo: Path) -> None:
    """Replay asks the record and hears what was true then."""
    facts = Facts(world(repo))
    asked = [facts.path(str(repo / "new.py")), facts.text(str(repo / "new.py")), facts.git(str(repo))]

    again = Facts(RecordedWorld(facts.to_record()))

    assert [again.path(str(repo / "new.py")), again.text(str(repo / "new.py")), again.git(str(repo))] == asked
