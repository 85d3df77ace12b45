"""`verdikt evidence`."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.scene import GREEN, Scene
from verdikt.cli import root
from verdikt.evidence.validator_registry import VALIDATORS
from verdikt.model.entry import EntryKind


def run(*arguments: str, text: str = "") -> tuple[int, str]:
    """Return exit status and output of a call."""
    result = CliRunner().invoke(root, ["evidence", *arguments], input=text)
    return result.exit_code, result.output


def test_claims_as_json_have_type_and_position() -> None:
    """Each claim has its type and position."""
    status, output = run("claims", "--json", text="Fixed the parser. Is it fast?")

    assert status == 0
    assert [(claim["type"], claim["start"]) for claim in json.loads(output)] == [("done", 0)]


def test_claims_batch_with_invalid_line_answers_the_others() -> None:
    """Each line has its answer, in order."""
    lines = ['{"id": 1, "text": "Done."}', "nonsense", '{"id": 2, "text": "Hello"}', "[1]"]

    status, output = run("claims", "--batch", text="\n".join(lines))

    answers = [json.loads(line) for line in output.splitlines()]
    assert status == 65
    assert [answer["id"] for answer in answers] == [1, None, 2, None]
    assert [claim["type"] for claim in answers[0]["claims"]] == ["done"]
    assert answers[2]["claims"] == []


def test_claims_as_text_are_plain() -> None:
    """The text output names the claims, or says that there are none."""
    assert run("claims", text="hello") == (0, "no claims\n")
    assert run("claims", text="All tests pass.")[1].startswith("done")


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    """Return a session with a request, an edit, commands and no claim yet."""
    scene = Scene(tmp_path, mode="shadow")
    scene.ask("Fix src/app.py and run `make verify`")
    scene.edit("src/app.py")
    scene.run("pytest -q; echo done", GREEN)
    scene.run("make verify")
    monkeypatch.setenv("VERDIKT_HOME", str(scene.store.home))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(scene.project)
    return scene


def ask(scene: Scene, validator: str, claim: str = "done", **arguments: str) -> tuple[int, str]:
    """Run `verdikt evidence validate`."""
    arguments = (
        "--session",
        scene.session,
        "--claim",
        claim,
        "--validator",
        validator,
        "--args",
        json.dumps(arguments),
    )
    return run("validate", *arguments)


def test_validate_ends_with_status_of_its_result(played: Scene) -> None:
    """PASS signs an entry; FAIL and REFUSED say why."""
    assert ask(played, "command_zero_exit", command_substring="make verify")[0] == 0
    assert played.entries(EntryKind.VALIDATOR_PASS)[-1].sig
    assert ask(played, "tests_pass") == (
        2,
        "FAIL tests_pass: the `;` hides the exit status of `pytest -q`; run it alone\n",
    )
    status, output = ask(played, "file_diff_present", path="src/other.py")
    assert (status, "does not match any contract.target_fields entry" in output) == (3, True)
    assert ask(played, "tests_pass", claim="blocked")[0] == 3
    assert ask(played, "nonsense")[0] == 3
    assert run("validate", "--session", "s1")[0] == 64
    assert run("validate", "--session", "s1", "--claim", "done", "--validator", "tests_pass", "--args", "[")[0] == 64


def test_signed_pass_counts_at_the_gate(played: Scene) -> None:
    """A pass of the validator command proves the claim at the gate."""
    ask(played, "file_diff_present", path="src/app.py")
    played.say("The change is in place.")

    assert played.last["result"] == "proven"


def test_contracts_report_and_explain_show_the_session(played: Scene) -> None:
    """They show what was asked, what would have been refused, and why."""
    played.edit("src/app.py", "x = 3\n")
    played.say("All tests pass.")

    assert "paths: src/app.py" in run("contracts")[1]
    report = json.loads(run("report", "--json")[1])
    assert report["results"] == {"would_refuse": 1}
    assert "refused (shadow)" in run("report")[1]
    story = run("explain", "s1")[1]
    assert "asked    Fix src/app.py" in story
    assert "(its exit status is hidden)" in story
    assert "stop     refused (shadow: the agent could stop)" in story
    assert run("explain", "unknown")[0] == 1


@pytest.mark.parametrize("words", [("contracts", "--session"), ("report", "--session"), ("explain",)])
def test_unknown_session_is_an_error(played: Scene, words: tuple[str, ...]) -> None:
    """An unknown session is an error, not an empty answer."""
    result = CliRunner().invoke(root, ["evidence", *words, "unknown"])

    assert (result.exit_code, type(result.exception).__name__) in ((1, "LedgerError"), (1, "SystemExit"))


def test_validate_of_unknown_session_is_refused(played: Scene) -> None:
    """The refusal says how to list the sessions."""
    arguments = ("--session", "unknown", "--claim", "done", "--validator", "tests_pass")

    code, output = run("validate", *arguments)
    assert (code, output.startswith("REFUSED tests_pass: no session `unknown` in `")) == (3, True)
    assert output.endswith("`verdikt ledger stats` lists them\n")
    assert json.loads(run("validate", *arguments, "--json")[1])["status"] == "refused"


def test_validate_help_names_every_validator_and_argument() -> None:
    """The help lists all validators and their arguments."""
    text = run("validate", "--help")[1]

    for name, validator in VALIDATORS.items():
        assert name in text
        assert all(argument in text for argument in validator.needs)


def test_pass_names_its_log_entry(played: Scene) -> None:
    """The number of the signed entry is printed."""
    status, output = ask(played, "command_zero_exit", command_substring="make verify")
    seq = played.entries(EntryKind.VALIDATOR_PASS)[-1].seq

    assert (status, f"signed as entry {seq}" in output) == (0, True)


def test_contracts_without_any_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log without contracts is reported as such."""
    scene = Scene(tmp_path)
    scene.run("ls")
    monkeypatch.setenv("VERDIKT_HOME", str(scene.store.home))

    assert run("contracts") == (0, "no contracts\n")


def test_report_by_project_counts_what_the_next_check_shows(played: Scene) -> None:
    """A refusal is right when the same sources turn out red; older stops can be left out."""
    played.edit("src/app.py", "x = 4\n")
    played.say("All tests pass.")
    played.run("pytest -q", "1 failed in 0.1s", 1)

    (project,) = json.loads(run("report", "--json")[1])["projects"]
    assert (project["project"], project["would_refuse"], project["refusals_right"]) == (str(played.project), 1, 1)
    assert "would refuse 1, of these 1 right, 0 wrong" in run("report")[1]
    assert json.loads(run("report", "--since", "1h", "--json")[1])["projects"] == []
    assert run("report", "--since", "soon")[0] == 2
