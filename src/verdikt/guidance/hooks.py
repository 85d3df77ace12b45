"""The I/O of guidance: read the log, call the pure parts, record their results."""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from verdikt.council.runs import Runs, runs_directory
from verdikt.effects.classifier import classify
from verdikt.evidence.gate_service import EvidenceGate
from verdikt.graph.failure import describe_error
from verdikt.graph.policy import Policy
from verdikt.guidance.completion import INCOMPLETE, TaskCompletionContext, TaskCompletionResult
from verdikt.guidance.definition import Guidance, SessionSummary
from verdikt.ledger.shared_memory import read_shared_memory, to_memory_session
from verdikt.ledger.store import LogWriter
from verdikt.model.action import Action, Outcome
from verdikt.model.canonical_json import encode_canonical
from verdikt.model.effect import Effects
from verdikt.model.entry import EntryKind
from verdikt.model.facts import Facts
from verdikt.model.finding import Level
from verdikt.model.hook_message import Answer, Turn
from verdikt.model.redaction import redact_text
from verdikt.model.session_state import MEMORY_SCOPES, Memory, SessionState, StoredMemory

if TYPE_CHECKING:
    from verdikt.model.world import WorldFactory

MAX_CHANGED_NAMES = 5
"""Number of changed files that the agent is told by name after one call."""


class GuidanceHooks:
    """Update tool policies after a call, give the agent feedback, and check at stop whether its work is complete."""

    def __init__(
        self, guidance: Guidance, policy: Policy, evidence_gate: EvidenceGate, world_factory: "WorldFactory"
    ) -> None:
        self.guidance = guidance
        self._policy = policy
        self._evidence_gate = evidence_gate
        self._world_factory = world_factory

    def after_call(
        self, session: LogWriter, action: Action, outcome: Outcome, body: dict[str, Any], artifacts: Mapping[str, bytes]
    ) -> Answer:
        """Record a call with what the tool policies learned from it; record and return the feedback on it."""
        memory = _load_memory(session)
        failures: dict[str, str] = {}
        shared: dict[str, Memory] = {}
        facts, changed = None, []
        try:
            facts = Facts(self._world_factory(action.cwd))
            shared = self._load_shared_memories(facts.project_root)
            failures = self.guidance.record_outcome(
                action,
                outcome,
                memory,
                facts,
                partial(self._classify_effects, action, facts),
                tree=(body.get("evidence") or {}).get("tree"),
                shared=shared,
            )
            changed = self.guidance.find_changed_reads(memory, facts, shared)
            encode_canonical([memory.changes, *(inner.changes for inner in shared.values())])
            self._append_shared_changes(shared, facts.project_root)
        except Exception as error:  # part of the flow: the call has happened and must be recorded whatever fails here
            failures, memory = {"guidance": describe_error(error)}, Memory()
        kept = {**body.pop("kept", {}), **memory.changes}
        session.append(EntryKind.TOOL_CALL, body | ({"kept": kept} if kept else {}), artifacts=artifacts)
        if failures:
            session.append(EntryKind.GAP, {"moment": "after", "failures": failures})
        answers = (
            self._report_changed_reads(session, changed, facts),
            self._give_feedback(session, action, facts),
            self._remind_of_work(session, action, facts),
        )
        return Answer(context="\n\n".join(answer.context for answer in answers if answer.context))

    def _load_shared_memories(self, root: str) -> dict[str, Memory]:
        """Return the memories beyond the session that the policies use, by scope."""
        scopes = {guard.lasting for guard in self.guidance.policies} & set(MEMORY_SCOPES[1:])
        store = self._evidence_gate.store
        return {scope: Memory(read_shared_memory(store, scope, root)) for scope in sorted(scopes)}

    def _append_shared_changes(self, shared: Mapping[str, Memory], root: str) -> None:
        """Record what the shared memories learned, each in a log of its own."""
        for scope, memory in shared.items():
            if memory.changes:
                body = {"given": [], "failures": {}, "kept": memory.changes}
                self._evidence_gate.store.append(to_memory_session(scope, root), EntryKind.FEEDBACK, body)

    def _report_changed_reads(self, session: LogWriter, paths: Sequence[str], facts: Facts | None) -> Answer:
        """Tell the agent that files it has read are not any more what it read, before it builds on them."""
        if not paths or facts is None:
            return Answer()
        names = [os.path.relpath(path, facts.project_root) for path in paths]
        shown = ", ".join(f"`{name}`" for name in names[:MAX_CHANGED_NAMES])
        more = f" and {len(names) - MAX_CHANGED_NAMES} more" if len(names) > MAX_CHANGED_NAMES else ""
        text = f"Changed on disk since you read it: {shown}{more}. Read it again before you rely on it."
        text = redact_text(text)[0]
        delivered = {"provider": "read_before_write", "severity": "caution", "text": text}
        session.append(EntryKind.FEEDBACK, {"given": [delivered], "failures": {}, "kept": {}})
        return Answer(context=text)

    def _remind_of_work(self, session: LogWriter, action: Action, facts: Facts | None) -> Answer:
        """Tell the agent from time to time what is missing, before a stop is refused for it."""
        count = session.read_projection("calls")["count"]
        due = [
            completion
            for completion in self.guidance.completions
            if completion.applies_to(action.agent)
            and completion.remind_every_n_calls
            and count
            and not count % completion.remind_every_n_calls
        ]
        if not due or facts is None:
            return Answer()
        turn = Turn(session_id=session.session_id, cwd=action.cwd, agent=action.agent, host=action.host)
        results = self.preview_completion(session, turn)
        missing = [redact_text(result.feedback or INCOMPLETE)[0] for result in results if not result.complete]
        if not missing:
            return Answer()
        text = "Not complete yet:\n" + "\n".join(missing)
        delivered = {"provider": "completion", "severity": "info", "text": text}
        session.append(EntryKind.FEEDBACK, {"given": [delivered], "failures": {}, "kept": {}})
        return Answer(context=text)

    def _give_feedback(self, session: LogWriter, action: Action, facts: Facts | None) -> Answer:
        """Return the feedback after a call; it counts as given only if it could be recorded."""
        if not self.guidance.feedback:
            return Answer()
        memory = _load_memory(session)
        try:
            # Computed only if a provider asks, because it reads the newest review runs from the disk.
            findings = partial(self._list_open_findings, facts.project_root if facts else "")
            collected = self.guidance.collect_feedback(
                action, memory, facts, self._summarize_session(session), lambda: [title for _, title in findings()]
            )
            delivered = [
                {
                    "provider": feedback.provider_name,
                    "severity": feedback.severity,
                    "text": redact_text(feedback.render())[0],
                }
                for feedback in collected.feedback
            ]
            body = {"given": delivered, "failures": dict(collected.failures), "kept": memory.changes}
            # Before anything is appended: what cannot be written must not take the call's own entry down with it.
            encode_canonical(body)
        except Exception as error:
            session.append(EntryKind.GAP, {"moment": "after", "failures": {"feedback": describe_error(error)}})
            return Answer()
        if delivered or collected.failures:
            session.append(EntryKind.FEEDBACK, body)
        return Answer(context="\n\n".join(feedback["text"] for feedback in delivered))

    def check_completion(self, session: LogWriter, turn: Turn) -> Answer:
        """Return the refusal of a stop whose work is incomplete; else an answer that tells the person what is not."""
        if not any(completion.applies_to(turn.agent) for completion in self.guidance.completions):
            return Answer()
        memory = _load_memory(session)
        decision = self.guidance.decide_stop(
            self._build_completion_context(session, turn), memory, self._summarize_session(session), agent=turn.agent
        )
        text = redact_text(decision.text)[0]
        # The allowed stops are recorded too, so that the log shows which checks ran.
        body = {
            "by": "completion",
            "allowed": decision.allowed,
            "text": text,
            "skipped": decision.skipped,
            "unfinished": decision.unfinished,
        }
        session.append(EntryKind.COMPLETION, body | {"kept": memory.changes})
        if not decision.allowed:
            return Answer(allowed=False, reason=text, guard="completion")
        # The agent was refused often enough; now the person must know what it left undone.
        return Answer(context=f"[verdikt] the work is unfinished: {text}" if decision.unfinished else "")

    def preview_completion(self, session: LogWriter | None, turn: Turn) -> tuple[TaskCompletionResult, ...]:
        """Return what each completion check says now; without a session, as before its first action. Record nothing."""
        memory = _load_memory(session) if session else Memory()
        summary = self._summarize_session(session) if session else SessionSummary(now=self._evidence_gate.clock.now())
        return self.guidance.run_checks(self._build_completion_context(session, turn), memory, summary)

    def _build_completion_context(self, session: LogWriter | None, turn: Turn) -> TaskCompletionContext:
        """Return what the completion checks may read."""
        facts = Facts(self._world_factory(turn.cwd))
        return TaskCompletionContext(
            session=_load_state(session) if session else SessionState(turn.session_id),
            tentative_output=turn.message,
            filesystem=facts,
            adapter=turn.host,
            stop_reason=str(turn.raw.get("stop_reason") or "") or None,
            proven=lambda validator, arguments: (
                session is not None and self._evidence_gate.is_proven(session, validator, arguments)
            ),
            findings=lambda level: self._count_findings(facts.project_root, level),
            hash_sources=self._evidence_gate.hash_sources,
        )

    def _summarize_session(self, session: LogWriter) -> SessionSummary:
        calls = session.read_projection("calls")
        return SessionSummary(session=_load_state(session), now=self._evidence_gate.clock.now(), **calls)

    def _classify_effects(self, action: Action, facts: Facts) -> Effects:
        manifest = self._policy.section("manifest")
        declared = manifest.tools.get(action.tool) if manifest else None
        declarations = {declared.name: declared.dump()} if declared else None
        return classify(action, facts, manifest=declarations, programs=self._policy.section("knowledge"))

    def _list_open_findings(self, root: str) -> list[tuple[Level, str]]:
        """Return severity and title of the open findings about files below a directory, the most severe first."""
        verdicts, _ = Runs(runs_directory(self._evidence_gate.env), self._evidence_gate.clock.now).recent(limit=20)
        findings = [
            (finding.severity, finding.title)
            for verdict in verdicts
            for finding in verdict.findings
            if any(
                self._evidence_gate.read_path(os.path.join(root, location.file), os.path.exists, default=False)
                for location in finding.evidence
            )
        ]
        return sorted(findings, key=lambda finding: -finding[0])

    def _count_findings(self, root: str, level: str) -> int:
        return sum(severity >= Level.from_name(level) for severity, _ in self._list_open_findings(root))


def _load_state(session: LogWriter) -> SessionState:
    return SessionState.from_log(session.session_id, session.read_projection("session"))


def _load_memory(session: LogWriter) -> Memory:
    return Memory(StoredMemory(partial(session.read_projection, "memory")))
