"""Tracers, which receive every evaluation for people to read or programs to collect."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Protocol, TextIO, runtime_checkable

if TYPE_CHECKING:
    from verdikt.graph.context import TraceEntry
    from verdikt.model.action import Action, Outcome


@runtime_checkable
class Tracer(Protocol):
    """The port through which evaluations and outcomes are reported. A tracer that fails changes no verdict."""

    def on_evaluation(self, action: Action, trace: list[TraceEntry]) -> None:
        """Receive the evaluation of an action."""

    def on_outcome(self, action: Action, outcome: Outcome) -> None:
        """Receive the outcome of an action."""


class StdoutTracer:
    """Prints every evaluation as an indented tree, to stderr, because stdout belongs to the host's protocol."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream

    def on_evaluation(self, action: Action, trace: list[TraceEntry]) -> None:
        """Print one line for the action and one for each node."""
        lines = [f"{action.kind} {action.tool}".rstrip()]
        for entry in trace:
            verdict = entry.verdict
            reason = f": {verdict.reason}" if verdict.reason else ""
            lines.append(f"{'  ' * (entry.depth + 1)}{entry.node} → {verdict.kind.word}{reason}")
        self._write_lines(lines)

    def on_outcome(self, action: Action, outcome: Outcome) -> None:
        """Print one line."""
        self._write_lines(
            [f"{action.kind} {action.tool}".rstrip() + f" {'succeeded' if outcome.success else 'failed'}"]
        )

    def _write_lines(self, lines: list[str]) -> None:
        stream = self._stream or sys.stderr
        text = "".join(line + "\n" for line in lines)
        encoding = getattr(stream, "encoding", None) or "utf-8"
        # Reasons quote what the agent wrote, which may contain lone surrogates that no stream can encode.
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))


class CollectingTracer:
    """Collects every evaluation in `traces` and every outcome in `outcomes`, in order."""

    def __init__(self) -> None:
        self.traces: list[tuple[Action, list[TraceEntry]]] = []
        self.outcomes: list[tuple[Action, Outcome]] = []

    def on_evaluation(self, action: Action, trace: list[TraceEntry]) -> None:
        """Append the evaluation."""
        self.traces.append((action, trace))

    def on_outcome(self, action: Action, outcome: Outcome) -> None:
        """Append the outcome."""
        self.outcomes.append((action, outcome))
