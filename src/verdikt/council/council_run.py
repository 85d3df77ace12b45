"""Plan a council's review, run its reviewers, and decide about a commit by their verdict."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache

from verdikt.council.command_reviewer import failure_id, run_reviewer
from verdikt.council.config import Council, Reviewer
from verdikt.council.finding_place import locate_finding
from verdikt.council.runs import Runs
from verdikt.errors import FindingError
from verdikt.model.council_log import CouncilLog
from verdikt.model.finding import CouncilVerdict, Finding, Level, Review
from verdikt.model.plan import Plan
from verdikt.model.reporter import Reporter
from verdikt.observe.clock import Clock
from verdikt.observe.git_index import SUBMODULE_MODE, GitIndex

ProgressCallback = Callable[[str, str], None]
"""Called with a reviewer's name and what it is doing."""

# Reviewers are processes: more of them at once only slow each other down.
MAX_WORKERS = 8

# An agent under governance that names a reviewer has not reviewed anything, and a carried finding is no review.
_TRUSTED_REPORTERS = frozenset({Reporter.COMMAND, Reporter.REVIEWER, Reporter.PERSON})


@dataclass(frozen=True, slots=True)
class CouncilDecision:
    """A council's decision on a plan. `faults` are the reasons for which a guardrail stops it."""

    council: Council
    plan: Plan
    verdict: CouncilVerdict | None
    faults: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()  # reviewers who have not reported

    @property
    def blocks(self) -> bool:
        """Whether the decision stops the commit."""
        return self.council.guardrail and bool(self.faults)


@dataclass(frozen=True, slots=True)
class CouncilRunner:
    """Runs councils on one repository. Errors of git or the disk are raised as `FindingError`."""

    index: GitIndex
    runs: Runs
    clock: Clock
    env: Mapping[str, str]

    def build_plan(self, council: Council, *, base: str = "", files: Sequence[str] = (), scope: str = "") -> Plan:
        """Return the plan for a council: the changes in the index, all of its files, or the given files."""
        scope = "explicit" if files else scope or council.scope
        if files:
            contents = self.index.find_files(files)
        elif scope == "diff":
            contents = self.index.list_changes(base)
        else:
            contents = self.index.list_files()
        if not files:
            contents = {file: id for file, id in contents.items() if council.covers_file(file)}
        return Plan(
            toolbox=council.name,
            agents=tuple(reviewer.name for reviewer in council.reviewers),
            files=tuple(sorted(contents)),
            scope_mode=scope,
            contents=contents,
            guardrail=council.guardrail,
            budget_tokens=council.budget_tokens,
            budget_seconds=council.budget_seconds,
            created_at=self.clock.now(),
            repo=self.index.find_common_directory(),
        )

    def run_reviewers(
        self, council: Council, plan: Plan, *, progress: ProgressCallback | None = None
    ) -> CouncilVerdict:
        """Run the command reviewers in parallel on the contents of the plan and return the verdict."""
        report = progress or (lambda name, doing: None)
        self.runs.save_plan(plan)
        commands = [reviewer for reviewer in council.reviewers if reviewer.command]
        files_by_reviewer = {reviewer.name: select_files(reviewer, plan) for reviewer in commands}
        for reviewer in commands:
            if not files_by_reviewer[reviewer.name]:
                report(reviewer.name, "no files to review")
                self._record_review(plan, Review(reviewer.name), [])
        active = [reviewer for reviewer in commands if files_by_reviewer[reviewer.name]]
        if active:
            with self._open_plan_tree(plan) as directory, ThreadPoolExecutor(min(MAX_WORKERS, len(active))) as pool:
                jobs = []
                for reviewer in active:
                    report(reviewer.name, "running")
                    seconds = min(reviewer.seconds or plan.budget_seconds, plan.budget_seconds)
                    job = pool.submit(
                        run_reviewer,
                        reviewer,
                        files_by_reviewer[reviewer.name],
                        directory,
                        self.env,
                        seconds=seconds,
                        now=self.clock.now,
                    )
                    jobs.append(job)
                # Recorded as they end: what is finished is on disk when the rest is interrupted.
                for job in as_completed(jobs):
                    review, findings = job.result()
                    self._record_review(plan, review, findings)
                    report(review.reviewer, review.failure.split("\n")[0] or f"{len(findings)} finding(s)")
        return self.runs.record(plan.plan_hash)

    def _record_review(self, plan: Plan, review: Review, findings: Sequence[Finding]) -> None:
        self.runs.record(plan.plan_hash, *findings, review=review, reporter=Reporter.COMMAND)
        if not review.failure:
            # An earlier crash of the same reviewer is settled by a run that succeeded.
            self.runs.clear(
                plan.plan_hash, failure_id(review.reviewer), by="verdikt", why="the reviewer ran to its end since"
            )

    @contextmanager
    def _open_plan_tree(self, plan: Plan) -> Iterator[str]:
        """Yield a directory with the plan's contents: the work tree, or a copy when that differs."""
        # What is staged is reviewed, not what happens to be in the work tree.
        if self.index.is_work_tree_index and self.index.is_work_tree_clean(plan.files):
            yield self.index.root
        else:
            with self.index.export_files() as directory:
                yield directory

    @contextmanager
    def at_commit(self, commit: str) -> Iterator["CouncilRunner"]:
        """Yield a runner for a commit instead of the index; the same runner without a commit."""
        if not commit:
            yield self
            return
        with self.index.open_commit_index(commit) as index:
            yield replace(self, index=index)

    def evaluate_current(
        self,
        council: Council,
        log: CouncilLog,
        *,
        base: str = "",
        run: bool = False,
        progress: ProgressCallback | None = None,
    ) -> CouncilDecision:
        """Decide about the present index; with `run`, run the commands first that have not reported or have failed."""
        plan = self.build_plan(council, base=base)
        decision = self.evaluate_plan(council, plan, log)
        if run and plan.files and _has_pending_commands(council, decision):
            self.run_reviewers(council, plan, progress=progress)
            decision = self.evaluate_plan(council, plan, log)
        return decision

    def evaluate_plan(self, council: Council, plan: Plan, log: CouncilLog) -> CouncilDecision:
        """Decide about a plan: by its findings, those of earlier plans, the reviewers that reported, and the log."""
        if not plan.files:
            return CouncilDecision(council, plan, None)
        try:
            self._carry_findings(council, plan, log)
            verdict = self.runs.load(plan.plan_hash)
        except FindingError as error:
            return CouncilDecision(council, plan, None, (f"its verdict cannot be read: {error}",))
        if verdict is None:
            return CouncilDecision(council, plan, None, (self._explain_missing_verdict(plan),))
        reports = log.find_reports(plan.plan_hash)
        # By the log: the list of reviews in the verdict file is as easy to write as any other file.
        missing = tuple(
            reviewer.name
            for reviewer in council.reviewers
            if select_files(reviewer, plan) and not reports.get(reviewer.name, frozenset()) & _TRUSTED_REPORTERS
        )
        faults = [f"reviewer `{name}` has not reported" for name in missing]
        # The verdict file is the agent's to edit; the log is not. What the log has and the file lacks was removed.
        known = {finding.id: finding.severity for finding in verdict.findings}
        for id, level in log.find_open_levels(plan.plan_hash).items():
            if known.get(id, Level.LOW) < Level.from_name(level):
                state = "of a lower level in" if id in known else "not in"
                faults.append(f"finding {id} ({level}) is in the log and {state} the verdict file, which was changed")
        if verdict.blocks:
            faults.insert(0, f"the level is {verdict.level}")
        return CouncilDecision(council, plan, verdict, tuple(faults), missing)

    def _carry_findings(self, council: Council, plan: Plan, log: CouncilLog) -> None:
        """Record the open findings of earlier plans whose place is still part of this one."""
        verdict = self.runs.load(plan.plan_hash)
        known = {finding.id for finding in verdict.findings} if verdict else set()
        known |= log.find_open_levels(plan.plan_hash).keys()
        inherited: dict[str, Finding] = {}
        # Many findings point at one file, and each read is a process.
        read_content = cache(self.index.read_content)
        for earlier in log.find_open(plan.repo, council.name):
            if earlier.plan_hash == plan.plan_hash or earlier.finding.id in known:
                continue
            places = locate_finding(earlier, plan.contents, read_content)
            if places is not None:
                inherited[earlier.finding.id] = replace(earlier.finding, evidence=places, supersedes=())
        if inherited:
            # The plan as well: a verdict without one can't be told to be fixed by a later plan.
            self.runs.save_plan(plan)
            self.runs.record(plan.plan_hash, *inherited.values(), reporter=Reporter.CARRIED)

    def _explain_missing_verdict(self, plan: Plan) -> str:
        """Return why there is no verdict: there was no review, or the files changed since."""
        for other in self.runs.plans()[0]:
            is_earlier_version = other.scope_hash == plan.scope_hash and other.plan_hash != plan.plan_hash
            if is_earlier_version and self._has_verdict(other):
                return f"the verdict on plan {other.plan_hash} is stale: the files have changed since"
        return "there is no verdict on what is staged"

    def _has_verdict(self, plan: Plan) -> bool:
        try:
            return self.runs.load(plan.plan_hash) is not None
        except FindingError:
            return False


def _has_pending_commands(council: Council, decision: CouncilDecision) -> bool:
    """Return whether a command reviewer has still to report on the plan of a decision."""
    commands = [reviewer.name for reviewer in council.reviewers if reviewer.command]
    verdict = decision.verdict
    if verdict is None:
        return bool(commands)
    # A reviewer that failed may have been repaired since; its failure is a finding, so it does not count as missing.
    return any(name in decision.missing or verdict.has_failed(name) for name in commands)


def select_files(reviewer: Reviewer, plan: Plan) -> list[str]:
    """Return the files of a plan for a reviewer; commands get neither deleted files nor submodules."""
    files = [file for file in plan.files if reviewer.covers_file(file)]
    if reviewer.agent:
        return files
    return [
        file for file in files if plan.contents.get(file, "") and not plan.contents[file].startswith(SUBMODULE_MODE)
    ]
