"""What every adapter module provides."""

from collections.abc import Mapping
from typing import Protocol

from verdikt.hosts.hook_event import HookEvent, HookEventKind
from verdikt.hosts.hook_response import HookResponse
from verdikt.hosts.host_decision import HostDecision


class HostAdapter(Protocol):
    """An adapter: a module with these names."""

    EVENTS: Mapping[str, HookEventKind]
    """The host's own event names → moments. An event that is not here is judged by what its payload holds."""

    def decode(self, payload: object, event_name: str = "", env: Mapping[str, str] = ...) -> HookEvent:
        """The moment that a payload stands for; a `HookError` where it stands for none."""
        ...

    def encode(self, hook_event: HookEvent, host_decision: HostDecision) -> HookResponse:
        """What to print, where, and with which status, so that the ruling holds on this host."""
        ...
