"""The validators: what each proves, what it binds to, and when it holds. The only registry of them. Pure."""

import enum
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from verdikt.evidence.attempt import fetch_attempt_proof, ladder_exhaustion_proof
from verdikt.evidence.section import CustomValidator
from verdikt.prompts.contract import Contract
from verdikt.runs.logged_call import LoggedCall
from verdikt.runs.program_kinds import is_partial_test_run, resolve_program_name
from verdikt.runs.runner_output import can_have_printed
from verdikt.runs.shell_runs import ProgramRun, read_runs
from verdikt.turns.turn import TurnEvidence, is_same_path, is_same_tree

Arguments = Mapping[str, str]


class ProofStatus(enum.StrEnum):
    """A validator's answer; the exit statuses of `verdikt evidence validate` are 0, 2 and 3."""

    PASS = "pass"
    FAIL = "fail"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Proof:
    """A validator's answer: the entries it rests on, or why there are none."""

    validator: str
    status: ProofStatus
    reason: str = ""
    entries: tuple[int, ...] = ()
    arguments: Mapping[str, str] | None = None
    signed: int = 0  # the entry that signs it, where it was asked for by name
    grade: str = ""  # `status`, or `output` where only what a check printed shows that it succeeded

    @property
    def holds(self) -> bool:
        """Return whether the claim is proven."""
        return self.status is ProofStatus.PASS

    def record(self) -> dict[str, Any]:
        """Return the proof as plain data."""
        return {
            "validator": self.validator,
            "status": self.status.value,
            "reason": self.reason,
            "entries": list(self.entries),
            "arguments": dict(self.arguments or {}),
            **({"grade": self.grade} if self.grade else {}),
        }


Predicate = Callable[[TurnEvidence, Arguments], "tuple[int, ...] | str"]
"""Returns the entries that prove it, or what is missing."""


@dataclass(frozen=True, slots=True)
class Validator:
    """One way to prove a claim. `binds` are the contract's fields that its arguments must come from, ranked."""

    name: str
    claim: str
    about: str
    predicate: Predicate
    needs: tuple[str, ...] = ()  # arguments of which at least one must be given
    binds: tuple[str, ...] = ()


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
    refusal = _find_binding_fault(validator, arguments, turn.contract)
    return _refuse_validation(name, refusal) if refusal else run_validator(validator, arguments, turn)


def run_validator(validator: Validator, arguments: Arguments, turn: TurnEvidence) -> Proof:
    """Return a validator's answer about a turn."""
    outcome = validator.predicate(turn, arguments)
    if isinstance(outcome, str):
        return Proof(validator.name, ProofStatus.FAIL, outcome, arguments=arguments)
    return Proof(validator.name, ProofStatus.PASS, entries=outcome, arguments=arguments, grade=_grade(turn, outcome))


def _grade(turn: TurnEvidence, entries: tuple[int, ...]) -> str:
    """Return how the checks that a proof rests on are known to have succeeded; empty when it rests on none."""
    checks = [
        (call, run)
        for call in turn.calls
        if call.seq in entries
        for run in call.runs
        if run.kind in ("test", "build", "lint", "commit")
    ]
    if not checks:
        return ""
    return "status" if any(call.succeeded_by_status(run) for call, run in checks) else "output"


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


def _find_binding_fault(validator: Validator, arguments: Arguments, contract: Contract) -> str:
    """Return why these arguments prove nothing about this contract; empty when they do."""
    if not validator.needs:
        return ""
    values = {name: value.strip() for name, value in arguments.items() if name in validator.needs and value.strip()}
    if not values:
        return f"`{validator.name}` needs one of the arguments: {', '.join(validator.needs)}"
    for name, value in values.items():
        # `/` or `*` would match every target.
        if len(value.strip("/.*~ ")) < 2:
            return f"validator arg {name}={value} is too short to mean anything"
    if contract.has_no_targets or validator.binds == ("keywords",):
        # The request names nothing in particular, or the validator looks for words: one shared word suffices.
        objective_words = set(re.findall(r"[\w./-]{2,}", contract.objective.lower()))
        # The contract's own keywords too: `billing` is one where the objective has `billing-server`.
        objective_words |= {word.lower() for word in contract.target_fields.get("keywords", ())}
        if any(set(re.findall(r"[\w./-]{2,}", value.lower())) & objective_words for value in values.values()):
            return ""
        return "no argument shares a word with the objective"
    named = contract.get_targets(*validator.binds)
    for value in values.values():
        if any(matches_target(value.partition("::")[0], target) for target in named):
            return ""
    name, value = next(iter(values.items()))
    return f"validator arg {name}={value} does not match any contract.target_fields entry"


def matches_target(value: str, target: str) -> bool:
    """Return whether an argument names a target: the same path by segments, or the same words in the same order."""
    if ("/" in value or "/" in target or "." in value) and is_same_path(value, target) and len(value.strip("/.")) > 1:
        return True
    mine, theirs = value.lower().split(), target.lower().split()
    return bool(mine) and any(theirs[start : start + len(mine)] == mine for start in range(len(theirs) - len(mine) + 1))


def _command_zero_exit(turn: TurnEvidence, arguments: Arguments) -> tuple[int, ...] | str:
    patterns = [
        value for name in ("command_substring", "command", "keyword") if (value := arguments.get(name, "").strip())
    ]
    reason = f"no command `{' '.join(patterns)}` ended with status 0"
    for call in reversed(turn.calls):
        for run in call.runs:
            if run.kind == "look" or not all(_mentions_words(run.argv, word) for word in patterns):
                continue
            if call.status_unknown:
                reason = _explain_unknown_status(run)
            elif not call.ok:
                reason = f"`{run.command_line}` did not end with status 0"
            elif not run.status_propagates or run.dry_run:
                reason = f"the status of `{run.command_line}` is masked or it ran dry; run it alone"
            elif changed := turn.describe_change_since(call):
                reason = f"`{run.command_line}` ran before {changed}"
            else:
                return (call.seq,)
    return reason


def _mentions_words(argv: tuple[str, ...], pattern: str) -> bool:
    words = pattern.split()
    joined = [part for word in argv for part in word.split()]
    if any(joined[start : start + len(words)] == words for start in range(len(joined) - len(words) + 1)):
        return True
    return len(words) == 1 and "/" in pattern and any(is_same_path(word, pattern) for word in joined if "/" in word)


def _prove_tests(
    turn: TurnEvidence, arguments: Arguments, *, runner: str = "", lenient: bool = False
) -> tuple[int, ...] | str:
    """Return a passing test run that is fresh, of the right tree and not smaller than before, or what is missing.

    With `lenient`, a run that fails as it did before the first edit counts too, since the work did not cause it.
    """
    reason = "no test run in this turn"
    target = arguments.get("target", "") or arguments.get("path", "")
    for call in reversed(turn.calls):
        for run in call.runs:
            if run.kind != "test" or (runner and runner not in run.command_line):
                continue
            fault = _find_test_fault(turn, call, run)
            if fault and not (lenient and _is_preexisting_failure(turn, call)):
                # A red run of the same sources is the last word, whatever a smaller run before it said.
                if not target and not run.dry_run and _is_red(call) and turn.is_fresh(call):
                    return fault
                reason = reason if reason != "no test run in this turn" else fault
                continue
            if target and not _covers_target(run, target):
                reason = f"`{run.command_line}` did not run `{target}`"
                continue
            if arguments.get("whole") and is_partial_test_run(run.argv):
                reason = f"`{run.command_line}` ran a part of the tests, and all are claimed"
                continue
            if (number := arguments.get("number")) and not _matches_test_count(call, turn, int(number)):
                reason = (
                    f"`{run.command_line}` ran {call.tests.total if call.tests else 0} tests, and {number} are claimed"
                )
                continue
            return (call.seq,)
    return reason


def _is_red(call: LoggedCall) -> bool:
    return bool(call.tests and call.tests.failed) or (call.failed and call.tests is None)


def _matches_test_count(call: LoggedCall, turn: TurnEvidence, number: int) -> bool:
    """Return whether that many tests ran: in this run, or in the turn's fresh passing runs together."""
    # By command line: a repeated run counts once.
    green = {
        run.command_line: counted.tests
        for counted in turn.calls
        for run in counted.successful_runs("test")
        if counted.tests and turn.is_fresh(counted)
    }
    counts = [*green.values(), *([call.tests] if call.tests else [])]
    sums = [sum(counted.passed for counted in green.values())]
    return any(number == counted.passed for counted in counts) or number in sums


def _find_test_fault(turn: TurnEvidence, call: LoggedCall, run: ProgramRun) -> str:
    counts = call.tests
    if run.dry_run:
        return f"`{run.command_line}` runs no tests"
    if counts is not None and counts.total == 0:
        return f"`{run.command_line}` ran 0 tests"
    # Where the host keeps the status to itself, the count that the run printed must do.
    if not (call.ok or call.status_unknown) or (counts is not None and counts.failed):
        # Started in the background, or still running when the host reported.
        if not call.failed and counts is None:
            return f"`{run.command_line}` has not told how it ended: it may still be running"
        return f"`{run.command_line}` failed" + (
            f": {counts.failed} of {counts.total} tests" if counts and counts.failed else ""
        )
    if not run.status_propagates and not (run.piped and counts is not None):
        return f"{_name_status_hider(call.command)} hides the exit status of `{run.command_line}`; run it alone"
    if counts is None:
        return f"`{run.command_line}` printed no count of tests, so nothing shows that any ran"
    if not can_have_printed(resolve_program_name(run.argv[0]), counts):
        return f"the summary in the output is not one of `{run.command_line}`"
    if changed := turn.describe_change_since(call):
        return f"`{run.command_line}` ran before {changed}"
    foreign_paths = [path for path in turn.sources if not is_same_tree(call, run, path)]
    if foreign_paths:
        return f"`{run.command_line}` ran in another tree than `{foreign_paths[0]}`"
    if turn.is_elsewhere(call):
        return f"`{run.command_line}` ran in `{call.tree[0]}`, another tree than `{turn.facts.root}`"
    # Deleting failing tests must not turn the suite green.
    if counts.total < turn.best_test_counts.get(run.command_line, 0):
        before = turn.best_test_counts[run.command_line]
        return f"`{run.command_line}` ran {counts.total} tests, and {before} before: some are gone"
    return ""


def _name_status_hider(command: str) -> str:
    if re.search(r"(?<!\|)\|(?!\|)", command):
        return "the pipe"
    return next((f"the `{operator}`" for operator in ("||", ";", "&") if operator in command), "the command line")


def _is_preexisting_failure(turn: TurnEvidence, call: LoggedCall) -> bool:
    """Return whether the same run failed at least as badly before the first edit."""
    if call.tests is None or not turn.edits or not turn.is_fresh(call):
        return False
    first = turn.edits[0].seq
    keys = {run.command_line for run in call.runs if run.kind == "test"}
    for earlier in turn.calls:
        if earlier.seq >= first:
            break
        if earlier.tests and keys & {run.command_line for run in earlier.runs}:
            return (
                0 < call.tests.failed <= earlier.tests.failed
                and call.tests.total >= earlier.tests.total
                and call.tests.passed > 0
            )
    return False


def _covers_target(run: ProgramRun, target: str) -> bool:
    """Return whether a run was of everything, or of this target."""
    named = [word for word in run.argv[1:] if "/" in word or "::" in word or word.endswith(".py")]
    target_file, _, test = target.partition("::")
    for word in named:
        file, _, node = word.partition("::")
        is_covering = not node or (bool(test) and (test == node or test.startswith((node + "::", node + "["))))
        if is_covering and (is_same_path(file, target_file) or target_file.startswith(file.rstrip("/") + "/")):
            return True
    return not named


def _pytest_pass(turn: TurnEvidence, arguments: Arguments) -> tuple[int, ...] | str:
    runs = arguments.get("required_runs") or arguments.get("runs") or "1"
    required_count = int(runs) if runs.isdecimal() else 1
    outcome = _prove_tests(turn, arguments, runner="pytest")
    if isinstance(outcome, str) or required_count <= 1:
        return outcome
    target = arguments.get("target", "") or arguments.get("path", "")
    green = [
        call.seq
        for call in turn.calls
        for run in call.successful_runs("test")
        if "pytest" in run.command_line
        and not _find_test_fault(turn, call, run)
        and (not target or _covers_target(run, target))
    ]
    return tuple(green) if len(green) >= required_count else f"{len(green)} of {required_count} green runs of pytest"


def build_run_predicate(
    kinds: tuple[str, ...], label: str, is_relevant: Callable[[ProgramRun], bool] = lambda run: True
) -> Predicate:
    """Return a predicate that holds when the last relevant run of these kinds succeeded and is fresh."""

    def check_turn(turn: TurnEvidence, arguments: Arguments) -> tuple[int, ...] | str:
        reason = f"no {label} in this turn"
        for call in reversed(turn.calls):
            for run in call.runs:
                if run.kind not in kinds or not is_relevant(run):
                    continue
                if call.failed and not run.dry_run and turn.is_fresh(call) and reason.startswith("no "):
                    return _explain_unproven(call, run, "")
                if run in call.successful_runs(*kinds) and turn.is_fresh(call):
                    foreign_paths = [path for path in turn.sources if not is_same_tree(call, run, path)]
                    if not foreign_paths and not turn.is_elsewhere(call):
                        return (call.seq,)
                    reason = f"`{run.command_line}` ran in another tree than `{(*foreign_paths, turn.facts.root)[0]}`"
                elif reason.startswith("no "):
                    stale = turn.describe_change_since(call) if run in call.successful_runs(*kinds) else ""
                    reason = _explain_unproven(call, run, stale)
        return reason

    return check_turn


def _explain_unproven(call: LoggedCall, run: ProgramRun, changed: str) -> str:
    if changed:
        return f"`{run.command_line}` ran before {changed}"
    return (
        _explain_unknown_status(run) if call.status_unknown else f"`{run.command_line}` failed, or its status is masked"
    )


def _explain_unknown_status(run: ProgramRun) -> str:
    return f"this client does not tell how `{run.command_line}` ended; run `{run.command_line} && echo succeeded`"


def _file_diff_present(turn: TurnEvidence, arguments: Arguments) -> tuple[int, ...] | str:
    path = arguments.get("path", "")
    seqs = tuple(
        call.seq
        for call in turn.calls
        if call.kind == "write"
        and not call.failed
        and any(is_same_path(path, edited) for edited in (*call.edited, call.target))
    )
    return seqs[-1:] or f"no edit of `{path}` in this turn"


def _http_2xx(turn: TurnEvidence, arguments: Arguments) -> tuple[int, ...] | str:
    url = arguments.get("url", "")
    reason = f"no fetch of `{url}`" if url else "no fetch in this turn"
    for call in reversed(turn.calls):
        words = [word for run in call.runs if run.kind == "http" for word in run.argv] or [call.target]
        if (call.kind != "fetch" and not any(run.kind == "http" for run in call.runs)) or (
            url and not _has_same_url(url, words)
        ):
            continue
        if call.http is not None and 200 <= call.http < 300 and call.ok:
            changed = turn.describe_change_since(call)
            return f"the fetch was before {changed}" if changed else (call.seq,)
        reason = (
            f"the fetch said {call.http}"
            if call.http
            else "the fetch did not say its status; add `-i` or `-w '%{http_code}'`"
        )
    return reason


def _has_same_url(url: str, words: list[str]) -> bool:
    # The scheme does not matter: servers redirect http to https.
    bare = url.removeprefix("https://").removeprefix("http://").rstrip("/")
    return any(word.removeprefix("https://").removeprefix("http://").rstrip("/") == bare for word in words)


def prove_tests_no_worse(turn: TurnEvidence, arguments: Arguments) -> tuple[int, ...] | str:
    """Return a test run that passes, or fails as it did before the first edit; or what is missing."""
    return _prove_tests(turn, arguments, lenient=True)


VALIDATORS: dict[str, Validator] = {
    validator.name: validator
    for validator in (
        Validator(
            "command_zero_exit",
            "done",
            "a command ended with status 0",
            _command_zero_exit,
            needs=("command_substring", "command"),
            binds=("command_hints", "backtick_tokens", "paths"),
        ),
        Validator(
            "pytest_pass",
            "done",
            "pytest is green on a target",
            _pytest_pass,
            needs=("target", "path"),
            binds=("paths", "backtick_tokens"),
        ),
        Validator(
            "file_diff_present", "done", "a file was edited", _file_diff_present, needs=("path",), binds=("paths",)
        ),
        Validator(
            "http_2xx", "done", "a URL answered with 2xx", _http_2xx, needs=("url",), binds=("urls", "backtick_tokens")
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
        Validator("tests_pass", "done", "tests are green", _prove_tests),
        Validator("build_passes", "done", "the build succeeded", build_run_predicate(("build",), "build")),
        Validator(
            "lint_clean",
            "done",
            "linters and type checkers are content",
            build_run_predicate(("lint",), "linter run"),
        ),
        Validator("commit_exists", "done", "the work is committed", build_run_predicate(("commit",), "commit")),
    )
}
"""Name → validator. A new validator is a row here and its cases."""
