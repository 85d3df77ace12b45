"""The gate on played turns, where a small slip would let something through or refuse too much."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.scene import GREEN, RED, Scene
from verdikt.hosts.host_decision import HostDecision
from verdikt.model.action import ActionKind
from verdikt.model.entry import EntryKind
from verdikt.prompts.contract import extend_contract, read_contract


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """Return a scene with the gate enforced."""
    return Scene(tmp_path)


def test_turn_is_refused_at_most_twelve_times(scene: Scene) -> None:
    """New evidence each time does not extend a turn for ever."""
    scene.ask("Fix src/app.py")
    scene.edit("src/app.py")
    answers = []
    for at in range(13):
        scene.run(f"make step{at}", "", 1)
        answers.append(scene.say("All tests pass.", stop_hook_active=at > 0).allowed)

    assert answers == [False] * 12 + [True]
    assert scene.last["result"] == "ended_unproven"


def test_dry_run_does_not_reset_refusals(scene: Scene) -> None:
    """Listing the tests shows nothing new."""
    scene.ask("Fix src/app.py")
    scene.edit("src/app.py")
    scene.say("Fixed.")
    scene.run("pytest --collect-only", "42 tests collected in 0.1s")
    scene.say("Fixed.")

    assert scene.last["refusals"] == 2


def test_mcp_answer_resets_refusals(scene: Scene) -> None:
    """A call over MCP may show something new."""
    scene.ask("Fix src/app.py")
    scene.edit("src/app.py")
    scene.say("Fixed.")
    scene._call(ActionKind.MCP, "mcp__ci__status", {"run": "7"}, output="red", status=0)
    scene.say("Fixed.")

    assert scene.last["refusals"] == 1


def test_claims_about_unrequested_edits_need_proof(scene: Scene) -> None:
    """Code was changed and is said to work, whatever the prompt was."""
    scene.ask("What does src/app.py do?")
    scene.edit("src/app.py")

    assert not scene.say("Fixed.").allowed


def test_partial_test_run_does_not_cover_another_named_file(scene: Scene) -> None:
    """Only a full run covers the file that the request names."""
    scene.ask("Fix src/app.py so that tests/test_app.py passes")
    scene.edit("src/app.py")
    scene.run("pytest tests/test_other.py", GREEN)

    assert "nothing was done about `tests/test_app.py`" in scene.say("The bug is fixed.").reason


def test_push_proves_a_commit(scene: Scene) -> None:
    """What is not committed cannot be pushed."""
    scene.ask("Commit src/app.py and push it")
    scene.edit("src/app.py")
    scene.run("git push origin main")

    assert scene.say("Committed.").allowed


def test_copying_files_does_not_prove_a_deployment(scene: Scene) -> None:
    """Moving files on the machine publishes nothing."""
    scene.ask("Deploy the service with src/app.py")
    scene.edit("src/app.py")
    scene.run("cp src/app.py dist/app.py")

    assert not scene.say("Deployed.").allowed


def test_validated_linter_does_not_prove_tests(scene: Scene) -> None:
    """An explicit validation counts only for what it is about."""
    scene.ask("Fix src/app.py and run the linter")
    scene.edit("src/app.py")
    scene.run("ruff check .", "All checks passed!")
    assert scene.gov.evidence_gate.validate_claim("s1", "done", "lint_clean", {}).holds

    assert not scene.say("All tests pass.").allowed
    assert scene.say("The linter is clean.").allowed


def test_refusal_about_a_document_suggests_no_command(scene: Scene) -> None:
    """Tests would not show that it was written."""
    scene.ask("Update docs/guide.md")
    refused = scene.say("I updated the guide.")

    assert "nothing was done about `docs/guide.md`" in refused.reason
    assert "prove it" not in refused.reason


def test_refusal_gives_the_most_specific_reason(scene: Scene) -> None:
    """A failed check says more than one that never ran."""
    scene.ask("Fix src/app.py")
    scene.edit("src/app.py")
    scene.run("make build", "error", 2)

    assert "`make build` failed" in scene.say("Fixed.").reason


def test_refusal_suggests_the_requested_command(scene: Scene) -> None:
    """The request's own command comes first."""
    scene.ask("Fix src/app.py, then run `make test`")
    scene.edit("src/app.py")

    assert "prove it: make test" in scene.say("All tests pass.").reason


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("pytest -q", "3 passed, 1 failed in 0.1s"),
        ("pytest -q", "no tests ran in 0.01s"),
        ("pytest -q --collect-only", GREEN),
        ("pytest -q", ""),
        ("PYTEST_ADDOPTS=--collect-only pytest -q", GREEN),
        ("make -n test", GREEN),
        ("ctest -N", "100% tests passed, 0 tests failed out of 3"),
        ("./gradlew test -x test", "> Task :test\n\nBUILD SUCCESSFUL in 3s"),
        ("./pytest -q", GREEN),
        ("cargo test parser", "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured"),
    ],
    ids=[
        "one failed, whatever the status",
        "none ran",
        "a dry run",
        "no count",
        "dry by its environment",
        "make that only prints",
        "ctest that only lists",
        "gradle without its tests",
        "a file that is called like a runner",
        "a part of them",
    ],
)
def test_exit_status_zero_without_test_count_is_no_proof(scene: Scene, command: str, output: str) -> None:
    """Wrappers and plug-ins may end with 0 whatever happened."""
    scene.ask("Fix src/app.py")
    scene.edit("src/app.py")
    scene.run(command, output, 0)

    assert not scene.say("All tests pass.").allowed


def test_looking_command_proves_nothing(scene: Scene) -> None:
    """Even when its words are those of the request."""
    scene.ask("Fix src/app.py; `make verify` must pass")
    scene.edit("src/app.py")
    scene.run("echo make verify")

    assert not scene.gov.evidence_gate.validate_claim(
        "s1", "done", "command_zero_exit", {"command": "make verify"}
    ).holds


@pytest.mark.parametrize(("status", "proven"), [(200, True), (204, True), (301, False), (304, False), (500, False)])
def test_redirect_is_no_proof_of_a_page(scene: Scene, status: int, proven: bool) -> None:
    """Only a 2xx status counts."""
    scene.ask("Verify that https://example.com/health answers")
    scene.run("curl -i https://example.com/health", f"HTTP/1.1 {status} X", 0)

    assert (
        scene.gov.evidence_gate.validate_claim("s1", "done", "http_2xx", {"url": "https://example.com/health"}).holds
        is proven
    )


def test_failed_write_is_no_edit(scene: Scene) -> None:
    """The file is as it was."""
    scene.ask("Fix src/app.py")
    path = str(scene.project / "src/app.py")
    scene._call(ActionKind.WRITE, "Write", {"file_path": path, "content": "x"}, status=1)

    assert not scene.gov.evidence_gate.validate_claim("s1", "done", "file_diff_present", {"path": "src/app.py"}).holds


def test_single_test_does_not_cover_its_file(scene: Scene) -> None:
    """`-k` and `::` select some tests only."""
    scene.ask("Fix tests/test_app.py")
    scene.edit("tests/test_app.py")
    scene.run("pytest tests/test_app.py::test_one", GREEN)
    target = {"target": "tests/test_app.py"}

    assert not scene.gov.evidence_gate.validate_claim("s1", "done", "pytest_pass", target).holds
    scene.run("pytest tests/test_app.py", GREEN)
    assert scene.gov.evidence_gate.validate_claim("s1", "done", "pytest_pass", target).holds


@pytest.mark.parametrize(
    ("before", "after", "allowed"),
    [
        (RED, RED, True),
        (RED, "===== 3 failed, 39 passed in 1.20s =====", False),
        (RED, "===== 2 failed, 1 passed in 1.20s =====", False),
        ("===== 2 failed in 1.20s =====", "===== 2 failed in 1.20s =====", False),
    ],
    ids=["as before", "worse", "fewer tests", "nothing passes"],
)
def test_preexisting_failure_excuses_only_itself(scene: Scene, before: str, after: str, allowed: bool) -> None:
    """The work did not break what was broken, and may not hide behind it."""
    scene.ask("Fix the typo in src/app.py")
    scene.run("pytest -q", before, 1)
    scene.edit("src/app.py")
    scene.run("pytest -q", after, 1)

    assert scene.say("The typo is fixed.").allowed is allowed


def test_preexisting_failure_must_be_run_again_after_the_edit(scene: Scene) -> None:
    """A run before the edit says nothing about the edit."""
    scene.ask("Fix the typo in src/app.py")
    scene.run("pytest -q", RED, 1)
    scene.edit("src/app.py")
    scene.run("pytest -q", RED, 1)
    scene.edit("src/app.py", "x = 2\n")

    assert not scene.say("The typo is fixed.").allowed


@pytest.mark.parametrize("prompt", ["Did you fix the tests?", "How do I run the tests?", "hello", "thanks!"])
def test_claim_is_judged_whatever_the_prompt_was(scene: Scene, prompt: str) -> None:
    """Nothing ran, so nothing shows that the tests pass; a question makes no contract, but excuses no claim."""
    scene.ask(prompt)

    assert not scene.say("All tests pass.").allowed
    assert scene.entries(EntryKind.CONTRACT) == []


def test_long_prompt_is_no_continuation(scene: Scene) -> None:
    """Only a short prompt continues the last request."""
    scene.ask("Fix src/app.py")
    scene.edit("src/app.py")
    scene.run("pytest -q", GREEN)
    scene.say("Fixed.")
    scene.ask("ok " + "and thank you very much for all of that work " * 4)

    assert scene.say("Fixed.").allowed


def test_undecided_call_is_only_noted_by_default(scene: Scene) -> None:
    """Without enforced coverage it is recorded, and the proof stands."""
    scene.ask("Fix src/app.py")
    scene.edit("src/app.py")
    scene.run("pytest -q", GREEN)
    use = {"type": "tool_use", "id": "t9", "name": "Bash"}
    text = {"type": "text", "text": "All tests pass."}
    path = scene.transcript({"type": "assistant", "message": {"content": [use, text]}})

    assert scene.say(None, transcript_path=path).allowed
    assert (scene.last["result"], scene.last["holes"]) == ("proven", ["Bash t9"])


def test_run_of_a_namesake_does_not_exercise_an_edit(scene: Scene) -> None:
    """`io.js` is another file than `io.py`."""
    scene.ask("Fix src/io.py")
    scene.edit("src/io.py")
    scene.run("node io.js")

    assert not scene.say("Fixed.").allowed


def test_refusal_suggests_the_projects_own_check(scene: Scene) -> None:
    """It comes before what is usual for the language."""
    (scene.project / ".git").mkdir()
    (scene.project / "Makefile").write_text("check:\n\tpytest\n")
    scene.ask("Fix src/app.py")
    scene.edit("src/app.py")

    assert "prove it: make check" in scene.say("All tests pass.").reason


def test_dry_run_of_the_requested_command_proves_nothing(scene: Scene) -> None:
    """Listing what would run is not running it."""
    scene.ask("Run `pytest` after fixing src/app.py")
    scene.edit("src/app.py")
    scene.run("pytest --collect-only", "42 tests collected")

    assert not scene.gov.evidence_gate.validate_claim("s1", "done", "command_zero_exit", {"command": "pytest"}).holds


def test_command_hint_ends_before_english_words() -> None:
    """A later request adds to what verifies the work."""
    first, more = read_contract("Run npm test and then stop"), read_contract("Also build it and fix the lint errors")

    assert first is not None
    assert more is not None
    assert first.get_targets("command_hints") == ("npm test",)
    assert extend_contract(first, more).verification == ("tests_pass", "build_passes", "lint_clean")


def test_files_written_by_a_test_run_make_nothing_stale(scene: Scene) -> None:
    """Reports that the run wrote are its own."""
    scene.ask("Fix src/app.py")
    scene.edit("src/app.py")
    scene.run("pytest -q --junitxml=out/report.xml > out/log.txt", GREEN)
    scene.run("pytest -q", GREEN)

    assert scene.say("All tests pass.").allowed


def test_requested_command_goes_stale_after_an_edit(scene: Scene) -> None:
    """It must have succeeded since the last edit."""
    scene.ask("Fix src/app.py; `make verify` must pass")
    scene.edit("src/app.py")
    scene.run("make verify")
    wanted = {"command": "make verify"}
    assert scene.gov.evidence_gate.validate_claim("s1", "done", "command_zero_exit", wanted).holds
    scene.edit("src/app.py", "x = 2\n")

    assert "ran before" in scene.gov.evidence_gate.validate_claim("s1", "done", "command_zero_exit", wanted).reason


def test_gate_without_access_to_files_decides_by_the_log(scene: Scene) -> None:
    """Nothing crashes without permission to read the project."""

    @contextmanager
    def not_for_you(path: str) -> Iterator[None]:
        raise PermissionError(path)
        yield

    scene.gov.path_access = not_for_you
    scene.ask("Fix src/app.py")
    scene.edit("src/app.py")
    answer = scene.say("Fixed.")

    assert (answer.allowed, answer.guard) == (False, "evidence")
    assert not (scene.gov.store.home / "_hook_crashes.jsonl").exists()


@pytest.mark.parametrize(
    "message",
    [
        "I changed src/app.py. I have not run the tests.",
        "Updated src/app.py; the change is not verified.",
        "Added the check to src/app.py.\n\nNot verified: no tests were run.",
        "I implemented it in src/app.py without running the suite.",
        "I've renamed the field in src/app.py, untested.",
        "I edited src/app.py. The tests were not run.",
        "Fixed. I have not run the tests.",
        "It works now, untested.",
    ],
)
def test_disclaimer_with_an_edit_is_accepted(scene: Scene, message: str) -> None:
    """The refusal tells the agent to say so, and the edit proves that a file was changed."""
    scene.ask("Set x in src/app.py")
    scene.edit("src/app.py")

    assert not scene.say("I changed src/app.py.").allowed
    assert scene.say(message, stop_hook_active=True).allowed


@pytest.mark.parametrize(
    "message",
    [
        "I changed src/app.py and all tests pass. Not verified.",
        "I added the job to src/app.py. It is not run on weekends.",
        "I changed src/app.py. The docs say `not verified`.",
        "Changed src/app.py and committed it. I have not run the tests.",
    ],
)
def test_disclaimer_proves_no_other_claim(scene: Scene, message: str) -> None:
    """A success, a check or a commit needs its own proof, and only words about checking are a disclaimer."""
    scene.ask("Set x in src/app.py")
    scene.edit("src/app.py")

    assert not scene.say(message).allowed


def test_disclaimer_without_an_edit_proves_nothing(scene: Scene) -> None:
    """Nothing was changed at all."""
    scene.ask("Set x in src/app.py")
    assert not scene.say("I changed src/app.py. I have not run the tests.").allowed


def test_disclaimer_does_not_replace_a_custom_validator(tmp_path: Path) -> None:
    """A user's validator is required of every claim."""
    scene = Scene(tmp_path, more="  validators:\n    - {name: a, command: make acceptance, about: it is accepted}\n")
    scene.ask("Set x in src/app.py")
    scene.edit("src/app.py")

    assert not scene.say("I changed src/app.py. I have not run the tests.").allowed


def test_person_is_told_when_a_turn_ends_unproven(tmp_path: Path) -> None:
    """The last stop is allowed, and says what nothing proves; in shadow mode it is only recorded."""
    scene, shadow = Scene(tmp_path / "a"), Scene(tmp_path / "b", mode="shadow")
    for played in (scene, shadow):
        played.ask("Fix src/app.py")
        played.edit("src/app.py")
    answers = [scene.say("All tests pass.", stop_hook_active=at > 0) for at in range(4)]

    assert answers[-1].allowed
    assert answers[-1].notice == "this turn ended unproven: “All tests pass” (no test run in this turn)"
    assert HostDecision.from_answer(answers[-1]).context == f"[verdikt] {answers[-1].notice}"
    assert shadow.say("All tests pass.").notice == ""


def test_unread_message_leaves_a_note_about_unchecked_sources(scene: Scene) -> None:
    """A language that cannot be read is no way past the facts: they are noted, and nothing is refused."""
    scene.ask("Fix src/app.py")
    scene.edit("src/app.py")

    assert scene.say("Qapla' batlh je.").allowed
    assert scene.last["note"] == "`src/app.py` was changed after the last check"
