"""Close what a test opens when the test ends.

A fixture is the better place for what many tests share. This is for the store or server that one test, or one of its
helpers, opens: `store = close_after_test(FileStore(...))`.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Protocol, TypeVar


class Closable(Protocol):
    """A resource with a `close` method."""

    def close(self) -> object:
        """Release the resource."""


ClosableT = TypeVar("ClosableT", bound=Closable)

_stacks: list[tuple[int, ExitStack]] = []


def close_after_test(resource: ClosableT) -> ClosableT:
    """Return the resource, and close it when the running test ends; the last one opened is closed first."""
    current_stack().callback(resource.close)
    return resource


def current_stack() -> ExitStack:
    """Return the exit stack of the running test."""
    if not _stacks:
        raise RuntimeError("no test is running: open the resource inside a test or a function-scoped fixture")
    return _stacks[-1][1]


@contextmanager
def collect_resources() -> Iterator[None]:
    """Close everything registered inside the block when the block ends."""
    with ExitStack() as stack:
        _stacks.append((os.getpid(), stack))
        try:
            yield
        finally:
            pid, _ = _stacks.pop()
            if pid != os.getpid():
                # A child forked inside a test must not close what belongs to its parent.
                stack.pop_all()
