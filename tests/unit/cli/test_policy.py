"""`verdikt policy`."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner, Result

from verdikt.cli import root

POLICY = """\
profile: none
posture: autonomous
bash_safety:
  blocked_patterns: ['rm\\s+-rf\\s+/']
rules:
  - {name: no_push, command: git push, verdict: ask, reason: "`{by}` publishes", fix: wait for review}
  - {name: env, tool: Write, equals: {file_path: .env}, verdict: block, reason: secret, fix: no, red_line: true}
"""

CASES = """\
- name: a push is asked about
  run: git push
  posture: interactive
  verdict: ask
  guard: no_push
  reason: publishes
- name: without a person to answer, an ask is a block
  run: git push
  verdict: block
  reason: none is there to answer
- name: the environment is not written
  tool: Write
  input: {file_path: .env}
  verdict: block
  guard: env
  fix: "no"
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a repository with a policy, and a home without one."""
    home = tmp_path / "home"
    place = tmp_path / "project"
    (place / ".git").mkdir(parents=True)
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("VERDIKT_MANAGED_POLICY", raising=False)
    monkeypatch.chdir(place)
    (place / "governance.yaml").write_text(POLICY)
    return place


def run(*arguments: str, project: Path) -> Result:
    """Run `verdikt policy` without the managed policy of this machine."""
    options = [] if arguments[0] == "schema" else ["--managed", str(project.parent / "none.yaml")]
    return CliRunner().invoke(root, ["policy", *arguments, *options])


def test_show_prints_the_source_of_each_part(project: Path) -> None:
    """Layers, settings, guards and rules have their file and line."""
    result = run("show", project=project)

    assert result.exit_code == 0
    path = project / "governance.yaml"
    assert f"project    {path}\n" in result.output
    assert f"posture        autonomous   {path}:2:1" in result.output
    assert f"block! env              {path}:7:5" in result.output
    assert f"guard  bash_safety      {path}:4:3" in result.output
    assert "block! guard_tamper     profiles/standard.yaml:" in result.output


def test_show_merges_managed_user_and_project(project: Path) -> None:
    """The layers are merged in their order, each with its file."""
    config = project.parent / "home" / ".config" / "verdikt"
    config.mkdir(parents=True)
    (config / "governance.yaml").write_text(
        "profile: none\nposture: interactive\nunknown_tools: block\napprove: [{class: read}]"
    )
    managed = project.parent / "managed.yaml"
    managed.write_text("profile: none\nposture: locked\nrules: [{name: top, kind: read, verdict: warn, reason: hm}]")

    result = CliRunner().invoke(root, ["policy", "show", "--json", "--managed", str(managed)])

    report = json.loads(result.output)
    assert [layer["layer"] for layer in report["layers"]] == ["managed", "user", "project"]
    assert report["posture"] == {"value": "locked", "from": f"{managed}:2:1", "layer": "managed"}
    assert report["unknown_tools"] == {"value": "block", "from": f"{config}/governance.yaml:3:1", "layer": "user"}
    assert report["approve"] == [{"from": f"{config}/governance.yaml:4:1", "layer": "user", "in_force": False}]
    assert next((part["name"], part["layer"]) for part in report["parts"]) == ("top", "managed")
    assert len(report["digest"]) == 64


def test_invalid_policy_ends_with_65_and_all_errors(project: Path) -> None:
    """Each error has its place and the nearest valid name."""
    (project / "governance.yaml").write_text("rulez: 1\nposture: x\n")
    for name in ("show", "lint", "test"):
        result = run(name, project=project)

        assert result.exit_code == 65
        assert result.stdout == ""
        assert [line.split(": ")[0] for line in result.stderr.splitlines()] == [
            f"{project}/governance.yaml:1:1",
            f"{project}/governance.yaml:2:10",
        ]


def test_missing_policy_file_ends_with_65(project: Path) -> None:
    """A named file must exist, and is then the only layer."""
    assert run("show", "--policy", "none.yaml", project=project).exit_code == 65
    (project / "other.yaml").write_text("profile: none\nguards: [audit]")
    assert "file       other.yaml" in run("show", "--policy", "other.yaml", project=project).output


def test_lint_of_valid_policy_ends_with_0(project: Path) -> None:
    """On request, an action is shown for each rule."""
    result = run("lint", "--witnesses", project=project)

    assert result.exit_code == 0
    assert "Bash git push" in result.output
    assert "7 rules can fire, 0 problems" in result.output


def test_lint_of_rule_that_never_fires_ends_with_1(project: Path) -> None:
    """The rule is reported with its place, as text and as JSON."""
    (project / "governance.yaml").write_text(POLICY + "  - {name: dead, pattern: 'a^b', verdict: pass}\n")

    result = run("lint", project=project)
    report = json.loads(run("lint", "--json", project=project).output)

    assert result.exit_code == 1
    assert f"never {project}/governance.yaml:8:5: rule `dead` can never fire" in result.output
    assert [flaw["rule"] for flaw in report["flaws"]] == ["dead"]
    assert [row["rule"] for row in report["witnesses"]][:3] == ["no_push", "env", "guard_files"]


def test_policy_test_with_passing_cases_ends_with_0(project: Path) -> None:
    """Case files are found below the project by their name."""
    (project / "sub").mkdir()
    (project / "sub" / "team.cases.yaml").write_text(CASES)

    result = run("test", project=project)

    assert (result.exit_code, result.output) == (0, "3 passed, 0 failed\n")


def test_policy_test_with_failing_case_shows_the_difference(project: Path) -> None:
    """Expected and actual verdict are shown, also as JUnit and JSON."""
    (project / "x.cases.yaml").write_text(
        CASES + "- {name: wrong, run: git push, verdict: pass, posture: interactive}\n"
    )

    result = run("test", "x.cases.yaml", "--junit", "report.xml", project=project)

    assert result.exit_code == 1
    assert result.output.splitlines()[:5] == [
        "✗ wrong  x.cases.yaml:17:3",
        "    expected  pass",
        "    found     ask by no_push",
        "    because   `git push` publishes",
        "    asked     Bash git push",
    ]
    suites = ET.parse(project / "report.xml").getroot()
    assert suites.attrib["tests"] == "4" and suites.attrib["failures"] == "1"
    assert [case.attrib["name"] for case in suites.iter("testcase") if case.find("failure") is not None] == ["wrong"]
    rows = json.loads(run("test", "x.cases.yaml", "--json", project=project).output)
    assert [row["passed"] for row in rows] == [True, True, True, False]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1", "x.cases.yaml:1:1: expected a list of cases, found a mapping"),
        (
            "- {name: a, verdict: block}",
            "x.cases.yaml:1:3: expected either `run` (a command) or `tool` with `input`, found neither",
        ),
        (
            "- {name: a, run: ls, tool: x, verdict: block}",
            "x.cases.yaml:1:3: expected either `run` (a command) or `tool` with `input`, found both",
        ),
        (
            "- {name: a, run: ls, verdict: deny}",
            "x.cases.yaml:1:31: `verdict`: expected one of pass, warn, ask, block, found `deny`",
        ),
        (
            "- {name: a, run: ls, verdict: pass, gard: x}",
            "x.cases.yaml:1:37: expected a known key, found `gard` (did you mean `guard`?)",
        ),
        (
            "- {name: a, run: ls, verdict: pass, files: {x: new}}",
            "x.cases.yaml:1:48: `x`: expected one of tracked, modified, ",
        ),
    ],
)  # fmt: skip
def test_invalid_case_ends_with_65(project: Path, text: str, message: str) -> None:
    """An invalid case is reported with its place."""
    (project / "x.cases.yaml").write_text(text)

    result = run("test", project=project)

    assert result.exit_code == 65
    assert result.stderr.startswith(message)


def test_policy_test_without_cases_ends_with_1(project: Path) -> None:
    """A build that tests nothing must fail."""
    result = run("test", project=project)

    assert result.exit_code == 1
    assert "no cases found" in result.stderr


def test_cases_of_one_session_share_its_state(project: Path) -> None:
    """They are run in order; other cases have a session of their own."""
    (project / "governance.yaml").write_text("profile: none\nguards: [{budget: {max_tasks: 1}}]")
    (project / "x.cases.yaml").write_text(
        "- {name: first, run: ls, session: s, verdict: pass}\n"
        "- {name: second, run: ls, session: s, verdict: block, guard: budget}\n"
        "- {name: another, run: ls, verdict: pass}\n"
    )

    assert run("test", project=project).output == "3 passed, 0 failed\n"


def test_schema_validates_built_in_guards(project: Path) -> None:
    """It accepts the example policy and refuses a misspelt guard."""
    schema = jsonschema.Draft202012Validator(json.loads(run("schema", project=project).output))

    assert schema.is_valid({"profile": "strict", "bash_safety": {"blocked_patterns": ["x"]}, "guards": ["budget"]})
    assert not schema.is_valid({"guards": ["budgit"]})


def test_wrong_usage_ends_with_2(project: Path) -> None:
    """Wrong usage ends with 2, as for most commands."""
    assert run("show", "--colour", project=project).exit_code == 2
    assert CliRunner().invoke(root, ["policy", "shw"]).exit_code == 2
