"""The evidence of one turn, read from the log: what claims are compared with. Pure."""

import posixpath
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from verdikt.model.entry import Entry, EntryKind
from verdikt.model.work_tree import classify_file, name_test_run
from verdikt.prompts.contract import Contract
from verdikt.runs.logged_call import LoggedCall, read_call, read_tree_digest
from verdikt.runs.program_kinds import list_chosen_packages
from verdikt.runs.shell_runs import ProgramRun
from verdikt.turns.facts import TreeState, TurnFacts

MAX_CONTINUATIONS = 20
"""Maximum number of continued requests to follow back to the first."""


@dataclass(frozen=True, slots=True)
class TurnEvidence:
    """A turn from its first entry to now. `best_test_counts` is the most tests seen passing before, by command."""

    calls: tuple[LoggedCall, ...] = ()
    contract: Contract | None = None
    decision_call_ids: frozenset[str] = frozenset()
    best_test_counts: Mapping[str, int] = field(default_factory=dict)
    validator_passes: tuple["CheckedClaim", ...] = ()  # what was validated explicitly in this turn
    gaps: int = 0  # calls that could not be logged
    unproven_child: int = 0  # where in the log a sub-agent ended without proof; 0: none did
    trees: Mapping[str, TreeState] = field(default_factory=dict)  # root → the sources as they are now
    unlisted: frozenset[str] = frozenset()  # edited files that no fingerprint covers, such as ignored ones
    facts: TurnFacts = field(default_factory=TurnFacts)
    earlier: tuple[LoggedCall, ...] = ()  # calls of turns before, when this one goes on with what was asked for then
    accepts_fewer_tests: bool = False  # the message says itself that tests are gone or skipped

    def record_facts(self) -> dict[str, Any]:
        """Return what was seen when the turn ended, as plain data; `restore_facts` reads it."""
        trees = {root: tree.record() for root, tree in self.trees.items()}
        return self.facts.record() | {"trees": trees, "unlisted": sorted(self.unlisted)[:200]}

    def restore_facts(self, record: Mapping[str, Any]) -> "TurnEvidence":
        """Return the turn with the facts that were recorded when it ended, for a replay."""
        trees = {root: TreeState.from_record(root, tree) for root, tree in (record.get("trees") or {}).items()}
        unlisted = frozenset(map(str, record.get("unlisted") or ()))
        return replace(self, facts=TurnFacts.from_record(record), trees=trees, unlisted=unlisted)

    @property
    def edits(self) -> tuple[LoggedCall, ...]:
        """Return the calls that changed something that tests could cover."""
        return tuple(call for call in self.calls if not call.failed and has_source_edit(call))

    @property
    def sources(self) -> tuple[str, ...]:
        """Return the changed files that tests could cover, as far as they are known by name."""
        named = (path for call in self.edits for path in call.edited if path != "*" and is_source_file(path, call.cwd))
        return tuple(dict.fromkeys(named))

    @property
    def last_edit(self) -> int:
        """Return the seq of the last call that changed sources; 0 when there is none."""
        return self.edits[-1].seq if self.edits else 0

    @property
    def edit_paths(self) -> tuple[str, ...]:
        """Return every file that was changed, by absolute path where it is known."""
        return tuple(dict.fromkeys(path for call in self.calls if not call.failed for path in call.edited))

    def assume_unknown_success(self) -> "TurnEvidence":
        """Return the turn as if every command had succeeded of which the host does not tell how it ended."""
        calls = (replace(call, ok=True, status_unknown=False) if call.status_unknown else call for call in self.calls)
        return replace(self, calls=tuple(calls))

    def find_last(self, is_match: Callable[[LoggedCall], bool]) -> tuple[int, ...]:
        """Return the number of the last call that matches, as the entries of a proof; empty without one."""
        return next(((call.seq,) for call in reversed(self.calls) if is_match(call)), ())

    def is_fresh(self, call: LoggedCall) -> bool:
        """Return whether nothing relevant was changed after a call."""
        return not self.describe_change_since(call)

    def describe_change_since(self, call: LoggedCall) -> str:
        """Return what was changed after a call, in words that follow `before`; empty when nothing was.

        Where the sources were fingerprinted when the call ended, the fingerprint decides: a formatter that changed
        nothing makes nothing stale, and a script that changed something does. Files outside the fingerprint are judged
        by the log alone.
        """
        now = self.trees.get(call.tree[0])
        if now is None or not call.tree[1]:
            return "the last edit" if call.seq < self.last_edit else ""
        if now.digest != call.tree[1]:
            paths = now.find_changed_since(call.tree_head, call.tree_files)
            newest = max(paths, key=lambda path: now.modified.get(path, 0.0), default="")
            path = newest or now.find_newest_since(call.ended)
            return f"`{path}` was changed" if path else "the sources were changed"
        later = (path for edit in self.edits if edit.seq > call.seq for path in edit.written)
        is_covered = not any(path in self.unlisted for path in later if is_source_file(path, call.cwd))
        return "" if is_covered else "the last edit"

    def find_work_elsewhere(self, call: LoggedCall, run: ProgramRun) -> str:
        """Return the file, or the root, of work in another copy of the project than a run was about; empty if none."""
        path = next((path for path in self.sources if not is_same_tree(call, run, path)), "")
        root, other = self.facts.root, call.tree[0]
        is_apart = bool(root and other) and not is_path_below(other, root) and not is_path_below(root, other)
        # The work itself may be elsewhere: in another work tree of the repository.
        is_apart = is_apart and not any(is_path_below(edited, other) for edited in self.edit_paths)
        return path.removeprefix(f"{root}/") or (root if is_apart else "") or self.find_other_package(run.kind)

    def find_other_package(self, kind: str) -> str:
        """Return changed code in a package that no fresh run of this kind was about; empty if there is none."""
        facts = self.facts
        if not facts.packages:
            return ""
        scopes = self.list_scopes(kind)
        for path in facts.changed_of_kind("code"):
            package = facts.find_package(path)
            # A run of the whole project, or of a package around or inside the changed one, may well be about it.
            if package and not any(is_path_below(package, scope) or is_path_below(scope, package) for scope in scopes):
                return path
        return ""

    def list_scopes(self, kind: str) -> set[str]:
        """Return the directories of the project that its fresh runs of this kind were about; empty text for all."""
        return {
            scope
            for call in self.calls
            for run in call.runs
            if run.kind == kind and not call.failed and self.is_fresh(call)
            for scope in self._list_run_scopes(call, run)
        }

    def _list_run_scopes(self, call: LoggedCall, run: ProgramRun) -> set[str]:
        root = self.facts.root
        where = posixpath.normpath(posixpath.join(call.cwd, run.cwd))
        if not is_path_below(where, root):
            return {""}
        paths = (posixpath.normpath(posixpath.join(where, word.partition("=")[2] or word)) for word in run.argv[1:])
        named = {posixpath.relpath(path, root) for path in paths if path != root and is_path_below(path, root)}
        # `pytest packages/web`, `npm test -w packages/web`: the words name packages, whatever the options are called.
        chosen = {package for path in named if (package := self.facts.find_package(path))}
        names = {name.rpartition("/")[2] for name in list_chosen_packages(run.argv)}
        chosen |= {package for package in self.facts.packages if posixpath.basename(package) in names}
        return chosen or {"" if where == root else posixpath.relpath(where, root)}

    @property
    def can_have_changed_files(self) -> bool:
        """Return whether any call of the turn could have written a file, as opposed to reading and checking only.

        What another session or a person changed meanwhile is not this agent's work.
        """
        return any(
            call.edited or call.kind == "write" or any(run.kind == "commit" for run in call.runs) or _is_opaque(call)
            for call in (*self.earlier, *self.calls)
        )

    def list_foreign_changes(self, *kinds: str) -> frozenset[str]:
        """Return the changed files of these kinds that no call wrote, where each call names the files it writes.

        What a script or another agent writes is not known; then nothing is foreign. A check writes no code, but may
        well write data.
        """
        calls = (*self.earlier, *self.calls)
        is_logged = not self.gaps and self.decision_call_ids <= {call.call_id for call in calls}
        if not is_logged or any(map(_is_opaque, calls)):
            return frozenset()
        edited = [path for call in calls for path in call.edited]
        changed = self.facts.changed_of_kind(*kinds)
        return frozenset(path for path in changed if not any(is_same_path(path, other) for other in edited))

    @property
    def smaller_test_runs(self) -> dict[str, int]:
        """Return command → number of tests, of the runs that were smaller than the largest one before."""
        return {
            name: call.tests.total
            for call in self.calls
            for run in call.runs
            if call.tests
            and call.tests.total < self.best_test_counts.get(name := name_test_run(call.cwd, run.cwd, run.argv), 0)
        }

    def is_still_valid(self, checked: "CheckedClaim") -> bool:
        """Return whether an explicit validation still holds: nothing was changed since."""
        now = self.trees.get(checked.tree[0])
        if now is not None:
            return now.digest == checked.tree[1]
        calls_by_seq = {call.seq: call for call in self.calls}
        fingerprinted = [
            calls_by_seq[seq] for seq in checked.entries if seq in calls_by_seq and calls_by_seq[seq].tree[1]
        ]
        return all(map(self.is_fresh, fingerprinted)) if fingerprinted else checked.seq > self.last_edit


@dataclass(frozen=True, slots=True)
class CheckedClaim:
    """A claim that was validated explicitly, by the validator's name, and held then."""

    seq: int
    claim: str
    validator: str
    entries: tuple[int, ...] = ()
    tree: tuple[str, str] = ("", "")  # the root and the digest of the sources, where a sub-agent had it checked


def read_turn(
    entries: Iterable[Entry],
    *,
    best_test_counts: Mapping[str, int] | None = None,
    is_trusted: Callable[[Entry], bool] = lambda entry: False,
) -> TurnEvidence:
    """Return the turn of these entries; explicit validations count only when `is_trusted` accepts them."""
    calls: list[LoggedCall] = []
    decided: dict[str, tuple[str, ...]] = {}
    passes: list[CheckedClaim] = []
    contract, child, gaps = None, 0, 0
    for entry in entries:
        if entry.kind is EntryKind.TOOL_CALL:
            call = read_call(entry)
            # Edits by code inside a command (`python -c …`) are only known from the decision.
            foreseen = decided.get(call.call_id, ())
            calls.append(replace(call, edited=tuple(dict.fromkeys((*call.edited, *foreseen)))) if foreseen else call)
        elif entry.kind is EntryKind.DECISION:
            decided[str(entry.body.get("call_id", ""))] = predict_edits(entry.body)
        elif entry.kind is EntryKind.CONTRACT:
            contract = Contract.from_record(entry.body)
        elif entry.kind is EntryKind.VALIDATOR_PASS and entry.body.get("explicit") and is_trusted(entry):
            passes.append(_read_validator_pass(entry))
        elif entry.kind is EntryKind.GAP and entry.body.get("moment") == "after":
            # A file that was put back is in the log; no call is missing for it.
            gaps += "restored" not in entry.body
        elif entry.kind is EntryKind.COMPLETION and "child" in entry.body:
            child = entry.seq if entry.body.get("result") in ("ended_unproven", "refused") else child
    return TurnEvidence(
        tuple(calls), contract, frozenset(decided) - {""}, best_test_counts or {}, tuple(passes), gaps, child
    )


def _is_opaque(call: LoggedCall) -> bool:
    """Return whether a call may have written files that it does not name."""
    return (
        "*" in call.edited
        or call.kind in ("mcp", "other", "agent", "execute_code", "submit_task")
        or any(run.kind in ("other", "build") for run in call.runs)
    )


def find_first_request(contract: int, read_entry: Callable[[int], Entry | None]) -> int:
    """Return the seq of the request that a contract continues, over several steps; 0 when it continues none."""
    first = 0
    for _ in range(MAX_CONTINUATIONS):
        entry = read_entry(contract) if contract else None
        extends = entry.body.get("extends", 0) if entry and entry.kind is EntryKind.CONTRACT else 0
        # Only ever backwards: a damaged entry that points to itself must not make a loop.
        if not isinstance(extends, int) or not 0 < extends < contract:
            break
        first = contract = extends
    return first


def _read_validator_pass(entry: Entry) -> CheckedClaim:
    body = entry.body
    rests = tuple(seq for seq in body.get("entries", ()) if isinstance(seq, int))
    tree = read_tree_digest(body.get("tree"))
    return CheckedClaim(entry.seq, str(body.get("claim", "")), str(body.get("validator", "")), rests, tree)


def predict_edits(decision: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the files that a call was expected to change when it was decided, by whichever program or code."""
    receipt = decision.get("receipt")
    effects = receipt.get("effects") if isinstance(receipt, Mapping) else None
    paths = []
    for effect in effects if isinstance(effects, list | tuple) else ():
        if effect.get("class") not in ("write", "destructive") or effect.get("certainty") != "certain":
            continue
        targets = effect.get("targets") or ()
        paths += [str(target["path"]) for target in targets if target.get("zone") == "project" and target.get("path")]
    return tuple(dict.fromkeys(paths))[:40]


def has_source_edit(call: LoggedCall) -> bool:
    """Return whether a call changed a file that is neither documentation nor temporary."""
    own = [run for run in call.runs if run.kind in ("test", "build", "lint")]
    for path in call.edited:
        if path == "*":
            return True
        # Caches and reports of a check itself do not make its result stale.
        if own and path not in call.written:
            continue
        if is_source_file(path, call.cwd):
            return True
    return False


def is_source_file(path: str, cwd: str) -> bool:
    """Return whether tests could cover a file: it is neither a document, a style, an asset nor temporary."""
    is_temporary = path.startswith(("/tmp/", "/var/tmp/", "/dev/")) and not is_path_below(path, cwd)
    relative = posixpath.relpath(path, cwd) if path.startswith("/") and cwd.startswith("/") else path
    return classify_file(relative) in ("code", "data", "other") and not is_temporary


def is_same_tree(call: LoggedCall, run: ProgramRun, path: str) -> bool:
    """Return whether a run was about the tree that a file belongs to, and not about another copy of it."""
    if not path.startswith("/") or not call.cwd.startswith("/"):
        return True
    where = posixpath.normpath(posixpath.join(call.cwd, run.cwd)) if run.cwd else call.cwd
    return is_path_below(path, where) or (is_path_below(where, call.cwd) and is_path_below(path, call.cwd))


def is_path_below(path: str, directory: str) -> bool:
    """Return whether a path is a directory or lies below it."""
    directory = directory.rstrip("/")
    return path == directory or path.startswith(directory + "/") or directory == ""


def is_same_path(path: str, other: str) -> bool:
    """Return whether two names mean the same file: equal, or one ends with all segments of the other."""
    first, second = (
        [part for part in name.replace("\\", "/").split("/") if part not in ("", ".", "~")] for name in (path, other)
    )
    if not first or not second:
        return False
    size = min(len(first), len(second))
    # Two absolute paths are compared whole; a relative one may be the end of the other.
    if path.startswith("/") and other.startswith("/"):
        return first == second
    return first[-size:] == second[-size:]
