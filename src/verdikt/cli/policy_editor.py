"""The policy in force, and what it would be with more exceptions in the user's or the project's file."""

import os
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verdikt.cli.batch import observe_and_decide
from verdikt.cli.exception_file import add_exceptions
from verdikt.cli.policy_accept import accept_snapshot
from verdikt.errors import LedgerError
from verdikt.graph.guard_index import index_guards
from verdikt.graph.rule_exception import RuleException
from verdikt.hosts.wiring.file_change import write_file
from verdikt.ledger.store import OPERATOR
from verdikt.model.action import Action, ActionKind
from verdikt.model.entry import EntryKind
from verdikt.model.yaml_node import suggest_name
from verdikt.observe.policy_files import (
    POLICY_FILENAME,
    find_user_policy,
    open_policy_file,
    read_policy_file,
    read_policy_files,
)
from verdikt.observe.world import find_project_root
from verdikt.policy import build_policy
from verdikt.ratchet import PolicySnapshot
from verdikt.replay import replay

if TYPE_CHECKING:
    from verdikt.graph.policy import Policy
    from verdikt.ledger.files import FileStore
    from verdikt.model.verdict import Verdict
    from verdikt.replay import RecordedDecision

_MAX_RULES = 12
"""More rules than ever object to one action; the search for them ends here."""


@dataclass(frozen=True, slots=True)
class AllowedScope:
    """What is to be let through; `project` is empty for every project."""

    path: tuple[str, ...] = ()
    command: str = ""
    tool: str = ""
    project: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether nothing says what is to be let through."""
        return not (self.path or self.command or self.tool)


class PolicyEditor:
    """The policy in force in a directory, and what it would be with more exceptions in the user's or project's file."""

    def __init__(self, directory: str, author: str, now: int, *, in_project: bool) -> None:
        top = find_project_root(directory, os.environ.get("HOME", ""))
        self._directory = directory
        self._layer = "project" if in_project else "user"
        self.path = os.path.join(top, POLICY_FILENAME) if in_project else find_user_policy(os.environ)
        self._author = author
        self._date = datetime.fromtimestamp(now, UTC).date().isoformat()
        self._files = read_policy_files(directory, os.environ)
        data = next((file.data for file in self._files if file.path == self.path), b"")
        self._text = data.decode("utf-8", "surrogateescape")

    def build_exception(self, rule: str, scope: AllowedScope, reason: str) -> RuleException:
        """Return an exception with author and date."""
        return RuleException(
            rule=rule,
            reason=reason,
            path=scope.path,
            command=scope.command,
            tool=scope.tool,
            project=scope.project,
            by=self._author,
            date=self._date,
        )

    def build_policy(self, exceptions: Sequence[RuleException] = ()) -> "Policy":
        """Return the policy of all layers, with exceptions added to the edited file."""
        if not exceptions:
            return build_policy(self._files)
        data = add_exceptions(self._text, exceptions).encode("utf-8", "surrogateescape")
        above = ("managed",) if self._layer == "user" else ("managed", "user")
        higher = [file for file in self._files if file.layer in above and file.path != self.path]
        lower = [file for file in self._files if file.layer not in above and file.path != self.path]
        return build_policy([*higher, open_policy_file(self._layer, self.path, data), *lower])

    def complete_exceptions(self, exception: RuleException) -> list[RuleException]:
        """Return the exception, with those for further rules that would still stop what it is meant to let through."""
        exceptions = [exception]
        for action in _build_probes(exception, self._directory):
            # Only what this rule stops today is meant.
            if _probe(action, self.build_policy()).guard != exception.rule:
                continue
            while len(exceptions) < _MAX_RULES:
                verdict = _probe(action, self.build_policy(exceptions))
                if verdict.passed or verdict.red_line or any(each.rule == verdict.guard for each in exceptions):
                    break
                exceptions.append(replace(exception, rule=verdict.guard))
        # One that is in force already would only be written a second time.
        known = [replace(each, reason="-", by="", date="") for each in self.build_policy().exceptions if not each.until]
        return [each for each in exceptions if replace(each, reason="-", by="", date="") not in known]

    def find_needed_exceptions(self, past: "RecordedDecision", scope: AllowedScope, reason: str) -> list[RuleException]:
        """Return an exception for each rule that objects to a recorded call, until nothing does."""
        exceptions: list[RuleException] = []
        while len(exceptions) < _MAX_RULES:
            verdict = replay(past, self.build_policy(exceptions)).verdict
            if verdict.passed:
                return exceptions
            if verdict.red_line:
                raise LedgerError(f"`{verdict.guard}` is a red line: no grant and no exception gets past it")
            if any(exception.rule == verdict.guard for exception in exceptions):
                raise LedgerError(
                    f"no exception of yours gets past `{verdict.guard}`: it belongs to a higher layer, or is no rule"
                )
            exceptions.append(self.build_exception(verdict.guard, scope, reason))
        raise LedgerError("too many rules object to this; disable them in the policy, or use `verdikt pause`")

    def require_allowed(self, exceptions: Sequence[RuleException]) -> None:
        """Raise `LedgerError` if a rule does not exist or is a red line."""
        if not exceptions:
            raise LedgerError("the policy of today lets this through: nothing to allow")
        red_lines = index_guards(self.build_policy())
        for exception in exceptions:
            if exception.rule not in red_lines:
                hint = suggest_name(exception.rule, red_lines, list_names=False)
                raise LedgerError(f"no rule `{exception.rule}` in the policy in force here{hint}")
            if red_lines[exception.rule]:
                raise LedgerError(f"`{exception.rule}` is a red line: no grant and no exception gets past it")

    def write(self, store: "FileStore", exceptions: Sequence[RuleException]) -> dict[str, Any]:
        """Write the exceptions into the file and record them in the operator's log."""
        # The file may have changed while the person was reading.
        if (read_policy_file(self.path) or b"") != self._text.encode("utf-8", "surrogateescape"):
            raise LedgerError(f"`{self.path}` was changed meanwhile: try again")
        had_changes = bool(PolicySnapshot.read(os.getcwd(), os.environ).list_changes())
        Path(os.path.realpath(self.path)).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_file(self.path, add_exceptions(self._text, exceptions).encode("utf-8", "surrogateescape"))
        records = [_to_record(exception) for exception in exceptions]
        body = {"exceptions": records, "file": self.path, "layer": self._layer}
        store.append(OPERATOR, EntryKind.GRANT, body)
        # The person has just agreed to this change; other changes that wait are theirs to look at first.
        if not had_changes:
            accept_snapshot(PolicySnapshot.read(os.getcwd(), os.environ), store, how="allow")
        return body | {"pending": had_changes}


def _build_probes(exception: RuleException, directory: str) -> Iterator[Action]:
    """Yield calls that an exception may be meant for: its command, or a delete, a write and a read of its path."""
    if exception.command:
        yield Action(kind=ActionKind.BASH, tool="Bash", payload={"command": exception.command}, cwd=directory)
    for glob in exception.path:
        path = os.path.expanduser(glob).replace("**", "x").replace("*", "x").replace("?", "x")
        delete = {"command": f"rm -rf {shlex.quote(path)}"}
        yield Action(kind=ActionKind.BASH, tool="Bash", payload=delete, cwd=directory)
        yield Action(kind=ActionKind.WRITE, tool="Write", payload={"file_path": path, "content": ""}, cwd=directory)
        yield Action(kind=ActionKind.READ, tool="Read", payload={"file_path": path}, cwd=directory)


def _probe(action: Action, policy: "Policy") -> "Verdict":
    return observe_and_decide(action, policy, policy.posture, home=os.environ.get("HOME", "")).verdict


def _to_record(exception: RuleException) -> dict[str, Any]:
    return {key: list(value) if isinstance(value, tuple) else value for key, value in exception.dump().items()}
