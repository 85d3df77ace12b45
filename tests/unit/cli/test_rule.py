"""`verdikt rule`: the catalogue."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.rule_examples import FILE, list_rule_names
from tests.unit.effects.test_cases import decide, load_policy
from verdikt.cli import root
from verdikt.govern import Governance
from verdikt.graph.layer_reader import PROFILE_NAMES
from verdikt.model.action import Action, ActionKind

EXAMPLES = json.loads(FILE.read_text())


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project in a home of its own."""
    project = tmp_path / "home/project"
    (project / ".git").mkdir(parents=True)
    monkeypatch.chdir(project)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("VERDIKT_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    return project


def run(*words: str) -> Result:
    """Run the command line in this process."""
    return CliRunner().invoke(root, words, catch_exceptions=False)


@pytest.mark.parametrize("rule", EXAMPLES)
def test_examples_of_a_rule_hold(rule: str) -> None:
    """The shipped profile stops or passes each as the catalogue says, which `python -m tests.rule_examples` writes."""
    profiles = ("standard", "strict", "relaxed")
    profile = next(name for name in profiles if rule in {rule.name for rule in load_policy(name).rules})
    for text in EXAMPLES[rule]["stops"]:
        assert decide({"run": text, "profile": profile})[1].guard == rule, text
    for text in EXAMPLES[rule]["passes"]:
        assert decide({"run": text, "profile": "standard"})[1].passed, text


def test_examples_name_rules_that_exist() -> None:
    """Most rules of the standard profile have examples."""
    names = list_rule_names()

    assert set(EXAMPLES) <= names
    assert len(EXAMPLES) > 0.75 * len(names)


def test_rule_is_explained_with_examples_and_the_way_past_it(project: Path) -> None:
    """One screen says what it stops, why, what to do instead, where it is from and how to allow it."""
    output = run("rule", "git_force_push").output

    for text in ("(says block)", "why ", "instead   git push --force-with-lease", "stops     git push origin +main\n"):
        assert text in output
    assert "from      profile relaxed, standard, strict\n  here      never\n" in output
    assert "verdikt allow git_force_push" in output
    assert not (project.parent.parent / "VERDIKT_HOME").exists()


def test_red_line_offers_no_way_past_it(project: Path) -> None:
    """The entry says so instead."""
    output = run("rule", "guard_tamper").output

    assert "red line: blocks, and nothing gets past it" in output
    assert "verdikt allow" not in output


def test_own_rules_are_in_the_catalogue_with_their_place(project: Path) -> None:
    """A rule of the project's file is shown with file and line; a name that is close to one is suggested."""
    text = "rules: [{name: no_make, command: make, verdict: block, reason: slow, fix: wait}]"
    (project / "governance.yaml").write_text(text)

    assert f"from      {project}/governance.yaml:1:9" in run("rule", "no_make").output
    result = run("rule", "no_mak")
    assert result.exit_code == 65
    assert "no rule `no_mak` (did you mean `no_make`?)" in result.output


def test_list_has_a_column_for_each_profile(project: Path) -> None:
    """The comparison shows which profile leaves a rule out."""
    lines = {line.split()[0]: line.split() for line in run("rule").output.splitlines()}

    assert lines["rule"][1:4] == list(PROFILE_NAMES)
    assert lines["git_force_push"][1:4] == ["block", "block", "block"]
    assert lines["git_careful"][1:4] == ["–", "ask", "ask"]
    assert "guard_tamper" in [row["rule"] for row in json.loads(run("rule", "--json").output)]


def test_rule_counts_how_often_it_decided_here(project: Path) -> None:
    """The count comes from the log."""
    payload = {"command": "git push --force"}
    with Governance.load(cwd=str(project)) as governance:
        governance.before(Action(kind=ActionKind.BASH, tool="Bash", payload=payload, cwd=str(project)))

    assert "here      1 × block" in run("rule", "git_force_push").output
