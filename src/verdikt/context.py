"""What flows through the graph. Another name for what lives in the rooms."""

from verdikt.graph.context import GovernanceContext, TraceEntry
from verdikt.model.session_state import SessionState

__all__ = ["GovernanceContext", "SessionState", "TraceEntry"]
