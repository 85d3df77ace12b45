"""An answer before its entries are on the disk."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from verdikt.daemon.request import DaemonReply
from verdikt.errors import LedgerError
from verdikt.ledger.log_file import LogFile


@dataclass(frozen=True, slots=True)
class DeferredReply:
    """What is to be said once everything that was written for it is on the disk; `lost` is what is said when it is not."""

    reply: DaemonReply
    log_positions: Sequence[tuple[LogFile, int]] = ()
    on_write_error: Callable[[LedgerError], DaemonReply] | None = None

    def wait_until_durable(self) -> DaemonReply:
        """Waits for the disk; what may be said now. Those of one session wait once."""
        try:
            for log, upto in self.log_positions:
                log.sync(upto)
        except LedgerError as error:
            return self.on_write_error(error) if self.on_write_error else DaemonReply.refusal(str(error))
        return self.reply
