"""Warm processes for the tests of this directory."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.warm import WarmProcess


@pytest.fixture
def place(tmp_path: Path) -> Iterator[WarmProcess]:
    """A data directory without a warm process; whatever is started in it is ended."""
    process = WarmProcess(tmp_path)
    try:
        yield process
    finally:
        process.end()


@pytest.fixture
def warm(place: WarmProcess) -> WarmProcess:
    """A warm process that listens."""
    place.start()
    return place
