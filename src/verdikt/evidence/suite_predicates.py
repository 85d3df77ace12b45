"""When a run of tests proves something: green, complete as claimed, fresh, and not smaller than before. Pure."""

import posixpath
import re

from verdikt.evidence.validator import Arguments
from verdikt.model.work_tree import name_test_run
from verdikt.runs.logged_call import LoggedCall
from verdikt.runs.program_kinds import is_partial_test_run, resolve_program_name
from verdikt.runs.runner_output import can_have_printed
from verdikt.runs.shell_runs import ProgramRun, find_edited_paths
from verdikt.turns.own_tests import selects_all_tests
from verdikt.turns.turn import TurnEvidence, is_path_below, is_same_path


def prove_suite(
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
            fault = _find_test_fault(turn, call, run, names_failures=_has_counts(call, arguments))
            if fault and not (lenient and _is_preexisting_failure(turn, call)):
                # A red run of the same sources is the last word, whatever a smaller run before it said.
                if not target and not run.dry_run and _is_red(call) and turn.is_fresh(call):
                    return fault
                reason = reason if reason != "no test run in this turn" else fault
                continue
            if target and not _covers_target(run, target):
                reason = f"`{run.command_line}` did not run `{target}`"
                continue
            if arguments.get("whole") and not _covers_all_tests(turn, call, run):
                reason = f"`{run.command_line}` ran a part of the tests, and all are claimed"
                continue
            if (number := arguments.get("number")) and not _matches_test_count(call, turn, int(number)):
                reason = (
                    f"`{run.command_line}` ran {call.tests.total if call.tests else 0} tests, and {number} are claimed"
                )
                continue
            return (call.seq,)
    return reason


def _has_counts(call: LoggedCall, arguments: Arguments) -> bool:
    """Return whether as many tests passed, of as many, as a message says that hides no failure: `2 of 3 tests pass`."""
    counts = call.tests
    return counts is not None and (str(counts.passed), str(counts.total)) == (
        arguments.get("number"),
        arguments.get("of"),
    )


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


def _find_test_fault(turn: TurnEvidence, call: LoggedCall, run: ProgramRun, *, names_failures: bool = False) -> str:
    counts = call.tests
    if run.dry_run:
        return f"`{run.command_line}` runs no tests"
    if counts is not None and counts.total == 0:
        return f"`{run.command_line}` ran 0 tests"
    # Where the host keeps the status to itself, the count that the run printed must do.
    is_red = not (call.ok or call.status_unknown) or (counts is not None and counts.failed)
    if is_red and not names_failures:
        # Started in the background, or still running when the host reported.
        if not call.failed and counts is None:
            return f"`{run.command_line}` has not told how it ended: it may still be running"
        return f"`{run.command_line}` failed" + (
            f": {counts.failed} of {counts.total} tests" if counts and counts.failed else ""
        )
    if not run.status_propagates and not (run.piped and counts is not None):
        return _explain_masked_status(call.command, run.command_line)
    if counts is None:
        return f"`{run.command_line}` printed no count of tests, so nothing shows that any ran"
    if not can_have_printed(resolve_program_name(run.argv[0]), counts):
        return f"the summary in the output is not one of `{run.command_line}`"
    if run.starts in (turn.facts.changes or ()):
        return f"`{run.command_line}` starts `{run.starts}`, which is no known runner and was changed in this turn"
    if changed := turn.describe_change_since(call):
        return f"`{run.command_line}` ran before {changed}"
    if other := turn.find_work_elsewhere(call, run):
        return f"`{run.command_line}` ran in another tree than `{other}`"
    # Deleting failing tests must not turn the suite green.
    if counts.total < (before := _count_earlier_tests(turn, call, run)):
        return f"`{run.command_line}` ran {counts.total} tests, and {before} before: some are gone"
    return ""


def _count_earlier_tests(turn: TurnEvidence, call: LoggedCall, run: ProgramRun) -> int:
    """Return how many tests the same command ran before, whatever came of them; 0 where fewer are accepted."""
    if turn.accepts_fewer_tests:
        return 0
    name = name_test_run(call.cwd, run.cwd, run.argv)
    earlier = (
        other.tests.total - other.tests.errors
        for other in (*turn.earlier, *turn.calls)
        for same in other.runs
        if other.tests and other.seq < call.seq and name == name_test_run(other.cwd, same.cwd, same.argv)
    )
    return max(turn.best_test_counts.get(name, 0), *earlier, 0)


def _explain_masked_status(command: str, check: str) -> str:
    """Return why the status of a whole command is not that of a check in it."""
    plain = command.replace("&&", " ")
    operators = (operator for operator in ("||", ";", "&") if operator in plain)
    hider = "the pipe" if re.search(r"(?<!\|)\|(?!\|)", plain) else next((f"the `{one}`" for one in operators), "")
    if not hider and find_edited_paths(command):
        return f"the same command edits files around `{check}`; run it alone"
    if not hider:
        return f"`{check}` goes on after a failure, so its exit status shows nothing"
    return f"{hider} hides the exit status of `{check}`; run it alone"


def _is_preexisting_failure(turn: TurnEvidence, call: LoggedCall) -> bool:
    """Return whether the same run failed at least as badly before the first edit, or of the same sources as then."""
    if call.tests is None or not turn.edits or not turn.is_fresh(call):
        return False
    first = turn.edits[0].seq
    keys = {run.command_line for run in call.runs if run.kind == "test"}
    for earlier in turn.calls:
        is_before = earlier.seq < first or (bool(earlier.tree[1]) and earlier.tree[1] == turn.facts.first_digest)
        if is_before and earlier.tests and keys & {run.command_line for run in earlier.runs}:
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
        # Go writes a directory with everything below it as `./dir/...`.
        directory = posixpath.normpath(file.removesuffix("..."))
        is_covering = not node or (bool(test) and (test == node or test.startswith((node + "::", node + "["))))
        if is_covering and (
            directory == "." or is_same_path(file, target_file) or is_path_below(target_file, directory)
        ):
            return True
    return not named


def _covers_all_tests(turn: TurnEvidence, call: LoggedCall, run: ProgramRun) -> bool:
    """Return whether a run was of all tests: it selected none, or it named every place that has any."""
    # `cd tests/unit && pytest` is a part as well, where the same command has run more tests elsewhere.
    own, command = name_test_run(call.cwd, run.cwd, run.argv), f" {run.command_line}"
    counts = [count for name, count in turn.best_test_counts.items() if name != own and name.endswith(command)]
    largest = 0 if turn.accepts_fewer_tests else max(counts, default=0)
    is_part = is_partial_test_run(run.argv) or (call.tests is not None and call.tests.total < largest)
    return selects_all_tests(turn, call, run) if is_part else not _find_untested_package(turn)


def _find_untested_package(turn: TurnEvidence) -> str:
    """Return a package with tests that no fresh run of the turn was about; empty if there is none."""
    scopes = turn.list_scopes("test") if turn.facts.packages else set()
    return next(
        (
            package
            for package, has_tests in turn.facts.packages.items()
            if package and has_tests and not any(is_path_below(package, scope) for scope in scopes)
        ),
        "",
    )


def prove_pytest(turn: TurnEvidence, arguments: Arguments) -> tuple[int, ...] | str:
    """Return the green runs of pytest on a target, as many as required, or what is missing."""
    runs = arguments.get("required_runs") or arguments.get("runs") or "1"
    required_count = int(runs) if runs.isdecimal() else 1
    outcome = prove_suite(turn, arguments, runner="pytest")
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


def prove_suite_no_worse(turn: TurnEvidence, arguments: Arguments) -> tuple[int, ...] | str:
    """Return a test run that passes, or fails as it did before the first edit; or what is missing."""
    return prove_suite(turn, arguments, lenient=True)
