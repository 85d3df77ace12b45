"""Validators that only the gate uses, for claims that need no check of their own. Pure."""

import posixpath
import re
from collections.abc import Mapping

from verdikt.evidence.shell_runs import is_file_handler
from verdikt.evidence.turn import TurnEvidence, is_same_path
from verdikt.evidence.validator import Validator, prove_tests_no_worse
from verdikt.model.source_tree import DOC_SUFFIXES


def _find_run_of_edit(turn: TurnEvidence, arguments: Mapping[str, str]) -> tuple[int, ...] | str:
    """Return a fresh run that names an edited file or its module: the work was at least executed."""
    stems = {posixpath.splitext(posixpath.basename(path))[0] for path in turn.edit_paths if path != "*"}
    for call in reversed(turn.calls):
        for run in call.successful_runs("other"):
            # Copying or formatting a file does not execute it.
            if is_file_handler(run.argv):
                continue
            named = any(is_same_path(word, path) for word in run.argv for path in turn.edit_paths if path != "*")
            if turn.is_fresh(call) and (
                # Short stems such as `a` or `io` would match by accident.
                named or any(stem in word.split(".") for word in run.argv for stem in stems if len(stem) > 2)
            ):
                return (call.seq,)
    return "no check has run since the last edit"


def _find_edit(turn: TurnEvidence, arguments: Mapping[str, str]) -> tuple[int, ...] | str:
    seqs = [call.seq for call in turn.calls if not call.failed and call.edited]
    return tuple(seqs[-1:]) or "no file was edited"


def _find_effect(turn: TurnEvidence, arguments: Mapping[str, str]) -> tuple[int, ...] | str:
    for call in reversed(turn.calls):
        if call.successful_runs("other", "commit", "http", "build", "test") or (
            call.kind in ("mcp", "other", "agent") and call.ok
        ):
            return (call.seq,)
    return "no command in this turn did anything"


def _find_launch(turn: TurnEvidence, arguments: Mapping[str, str]) -> tuple[int, ...] | str:
    for call in reversed(turn.calls):
        has_launch = any(
            not is_file_handler(run.argv) or run.argv[:2] == ("git", "push")
            for run in call.successful_runs("other", "build")
        )
        if has_launch or (call.kind in ("mcp", "other", "agent") and call.ok):
            return (call.seq,)
    return "nothing in this turn deployed, published or reached anything"


def _find_document_edit(turn: TurnEvidence, arguments: Mapping[str, str]) -> tuple[int, ...] | str:
    seqs = [
        call.seq
        for call in turn.calls
        if not call.failed and any(path.lower().endswith(DOC_SUFFIXES) for path in call.edited)
    ]
    return tuple(seqs[-1:]) or "no document was edited"


def _find_push(turn: TurnEvidence, arguments: Mapping[str, str]) -> tuple[int, ...] | str:
    for call in reversed(turn.calls):
        has_push = any(
            run.argv[0] in ("git", "gh", "glab") and {"push", "merge", "pr", "mr"} & set(run.argv[1:5])
            for run in call.successful_runs("other")
        )
        if has_push or (call.kind == "mcp" and call.ok and re.search(r"push|merge|pull_request", call.tool)):
            return (call.seq,)
    return "no push or merge in this turn"


TESTS_NO_WORSE = Validator("tests_no_worse", "done", "tests fail as they did before the work", prove_tests_no_worse)
WORK_EXERCISED = Validator("work_exercised", "done", "the edited file was run since", _find_run_of_edit)
WORK_EDITED = Validator(
    "work_edited", "done", "a file was edited, and the message says that it was not checked", _find_edit
)
COMMAND_EFFECT = Validator("command_effect", "done", "a command that does more than look succeeded", _find_effect)
LAUNCHED = Validator("launched", "done", "something was sent out", _find_launch)
DOCUMENT_EDITED = Validator("document_edited", "done", "a document was edited", _find_document_edit)
PUSHED = Validator("pushed", "done", "the work was pushed or merged", _find_push)
