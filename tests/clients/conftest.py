"""Clients are installed when first needed; when they cannot be, the test fails and says why."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.bench import Bench
from tests.clients.install import ClientMissing, binary


@pytest.fixture
def bench(tmp_path: Path) -> Callable[[str], Bench]:
    """A bench for a client of that version."""

    def make(version: str) -> Bench:
        try:
            binary(version)
        except ClientMissing as missing:
            pytest.fail(str(missing), pytrace=False)
        return Bench(version, tmp_path / "bench")

    return make
