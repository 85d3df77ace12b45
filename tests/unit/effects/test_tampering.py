"""Switching off what watches: every file by every way, and every command, under every profile; data in tests/cases/tampering.yaml."""

import shlex
from typing import Any

import pytest
import yaml

from tests.unit.effects.test_cases import CASES, ROOT, decide
from verdikt.hosts.git.git_hooks import render_script
from verdikt.observe.guarded_paths import list_guarded_paths

DATA = yaml.safe_load((CASES / "tampering.yaml").read_text())
HOME = "/home/dev"
PROFILES = ("relaxed", "standard", "strict")
GUARDED = list_guarded_paths(ROOT, {"HOME": HOME})
CHECK = render_script("pre-commit", ("/usr/bin/python3",)).decode()


def _filled(value: Any, words: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _filled(member, words) for key, member in value.items()}
    if isinstance(value, list):
        return [_filled(member, words) for member in value]
    for name, word in words.items():
        value = value.replace(name, word) if isinstance(value, str) else value
    return value


def _case(way: dict[str, Any], file: str) -> dict[str, Any]:
    full = file.replace("~", HOME, 1) if file.startswith(("~", "/")) else f"{ROOT}/{file}"
    text = file if file.startswith("~") else shlex.quote(file)
    known = {full: CHECK if "/.git/hooks/" in full else "x", "/tmp/x": "x", f"{ROOT}/notes/x": "a"}
    return _filled(way, {"{path}": text, "{full}": full}) | {"guarded": GUARDED, "files": known}


@pytest.mark.parametrize("host", DATA["files"])
@pytest.mark.parametrize("way", DATA["ways"], ids=lambda way: way["name"])
def test_no_way_leads_to_a_file_that_watches(host: str, way: dict[str, Any]) -> None:
    """Blocked on a red line, whatever the profile."""
    let_through = []
    for file in DATA["files"][host]:
        for profile in PROFILES:
            effects, verdict = decide(_case(way, file) | {"profile": profile})
            if verdict.kind.word != "block" or not verdict.red_line:
                let_through.append((file, profile, verdict.kind.word, verdict.guard, [e.what for e in effects]))
    assert let_through == []


PLACES = {
    # What lies in the project and the home while the commands run.
    f"{ROOT}/.git/hooks/pre-commit": CHECK,
    f"{ROOT}/.git/hooks/pre-push": CHECK,
    f"{ROOT}/.git/hooks": "",
    **{f"{ROOT}/{file}": "x" for host in DATA["files"] for file in DATA["files"][host] if file.startswith(".c")},
    f"{ROOT}/.github/hooks": "",
    f"{ROOT}/.opencode/plugin": "",
    f"{HOME}/.gemini/settings.json": "{}",
    f"{HOME}/.local/share/verdikt": "",
}


def _of(section: str) -> list[Any]:
    common = {"guarded": GUARDED, "files": PLACES}
    return [
        pytest.param(case | common | {"profile": profile}, id=f"{case['name']} ({profile})")
        for case in DATA[section]
        for profile in PROFILES
    ]


@pytest.mark.parametrize("case", _of("red"))
def test_a_red_line(case: dict[str, Any]) -> None:
    """Nobody in the conversation gets past it, and no grant either."""
    effects, verdict = decide(case)

    assert (verdict.kind.word, verdict.red_line) == ("block", True), (verdict.guard, [e.what for e in effects])


@pytest.mark.parametrize("case", _of("hatch"))
def test_a_hatch_is_shut(case: dict[str, Any]) -> None:
    """An agent that nothing watches is not started by one that is watched."""
    effects, verdict = decide(case)

    assert verdict.kind.word == "block", (verdict.guard, [e.what for e in effects])


@pytest.mark.parametrize("case", _of("free"))
def test_what_looks_alike_is_left_alone(case: dict[str, Any]) -> None:
    """Friction on ordinary work is a defect, like a miss."""
    assert decide(case)[1].kind.word != "block"


@pytest.mark.parametrize("profile", PROFILES)
def test_the_check_of_a_commit_is_not_left_out_in_silence(profile: str) -> None:
    """`--no-verify` asks a person where verdikt checks commits, even under `relaxed`; where it does not, `relaxed` lets it be."""
    case = {"run": "git commit --no-verify -m x", "profile": profile}

    assert decide(case | {"files": PLACES})[1].kind.word in ("ask", "block")
    assert (decide(case)[1].kind.word == "pass") == (profile == "relaxed")


def test_hooks_that_git_was_told_to_look_for_elsewhere_are_known() -> None:
    """verdikt puts its hooks where git looks, and there they are guarded too."""
    files = {f"{ROOT}/.git/config": "[core]\n\thooksPath = .husky/_\n", f"{ROOT}/.husky/_/pre-commit": CHECK}
    for command in (
        "git config --unset core.hooksPath",
        "rm -rf .husky",
        "rm .husky/_/pre-commit",
        "echo > .husky/_/pre-commit",
    ):
        assert decide({"run": command, "files": files, "profile": "relaxed"})[1].red_line, command


def test_a_work_tree_has_the_hooks_of_its_repository() -> None:
    """Whose `.git` is a file that says where."""
    files = {f"{ROOT}/.git": "gitdir: /home/dev/main/.git/worktrees/x\n", "/home/dev/main/.git/hooks/pre-commit": CHECK}

    assert decide({"run": "git config core.hooksPath x", "files": files, "profile": "relaxed"})[1].red_line
