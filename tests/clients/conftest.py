"""Clients are installed when they are first needed; if that fails, the test fails and says why."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.clients.bench import Bench
from tests.clients.install import ClientMissing, install_client


@pytest.fixture(scope="session")
def unpacked_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return where Copilot unpacks 235 MB at its first start, once for all homes of a run."""
    return tmp_path_factory.mktemp("unpacked")


@contextmanager
def open_benches(
    tmp_path_factory: pytest.TempPathFactory, unpacked_directory: Path
) -> Iterator[Callable[[str], Bench]]:
    """Yield a function that creates a bench for a client; the warm processes end with this context."""
    benches: list[Bench] = []

    def create(version: str) -> Bench:
        try:
            install_client(version)
        except ClientMissing as missing:
            pytest.fail(str(missing), pytrace=False)
        # A short name: where the path of its socket is too long, each hook is an interpreter that starts.
        benches.append(Bench(version, tmp_path_factory.mktemp("b"), unpacked_directory))
        return benches[-1]

    yield create
    for bench in benches:
        bench.stop_daemon()


@pytest.fixture
def create_bench(
    tmp_path_factory: pytest.TempPathFactory, unpacked_directory: Path
) -> Iterator[Callable[[str], Bench]]:
    """Return a function that creates a bench for a client; its warm process ends with the test."""
    with open_benches(tmp_path_factory, unpacked_directory) as create:
        yield create
