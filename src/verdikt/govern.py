"""THE FLOW: one short method for each of the five moments."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import nullcontext
from functools import cached_property, partial

from verdikt.compiled import policy_in_force
from verdikt.decide import decide
from verdikt.effects.classifier import classify
from verdikt.errors import VerdiktError
from verdikt.graph.leaf import describe
from verdikt.ledger.files import FileStore
from verdikt.ledger.grants import live
from verdikt.ledger.home import data_home
from verdikt.ledger.pause import current
from verdikt.ledger.policies import is_kept, keep_policy
from verdikt.model.canonical import canonical, sha256
from verdikt.model.decision import failed
from verdikt.model.effect import Zone
from verdikt.model.entry import EntryKind
from verdikt.model.facts import Facts, World
from verdikt.model.memory import Memory, Recalled, marking
from verdikt.model.moment import Answer, Turn
from verdikt.model.posture import Posture, strictest_posture
from verdikt.model.receipt import action_record
from verdikt.model.redaction import redact_action, redact_text
from verdikt.model.session import SessionState
from verdikt.model.value import replace
from verdikt.model.verdict import Verdict
from verdikt.observe.clock import SystemClock
from verdikt.observe.guarded import guarded_paths
from verdikt.observe.world import RealWorld, absolute, project_root
from verdikt.projections import projections

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path
    from typing import Any

    from verdikt.council.chamber import Chamber, Progress
    from verdikt.council.declared import Councils
    from verdikt.graph.policy import Policy
    from verdikt.guidance.completion import (
        Completion,
        TaskCompletionChecker,
        TaskCompletionContext,
        TaskCompletionResult,
    )
    from verdikt.guidance.definition import Guidance, Past
    from verdikt.guidance.feedback import FeedbackProviderConfig
    from verdikt.guidance.tool_policy import ToolPolicy, ToolPolicyGuard
    from verdikt.ledger.pause import Pause
    from verdikt.ledger.store import Writer
    from verdikt.model.action import Action, Outcome
    from verdikt.model.decision import Decision
    from verdikt.model.effect import Effects
    from verdikt.model.finding import Level
    from verdikt.model.moment import Prompt
    from verdikt.observe.clock import Clock
    from verdikt.proving import Proving

See = Callable[[str], World]
"""The world as seen from a directory."""

Look = Callable[[str], "AbstractContextManager[object]"]
"""Inside, what is at a path is read with the rights of whoever asks; `PermissionError` when it is not for them."""

ARTIFACT_LIMIT = 1024 * 1024
"""Bytes of an output that are kept; its digest is always that of all of it."""

_UNTOLD = "whether the work is complete could not be told: say so, and ask the person to run `verdikt doctor`"


class Governance:
    """The one object a user holds: a policy, a log, and what happens at each moment."""

    def __init__(
        self,
        policy: Policy,
        store: FileStore,
        *,
        tool_policies: Iterable[ToolPolicy | ToolPolicyGuard] = (),
        feedback: Iterable[FeedbackProviderConfig] = (),
        completion: TaskCompletionChecker | Completion | None = None,
        see: See | None = None,
        clock: Clock | None = None,
        env: Mapping[str, str] = os.environ,
        here: str = "",
        look: Look = nullcontext,
    ) -> None:
        """`here` is where relative paths start from; by default the working directory of this process.

        `look` is with whose rights files are read for which there is no world; by default this process's own.
        """
        if tool_policies:
            from verdikt.policy import with_tool_policies

            policy = with_tool_policies(policy, tool_policies)
        self.policy = policy
        self.store = store
        self._feedback = tuple(feedback)
        self._completion = completion
        self.clock = clock or SystemClock()
        self._env = env
        self.here = here
        self.look = look
        self._see = see or self._real

    @classmethod
    def load(
        cls,
        path: str | Path | None = None,
        *,
        cwd: str = "",
        env: Mapping[str, str] = os.environ,
        clock: Clock | None = None,
    ) -> Governance:
        """Governance by one policy file, or by the layers in force at `cwd`; a `PolicyError` holds every fault."""
        if path:
            from verdikt.policy import load_file

            policy = load_file(str(path))
        else:
            policy = policy_in_force(cwd, env)
        return cls(policy, FileStore(data_home(env), clock, projections()), clock=clock, env=env)

    def before(self, action: Action, *, posture: Posture | None = None) -> Decision:
        """May this happen? The decision is in the log before it is given; whatever fails on the way is a block."""
        try:
            clean, secrets = redact_action(action)
            world = self._see(clean.cwd)

            def decided(log: Writer) -> Decision:
                facts = Facts(world, secrets=secrets, memory=self._recalled(log))
                return self._decided(log, clean, facts, posture)

            return self.store.update(clean.session_id, decided)
        except Exception as error:
            self._crashed("before", error)
            return failed(error)

    def after(self, action: Action, outcome: Outcome) -> Answer:
        """It happened: what came of it is logged, and the agent is told what it should know now.

        Never stands in the way; what cannot be logged leaves a gap.
        """
        try:
            clean, _ = redact_action(action)
            return self.store.update(clean.session_id, lambda log: self._happened(log, clean, outcome))
        except Exception as error:
            self._crashed("after", error, action.session_id)
            return Answer()

    def prompt(self, prompt: Prompt) -> Answer:
        """A person asked: what for is kept as a contract, and words that try to get past a check are audited. Never in the way."""
        try:
            if prompt.human:
                self.proving.asked(prompt)
        except Exception as error:
            self._crashed("prompt", error, prompt.session_id)
        return Answer()

    def stop(self, turn: Turn) -> Answer:
        """The agent wants to finish: may it? A failure refuses once; asked again, it lets go, so that nothing goes round for ever."""
        try:
            incomplete = (
                self.store.update(turn.session_id, partial(self._completed, turn=turn)) if self.guidance else None
            )
            return incomplete or self.proving.stopped(turn)
        except Exception as error:
            self._crashed("stop", error, turn.session_id)
            held = self.guidance is not None or self.proving.settings.mode == "enforce"
            if not held or turn.stop_hook_active or not self.proving.first_failure(turn):
                return Answer()
            return Answer(allowed=False, reason=_UNTOLD, guard="verdikt")

    @cached_property
    def proving(self) -> Proving:
        """What is asked for, what proves it, and the gate between the two."""
        from verdikt.evidence.section import EvidenceSettings
        from verdikt.proving import Proving

        settings = self.policy.section("evidence") or EvidenceSettings()
        return Proving(settings, self.store, self.clock, env=self._env, here=self.here, look=self.look)

    def policies_for_tool(self, name: str, *, agent: str = "", prompt: str = "") -> tuple[ToolPolicy, ...]:
        """The tool policies that have a say about a tool, in the order in which they are asked."""
        return self.guidance.policies_for_tool(name, agent=agent, prompt=prompt) if self.guidance else ()

    def try_completion(self, session: str, cwd: str) -> tuple[TaskCompletionResult, ...]:
        """What each completion check says now of the work in a directory; nothing is refused, counted or recorded."""
        guidance, turn = self.guidance, Turn(session_id=session, cwd=cwd)
        if guidance is None:
            return ()
        if not session or not self.store.reader.exists(session):
            from verdikt.guidance.definition import Past

            return guidance.results(self._finishing(None, turn), Memory(), Past(now=self.clock.now()))

        def tried(log: Writer) -> tuple[TaskCompletionResult, ...]:
            memory = Memory(self._recalled(log))
            return guidance.results(self._finishing(log, turn), memory, self._past(log))

        return self.store.update(turn.session_id, tried)

    @property
    def feedback_providers(self) -> tuple[FeedbackProviderConfig, ...]:
        """Who tells the agent something, and when."""
        return self.guidance.feedback if self.guidance else ()

    @property
    def task_completion_checker(self) -> TaskCompletionChecker | None:
        """What must be true before the agent may stop; None when nothing must."""
        return self.guidance.checker if self.guidance else None

    @cached_property
    def guidance(self) -> Guidance | None:
        """Tool policies, feedback and completion of this definition; None when it has none of them."""
        sections = ("tool_policies", "feedback", "completion")
        given = {name: self.policy.section(name) for name in sections}
        loaded = "verdikt.guidance.tool_policy" in sys.modules  # or no tool policy can stand in the graph
        if not (any(given.values()) or loaded or self._feedback or self._completion):
            return None
        from verdikt.guidance.completion import Completion
        from verdikt.guidance.definition import Guidance, guards_in

        own = self._completion
        made = own if own is None or isinstance(own, Completion) else Completion(checker=own)
        found = Guidance(
            policies=tuple(guards_in(self.policy.nodes)),
            feedback=(*(given["feedback"] or ()), *self._feedback),
            completions=(*(given["completion"] or ()), *([made] if made else [])),
        )
        return found if found else None

    def commit(
        self,
        repo: str,
        *,
        trigger: str = "pre-commit",
        base: str = "",
        at: str = "",
        run: bool = False,
        progress: Progress | None = None,
    ) -> Answer:
        """May this become history? Where a guardrail stands, only with a fresh verdict below HIGH; whatever fails is a no.

        Judges the index against HEAD or `base`, or the commit `at` against `base`; `run` first calls the command
        reviewers that have not reported.
        """
        from verdikt.report.commit import refused
        from verdikt.report.findings import explain

        called = self.councils.on(trigger)
        try:
            with self.chamber(repo).at(at) as chamber:
                judged = [
                    chamber.ask(council, self._standing, base=base, run=run, progress=progress) for council in called
                ]
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
    def councils(self) -> Councils:
        """The councils of the policy."""
        from verdikt.council.declared import Councils

        return self.policy.section("councils") or Councils()

    def chamber(self, repo: str) -> Chamber:
        """Where the councils of a repository meet."""
        from verdikt.council.chamber import Chamber
        from verdikt.council.runs import Runs, runs_directory
        from verdikt.ledger.findings import finding_log
        from verdikt.observe.index import GitIndex

        log = finding_log(lambda: self.store)
        directory = runs_directory(self._env, self.councils.runs_dir)
        return Chamber(GitIndex(repo, self._env), Runs(directory, self.clock.now, log), self.clock, self._env)

    def _standing(self, plan_hash: str) -> Mapping[str, str]:
        from verdikt.ledger.findings import standing

        return standing(self.store, plan_hash)

    def _decided(self, log: Writer, action: Action, facts: Facts, posture: Posture | None) -> Decision:
        """Decides and records under the session's lock, so that parallel calls see one another's counts."""
        stance = strictest_posture(self._posture(log), posture or Posture.INTERACTIVE)
        decision = decide(action, facts, self._session(log), stance, self.policy)
        pause = None
        if not decision.passed:
            # Only when something stands in the way is it worth asking whether an operator let it through.
            if grants := live(self.store, action.session_id, self.clock.now()):
                decision = decide(action, facts, self._session(log), stance, self.policy, grants=grants)
            # Nor does it take red lines away: what was let through meanwhile could make the pause one for ever.
            pause = None if decision.verdict.red_line else current(self.store)
        if not is_kept(self.store.home, self.policy.digest):
            keep_policy(self.store.home, self.policy.digest, self.policy.document)
        log.append(EntryKind.DECISION, _decision_record(decision, action, pause))
        if pause and not decision.passed:
            said = f"paused by {pause.by or 'the operator'}: {pause.reason}"
            return replace(decision, verdict=Verdict.warn(guard="pause", reason=said))
        return decision

    def _happened(self, log: Writer, action: Action, outcome: Outcome) -> Answer:
        """Logs a call with what guidance learned from it; then what guidance has to say, which is logged too."""
        body, artifacts = _call_record(action, outcome)
        body["evidence"] = self.proving.evidence(action, outcome)
        guidance = self.guidance
        if guidance is None:
            log.append(EntryKind.TOOL_CALL, body, artifacts=artifacts)
            return Answer()
        memory = Memory(self._recalled(log))
        failures: dict[str, str] = {}
        facts = None
        try:
            facts = Facts(self._see(action.cwd))
            failures = guidance.learn(action, outcome, memory, facts, partial(self._effects, action, facts))
            canonical(memory.changes)
        except Exception as error:
            failures, memory = {"guidance": describe(error)}, Memory()
        kept = {"kept": memory.changes} if memory.changes else {}
        log.append(EntryKind.TOOL_CALL, body | kept, artifacts=artifacts)
        if failures:
            log.append(EntryKind.GAP, {"moment": "after", "failures": failures})
        return self._told(log, guidance, action, facts)

    def _told(self, log: Writer, guidance: Guidance, action: Action, facts: Facts | None) -> Answer:
        """What the agent is told after a call; it is remembered only if it is delivered."""
        if not guidance.feedback:
            return Answer()
        memory = Memory(self._recalled(log))
        try:
            findings = partial(self._open_findings, facts.project_root if facts else "")
            told = guidance.tell(action, memory, facts, self._past(log), lambda: [title for _, title in findings()])
            given = [
                {"provider": each.provider_name, "severity": each.severity, "text": redact_text(each.render())[0]}
                for each in told.feedback
            ]
            body = {"given": given, "failures": dict(told.failures), "kept": memory.changes}
            canonical(body)
        except Exception as error:
            log.append(EntryKind.GAP, {"moment": "after", "failures": {"feedback": describe(error)}})
            return Answer()
        if given or told.failures:
            log.append(EntryKind.FEEDBACK, body)
        return Answer(context="\n\n".join(each["text"] for each in given))

    def _completed(self, log: Writer, turn: Turn) -> Answer | None:
        """The refusal of a stop whose work is incomplete; None when the completion checks have nothing against it."""
        guidance = self.guidance
        if guidance is None or not any(completion.covers(turn.agent) for completion in guidance.completions):
            return None
        memory = Memory(self._recalled(log))
        context = self._finishing(log, turn)
        settled = guidance.settle(context, memory, self._past(log), agent=turn.agent)
        text = redact_text(settled.text)[0]
        body = {
            "by": "completion",
            "allowed": settled.allowed,
            "text": text,
            "skipped": settled.skipped,
            "unfinished": settled.unfinished,
        }
        log.append(EntryKind.COMPLETION, body | {"kept": memory.changes})
        return None if settled.allowed else Answer(allowed=False, reason=text, guard="completion")

    def _finishing(self, log: Writer | None, turn: Turn) -> TaskCompletionContext:
        """What the completion checks may look at."""
        from verdikt.guidance.completion import TaskCompletionContext

        facts = Facts(self._see(turn.cwd))
        return TaskCompletionContext(
            session=self._session(log) if log else SessionState(turn.session_id),
            tentative_output=turn.message,
            filesystem=facts,
            adapter=turn.host,
            stop_reason=str(turn.raw.get("stop_reason") or "") or None,
            proven=lambda validator, arguments: log is not None and self.proving.holds(log, validator, arguments),
            findings=lambda level: self._count_findings(facts.project_root, level),
        )

    def _recalled(self, log: Writer) -> Mapping[str, Any]:
        return Recalled(partial(log.project, "memory"))

    def _past(self, log: Writer) -> Past:
        from verdikt.guidance.definition import Past

        return Past(session=self._session(log), now=self.clock.now(), **log.project("calls"))

    def _effects(self, action: Action, facts: Facts) -> Effects:
        manifest = self.policy.section("manifest")
        declared = manifest.tools.get(action.tool) if manifest else None
        return classify(action, facts, manifest={declared.name: declared.dump()} if declared else None)

    def _open_findings(self, root: str) -> list[tuple[Level, str]]:
        """The open findings about files below a directory, the worst first."""
        from verdikt.council.runs import Runs, runs_directory

        verdicts, _ = Runs(runs_directory(self._env), self.clock.now).recent(limit=20)
        found = [
            (finding.severity, finding.title)
            for verdict in verdicts
            for finding in verdict.findings
            if any(self._is_there(os.path.join(root, place.file)) for place in finding.evidence)
        ]
        return sorted(found, key=lambda each: -each[0])

    def _is_there(self, path: str) -> bool:
        try:
            with self.look(path):
                return os.path.exists(path)
        except PermissionError:
            return False

    def _count_findings(self, root: str, level: str) -> int:
        from verdikt.model.finding import Level

        return sum(severity >= Level.of(level) for severity, _ in self._open_findings(root))

    def _session(self, log: Writer) -> SessionState:
        return SessionState(log.session, **log.project("session")).copy()

    def _posture(self, log: Writer) -> Posture:
        kept = log.project("posture")
        return Posture(kept) if kept else self.policy.posture

    def _real(self, cwd: str) -> World:
        here = absolute(cwd if cwd.startswith("/") else os.path.join(self.here, cwd))
        home = self._env.get("HOME", "")
        root = project_root(here, home)
        guarded = guarded_paths(root, self._env)
        return RealWorld(here, env=self._env, guarded=guarded, clock=self.clock, root=root if home else "")

    def _crashed(self, moment: str, error: Exception, session: str = "") -> None:
        """Leaves a trace where it can: beside the log always, in the log when it still takes entries."""
        from verdikt.observe.crash import record_crash

        record_crash(self.store.home, moment, error)
        try:
            self.proving.crashed(moment)
        except OSError as again:
            record_crash(self.store.home, f"{moment}.note", again)
        if session:
            try:
                note = {"moment": moment, "error": type(error).__name__}
                self.store.append(session, EntryKind.GAP, note)
            except Exception as again:
                record_crash(self.store.home, f"{moment}.gap", again)


def _decision_record(decision: Decision, action: Action, pause: Pause | None) -> dict[str, Any]:
    """A decision as the log keeps it. The receipt is the policy's own word, whether or not a pause let the action through."""
    body = {
        "receipt": decision.receipt.written,
        "receipt_sha256": decision.receipt.sha256,
        "call_id": action.call_id,
    }
    if made := _made(decision):
        body["kept"] = made
    return body | ({"paused": {"until": pause.until, "reason": pause.reason}} if pause else {})


_MOST_MADE = 16


def _made(decision: Decision) -> dict[str, Any]:
    """Marks for the files that an action puts where there were none, so that the session may take them away again."""
    if not decision.passed:
        return {}
    paths = [
        target.path
        for effect in decision.effects
        if effect.what in ("fs.write", "fs.append")
        for target in effect.targets
        if target.state == "absent" and target.zone is Zone.PROJECT and target.path
    ]
    return {marking("made", path): "1" for path in paths[:_MOST_MADE]}


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
