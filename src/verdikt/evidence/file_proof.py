"""Proof of a claim that files were created, renamed, moved or deleted: the file system shows it. Pure."""

import re

from verdikt.claims.named_objects import find_changed_names, find_directory_names, find_file_names, list_pairs
from verdikt.claims.wording import has_wording
from verdikt.evidence.change_proof import (
    find_edit_entries,
    find_unparsable,
    is_changed,
    list_changed_paths,
    prove_change,
)
from verdikt.evidence.proof_request import Missing, ProofRequest, hold
from verdikt.evidence.validator import Proof
from verdikt.model.lazy_regex import compile_lazily
from verdikt.model.work_tree import EMPTY_STAMPS, classify_file
from verdikt.turns.turn import TurnEvidence, is_path_below, is_same_path

_FILE_WORK = compile_lazily(
    r"\b(?:creat|delet|remov|renam|mov|copi)\w*(?: \w+){0,3} [`\"']*(?:[\w./-]+/)*[\w.-]+(?:\.\w+|/)?[`\"']*"
    r"(?: (?:directory|folder|file|to|into)\b|\W*$)",
    re.IGNORECASE,
)


_ALIKE = ("and", ",、&")
"""Wording and marks between two names that were treated alike: `a.txt and b.txt`."""
_BECOMES = ("into", "→->=")
"""Wording and marks between two names of which the first became the second: `a.txt → b.txt`."""


def is_about_files(text: str) -> bool:
    """Return whether a sentence reports that whole files or directories were created, renamed, moved or deleted."""
    return bool(_FILE_WORK.search(text)) and bool(find_file_names(text) or find_directory_names(text))


def prove_file_operation(request: ProofRequest) -> Proof | Missing:
    """Prove that files or directories were created, renamed, moved or deleted: the file system shows it."""
    names = (*find_file_names(request.text), *find_directory_names(request.text))
    names = tuple(dict.fromkeys(name for name in names if name in request.turn.facts.paths))
    if not names or (request.turn.facts.changes is None and not request.turn.calls):
        return prove_change(request)
    # `Copied a.json to b.json`: whatever was done, the second one is there.
    for _, target in list_pairs(request.text, names, *_BECOMES):
        if not request.turn.facts.paths.get(target):
            return Missing(f"`{target}` does not exist")
    if has_wording("move", request.text):
        return _prove_move(request, names)
    if has_wording("delete", request.text):
        return _prove_deletion(request, names)
    if has_wording("create", request.text):
        return _prove_creation(request, names)
    # `build/ no longer exists`, in whichever words.
    return prove_change(request) if any(map(request.turn.facts.paths.get, names)) else _prove_deletion(request, names)


def _find_survivor(request: ProofRequest, names: tuple[str, ...], gone: list[str]) -> str:
    """Return a file that is said to be deleted, and was only emptied or left as it was; empty without one."""
    facts = request.turn.facts
    emptied = [path for path, (_, new) in (facts.changes or {}).items() if new in EMPTY_STAMPS]
    objects = find_changed_names(request.text)
    if name := next((name for name in objects if is_changed(name, tuple(emptied))), ""):
        return name
    for pair in list_pairs(request.text, names, *_ALIKE):
        left = [name for name in pair if name not in gone]
        if len(left) == 1 and facts.changes is not None and not is_changed(left[0], tuple(facts.changes)):
            return left[0]
    return ""


def _prove_deletion(request: ProofRequest, names: tuple[str, ...]) -> Proof | Missing:
    turn, facts = request.turn, request.turn.facts
    gone = [name for name in names if not facts.paths.get(name) or name in facts.deleted_paths]
    if survivor := _find_survivor(request, names, gone):
        return Missing(f"`{survivor}` still exists")
    if not gone:
        # `removed the flag from app.py`: what was deleted is inside the file.
        if any(is_changed(name, list_changed_paths(turn)) for name in names):
            return prove_change(request)
        return Missing(f"`{names[0]}` still exists")
    for name in gone:
        was_there = any(is_path_below(path, name) or is_same_path(path, name) for path in facts.deleted_paths)
        if not was_there and not _find_handling(turn, name):
            return Missing(f"nothing in this turn deleted `{name}`")
    return hold("file_state", *_find_handling(turn, gone[0]))


def _prove_move(request: ProofRequest, names: tuple[str, ...]) -> Proof | Missing:
    turn, facts = request.turn, request.turn.facts
    changed = {*facts.created_paths, *facts.deleted_paths}
    for old, new in list_pairs(request.text, names, *_BECOMES):
        # What was moved out of a file that was changed was a part of it.
        is_whole = is_changed(new, facts.created_paths) and not is_changed(
            old, tuple(set(facts.changes or ()) - changed)
        )
        if is_whole and facts.paths.get(old) and old not in facts.deleted_paths:
            return Missing(f"`{old}` still exists")
    for name in names:
        touched = any(is_path_below(path, name) or is_same_path(path, name) for path in changed)
        if not touched and not _find_handling(turn, name):
            # Something in the file was renamed or moved, not the file.
            return prove_change(request)
    existing = [name for name in names if facts.paths.get(name) and name not in facts.deleted_paths]
    arrived = {path.rpartition("/")[2] for path in facts.created_paths}
    # `Moved a.txt and b.txt to the archive`: all that is named is where it was.
    if not existing and arrived.issuperset(name.rpartition("/")[2] for name in names):
        return hold("file_state", *_find_handling(turn, names[0]))
    if len(names) > 1 and (not existing or len(existing) == len(names)):
        wrong = f"`{names[0]}` still exists" if existing else f"`{names[-1]}` does not exist"
        return Missing(wrong)
    if len(names) == 1 and not existing and not facts.created_paths:
        return Missing(f"`{names[0]}` does not exist")
    return hold("file_state", *_find_handling(turn, names[0]))


def _prove_creation(request: ProofRequest, names: tuple[str, ...]) -> Proof | Missing:
    turn, facts = request.turn, request.turn.facts
    changed = list_changed_paths(turn)
    for name in find_changed_names(request.text) or names:
        if name in facts.paths and not facts.paths[name]:
            return Missing(f"`{name}` does not exist")
        touched = any(is_path_below(path, name) for path in changed) or is_changed(name, changed)
        if not touched and not _find_handling(turn, name):
            return Missing(f"`{name}` was not created or changed since you were asked")
    if any(classify_file(path) == "code" for path in facts.changes or ()):
        return prove_change(request)
    if (missing := find_unparsable(turn)) is not None:
        return missing
    return hold("file_state", *find_edit_entries(turn))


def _find_handling(turn: TurnEvidence, name: str) -> tuple[int, ...]:
    """Return the last successful call that wrote, moved or deleted this path."""
    return turn.find_last(
        lambda call: (
            not call.failed
            and any(
                is_same_path(name, word.rstrip("/"))
                for word in (*call.edited, *(word for run in call.runs if run.kind == "other" for word in run.argv[1:]))
            )
        )
    )
