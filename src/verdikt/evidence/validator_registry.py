"""The validators by name: the only registry of them. Pure."""

from verdikt.evidence.argument_binding import find_binding_fault
from verdikt.evidence.attempt import fetch_attempt_proof, ladder_exhaustion_proof
from verdikt.evidence.run_predicates import build_run_predicate, prove_command, prove_edit, prove_fetch
from verdikt.evidence.section import CustomValidator
from verdikt.evidence.suite_predicates import prove_pytest, prove_suite, prove_suite_no_worse
from verdikt.evidence.validator import Arguments, Predicate, Proof, ProofStatus, Validator, run_validator
from verdikt.knowledge import find_role
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


_IMAGE_BUILDERS = find_role("image_builder")
_COMPILING_RUNNERS = find_role("compiling_runner")
"""Programs whose test command compiles everything first."""


def _builds(run: ProgramRun) -> bool:
    return run.kind == "build" or resolve_program_name(run.argv[0]) in _COMPILING_RUNNERS


def _builds_image(run: ProgramRun) -> bool:
    return run.argv[0] in _IMAGE_BUILDERS and "build" in run.argv


_check_lint = build_run_predicate(("lint",), "linter run", lambda run: not is_type_check(run.argv))
_check_types = build_run_predicate(("lint", "build"), "type check", lambda run: is_type_check(run.argv))
_THREE_WAYS = "three distinct ways to get it were tried and failed"
_LADDER_TRIED = "every hop of the contract's ladder was tried, and something failed lately"
_COMMAND_FIELDS, _PATH_FIELDS = "command_hints backtick_tokens paths", "paths backtick_tokens"

_ROWS: tuple[tuple[str, str, Predicate, str, str], ...] = (
    ("command_zero_exit", "a command ended with status 0", prove_command, "command_substring command", _COMMAND_FIELDS),
    ("pytest_pass", "pytest is green on a target", prove_pytest, "target path", _PATH_FIELDS),
    ("file_diff_present", "a file was edited", prove_edit, "path", "paths"),
    ("http_2xx", "a URL answered with 2xx", prove_fetch, "url", "urls backtick_tokens"),
    ("fetch_attempt_proof", _THREE_WAYS, fetch_attempt_proof, "keyword", "keywords"),
    ("ladder_exhaustion_proof", _LADDER_TRIED, ladder_exhaustion_proof, "", ""),
    ("tests_pass", "tests are green", prove_suite, "", ""),
    ("tests_no_worse", "tests fail as they did before the work", prove_suite_no_worse, "", ""),
    ("build_passes", "the build succeeded", build_run_predicate(("build", "test"), "build", _builds), "", ""),
    ("image_builds", "an image was built", build_run_predicate(("build",), "image build", _builds_image), "", ""),
    ("lint_clean", "a linter is content", _check_lint, "", ""),
    ("types_clean", "a type checker is content", _check_types, "", ""),
    ("commit_exists", "the work is committed", build_run_predicate(("commit",), "commit"), "", ""),
)
"""Name, what it proves, predicate, arguments of which one is needed, fields of the contract that bind them."""

_CLAIM_KINDS = {"fetch_attempt_proof": "delegation", "ladder_exhaustion_proof": "blocked"}
"""Validator → kind of claim that it proves, where that is not `done`."""

VALIDATORS: dict[str, Validator] = {
    name: Validator(name, _CLAIM_KINDS.get(name, "done"), about, predicate, tuple(needs.split()), tuple(binds.split()))
    for name, about, predicate, needs, binds in _ROWS
}
"""Name → validator."""
