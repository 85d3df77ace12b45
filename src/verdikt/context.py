"""Public import path of the evaluation context and the session state."""

from verdikt.graph.context import GovernanceContext, TraceEntry
from verdikt.model.session_state import SessionState

__all__ = ["GovernanceContext", "SessionState", "TraceEntry"]
