"""Who is told of every evaluation, for people to read or programs to collect."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Protocol, TextIO, runtime_checkable

if TYPE_CHECKING:
    from verdikt.graph.context import TraceEntry
    from verdikt.model.action import Action, Outcome


@runtime_checkable
class Tracer(Protocol):
    """The port through which evaluations and outcomes go out. A tracer that fails changes no verdict."""

    def on_evaluation(self, action: Action, trace: list[TraceEntry]) -> None:
        """An action was evaluated along this path."""

    def on_outcome(self, action: Action, outcome: Outcome) -> None:
        """An action has happened."""


class StdoutTracer:
    """Prints every evaluation as an indented tree, to stderr, because stdout belongs to the host's protocol."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream

    def on_evaluation(self, action: Action, trace: list[TraceEntry]) -> None:
        """One line for the action, one for each node."""
        lines = [f"{action.kind} {action.tool}".rstrip()]
        for entry in trace:
            verdict = entry.verdict
            reason = f": {verdict.reason}" if verdict.reason else ""
            lines.append(f"{'  ' * (entry.depth + 1)}{entry.node} → {verdict.kind.word}{reason}")
        self._write_lines(lines)

    def on_outcome(self, action: Action, outcome: Outcome) -> None:
        """One line."""
        self._write_lines(
            [f"{action.kind} {action.tool}".rstrip() + f" {'succeeded' if outcome.success else 'failed'}"]
        )

    def _write_lines(self, lines: list[str]) -> None:
        stream = self._stream or sys.stderr
        text = "".join(line + "\n" for line in lines)
        encoding = getattr(stream, "encoding", None) or "utf-8"
        # Reasons quote what the agent wrote: lone surrogates included, which no stream takes.
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))


class CollectingTracer:
    """Keeps every evaluation in `traces` and every outcome in `outcomes`, in order."""

    def __init__(self) -> None:
        self.traces: list[tuple[Action, list[TraceEntry]]] = []
        self.outcomes: list[tuple[Action, Outcome]] = []

    def on_evaluation(self, action: Action, trace: list[TraceEntry]) -> None:
        """Keeps it."""
        self.traces.append((action, trace))

    def on_outcome(self, action: Action, outcome: Outcome) -> None:
        """Keeps it."""
        self.outcomes.append((action, outcome))
