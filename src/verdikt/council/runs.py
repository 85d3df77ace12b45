"""The runs directory: plans in `<plan>.json` and, beside them, verdicts in `<plan>.verdict.json`."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from verdikt.council.json_file import lock_file, read_document, translate_write_errors, write_json
from verdikt.errors import FindingError
from verdikt.model.entry import EntryKind
from verdikt.model.finding import (
    BLOCKING_LEVELS,
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
from verdikt.model.reporter import Reporter
from verdikt.observe.world import expand_user

PLAN_HASH_PATTERN = compile_lazily(r"[A-Za-z0-9_-]{1,64}\Z")
VERDICT_SUFFIX = ".verdict.json"
# Files that a finding without evidence is logged with; it is carried while one of them is part of a plan.
_MAX_LOGGED_FILES = 200


def runs_directory(env: Mapping[str, str], configured: str = "") -> Path:
    """Return `$VERDIKT_RUNS_DIR`, else the directory of the policy, else `~/.claude/toolbox-runs`."""
    if named := env.get("VERDIKT_RUNS_DIR") or configured:
        return Path(expand_user(named, env))
    return Path(env.get("HOME") or os.path.expanduser("~")) / ".claude" / "toolbox-runs"


def check_plan_hash(plan_hash: str) -> str:
    """Return the plan hash if it can be part of a file name; raise `FindingError` otherwise."""
    # It comes from the command line: `../` in it would lead out of the directory.
    if not PLAN_HASH_PATTERN.match(plan_hash):
        raise FindingError(f"invalid plan_hash: expected letters, digits, `_` and `-`, at most 64, found `{plan_hash}`")
    return plan_hash


FindingLogger = Callable[[str, EntryKind, Sequence[Mapping[str, Any]]], None]
"""Records changes of a plan's findings in the log: plan hash, kind of entry, one body for each entry."""

LoweringCheck = Callable[[Finding, Finding], None]
"""Raises when a finding (the second) may not take the place of a worse one (the first)."""


class Runs:
    """Plans and verdicts on disk. Every write is atomic; reviewers may record in parallel."""

    def __init__(self, directory: Path, now: Callable[[], float], log: FindingLogger | None = None) -> None:
        self.directory = directory
        self._now = now
        self._log = log or (lambda plan, kind, body: None)

    def plan_path(self, plan_hash: str) -> Path:
        """Return the path of a plan."""
        return self.directory / f"{check_plan_hash(plan_hash)}.json"

    def verdict_path(self, plan_hash: str) -> Path:
        """Return the path of the verdict on a plan."""
        return self.directory / f"{check_plan_hash(plan_hash)}{VERDICT_SUFFIX}"

    def load(self, plan_hash: str) -> CouncilVerdict | None:
        """Return the verdict on a plan, with the level computed from its findings; None when there is none."""
        document = read_document(self.verdict_path(plan_hash))
        return None if document is None else read_verdict(document, plan_hash)

    def history(self, plan_hash: str) -> list[dict[str, Any]]:
        """Return the findings that were replaced, superseded or cleared, by whom and why, oldest first."""
        return _read_history(read_document(self.verdict_path(plan_hash)))

    def record(
        self,
        plan_hash: str,
        *findings: Finding,
        review: Review | None = None,
        reporter: Reporter = Reporter.PERSON,
        check_lowering: LoweringCheck | None = None,
    ) -> CouncilVerdict:
        """Add findings, if any; replace those with the same id, supersede those that are refined.

        `check_lowering` is called before a worse finding is replaced, and stops the whole change by raising. The log
        has every finding and every review with the reporter, by whose identity it counts.
        """
        with self._edit_verdict(plan_hash) as change:
            added = [change.add_finding(finding, check_lowering) for finding in findings]
            if review:
                change.reviews = [*(old for old in change.reviews if old.reviewer != review.reviewer), review]
            verdict = change.save()
        origin = {"reporter": reporter.value} | (self._describe_plan(plan_hash) if added or review else {})
        contents = origin.pop("contents", {})
        if added:
            bodies = [
                {"finding": finding_to_record(finding), "contents": _select_contents(finding, contents), **origin}
                for finding in added
            ]
            self._log(plan_hash, EntryKind.FINDING, bodies)
        if review:
            self._log(plan_hash, EntryKind.REVIEW, [{"review": review.to_record(), **origin}])
        return verdict

    def _describe_plan(self, plan_hash: str) -> dict[str, Any]:
        """Return the repository, the council and the contents of a plan; empty for a plan that was never saved."""
        try:
            plan = self.load_plan(plan_hash)
        except FindingError:
            plan = None
        return {"repo": plan.repo, "council": plan.toolbox, "contents": plan.contents} if plan else {}

    def clear(self, plan_hash: str, id: str, *, by: str, why: str) -> CouncilVerdict | None:
        """Remove a finding and record who did it and why; return None when the plan has no verdict."""
        if not by.strip() or not why.strip():
            raise FindingError("expected who clears the finding and why, found neither; give --by and --why")
        if self.load(plan_hash) is None:
            return None
        with self._edit_verdict(plan_hash) as change:
            matching = [finding for finding in change.findings if finding.id == id]
            if not matching:
                return change.verdict
            for finding in matching:
                # The log first: a crash in between must not leave a cleared finding without a record.
                body = {"id": id, "by": by, "why": why, "finding": finding_to_record(finding)}
                self._log(plan_hash, EntryKind.FINDING_CLEARED, [body])
                change.remove_finding(finding, by=by, why=why)
            return change.save()

    def recent(
        self, *, limit: int = 10, min_level: str = "LOW", repo: str = ""
    ) -> tuple[list[CouncilVerdict], list[str]]:
        """Return the verdicts that changed last, newest first, and the names of unreadable files.

        With `repo`, only those on plans of that repository, by its git directory.
        """
        least = Level.from_name(min_level)
        verdicts: list[CouncilVerdict] = []
        unreadable: list[str] = []
        for path in sorted(self.directory.glob(f"*{VERDICT_SUFFIX}")):
            try:
                verdict = self.load(path.name.removesuffix(VERDICT_SUFFIX))
            except FindingError:
                unreadable.append(path.name)
            else:
                verdicts += [verdict] if verdict else []
        chosen = [verdict for verdict in verdicts if Level[verdict.level] >= least]
        if repo:
            local = {plan.plan_hash for plan in self.plans()[0] if plan.repo == repo}
            chosen = [verdict for verdict in chosen if verdict.plan_hash in local]
        chosen.sort(key=lambda verdict: (-verdict.updated_at, verdict.plan_hash))
        return chosen[: max(limit, 0)], unreadable

    def find_fixes(self, verdicts: Sequence[CouncilVerdict]) -> dict[str, str]:
        """Return which later plan has the same files without the findings that block: plan hash → plan hash."""
        blocking = [verdict for verdict in verdicts if verdict.blocks]
        if not blocking:
            return {}
        plans = sorted(self.plans()[0], key=lambda plan: plan.created_at)
        by_hash = {plan.plan_hash: plan for plan in plans}
        fixes: dict[str, str] = {}
        for verdict in blocking:
            plan = by_hash.get(verdict.plan_hash)
            later = [other for other in plans if plan and is_later_plan(other, plan)]
            fixing = next((other for other in later if plan and self._has_fixed(other, plan, verdict)), None)
            fixes |= {verdict.plan_hash: fixing.plan_hash} if fixing else {}
        return fixes

    def _has_fixed(self, later: Plan, plan: Plan, verdict: CouncilVerdict) -> bool:
        """Return whether a later plan was reviewed and no longer has the blocking findings of this verdict."""
        try:
            later_verdict = self.load(later.plan_hash)
        except FindingError:
            return False
        stopping = [finding for finding in verdict.findings if finding.severity in BLOCKING_LEVELS]
        files = {place.file for finding in stopping for place in finding.evidence} or set(plan.files)
        if later_verdict is None or not files <= set(later.files):
            return False
        remaining = [finding for finding in later_verdict.findings if finding.severity in BLOCKING_LEVELS]
        known = {finding.id for finding in remaining} | {(finding.agent, finding.title) for finding in remaining}
        return not any(finding.id in known or (finding.agent, finding.title) in known for finding in stopping)

    def save_plan(self, plan: Plan) -> Plan:
        """Save a plan unless it exists; return an existing one as `cached`."""
        path = self.plan_path(plan.plan_hash)
        with translate_write_errors(path):
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
        """Return a plan; None when there is none; raise `FindingError` when its content does not fit its name."""
        document = read_document(self.plan_path(plan_hash))
        if document is None:
            return None
        plan = plan_from_record(document, named=plan_hash)
        if plan.plan_hash != plan_hash:
            raise FindingError(f"`{plan_hash}.json`: expected the plan {plan_hash}, found {plan.plan_hash}")
        return plan

    def plans(self) -> tuple[list[Plan], list[str]]:
        """Return all plans, newest first, and the names of unreadable files."""
        plans: list[Plan] = []
        unreadable: list[str] = []
        for path in sorted(self.directory.glob("*.json")):
            if path.name.endswith(VERDICT_SUFFIX) or path.name.startswith("."):
                continue
            try:
                plan = self.load_plan(path.name.removesuffix(".json"))
            except FindingError:
                unreadable.append(path.name)
            else:
                plans += [plan] if plan else []
        return sorted(plans, key=lambda plan: (-plan.created_at, plan.plan_hash)), unreadable

    def purge(self, older_than_seconds: float) -> list[str]:
        """Delete plans and verdicts that have not changed for so long, also unreadable ones; return their names."""
        cutoff = self._now() - older_than_seconds
        change_times: dict[str, float] = {}
        for path in self.directory.glob("*.json"):
            name = path.name.removesuffix(".json").removesuffix(".verdict")
            if PLAN_HASH_PATTERN.match(name):
                change_times[name] = max(change_times.get(name, 0.0), _read_change_time(path))
        expired = sorted(name for name, changed_at in change_times.items() if changed_at < cutoff)
        for name in expired:
            for path in (self.plan_path(name), self.verdict_path(name)):
                with translate_write_errors(path), lock_file(path):
                    path.unlink(missing_ok=True)
                    path.with_name(path.name + ".lock").unlink(missing_ok=True)
        return expired

    @contextmanager
    def _edit_verdict(self, plan_hash: str) -> Iterator["_VerdictEdit"]:
        path = self.verdict_path(plan_hash)
        with translate_write_errors(path):
            self.directory.mkdir(parents=True, exist_ok=True)
            with lock_file(path):
                yield _VerdictEdit(path, plan_hash, self._now)


class _VerdictEdit:
    """A verdict file under its lock, as it is being changed."""

    def __init__(self, path: Path, plan_hash: str, now: Callable[[], float]) -> None:
        self._path = path
        self._timestamp = now()
        document = read_document(path)
        self.verdict = CouncilVerdict(plan_hash) if document is None else read_verdict(document, plan_hash)
        # Indexed by id and by title, so that the findings of a scanner cost the same each.
        self._findings = dict(enumerate(self.verdict.findings))
        self._next_position = len(self._findings)
        self._positions: dict[tuple[str, str], set[int]] = {}
        for position, finding in self._findings.items():
            self._index_finding(position, finding)
        self.reviews = list(self.verdict.reviews)
        self._history = _read_history(document)

    @property
    def findings(self) -> list[Finding]:
        """The findings in their order."""
        return list(self._findings.values())

    def add_finding(self, finding: Finding, check_lowering: LoweringCheck | None = None) -> Finding:
        """Add a finding and return it with the ids of the findings that it replaces."""
        supersedes: list[str] = []
        place: int | None = None
        for position in self._find_positions(finding):
            old = self._findings[position]
            is_same = old.id == finding.id
            if not (is_same or is_refinement(finding, old)):
                continue
            if check_lowering and finding.severity < old.severity:
                check_lowering(old, finding)
            if not is_same:
                supersedes += (*old.supersedes, old.id)
                self._append_history("superseded", old, by=finding.agent, why=f"refined as {finding.id}")
                self._drop_finding(position)
                continue
            supersedes += old.supersedes
            place = position if place is None else place
            if old != replace(finding, created_at=old.created_at, supersedes=old.supersedes):
                self._append_history("replaced", old, by=finding.agent)
        lineage = tuple(id for id in dict.fromkeys(supersedes) if id != finding.id)
        added = replace(finding, created_at=self._timestamp, supersedes=lineage)
        if place is None:
            place, self._next_position = self._next_position, self._next_position + 1
        self._findings[place] = added
        self._index_finding(place, added)
        return added

    def _find_positions(self, finding: Finding) -> list[int]:
        """Return where findings stand that have the same id, or the same reviewer and title."""
        keys = (("", finding.id), (finding.agent, finding.title))
        return sorted({position for key in keys for position in self._positions.get(key, ())} & self._findings.keys())

    def _index_finding(self, position: int, finding: Finding) -> None:
        self._positions.setdefault(("", finding.id), set()).add(position)
        self._positions.setdefault((finding.agent, finding.title), set()).add(position)

    def _drop_finding(self, position: int) -> None:
        finding = self._findings.pop(position)
        for key in (("", finding.id), (finding.agent, finding.title)):
            self._positions.get(key, set()).discard(position)

    def remove_finding(self, finding: Finding, *, by: str, why: str) -> None:
        """Remove a finding."""
        self._append_history("cleared", finding, by=by, why=why)
        self._drop_finding(next(position for position, old in self._findings.items() if old is finding))
        # Its reviewer has reported, and a failure that a person cleared counts no longer.
        old = next((review for review in self.reviews if review.reviewer == finding.agent), Review(finding.agent))
        others = [review for review in self.reviews if review.reviewer != finding.agent]
        self.reviews = [*others, replace(old, failure="")]

    def save(self) -> CouncilVerdict:
        """Write the verdict and return it."""
        created = self.verdict.created_at or self._timestamp
        verdict = CouncilVerdict(
            self.verdict.plan_hash, tuple(self.findings), created, self._timestamp, tuple(self.reviews)
        )
        write_json(self._path, verdict.record() | ({"history": self._history} if self._history else {}))
        return verdict

    def _append_history(self, event: str, finding: Finding, *, by: str, why: str = "") -> None:
        """Keep a finding that is about to be removed or changed."""
        self._history.append(
            {"event": event, "at": self._timestamp, "by": by, "why": why, "finding": finding_to_record(finding)}
        )


def _select_contents(finding: Finding, contents: Mapping[str, str]) -> dict[str, str]:
    """Return the contents of the files that a finding points at, of all files when it points at none."""
    named = [place.file for place in finding.evidence if place.file in contents]
    chosen = named or sorted(contents)[:_MAX_LOGGED_FILES]
    # A file name may hold bytes that are not UTF-8, which the log does not take.
    return {file: contents[file] for file in chosen if file.isprintable()}


def is_later_plan(plan: Plan, other: Plan) -> bool:
    """Return whether a plan is a later one of the same council and repository."""
    same = (plan.repo, plan.toolbox) == (other.repo, other.toolbox)
    return same and plan.plan_hash != other.plan_hash and plan.created_at > other.created_at


def is_refinement(finding: Finding, old: Finding) -> bool:
    """Return whether a finding repeats, at another level, an earlier one of the same reviewer.

    Two findings that were each given an id of their own are different, whatever their titles.
    """
    is_same = old.agent == finding.agent and old.title == finding.title and old.level != finding.level
    return is_same and any(item.id == finding_id(item.level, item.agent, item.title) for item in (finding, old))


def read_verdict(document: Mapping[str, Any], plan_hash: str) -> CouncilVerdict:
    """Return the verdict in a document; raise `FindingError` when it has none."""
    # Level and summary are computed from the findings: what the file says about itself is not trusted.
    findings = document.get("findings")
    if not isinstance(findings, list) or not all(isinstance(item, Mapping) for item in findings):
        raise FindingError(
            f"`{plan_hash}{VERDICT_SUFFIX}`: expected a list of findings, found something else; "
            "remove it and review again"
        )
    return CouncilVerdict(
        plan_hash,
        tuple(finding_from_record(item) for item in findings),
        parse_timestamp(document.get("created_at")),
        parse_timestamp(document.get("updated_at")),
        reviews_from_record(document.get("reviews")),
    )


def _read_change_time(path: Path) -> float:
    """Return the time of the last change, by the file's content, or else by the disk."""
    try:
        document = read_document(path) or {}
    except FindingError:
        document = {}
    recorded = parse_timestamp(document.get("updated_at")) or parse_timestamp(document.get("created_at"))
    return recorded or path.stat().st_mtime


def _read_history(document: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    history = (document or {}).get("history")
    return [item for item in history if isinstance(item, dict)] if isinstance(history, list) else []
