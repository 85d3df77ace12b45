"""Behaviour as data: every case in `tests/cases/effects_*.yaml` and `programs_*.yaml`, decided by a profile.

A case has a `name`, a `run` (or a `tool` with its `input`) and a `verdict`; where it matters also the `guard` that
decides, an `effect` that must be among the effects, a `profile`, a `cwd`. Paths mean what `WORLD` says of them.
"""

from functools import cache
from typing import Any

import pytest

from tests.case_files import CASE_FILES, load_yaml
from tests.fakes import FakeWorld
from verdikt.effects.classifier import classify
from verdikt.graph.context import GovernanceContext
from verdikt.graph.policy import Policy
from verdikt.model.action import Action
from verdikt.model.effect import Effects
from verdikt.model.facts import Facts
from verdikt.model.tool_kind import classify_tool
from verdikt.model.verdict import Verdict
from verdikt.model.world import GitFact, PathFact
from verdikt.policy import parse_policy

ROOT = "/home/dev/project"

WORLD: dict[str, tuple[str, str]] = {
    # path → what it is, its state in git
    "": ("dir", "modified"),
    "src": ("dir", "tracked"),
    "src/app.py": ("file", "tracked"),
    "src/edited.py": ("file", "modified"),
    "docs": ("dir", "tracked"),
    "README.md": ("file", "tracked"),
    "notes": ("dir", "untracked"),
    "notes/todo.md": ("file", "untracked"),
    "draft.txt": ("file", "untracked"),
    "data": ("dir", "untracked"),
    "scripts": ("dir", "tracked"),
    "scripts/build.sh": ("file", "tracked"),
    "dist": ("dir", "ignored"),
    "node_modules": ("dir", "ignored"),
    ".env": ("file", "ignored"),
    ".git": ("dir", "untracked"),
    "package.json": ("file", "tracked"),
}


@cache
def load_cases() -> list[tuple[str, dict[str, Any]]]:
    """Return every case with the name of its file."""
    cases = []
    for file in sorted([*CASE_FILES.glob("effects_*.yaml"), *CASE_FILES.glob("programs_*.yaml")]):
        for case in load_yaml(file):
            cases.append((file.stem.removeprefix("effects_").removeprefix("programs_"), case))
    return cases


@cache
def load_policy(profile: str) -> Policy:
    """Return a policy of one shipped profile alone."""
    return parse_policy(f"profile: {profile}")


def _list_paths() -> dict[str, PathFact]:
    paths = {}
    for name, (kind, git) in WORLD.items():
        path = f"{ROOT}/{name}".rstrip("/")
        paths[path] = PathFact(real=path, kind=kind, git=git)
    paths[f"{ROOT}/link"] = PathFact(real="/etc", kind="dir", symlink=True)
    paths[f"{ROOT}/link/passwd"] = PathFact(real="/etc/passwd", kind="file")
    paths[f"{ROOT}/dist/notes"] = PathFact(real=f"{ROOT}/notes", kind="dir", git="ignored", symlink=True)
    paths[f"{ROOT}/dist/notes/a.txt"] = PathFact(real=f"{ROOT}/notes/a.txt", kind="file")
    paths[f"{ROOT}/key"] = PathFact(real="/home/dev/.ssh/id_rsa", kind="file", symlink=True)
    return paths


PATHS = _list_paths()


def make_world(case: dict[str, Any]) -> FakeWorld:
    """Return the world of the project that the cases speak of."""
    texts = {
        f"{ROOT}/package.json": '{"scripts": {"test": "node --test", "clean": "rm -rf dist", "wipe": "rm -rf ~"}}',
        f"{ROOT}/Makefile": "test:\n\tpytest\nclean:\n\trm -rf build\nwipe:\n\trm -rf /\n",
        f"{ROOT}/scripts/build.sh": "#!/bin/sh\nnpm run build\n",
        f"{ROOT}/wipe.sh": "#!/bin/sh\nrm -rf ~/Documents\n",
        f"{ROOT}/wipe.py": "import shutil\nshutil.rmtree('/home/dev/Documents')\n",
        **case.get("files", {}),
    }
    repository = GitFact(
        root=ROOT,
        branch=case.get("branch", "feature/x"),
        upstream="origin/feature/x",
        remotes={"origin": "git@example.com:o/r.git"},
        aliases={"co": "checkout", "wipe": "reset --hard", "boom": "!rm -rf ~"},
    )
    return FakeWorld(
        cwd=case.get("cwd", ROOT),
        paths=dict(PATHS),
        texts=texts,
        repository=repository,
        guarded=(f"{ROOT}/governance.yaml", *case.get("guarded", ())),
    )


def decide(case: dict[str, Any]) -> tuple[Effects, Verdict]:
    """Return the effects of the case's action, and the verdict of its profile."""
    tool = case.get("tool", "Bash")
    payload = case["input"] if "input" in case else {"command": case["run"]}
    action = Action(kind=classify_tool(tool), tool=tool, payload=payload, cwd=case.get("cwd", ROOT))
    facts = Facts(make_world(case))
    effects = classify(action, facts, manifest=case.get("manifest"))
    context = GovernanceContext(action=action, effects=effects, facts=facts)
    return effects, load_policy(case.get("profile", "standard")).root.evaluate(action, context)


@pytest.mark.parametrize(("family", "case"), [pytest.param(f, c, id=f"{f}: {c['name']}") for f, c in load_cases()])
def test_case(family: str, case: dict[str, Any]) -> None:
    """A case has the verdict it states, and the guard and the effect where it states them."""
    effects, verdict = decide(case)

    details = [(e.what, e.certainty.value, [(t.text, t.zone.value, t.state) for t in e.targets]) for e in effects]
    assert verdict.kind.word == case["verdict"], (verdict.guard, verdict.reason, details)
    if "guard" in case:
        assert verdict.guard == case["guard"], details
    if "effect" in case:
        assert effects.named(case["effect"]), details


def test_no_case_is_repeated() -> None:
    """No two cases of a family run the same action, and no two have the same name."""
    names = [(family, case["name"]) for family, case in load_cases()]
    actions = [
        (
            c.get("run"),
            str(c.get("input")),
            str(c.get("files")),
            c.get("tool"),
            c.get("cwd"),
            c.get("profile"),
            c.get("branch"),
        )
        for _, c in load_cases()
    ]

    assert sorted({name for name in names if names.count(name) > 1}) == []
    assert sorted({str(action) for action in actions if actions.count(action) > 1}) == []
