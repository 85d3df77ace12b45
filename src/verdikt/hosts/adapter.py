"""The interface of every host's `adapter.py`."""

from collections.abc import Mapping
from typing import Protocol

from verdikt.hosts.hook_event import HookEvent
from verdikt.hosts.hook_response import HookResponse
from verdikt.hosts.host_decision import HostDecision


class HostAdapter(Protocol):
    """A module that translates between a host's payloads and verdikt's own values."""

    def decode(self, payload: object, event_name: str = "", env: Mapping[str, str] = ...) -> HookEvent:
        """Return the event that a payload stands for. Raises `HookError` when it stands for none."""
        ...

    def encode(self, hook_event: HookEvent, host_decision: HostDecision) -> HookResponse:
        """Return what to print, where, and with which status, so that the decision holds on this host."""
        ...
