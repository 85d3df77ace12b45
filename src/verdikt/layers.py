"""The four layers of governance, from the hardest limit to mere observation."""

from __future__ import annotations

import enum


class GovernanceLayer(enum.IntEnum):
    """Where a guard stands: layers are consulted in this order, and only OBSERVE may fail without blocking."""

    BOUNDARY = 1
    RESOURCE = 2
    INTENT = 3
    OBSERVE = 4
