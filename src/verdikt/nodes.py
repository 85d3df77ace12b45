"""Public import path of the nodes of the policy graph."""

from verdikt.graph.combinator import All, Any, Escalate, Not, Threshold, When
from verdikt.graph.guard import PolicyNode

__all__ = ["All", "Any", "Escalate", "Not", "PolicyNode", "Threshold", "When"]
