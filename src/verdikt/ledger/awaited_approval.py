"""A call that waits a moment for the answer to its approval request, as long as something is there that brings one."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from verdikt.ledger.approval_outbox import OUTBOX, is_submitted
from verdikt.ledger.approvals import read_request_state
from verdikt.ledger.data_directory import make_private_directory
from verdikt.model.approval import ApprovalState

if TYPE_CHECKING:
    from pathlib import Path

    from verdikt.ledger.files import FileStore

COURIER_LOCK = "courier.lock"
"""In the outbox; locked by each process that carries requests to a service and answers back."""

HANDOVER_SECONDS = 10.0
"""How long the service has to take a request. One that is dead or cannot be reached is not waited for."""


@contextmanager
def announce_courier(home: Path) -> Iterator[None]:
    """Let calls wait for answers while the block runs. The lock ends with this process, however it ends."""
    path = make_private_directory(home / OUTBOX) / COURIER_LOCK
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        # Shared: the sender of a team's service and the service of one person may both run.
        fcntl.flock(fd, fcntl.LOCK_SH)
        yield
    finally:
        os.close(fd)


def has_courier(home: Path) -> bool:
    """Return whether a process runs that carries requests and answers."""
    try:
        fd = os.open(home / OUTBOX / COURIER_LOCK, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(fd)
    return False


@dataclass(slots=True)
class AwaitedApproval:
    """One request whose answer is waited for. Looks without a lock: other calls of the session must not wait for it."""

    store: FileStore
    session: str
    id: str
    _size: int = -1

    def can_be_answered(self, waited_seconds: float) -> bool:
        """Return whether the request is still open, and an answer can come after this much waiting."""
        home = self.store.home
        if not has_courier(home) or (waited_seconds > HANDOVER_SECONDS and not is_submitted(home, self.id)):
            return False
        try:
            size = os.stat(self.store.reader.hot_file_path(self.session)).st_size
        except OSError:
            return False
        if size == self._size:
            return True
        # Only now under the session's lock: an answer is an entry, so the file has grown.
        self._size = size
        return read_request_state(self.store, self.session, self.id) is ApprovalState.WAITING

    def is_answered(self) -> bool:
        """Return whether people have approved or refused the request, and that counts."""
        state = read_request_state(self.store, self.session, self.id)
        return state in (ApprovalState.APPROVED, ApprovalState.REFUSED)
