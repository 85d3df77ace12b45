"""What everyday commands do to guarded files that they do not name: `tests/cases/guarded_sets.yaml`."""

import os
import re
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.governed_repository import GUARDED_FILES, create_repository, run_git
from verdikt.effects.classifier import classify_shell_text
from verdikt.model.effect import Effects
from verdikt.model.facts import Facts, RecordedWorld
from verdikt.observe.guarded_paths import list_guarded_paths
from verdikt.observe.world import RealWorld

CASES: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parents[2] / "cases" / "guarded_sets.yaml").read_text())
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
