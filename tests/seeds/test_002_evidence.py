"""Seed 002, the evidence gate: contracts, claims, validators, the gate, overrides and crashes."""

import json
import re
from pathlib import Path

import pytest
import yaml

from tests.scene import GREEN, RED, Scene
from verdikt.evidence.validator_registry import VALIDATORS, validate
from verdikt.model.action import Action, ActionKind, Outcome
from verdikt.model.entry import EntryKind
from verdikt.model.hook_message import Prompt
from verdikt.prompts.contract import Contract, read_contract
from verdikt.turns.turn import TurnEvidence, read_turn

BEHAVIOUR = """
S2-001 S2-002 S2-003 S2-004 S2-005 S2-010 S2-011 S2-012 S2-013 S2-014 S2-020 S2-021 S2-022 S2-023 S2-024
S2-025 S2-030 S2-031 S2-040 S2-041 S2-042 S2-043 S2-044 S2-045 S2-046 S2-050 S2-051 S2-052 S2-060 S2-061
S2-062 S2-070 S2-071 S2-072 S2-073 S2-074 S2-080 S2-085 S2-090 S2-095 S2-100 S2-101 S2-102 S2-103 W2-1 W2-2
W2-3 W2-4 W2-5 W2-6 W2-7 W2-8 W2-9 W2-10 W2-11 W2-12
""".split()
"""Ids of the document that state behaviour, and the weaknesses it admits; each stands above a test."""

OUT_OF_SCOPE = {
    "S2-015": "when a client reads its settings is the client's",
    "S2-104": "how an agent keeps its notes is between it and its owner",
    "S2-110": "how many tests the seed's own system had",
    "W2-13": "a list that the seed lost",
}

SAMPLE = {"command_substring": "make verify", "keyword": "billing"}
CLAIMS = ("done", "blocked", "delegation")


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """Return a session under an enforcing gate."""
    return Scene(tmp_path)


@pytest.mark.parametrize("id", BEHAVIOUR)
def test_every_id_that_states_behaviour_is_above_a_test(id: str) -> None:
    """Each id of the document that states behaviour stands in the comment above a test."""
    files = Path(__file__).parent.glob("test_002_*.py")
    comments = re.findall(
        r"(?m)^ *# ((?:[SW]2-\d+|ruling \d+)(?:, .*)?)$", "\n".join(file.read_text() for file in files)
    )

    assert any(id in comment.split(", ") for comment in comments)
    assert id not in OUT_OF_SCOPE


# S2-001
def test_done_without_evidence_is_refused(scene: Scene) -> None:
    """No "done" without proof."""
    scene.ask("Fix the bug in src/app.py")
    scene.edit("src/app.py")

    answer = scene.say("Done. The bug is fixed.")

    assert not answer.allowed
    assert answer.guard == "evidence"


# S2-002
def test_a_proven_claim_is_signed_and_silent(scene: Scene) -> None:
    """The gate does the paperwork itself."""
    scene.ask("Fix the bug in src/app.py")
    scene.edit("src/app.py")
    scene.run("pytest -q", GREEN)

    answer = scene.say("Done. The bug is fixed and all tests pass.")

    passes = scene.entries(EntryKind.VALIDATOR_PASS)
    assert answer.allowed
    assert answer.reason == answer.context == ""
    assert passes
    assert all(
        entry.sig and scene.store.keyring.check_entry_signature(entry.kid, entry.hash, entry.sig, entry.ts) is None
        for entry in passes
    )


# S2-005
def test_attempts_and_uncertainty_may_always_be_reported(scene: Scene) -> None:
    """A message without a claim is allowed."""
    scene.ask("Fix the bug in src/app.py")
    scene.edit("src/app.py")

    assert scene.say("I changed nothing else. I have not verified the fix yet.").allowed
    assert scene.say("The tests have not been run, so I don't know whether it works.").allowed


# S2-010
def test_each_call_is_logged_with_its_evidence(scene: Scene) -> None:
    """Command, status, digest, start and end, files and counts."""
    written = scene.edit("a.py", "a = 1\n").body["evidence"]["written"]
    body = scene.run("cd api && pytest -q", GREEN).body

    assert [one["path"] for one in written] == [str(scene.project / "a.py")]
    assert len(written[0]["sha256"]) == 64
    assert [run["argv"] for run in body["evidence"]["runs"]] == [["cd", "api"], ["pytest", "-q"]]
    assert body["exit_code"] == 0
    assert body["streams"]["output"]["sha256"]
    assert body["evidence"]["tests"]["total"] == 42
    assert body["evidence"]["ended"] - body["evidence"]["started"] == 500_000


# S2-011
def test_an_action_prompt_makes_a_contract(scene: Scene) -> None:
    """Entry and file, with everything validators bind to."""
    scene.ask("Fix `parse()` in src/app.py, see https://example.com/i/1, then run `pytest -q tests/test_app.py`")

    entry = scene.entries(EntryKind.CONTRACT)[0]
    file = yaml.safe_load((scene.store.home / "contracts" / "s1" / f"{entry.seq}.yml").read_text())
    assert set(file["target_fields"]) == {"paths", "urls", "command_hints", "backtick_tokens", "keywords"}
    assert file["target_fields"]["paths"] == ["src/app.py", "tests/test_app.py"]
    assert file["target_fields"]["urls"] == ["https://example.com/i/1"]
    assert file["target_fields"]["command_hints"] == ["pytest -q tests/test_app.py"]
    assert file["intent"] == "actionable"
    assert file["capability_ladder"]
    assert file["expected_verification"] == ["tests_pass", "http_2xx"]


# S2-011
@pytest.mark.parametrize("text", ["Hello!", "What does this do?", "Thanks, great work", "Why is the build broken?"])
def test_a_greeting_or_a_question_makes_none(scene: Scene, text: str) -> None:
    """Nothing was asked for that could be done."""
    scene.ask(text)

    assert scene.entries(EntryKind.CONTRACT) == []


# S2-011
@pytest.mark.parametrize("text", ["the login is broken", "Look into the failing CI", "Behebe den Fehler in src/app.py"])
def test_a_prompt_without_an_action_verb_makes_one(scene: Scene, text: str) -> None:
    """An agent that then only says it is done is held to it."""
    scene.ask(text)

    assert len(scene.entries(EntryKind.CONTRACT)) == 1
    assert not scene.say("Fixed the login bug. All tests pass.").allowed


# S2-011
def test_what_is_asked_during_a_turn_extends_the_contract(scene: Scene) -> None:
    """And a new turn starts a new one."""
    scene.ask("Fix src/a.py")
    scene.ask("Also update src/b.py")
    both = scene.entries(EntryKind.CONTRACT)[-1].body
    scene.say("I have a question about the format.")
    scene.ask("Add src/c.py")

    assert both["target_fields"]["paths"] == ["src/a.py", "src/b.py"]
    assert both["extends"]
    assert scene.entries(EntryKind.CONTRACT)[-1].body["target_fields"]["paths"] == ["src/c.py"]


# S2-020
def test_a_ledger_fault_never_stands_in_the_way_of_a_tool(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be logged leaves a gap."""
    monkeypatch.setattr("verdikt.runs.logged_call.read_runs", _boom)

    action = Action(kind=ActionKind.BASH, tool="Bash", payload={"command": "ls"}, session_id=scene.session)
    scene.gov.after(action, Outcome(success=True, output="x", exit_code=0))

    assert [entry.kind for entry in scene.entries()] == [EntryKind.GAP]


def _boom(*args: object, **kwargs: object) -> object:
    raise RuntimeError("planted")


# S2-021, S2-061
@pytest.mark.parametrize(
    ("lines", "status", "allowed"),
    [
        (["garbage", "\x00\x01"], "unparseable", False),
        ([{"kind": "x", "role": "assistant"}, {"kind": "y", "role": "assistant"}], "schema_drift", False),
        (
            [{"type": "user", "message": {"content": "hi"}}, {"type": "assistant", "message": {"content": []}}],
            "ok",
            True,
        ),
    ],
)
def test_stop_is_allowed_or_refused_by_the_parse_status_of_the_message(
    scene: Scene, lines: list[object], status: str, allowed: bool
) -> None:
    """A message that cannot be read is refused; an empty one is allowed."""
    answer = scene.say(None, transcript_path=scene.transcript(*lines))

    assert answer.allowed is allowed
    assert scene.last["parse_status"] == status


# S2-021
def test_a_missing_transcript_is_unreadable_and_lets_go(scene: Scene) -> None:
    """A read error is no reason to hold anybody up."""
    assert scene.say(None, transcript_path="/nowhere/x.jsonl").allowed
    assert scene.last["parse_status"] == "unreadable"


# S2-022
def test_without_a_contract_validators_refuse() -> None:
    """Missing intake shows later."""
    proof = validate("tests_pass", "done", {}, read_turn(()))

    assert proof.status == "refused"
    assert "no contract" in proof.reason


# S2-023
def test_prompt_is_accepted_and_the_fault_recorded_when_intake_fails(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault in intake does not hold the prompt up, and is recorded."""
    monkeypatch.setattr("verdikt.evidence.gate_service.read_contract", _boom)

    assert scene.gov.prompt(Prompt(text="fix it", session_id="s1")).allowed
    assert (scene.store.home / "_hook_crashes.jsonl").exists()


# S2-025
def test_a_crash_in_the_gate_blocks_once(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Recorded, refused once, never a loop."""
    monkeypatch.setattr("verdikt.evidence.gate_service.read_claims", _boom)

    assert not scene.say("Done.").allowed
    assert scene.say("Done.").allowed
    assert scene.say("Done.", stop_hook_active=True).allowed
    assert (scene.store.home / "_hook_crashes.jsonl").exists()


# S2-025
def test_a_new_prompt_arms_it_again(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once in each turn, so that a gate that is broken does not stand open for the rest of the session."""
    monkeypatch.setattr("verdikt.evidence.gate_service.read_claims", _boom)
    first = [scene.say("Done.").allowed for _ in range(3)]
    scene.ask("Fix src/app.py")
    second = [scene.say("Done.").allowed for _ in range(3)]

    assert first == second == [False, True, True]


# S2-031
def test_an_argument_from_elsewhere_is_refused(scene: Scene) -> None:
    """Hard binding."""
    scene.ask("Fix src/app.py")
    scene.edit("src/other.py")

    proof = validate("file_diff_present", "done", {"path": "src/other.py"}, read_turn(scene.store.read_entries("s1")))

    assert proof.status == "refused"
    assert proof.reason == "validator arg path=src/other.py does not match any contract.target_fields entry"


# S2-042
def test_the_six_validators_exist_in_one_registry() -> None:
    """Name, claim and fields as the seed has them; keywords bind none of the three (S2-045)."""
    table = {name: (one.claim, one.binds) for name, one in VALIDATORS.items()}

    assert table["command_zero_exit"] == ("done", ("command_hints", "backtick_tokens", "paths"))
    assert table["pytest_pass"] == ("done", ("paths", "backtick_tokens"))
    assert table["file_diff_present"] == ("done", ("paths",))
    assert table["http_2xx"] == ("done", ("urls", "backtick_tokens"))
    assert table["fetch_attempt_proof"] == ("delegation", ("keywords",))
    assert table["ladder_exhaustion_proof"] == ("blocked", ())


# S2-042
def test_pytest_pass_counts_runs_of_its_target(scene: Scene) -> None:
    """As many green runs as are asked for, each of the target or of everything."""
    scene.ask("Fix the flaky test in tests/test_x.py")
    scene.edit("tests/test_x.py")
    wanted = {"target": "tests/test_x.py::test_y", "required_runs": "3"}
    for command in ("pytest tests/test_x.py", "pytest -q", "pytest tests/test_other.py"):
        scene.run(command, GREEN)
    two = scene.gov.evidence_gate.validate_claim("s1", "done", "pytest_pass", wanted)
    scene.run("pytest tests/test_x.py::test_y", "1 passed in 0.1s")

    assert two.reason == "2 of 3 green runs of pytest"
    assert scene.gov.evidence_gate.validate_claim("s1", "done", "pytest_pass", wanted).holds


# S2-043, W2-7
@pytest.mark.parametrize("path", ["a", "/", ".", "p", "py"])
def test_a_part_of_a_name_binds_nothing(scene: Scene, path: str) -> None:
    """Path segments and whole words, no substrings."""
    scene.ask("Fix src/app.py")

    assert (
        validate("file_diff_present", "done", {"path": path}, read_turn(scene.store.read_entries("s1"))).status
        == "refused"
    )


# S2-044
def test_words_of_the_objective_bind_only_when_nothing_is_named(scene: Scene) -> None:
    """The soft way is for contracts that name nothing at all."""
    nothing, something = Contract("fix it now"), Contract("fix it now", {"keywords": ("parser",)})

    def is_refused(contract: Contract, value: str) -> bool:
        arguments = {"command_substring": value}
        return validate("command_zero_exit", "done", arguments, TurnEvidence(contract=contract)).status == "refused"

    assert not is_refused(nothing, "fix everything")
    assert is_refused(nothing, "make verify")
    assert is_refused(something, "fix everything")


# S2-045
@pytest.mark.parametrize(
    ("validator", "argument"),
    [("command_zero_exit", "command_substring"), ("pytest_pass", "target"), ("http_2xx", "url")],
)
def test_a_keyword_binds_no_command_no_test_and_no_url(scene: Scene, validator: str, argument: str) -> None:
    """An unrelated command that holds a word of the objective proves nothing."""
    scene.ask("Fix the parser in src/app.py, then run `make verify`")
    turn = read_turn(scene.store.read_entries("s1"))

    assert "parser" in scene.entries(EntryKind.CONTRACT)[0].body["target_fields"]["keywords"]
    assert validate(validator, "done", {argument: "parser"}, turn).status == "refused"


# S2-046
def test_the_arguments_of_the_sample(scene: Scene) -> None:
    """`command_substring` and `keyword` must both be in the command that ran."""
    scene.ask("Run `make verify` for the billing service")
    scene.run("make verify SERVICE=accounts")
    wrong = scene.gov.evidence_gate.validate_claim("s1", "done", "command_zero_exit", SAMPLE)
    scene.run("make verify billing")

    assert wrong.status == "fail"
    assert scene.gov.evidence_gate.validate_claim("s1", "done", "command_zero_exit", SAMPLE).holds


# S2-046
def test_each_claim_names_its_validators_and_their_arguments() -> None:
    """What the seed kept as policy keys (validators by claim, least arguments, binding) is one row each."""
    by_claim = {claim: {one.name for one in VALIDATORS.values() if one.claim == claim} for claim in CLAIMS}

    assert by_claim["blocked"] == {"ladder_exhaustion_proof"}
    assert by_claim["delegation"] == {"fetch_attempt_proof"}
    assert {"command_zero_exit", "pytest_pass", "file_diff_present", "http_2xx"} < by_claim["done"]
    assert all(one.binds for one in VALIDATORS.values() if one.needs)


# W2-8
@pytest.mark.parametrize(
    "command",
    [
        "pytest || true",
        "true # pytest",
        "echo '42 passed in 1s'",
        "pytest --collect-only",
        "pytest | tail; echo '42 passed in 1s'",
        "pytest; echo ok",
    ],
)
def test_command_that_always_succeeds_proves_nothing(scene: Scene, command: str) -> None:
    """An exit status that would be 0 anyway proves nothing."""
    scene.ask("Fix src/app.py")
    scene.edit("src/app.py")
    scene.run(command, GREEN)

    assert not scene.say("All tests pass.").allowed


# W2-8
def test_summary_of_the_runner_counts_through_a_pipe(scene: Scene) -> None:
    """The pipe hides the status, but nothing else can have printed that line; it is marked as weaker."""
    scene.ask("Fix src/app.py")
    scene.edit("src/app.py")
    scene.run("pytest -q 2>&1 | tail -5", GREEN)

    assert scene.say("All tests pass.").allowed
    assert scene.entries(EntryKind.VALIDATOR_PASS)[-1].body["grade"] == "output"


# W2-8
def test_zero_tests_are_no_tests(scene: Scene) -> None:
    """Nothing ran, nothing is proven."""
    scene.ask("Fix src/app.py")
    scene.edit("src/app.py")
    scene.run("pytest -q -k nothing", "no tests ran in 0.01s")

    assert not scene.say("All tests pass.").allowed


# ruling 11
def test_test_run_before_the_last_edit_proves_nothing(scene: Scene) -> None:
    """A test run before the last edit proves nothing, one after it does; edits of documents do not matter."""
    scene.ask("Fix src/app.py")
    scene.edit("src/app.py")
    scene.run("pytest -q", GREEN)
    scene.edit("src/app.py", "x = 2\n")
    stale = scene.say("All tests pass.")
    scene.run("pytest -q", GREEN)
    scene.edit("NOTES.md", "notes")

    assert "`pytest -q` ran before `src/app.py` was changed" in stale.reason
    assert scene.say("All tests pass.").allowed


# S2-060
def test_a_refusal_is_short_and_says_what_would_prove_it(scene: Scene) -> None:
    """Claimed, missing, command; at most 12 lines."""
    scene.ask("Fix src/app.py, deploy it, and push")
    scene.edit("src/app.py")
    scene.edit("tests/test_app.py", "def test_x(): pass\n")

    reason = scene.say(
        "All tests pass. The build is green. I pushed it. The service is deployed. The linter is clean."
    ).reason

    assert len(reason.splitlines()) <= 12
    assert "claimed: “" in reason
    assert "missing: " in reason
    assert "prove it: pytest -q" in reason


def test_every_claim_of_a_sentence_is_held_against_the_log(scene: Scene) -> None:
    """A proof of one thing carries no other along."""
    scene.ask("Fix src/app.py")
    scene.edit("src/app.py")
    scene.run("ruff check .")

    answer = scene.say("I fixed the parser, all tests pass and lint is clean.")

    assert "missing: no test run in this turn" in answer.reason
    assert "linter run" not in answer.reason
    scene.run("pytest -q", GREEN)
    assert scene.say("I fixed the parser, all tests pass and lint is clean.").allowed


def test_what_rests_on_the_same_evidence_is_signed_once(scene: Scene) -> None:
    """One entry for each proof, with the words of all that rest on it."""
    scene.ask("Fix src/app.py")
    scene.edit("src/app.py")
    scene.run("pytest -q", GREEN)
    scene.say("Fixed. The parser is fixed. I also fixed the lexer. All tests pass.")

    (entry,) = scene.entries(EntryKind.VALIDATOR_PASS)
    assert entry.body["words"] == "Fixed; The parser is fixed; I also fixed the lexer; All tests pass"


@pytest.mark.parametrize(
    "command", ["black src/app.py", "git add src/app.py", "cp src/app.py /tmp/x.py", "wc -l src/app.py"]
)
def test_handling_a_file_does_not_run_it(scene: Scene, command: str) -> None:
    """Formatted, staged, copied, counted: nothing was tried out."""
    scene.ask("Fix src/app.py")
    scene.edit("src/app.py")
    scene.run(command)
    handled = scene.say("Fixed.")
    scene.run("python src/app.py")

    assert not handled.allowed
    assert scene.say("Fixed.").allowed


@pytest.mark.parametrize("message", ["I pushed the fix.", "Committed and pushed.", "The branch is merged."])
def test_a_commit_is_no_push(scene: Scene, message: str) -> None:
    """What is only here has not gone anywhere."""
    scene.ask("Fix src/app.py, commit and push")
    scene.edit("src/app.py")
    scene.run("pytest -q", GREEN)
    scene.run("git commit -am x")
    here = scene.say(message)
    scene.run("git push")

    assert "no push or merge in this turn" in here.reason
    assert "prove it: git push" in here.reason
    assert scene.say(message).allowed


def test_a_deployment_is_not_proven_by_any_command(scene: Scene) -> None:
    """Something must have gone out, or have answered."""
    scene.ask("Deploy the shop")
    scene.run("git add . && git commit -m x")
    nothing = scene.say("The shop is deployed.")
    scene.run("fly deploy")

    assert "nothing in this turn deployed, published or reached anything" in nothing.reason
    assert scene.say("The shop is deployed.").allowed


# S2-080
def test_paths_of_one_segment_relative_paths_and_long_backticks() -> None:
    """Everything a prompt names can be bound to."""
    long = "x" * 300
    contract = read_contract(f"Update /Makefile, /etc/hosts, src/foo.py and ./relative with `{long}`")

    assert contract is not None
    assert contract.target_fields["paths"] == ("/Makefile", "/etc/hosts", "./relative", "src/foo.py")
    assert contract.target_fields["backtick_tokens"] == (long,)


def test_loops_end_unproven_after_three_refusals(scene: Scene) -> None:
    """And the turn is never recorded as done."""
    scene.ask("Fix src/app.py")
    scene.edit("src/app.py")

    answers = [scene.say("The bug is fixed.", stop_hook_active=at > 0).allowed for at in range(4)]

    assert answers == [False, False, False, True]
    assert scene.last["result"] == "ended_unproven"


def test_new_evidence_starts_the_count_again(scene: Scene) -> None:
    """An agent that makes progress gets its refusals counted from the start."""
    scene.ask("Fix src/app.py")
    scene.edit("src/app.py")
    scene.say("Fixed.")
    scene.say("Fixed.")
    scene.run("pytest -q", RED, 1)
    scene.say("Fixed.")

    assert scene.last["refusals"] == 1


def test_stop_hook_active_that_is_not_ours_is_respected(scene: Scene) -> None:
    """When another hook sends the agent round, this one does not join in."""
    scene.ask("Fix src/app.py")
    scene.edit("src/app.py")

    assert scene.say("Fixed.", stop_hook_active=True).allowed
    assert scene.last["result"] == "ended_unproven"


def test_blocked_claim_needs_search_run_failure_and_another_attempt(scene: Scene) -> None:
    """A claim to be blocked needs a search, a run, a failure and another attempt."""
    scene.ask("Install the package and run the importer")
    first = scene.say("I'm blocked on the missing network.")
    scene.read("setup.cfg")
    scene.run("pip install x", "no network", 1)
    scene.run("uv pip install x", "no network", 1)

    assert not first.allowed
    assert scene.say("I'm blocked on the missing network.").allowed


def test_delegation_needs_three_real_attempts(scene: Scene) -> None:
    """Ask a person only for what could not be had."""
    scene.ask("Find out why the server fails and fix it")
    first = scene.say("Please send me the server log.")
    scene.run("ssh web1 cat /var/log/app.log", "", 255)
    scene.run("curl -f http://web1/logs", "", 22)
    scene.read("app.log", exists=False)

    assert "0 of 3 distinct ways that were tried and failed" in first.reason
    assert scene.say("Please send me the server log.").allowed


# W2-3
def test_shadow_records_and_lets_go(tmp_path: Path) -> None:
    """What it would have done is in the log."""
    scene = Scene(tmp_path, mode="shadow")
    scene.ask("Fix src/app.py")
    scene.edit("src/app.py")

    assert scene.say("Fixed.").allowed
    assert scene.last["result"] == "refused"
    assert scene.last["enforced"] is False


def test_gate_in_mode_off_reads_nothing(tmp_path: Path) -> None:
    """In the mode `off` no message is looked at."""
    scene = Scene(tmp_path, mode="off")
    scene.ask("Fix src/app.py")

    assert scene.say("Fixed.").allowed
    assert scene.entries(EntryKind.COMPLETION) == []


# S2-090
def test_users_add_validators_without_python(tmp_path: Path) -> None:
    """A command that must have succeeded since the last edit."""
    scene = Scene(tmp_path, more="  validators:\n    - {name: verified, command: make verify}\n")
    scene.ask("Fix src/app.py")
    scene.edit("src/app.py")
    scene.run("pytest -q", GREEN)
    first = scene.say("Fixed.")
    scene.run("make verify")

    assert "prove it: make verify" in first.reason
    assert scene.say("Fixed.").allowed


class TestPublicFailures:
    """Stories told by users, each as a test: the agent is told, does it right, and may stop."""

    def test_the_number_of_tests_shrank_between_two_green_runs(self, scene: Scene) -> None:
        """Tests that were deleted to get to green are missed."""
        scene.ask("Fix src/app.py")
        scene.run("pytest -q", "50 passed in 1.0s")
        scene.edit("src/app.py")
        scene.edit("tests/test_app.py", "# the failing tests are gone\n")
        scene.run("pytest -q", "42 passed in 1.0s")
        shrunk = scene.say("All tests pass.")
        scene.run("pytest -q", "51 passed in 1.0s")

        assert "`pytest -q` ran 42 tests, and 50 before: some are gone" in shrunk.reason
        assert scene.say("All tests pass.").allowed

    def test_it_shrank_since_an_earlier_turn(self, scene: Scene) -> None:
        """What was seen green is remembered for the session."""
        scene.ask("Fix src/app.py")
        scene.edit("src/app.py")
        scene.run("pytest -q", "50 passed in 1.0s")
        scene.say("All tests pass.")
        scene.ask("Fix src/b.py")
        scene.edit("src/b.py")
        scene.run("pytest -q", "49 passed in 1.0s")

        assert "ran 49 tests, and 50 before" in scene.say("All tests pass.").reason

    @pytest.mark.parametrize(
        "command", ["cat test-results.txt", "tail -5 build.log", "grep passed report.xml", "less out.txt"]
    )
    def test_an_old_results_file_was_read_as_new(self, scene: Scene, command: str) -> None:
        """Reading a report runs no tests."""
        scene.ask("Fix src/app.py")
        scene.edit("src/app.py")
        scene.run(command, GREEN)
        old = scene.say("All tests pass.")
        scene.run("pytest -q", GREEN)

        assert "no test run in this turn" in old.reason
        assert scene.say("All tests pass.").allowed

    @pytest.mark.parametrize(("command", "where"), [("pytest -q", "/srv/other"), ("cd /srv/other && pytest -q", "")])
    def test_the_wrong_build_was_verified(self, scene: Scene, command: str, where: str) -> None:
        """A run in another copy of the tree says nothing about this one."""
        scene.ask("Fix src/app.py")
        scene.edit("src/app.py")
        scene.run(command, GREEN, cwd=where)
        wrong = scene.say("All tests pass.")
        scene.run("pytest -q", GREEN)

        assert "ran in another tree than `src/app.py`" in wrong.reason
        assert scene.say("All tests pass.").allowed

    def test_the_wrong_page_was_looked_at(self, scene: Scene) -> None:
        """The deployment that answers is not the one that was asked for."""
        scene.ask("Deploy to https://shop.example.com/health")
        scene.run("./deploy.sh production", "ok")
        scene.fetch("https://staging.example.com/health")
        proof = scene.gov.evidence_gate.validate_claim(
            "s1", "done", "http_2xx", {"url": "https://shop.example.com/health"}
        )

        assert proof.reason == "no fetch of `https://shop.example.com/health`"

    def test_one_of_nine_features_was_checked(self, scene: Scene) -> None:
        """Everything that the request names must have been looked at."""
        names = [f"src/feature_{number}.py" for number in range(9)]
        scene.ask(f"Fix the bugs in {', '.join(names)}")
        scene.edit(names[0])
        scene.run("pytest -q", GREEN)
        one = scene.say("All nine features are fixed.")
        for name in names[1:]:
            scene.edit(name)
        scene.run("pytest -q", GREEN)

        assert "nothing was done about `src/feature_1.py`" in one.reason
        assert scene.say("All nine features are fixed.").allowed

    @pytest.mark.parametrize(
        ("command", "message", "missing"),
        [
            ("pytest -q tests/test_one.py", "All tests pass.", "ran a part of the tests, and all are claimed"),
            ("pytest -q -k one", "The full test suite passes.", "ran a part of the tests, and all are claimed"),
            ("go test ./one", "All tests pass.", "ran a part of the tests, and all are claimed"),
            ("npx jest src/one.test.ts", "All tests are green.", "ran a part of the tests, and all are claimed"),
            ("pytest -q", "All 420 tests pass.", "ran 42 tests, and 420 are claimed"),
        ],
    )
    def test_one_test_was_run_and_all_were_claimed(
        self, scene: Scene, command: str, message: str, missing: str
    ) -> None:
        """A part is not the whole, and a number is a number."""
        scene.ask("Fix src/app.py")
        scene.edit("src/app.py")
        outputs = {"go": "ok  \tx/one\t0.1s", "npx": "Tests:       9 passed, 9 total"}
        scene.run(command, outputs.get(command.split(maxsplit=1)[0], GREEN))

        assert missing in scene.say(message).reason

    @pytest.mark.parametrize(
        "message", ["All 42 tests pass.", "The new tests pass.", "Fixed. 42 passed.", "The bug is fixed."]
    )
    def test_a_part_is_enough_for_what_claims_no_more(self, scene: Scene, message: str) -> None:
        """A small claim does not need a run of everything."""
        scene.ask("Fix src/app.py")
        scene.edit("src/app.py")
        scene.run("pytest -q tests/test_app.py", GREEN)

        assert scene.say(message).allowed

    @pytest.mark.parametrize(
        "tick", ["- [x] Add rate limiting to the login endpoint", "✅ Rate limiting added", "1. [X] Rate limiting"]
    )
    def test_a_todo_was_ticked_without_work(self, scene: Scene, tick: str) -> None:
        """A tick is a claim."""
        scene.ask("Add rate limiting to src/login.py")
        ticked = scene.say(tick)
        scene.edit("src/login.py")
        scene.run("pytest -q", GREEN)

        assert "nothing was done about `src/login.py`" in ticked.reason
        assert scene.say(tick).allowed

    def test_a_placeholder_receipt_was_accepted(self, tmp_path: Path) -> None:
        """What is named as proof must be a signed entry of this session."""
        scene = Scene(tmp_path, more="  final_block: enforce\n")
        scene.ask("Deploy the service to https://example.com")
        scene.fetch("https://example.com")
        block = {"type": "done", "summary": "deployed", "claims": [{"claim_type": "done", "ledger_entry_id": "TBD"}]}
        placeholder = scene.say(f"The service is deployed.\n\n```verdikt_final\n{json.dumps(block)}\n```\n")
        signed = scene.entries(EntryKind.VALIDATOR_PASS)[-1].seq
        block["claims"] = [{"claim_type": "done", "ledger_entry_id": signed}]

        assert "expected a signed entry of this session, found `TBD`" in placeholder.reason
        assert scene.say(f"The service is deployed.\n\n```verdikt_final\n{json.dumps(block)}\n```\n").allowed

    def test_the_loop_guard_was_reset_by_a_cosmetic_edit(self, scene: Scene) -> None:
        """Progress is measured on evidence, not on words or edits; the turn ends unproven, never as done."""
        scene.ask("Fix src/app.py")
        answers = []
        for at in range(4):
            scene.edit("src/app.py", f"x = 1{' ' * at}\n")
            scene.run("black src/app.py")
            scene.run("ls -la")
            answers.append(scene.say(f"The bug is fixed, version {at}.").allowed)

        assert answers == [False, False, False, True]
        assert scene.last["result"] == "ended_unproven"
        assert scene.entries(EntryKind.VALIDATOR_PASS) == []

    def test_a_failure_that_was_there_before_does_not_loop_for_ever(self, scene: Scene) -> None:
        """The work is not blamed for it."""
        scene.ask("Fix src/app.py")
        scene.run("pytest -q", RED, 1)
        scene.edit("src/app.py")
        scene.run("pytest -q", RED, 1)

        assert scene.say("I fixed the parser. The same 2 tests fail as before my change.").allowed
        assert scene.last["result"] == "proven"

    def test_a_failure_of_ones_own_is_not_one_that_was_there_before(self, scene: Scene) -> None:
        """More failures than before, or none before, are the work's."""
        scene.ask("Fix src/app.py")
        scene.run("pytest -q", "1 failed, 41 passed in 1s", 1)
        scene.edit("src/app.py")
        scene.run("pytest -q", RED, 1)

        assert "`pytest -q` failed: 2 of 42 tests" in scene.say("I fixed the parser.").reason

    def test_nor_does_the_claim_that_it_is_gone(self, scene: Scene) -> None:
        """Who says all is green is refused three times, and then ends unproven."""
        scene.ask("Fix src/app.py")
        scene.run("pytest -q", RED, 1)
        scene.edit("src/app.py")
        answers = []
        for at in range(4):
            scene.run("pytest -q", RED, 1)
            answers.append(scene.say("All tests pass.", stop_hook_active=at > 0).allowed)

        assert answers == [False, False, False, True]
        assert scene.last["result"] == "ended_unproven"


def test_coverage_names_tool_uses_without_a_decision(tmp_path: Path) -> None:
    """A hole in the log is no ground for a proof, when so configured."""
    scene = Scene(tmp_path, more="  coverage: enforce\n")
    scene.ask("Fix src/app.py")
    scene.edit("src/app.py")
    scene.run("pytest -q", GREEN)
    uses = [{"type": "tool_use", "id": name, "name": "Bash"} for name in ("t1", "t2", "t9")]
    path = scene.transcript(
        {"type": "user", "message": {"content": "Fix src/app.py"}},
        {"type": "assistant", "message": {"content": [*uses, {"type": "text", "text": "All tests pass."}]}},
    )

    answer = scene.say(None, transcript_path=path)

    assert scene.last["holes"] == ["Bash t9"]
    assert "no decision in the log: Bash t9" in answer.reason


def test_coverage_knows_what_was_decided_before_the_agent_was_sent_round(tmp_path: Path) -> None:
    """A turn that goes on without a new prompt has no holes where it began."""
    scene = Scene(tmp_path, more="  coverage: enforce\n")
    scene.ask("Fix src/app.py")
    scene.edit("src/app.py")
    scene.say("Looking at it.")
    scene.run("pytest -q", GREEN)
    uses = [{"type": "tool_use", "id": name, "name": "Bash"} for name in ("t1", "t2", "t9")]
    path = scene.transcript(
        {"type": "user", "message": {"content": "Fix src/app.py"}},
        {"type": "assistant", "message": {"content": [*uses, {"type": "text", "text": "All tests pass."}]}},
    )

    scene.say(None, transcript_path=path)

    assert scene.last["holes"] == ["Bash t9"]


@pytest.mark.parametrize("word", ["go on", "Yes, continue.", "ok"])
def test_what_was_done_before_the_person_said_go_on_is_not_undone(scene: Scene, word: str) -> None:
    """The files that the request names may have been touched before; the checks are those of this turn."""
    scene.ask("Fix src/app.py and src/util.py")
    scene.edit("src/app.py")
    scene.edit("src/util.py")
    scene.say("Shall I run the tests?")
    scene.ask(word)
    unchecked = scene.say("Both bugs are fixed.")
    scene.run("pytest -q", GREEN)

    assert not unchecked.allowed
    assert scene.say("Both bugs are fixed.").allowed


def test_another_request_starts_with_nothing_done(scene: Scene) -> None:
    """What a request names has to be touched after it was made."""
    scene.ask("Fix src/app.py")
    scene.edit("src/app.py")
    scene.run("pytest -q", GREEN)
    scene.say("Fixed.")
    scene.ask("Now fix src/app.py for Windows too")
    scene.run("pytest -q", GREEN)

    assert "nothing was done about `src/app.py`" in scene.say("Fixed.").reason


def test_a_parent_cannot_rest_on_a_sub_agents_unproven_claim(tmp_path: Path) -> None:
    """Until it has checked for itself."""
    parent = Scene(tmp_path)
    parent.ask("Fix src/app.py")
    parent.edit("src/app.py")
    parent.run("pytest -q", GREEN)
    child = Scene(tmp_path, session="s1.a1")
    child.edit("src/app.py")
    gated = child.say("Fixed.", agent="a1", raw={"session_id": "s1", "agent_id": "a1"})
    first = parent.say("All tests pass.")
    parent.run("pytest -q", GREEN)

    assert not gated.allowed
    assert "sub-agent" in first.reason
    assert parent.say("All tests pass.").allowed


def test_a_parent_may_rest_on_what_a_sub_agent_proved(tmp_path: Path) -> None:
    """Signed into its own log, and stale when the sources change."""
    parent = Scene(tmp_path)
    parent.ask("Fix src/app.py")
    child = Scene(tmp_path, session="s1.a1")
    child.edit("src/app.py")
    child.run("pytest -q", GREEN)
    told = {"agent": "a1", "raw": {"session_id": "s1", "agent_id": "a1"}}
    child.say("All tests pass.", **told)
    first = parent.say("All tests pass.")
    parent.ask("Fix src/app.py again")
    child.edit("src/app.py", "x = 2\n")
    child.run("pytest -q", GREEN)
    child.say("All tests pass.", **told)
    (parent.project / "src" / "app.py").write_text("x = 3\n")

    assert child.last["result"] == "proven"
    assert first.allowed
    assert not parent.say("All tests pass.").allowed


# S2-062
def test_a_huge_transcript_is_read_from_its_end(scene: Scene) -> None:
    """Bounded, and by parse status, never by size (S2-062)."""
    path = scene.project.parent / "big.jsonl"
    filler = json.dumps({"type": "assistant", "message": {"content": "x" * 100_000}}) + "\n"
    with path.open("w") as file:
        for _ in range(300):
            file.write(filler)
        file.write(json.dumps({"type": "user", "message": {"content": "Fix src/app.py"}}) + "\n")
        file.write(
            json.dumps({"type": "assistant", "message": {"content": [{"type": "text", "text": "Hello."}]}}) + "\n"
        )
        file.write('{"type": "assistant", "message": {"cont')

    assert scene.say(None, transcript_path=str(path)).allowed
    assert scene.last["parse_status"] == "ok"


# S2-003, S2-013, S2-052
def test_overrides_are_audited_and_never_obeyed(tmp_path: Path) -> None:
    """Three in a day leave a note, once."""
    memory = tmp_path / "memory" / "MEMORY.md"
    scene = Scene(tmp_path, more=f"  memory: {memory}\n  notices: {tmp_path}/notices.txt\n")
    for text in ("Fix src/a.py and skip the tests", "just force this", "ignore the evidence gate", "bypass the hooks"):
        scene.ask(text)

    assert len(scene.entries(EntryKind.OVERRIDE)) == 4
    assert len((scene.store.home / "overrides" / "s1.jsonl").read_text().splitlines()) == 4
    assert memory.read_text().count("feedback_override_pattern.md") == 1
    assert len((memory.parent / "feedback_override_pattern.md").read_text().splitlines()) == 1
    assert (scene.store.home / "overrides" / "_breach_marker.json").exists()
    scene.edit("src/a.py")
    assert not scene.say("Fixed.").allowed


# S2-014, S2-024, S2-052
def test_crashes_have_a_threshold_for_each_hook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three in an hour leave a note of their own, once a day; without a memory file nothing is written."""
    memory = tmp_path / "memory" / "MEMORY.md"
    scene = Scene(tmp_path, more=f"  memory: {memory}\n")
    monkeypatch.setattr("verdikt.evidence.gate_service.read_contract", _boom)
    for _ in range(4):
        scene.ask("fix it")

    assert (memory.parent / "feedback_hook_crash_prompt.md").read_text().count("crashed 3 times") == 1
    assert "feedback_hook_crash_prompt.md" in memory.read_text()
    assert "prompt" in json.loads((scene.store.home / "_hook_crash_breach.json").read_text())


# W2-10
def test_a_gap_in_the_log_is_told(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """What could not be logged proves nothing, and the agent hears why its check does not count."""
    scene.ask("Fix src/app.py")
    scene.edit("src/app.py")
    action = Action(kind=ActionKind.BASH, tool="Bash", payload={"command": "pytest -q"}, session_id="s1")
    with monkeypatch.context() as broken:
        broken.setattr("verdikt.runs.logged_call.read_runs", _boom)
        scene.gov.after(action, Outcome(success=True, output=GREEN, exit_code=0))

    assert "1 call could not be logged: run the check again" in scene.say("All tests pass.").reason


@pytest.mark.parametrize("words", ["the /login route", "the client/server handshake", "reading and/or writing"])
def test_what_only_looks_like_a_path_is_not_missed(scene: Scene, words: str) -> None:
    """A request about a route is not a request about a file."""
    scene.ask(f"Fix {words}")
    scene.edit("src/app.py")
    scene.run("pytest -q", GREEN)

    assert scene.say("The bug is fixed.").allowed


def test_documents_and_operations_are_work_too(scene: Scene) -> None:
    """What no test could be about is proven by its own trace."""
    scene.ask("Update README.md")
    scene.edit("README.md", "new")
    document = scene.say("Updated the README.")
    scene.ask("Create the bucket")
    nothing = scene.say("I created the bucket.")
    scene.run("aws s3 mb s3://logs")

    assert document.allowed
    assert not nothing.allowed
    assert scene.say("I created the bucket.").allowed
