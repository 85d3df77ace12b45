"""An answer before its entries are on the disk."""

from collections.abc import Callable, Sequence

from verdikt.daemon.question import Said
from verdikt.errors import LedgerError
from verdikt.ledger.log import LogFile
from verdikt.model.value import Value


class Pending(Value):
    """What is to be said once everything that was written for it is on the disk; `lost` is what is said when it is not."""

    said: Said
    written: Sequence[tuple[LogFile, int]] = ()
    lost: Callable[[LedgerError], Said] | None = None

    def settled(self) -> Said:
        """Waits for the disk; what may be said now. Those of one session wait once."""
        try:
            for log, upto in self.written:
                log.sync(upto)
        except LedgerError as error:
            return self.lost(error) if self.lost else Said.refused(str(error))
        return self.said
