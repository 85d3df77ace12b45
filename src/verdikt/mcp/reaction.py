"""What a message leads to, and the requests that the relay waits for: the values between `Relay` and its transports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from verdikt.mcp.call_governor import LogPositions
    from verdikt.mcp.message import Message, RequestId
    from verdikt.model.action import Action


@dataclass(slots=True)
class Reaction:
    """What to send now, and what to do once it is sent."""

    to_client: list[Message] = field(default_factory=list)
    to_server: list[Message] = field(default_factory=list)
    deferred: Callable[[], object] | None = None
    ask_id: str = ""
    """The question that this reaction asks or settles; a transport finds the held request by it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingRequest:
    """A request of the client that the server has, until its response arrives."""

    message: Message
    action: Action | None = None
    """What the policy decided on; None for a request that it does not see."""
    is_approved: bool = False
    """Whether a person was asked about it and said yes."""
    is_covered: bool = False
    """Whether the client's own hook has decided on it too, and records its outcome."""
    log_positions: LogPositions = ()
    """Of the decision on it, where it was sent to the server before the disk had it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldRequest:
    """A request that waits for a person, with what follows from either answer."""

    request_id: RequestId | None
    is_wish: bool
    """Whether the server has sent it, and not the client."""
    on_answer: Callable[[bool], Reaction]
