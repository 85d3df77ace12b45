"""Warm processes for the tests of this directory."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.hook import stop_fork_server
from tests.contract.package_repository import create_repository
from tests.contract.warm import WarmProcess


@pytest.fixture(scope="session", autouse=True)
def end_fork_server() -> Iterator[None]:
    """End the process that forks hooks, if a test has used it."""
    yield
    stop_fork_server()


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


@pytest.fixture(scope="session")
def hook_repository(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, Path]:
    """Return a repository of the package, its commit, and wheels to install it from without a network."""
    return create_repository(tmp_path_factory.mktemp("package"))
