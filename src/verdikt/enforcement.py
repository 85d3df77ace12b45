"""A refusal as an exception or an exit. Another name for what lives in the rooms."""

from verdikt.graph.enforcer import Enforcer

__all__ = ["Enforcer"]
