"""Command-line options of the warm process."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from verdikt.daemon.client import get_run_directory
from verdikt.errors import DaemonError

USERS_DIRECTORY = "users"
"""In the data directory of a system-wide process: one data directory per user, named by the user id."""

_OPTIONS_WITH_VALUE = {"--socket", "--home", "--allow", "--http"}


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonOptions:
    """How to run: for one user, or system-wide for several.

    `home` is the data directory. `socket_path` is set for a system-wide process, and `http_port` where a port was
    requested (0: any free one).
    """

    home: Path
    system_wide: bool = False
    socket_path: Path | None = None
    allowed_uids: frozenset[int] = frozenset()
    http_port: int | None = None

    @classmethod
    def from_arguments(cls, arguments: list[str], env: Mapping[str, str]) -> "DaemonOptions":
        """Parse a command line; raise `DaemonError` when an option is missing or unknown."""
        system_wide = "--system" in arguments
        values = _group_values([argument for argument in arguments if argument != "--system"])
        if values is None:
            raise DaemonError(f"expected --system, --socket, --home, --allow or --http, found `{' '.join(arguments)}`")
        if system_wide != bool(values.get("--socket") and values.get("--home")):
            raise DaemonError("expected --system together with --socket and --home")
        run_directory = get_run_directory(env)
        if not system_wide and not run_directory:
            raise DaemonError("expected an absolute HOME, XDG_DATA_HOME or VERDIKT_HOME, found none")
        try:
            allowed_uids = frozenset(int(uid) for uid in values.get("--allow", ()))
            http_port = int(values["--http"][-1]) if "--http" in values else None
        except ValueError:
            raise DaemonError("expected numbers for --allow and --http") from None
        # A connection to a port does not tell which user it is from.
        if http_port is not None and (system_wide or not 0 <= http_port < 65536):
            raise DaemonError(
                "expected --http with a port, and not together with --system: a port tells no users apart"
            )
        home = Path(values["--home"][-1]) if system_wide else Path(run_directory).parent
        socket_path = Path(values["--socket"][-1]) if system_wide else None
        if not (home.is_absolute() and (socket_path is None or socket_path.is_absolute())):
            raise DaemonError("expected absolute paths for --home and --socket")
        return cls(
            home=home,
            system_wide=system_wide,
            socket_path=socket_path,
            allowed_uids=allowed_uids,
            http_port=http_port,
        )


def _group_values(arguments: list[str]) -> dict[str, list[str]] | None:
    """Return the values of each option; None when one is unknown or lacks its value."""
    if len(arguments) % 2 or not set(arguments[::2]) <= _OPTIONS_WITH_VALUE:
        return None
    values: dict[str, list[str]] = {}
    for name, value in zip(arguments[::2], arguments[1::2], strict=True):
        values.setdefault(name, []).append(value)
    return values
