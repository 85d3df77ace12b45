"""The flow: `Governance`, with one short method for each of the five moments (before, after, prompt, stop, commit)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar

from verdikt.decide import decide
from verdikt.effects.armed_files import ARMED_KEY, PROJECT_ARMED_KEY
from verdikt.effects.session_trail import find_moved_destinations, note_action
from verdikt.effects.untrusted_sources import note_sources
from verdikt.governance_parts import GovernanceParts, PathAccess
from verdikt.graph.policy_cache import load_cached_policy
from verdikt.ledger.call_record import build_call_record
from verdikt.ledger.data_directory import get_data_directory, has_stored_policy
from verdikt.ledger.files import FileStore
from verdikt.ledger.kept_files import explain_restorations
from verdikt.ledger.named_words import record_named_words
from verdikt.ledger.policy_store import store_policy
from verdikt.ledger.projections import ASKS, load_projections
from verdikt.ledger.shared_memory import SharedMemory
from verdikt.ledger.standing_asks import close_answered_at_terminal, find_standing_ask, read_ask, record_answer
from verdikt.model import session_edits
from verdikt.model.action import Action, ActionKind, Outcome
from verdikt.model.entry import EntryKind
from verdikt.model.facts import Facts
from verdikt.model.hook_message import Answer, Prompt, Turn, add_notice
from verdikt.model.posture import Posture
from verdikt.model.redaction import redact_action
from verdikt.model.session_state import SessionState, StoredMemory
from verdikt.model.verdict import Decision, VerdictKind, add_warning, decision_from_error, strictest_posture
from verdikt.model.world import World, WorldFactory
from verdikt.observe.clock import SystemClock
from verdikt.observe.guarded_paths import find_host_project, list_guarded_paths
from verdikt.observe.world import RealWorld, find_project_root, to_absolute

# Evidence, guidance, councils and the reader of policy files are imported where they are used: `before` needs
# none of them when the policy is cached, and together they are two fifths of the CPU of a hook that no daemon answers.
if TYPE_CHECKING:
    from verdikt.call_permissions import StoppedCall
    from verdikt.council.council_run import ProgressCallback
    from verdikt.graph.policy import Policy
    from verdikt.guidance.completion import Completion, TaskCompletionChecker
    from verdikt.guidance.feedback import FeedbackProviderConfig
    from verdikt.guidance.tool_policy import ToolPolicy, ToolPolicyGuard
    from verdikt.ledger.store import LogWriter
    from verdikt.model.standing_ask import StandingAsk
    from verdikt.observe.clock import Clock

P = ParamSpec("P")
R = TypeVar("R")

_COMPLETION_UNKNOWN = (
    "whether the work is complete could not be told: say so, and ask the person to run `verdikt doctor`"
)


class Governance(GovernanceParts):
    """A policy, a log, and a method for each moment at which a host calls verdikt.

    A context manager: `close` closes the store, if `load` opened it.
    """

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
        """Govern by a policy, recording in a store that the caller closes.

        Relative paths start from `base_directory`, by default the working directory of this process. `path_access`
        gives the rights with which files are read that do not go through a world, by default those of this process.
        """
        if tool_policies:
            from verdikt.policy import add_tool_policies

            policy = add_tool_policies(policy, tool_policies)
        super().__init__(
            policy,
            store,
            feedback=feedback,
            completion=completion,
            world_factory=world_factory or self._observe_world,
            clock=clock or SystemClock(),
            env=env,
            base_directory=base_directory,
            path_access=path_access,
        )
        self._owns_store = False
        self._shared_memory = SharedMemory(store)

    @classmethod
    def load(
        cls,
        path: str | Path | None = None,
        *,
        cwd: str = "",
        env: Mapping[str, str] = os.environ,
        clock: Clock | None = None,
    ) -> Governance:
        """Govern by one policy file, or by the layers in force at `cwd`; a `PolicyError` lists every fault.

        Naming a file accepts it. Layers that are found may loosen only what a person has accepted.
        """
        # The store first: it creates the data directory, in which the user's policy is recorded when it is first seen.
        store = FileStore(get_data_directory(env), clock, load_projections())
        try:
            policy = load_cached_policy(cwd, env) if not path else _load_file(str(path))
        except BaseException:
            store.close()
            raise
        governance = cls(policy, store, clock=clock, env=env)
        governance._owns_store = True
        return governance

    def close(self) -> None:
        """Close the store that `load` opened; a store that was given stays open."""
        if self._owns_store:
            self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def before(self, action: Action, *, posture: Posture | None = None, is_asked_away: bool = False) -> Decision:
        """Decide whether an action may happen.

        The decision is in the log before it is returned. A failure anywhere on the way is a block, which only the crash
        file records. With `is_asked_away` the host can show no question, and a team service asks, where there is one.
        """
        try:
            started = self.clock.now()
            action, secrets = redact_action(action)
            notice = self.restore_wiring(action.session_id, action.cwd, "before")
            world = self._world_factory(action.cwd)
            # All under the session's lock, so that parallel calls see each other's counts.
            with self.store.session(action.session_id) as log:
                facts = Facts(world, secrets=secrets, memory=self._read_memory(log, world))
                # A host can only tighten the posture (a run without a person is autonomous), never relax it.
                posture = strictest_posture(self._session_posture(log), posture or Posture.INTERACTIVE)
                # A call that a person was asked about stays asked about until there is an answer.
                is_asked = bool(action.call_id) and action.call_id in log.read_projection(ASKS.name)
                standing = find_standing_ask(self.store, log, action) if is_asked else None
                state = _read_state(log)
                # Classifies the effects, evaluates the policy, settles with the posture, builds decision and receipt.
                decision = decide(action, facts, state, posture, self.policy, standing=standing)
                settled = None
                if not decision.passed:
                    stopped = self._build_stopped_call(
                        action, facts, posture, log, standing=standing, is_asked_away=is_asked_away
                    )
                    settled = stopped.settle(decision, state)
                    decision, state = settled.decision, settled.state
                # Replay needs the policy document, so it is stored before the first entry that names its digest.
                for part in self.policy.parts:
                    if not has_stored_policy(self.store.home, part.digest):
                        store_policy(self.store.home, part.digest, part.document)
                memory_changes = collect_memory_changes(action, decision, facts, log.head.seq + 1, started)
                if decision.verdict.kind is not VerdictKind.BLOCK and self.policy.section("flow"):
                    memory_changes |= note_sources(action, decision.effects, facts, log.head.seq + 1)
                is_armed_changed = PROJECT_ARMED_KEY in memory_changes
                armed_files = memory_changes.pop(PROJECT_ARMED_KEY, None)
                # The duration is for the report of the slowest calls; the receipt has no clock of its own.
                duration = {"microseconds": max(0, int((self.clock.now() - started) * 1_000_000))}
                entry = log.append(EntryKind.DECISION, decision.to_log_body(action.call_id, memory_changes) | duration)
                if settled is not None:
                    settled.append_request(log, entry)
                self._raise_posture(log, state.risk)
            if is_armed_changed:
                self._shared_memory.remember_in_project(facts.project_root, {ARMED_KEY: armed_files})
            if settled is not None:
                decision = settled.announce(self.store, action.session_id)
            return add_warning(decision, notice) if notice else decision
        except Exception as error:
            self._record_crash("before", error)
            return decision_from_error(error)

    def _build_stopped_call(
        self,
        action: Action,
        facts: Facts,
        posture: Posture,
        log: LogWriter,
        *,
        standing: StandingAsk | None,
        is_asked_away: bool,
    ) -> StoppedCall:
        """Return a call with what can let it through: grants, a pause, people's approval."""
        # Only here, because ordinary work passes and must not pay for it.
        from verdikt.call_permissions import StoppedCall

        return StoppedCall(
            action=action,
            facts=facts,
            posture=posture,
            policy=self.policy,
            standing=standing,
            store=self.store,
            log=log,
            read_state=partial(_read_state, log),
            env=self._env,
            is_asked_away=is_asked_away,
        )

    def _to_directory(self, cwd: str) -> str:
        return to_absolute(cwd if cwd.startswith("/") else os.path.join(self.base_directory, cwd))

    def after(self, action: Action, outcome: Outcome) -> Answer:
        """Record what came of an action, and return what the agent should know now.

        Never refuses; what cannot be recorded leaves a gap entry.
        """
        try:
            action, _ = redact_action(action)
            # Before the lock: redacting a long output takes a while, and other calls of the session wait for the lock.
            body, artifacts = build_call_record(action, outcome)
            body["evidence"] = self.evidence_gate.collect_call_evidence(action, outcome)
            with self.store.session(action.session_id) as session:
                memory = _read_memory(session)
                if action.call_id and action.call_id in session.read_projection(ASKS.name):
                    close_answered_at_terminal(session, action.call_id)
                if action.kind is ActionKind.WRITE and outcome.success:
                    facts = Facts(self._world_factory(action.cwd), memory=memory)
                    body |= (
                        {"kept": marks}
                        if (marks := session_edits.mark_edit(action, facts, session_edits.end_edit))
                        else {}
                    )
                elif edited := session_edits.find_open_edits(action, memory, self.clock.now()):
                    facts = Facts(self._world_factory(action.cwd), memory=memory)
                    body |= {"kept": session_edits.end_shell_edits(edited, facts)}
                if self.guidance_hooks is not None:
                    answer = self.guidance_hooks.after_call(session, action, outcome, body, artifacts)
                else:
                    session.append(EntryKind.TOOL_CALL, body, artifacts=artifacts)
                    answer = Answer()
            # Strictly: what changed while the action ran is the action's doing.
            notice = self.restore_wiring(action.session_id, action.cwd, "after", strict=True)
            return add_notice(answer, notice) if notice else answer
        except Exception as error:
            self._record_crash("after", error, action.session_id)
            return Answer()

    def prompt(self, prompt: Prompt) -> Answer:
        """Record a person's request as a contract, and audit phrases that try to get past a check; never refuse."""
        try:
            if prompt.human:
                self.evidence_gate.record_prompt(prompt)
                # Only flows that make an exception for what a person named have to know it.
                if any(rule.unless for rule in self.policy.section("flow") or ()):
                    record_named_words(self.store, prompt)
        except Exception as error:
            self._record_crash("prompt", error, prompt.session_id)
        return Answer()

    def stop(self, turn: Turn) -> Answer:
        """Decide whether the agent may finish: first the completion checks, then the evidence gate.

        A failure refuses once per turn and then lets go, so that an agent cannot be held in a loop.
        """
        try:
            from verdikt.ledger.unreported_calls import record_uncovered_calls  # only a stop needs it

            record_uncovered_calls(self.store, turn)
            completion = Answer()
            if self.guidance_hooks is not None:
                with self.store.session(turn.session_id) as session:
                    completion = self.guidance_hooks.check_completion(session, turn)
                if not completion.allowed:
                    return completion
            notice = self.restore_wiring(turn.session_id, turn.cwd, "stop")
            answer = self.evidence_gate.judge_stop(turn)
            if completion.context:
                answer = answer._replace(context="\n".join(filter(None, (completion.context, answer.context))))
            return add_notice(answer, notice) if notice else answer
        except Exception as error:
            self._record_crash("stop", error, turn.session_id)
            enforced = self.guidance is not None or self.evidence_gate.settings.mode == "enforce"
            if not enforced or turn.stop_hook_active or not self.evidence_gate.is_first_failure(turn):
                return Answer()
            return Answer(allowed=False, reason=_COMPLETION_UNKNOWN, guard="verdikt")

    def read_ask(self, session_id: str, call_id: str) -> StandingAsk | None:
        """Return what a person was asked about a call, for a program that shows it; None when there is no such ask."""
        return read_ask(self.store, session_id, call_id)

    def record_answer(
        self, session_id: str, call_id: str, *, approved: bool, by: str = "", channel: str = ""
    ) -> StandingAsk:
        """Record a person's answer to the ask about a call; the next `before` of the same call goes by it.

        Raises `LedgerError` when no such ask is open. Only a plain `True` is a yes, and a no is not taken back.
        """
        return record_answer(self.store, session_id, call_id, approved=approved is True, by=by, channel=channel)

    async def abefore(self, action: Action, *, posture: Posture | None = None) -> Decision:
        """Decide like `before`, in a worker thread; a task that is cancelled meanwhile gets no decision."""
        return await _run_in_thread(self.before, action, posture=posture)

    async def aafter(self, action: Action, outcome: Outcome) -> Answer:
        """Record like `after`, in a worker thread."""
        return await _run_in_thread(self.after, action, outcome)

    async def aprompt(self, prompt: Prompt) -> Answer:
        """Record like `prompt`, in a worker thread."""
        return await _run_in_thread(self.prompt, prompt)

    async def astop(self, turn: Turn) -> Answer:
        """Decide like `stop`, in a worker thread."""
        return await _run_in_thread(self.stop, turn)

    def restore_wiring(self, session_id: str, cwd: str, moment: str, *, strict: bool = False) -> str:
        """Put back what was changed of the files that wire verdikt, record it, and return a text about it.

        Raises `WiringError` when a file cannot be put back: then nothing may happen.
        """
        if self.kept_files.is_unchanged():
            return ""
        directory = cwd if cwd.startswith("/") else os.path.join(self.base_directory, cwd)
        restorations = self.kept_files.restore_changed(directory, find_host_project(self._env), strict=strict)
        if not restorations:
            return ""
        body = {"moment": moment, "restored": [restoration.to_record() for restoration in restorations]}
        self.store.append(session_id, EntryKind.GAP, body)
        return explain_restorations(restorations)

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
        """Decide whether staged work may be committed.

        With a guardrail council, only after a fresh verdict below HIGH, and a failure refuses. Reviews the index
        against HEAD or `base`, or the commit `at` against `base`; `run` first runs the command reviewers that have not
        reported.
        """
        reviews = self.council_reviews
        try:
            return reviews.judge_commit(repo, trigger=trigger, base=base, at=at, run=run, progress=progress)
        except Exception as error:
            self._record_crash("commit", error)
            return reviews.refuse_unjudged(trigger, error)

    def review(self, trigger: str, cwd: str, *, path: str = "") -> Answer:
        """Start the councils of a session's start or end, or of a saved file, and say so. Never refuses.

        They run in the background within their budgets; their findings are there for the next commit and the agent.
        """
        councils = self.policy.section("councils")
        if councils is None:
            return Answer()
        directory = self._to_directory(cwd)
        try:
            # The process of another user must not run what a project names.
            is_foreign = self.path_access is not nullcontext
            from verdikt.council.background import start_reviews  # few calls review anything

            return start_reviews(
                councils, trigger, directory, home=self.store.home, env=self._env, path=path, can_run=not is_foreign
            )
        except Exception as error:
            self._record_crash(trigger, error)
            return Answer()

    def _session_posture(self, session: LogWriter) -> Posture:
        """Return the posture that was set for the session, or else the policy's."""
        posture = session.read_projection("posture")
        return Posture(posture) if posture else self.policy.posture

    def _read_memory(self, session: LogWriter, world: World) -> StoredMemory:
        return StoredMemory(partial(session.read_projection, "memory"), partial(self._shared_memory.read, world))

    def _raise_posture(self, session: LogWriter, risk: float) -> None:
        """Move the session to a stricter posture, from the next action on, if the policy says so for this risk."""
        moves = self.policy.section("raise_posture")
        if not moves:
            return
        from verdikt.graph.posture_moves import find_posture_move  # few policies have such moves

        before = self._session_posture(session)
        move = find_posture_move(moves, before, risk)
        if move is not None:
            reason = f"the risk of the session reached {move.risk:g}"
            session.append(
                EntryKind.POSTURE, {"before": before, "after": move.to, "reason": reason, "by": "policy", "risk": risk}
            )

    def _observe_world(self, cwd: str) -> World:
        directory = self._to_directory(cwd)
        home = self._env.get("HOME", "")
        root = find_project_root(directory, home)
        guarded = list_guarded_paths(root, self._env)
        # Without HOME the world assumes another home directory, and must look for the root again from there.
        return RealWorld(directory, env=self._env, guarded=guarded, clock=self.clock, root=root if home else "")


def collect_memory_changes(action: Action, decision: Decision, facts: Facts, seq: int, now: float) -> dict[str, Any]:
    """Return what the memory keeps of an action that may happen; `seq` is the number of its entry in the log."""
    changes: dict[str, Any] = {}
    effects = decision.effects
    # Also after an ask: the person may say yes, and no later moment tells.
    if decision.verdict.kind is not VerdictKind.BLOCK and effects.may_matter_later:
        changes |= note_action(action, effects, facts, seq)
    if not decision.passed:
        return changes
    if writes := [effect for effect in effects.items if effect.what in session_edits.FILE_WRITES]:
        # What was moved is not new: deleting it would lose what it was before.
        changes |= session_edits.mark_created_files(writes, find_moved_destinations(effects, facts))
    if action.kind is ActionKind.WRITE:
        changes |= session_edits.mark_edit(action, facts, session_edits.begin_edit)
    if [effect for effect in effects.items if effect.what in session_edits.SHELL_EDITS]:
        changes |= session_edits.begin_shell_edits(action, effects, facts, now)
    return changes


async def _run_in_thread(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    # The log is file I/O, which must not hold up an event loop. A hook has none and must not pay for the import.
    from asyncio import to_thread

    return await to_thread(function, *args, **kwargs)


def _load_file(path: str) -> Policy:
    from verdikt.policy import load_file  # not needed where the policy is cached

    return load_file(path)


def _read_state(session: LogWriter) -> SessionState:
    return SessionState.from_log(session.session_id, session.read_projection("session"))


def _read_memory(session: LogWriter) -> StoredMemory:
    return StoredMemory(partial(session.read_projection, "memory"))
