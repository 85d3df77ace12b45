"""How a real client is run against the scripted model: in a clean environment, with a home of its own, on loopback."""

import os
import subprocess
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from verdikt.hosts.live.scripted_model import ScriptedModel

CommandBuilder = Callable[[Path, Path, str, str], tuple[list[str], dict[str, str]]]
"""(binary, home, address of the model, prompt) → command and environment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientRun:
    """The result of one run of a client."""

    exit_code: int
    stdout: str
    stderr: str


def _leave_settings(settings_directory: Path, source: Path) -> None:
    """Change nothing in the copy of the settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientDriver:
    """How one client is started, and which shell tool its model calls."""

    name: str
    shell_tool: str
    build_command: CommandBuilder
    command_argument: str = "command"
    """The name of the command among the arguments of the shell tool."""
    extra_arguments: Mapping[str, str] = field(default_factory=dict)
    """Further arguments that the shell tool requires."""
    settings_variable: str = ""
    """The variable that moves the settings of this client, if its description does not name one."""
    adjust_settings: Callable[[Path, Path], None] = _leave_settings
    """Adapts the copy of the settings (first) to the place where they lie; the second is the original directory."""
    prepare_run: Callable[[Path, Path], AbstractContextManager[object]] = lambda project, settings: nullcontext()
    """(project, copy of the settings) → what must hold during a run and is undone after it."""

    def run(
        self,
        binary: Path,
        *,
        project: Path,
        home: Path,
        model: ScriptedModel,
        prompt: str,
        env: Mapping[str, str],
        options: tuple[str, ...] = (),
        timeout_seconds: float = 240,
    ) -> ClientRun:
        """Run the client once in the project with this environment, this home directory and this model."""
        command, client_env = self.build_command(binary, home, model.url, prompt)
        base_env = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LANG": "C.UTF-8"}
        completed = subprocess.run(
            [*command, *options],
            cwd=project,
            env={**base_env, **env, "HOME": str(home), **client_env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_seconds,
            check=False,
        )
        return ClientRun(exit_code=completed.returncode, stdout=completed.stdout, stderr=completed.stderr)
