"""How a warm process is started: for one user, or for all of a machine."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from verdikt.daemon.client import get_run_directory
from verdikt.errors import DaemonError


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonOptions:
    """`home` is the data directory; `socket` is there for a system-wide process, `http` where a port was named (0: any)."""

    home: Path
    system_wide: bool = False
    socket_path: Path | None = None
    allowed_uids: frozenset[int] = frozenset()
    http_port: int | None = None

    @classmethod
    def from_arguments(cls, arguments: list[str], env: Mapping[str, str]) -> "DaemonOptions":
        """The options in a command line; `DaemonError` when something is missing or unknown."""
        words = list(arguments)
        system = "--system" in words
        given: dict[str, list[str]] = {}
        words = [word for word in words if word != "--system"]
        for name, value in zip(words[::2], words[1::2], strict=False):
            given.setdefault(name, []).append(value)
        unknown = sorted(set(given) - {"--socket", "--home", "--allow", "--http"})
        if unknown or len(words) % 2:
            raise DaemonError(f"expected --system, --socket, --home, --allow or --http, found `{' '.join(arguments)}`")
        if system != bool(given.get("--socket") and given.get("--home")):
            raise DaemonError("expected --system together with --socket and --home")
        run = get_run_directory(env)
        if not system and not run:
            raise DaemonError("expected an absolute HOME, XDG_DATA_HOME or VERDIKT_HOME, found none")
        try:
            allow = frozenset(int(uid) for uid in given.get("--allow", ()))
            http = int(given["--http"][-1]) if "--http" in given else None
        except ValueError:
            raise DaemonError("expected numbers for --allow and --http") from None
        if http is not None and (system or not 0 <= http < 65536):
            raise DaemonError(
                "expected --http with a port, and not together with --system: a port tells no users apart"
            )
        home = Path(given["--home"][-1]) if system else Path(run).parent
        socket = Path(given["--socket"][-1]) if system else None
        if not (home.is_absolute() and (socket is None or socket.is_absolute())):
            raise DaemonError("expected absolute paths for --home and --socket")
        return cls(home=home, system_wide=system, socket_path=socket, allowed_uids=allow, http_port=http)
