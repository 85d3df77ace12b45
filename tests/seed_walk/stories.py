"""All stories, by the statements that they try."""

from tests.seed_walk import council, effects, evidence, graph, guidance
from tests.seed_walk.user import STORIES

__all__ = ["STORIES", "council", "effects", "evidence", "graph", "guidance"]
