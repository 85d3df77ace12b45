"""Guidance at work: reads the log, asks the pure parts, writes down what they said."""

import os
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from verdikt.council.runs import Runs, runs_directory
from verdikt.effects.classifier import classify
from verdikt.evidence.gate_service import EvidenceGate
from verdikt.graph.guard_node import describe_error
from verdikt.graph.policy import Policy
from verdikt.guidance.completion import TaskCompletionContext, TaskCompletionResult
from verdikt.guidance.definition import Guidance, SessionSummary
from verdikt.ledger.store import LogWriter
from verdikt.model.action import Action, Outcome
from verdikt.model.canonical_json import encode_canonical
from verdikt.model.effect import Effects
from verdikt.model.entry import EntryKind
from verdikt.model.facts import Facts
from verdikt.model.finding import Level
from verdikt.model.hook_message import Answer, Turn
from verdikt.model.redaction import redact_text
from verdikt.model.session_state import Memory, SessionState, StoredMemory

if TYPE_CHECKING:
    from verdikt.govern import WorldFactory


class GuidanceHooks:
    """What the tool policies learn from a call, what the agent is told after it, and whether its work is complete."""

    def __init__(
        self, guidance: Guidance, policy: Policy, evidence_gate: EvidenceGate, world_factory: "WorldFactory"
    ) -> None:
        self.guidance = guidance
        self._policy = policy
        self._evidence_gate = evidence_gate
        self._world_factory = world_factory

    def after_call(
        self, log: LogWriter, action: Action, outcome: Outcome, body: dict[str, Any], artifacts: Mapping[str, bytes]
    ) -> Answer:
        """Logs a call with what was learned from it; then what there is to say about it, which is logged too."""
        memory = _load_memory(log)
        failures: dict[str, str] = {}
        facts = None
        try:
            facts = Facts(self._world_factory(action.cwd))
            failures = self.guidance.record_outcome(
                action, outcome, memory, facts, partial(self._classify_effects, action, facts)
            )
            encode_canonical(memory.changes)
        except Exception as error:
            failures, memory = {"guidance": describe_error(error)}, Memory()
        kept = {"kept": memory.changes} if memory.changes else {}
        log.append(EntryKind.TOOL_CALL, body | kept, artifacts=artifacts)
        if failures:
            log.append(EntryKind.GAP, {"moment": "after", "failures": failures})
        return self._give_feedback(log, action, facts)

    def _give_feedback(self, log: LogWriter, action: Action, facts: Facts | None) -> Answer:
        """What the agent is told after a call; it is remembered only if it is delivered."""
        if not self.guidance.feedback:
            return Answer()
        memory = _load_memory(log)
        try:
            findings = partial(self._list_open_findings, facts.project_root if facts else "")
            told = self.guidance.collect_feedback(
                action, memory, facts, self._summarize_session(log), lambda: [title for _, title in findings()]
            )
            given = [
                {"provider": each.provider_name, "severity": each.severity, "text": redact_text(each.render())[0]}
                for each in told.feedback
            ]
            body = {"given": given, "failures": dict(told.failures), "kept": memory.changes}
            encode_canonical(body)
        except Exception as error:
            log.append(EntryKind.GAP, {"moment": "after", "failures": {"feedback": describe_error(error)}})
            return Answer()
        if given or told.failures:
            log.append(EntryKind.FEEDBACK, body)
        return Answer(context="\n\n".join(each["text"] for each in given))

    def check_completion(self, log: LogWriter, turn: Turn) -> Answer | None:
        """The refusal of a stop whose work is incomplete; None when the completion checks have nothing against it."""
        if not any(completion.applies_to(turn.agent) for completion in self.guidance.completions):
            return None
        memory = _load_memory(log)
        settled = self.guidance.decide_stop(
            self._build_completion_context(log, turn), memory, self._summarize_session(log), agent=turn.agent
        )
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

    def preview_completion(self, log: LogWriter | None, turn: Turn) -> tuple[TaskCompletionResult, ...]:
        """What each completion check says now; nothing is refused, counted or recorded. Without a log, nothing happened yet."""
        memory = _load_memory(log) if log else Memory()
        past = self._summarize_session(log) if log else SessionSummary(now=self._evidence_gate.clock.now())
        return self.guidance.run_checks(self._build_completion_context(log, turn), memory, past)

    def _build_completion_context(self, log: LogWriter | None, turn: Turn) -> TaskCompletionContext:
        """What the completion checks may look at."""
        facts = Facts(self._world_factory(turn.cwd))
        return TaskCompletionContext(
            session=SessionState.from_log(log.session, log.read_projection("session"))
            if log
            else SessionState(turn.session_id),
            tentative_output=turn.message,
            filesystem=facts,
            adapter=turn.host,
            stop_reason=str(turn.raw.get("stop_reason") or "") or None,
            proven=lambda validator, arguments: (
                log is not None and self._evidence_gate.is_proven(log, validator, arguments)
            ),
            findings=lambda level: self._count_findings(facts.project_root, level),
        )

    def _summarize_session(self, log: LogWriter) -> SessionSummary:
        session = SessionState.from_log(log.session, log.read_projection("session"))
        return SessionSummary(session=session, now=self._evidence_gate.clock.now(), **log.read_projection("calls"))

    def _classify_effects(self, action: Action, facts: Facts) -> Effects:
        manifest = self._policy.section("manifest")
        declared = manifest.tools.get(action.tool) if manifest else None
        return classify(action, facts, manifest={declared.name: declared.dump()} if declared else None)

    def _list_open_findings(self, root: str) -> list[tuple[Level, str]]:
        """The open findings about files below a directory, the worst first."""
        verdicts, _ = Runs(runs_directory(self._evidence_gate.env), self._evidence_gate.clock.now).recent(limit=20)
        found = [
            (finding.severity, finding.title)
            for verdict in verdicts
            for finding in verdict.findings
            if any(
                self._evidence_gate.read_path(os.path.join(root, place.file), os.path.exists, default=False)
                for place in finding.evidence
            )
        ]
        return sorted(found, key=lambda each: -each[0])

    def _count_findings(self, root: str, level: str) -> int:
        return sum(severity >= Level.from_name(level) for severity, _ in self._list_open_findings(root))


def _load_memory(log: LogWriter) -> Memory:
    return Memory(StoredMemory(partial(log.read_projection, "memory")))
