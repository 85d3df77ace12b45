"""The four layers of governance, from hard limits to observation."""

from __future__ import annotations

import enum


class GovernanceLayer(enum.IntEnum):
    """The layer of a guard. Pipelines run layers in this order; only an OBSERVE guard may fail without blocking."""

    BOUNDARY = 1
    RESOURCE = 2
    INTENT = 3
    OBSERVE = 4
