"""The validators by name: the only registry of them. Pure."""

from verdikt.evidence.argument_binding import find_binding_fault
from verdikt.evidence.attempt import fetch_attempt_proof, ladder_exhaustion_proof
from verdikt.evidence.run_predicates import build_run_predicate, prove_command, prove_edit, prove_fetch
from verdikt.evidence.section import CustomValidator
from verdikt.evidence.suite_predicates import prove_pytest, prove_suite, prove_suite_no_worse
from verdikt.evidence.validator import Arguments, Proof, ProofStatus, Validator, run_validator
from verdikt.runs.program_kinds import is_type_check, resolve_program_name
from verdikt.runs.shell_runs import ProgramRun, read_runs
from verdikt.turns.turn import TurnEvidence


def validate(
    name: str,
    claim: str,
    arguments: Arguments,
    turn: TurnEvidence,
    custom: tuple[CustomValidator, ...] = (),
) -> Proof:
    """Return a validator's answer about a claim; explicit arguments must name something of the contract."""
    validator = find_validator(name, custom)
    if validator is None:
        names = ", ".join((*VALIDATORS, *(validator_definition.name for validator_definition in custom)))
        return _refuse_validation(name, f"no validator `{name}`; there are: {names}")
    if validator.claim != claim:
        return _refuse_validation(name, f"`{name}` proves `{validator.claim}`, not `{claim}`")
    if turn.contract is None:
        return _refuse_validation(
            name, "no contract: nothing was asked for in this turn that a claim could be held against"
        )
    refusal = find_binding_fault(validator, arguments, turn.contract)
    return _refuse_validation(name, refusal) if refusal else run_validator(validator, arguments, turn)


def find_validator(name: str, custom: tuple[CustomValidator, ...] = ()) -> Validator | None:
    """Return the validator of that name, built-in or the user's."""
    if name in VALIDATORS:
        return VALIDATORS[name]
    return next((build_custom_validator(definition) for definition in custom if definition.name == name), None)


def build_custom_validator(custom: CustomValidator) -> Validator:
    """Return a user's command as a validator."""
    required_argvs = tuple(run.argv for run in read_runs(custom.command) if run.kind != "look") or ((custom.command,),)

    def check_turn(turn: TurnEvidence, arguments: Arguments) -> tuple[int, ...] | str:
        for call in reversed(turn.calls):
            ran = [run.argv for run in call.runs if call.ok and run.status_propagates and not run.dry_run]
            if all(any(argv[: len(required)] == required for argv in ran) for required in required_argvs):
                changed = turn.describe_change_since(call)
                return f"`{custom.command}` ran before {changed}" if changed else (call.seq,)
        return f"`{custom.command}` has not succeeded since the last edit"

    return Validator(custom.name, "done", custom.about or f"`{custom.command}` succeeded", check_turn)


def _refuse_validation(name: str, reason: str) -> Proof:
    return Proof(name, ProofStatus.REFUSED, reason)


_COMPILING_RUNNERS = frozenset({"cargo", "go", "mvn", "gradle", "dotnet", "swift", "bazel", "mix"})
"""Programs whose test command compiles everything first."""


def _builds(run: ProgramRun) -> bool:
    return run.kind == "build" or resolve_program_name(run.argv[0]) in _COMPILING_RUNNERS


def _builds_image(run: ProgramRun) -> bool:
    return run.argv[0] in ("docker", "podman", "buildah", "nerdctl") and "build" in run.argv


VALIDATORS: dict[str, Validator] = {
    validator.name: validator
    for validator in (
        Validator(
            "command_zero_exit",
            "done",
            "a command ended with status 0",
            prove_command,
            needs=("command_substring", "command"),
            binds=("command_hints", "backtick_tokens", "paths"),
        ),
        Validator(
            "pytest_pass",
            "done",
            "pytest is green on a target",
            prove_pytest,
            needs=("target", "path"),
            binds=("paths", "backtick_tokens"),
        ),
        Validator("file_diff_present", "done", "a file was edited", prove_edit, needs=("path",), binds=("paths",)),
        Validator(
            "http_2xx",
            "done",
            "a URL answered with 2xx",
            prove_fetch,
            needs=("url",),
            binds=("urls", "backtick_tokens"),
        ),
        Validator(
            "fetch_attempt_proof",
            "delegation",
            "three distinct ways to get it were tried and failed",
            fetch_attempt_proof,
            needs=("keyword",),
            binds=("keywords",),
        ),
        Validator(
            "ladder_exhaustion_proof",
            "blocked",
            "every hop of the contract's ladder was tried, and something failed lately",
            ladder_exhaustion_proof,
        ),
        Validator("tests_pass", "done", "tests are green", prove_suite),
        Validator("tests_no_worse", "done", "tests fail as they did before the work", prove_suite_no_worse),
        Validator(
            "build_passes", "done", "the build succeeded", build_run_predicate(("build", "test"), "build", _builds)
        ),
        Validator(
            "image_builds", "done", "an image was built", build_run_predicate(("build",), "image build", _builds_image)
        ),
        Validator(
            "lint_clean",
            "done",
            "a linter is content",
            build_run_predicate(("lint",), "linter run", lambda run: not is_type_check(run.argv)),
        ),
        Validator(
            "types_clean",
            "done",
            "a type checker is content",
            build_run_predicate(("lint", "build"), "type check", lambda run: is_type_check(run.argv)),
        ),
        Validator("commit_exists", "done", "the work is committed", build_run_predicate(("commit",), "commit")),
    )
}
"""Name → validator. A new validator is a row here and its cases."""
