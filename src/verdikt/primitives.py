"""Public import path of actions, verdicts and guards."""

from verdikt.graph.guard import BaseGuard, Guard
from verdikt.model.action import Action, ActionKind, Outcome
from verdikt.model.verdict import Verdict, VerdictKind

__all__ = ["Action", "ActionKind", "BaseGuard", "Guard", "Outcome", "Verdict", "VerdictKind"]
