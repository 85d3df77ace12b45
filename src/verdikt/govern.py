"""The flow: `Governance`, with one short method for each of the five moments (before, after, prompt, stop, commit)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar

from verdikt.decide import decide
from verdikt.effects.session_trail import (
    ARMED_KEY,
    PROJECT_ARMED_KEY,
    find_moved_destinations,
    note_action,
)
from verdikt.effects.untrusted_sources import note_sources
from verdikt.graph.policy_cache import load_cached_policy
from verdikt.ledger.approvals import close_answered_at_terminal
from verdikt.ledger.call_record import build_call_record
from verdikt.ledger.data_directory import get_data_directory, has_stored_policy
from verdikt.ledger.files import FileStore
from verdikt.ledger.kept_files import KeptFiles, explain_restorations
from verdikt.ledger.policy_store import store_policy
from verdikt.ledger.projections import ASKS, load_projections
from verdikt.ledger.shared_memory import read_shared_memory, to_memory_session
from verdikt.ledger.standing_asks import find_standing_ask, record_answer
from verdikt.model.action import ActionKind
from verdikt.model.entry import EntryKind
from verdikt.model.facts import NAMED_WORDS_KEY, Facts, World
from verdikt.model.hook_message import Answer, Turn, add_notice
from verdikt.model.named_words import fold_named_words
from verdikt.model.posture import Posture
from verdikt.model.redaction import redact_action, redact_text
from verdikt.model.session_edits import (
    FILE_WRITES,
    SHELL_EDITS,
    begin_edit,
    begin_shell_edits,
    end_edit,
    end_shell_edits,
    find_open_edits,
    mark_created_files,
    mark_edit,
)
from verdikt.model.session_state import SessionState, StoredMemory
from verdikt.model.verdict import VerdictKind, add_warning, decision_from_error, strictest_posture
from verdikt.observe.clock import SystemClock
from verdikt.observe.crash_log import record_crash
from verdikt.observe.guarded_paths import find_host_project, list_guarded_paths
from verdikt.observe.world import RealWorld, find_project_root, to_absolute

# Evidence, guidance, councils and the reader of policy files are imported where they are used: `before` needs
# none of them when the policy is cached, and together they are two fifths of the CPU of a hook that no daemon answers.
if TYPE_CHECKING:
    from verdikt.call_permissions import StoppedCall
    from verdikt.council.config import Councils
    from verdikt.council.council_run import ProgressCallback
    from verdikt.council_reviews import CouncilReviews
    from verdikt.evidence.gate_service import EvidenceGate
    from verdikt.graph.flow_rules import FlowRule
    from verdikt.graph.policy import Policy
    from verdikt.guidance.completion import (
        Completion,
        TaskCompletionChecker,
        TaskCompletionResult,
    )
    from verdikt.guidance.definition import Guidance
    from verdikt.guidance.feedback import FeedbackProviderConfig
    from verdikt.guidance.hooks import GuidanceHooks
    from verdikt.guidance.tool_policy import ToolPolicy, ToolPolicyGuard
    from verdikt.ledger.store import LogWriter
    from verdikt.model.action import Action, Outcome
    from verdikt.model.hook_message import Prompt
    from verdikt.model.standing_ask import StandingAsk
    from verdikt.model.verdict import Decision
    from verdikt.observe.clock import Clock

P = ParamSpec("P")
R = TypeVar("R")

WorldFactory = Callable[[str], World]
"""Return the world as seen from a directory."""

PathAccess = Callable[[str], "AbstractContextManager[object]"]
"""Return a context in which a path is read with the caller's rights; `PermissionError` when they do not suffice."""

_COMPLETION_UNKNOWN = (
    "whether the work is complete could not be told: say so, and ask the person to run `verdikt doctor`"
)


class Governance:
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
        self.policy = policy
        self.store = store
        self._owns_store = False
        self._feedback = tuple(feedback)
        self._completion = completion
        self.clock = clock or SystemClock()
        self._env = env
        self.base_directory = base_directory
        self.path_access = path_access
        self._world_factory = world_factory or self._observe_world
        self._memory_logs: dict[tuple[str, str], tuple[str, bool]] = {}

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
                self._remember_in_project(facts.project_root, {ARMED_KEY: armed_files})
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
                    body |= {"kept": marks} if (marks := mark_edit(action, facts, end_edit)) else {}
                elif edited := find_open_edits(action, memory, self.clock.now()):
                    facts = Facts(self._world_factory(action.cwd), memory=memory)
                    body |= {"kept": end_shell_edits(edited, facts)}
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
                if flows := self.policy.section("flow"):
                    self._remember_named_words(prompt, flows)
        except Exception as error:
            self._record_crash("prompt", error, prompt.session_id)
        return Answer()

    def _remember_named_words(self, prompt: Prompt, flows: Sequence[FlowRule]) -> None:
        """Record what a person named, for flows that make an exception for it."""
        if not any(rule.unless for rule in flows):
            return
        with self.store.session(prompt.session_id) as session:
            before = str(_read_memory(session).get(NAMED_WORDS_KEY) or "")
            words = fold_named_words(before, redact_text(prompt.text)[0])
            if words != before:
                session.append(EntryKind.FEEDBACK, {"given": [], "failures": {}, "kept": {NAMED_WORDS_KEY: words}})

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
                answer = replace(answer, context="\n".join(filter(None, (completion.context, answer.context))))
            return add_notice(answer, notice) if notice else answer
        except Exception as error:
            self._record_crash("stop", error, turn.session_id)
            enforced = self.guidance is not None or self.evidence_gate.settings.mode == "enforce"
            if not enforced or turn.stop_hook_active or not self.evidence_gate.is_first_failure(turn):
                return Answer()
            return Answer(allowed=False, reason=_COMPLETION_UNKNOWN, guard="verdikt")

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

    @cached_property
    def kept_files(self) -> KeptFiles:
        """The files that wire verdikt, as they were wired."""
        return KeptFiles(self.store.home, access=self.path_access)

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

    @cached_property
    def evidence_gate(self) -> EvidenceGate:
        """The gate that holds what the agent claims against what the log proves."""
        from verdikt.evidence.gate_service import EvidenceGate
        from verdikt.evidence.section import EvidenceSettings

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
        """Return the tool policies that apply to a tool, in the order in which they are evaluated."""
        return self.guidance.policies_for_tool(name, agent=agent, prompt=prompt) if self.guidance else ()

    def try_completion(self, session: str, cwd: str) -> tuple[TaskCompletionResult, ...]:
        """Return what each completion check says now about a directory; refuse, count and record nothing."""
        turn = Turn(session_id=session, cwd=cwd)
        if self.guidance_hooks is None:
            return ()
        if not session or not self.store.reader.has_session(session):
            return self.guidance_hooks.preview_completion(None, turn)
        with self.store.session(session) as log:
            return self.guidance_hooks.preview_completion(log, turn)

    @property
    def feedback_providers(self) -> tuple[FeedbackProviderConfig, ...]:
        """The feedback providers, with their triggers."""
        return self.guidance.feedback if self.guidance else ()

    @property
    def task_completion_checker(self) -> TaskCompletionChecker | None:
        """The check that must pass before the agent may stop; None when there is none."""
        return self.guidance.checker if self.guidance else None

    @cached_property
    def guidance(self) -> Guidance | None:
        """Tool policies, feedback and completion checks of the policy and the constructor; None when there are none."""
        from verdikt.guidance.completion import Completion
        from verdikt.guidance.definition import Guidance, find_policy_guards

        own = self._completion
        own_completion = own if own is None or isinstance(own, Completion) else Completion(checker=own)
        guidance = Guidance(
            # From the graph, not from the section: a program can put tool policies into its graph directly.
            policies=tuple(find_policy_guards(self.policy.nodes)),
            feedback=(*(self.policy.section("feedback") or ()), *self._feedback),
            completions=(*(self.policy.section("completion") or ()), *([own_completion] if own_completion else [])),
        )
        return guidance if guidance else None

    @cached_property
    def guidance_hooks(self) -> GuidanceHooks | None:
        """The guidance, connected to the log; None when there is no guidance."""
        if self.guidance is None:
            return None
        from verdikt.guidance.hooks import GuidanceHooks

        return GuidanceHooks(self.guidance, self.policy, self.evidence_gate, self._world_factory)

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
        if self.policy.section("councils") is None:
            return Answer()
        directory = self._to_directory(cwd)
        try:
            # The process of another user must not run what a project names.
            is_foreign = self.path_access is not nullcontext
            return self.council_reviews.start(trigger, directory, path=path, can_run=not is_foreign)
        except Exception as error:
            self._record_crash(trigger, error)
            return Answer()

    @cached_property
    def council_reviews(self) -> CouncilReviews:
        """The councils of the policy, connected to git and the log."""
        from verdikt.council_reviews import CouncilReviews  # few calls review anything

        return CouncilReviews(self.policy, self.store, self.clock, self._env)

    @property
    def councils(self) -> Councils:
        """The councils of the policy."""
        return self.council_reviews.councils

    def _session_posture(self, session: LogWriter) -> Posture:
        """Return the posture that was set for the session, or else the policy's."""
        posture = session.read_projection("posture")
        return Posture(posture) if posture else self.policy.posture

    def _read_memory(self, session: LogWriter, world: World) -> StoredMemory:
        return StoredMemory(partial(session.read_projection, "memory"), partial(self._read_shared_memory, world))

    def _read_shared_memory(self, world: World, scope: str) -> StoredMemory:
        root = str(world.place().get("project_root", ""))
        path, is_archived = self._find_memory_log(scope, root)
        # A look at the directory is much cheaper than one at the database, and few projects remember anything.
        if not is_archived and not os.path.exists(path):
            return StoredMemory(dict)
        return read_shared_memory(self.store, scope, root)

    def _find_memory_log(self, scope: str, root: str) -> tuple[str, bool]:
        """Return the file of a shared memory's log, and whether it had one when first asked for."""
        if (scope, root) not in self._memory_logs:
            session = to_memory_session(scope, root)
            path = str(self.store.reader.hot_file_path(session))
            self._memory_logs[scope, root] = (path, self.store.reader.has_session(session))
        return self._memory_logs[scope, root]

    def _remember_in_project(self, root: str, changes: Mapping[str, Any]) -> None:
        """Record what later sessions of the project have to know, in a log of its own."""
        body = {"given": [], "failures": {}, "kept": dict(changes)}
        self.store.append(to_memory_session("project", root), EntryKind.FEEDBACK, body)

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

    def _record_crash(self, moment: str, error: Exception, session: str = "") -> None:
        """Record a failure: always in the crash file, and as a gap in the log of `session` if one is named."""
        record_crash(self.store.home, moment, error)
        # Each step by itself: a second failure must neither hide the first nor reach the host.
        try:
            self.evidence_gate.note_crash(moment)
        except Exception as second_error:
            record_crash(self.store.home, f"{moment}.note", second_error)
        if session:
            try:
                note = {"moment": moment, "error": type(error).__name__}
                self.store.append(session, EntryKind.GAP, note)
            except Exception as second_error:
                record_crash(self.store.home, f"{moment}.gap", second_error)


def collect_memory_changes(action: Action, decision: Decision, facts: Facts, seq: int, now: float) -> dict[str, Any]:
    """Return what the memory keeps of an action that may happen; `seq` is the number of its entry in the log."""
    changes: dict[str, Any] = {}
    effects = decision.effects
    # Also after an ask: the person may say yes, and no later moment tells.
    if decision.verdict.kind is not VerdictKind.BLOCK and effects.may_matter_later:
        changes |= note_action(action, effects, facts, seq)
    if not decision.passed:
        return changes
    if writes := [effect for effect in effects.items if effect.what in FILE_WRITES]:
        # What was moved is not new: deleting it would lose what it was before.
        changes |= mark_created_files(writes, find_moved_destinations(effects, facts))
    if action.kind is ActionKind.WRITE:
        changes |= mark_edit(action, facts, begin_edit)
    if [effect for effect in effects.items if effect.what in SHELL_EDITS]:
        changes |= begin_shell_edits(action, effects, facts, now)
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
