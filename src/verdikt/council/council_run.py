"""Where a council meets: its plan is made, its reviewers are called, its verdict decides about a commit."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, replace

from verdikt.council.command_reviewer import failure_id, run_reviewer
from verdikt.council.config import Council, Reviewer
from verdikt.council.runs import Runs
from verdikt.errors import FindingError
from verdikt.model.finding import CouncilVerdict, Finding, Level, Review
from verdikt.model.plan import Plan
from verdikt.observe.clock import Clock
from verdikt.observe.git_index import SUBMODULE_MODE, GitIndex

ProgressCallback = Callable[[str, str], None]
"""Told of each reviewer: its name, and what it is doing."""

StandingFindings = Callable[[str], Mapping[str, str]]
"""What the log says stands against a plan: id → level."""

MAX_WORKERS = 8


@dataclass(frozen=True, slots=True)
class CouncilDecision:
    """What a council says of a plan. `faults` are the reasons for which a guardrail stops it."""

    council: Council
    plan: Plan
    verdict: CouncilVerdict | None
    faults: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()  # reviewers who have not reported

    @property
    def blocks(self) -> bool:
        """Whether it stops the commit."""
        return self.council.guardrail and bool(self.faults)


@dataclass(frozen=True, slots=True)
class CouncilRunner:
    """One repository, its index, and the runs directory. What git or the disk refuses is a `FindingError`."""

    index: GitIndex
    runs: Runs
    clock: Clock
    env: Mapping[str, str]

    def build_plan(self, council: Council, *, base: str = "", files: Sequence[str] = (), scope: str = "") -> Plan:
        """What a council should look at now: what the index changes, all of it, or the files named."""
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
        )

    def run_reviewers(
        self, council: Council, plan: Plan, *, progress: ProgressCallback | None = None
    ) -> CouncilVerdict:
        """Runs the command reviewers in parallel, each on the contents of the plan; the verdict they lead to."""
        tell = progress or (lambda name, doing: None)
        self.runs.save_plan(plan)
        commands = [reviewer for reviewer in council.reviewers if reviewer.command]
        busy = {reviewer.name: select_files(reviewer, plan) for reviewer in commands}
        for reviewer in commands:
            if not busy[reviewer.name]:
                tell(reviewer.name, "nothing to look at")
                self._record_review(plan, Review(reviewer.name), [])
        working = [reviewer for reviewer in commands if busy[reviewer.name]]
        if working:
            with self._open_plan_tree(plan) as directory, ThreadPoolExecutor(min(MAX_WORKERS, len(working))) as pool:
                jobs = {}
                for reviewer in working:
                    tell(reviewer.name, "running")
                    seconds = min(reviewer.seconds or plan.budget_seconds, plan.budget_seconds)
                    jobs[
                        pool.submit(
                            run_reviewer,
                            reviewer,
                            busy[reviewer.name],
                            directory,
                            self.env,
                            seconds=seconds,
                            now=self.clock.now,
                        )
                    ] = reviewer
                for job in as_completed(jobs):
                    done, findings = job.result()
                    self._record_review(plan, done, findings)
                    tell(done.reviewer, done.failure or f"{len(findings)} finding(s)")
        return self.runs.record(plan.plan_hash)

    def _record_review(self, plan: Plan, review: Review, findings: Sequence[Finding]) -> None:
        self.runs.record(plan.plan_hash, *findings, review=review)
        if not review.failure:
            self.runs.clear(
                plan.plan_hash, failure_id(review.reviewer), by="verdikt", why="the reviewer ran to its end since"
            )

    @contextmanager
    def _open_plan_tree(self, plan: Plan) -> Iterator[str]:
        """Where the plan's contents lie: the work tree, or a copy when that holds something else."""
        if self.index.is_work_tree_index and self.index.is_work_tree_clean(plan.files):
            yield self.index.root
        else:
            with self.index.export_files() as directory:
                yield directory

    @contextmanager
    def at_commit(self, commit: str) -> Iterator["CouncilRunner"]:
        """The same chamber about a commit instead of the index; about the index when none is named."""
        if not commit:
            yield self
            return
        with self.index.open_commit_index(commit) as index:
            yield replace(self, index=index)

    def evaluate_current(
        self,
        council: Council,
        standing: StandingFindings,
        *,
        base: str = "",
        run: bool = False,
        progress: ProgressCallback | None = None,
    ) -> CouncilDecision:
        """The council's word on what is there now; with `run`, after the commands that have not reported were run."""
        plan = self.build_plan(council, base=base)
        judged = self.evaluate_plan(council, plan, standing)
        commands = {reviewer.name for reviewer in council.reviewers if reviewer.command}
        late = judged.verdict is None if not judged.missing else not commands.isdisjoint(judged.missing)
        if run and plan.files and commands and late:
            self.run_reviewers(council, plan, progress=progress)
            judged = self.evaluate_plan(council, plan, standing)
        return judged

    def evaluate_plan(self, council: Council, plan: Plan, standing: StandingFindings) -> CouncilDecision:
        """The council's word on a plan: what was found, by whom, and what is missing."""
        if not plan.files:
            return CouncilDecision(council, plan, None)
        try:
            verdict = self.runs.load(plan.plan_hash)
        except FindingError as error:
            return CouncilDecision(council, plan, None, (f"its verdict cannot be read: {error}",))
        if verdict is None:
            return CouncilDecision(council, plan, None, (self._explain_missing_verdict(plan),))
        missing = tuple(
            reviewer.name
            for reviewer in council.reviewers
            if select_files(reviewer, plan) and not verdict.has_reported(reviewer.name)
        )
        faults = [f"reviewer `{name}` has not reported" for name in missing]
        known = {finding.id: finding.severity for finding in verdict.findings}
        for id, level in standing(plan.plan_hash).items():
            if known.get(id, Level.LOW) < Level.from_name(level):
                faults.append(f"finding {id} ({level}) is in the log and not in the verdict file, which was changed")
        if verdict.blocks:
            faults.insert(0, f"the level is {verdict.level}")
        return CouncilDecision(council, plan, verdict, tuple(faults), missing)

    def _explain_missing_verdict(self, plan: Plan) -> str:
        """Why there is no verdict: nobody looked, or the files changed since."""
        for other in self.runs.plans()[0]:
            same = other.scope_hash == plan.scope_hash and other.plan_hash != plan.plan_hash
            if same and self._has_verdict(other):
                return f"the verdict on plan {other.plan_hash} is stale: the files have changed since"
        return "there is no verdict on what is staged"

    def _has_verdict(self, plan: Plan) -> bool:
        try:
            return self.runs.load(plan.plan_hash) is not None
        except FindingError:
            return False


def select_files(reviewer: Reviewer, plan: Plan) -> list[str]:
    """The files of a plan that a reviewer looks at; a command can open neither what goes nor another repository."""
    files = [file for file in plan.files if reviewer.covers_file(file)]
    if reviewer.agent:
        return files
    return [
        file for file in files if plan.contents.get(file, "") and not plan.contents[file].startswith(SUBMODULE_MODE)
    ]
