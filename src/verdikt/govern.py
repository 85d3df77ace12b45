"""THE FLOW: one short method for each of the five moments."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verdikt.decide import decide
from verdikt.errors import VerdiktError
from verdikt.graph.policy import STRICTNESS, Policy
from verdikt.ledger.files import FileStore
from verdikt.ledger.grants import live
from verdikt.ledger.home import data_home
from verdikt.ledger.pause import Pause, current
from verdikt.ledger.policies import keep_policy
from verdikt.ledger.store import Writer
from verdikt.model.action import Action, Outcome
from verdikt.model.canonical import sha256
from verdikt.model.decision import Decision, failed
from verdikt.model.entry import EntryKind
from verdikt.model.facts import Facts, World
from verdikt.model.moment import Answer
from verdikt.model.posture import Posture
from verdikt.model.receipt import action_record
from verdikt.model.secret import redact_action, redact_text
from verdikt.model.session import SessionState
from verdikt.model.verdict import Verdict
from verdikt.observe.clock import Clock, SystemClock
from verdikt.observe.crash import record_crash
from verdikt.observe.guarded import guarded_paths
from verdikt.observe.world import RealWorld, project_root
from verdikt.policy import load_file, load_policy
from verdikt.projections import projections

if TYPE_CHECKING:
    from verdikt.council.chamber import Chamber, Judgement
    from verdikt.council.declared import Council, Councils

See = Callable[[str], World]
"""The world as seen from a directory."""

ARTIFACT_LIMIT = 1024 * 1024
"""Bytes of an output that are kept; its digest is always that of all of it."""


class Governance:
    """The one object a user holds: a policy, a log, and what happens at each moment."""

    def __init__(
        self,
        policy: Policy,
        store: FileStore,
        *,
        see: See | None = None,
        clock: Clock | None = None,
        env: Mapping[str, str] = os.environ,
    ) -> None:
        self.policy = policy
        self.store = store
        self.clock = clock or SystemClock()
        self._env = env
        self._see = see or self._real

    @classmethod
    def load(
        cls,
        path: str | Path | None = None,
        *,
        cwd: str = "",
        env: Mapping[str, str] = os.environ,
        clock: Clock | None = None,
    ) -> "Governance":
        """Governance by one policy file, or by the layers in force at `cwd`; a `PolicyError` holds every fault."""
        policy = load_file(str(path)) if path else load_policy(cwd, environ=env)
        return cls(policy, FileStore(data_home(env), clock, projections()), clock=clock, env=env)

    def before(self, action: Action, *, posture: Posture | None = None) -> Decision:
        """May this happen? The decision is in the log before it is given; whatever fails on the way is a block."""
        try:
            clean, secrets = redact_action(action)
            facts = Facts(self._see(clean.cwd), secrets=secrets)
            return self.store.update(clean.session_id, lambda log: self._decided(log, clean, facts, posture))
        except Exception as error:
            self._crashed("before", error)
            return failed(error)

    def after(self, action: Action, outcome: Outcome) -> Answer:
        """It happened: what came of it is logged. Never stands in the way; what cannot be logged leaves a gap."""
        try:
            clean, _ = redact_action(action)
            body, artifacts = _call_record(clean, outcome)
            self.store.append(clean.session_id, EntryKind.TOOL_CALL, body, artifacts=artifacts)
        except Exception as error:
            self._crashed("after", error, action.session_id)
        return Answer()

    def commit(
        self, repo: str, *, trigger: str = "pre-commit", base: str = "", at: str = "", run: bool = False
    ) -> Answer:
        """May this become history? Where a guardrail stands, only with a fresh verdict below HIGH; whatever fails is a no.

        Judges the index against HEAD or `base`, or the commit `at` against `base`; `run` first calls the command
        reviewers that have not reported.
        """
        from verdikt.report.commit import refused
        from verdikt.report.findings import explain

        called = self.councils.on(trigger)
        try:
            with self._chamber(repo, at) as chamber:
                judged = [self._judgement(chamber, council, base, run) for council in called]
        except Exception as error:
            self._crashed("commit", error)
            words = str(error) if isinstance(error, VerdiktError) else type(error).__name__
            closed = any(council.guardrail for council in called)
            said = f"the councils could not be asked: {words}"
            return Answer(allowed=not closed, reason=said if closed else "", context=said, guard="council")
        stopping = [one for one in judged if one.blocks]
        reason = "\n\n".join(refused(one.council.name, one.plan.plan_hash, one.verdict, one.faults) for one in stopping)
        shown = [explain(one.verdict) for one in judged if not one.blocks and one.verdict and one.verdict.findings]
        return Answer(allowed=not stopping, reason=reason, context="\n".join(shown), guard="council" if judged else "")

    @property
    def councils(self) -> "Councils":
        """The councils of the policy."""
        from verdikt.council.declared import Councils

        return self.policy.section("councils") or Councils()

    def chamber(self, repo: str) -> "Chamber":
        """Where the councils of a repository meet."""
        from verdikt.council.chamber import Chamber
        from verdikt.council.runs import Runs, runs_directory
        from verdikt.ledger.findings import finding_log
        from verdikt.observe.index import GitIndex

        log = finding_log(lambda: self.store)
        directory = runs_directory(self._env, self.councils.runs_dir)
        return Chamber(GitIndex(repo, self._env), Runs(directory, self.clock.now, log), self.clock, self._env)

    @contextmanager
    def _chamber(self, repo: str, at: str) -> "Iterator[Chamber]":
        chamber = self.chamber(repo)
        if not at:
            yield chamber
            return
        with chamber.index.at(at) as index:
            yield replace(chamber, index=index)

    def _judgement(self, chamber: "Chamber", council: "Council", base: str, run: bool) -> "Judgement":
        plan = chamber.plan(council, base=base)
        judged = chamber.judge(council, plan, self._standing)
        waiting = any(reviewer.command for reviewer in council.reviewers) and plan.files
        if run and waiting and (judged.verdict is None or judged.missing):
            chamber.run(council, plan)
            judged = chamber.judge(council, plan, self._standing)
        return judged

    def _standing(self, plan_hash: str) -> Mapping[str, str]:
        from verdikt.ledger.findings import standing

        return standing(self.store, plan_hash)

    def _decided(self, log: Writer, action: Action, facts: Facts, posture: Posture | None) -> Decision:
        """Decides and records under the session's lock, so that parallel calls see one another's counts."""
        stance = max(self._posture(log), posture or Posture.INTERACTIVE, key=STRICTNESS.index)
        decision = decide(action, facts, self._session(log), stance, self.policy)
        pause = None
        if not decision.passed:
            # Only when something stands in the way is it worth asking whether an operator let it through.
            if grants := live(self.store, action.session_id, self.clock.now()):
                decision = decide(action, facts, self._session(log), stance, self.policy, grants=grants)
            pause = current(self.store)
        keep_policy(self.store.home, self.policy.digest, self.policy.document)
        log.append(EntryKind.DECISION, _decision_record(decision, action, pause))
        if pause and not decision.passed:
            said = f"paused by {pause.by or 'the operator'}: {pause.reason}"
            return replace(decision, verdict=Verdict.warn(guard="pause", reason=said))
        return decision

    def _session(self, log: Writer) -> SessionState:
        return SessionState(log.session, **log.project("session")).copy()

    def _posture(self, log: Writer) -> Posture:
        kept = log.project("posture")
        return Posture(kept) if kept else self.policy.posture

    def _real(self, cwd: str) -> World:
        here = os.path.abspath(cwd or ".")
        guarded = guarded_paths(project_root(here, self._env.get("HOME", "")), self._env)
        return RealWorld(here, env=self._env, guarded=guarded, clock=self.clock)

    def _crashed(self, moment: str, error: Exception, session: str = "") -> None:
        """Leaves a trace where it can: beside the log always, in the log when it still takes entries."""
        record_crash(self.store.home, moment, error)
        if session:
            try:
                note = {"moment": moment, "error": type(error).__name__}
                self.store.append(session, EntryKind.GAP, note)
            except Exception as again:
                record_crash(self.store.home, f"{moment}.gap", again)


def _decision_record(decision: Decision, action: Action, pause: Pause | None) -> dict[str, Any]:
    """A decision as the log keeps it. The receipt is the policy's own word, whether or not a pause let the action through."""
    body = {
        "receipt": decision.receipt.dump(),
        "receipt_sha256": decision.receipt.sha256,
        "call_id": action.call_id,
    }
    return body | ({"paused": {"until": pause.until, "reason": pause.reason}} if pause else {})


def _call_record(action: Action, outcome: Outcome) -> tuple[dict[str, Any], dict[str, bytes]]:
    """A tool call as the log keeps it: what was called, what came of it, and the output as an artifact."""
    artifacts = {}
    digests = {}
    for name, text in (("output", outcome.output), ("error", outcome.error)):
        if text:
            data = redact_text(text)[0].encode("utf-8", "backslashreplace")
            artifacts[name] = data[:ARTIFACT_LIMIT]
            digests[name] = {"sha256": sha256(data), "bytes": len(data)}
    body = {
        **action_record(action),
        "call_id": action.call_id,
        "success": outcome.success,
        "exit_code": outcome.exit_code,
        "seconds": outcome.duration_seconds,
        "streams": digests,
    }
    return body, artifacts
