"""Proof of a claim that something was changed: a net change, checked as far as the project can check it. Pure."""

import posixpath
import re

from verdikt.claims.named_objects import (
    find_changed_names,
    find_file_names,
    find_source_names,
    read_added_test_count,
)
from verdikt.claims.wording import has_only_wordings, has_wording
from verdikt.evidence.check_proof import describe_missing_tests, describe_unrun_test
from verdikt.evidence.effect_proof import prove_effect, prove_reading
from verdikt.evidence.git_proof import prove_settings
from verdikt.evidence.proof_request import Missing, ProofRequest, hold
from verdikt.evidence.validator import Proof
from verdikt.model.work_tree import classify_file, is_test_file
from verdikt.turns.executed_code import executes_code
from verdikt.turns.own_tests import find_unrun_test
from verdikt.turns.turn import TurnEvidence, is_path_below, is_same_path

NOT_COVERED_BY_TESTS = tuple(".sh .bash .zsh .fish .ps1 .sql .tf .hcl .proto .nix .mk .cmake".split())
"""Suffixes of code that a project's tests usually do not run; nor do they run Makefiles and Dockerfiles."""


_TEST_VALIDATORS = ("tests_pass", "tests_no_worse")
CHECK_VALIDATORS = {"test": "tests_pass", "build": "build_passes", "types": "types_clean", "lint": "lint_clean"}
"""Kind of check → validator, the one that tells most about code first."""


def list_changed_paths(turn: TurnEvidence) -> tuple[str, ...]:
    """Return the files that differ net since the prompt; what the log says was edited where that is not known."""
    facts = turn.facts
    if facts.changes is None:
        earlier = (path for call in turn.earlier if not call.failed for path in call.edited)
        return (*earlier, *turn.edit_paths)
    foreign = turn.list_foreign_changes("code")
    own_changes = (path for path in facts.changes if path not in foreign)
    # Ignored files, and files outside the project, are not in the fingerprint.
    return (*own_changes, *(path for path in turn.edit_paths if path in turn.unlisted))


def prove_change(request: ProofRequest) -> Proof | Missing:
    """Prove that work was done: a net change of the files in question, checked as far as the project can check it."""
    turn, facts = request.turn, request.turn.facts
    changed = list_changed_paths(turn)
    # A turn that only read and checked did not make the changes of another session.
    if not changed or not turn.can_have_changed_files:
        return _explain_no_change(request)
    for missing in (
        _find_kept_change(request, changed),
        _find_untouched(request, changed),
        _find_missing_test(request),
        _find_unchanged_code(request, changed),
        find_unparsable(turn),
    ):
        if missing is not None:
            return missing
    entries = find_edit_entries(turn)
    code = tuple(path for path in changed if path == "*" or classify_file(path) == "code")
    if not code:
        return hold("net_change", *entries)
    # Before the check: a green run of fewer tests is not a fix.
    if fewer := describe_missing_tests(request):
        return Missing(fewer, "test")
    checked = _prove_checked(request, code)
    if isinstance(checked, Proof) or not request.is_admitted:
        return checked
    # The message says that this was not checked, so the change is all that it claims.
    return hold("work_edited", *entries) if facts.changes is None or facts.changes or entries else checked


def _explain_no_change(request: ProofRequest) -> Proof | Missing:
    turn = request.turn
    other = prove_effect(request) or prove_settings(request) or prove_reading(request)
    if other is not None:
        return other
    if turn.facts.changes and not turn.can_have_changed_files:
        return Missing("nothing you did in this turn can have changed a file")
    untouched = _find_untouched(request, ())
    has_edited = any(path == "*" or is_path_below(path, turn.facts.root) for path in turn.edit_paths)
    if untouched is not None and not has_edited:
        return untouched
    if has_edited and turn.facts.changes is not None:
        # `It did not help, so I put it back` reports just that.
        if not turn.facts.changes and has_wording("taken_back", request.text):
            return hold("taken_back", *find_edit_entries(turn))
        return Missing("what was edited was taken back: no file differs from when you were asked")
    return Missing("no file differs from when you were asked")


def find_edit_entries(turn: TurnEvidence) -> tuple[int, ...]:
    """Return the last call that edited something."""
    return tuple(call.seq for call in turn.calls if not call.failed and call.edited)[-1:]


def _find_untouched(request: ProofRequest, changed: tuple[str, ...]) -> Missing | None:
    """Return the first file that the claim or the request names and that was not changed."""
    turn, text = request.turn, request.text
    if "*" in changed and turn.facts.changes is None:
        return None
    for name in find_changed_names(text):
        is_other = _is_said_unchanged(text, name) or _is_ingredient(text, name, turn.facts.created_paths)
        if not is_other and not is_changed(name, changed):
            is_foreign = is_changed(name, tuple(turn.list_foreign_changes("code")))
            return Missing(f"`{name}` was not changed {'by you' if is_foreign else 'since you were asked'}")
    untouched = [
        name
        for name in _list_requested_names(request)
        if not is_changed(name, changed) and not _is_excused(request, name)
    ]
    if untouched:
        names = ", ".join(f"`{name}`" for name in untouched[:4])
        kind = "" if all(classify_file(name) == "document" for name in untouched) else "test"
        return Missing(f"nothing was done about {names}, which the request names", kind)
    return None


def _find_kept_change(request: ProofRequest, changed: tuple[str, ...]) -> Missing | None:
    """Return a file whose change the sentence says was taken back, and which was edited once and still differs."""
    if not (has_wording("taken_back", request.text) and has_wording("own", request.text)):
        return None
    for name in find_file_names(request.text):
        edits = [path for call in request.turn.calls for path in call.edited if path == "*" or is_same_path(path, name)]
        # A second edit, or one of files that are not known, may have been the way back.
        if len(edits) == 1 and edits[0] != "*" and is_changed(name, changed):
            return Missing(f"`{name}` still differs from when you were asked")
    return None


def _list_requested_names(request: ProofRequest) -> tuple[str, ...]:
    contract = request.turn.contract
    # A report names where something fails, and not where the fix belongs.
    if contract is None or not contract.asks_for_work:
        return ()
    # Long requests hold pasted logs, whose files need no change.
    asked = contract.objective[:4_000]
    tests = (name for name in find_file_names(asked) if is_test_file(name))
    return tuple(dict.fromkeys((*find_changed_names(asked), *tests)))


def is_changed(name: str, changed: tuple[str, ...]) -> bool:
    """Return whether a file of this name is among the changed ones."""
    # `the README` is `README.md`.
    bare = "." not in name
    return any(is_same_path(name, posixpath.splitext(path)[0] if bare else path) or name == path for path in changed)


_UNCHANGED = r"unchanged|untouched|no changes?|(?:not|n't) (?:need|chang|touch)\w*"


def _is_excused(request: ProofRequest, name: str) -> bool:
    """Return whether a requested file need not have changed: it was run as a test, or the message says why."""
    base = posixpath.basename(name)
    if any(is_same_path(name, source) for source in find_source_names(request.message)):
        return True
    if is_test_file(name) and any(
        not run_words or any(is_same_path(name, word) for word in run_words)
        for call in request.turn.calls
        for run in call.successful_runs("test")
        for run_words in ([word for word in run.argv[1:] if "/" in word or word.endswith((".py", ".js", ".ts"))],)
    ):
        return True
    asked = request.turn.contract.objective if request.turn.contract else ""
    created = request.turn.facts.created_paths
    return _is_said_unchanged(request.message, base) or _is_ingredient(asked, name, created)


def _is_said_unchanged(text: str, name: str) -> bool:
    name = re.escape(name)
    pattern = (
        rf"{name}[`'\"*]*[^.\n]{{0,80}}(?:{_UNCHANGED}|already|as (?:it|they) (?:was|were))"
        rf"|(?:{_UNCHANGED}|left)\b[^.\n]{{0,60}}{name}"
    )
    return bool(re.search(pattern, text, re.IGNORECASE))


_MARKS = " ,;:`'\"*()、，\n"


def _is_ingredient(text: str, name: str, created: tuple[str, ...]) -> bool:
    """Return whether a file is named as what a new one was made of: `combined a.txt and b.txt into c.txt`."""
    following = text.partition(name)[2]
    target = next((file for file in find_file_names(following) if is_changed(file, created)), "")
    between = following.partition(target)[0] if target else following
    for other in find_file_names(between):
        between = between.replace(other, "")
    is_target = has_wording("into", between) or has_wording("in", between)
    return bool(target) and is_target and has_only_wordings(("and", "into", "in"), between, _MARKS)


def _find_unchanged_code(request: ProofRequest, changed: tuple[str, ...]) -> Missing | None:
    """Return what is missing where code that is said to be fixed runs as it did; None when it may not."""
    code = [path for path in changed if path == "*" or classify_file(path) == "code"]
    is_repair = has_wording("repair", request.text) and not has_wording("layout", request.text)
    if len(code) != len(changed) or not is_repair or not set(code) <= set(request.turn.facts.layout):
        return None
    return Missing(f"`{code[0]}` differs only in white space or comments from when you were asked")


def _find_missing_test(request: ProofRequest) -> Missing | None:
    """Return that a test which the claim says was added is not there; None when it is, or nothing is known."""
    facts = request.turn.facts
    if facts.changes is None or not has_wording("added_test", request.text):
        return None
    added, claimed = facts.tests_after.tests - facts.tests_before.tests, read_added_test_count(request.text)
    if 0 < added < claimed and not _ran_more_tests(request.turn):
        return Missing(f"{added} test{' was' if added == 1 else 's were'} added, and {claimed} are claimed")
    if added > 0:
        return None
    if any(is_test_file(path) for path in facts.changes) and _ran_more_tests(request.turn):
        return None
    return Missing("no test was added since you were asked")


def _ran_more_tests(turn: TurnEvidence) -> bool:
    """Return whether the last run of the turn ran more tests than the first: a new row of a parametrized test."""
    counts = [call.tests.total for call in turn.calls if call.tests]
    return len(counts) > 1 and counts[-1] > counts[0]


def find_unparsable(turn: TurnEvidence) -> Missing | None:
    """Return that a changed file does not parse; None when all do."""
    errors = turn.facts.syntax_errors
    foreign = turn.list_foreign_changes("data", "ci", "asset") if errors else frozenset()
    path = next((path for path in errors if path not in foreign), "")
    return Missing(f"`{path}` does not parse: {errors[path]}") if path else None


def _prove_checked(request: ProofRequest, code: tuple[str, ...]) -> Proof | Missing:
    """Prove that changed code was checked: by the project's check of the right kind, or by running it."""
    turn, checks = request.turn, request.turn.facts.checks
    reasons: dict[str, str] = {}
    # What the person named is a check of the right kind, whatever it runs; then comes what the project has.
    for field, name, argument in (("command_hints", "command_zero_exit", "command"), ("urls", "http_2xx", "url")):
        for target in turn.contract.get_targets(field) if turn.contract else ():
            if (proof := request.try_validator(name, {argument: target})).holds:
                return proof
    needs_tests = "test" in checks and not all(_is_outside_tests(path) for path in code)
    validators = [*_TEST_VALIDATORS, *([] if needs_tests else ["build_passes"])]
    if not needs_tests or {"lint", "types"} & set(request.claim.topics):
        validators += ["lint_clean", "types_clean"]
    unrun = find_unrun_test(turn)
    for name in validators:
        proof = request.try_validator(name)
        is_about_other_tests = bool(unrun) and name in _TEST_VALIDATORS
        if proof.holds and not is_about_other_tests:
            return proof
        reasons[name] = describe_unrun_test(unrun) if proof.holds else proof.reason
    if needs_tests and not (build := request.try_validator("build_passes")).holds:
        # A build that failed tells more than tests that did not run.
        reasons["build_passes"] = build.reason
    if not needs_tests and (entries := _find_run_of(turn, code)):
        return hold("work_exercised", *entries)
    if not needs_tests and (unknown := _find_run_of(turn.assume_unknown_success(), code)):
        command = next(call.command for call in turn.calls if call.seq in unknown)
        return Missing(f"this client does not tell how `{command}` ended", f"run {command} && echo succeeded")
    # A reason about something that ran helps more than one about something that did not.
    telling = [reason for reason in reasons.values() if not reason.startswith("no ")]
    if telling or checks:
        kind = choose_check(turn)
        return Missing((telling or [reasons[CHECK_VALIDATORS[kind]]])[0], kind, path=code[-1], full_suite=bool(unrun))
    path = next((path for path in reversed(code) if path != "*"), "")
    return Missing(
        f"nothing ran, compiled or parsed `{path or 'the changed files'}` since it was changed", "run", path=path
    )


def choose_check(turn: TurnEvidence) -> str:
    """Return the kind of the project's check that tells most about code."""
    return next((kind for kind in CHECK_VALIDATORS if kind in turn.facts.checks), "test")


def _is_outside_tests(path: str) -> bool:
    name = posixpath.basename(path).lower()
    return path.lower().endswith(NOT_COVERED_BY_TESTS) or name in ("makefile", "dockerfile", "justfile", "procfile")


def _find_run_of(turn: TurnEvidence, code: tuple[str, ...]) -> tuple[int, ...]:
    """Return a fresh successful run that names a changed file or its module: the work was at least executed."""
    return turn.find_last(
        lambda call: (
            any(executes_code(run, code) for run in call.successful_runs("other", "build", "lint"))
            and turn.is_fresh(call)
        )
    )
