"""Warm processes for the tests of this directory."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.warm import WarmProcess


@pytest.fixture
def place(tmp_path: Path) -> Iterator[WarmProcess]:
    """Yield a data directory without a warm process; what a test starts in it is ended."""
    process = WarmProcess(tmp_path)
    try:
        yield process
    finally:
        process.end()


@pytest.fixture
def warm(place: WarmProcess) -> WarmProcess:
    """Return a warm process that listens."""
    place.start()
    return place
