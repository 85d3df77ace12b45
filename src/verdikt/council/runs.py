"""The runs directory: `<plan>.json` says what should run, `<plan>.verdict.json` what was found, side by side."""

import fcntl
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from verdikt.errors import FindingError
from verdikt.model.entry import EntryKind
from verdikt.model.finding import CouncilVerdict, Finding, Level, finding_id, finding_record, recorded_finding, seconds

PLAN_HASH = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
SUFFIX = ".verdict.json"
MAX_BYTES = 64 * 1024 * 1024
"""A verdict file longer than this is not one of ours."""


def runs_directory(env: Mapping[str, str]) -> Path:
    """`$VERDIKT_RUNS_DIR`, else `~/.claude/toolbox-runs`."""
    if named := env.get("VERDIKT_RUNS_DIR"):
        return Path(named).expanduser()
    return Path(env.get("HOME") or os.path.expanduser("~")) / ".claude" / "toolbox-runs"


def check_plan_hash(plan_hash: str) -> str:
    """The plan hash, if it can be part of a file name."""
    if not PLAN_HASH.match(plan_hash):
        raise FindingError(f"invalid plan_hash: expected letters, digits, `_` and `-`, at most 64, found `{plan_hash}`")
    return plan_hash


Log = Callable[[str, EntryKind, Mapping[str, Any]], None]
"""Takes what happened to a plan's findings into the log."""


class Runs:
    """Plans and verdicts on disk. Every write is whole or not at all; reviewers may record in parallel."""

    def __init__(self, directory: Path, now: Callable[[], float], log: Log | None = None) -> None:
        self.directory = directory
        self._now = now
        self._log = log or (lambda plan, kind, body: None)

    def plan_path(self, plan_hash: str) -> Path:
        """Where a plan lies."""
        return self.directory / f"{check_plan_hash(plan_hash)}.json"

    def verdict_path(self, plan_hash: str) -> Path:
        """Where the verdict on a plan lies: beside it."""
        return self.directory / f"{check_plan_hash(plan_hash)}{SUFFIX}"

    def load(self, plan_hash: str) -> CouncilVerdict | None:
        """The verdict on a plan, its level computed from its findings; None when there is none."""
        document = _document(self.verdict_path(plan_hash))
        return None if document is None else read_verdict(document, plan_hash)

    def history(self, plan_hash: str) -> list[dict[str, Any]]:
        """What was replaced, superseded and cleared, by whom and why, oldest first."""
        return _history(_document(self.verdict_path(plan_hash)))

    def record(self, plan_hash: str, *findings: Finding) -> CouncilVerdict:
        """Adds findings, perhaps none. One with the same id is replaced; one that is refined is superseded."""
        with self._changing(plan_hash) as change:
            fresh = [change.add(finding) for finding in findings]
            verdict = change.save()
        for finding in fresh:
            self._log(plan_hash, EntryKind.FINDING, {"finding": finding_record(finding)})
        return verdict

    def clear(self, plan_hash: str, id: str, *, by: str, why: str) -> CouncilVerdict | None:
        """Takes a finding away and leaves who did it and why; None when the plan has no verdict."""
        if not by.strip() or not why.strip():
            raise FindingError("expected who clears the finding and why, found neither; give --by and --why")
        if self.load(plan_hash) is None:
            return None
        with self._changing(plan_hash) as change:
            gone = [finding for finding in change.findings if finding.id == id]
            if not gone:
                return change.verdict
            for finding in gone:
                # In the log first: nothing is let through that is not on record.
                body = {"id": id, "by": by, "why": why, "finding": finding_record(finding)}
                self._log(plan_hash, EntryKind.FINDING_CLEARED, body)
                change.remove(finding, by=by, why=why)
            return change.save()

    def recent(self, *, limit: int = 10, min_level: str = "LOW") -> tuple[list[CouncilVerdict], list[str]]:
        """The verdicts changed last, newest first, and the names of files that could not be read."""
        least = Level.of(min_level)
        found: list[CouncilVerdict] = []
        unreadable: list[str] = []
        for path in sorted(self.directory.glob(f"*{SUFFIX}")):
            try:
                verdict = self.load(path.name.removesuffix(SUFFIX))
            except FindingError:
                unreadable.append(path.name)
            else:
                found += [verdict] if verdict else []
        chosen = [verdict for verdict in found if Level[verdict.level] >= least]
        chosen.sort(key=lambda verdict: (-verdict.updated_at, verdict.plan_hash))
        return chosen[: max(limit, 0)], unreadable

    @contextmanager
    def _changing(self, plan_hash: str) -> Iterator["_Change"]:
        path = self.verdict_path(plan_hash)
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            with locked(path):
                yield _Change(path, plan_hash, self._now)
        except OSError as error:
            raise FindingError(
                f"cannot write `{path}`: {error.strerror}; check the directory, or set VERDIKT_RUNS_DIR"
            ) from error


class _Change:
    """A verdict file under its lock."""

    def __init__(self, path: Path, plan_hash: str, now: Callable[[], float]) -> None:
        self._path = path
        self._at = now()
        document = _document(path)
        self.verdict = CouncilVerdict(plan_hash) if document is None else read_verdict(document, plan_hash)
        self.findings = list(self.verdict.findings)
        """What stands there now."""
        self._history = _history(document)

    def add(self, finding: Finding) -> Finding:
        """Puts a finding in its place, with the lineage of those it takes the place of."""
        supersedes: list[str] = []
        for old in list(self.findings):
            if old.id == finding.id:
                supersedes += old.supersedes
                if old != replace(finding, created_at=old.created_at, supersedes=old.supersedes):
                    self._note("replaced", old, by=finding.agent)
            elif refines(finding, old):
                supersedes += (*old.supersedes, old.id)
                self._note("superseded", old, by=finding.agent, why=f"refined as {finding.id}")
                self.findings.remove(old)
        lineage = tuple(id for id in dict.fromkeys(supersedes) if id != finding.id)
        fresh = replace(finding, created_at=self._at, supersedes=lineage)
        at = next((index for index, old in enumerate(self.findings) if old.id == finding.id), len(self.findings))
        self.findings[at : at + 1] = [fresh]
        return fresh

    def remove(self, finding: Finding, *, by: str, why: str) -> None:
        """Takes a finding away."""
        self._note("cleared", finding, by=by, why=why)
        self.findings.remove(finding)

    def save(self) -> CouncilVerdict:
        """Writes the verdict anew."""
        created = self.verdict.created_at or self._at
        fresh = CouncilVerdict(self.verdict.plan_hash, tuple(self.findings), created, self._at)
        write_json(self._path, fresh.record() | ({"history": self._history} if self._history else {}))
        return fresh

    def _note(self, event: str, finding: Finding, *, by: str, why: str = "") -> None:
        """Keeps what is about to go."""
        self._history.append({"event": event, "at": self._at, "by": by, "why": why, "finding": finding_record(finding)})


def refines(finding: Finding, old: Finding) -> bool:
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
            f"`{plan_hash}{SUFFIX}`: expected a list of findings, found something else; remove it and review again"
        )
    return CouncilVerdict(
        plan_hash,
        tuple(recorded_finding(item) for item in findings),
        seconds(document.get("created_at")),
        seconds(document.get("updated_at")),
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
def locked(path: Path) -> Iterator[None]:
    """Alone with a file, among everybody who asks this way; waits for those before."""
    with open(path.with_name(path.name + ".lock"), "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _document(path: Path) -> dict[str, Any] | None:
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


def _history(document: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    kept = (document or {}).get("history")
    return [item for item in kept if isinstance(item, dict)] if isinstance(kept, list) else []
