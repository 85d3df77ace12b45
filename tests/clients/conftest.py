"""Clients are installed when first needed; when they cannot be, the test fails and says why."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.clients.bench import Bench
from tests.clients.install import ClientMissing, binary


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Callable[[str], Bench]]:
    """A bench for a client of that version; its warm process ends with the test."""
    made: list[Bench] = []

    def make(version: str) -> Bench:
        try:
            binary(version)
        except ClientMissing as missing:
            pytest.fail(str(missing), pytrace=False)
        made.append(Bench(version, tmp_path / "bench"))
        return made[-1]

    yield make
    for one in made:
        one.end()
