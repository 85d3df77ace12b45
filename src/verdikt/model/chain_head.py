"""The end of a hash chain."""

from __future__ import annotations

from typing import NamedTuple

from verdikt.model.entry import GENESIS_HASH


class ChainHead(NamedTuple):
    """The last entry of a session's chain: its sequence number and hash."""

    seq: int = 0
    hash: str = GENESIS_HASH
