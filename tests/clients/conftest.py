"""Clients are installed when they are first needed; if that fails, the test fails and says why."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.clients.bench import Bench
from tests.clients.install import ClientMissing, install_client


@pytest.fixture
def create_bench(tmp_path: Path) -> Iterator[Callable[[str], Bench]]:
    """Return a function that creates a bench for a client; its warm process ends with the test."""
    benches: list[Bench] = []

    def create(version: str) -> Bench:
        try:
            install_client(version)
        except ClientMissing as missing:
            pytest.fail(str(missing), pytrace=False)
        benches.append(Bench(version, tmp_path / "bench"))
        return benches[-1]

    yield create
    for bench in benches:
        bench.stop_daemon()
