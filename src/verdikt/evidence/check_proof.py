"""Proof of a claim about a check: tests, build, lint, types. Each needs its own. Pure."""

import re

from verdikt.evidence.named_objects import find_file_names, read_test_count
from verdikt.evidence.program_kinds import is_type_check, resolve_program_name
from verdikt.evidence.proof_request import Missing, ProofRequest
from verdikt.evidence.shell_runs import ProgramRun
from verdikt.evidence.validator import VALIDATORS, Proof, Validator, build_run_predicate
from verdikt.knowledge import find_role
from verdikt.model.lazy_regex import compile_lazily
from verdikt.model.work_tree import is_test_file

_COMPILING_RUNNERS = find_role("compiling_runner")
"""Programs whose test command compiles everything first."""

_IMAGE_BUILDERS = find_role("image_builder")
_IMAGE = compile_lazily(r"\b(?:image|container|docker\w*)\b", re.IGNORECASE)


def _builds(run: ProgramRun) -> bool:
    return run.kind == "build" or resolve_program_name(run.argv[0]) in _COMPILING_RUNNERS


def _builds_image(run: ProgramRun) -> bool:
    return run.argv[0] in _IMAGE_BUILDERS and "build" in run.argv


BUILD = Validator(
    "build_passes", "done", "the build succeeded", build_run_predicate(("build", "test"), "build", _builds)
)
IMAGE = Validator(
    "image_builds", "done", "an image was built", build_run_predicate(("build",), "image build", _builds_image)
)
TYPES = Validator(
    "types_clean",
    "done",
    "a type checker is content",
    build_run_predicate(("lint", "build"), "type check", lambda run: is_type_check(run.argv)),
)
LINT = Validator(
    "lint_clean",
    "done",
    "a linter is content",
    build_run_predicate(("lint",), "linter run", lambda run: not is_type_check(run.argv)),
)


def prove_tests(request: ProofRequest) -> Proof | Missing:
    """Prove that tests pass: green, complete as claimed, newer than the sources, none taken out on the way."""
    arguments = read_test_count(request.text)
    named = [name for name in find_file_names(request.text) if is_test_file(name)]
    # `test_cart.py passes` claims no more than that file.
    if not arguments and len(named) == 1:
        arguments = {"target": named[0]}
    proof = request.try_validator(VALIDATORS["tests_pass"], arguments)
    if not proof.holds:
        return Missing(proof.reason, "test", full_suite="whole" in arguments)
    if fewer := describe_missing_tests(request):
        return Missing(fewer, "test")
    return proof


def describe_missing_tests(request: ProofRequest) -> str:
    """Return which tests were taken out of the run in this turn; empty when none, or when the message says so."""
    facts = request.turn.facts
    if request.names_fewer_tests:
        return ""
    marks = facts.tests_after.marks - facts.tests_before.marks
    if marks > 0:
        return (
            f"{marks} skip or expected-failure mark{'' if marks == 1 else 's'} added to the tests; say so, or remove it"
        )
    removed = facts.tests_before.tests - facts.tests_after.tests
    if removed > 0:
        return f"{removed} test{' is' if removed == 1 else 's are'} gone from the test files; say so, or restore them"
    return ""


def prove_build(request: ProofRequest) -> Proof | Missing:
    """Prove that the project, or an image of it, builds."""
    proof = request.try_validator(IMAGE if _IMAGE.search(request.text) else BUILD)
    return proof if proof.holds else Missing(proof.reason, "build")


def prove_lint(request: ProofRequest) -> Proof | Missing:
    """Prove that a linter found nothing."""
    proof = request.try_validator(LINT)
    return proof if proof.holds else Missing(proof.reason, "lint")


def prove_types(request: ProofRequest) -> Proof | Missing:
    """Prove that a type checker found nothing."""
    proof = request.try_validator(TYPES)
    return proof if proof.holds else Missing(proof.reason, "types")
