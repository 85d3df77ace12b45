"""A real OpenID Connect provider on loopback, in a process of its own."""

import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

_TIMEOUT_SECONDS = 60


@contextmanager
def run_provider(users: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the issuer of a provider that knows these people, each a mapping of claims with `sub`."""
    claims = [argument for user in users for argument in ("--user-claims", json.dumps(user))]
    command = [sys.executable, "-m", "oidc_provider_mock", "-p", "0", "-n", "true", *claims]
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            yield _wait_for_address(process, log)
        finally:
            process.terminate()
            process.wait(_TIMEOUT_SECONDS)


def _wait_for_address(process: subprocess.Popen[bytes], log: Any) -> str:
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        log.seek(0)
        text = log.read()
        if match := re.search(r"http://127\.0\.0\.1:[0-9]+", text):
            return match[0]
        assert process.poll() is None, text
        time.sleep(0.05)
    raise AssertionError("the provider did not start")
