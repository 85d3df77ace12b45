"""THE FLOW: one short method for each of the five moments."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verdikt.council.config import Councils
from verdikt.council.runs import Runs, runs_directory
from verdikt.decide import decide
from verdikt.errors import VerdiktError
from verdikt.evidence.gate_service import EvidenceGate
from verdikt.evidence.section import EvidenceSettings
from verdikt.graph.policy_cache import load_cached_policy
from verdikt.guidance.completion import Completion
from verdikt.guidance.definition import Guidance, find_policy_guards
from verdikt.guidance.hooks import GuidanceHooks
from verdikt.ledger.council_findings import create_finding_log, find_open_findings
from verdikt.ledger.data_directory import get_data_directory
from verdikt.ledger.files import FileStore
from verdikt.ledger.grants import find_live_grants
from verdikt.ledger.pause import find_active_pause
from verdikt.ledger.policy_store import has_stored_policy, store_policy
from verdikt.ledger.projections import load_projections
from verdikt.model.action import action_to_record
from verdikt.model.canonical_json import sha256_hex
from verdikt.model.effect import Zone
from verdikt.model.entry import EntryKind
from verdikt.model.facts import Facts, World
from verdikt.model.hook_message import Answer, Turn
from verdikt.model.posture import Posture
from verdikt.model.redaction import redact_action, redact_text
from verdikt.model.session_state import SessionState, StoredMemory, mark_key
from verdikt.model.verdict import Verdict, decision_from_error, strictest_posture
from verdikt.observe.clock import SystemClock
from verdikt.observe.crash_log import record_crash
from verdikt.observe.git_index import GitIndex
from verdikt.observe.guarded_paths import list_guarded_paths
from verdikt.observe.world import RealWorld, find_project_root, to_absolute
from verdikt.policy import add_tool_policies, load_file

if TYPE_CHECKING:
    from verdikt.council.council_run import CouncilRunner, ProgressCallback
    from verdikt.graph.policy import Policy
    from verdikt.guidance.completion import (
        TaskCompletionChecker,
        TaskCompletionResult,
    )
    from verdikt.guidance.feedback import FeedbackProviderConfig
    from verdikt.guidance.tool_policy import ToolPolicy, ToolPolicyGuard
    from verdikt.ledger.pause import Pause
    from verdikt.ledger.store import LogWriter
    from verdikt.model.action import Action, Outcome
    from verdikt.model.hook_message import Prompt
    from verdikt.model.verdict import Decision
    from verdikt.observe.clock import Clock

WorldFactory = Callable[[str], World]
"""The world as seen from a directory."""

PathAccess = Callable[[str], "AbstractContextManager[object]"]
"""Inside, what is at a path is read with the rights of whoever asks; `PermissionError` when it is not for them."""

ARTIFACT_LIMIT = 1024 * 1024
"""Bytes of an output that are kept; its digest is always that of all of it."""

_COMPLETION_UNKNOWN = (
    "whether the work is complete could not be told: say so, and ask the person to run `verdikt doctor`"
)


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
        world_factory: WorldFactory | None = None,
        clock: Clock | None = None,
        env: Mapping[str, str] = os.environ,
        base_directory: str = "",
        path_access: PathAccess = nullcontext,
    ) -> None:
        """`here` is where relative paths start from; by default the working directory of this process.

        `look` is with whose rights files are read for which there is no world; by default this process's own.
        """
        if tool_policies:
            policy = add_tool_policies(policy, tool_policies)
        self.policy = policy
        self.store = store
        self._feedback = tuple(feedback)
        self._completion = completion
        self.clock = clock or SystemClock()
        self._env = env
        self.base_directory = base_directory
        self.path_access = path_access
        self._world_factory = world_factory or self._observe_world

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
        policy = load_file(str(path)) if path else load_cached_policy(cwd, env)
        return cls(policy, FileStore(get_data_directory(env), clock, load_projections()), clock=clock, env=env)

    def before(self, action: Action, *, posture: Posture | None = None) -> Decision:
        """May this happen? The decision is in the log before it is given; whatever fails on the way is a block."""
        try:
            clean, secrets = redact_action(action)
            world = self._world_factory(clean.cwd)

            def decide_in_session(log: LogWriter) -> Decision:
                facts = Facts(world, secrets=secrets, memory=StoredMemory(partial(log.read_projection, "memory")))
                return self._decide_and_record(log, clean, facts, posture)

            return self.store.update(clean.session_id, decide_in_session)
        except Exception as error:
            self._record_crash("before", error)
            return decision_from_error(error)

    def after(self, action: Action, outcome: Outcome) -> Answer:
        """It happened: what came of it is logged, and the agent is told what it should know now.

        Never stands in the way; what cannot be logged leaves a gap.
        """
        try:
            clean, _ = redact_action(action)
            return self.store.update(clean.session_id, lambda log: self._record_call(log, clean, outcome))
        except Exception as error:
            self._record_crash("after", error, action.session_id)
            return Answer()

    def prompt(self, prompt: Prompt) -> Answer:
        """A person asked: what for is kept as a contract, and words that try to get past a check are audited. Never in the way."""
        try:
            if prompt.human:
                self.proving.record_prompt(prompt)
        except Exception as error:
            self._record_crash("prompt", error, prompt.session_id)
        return Answer()

    def stop(self, turn: Turn) -> Answer:
        """The agent wants to finish: may it? A failure refuses once; asked again, it lets go, so that nothing goes round for ever."""
        try:
            guiding = self.guidance_hooks
            incomplete = guiding and self.store.update(turn.session_id, partial(guiding.check_completion, turn=turn))
            return incomplete or self.proving.judge_stop(turn)
        except Exception as error:
            self._record_crash("stop", error, turn.session_id)
            held = self.guidance is not None or self.proving.settings.mode == "enforce"
            if not held or turn.stop_hook_active or not self.proving.is_first_failure(turn):
                return Answer()
            return Answer(allowed=False, reason=_COMPLETION_UNKNOWN, guard="verdikt")

    @cached_property
    def proving(self) -> EvidenceGate:
        """What is asked for, what proves it, and the gate between the two."""
        settings = self.policy.section("evidence") or EvidenceSettings()
        return EvidenceGate(
            settings,
            self.store,
            self.clock,
            env=self._env,
            base_directory=self.base_directory,
            path_access=self.path_access,
        )

    def policies_for_tool(self, name: str, *, agent: str = "", prompt: str = "") -> tuple[ToolPolicy, ...]:
        """The tool policies that have a say about a tool, in the order in which they are asked."""
        return self.guidance.policies_for_tool(name, agent=agent, prompt=prompt) if self.guidance else ()

    def try_completion(self, session: str, cwd: str) -> tuple[TaskCompletionResult, ...]:
        """What each completion check says now of the work in a directory; nothing is refused, counted or recorded."""
        guiding, turn = self.guidance_hooks, Turn(session_id=session, cwd=cwd)
        if guiding is None:
            return ()
        if not session or not self.store.reader.has_session(session):
            return guiding.preview_completion(None, turn)
        return self.store.update(session, partial(guiding.preview_completion, turn=turn))

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

        own = self._completion
        made = own if own is None or isinstance(own, Completion) else Completion(checker=own)
        found = Guidance(
            policies=tuple(find_policy_guards(self.policy.nodes)),
            feedback=(*(given["feedback"] or ()), *self._feedback),
            completions=(*(given["completion"] or ()), *([made] if made else [])),
        )
        return found if found else None

    @cached_property
    def guidance_hooks(self) -> GuidanceHooks | None:
        """Guidance at work; None when this definition has none."""
        if self.guidance is None:
            return None

        return GuidanceHooks(self.guidance, self.policy, self.proving, self._world_factory)

    def commit(
        self,
        repo: str,
        *,
        trigger: str = "pre-commit",
        base: str = "",
        at: str = "",
        run: bool = False,
        progress: ProgressCallback | None = None,
    ) -> Answer:
        """May this become history? Where a guardrail stands, only with a fresh verdict below HIGH; whatever fails is a no.

        Judges the index against HEAD or `base`, or the commit `at` against `base`; `run` first calls the command
        reviewers that have not reported.
        """
        from verdikt.report.commit_refusal import render_refusal
        from verdikt.report.findings import explain

        called = self.councils.find_by_trigger(trigger)
        try:
            with self.open_council_runner(repo).at_commit(at) as chamber:
                judged = [
                    chamber.evaluate_current(council, self._open_findings, base=base, run=run, progress=progress)
                    for council in called
                ]
        except Exception as error:
            self._record_crash("commit", error)
            words = str(error) if isinstance(error, VerdiktError) else type(error).__name__
            closed = any(council.guardrail for council in called)
            said = f"the councils could not be asked: {words}"
            return Answer(allowed=not closed, reason=said if closed else "", context=said, guard="council")
        stopping = [one for one in judged if one.blocks]
        reason = "\n\n".join(
            render_refusal(one.council.name, one.plan.plan_hash, one.verdict, one.faults) for one in stopping
        )
        shown = [explain(one.verdict) for one in judged if not one.blocks and one.verdict and one.verdict.findings]
        return Answer(allowed=not stopping, reason=reason, context="\n".join(shown), guard="council" if judged else "")

    @property
    def councils(self) -> Councils:
        """The councils of the policy."""
        return self.policy.section("councils") or Councils()

    def open_council_runner(self, repo: str) -> CouncilRunner:
        """Where the councils of a repository meet."""
        from verdikt.council.council_run import CouncilRunner

        log = create_finding_log(lambda: self.store)
        directory = runs_directory(self._env, self.councils.runs_dir)
        return CouncilRunner(GitIndex(repo, self._env), Runs(directory, self.clock.now, log), self.clock, self._env)

    def _open_findings(self, plan_hash: str) -> Mapping[str, str]:
        return find_open_findings(self.store, plan_hash)

    def _decide_and_record(self, log: LogWriter, action: Action, facts: Facts, posture: Posture | None) -> Decision:
        """Decides and records under the session's lock, so that parallel calls see one another's counts."""
        stance = strictest_posture(self._current_posture(log), posture or Posture.INTERACTIVE)
        decision = decide(
            action, facts, SessionState.from_log(log.session, log.read_projection("session")), stance, self.policy
        )
        pause = None
        if not decision.passed:
            # Only when something stands in the way is it worth asking whether an operator let it through.
            if grants := find_live_grants(self.store, action.session_id, self.clock.now()):
                decision = decide(
                    action,
                    facts,
                    SessionState.from_log(log.session, log.read_projection("session")),
                    stance,
                    self.policy,
                    grants=grants,
                )
            # Nor does it take red lines away: what was let through meanwhile could make the pause one for ever.
            pause = None if decision.verdict.red_line else find_active_pause(self.store)
        if not has_stored_policy(self.store.home, self.policy.digest):
            store_policy(self.store.home, self.policy.digest, self.policy.document)
        log.append(EntryKind.DECISION, _build_decision_record(decision, action, pause))
        if pause and not decision.passed:
            said = f"paused by {pause.by or 'the operator'}: {pause.reason}"
            return replace(decision, verdict=Verdict.warn(guard="pause", reason=said))
        return decision

    def _record_call(self, log: LogWriter, action: Action, outcome: Outcome) -> Answer:
        """Logs a call, with what guidance learned from it and has to say."""
        body, artifacts = _build_call_record(action, outcome)
        body["evidence"] = self.proving.collect_call_evidence(action, outcome)
        if self.guidance_hooks is not None:
            return self.guidance_hooks.after_call(log, action, outcome, body, artifacts)
        log.append(EntryKind.TOOL_CALL, body, artifacts=artifacts)
        return Answer()

    def _current_posture(self, log: LogWriter) -> Posture:
        kept = log.read_projection("posture")
        return Posture(kept) if kept else self.policy.posture

    def _observe_world(self, cwd: str) -> World:
        here = to_absolute(cwd if cwd.startswith("/") else os.path.join(self.base_directory, cwd))
        home = self._env.get("HOME", "")
        root = find_project_root(here, home)
        guarded = list_guarded_paths(root, self._env)
        return RealWorld(here, env=self._env, guarded=guarded, clock=self.clock, root=root if home else "")

    def _record_crash(self, moment: str, error: Exception, session: str = "") -> None:
        """Leaves a trace where it can: beside the log always, in the log when it still takes entries."""
        record_crash(self.store.home, moment, error)
        try:
            self.proving.note_crash(moment)
        except Exception as again:
            record_crash(self.store.home, f"{moment}.note", again)
        if session:
            try:
                note = {"moment": moment, "error": type(error).__name__}
                self.store.append(session, EntryKind.GAP, note)
            except Exception as again:
                record_crash(self.store.home, f"{moment}.gap", again)


def _build_decision_record(decision: Decision, action: Action, pause: Pause | None) -> dict[str, Any]:
    """A decision as the log keeps it. The receipt is the policy's own word, whether or not a pause let the action through."""
    body = {
        "receipt": decision.receipt.canonical_text,
        "receipt_sha256": decision.receipt.sha256,
        "call_id": action.call_id,
    }
    if made := _mark_created_files(decision):
        body["kept"] = made
    return body | ({"paused": {"until": pause.until, "reason": pause.reason}} if pause else {})


_MAX_CREATED_MARKS = 16


def _mark_created_files(decision: Decision) -> dict[str, Any]:
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
    return {mark_key("made", path): "1" for path in paths[:_MAX_CREATED_MARKS]}


def _build_call_record(action: Action, outcome: Outcome) -> tuple[dict[str, Any], dict[str, bytes]]:
    """A tool call as the log keeps it: what was called, what came of it, and the output as an artifact."""
    artifacts = {}
    digests = {}
    for name, text in (("output", outcome.output), ("error", outcome.error)):
        if text:
            data = redact_text(text)[0].encode("utf-8", "backslashreplace")
            artifacts[name] = data[:ARTIFACT_LIMIT]
            digests[name] = {"sha256": sha256_hex(data), "bytes": len(data)}
    body = {
        **action_to_record(action),
        "call_id": action.call_id,
        "success": outcome.success,
        "exit_code": outcome.exit_code,
        "seconds": outcome.duration_seconds,
        "streams": digests,
    }
    return body, artifacts
