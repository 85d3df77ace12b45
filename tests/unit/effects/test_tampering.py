"""Attempts to switch verdikt off: every guard file by every way, and every command, under every profile.

The data is in `tests/cases/tampering.yaml`.
"""

import shlex
from typing import Any

import pytest

from tests.case_files import CASE_FILES, load_yaml
from tests.unit.effects.test_cases import ROOT, decide
from verdikt.hosts.git.git_hooks import render_script
from verdikt.observe.guarded_paths import list_guarded_paths

DATA = load_yaml(CASE_FILES / "tampering.yaml")
HOME = "/home/dev"
PROFILES = ("relaxed", "standard", "strict")
GUARDED = list_guarded_paths(ROOT, {"HOME": HOME})
CHECK = render_script("pre-commit", ("/usr/bin/python3",)).decode()


def _fill_in(value: Any, words: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _fill_in(member, words) for key, member in value.items()}
    if isinstance(value, list):
        return [_fill_in(member, words) for member in value]
    for name, word in words.items():
        value = value.replace(name, word) if isinstance(value, str) else value
    return value


def _make_case(way: dict[str, Any], file: str) -> dict[str, Any]:
    full = file.replace("~", HOME, 1) if file.startswith(("~", "/")) else f"{ROOT}/{file}"
    text = file if file.startswith("~") else shlex.quote(file)
    texts = {full: CHECK if "/.git/hooks/" in full else "x", "/tmp/x": "x", f"{ROOT}/notes/x": "a"}
    return _fill_in(way, {"{path}": text, "{full}": full}) | {"guarded": GUARDED, "files": texts}


@pytest.mark.parametrize("host", DATA["files"])
@pytest.mark.parametrize("way", DATA["ways"], ids=lambda way: way["name"])
def test_change_to_a_guard_file_is_blocked_on_a_red_line(host: str, way: dict[str, Any]) -> None:
    """Every way to change a host's guard files is blocked under every profile."""
    not_blocked = []
    for file in DATA["files"][host]:
        for profile in PROFILES:
            effects, verdict = decide(_make_case(way, file) | {"profile": profile})
            if verdict.kind.word != "block" or not verdict.red_line:
                not_blocked.append((file, profile, verdict.kind.word, verdict.guard, [e.what for e in effects]))
    assert not_blocked == []


GUARD_FILES = {
    # What exists in the project and the home while the commands run.
    f"{ROOT}/.git/hooks/pre-commit": CHECK,
    f"{ROOT}/.git/hooks/pre-push": CHECK,
    f"{ROOT}/.git/hooks": "",
    **{f"{ROOT}/{file}": "x" for host in DATA["files"] for file in DATA["files"][host] if file.startswith(".c")},
    f"{ROOT}/.github/hooks": "",
    f"{ROOT}/.opencode/plugin": "",
    f"{HOME}/.gemini/settings.json": "{}",
    f"{HOME}/.local/share/verdikt": "",
}


def _load_section(section: str) -> list[Any]:
    common = {"guarded": GUARDED, "files": GUARD_FILES}
    return [
        pytest.param(case | common | {"profile": profile}, id=f"{case['name']} ({profile})")
        for case in DATA[section]
        for profile in PROFILES
    ]


@pytest.mark.parametrize("case", _load_section("red"))
def test_red_line_command_is_blocked(case: dict[str, Any]) -> None:
    """The command is blocked on a red line, which no approval and no grant can lift."""
    effects, verdict = decide(case)

    assert (verdict.kind.word, verdict.red_line) == ("block", True), (verdict.guard, [e.what for e in effects])


@pytest.mark.parametrize("case", _load_section("hatch"))
def test_starting_an_unguarded_agent_is_blocked(case: dict[str, Any]) -> None:
    """A guarded agent cannot start one without a guard."""
    effects, verdict = decide(case)

    assert verdict.kind.word == "block", (verdict.guard, [e.what for e in effects])


@pytest.mark.parametrize("case", _load_section("free"))
def test_harmless_lookalike_is_not_blocked(case: dict[str, Any]) -> None:
    """Ordinary work that resembles tampering is not blocked."""
    assert decide(case)[1].kind.word != "block"


@pytest.mark.parametrize("profile", PROFILES)
def test_no_verify_is_asked_about_where_verdikt_checks_commits(profile: str) -> None:
    """`--no-verify` needs approval where verdikt checks commits; elsewhere `relaxed` lets it pass."""
    case = {"run": "git commit --no-verify -m x", "profile": profile}

    assert decide(case | {"files": GUARD_FILES})[1].kind.word in ("ask", "block")
    assert (decide(case)[1].kind.word == "pass") == (profile == "relaxed")


def test_hooks_in_a_configured_hooks_path_are_guarded() -> None:
    """Verdikt's hooks are guarded where `core.hooksPath` points, too."""
    files = {f"{ROOT}/.git/config": "[core]\n\thooksPath = .husky/_\n", f"{ROOT}/.husky/_/pre-commit": CHECK}
    for command in (
        "git config --unset core.hooksPath",
        "rm -rf .husky",
        "rm .husky/_/pre-commit",
        "echo > .husky/_/pre-commit",
    ):
        assert decide({"run": command, "files": files, "profile": "relaxed"})[1].red_line, command


def test_hooks_of_the_main_repository_are_guarded_in_a_work_tree() -> None:
    """A work tree's `.git` file names the repository whose hooks apply."""
    files = {f"{ROOT}/.git": "gitdir: /home/dev/main/.git/worktrees/x\n", "/home/dev/main/.git/hooks/pre-commit": CHECK}

    assert decide({"run": "git config core.hooksPath x", "files": files, "profile": "relaxed"})[1].red_line
