"""One line of progress on a terminal while something takes longer than a second."""

import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

ItemT = TypeVar("ItemT")

DELAY_SECONDS = 1.0
"""How long work may take before progress is shown: a line that flashes by would only disturb."""

_STEP = 64
_REFRESH_SECONDS = 0.2


def show_progress(items: Iterable[ItemT], label: str, total: int = 0) -> Iterator[ItemT]:
    """Yield the items; from the second second on, a line on stderr says how many of `total` were handled.

    Nothing is shown where stderr is not a terminal. The line is removed at the end.
    """
    # A line in a pipe or a build's log is only noise.
    if not sys.stderr.isatty():
        yield from items
        return
    shown_at = time.monotonic() + DELAY_SECONDS - _REFRESH_SECONDS
    is_shown = False
    try:
        for count, item in enumerate(items, 1):
            yield item
            # The clock is read once in a while: reading it for every entry of a log would cost more than it tells.
            if count % _STEP == 0 and time.monotonic() - shown_at >= _REFRESH_SECONDS:
                shown_at, is_shown = time.monotonic(), True
                of = f" of {total:,}" if total else ""
                sys.stderr.write(f"\r\x1b[K{label}: {count:,}{of}")
                sys.stderr.flush()
    finally:
        if is_shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


@contextmanager
def show_status(label: str) -> Iterator[None]:
    """Show on stderr that something goes on, if the block takes longer than a second; for work without items."""
    if not sys.stderr.isatty():
        yield
        return
    stream = sys.stderr
    timer = threading.Timer(DELAY_SECONDS, lambda: (stream.write(f"\r\x1b[K{label} …"), stream.flush()))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        stream.write("\r\x1b[K")
        stream.flush()
