"""What everyday commands do to guarded files that they do not name: `tests/cases/guarded_sets.yaml`."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from tests.case_files import CASE_FILES, load_yaml
from tests.fakes import FakeClock
from tests.governed_repository import GUARDED_FILES, POLICY, add_million_files, create_repository, run_git
from verdikt import Action, ActionKind, Governance
from verdikt.effects.classifier import classify_shell_text
from verdikt.model.effect import Effects
from verdikt.model.facts import Facts
from verdikt.model.world import RecordedWorld
from verdikt.observe import git_changes, git_repository
from verdikt.observe.git_changes import look_up_git_changes
from verdikt.observe.guarded_paths import list_guarded_paths
from verdikt.observe.watched_files import AnswerCache, WatchedFiles
from verdikt.observe.world import RealWorld
from verdikt.replay import find_differences, read_decision, replay

CASES: list[dict[str, Any]] = load_yaml(CASE_FILES / "guarded_sets.yaml")
KINDS = ("tracked", "untracked", "ignored", "dirty", "unborn")


@pytest.fixture(scope="module")
def repositories(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return one repository of each kind; deciding changes none of them."""
    base = tmp_path_factory.mktemp("repositories")
    return {kind: create_repository(base / kind / "project", kind) for kind in KINDS}


def _collect_facts(root: Path) -> Facts:
    env = {"HOME": str(root.parent / "home"), "PATH": os.environ["PATH"]}
    return Facts(RealWorld(str(root), env=env, guarded=list_guarded_paths(str(root), env), root=str(root)))


def _classify(case: dict[str, Any], root: Path, facts: Facts | None = None) -> tuple[Effects, list[str]]:
    """Return the effects of a case's command, and the guarded files among what it would change."""
    text = case["run"].replace("{root}", str(root)).replace("{elsewhere}", str(root.parent / "elsewhere"))
    effects = classify_shell_text(text, facts or _collect_facts(root))
    targets = [target for effect in effects.named("guard.tamper") for target in effect.targets]
    return effects, [os.path.relpath(target.path, root) for target in targets]


def _matches(met: str, wanted: str) -> bool:
    """Return whether a target means a guarded file: itself, a directory around it, or a pattern."""
    return wanted == met or wanted.startswith(f"{met}/") or "*" in met


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['in']}: {case['name']}")
def test_command_meets_the_guarded_files_that_it_would_change(
    case: dict[str, Any], repositories: dict[str, Path]
) -> None:
    """Where a guarded file would change, it is named; where it would not, the command passes in silence."""
    effects, met = _classify(case, repositories[case["in"]])

    details = [(e.what, e.note, [t.path for t in e.targets]) for e in effects]
    if not case["met"]:
        assert met == [], details
    for wanted in case["met"]:
        assert any(_matches(path, wanted) for path in met), (wanted, details)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['in']}: {case['name']}")
def test_recorded_facts_give_the_same_effects(case: dict[str, Any], repositories: dict[str, Path]) -> None:
    """What was looked up is part of the facts, so that the classification can be replayed."""
    facts = _collect_facts(repositories[case["in"]])
    effects, _ = _classify(case, repositories[case["in"]], facts)

    replayed, _ = _classify(case, repositories[case["in"]], Facts(RecordedWorld(facts.to_record())))

    assert replayed == effects


def _run_shell(text: str, root: Path) -> subprocess.CompletedProcess[str]:
    env = {"PATH": os.environ["PATH"], "HOME": str(root.parent), "LC_ALL": "C"}
    command = ["bash", "-o", "pipefail", "-c", f"exec < /dev/null; {text}"]
    return subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, check=False)


FIX_CASES = [case for case in CASES if case["met"] and case["run"].startswith(("git ", "tar ", "unzip ", "rsync "))]


@pytest.mark.parametrize("case", FIX_CASES, ids=lambda case: f"{case['in']}: {case['name']}")
def test_fix_that_is_a_command_leaves_the_guarded_files_alone(
    case: dict[str, Any], repositories: dict[str, Path], tmp_path: Path
) -> None:
    """A fix passes itself, runs, and changes no guarded file."""
    origin = repositories[case["in"]]
    effects, _ = _classify(case, origin)
    notes = [effect.note for effect in effects.named("guard.tamper.set")]
    fixes = [note.removeprefix("run `").removesuffix("` instead") for note in notes if note.startswith("run `")]
    for index, fix in enumerate(fixes):
        root = tmp_path / str(index) / "project"
        shutil.copytree(origin.parent, root.parent, symlinks=True)
        assert _classify({"run": fix}, root)[1] == [], fix
        if shutil.which(fix.split()[0]) is None:
            continue
        run_git(root, "status")  # the copies have other times than the index says
        before = {name: (root / name).read_bytes() for name in GUARDED_FILES}
        completed_process = _run_shell(fix, root)
        assert completed_process.returncode == 0, (fix, completed_process.stderr)
        assert {name: (root / name).read_bytes() for name in GUARDED_FILES} == before, fix


def _list_profile_commands() -> list[str]:
    """Return the git commands that the shipped profiles recommend."""
    texts = [file.read_text() for file in (files("verdikt") / "profiles").iterdir() if file.name.endswith(".yaml")]
    return sorted({command for text in texts for command in re.findall(r"`(git [^`{]+)`", text)})


@pytest.mark.parametrize("fix", _list_profile_commands())
def test_command_that_a_profile_recommends_leaves_the_project_governed(
    fix: str, repositories: dict[str, Path], tmp_path: Path
) -> None:
    """An agent that obeys a fix text takes nothing away, where the policy is not under version control either."""
    root = tmp_path / "copy" / "project"
    shutil.copytree(repositories["untracked"].parent, root.parent)
    assert _classify({"run": fix}, root)[1] == []

    _run_shell(fix, root)

    assert {name: (root / name).read_text() for name in GUARDED_FILES} == GUARDED_FILES


def test_linked_work_tree_is_compared_by_itself(tmp_path: Path) -> None:
    """In a linked work tree its own HEAD, index and files count."""
    main = create_repository(tmp_path / "main", "tracked")
    run_git(main, "worktree", "add", "-q", str(tmp_path / "linked"), "other")
    linked = tmp_path / "linked"

    assert _classify({"run": "git switch same"}, linked)[1] == ["governance.yaml"]
    assert _classify({"run": "git merge --no-edit same"}, linked)[1] == []
    assert _classify({"run": "git stash -u"}, linked)[1] == []


def test_submodule_is_not_the_project_around_it(tmp_path: Path) -> None:
    """Work in a submodule touches none of the files of the repository around it."""
    root = create_repository(tmp_path / "project", "untracked")
    inner = create_repository(tmp_path / "inner", "tracked")
    run_git(root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "lib")

    assert _classify({"run": "cd lib && git checkout origin/other"}, root)[1] == []
    assert _classify({"run": "git submodule update --init"}, root)[1] == []
    assert "governance.yaml" in _classify({"run": "git stash -u"}, root)[1]


def test_bare_repository_has_no_files_to_lose(tmp_path: Path) -> None:
    """Nothing is looked up where there is no work tree, and nothing fails."""
    root = tmp_path / "bare.git"
    root.mkdir()
    run_git(root, "init", "-q", "--bare")

    assert _classify({"run": "git stash -u; git switch x; git reset --hard"}, root)[1] == []


def test_repository_with_a_million_files_is_answered_by_the_guarded_paths_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other files are neither listed nor read: no git is started, and few files are looked at."""
    root = create_repository(tmp_path / "project", "tracked")
    add_million_files(root)
    assert set(_classify({"run": "git switch bare"}, root)[1]) == {"governance.yaml", ".claude/settings.json"}

    monkeypatch.setattr(git_repository, "find_system_program", lambda name: str(tmp_path / name))
    for operation in (
        ["status", "tracked", "untracked"],
        ["clean", "-d"],
        ["merge", "same"],
        ["trees", "HEAD", "HEAD~1"],
    ):
        watched = WatchedFiles()
        status = _look_up(root, operation, watched)
        assert (operation, status) == (operation, ())
        assert len(watched) < 60
    (root / "governance.yaml").write_text("profile: none\n")
    assert _look_up(root, ["status", "tracked"], WatchedFiles()) is None


def _look_up(root: Path, operation: list[str], watched: WatchedFiles) -> tuple[str, ...] | None:
    env = {"HOME": str(root.parent / "home"), "PATH": os.environ["PATH"]}
    name, *operands = operation
    return look_up_git_changes(str(root), [name, "", "", *operands], list_guarded_paths(str(root), env), env, watched)


REPEATED = (
    "git stash",
    "git stash -u",
    "git stash pop stash@{1}",
    "git switch same",
    "git merge same",
    "git rebase same",
    "git pull origin main",
    "git revert plain",
    "git reset --hard HEAD~1",
    "git checkout .",
    "git clean -fd",
)
CHANGES: dict[str, Callable[[Path], object]] = {
    "edited": lambda root: (root / "governance.yaml").write_text("profile: none\n"),
    "staged": lambda root: (
        (root / "governance.yaml").write_text("profile: none\n"),
        run_git(root, "add", "governance.yaml"),
        (root / "governance.yaml").write_text(POLICY),
    ),
    "replaced by a link": lambda root: (
        (root / "governance.yaml").rename(root / "moved.yaml"),
        (root / "governance.yaml").symlink_to("moved.yaml"),
    ),
    "made executable": lambda root: (root / "governance.yaml").chmod(0o755),
    "another head": lambda root: run_git(root, "update-ref", "HEAD", "other"),
    "another file in a guarded directory": lambda root: (
        (root / ".claude/hooks").mkdir(),
        (root / ".claude/hooks/x").write_text("x"),
    ),
}
"""Changes after which one of `SEEN_BY` would take something away, though it did not before."""
SEEN_BY = {
    "another file in a guarded directory": "git stash -u",
    "another head": "git reset --hard",
    "staged": "git stash --keep-index",
}


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the files of a test be old enough for answers to be kept."""
    monkeypatch.setattr(git_changes, "_ANSWERS", AnswerCache(64, FakeClock(seconds=4e9)))


@pytest.mark.usefixtures("later")
def test_repeated_command_starts_no_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While nothing has changed, the answers are those of the first time, without a process."""
    root = create_repository(tmp_path / "project", "tracked")
    (root / ".gitignore").write_text(".claude/settings.local.json\n")
    run_git(root, "add", ".gitignore")
    run_git(root, "commit", "-qm", "ignored")
    (root / ".claude/settings.local.json").write_text("{}")
    first = {command: _classify({"run": command}, root)[1] for command in REPEATED}

    monkeypatch.setattr(git_changes, "run_git", lambda *_: pytest.fail("git was started"))

    assert {command: _classify({"run": command}, root)[1] for command in REPEATED} == first
    assert set(map(tuple, first.values())) == {()}


@pytest.mark.usefixtures("later")
@pytest.mark.parametrize("change", CHANGES)
def test_change_is_seen_by_the_next_decision(tmp_path: Path, change: str) -> None:
    """An answer that was kept is not used after the files that it came from have changed."""
    root = create_repository(tmp_path / "project", "tracked")
    command = SEEN_BY.get(change, "git stash")
    assert _classify({"run": command}, root)[1] == []

    CHANGES[change](root)

    assert _classify({"run": command}, root)[1] != []


@pytest.mark.usefixtures("later")
def test_file_that_is_no_longer_ignored_is_seen(tmp_path: Path) -> None:
    """What is ignored may be said in a `.gitignore` of any directory on the way, in the repository and at home."""
    root = create_repository(tmp_path / "project", "ignored")
    assert _classify({"run": "git stash -u"}, root)[1] == []
    assert _classify({"run": "git clean -fd"}, root)[1] == []

    (root / ".gitignore").write_text("x\n")

    assert "governance.yaml" in _classify({"run": "git stash -u"}, root)[1]
    assert "governance.yaml" in _classify({"run": "git clean -fd"}, root)[1]


def test_git_that_cannot_be_run_leaves_the_set_unknown(
    repositories: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without git nothing is known of its trees; the command passes, and what it changes is put back."""
    root = repositories["tracked"]
    env = {"HOME": str(root.parent / "home"), "PATH": str(tmp_path)}
    monkeypatch.setattr(git_repository, "find_system_program", lambda name: str(tmp_path / name))
    facts = Facts(RealWorld(str(root), env=env, guarded=list_guarded_paths(str(root), env), root=str(root)))

    assert _classify({"run": "git switch other"}, root, facts)[1] == []


def test_settings_of_the_repository_run_nothing_while_it_is_looked_at(tmp_path: Path) -> None:
    """Neither hooks nor programs that the configuration names are started by a decision."""
    root = create_repository(tmp_path / "project", "tracked")
    script = tmp_path / "run.sh"
    script.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    script.chmod(0o755)
    for name in ("core.fsmonitor", "core.pager", "diff.external", "gpg.program", "core.sshCommand", "core.editor"):
        run_git(root, "config", name, str(script))
    run_git(root, "config", "log.showSignature", "true")
    (root / ".git/hooks").mkdir(exist_ok=True)
    for hook in ("post-checkout", "post-index-change", "reference-transaction", "fsmonitor-watchman"):
        shutil.copy(script, root / ".git/hooks" / hook)

    for command in ("git switch other", "git stash -u", "git revert touches", "git merge other", "git clean -fd"):
        _classify({"run": command}, root)

    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "command", ["git switch other", "git switch same", "git stash -u", "cp -r evil/. .", "tar xf evil.tgz", "rm *.yaml"]
)
def test_decision_replays_to_the_same_bytes(command: str, repositories: dict[str, Path], tmp_path: Path) -> None:
    """What was looked up is in the receipt, and the same decision follows from it."""
    root = repositories["tracked"]
    env = {"HOME": str(tmp_path), "VERDIKT_HOME": str(tmp_path / "data"), "PATH": os.environ["PATH"]}
    action = Action(kind=ActionKind.BASH, tool="Bash", payload={"command": command}, session_id="s", cwd=str(root))
    with Governance.load(cwd=str(root), env=env) as governance:
        decision = governance.before(action)
        (entry,) = governance.store.read_entries("s")
        recorded = read_decision(entry)
        assert recorded is not None
        replayed = replay(recorded, governance.policy)

    assert find_differences(recorded, replayed) == []
    assert replayed.receipt.sha256 == decision.receipt.sha256


@pytest.mark.parametrize("command", ["git stash", "git stash -u", "git reset --hard", "git checkout -f"])
def test_file_that_head_has_as_it_is_stays_whatever_is_staged(tmp_path: Path, command: str) -> None:
    """A command that goes back to HEAD leaves a file alone that already is as HEAD has it; git agrees."""
    root = create_repository(tmp_path / "project", "tracked")
    CHANGES["staged"](root)
    assert _classify({"run": command}, root)[1] == []

    run_git(root, *command.split()[1:])

    assert (root / "governance.yaml").read_text() == POLICY


def test_file_taken_out_of_the_index_is_removed_by_clean(tmp_path: Path) -> None:
    """That HEAD has the file says nothing about `git clean`, which asks the index."""
    root = create_repository(tmp_path / "project", "tracked")
    run_git(root, "rm", "-q", "--cached", "governance.yaml")

    assert _classify({"run": "git stash -u"}, root)[1] == []
    assert _classify({"run": "git clean -fd"}, root)[1] == ["governance.yaml"]
    run_git(root, "stash", "-u")
    assert (root / "governance.yaml").read_text() == POLICY
