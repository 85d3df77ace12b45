"""What proves that something was done without a check of its own: only the gate asks for these, and nobody by name. Pure."""

import posixpath
import re
from collections.abc import Mapping

from verdikt.evidence.ran import handles
from verdikt.evidence.turn import TurnEvidence, same_path
from verdikt.evidence.validator import Validator, no_worse
from verdikt.model.tree import DOCS


def _exercised(turn: TurnEvidence, arguments: Mapping[str, str]) -> tuple[int, ...] | str:
    """A fresh run that names an edited file, or the module it is: the work was at least executed."""
    stems = {posixpath.splitext(posixpath.basename(path))[0] for path in turn.written if path != "*"}
    for call in reversed(turn.calls):
        for one in call.speaking("other"):
            if handles(one.argv):
                continue
            named = any(same_path(word, path) for word in one.argv for path in turn.written if path != "*")
            if turn.fresh(call) and (
                named or any(stem in word.split(".") for word in one.argv for stem in stems if len(stem) > 2)
            ):
                return (call.seq,)
    return "no check has run since the last edit"


def _edited(turn: TurnEvidence, arguments: Mapping[str, str]) -> tuple[int, ...] | str:
    found = [call.seq for call in turn.calls if not call.failed and call.edited]
    return tuple(found[-1:]) or "no file was edited"


def _effect(turn: TurnEvidence, arguments: Mapping[str, str]) -> tuple[int, ...] | str:
    for call in reversed(turn.calls):
        if call.speaking("other", "commit", "http", "build", "test") or (
            call.kind in ("mcp", "other", "agent") and call.ok
        ):
            return (call.seq,)
    return "no command in this turn did anything"


def _launched(turn: TurnEvidence, arguments: Mapping[str, str]) -> tuple[int, ...] | str:
    for call in reversed(turn.calls):
        went = any(not handles(one.argv) or one.argv[:2] == ("git", "push") for one in call.speaking("other", "build"))
        if went or (call.kind in ("mcp", "other", "agent") and call.ok):
            return (call.seq,)
    return "nothing in this turn deployed, published or reached anything"


def _document(turn: TurnEvidence, arguments: Mapping[str, str]) -> tuple[int, ...] | str:
    found = [
        call.seq for call in turn.calls if not call.failed and any(path.lower().endswith(DOCS) for path in call.edited)
    ]
    return tuple(found[-1:]) or "no document was edited"


def _pushed(turn: TurnEvidence, arguments: Mapping[str, str]) -> tuple[int, ...] | str:
    for call in reversed(turn.calls):
        sent = any(
            one.argv[0] in ("git", "gh", "glab") and {"push", "merge", "pr", "mr"} & set(one.argv[1:5])
            for one in call.speaking("other")
        )
        if sent or (call.kind == "mcp" and call.ok and re.search(r"push|merge|pull_request", call.tool)):
            return (call.seq,)
    return "no push or merge in this turn"


NO_WORSE = Validator("tests_no_worse", "done", "tests fail as they did before the work", no_worse)
EXERCISED = Validator("work_exercised", "done", "the edited file was run since", _exercised)
EDITED = Validator("work_edited", "done", "a file was edited, and the message says that it was not checked", _edited)
EFFECT = Validator("command_effect", "done", "a command that does more than look succeeded", _effect)
LAUNCHED = Validator("launched", "done", "something was sent out", _launched)
DOCUMENT = Validator("document_edited", "done", "a document was edited", _document)
PUSHED = Validator("pushed", "done", "the work was pushed or merged", _pushed)
