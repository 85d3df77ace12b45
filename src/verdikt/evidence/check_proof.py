"""Proof of a claim about a check: tests, build, lint, types. Each needs its own. Pure."""

from verdikt.claims.named_objects import find_code, find_file_names, find_spans, read_test_count
from verdikt.claims.wording import has_wording
from verdikt.evidence.proof_request import Missing, ProofRequest
from verdikt.evidence.validator import Proof
from verdikt.model.work_tree import is_test_file
from verdikt.runs.program_kinds import applies_some_rules, is_partial_test_run
from verdikt.runs.shell_runs import ProgramRun, read_runs
from verdikt.turns.own_tests import find_unrun_test


def prove_tests(request: ProofRequest) -> Proof | Missing:
    """Prove that tests pass: green, complete as claimed, newer than the sources, none taken out on the way."""
    arguments = read_test_count(request.text)
    named = [name for name in find_file_names(request.text) if is_test_file(name)]
    # `test_cart.py passes` claims no more than that file.
    if not arguments and len(named) == 1:
        arguments = {"target": named[0]}
    # `npm test passes`, after other commands: all that it would have run.
    if not arguments and _names_unrun_suite(request):
        arguments = {"whole": "yes"}
    proof = request.try_validator("tests_pass", arguments)
    if not proof.holds:
        return Missing(proof.reason, "test", full_suite=not {"whole", "number"}.isdisjoint(arguments))
    if test := _find_unselected_test(request):
        return Missing(f"no run in this turn was of `{test}`", "test")
    if fewer := describe_missing_tests(request):
        return Missing(fewer, "test")
    # A sentence that names a test file, or the command as it ran, claims no more than that.
    is_narrow = "target" in arguments or _quotes_run(request)
    if not (is_narrow or request.is_admitted) and (unrun := find_unrun_test(request.turn)):
        return Missing(describe_unrun_test(unrun), "test", full_suite=True)
    return proof


def names_tests(text: str) -> bool:
    """Return whether a sentence speaks of tests, or of something that passes."""
    return any(has_wording(what, text) for what in ("test", "passing"))


def describe_unrun_test(test: str) -> str:
    """Return what is missing where the tests of changed code did not run."""
    return f"`{test}` is about what was changed, and no run was of it"


def _quotes_run(request: ProofRequest) -> bool:
    runs = (run for call in request.turn.calls for run in call.successful_runs("test"))
    return any(f"`{run.command_line}`" in request.text for run in runs)


def _names_unrun_suite(request: ProofRequest) -> bool:
    """Return whether the sentence names a command for all tests that was not the one that ran."""
    named = [run for run in _read_named_runs(request) if run.kind == "test" and not run.dry_run]
    ran = {run.argv for call in request.turn.calls for run in call.successful_runs("test")}
    return any(run.argv not in ran and not is_partial_test_run(run.argv) for run in named) and not _quotes_run(request)


def _read_named_runs(request: ProofRequest) -> list[ProgramRun]:
    return [run for span in find_code(request.text) for run in read_runs(span)]


def _find_unselected_test(request: ProofRequest) -> str:
    """Return a test that the sentence names and that no run was of, where each run chose tests by name; else empty."""
    runs = [run for call in request.turn.calls for run in call.successful_runs("test") if request.turn.is_fresh(call)]
    if not all(any("::" in word for word in run.argv) for run in runs):
        return ""
    chosen = " ".join(run.command_line for run in runs)
    names = (span for span in find_spans(request.text) if span.isidentifier() and span.startswith("test"))
    return next((name for name in names if name not in chosen), "")


def describe_missing_tests(request: ProofRequest) -> str:
    """Return which tests were taken out of the run in this turn; empty when none, or when the message says so."""
    facts = request.turn.facts
    if request.turn.accepts_fewer_tests:
        return ""
    marks = facts.tests_after.marks - facts.tests_before.marks
    if marks > 0:
        return (
            f"{marks} skip, selection or expected-failure mark{'' if marks == 1 else 's'} added to the tests;"
            " say so, or remove it"
        )
    removed = facts.tests_before.tests - facts.tests_after.tests
    if removed > 0:
        return f"{removed} test{' is' if removed == 1 else 's are'} gone from the test files; say so, or restore them"
    return ""


def prove_build(request: ProofRequest) -> Proof | Missing:
    """Prove that the project, or an image of it, builds."""
    return _prove_by_validator(
        request, "image_builds" if has_wording("image", request.text) else "build_passes", "build"
    )


def prove_lint(request: ProofRequest) -> Proof | Missing:
    """Prove that a linter found nothing."""
    runs = _read_named_runs(request)
    kinds = {run.kind for run in runs}
    # `cargo check` is clean.
    if "build" in kinds and "lint" not in kinds and not has_wording("lint", request.text):
        return prove_build(request)
    # `ruff check --select I` claims no more than that.
    part = {"part": "yes"} if any(applies_some_rules(run.argv) for run in runs) else {}
    return _prove_by_validator(request, "lint_clean", "lint", **part)


def prove_types(request: ProofRequest) -> Proof | Missing:
    """Prove that a type checker found nothing."""
    return _prove_by_validator(request, "types_clean", "types")


def _prove_by_validator(request: ProofRequest, name: str, kind: str, **arguments: str) -> Proof | Missing:
    proof = request.try_validator(name, arguments)
    return proof if proof.holds else Missing(proof.reason, kind)
