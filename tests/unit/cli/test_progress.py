"""Progress is shown on a terminal, and only when something takes longer than a second."""

import io
import itertools
import time

import pytest

from verdikt.cli import progress


class _Stream(io.StringIO):
    """A stream that is, or is not, a terminal."""

    def __init__(self, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        """Return what was chosen."""
        return self._is_terminal


@pytest.mark.parametrize(
    ("is_terminal", "step_seconds", "is_shown"), [(True, 0.02, True), (True, 0.00001, False), (False, 0.02, False)]
)
def test_progress(is_terminal: bool, step_seconds: float, is_shown: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """All items come through, whether something is shown or not, and the line is removed at the end."""
    stream, clock = _Stream(is_terminal), itertools.count()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock) * step_seconds * 64)

    items = list(progress.show_progress(range(2000), "reading", 2000))

    assert items == list(range(2000))
    assert ("reading: " in stream.getvalue() and " of 2,000" in stream.getvalue()) is is_shown
    assert stream.getvalue().endswith("\r\x1b[K" if is_shown else "")


@pytest.mark.parametrize(
    ("is_terminal", "delay", "is_shown"), [(True, 0.0, True), (True, 60.0, False), (False, 0.0, False)]
)
def test_status(is_terminal: bool, delay: float, is_shown: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work without items has a line as well, if it takes longer than the delay."""
    stream = _Stream(is_terminal)
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(progress, "DELAY_SECONDS", delay)

    with progress.show_status("verifying"):
        deadline = time.monotonic() + 5
        while is_shown and "verifying …" not in stream.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)

    assert ("verifying …" in stream.getvalue()) is is_shown
    assert stream.getvalue().endswith("\r\x1b[K" if is_terminal else "")
