"""The canary: a call that every policy forbids and that would do no harm, a write into verdikt's own data directory."""

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from verdikt.hosts.host import Host
from verdikt.model.session_state import CANARY_SESSION


@dataclass(frozen=True, slots=True, kw_only=True)
class Canary:
    """The forbidden command, and the file that would exist if it had run."""

    data_directory: str

    @property
    def file(self) -> str:
        """The file that the command would create."""
        return os.path.join(self.data_directory, "canary")

    @property
    def command(self) -> str:
        """The forbidden command."""
        return shlex.join(["touch", self.file])

    def build_payload(self, host: Host, event_name: str, cwd: str) -> dict[str, Any]:
        """Return the command as the host would send it to its hook."""
        values = {"event": event_name, "session": CANARY_SESSION, "cwd": cwd, "command": self.command}
        payload: dict[str, Any] = _fill_template(host.canary_template, values)
        return payload

    def remove_file(self) -> None:
        """Remove the file of a command that ran."""
        if os.path.exists(self.file):
            os.unlink(self.file)


def _fill_template(template: Any, values: Mapping[str, str]) -> Any:
    if isinstance(template, Mapping):
        return {key: _fill_template(value, values) for key, value in template.items()}
    # Not `str.format`: it would expand braces in a path that was filled in before.
    if isinstance(template, str) and template.startswith("{") and template.endswith("}"):
        return values[template[1:-1]]
    return template
