"""The runs directory: `<plan>.json` says what should run, `<plan>.verdict.json` what was found, side by side."""

import fcntl
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from verdikt.errors import FindingError
from verdikt.model.entry import EntryKind
from verdikt.model.finding import (
    CouncilVerdict,
    Finding,
    Level,
    Review,
    finding_from_record,
    finding_id,
    finding_to_record,
    parse_timestamp,
    reviews_from_record,
)
from verdikt.model.lazy_regex import compile_lazily
from verdikt.model.plan import Plan, plan_from_record
from verdikt.observe.world import expand_user

PLAN_HASH_PATTERN = compile_lazily(r"[A-Za-z0-9_-]{1,64}\Z")
VERDICT_SUFFIX = ".verdict.json"
MAX_BYTES = 64 * 1024 * 1024
"""A verdict file longer than this is not one of ours."""


def runs_directory(env: Mapping[str, str], configured: str = "") -> Path:
    """`$VERDIKT_RUNS_DIR`, else what the policy names, else `~/.claude/toolbox-runs`."""
    if named := env.get("VERDIKT_RUNS_DIR") or configured:
        return Path(expand_user(named, env))
    return Path(env.get("HOME") or os.path.expanduser("~")) / ".claude" / "toolbox-runs"


def check_plan_hash(plan_hash: str) -> str:
    """The plan hash, if it can be part of a file name."""
    if not PLAN_HASH_PATTERN.match(plan_hash):
        raise FindingError(f"invalid plan_hash: expected letters, digits, `_` and `-`, at most 64, found `{plan_hash}`")
    return plan_hash


FindingLogger = Callable[[str, EntryKind, Mapping[str, Any]], None]
"""Takes what happened to a plan's findings into the log."""


class Runs:
    """Plans and verdicts on disk. Every write is whole or not at all; reviewers may record in parallel."""

    def __init__(self, directory: Path, now: Callable[[], float], log: FindingLogger | None = None) -> None:
        self.directory = directory
        self._now = now
        self._log = log or (lambda plan, kind, body: None)

    def plan_path(self, plan_hash: str) -> Path:
        """Where a plan lies."""
        return self.directory / f"{check_plan_hash(plan_hash)}.json"

    def verdict_path(self, plan_hash: str) -> Path:
        """Where the verdict on a plan lies: beside it."""
        return self.directory / f"{check_plan_hash(plan_hash)}{VERDICT_SUFFIX}"

    def load(self, plan_hash: str) -> CouncilVerdict | None:
        """The verdict on a plan, its level computed from its findings; None when there is none."""
        document = _read_document(self.verdict_path(plan_hash))
        return None if document is None else read_verdict(document, plan_hash)

    def history(self, plan_hash: str) -> list[dict[str, Any]]:
        """What was replaced, superseded and cleared, by whom and why, oldest first."""
        return _read_history(_read_document(self.verdict_path(plan_hash)))

    def record(self, plan_hash: str, *findings: Finding, review: Review | None = None) -> CouncilVerdict:
        """Adds findings, perhaps none. One with the same id is replaced; one that is refined is superseded."""
        with self._edit_verdict(plan_hash) as change:
            fresh = [change.add_finding(finding) for finding in findings]
            if review:
                change.reviews = [*(old for old in change.reviews if old.reviewer != review.reviewer), review]
            verdict = change.save()
        for finding in fresh:
            self._log(plan_hash, EntryKind.FINDING, {"finding": finding_to_record(finding)})
        return verdict

    def clear(self, plan_hash: str, id: str, *, by: str, why: str) -> CouncilVerdict | None:
        """Takes a finding away and leaves who did it and why; None when the plan has no verdict."""
        if not by.strip() or not why.strip():
            raise FindingError("expected who clears the finding and why, found neither; give --by and --why")
        if self.load(plan_hash) is None:
            return None
        with self._edit_verdict(plan_hash) as change:
            gone = [finding for finding in change.findings if finding.id == id]
            if not gone:
                return change.verdict
            for finding in gone:
                # In the log first: nothing is let through that is not on record.
                body = {"id": id, "by": by, "why": why, "finding": finding_to_record(finding)}
                self._log(plan_hash, EntryKind.FINDING_CLEARED, body)
                change.remove_finding(finding, by=by, why=why)
            return change.save()

    def recent(self, *, limit: int = 10, min_level: str = "LOW") -> tuple[list[CouncilVerdict], list[str]]:
        """The verdicts changed last, newest first, and the names of files that could not be read."""
        least = Level.from_name(min_level)
        found: list[CouncilVerdict] = []
        unreadable: list[str] = []
        for path in sorted(self.directory.glob(f"*{VERDICT_SUFFIX}")):
            try:
                verdict = self.load(path.name.removesuffix(VERDICT_SUFFIX))
            except FindingError:
                unreadable.append(path.name)
            else:
                found += [verdict] if verdict else []
        chosen = [verdict for verdict in found if Level[verdict.level] >= least]
        chosen.sort(key=lambda verdict: (-verdict.updated_at, verdict.plan_hash))
        return chosen[: max(limit, 0)], unreadable

    def save_plan(self, plan: Plan) -> Plan:
        """Keeps a plan, unless it is there; the one that was there comes back as `cached`."""
        path = self.plan_path(plan.plan_hash)
        with _translate_write_errors(path):
            self.directory.mkdir(parents=True, exist_ok=True)
            with lock_file(path):
                try:
                    known = self.load_plan(plan.plan_hash)
                except FindingError:
                    known = None
                if known is None or known.guardrail != plan.guardrail:
                    write_json(path, plan.to_record())
        return plan if known is None else replace(plan, created_at=known.created_at, source="cached")

    def load_plan(self, plan_hash: str) -> Plan | None:
        """A plan, if its contents are those that its name stands for; None when there is none."""
        document = _read_document(self.plan_path(plan_hash))
        if document is None:
            return None
        plan = plan_from_record(document)
        if plan.plan_hash != plan_hash:
            raise FindingError(f"`{plan_hash}.json`: expected the plan {plan_hash}, found {plan.plan_hash}")
        return plan

    def plans(self) -> tuple[list[Plan], list[str]]:
        """Every plan, newest first, and the names of files that could not be read."""
        found: list[Plan] = []
        unreadable: list[str] = []
        for path in sorted(self.directory.glob("*.json")):
            if path.name.endswith(VERDICT_SUFFIX) or path.name.startswith("."):
                continue
            try:
                plan = self.load_plan(path.name.removesuffix(".json"))
            except FindingError:
                unreadable.append(path.name)
            else:
                found += [plan] if plan else []
        return sorted(found, key=lambda plan: (-plan.created_at, plan.plan_hash)), unreadable

    def purge(self, older_than_seconds: float) -> list[str]:
        """Deletes plans and verdicts that nobody changed for so long, unreadable ones included; their names."""
        last = self._now() - older_than_seconds
        ages: dict[str, float] = {}
        for path in self.directory.glob("*.json"):
            name = path.name.removesuffix(".json").removesuffix(".verdict")
            if PLAN_HASH_PATTERN.match(name):
                ages[name] = max(ages.get(name, 0.0), _last_changed(path))
        gone = sorted(name for name, at in ages.items() if at < last)
        for name in gone:
            for path in (self.plan_path(name), self.verdict_path(name)):
                with _translate_write_errors(path), lock_file(path):
                    path.unlink(missing_ok=True)
                    path.with_name(path.name + ".lock").unlink(missing_ok=True)
        return gone

    @contextmanager
    def _edit_verdict(self, plan_hash: str) -> Iterator["_VerdictEdit"]:
        path = self.verdict_path(plan_hash)
        with _translate_write_errors(path):
            self.directory.mkdir(parents=True, exist_ok=True)
            with lock_file(path):
                yield _VerdictEdit(path, plan_hash, self._now)


class _VerdictEdit:
    """A verdict file under its lock."""

    def __init__(self, path: Path, plan_hash: str, now: Callable[[], float]) -> None:
        self._path = path
        self._timestamp = now()
        document = _read_document(path)
        self.verdict = CouncilVerdict(plan_hash) if document is None else read_verdict(document, plan_hash)
        self.findings = list(self.verdict.findings)
        """What stands there now."""
        self.reviews = list(self.verdict.reviews)
        self._history = _read_history(document)

    def add_finding(self, finding: Finding) -> Finding:
        """Puts a finding in its place, with the lineage of those it takes the place of."""
        supersedes: list[str] = []
        for old in list(self.findings):
            if old.id == finding.id:
                supersedes += old.supersedes
                if old != replace(finding, created_at=old.created_at, supersedes=old.supersedes):
                    self._append_history("replaced", old, by=finding.agent)
            elif is_refinement(finding, old):
                supersedes += (*old.supersedes, old.id)
                self._append_history("superseded", old, by=finding.agent, why=f"refined as {finding.id}")
                self.findings.remove(old)
        lineage = tuple(id for id in dict.fromkeys(supersedes) if id != finding.id)
        fresh = replace(finding, created_at=self._timestamp, supersedes=lineage)
        at = next((index for index, old in enumerate(self.findings) if old.id == finding.id), len(self.findings))
        self.findings[at : at + 1] = [fresh]
        return fresh

    def remove_finding(self, finding: Finding, *, by: str, why: str) -> None:
        """Takes a finding away."""
        self._append_history("cleared", finding, by=by, why=why)
        self.findings.remove(finding)
        # Whoever found it has reported, and a failure that somebody cleared is one no longer.
        old = next((one for one in self.reviews if one.reviewer == finding.agent), Review(finding.agent))
        self.reviews = [*(one for one in self.reviews if one.reviewer != finding.agent), replace(old, failure="")]

    def save(self) -> CouncilVerdict:
        """Writes the verdict anew."""
        created = self.verdict.created_at or self._timestamp
        fresh = CouncilVerdict(
            self.verdict.plan_hash, tuple(self.findings), created, self._timestamp, tuple(self.reviews)
        )
        write_json(self._path, fresh.record() | ({"history": self._history} if self._history else {}))
        return fresh

    def _append_history(self, event: str, finding: Finding, *, by: str, why: str = "") -> None:
        """Keeps what is about to go."""
        self._history.append(
            {"event": event, "at": self._timestamp, "by": by, "why": why, "finding": finding_to_record(finding)}
        )


def is_refinement(finding: Finding, old: Finding) -> bool:
    """Whether a finding says anew, at another level, what the same reviewer said before.

    Two findings that were each given an id are about two things, whatever their titles.
    """
    same = old.agent == finding.agent and old.title == finding.title and old.level != finding.level
    return same and any(one.id == finding_id(one.level, one.agent, one.title) for one in (finding, old))


def read_verdict(document: Mapping[str, Any], plan_hash: str) -> CouncilVerdict:
    """The verdict in a document. Its level and summary are computed, whatever it says; `FindingError` when it is none."""
    findings = document.get("findings")
    if not isinstance(findings, list) or not all(isinstance(item, Mapping) for item in findings):
        raise FindingError(
            f"`{plan_hash}{VERDICT_SUFFIX}`: expected a list of findings, found something else; remove it and review again"
        )
    return CouncilVerdict(
        plan_hash,
        tuple(finding_from_record(item) for item in findings),
        parse_timestamp(document.get("created_at")),
        parse_timestamp(document.get("updated_at")),
        reviews_from_record(document.get("reviews")),
    )


def write_json(path: Path, record: Mapping[str, Any]) -> None:
    """Writes a whole file or nothing, and returns when it is on the disk."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    data = (json.dumps(record, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")
    with open(temporary, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


@contextmanager
def _translate_write_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise FindingError(
            f"cannot write `{path}`: {error.strerror}; check the directory, or set VERDIKT_RUNS_DIR"
        ) from error


def _last_changed(path: Path) -> float:
    """When the file says it was last changed, or when the disk does."""
    try:
        document = _read_document(path) or {}
    except FindingError:
        document = {}
    told = parse_timestamp(document.get("updated_at")) or parse_timestamp(document.get("created_at"))
    return told or path.stat().st_mtime


@contextmanager
def lock_file(path: Path) -> Iterator[None]:
    """Alone with a file, among everybody who asks this way; waits for those before."""
    name = path.with_name(path.name + ".lock")
    while True:
        with open(name, "a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                same = os.path.samestat(os.fstat(lock.fileno()), os.stat(name))
            except FileNotFoundError:
                same = False
            if same:  # and not one that a purge deleted while we waited
                yield
                return


def _read_document(path: Path) -> dict[str, Any] | None:
    """The JSON object in a file; None when there is no file."""
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise FindingError(f"`{path.name}`: expected at most {MAX_BYTES} bytes, found more")
        document = json.loads(data)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise FindingError(
            f"`{path.name}`: expected a JSON object, found a file that cannot be read ({error}); remove it and review again"
        ) from error
    if not isinstance(document, dict):
        raise FindingError(f"`{path.name}`: expected a JSON object, found something else; remove it and review again")
    return document


def _read_history(document: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    kept = (document or {}).get("history")
    return [item for item in kept if isinstance(item, dict)] if isinstance(kept, list) else []
