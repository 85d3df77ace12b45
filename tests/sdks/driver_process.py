"""A driver in the environment of its SDK, as a process that plays one scenario after another."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent

# A driver starts with the import of an SDK, and the machine may be busy.
_TIMEOUT_SECONDS = 120


class DriverProcess:
    """A running driver; `play` sends a scenario and returns what it left behind."""

    def __init__(self, python: Path, sdk: str) -> None:
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("VERDIKT", "CLAUDE", "ANTHROPIC"))
        }
        environment |= {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "OPENAI_AGENTS_DISABLE_TRACING": "1"}
        environment |= {"OPENAI_API_KEY": "none", "LANGSMITH_TRACING": "false"}
        self._process = subprocess.Popen(
            [str(python), "-m", f"tests.sdks.drivers.{sdk}"],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=sys.stderr,
            text=True,
        )
        self.version = str(self._read()["version"])

    def play(self, scenario: dict[str, Any]) -> dict[str, Any]:
        """Return the observation of one scenario."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(scenario) + "\n")
        self._process.stdin.flush()
        return self._read()

    def close(self) -> None:
        """End the driver."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(20)
        self._process.stdout.close()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the driver ended with status {self._process.wait(_TIMEOUT_SECONDS)}")
        observation: dict[str, Any] = json.loads(line)
        return observation
