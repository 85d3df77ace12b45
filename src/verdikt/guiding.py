"""Guidance at work: reads the log, asks the pure parts, writes down what they said."""

import os
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from verdikt.effects.classifier import classify
from verdikt.graph.leaf import describe
from verdikt.graph.policy import Policy
from verdikt.guidance.completion import TaskCompletionContext, TaskCompletionResult
from verdikt.guidance.definition import Guidance, Past
from verdikt.ledger.store import Writer
from verdikt.model.action import Action, Outcome
from verdikt.model.canonical import canonical
from verdikt.model.effect import Effects
from verdikt.model.entry import EntryKind
from verdikt.model.facts import Facts
from verdikt.model.finding import Level
from verdikt.model.memory import Memory, Recalled
from verdikt.model.moment import Answer, Turn
from verdikt.model.redaction import redact_text
from verdikt.model.session import SessionState
from verdikt.proving import Proving

if TYPE_CHECKING:
    from verdikt.govern import See


class Guiding:
    """What the tool policies learn from a call, what the agent is told after it, and whether its work is complete."""

    def __init__(self, guidance: Guidance, policy: Policy, proving: Proving, see: "See") -> None:
        self.guidance = guidance
        self._policy = policy
        self._proving = proving
        self._see = see

    def happened(
        self, log: Writer, action: Action, outcome: Outcome, body: dict[str, Any], artifacts: Mapping[str, bytes]
    ) -> Answer:
        """Logs a call with what was learned from it; then what there is to say about it, which is logged too."""
        memory = _memory(log)
        failures: dict[str, str] = {}
        facts = None
        try:
            facts = Facts(self._see(action.cwd))
            failures = self.guidance.learn(action, outcome, memory, facts, partial(self._effects, action, facts))
            canonical(memory.changes)
        except Exception as error:
            failures, memory = {"guidance": describe(error)}, Memory()
        kept = {"kept": memory.changes} if memory.changes else {}
        log.append(EntryKind.TOOL_CALL, body | kept, artifacts=artifacts)
        if failures:
            log.append(EntryKind.GAP, {"moment": "after", "failures": failures})
        return self._told(log, action, facts)

    def _told(self, log: Writer, action: Action, facts: Facts | None) -> Answer:
        """What the agent is told after a call; it is remembered only if it is delivered."""
        if not self.guidance.feedback:
            return Answer()
        memory = _memory(log)
        try:
            findings = partial(self._open_findings, facts.project_root if facts else "")
            told = self.guidance.tell(
                action, memory, facts, self._past(log), lambda: [title for _, title in findings()]
            )
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

    def completed(self, log: Writer, turn: Turn) -> Answer | None:
        """The refusal of a stop whose work is incomplete; None when the completion checks have nothing against it."""
        if not any(completion.covers(turn.agent) for completion in self.guidance.completions):
            return None
        memory = _memory(log)
        settled = self.guidance.settle(self._finishing(log, turn), memory, self._past(log), agent=turn.agent)
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

    def tried(self, log: Writer | None, turn: Turn) -> tuple[TaskCompletionResult, ...]:
        """What each completion check says now; nothing is refused, counted or recorded. Without a log, nothing happened yet."""
        memory = _memory(log) if log else Memory()
        past = self._past(log) if log else Past(now=self._proving.clock.now())
        return self.guidance.results(self._finishing(log, turn), memory, past)

    def _finishing(self, log: Writer | None, turn: Turn) -> TaskCompletionContext:
        """What the completion checks may look at."""
        facts = Facts(self._see(turn.cwd))
        return TaskCompletionContext(
            session=SessionState.of(log.session, log.project("session")) if log else SessionState(turn.session_id),
            tentative_output=turn.message,
            filesystem=facts,
            adapter=turn.host,
            stop_reason=str(turn.raw.get("stop_reason") or "") or None,
            proven=lambda validator, arguments: log is not None and self._proving.holds(log, validator, arguments),
            findings=lambda level: self._count_findings(facts.project_root, level),
        )

    def _past(self, log: Writer) -> Past:
        session = SessionState.of(log.session, log.project("session"))
        return Past(session=session, now=self._proving.clock.now(), **log.project("calls"))

    def _effects(self, action: Action, facts: Facts) -> Effects:
        manifest = self._policy.section("manifest")
        declared = manifest.tools.get(action.tool) if manifest else None
        return classify(action, facts, manifest={declared.name: declared.dump()} if declared else None)

    def _open_findings(self, root: str) -> list[tuple[Level, str]]:
        """The open findings about files below a directory, the worst first."""
        from verdikt.council.runs import Runs, runs_directory

        verdicts, _ = Runs(runs_directory(self._proving.env), self._proving.clock.now).recent(limit=20)
        found = [
            (finding.severity, finding.title)
            for verdict in verdicts
            for finding in verdict.findings
            if any(
                self._proving.seen(os.path.join(root, place.file), os.path.exists, otherwise=False)
                for place in finding.evidence
            )
        ]
        return sorted(found, key=lambda each: -each[0])

    def _count_findings(self, root: str, level: str) -> int:
        return sum(severity >= Level.of(level) for severity, _ in self._open_findings(root))


def _memory(log: Writer) -> Memory:
    return Memory(Recalled(partial(log.project, "memory")))
