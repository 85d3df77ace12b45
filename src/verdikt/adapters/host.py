"""What every adapter module provides."""

from collections.abc import Mapping
from typing import Protocol

from verdikt.adapters.moment import Moment, MomentKind
from verdikt.adapters.reply import Reply
from verdikt.adapters.ruling import Ruling


class Host(Protocol):
    """An adapter: a module with these names."""

    EVENTS: Mapping[str, MomentKind]
    """The host's own event names → moments. An event that is not here is judged by what its payload holds."""

    def decode(self, payload: object, event: str = "", env: Mapping[str, str] = ...) -> Moment:
        """The moment that a payload stands for; a `HookError` where it stands for none."""
        ...

    def encode(self, moment: Moment, ruling: Ruling) -> Reply:
        """What to print, where, and with which status, so that the ruling holds on this host."""
        ...
