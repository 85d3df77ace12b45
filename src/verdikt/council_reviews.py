"""The councils of a policy at work: run them, and judge a commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdikt.council.config import Councils
from verdikt.council.council_run import CouncilRunner
from verdikt.council.runs import Runs, runs_directory
from verdikt.errors import VerdiktError
from verdikt.ledger.council_findings import StoredCouncilLog, create_finding_log
from verdikt.model.hook_message import Answer
from verdikt.observe.git_index import GitIndex
from verdikt.report.commit_refusal import render_refusal
from verdikt.report.findings import explain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verdikt.council.council_run import ProgressCallback
    from verdikt.graph.policy import Policy
    from verdikt.ledger.files import FileStore
    from verdikt.observe.clock import Clock


class CouncilReviews:
    """The councils of one policy, connected to git and to the log that holds their findings."""

    def __init__(self, policy: Policy, store: FileStore, clock: Clock, env: Mapping[str, str]) -> None:
        self._policy = policy
        self._store = store
        self._clock = clock
        self._env = env

    @property
    def councils(self) -> Councils:
        """The councils of the policy."""
        return self._policy.section("councils") or Councils()

    def open_runner(self, repo: str) -> CouncilRunner:
        """Return the runner of the councils for a repository."""
        log = create_finding_log(lambda: self._store)
        directory = runs_directory(self._env, self.councils.runs_dir)
        return CouncilRunner(GitIndex(repo, self._env), Runs(directory, self._clock.now, log), self._clock, self._env)

    def judge_commit(
        self, repo: str, *, trigger: str, base: str, at: str, run: bool, progress: ProgressCallback | None
    ) -> Answer:
        """Return whether the councils of a trigger let a change be committed."""
        log = StoredCouncilLog(self._store)
        with self.open_runner(repo).at_commit(at) as runner:
            reviews = [
                runner.evaluate_current(council, log, base=base, run=run, progress=progress)
                for council in self.councils.find_by_trigger(trigger)
            ]
        blocking = [review for review in reviews if review.blocks]
        reason = "\n\n".join(
            render_refusal(review.council.name, review.plan.plan_hash, review.verdict, review.faults)
            for review in blocking
        )
        context = "\n".join(
            explain(review.verdict)
            for review in reviews
            if not review.blocks and review.verdict and review.verdict.findings
        )
        # Commands of reviewers that no person has accepted do not run, and the person who commits should know.
        pending = self._policy.pending_note
        # Only once: the reader of a refusal sees both texts.
        if reason:
            reason = "\n\n".join(filter(None, (reason, pending)))
        else:
            context = "\n".join(filter(None, (context, pending)))
        return Answer(allowed=not blocking, reason=reason, context=context, guard="council" if reviews else "")

    def refuse_unjudged(self, trigger: str, error: Exception) -> Answer:
        """Return the answer to a commit that could not be judged: refused where a guardrail should have been."""
        is_guarded = any(council.guardrail for council in self.councils.find_by_trigger(trigger))
        detail = str(error) if isinstance(error, VerdiktError) else type(error).__name__
        message = f"the councils could not be asked: {detail}"
        return Answer(allowed=not is_guarded, reason=message if is_guarded else "", context=message, guard="council")
