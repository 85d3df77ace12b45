"""A decided reply that must not be sent before its log entries are on the disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from verdikt.daemon.request import DaemonReply
from verdikt.errors import LedgerError
from verdikt.ledger.log_file import LogFile


@dataclass(frozen=True, slots=True)
class AwaitedReply:
    """What people's answer would make of a refused call."""

    patience_seconds: int
    """How long the client can wait for it."""
    can_be_answered: Callable[[float], bool]
    """Returns whether it is worth waiting on after so many seconds: the request is open, and a service has it."""
    is_answered: Callable[[], bool]
    """Returns whether the request was approved or refused."""
    decide_again: Callable[[], DeferredReply]
    """Decides the same call again, by the answer."""


@dataclass(frozen=True, slots=True)
class DeferredReply:
    """A reply, the log positions it depends on, and what to reply instead when one of them cannot be synced."""

    reply: DaemonReply
    log_positions: Sequence[tuple[LogFile, int]] = ()
    on_write_error: Callable[[LedgerError], DaemonReply] | None = None
    awaited: AwaitedReply | None = None
    """What may be waited for before the reply is sent; None where the client or the decision cannot wait."""

    def wait_until_durable(self) -> DaemonReply:
        """Sync the log entries and return the reply that may be sent now. Replies of one session share one sync."""
        try:
            for log, position in self.log_positions:
                log.sync(position)
        except LedgerError as error:
            return self.on_write_error(error) if self.on_write_error else DaemonReply.refusal(str(error))
        return self.reply
