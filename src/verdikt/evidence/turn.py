"""What happened in a turn, as far as the log knows: the ground that claims stand on. Pure."""

import posixpath
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from verdikt.evidence.call import LoggedCall, read_call
from verdikt.evidence.contract import Contract
from verdikt.evidence.ran import Run
from verdikt.model.entry import Entry, EntryKind

DOCS = (".md", ".rst", ".txt", ".adoc", ".log")
"""Endings of files whose change makes no test stale."""


@dataclass(frozen=True, slots=True)
class TurnEvidence:
    """A turn from its first entry to now. `best` is the largest number of tests seen green before, by command."""

    calls: tuple[LoggedCall, ...] = ()
    contract: Contract | None = None
    decided: frozenset[str] = frozenset()
    best: Mapping[str, int] = field(default_factory=dict)
    passes: tuple[tuple[int, str, str], ...] = ()  # (seq, claim, validator) that somebody had checked in this turn
    gaps: int = 0  # calls that could not be logged
    unproven_child: int = 0  # where in the log a sub-agent ended without proof; 0: none did

    @property
    def edits(self) -> tuple[LoggedCall, ...]:
        """The calls that changed something that tests could be about."""
        return tuple(call for call in self.calls if not call.failed and relevant(call))

    @property
    def last_edit(self) -> int:
        """The seq of the last of them; 0 when there is none."""
        return self.edits[-1].seq if self.edits else 0

    @property
    def written(self) -> tuple[str, ...]:
        """Every file that was changed, by absolute path where it is known."""
        return tuple(dict.fromkeys(path for call in self.calls if not call.failed for path in call.edited))

    def fresh(self, call: LoggedCall) -> bool:
        """Whether nothing relevant was changed after a call."""
        return call.seq >= self.last_edit


def read_turn(
    entries: Iterable[Entry],
    *,
    best: Mapping[str, int] | None = None,
    trusted: Callable[[Entry], bool] = lambda entry: False,
) -> TurnEvidence:
    """The turn that these entries make; of explicit validations only those count that `trusted` vouches for."""
    calls: list[LoggedCall] = []
    decided: set[str] = set()
    passes: list[tuple[int, str, str]] = []
    contract, child, gaps = None, 0, 0
    for entry in entries:
        if entry.kind is EntryKind.TOOL_CALL:
            calls.append(read_call(entry))
        elif entry.kind is EntryKind.DECISION:
            decided.add(str(entry.body.get("call_id", "")))
        elif entry.kind is EntryKind.CONTRACT:
            contract = Contract.of(entry.body)
        elif entry.kind is EntryKind.VALIDATOR_PASS and entry.body.get("explicit") and trusted(entry):
            passes.append((entry.seq, str(entry.body.get("claim", "")), str(entry.body.get("validator", ""))))
        elif entry.kind is EntryKind.GAP and entry.body.get("moment") == "after":
            gaps += 1
        elif entry.kind is EntryKind.COMPLETION and "child" in entry.body:
            child = entry.seq if entry.body.get("result") in ("ended_unproven", "refused") else child
    return TurnEvidence(tuple(calls), contract, frozenset(decided - {""}), best or {}, tuple(passes), gaps, child)


def relevant(call: LoggedCall) -> bool:
    """Whether a call changed a file that is neither documentation nor a passing thing."""
    own = [run for run in call.runs if run.kind in ("test", "build", "lint")]
    for path in call.edited:
        if path == "*":
            return True
        if own and path not in call.written:
            continue
        passing = path.startswith(("/tmp/", "/var/tmp/", "/dev/")) and not below(path, call.cwd)
        if not path.lower().endswith(DOCS) and not passing:
            return True
    return False


def same_place(call: LoggedCall, run: Run, path: str) -> bool:
    """Whether a run was about the tree that a file belongs to, and not about another copy of it."""
    if not path.startswith("/") or not call.cwd.startswith("/"):
        return True
    where = posixpath.normpath(posixpath.join(call.cwd, run.cwd)) if run.cwd else call.cwd
    return below(path, where) or (below(where, call.cwd) and below(path, call.cwd))


def below(path: str, directory: str) -> bool:
    """Whether a path is a directory or lies below it."""
    directory = directory.rstrip("/")
    return path == directory or path.startswith(directory + "/") or directory == ""


def same_path(one: str, other: str) -> bool:
    """Whether two names mean the same file: equal, or one ends with all segments of the other."""
    first, second = (
        [part for part in name.replace("\\", "/").split("/") if part not in ("", ".", "~")] for name in (one, other)
    )
    if not first or not second:
        return False
    size = min(len(first), len(second))
    if one.startswith("/") and other.startswith("/"):
        return first == second
    return first[-size:] == second[-size:]
