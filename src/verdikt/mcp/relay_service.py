"""Builds the relay with its governance."""

import gc
import os
from contextlib import suppress
from ctypes import CDLL
from functools import partial

from verdikt.mcp.call_governor import CallGovernor
from verdikt.mcp.pin_store import ServerPins
from verdikt.mcp.relay import Relay

GC_THRESHOLDS = (20_000, 20, 20)
"""How many objects may be made before garbage is looked for: a decision makes thousands, and leaves none in cycles."""


KEPT_BYTES = 32 * 1024 * 1024
"""How much freed memory the process keeps: a message of megabytes is copied several times, each time into new pages
if the ones before were given back."""

# The numbers of `mallopt(3)`.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3


def settle_memory() -> None:
    """Leave what was made at the start out of every later search for garbage, and keep the memory of long messages."""
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    # Linux with glibc alone has it; elsewhere a long message only takes longer.
    with suppress(OSError, AttributeError, TypeError):
        allocator = CDLL(None)
        for option in (_TRIM_THRESHOLD, _MMAP_THRESHOLD):
            allocator.mallopt(option, KEPT_BYTES)


def _warm_up(governor: CallGovernor) -> None:
    governor.warm_up()
    settle_memory()


def create_relay(name: str, identity: tuple[str, ...], *, trust_first: bool) -> Relay:
    """Return a relay for one connection to a server, with the policy in force here."""
    # A copy: `os.environ` encodes and decodes at every look, and a decision takes thirty of them.
    governor = CallGovernor(name, cwd=os.getcwd(), env=dict(os.environ))
    pins = ServerPins(governor.data_directory, name, identity)
    return Relay(governor, pins, trust_first=trust_first, prepare_calls=partial(_warm_up, governor))
