"""Each validator: what holds, what does not, and why."""

from pathlib import Path

import pytest

from tests.scene import GREEN, RED, Scene
from verdikt.evidence.validator import Proof
from verdikt.evidence.validator_registry import validate

PROMPT = "Fix src/app.py, run `make verify`, check https://example.com/health and commit"


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """Return a turn with a contract and one edit."""
    scene = Scene(tmp_path)
    scene.ask(PROMPT)
    scene.edit("src/app.py")
    return scene


def run_validation(scene: Scene, name: str, claim: str = "done", **arguments: str) -> Proof:
    """Return the validator's answer on the present turn."""
    state = scene.store.read_projection("evidence", scene.session)
    return validate(name, claim, arguments, scene.gov.evidence_gate.turns.load_turn(scene.session, state))


PASSES = [
    ("tests_pass", {}, [("pytest -q", GREEN, 0)]),
    ("tests_pass", {}, [("go test ./...", "ok  \texample.com/a\t0.01s", 0)]),
    ("tests_pass", {}, [("npm test", "Tests:       9 passed, 9 total", 0)]),
    ("tests_pass", {}, [("make test", "Ran 5 tests in 0.1s\n\nOK", 0)]),
    ("pytest_pass", {"path": "src/app.py"}, [("pytest -q", GREEN, 0)]),
    ("build_passes", {}, [("npm run build", "", 0)]),
    ("build_passes", {}, [("cargo build --release", "", 0)]),
    ("lint_clean", {}, [("ruff check . && mypy src", "", 0)]),
    ("commit_exists", {}, [("git add -A && git commit -m 'x'", "", 0)]),
    ("command_zero_exit", {"command_substring": "make verify"}, [("make verify", "", 0)]),
    ("http_2xx", {"url": "https://example.com/health"}, [("curl -i https://example.com/health", "HTTP/2 204", 0)]),
    ("file_diff_present", {"path": "src/app.py"}, []),
    ("file_diff_present", {"path": "app.py"}, []),
]
FAILS = [
    ("tests_pass", {}, [("pytest -q", RED, 1)], "failed: 2 of 42 tests"),
    ("tests_pass", {}, [("make test", "all good", 0)], "printed no count of tests"),
    ("tests_pass", {}, [("npm test -- --passWithNoTests", "", 0)], "runs no tests"),
    ("build_passes", {}, [("npm run build || true", "", 0)], "failed, or its status is masked"),
    ("lint_clean", {}, [("ruff check --exit-zero .", "", 0)], "ran dry, or looked at no file"),
    ("lint_clean", {}, [], "no linter run in this turn"),
    ("commit_exists", {}, [("git commit --dry-run", "", 0)], "ran dry, or looked at no file"),
    (
        "command_zero_exit",
        {"command_substring": "make verify"},
        [("echo make verify", "", 0)],
        "no command `make verify`",
    ),
    ("command_zero_exit", {"command_substring": "make verify"}, [("make verify", "", 2)], "did not end with status 0"),
    ("http_2xx", {"url": "https://example.com/health"}, [("echo 200 OK", "200 OK", 0)], "no fetch of"),
    (
        "http_2xx",
        {"url": "https://example.com/health"},
        [("curl -i https://example.com/health", "HTTP/2 500", 0)],
        "said 500",
    ),
    (
        "http_2xx",
        {"url": "https://example.com/health"},
        [("curl -i https://example.com/other", "HTTP/2 200", 0)],
        "no fetch of",
    ),
]
REFUSED = [
    ("file_diff_present", {"path": "src/other.py"}, "does not match any contract.target_fields entry"),
    ("file_diff_present", {}, "needs one of the arguments: path"),
    ("command_zero_exit", {"command_substring": "fix"}, "does not match any contract.target_fields entry"),
    ("command_zero_exit", {"command_substring": "m"}, "too short to mean anything"),
    ("http_2xx", {"url": "https://example.com"}, "does not match any contract.target_fields entry"),
    ("ladder_exhaustion_proof", {}, "proves `blocked`, not `done`"),
]


@pytest.mark.parametrize(("name", "arguments", "runs"), PASSES)
def test_validator_holds(scene: Scene, name: str, arguments: dict[str, str], runs: list[tuple[str, str, int]]) -> None:
    """Fresh, real, and about what was asked."""
    for run in runs:
        scene.run(*run)

    assert run_validation(scene, name, **arguments).status == "pass"


@pytest.mark.parametrize(("name", "arguments", "runs", "reason"), FAILS)
def test_validator_fails_with_a_reason(
    scene: Scene, name: str, arguments: dict[str, str], runs: list[tuple[str, str, int]], reason: str
) -> None:
    """The reason says what is missing."""
    for run in runs:
        scene.run(*run)

    proof = run_validation(scene, name, **arguments)

    assert proof.status == "fail"
    assert reason in proof.reason


@pytest.mark.parametrize(("name", "arguments", "reason"), REFUSED)
def test_validator_refuses_unrelated_arguments(scene: Scene, name: str, arguments: dict[str, str], reason: str) -> None:
    """Arguments that say nothing about the contract are refused."""
    proof = run_validation(scene, name, **arguments)

    assert proof.status == "refused"
    assert reason in proof.reason


@pytest.mark.parametrize("name", ["tests_pass", "build_passes", "lint_clean", "commit_exists"])
def test_validator_goes_stale_after_an_edit(scene: Scene, name: str) -> None:
    """An edit after the proof takes it away."""
    scene.run("pytest -q", GREEN)
    scene.run("make build && ruff check . && git commit -m x")
    before = run_validation(scene, name)
    scene.edit("src/app.py", "x = 2\n")

    assert before.holds
    assert "ran before `src/app.py` was changed" in run_validation(scene, name).reason


def test_validation_after_a_proven_stop_finds_the_contract(scene: Scene) -> None:
    """The request is the one that was just answered, and what ran for it is the evidence."""
    scene.ask("Fix src/app.py and run `pytest -q`")
    scene.edit("src/app.py")
    scene.run("pytest -q", GREEN)
    assert scene.say("Fixed src/app.py. All tests pass.").allowed
    gate = scene.gov.evidence_gate

    assert gate.validate_claim(scene.session, "done", "tests_pass", {}).holds
    assert gate.validate_claim(scene.session, "done", "file_diff_present", {"path": "src/app.py"}).holds
    unbound = gate.validate_claim(scene.session, "done", "file_diff_present", {"path": "src/other.py"})
    assert "does not match any contract.target_fields entry" in unbound.reason

    scene.edit("src/app.py", "x = 2\n")

    assert not gate.validate_claim(scene.session, "done", "tests_pass", {}).holds


def test_validation_of_an_ended_request_is_no_proof_of_the_next_turn(scene: Scene) -> None:
    """It is signed, and is not among the validations of the turn that begins."""
    scene.run("make verify")
    scene.run("git commit -qm work")
    scene.run("pytest -q", GREEN)
    assert scene.say("Fixed src/app.py. All tests pass.").allowed

    proof = scene.gov.evidence_gate.validate_claim(scene.session, "done", "tests_pass", {})

    state = scene.store.read_projection("evidence", scene.session)
    assert proof.signed
    assert scene.gov.evidence_gate.turns.load_turn(scene.session, state).validator_passes == ()
