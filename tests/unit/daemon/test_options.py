"""Command-line options of the warm process."""

from pathlib import Path

import pytest

from verdikt.daemon.options import DaemonOptions
from verdikt.errors import DaemonError

HOME = {"HOME": "/h"}
SYSTEM = ["--system", "--socket", "/run/v/d.sock", "--home", "/var/v"]


def test_options_of_one_user_come_from_the_environment() -> None:
    """Without arguments, the environment names the data directory."""
    assert DaemonOptions.from_arguments([], HOME) == DaemonOptions(home=Path("/h/.local/share/verdikt"))
    assert DaemonOptions.from_arguments(["--http", "0"], HOME).http_port == 0


def test_system_wide_options_ignore_the_environment() -> None:
    """A system-wide process gets its paths from the arguments only."""
    options = DaemonOptions.from_arguments([*SYSTEM, "--allow", "1", "--allow", "2"], {"VERDIKT_HOME": "/elsewhere"})

    assert options == DaemonOptions(
        home=Path("/var/v"), system_wide=True, socket_path=Path("/run/v/d.sock"), allowed_uids=frozenset({1, 2})
    )


@pytest.mark.parametrize(
    ("arguments", "env", "message"),
    [
        ([], {}, "expected an absolute HOME"),
        ([], {"VERDIKT_HOME": "relative"}, "expected an absolute HOME"),
        (["--system"], HOME, "together with --socket and --home"),
        (["--socket", "/x", "--home", "/y"], HOME, "together with --socket and --home"),
        (["--nonsense", "1"], HOME, "expected --system, --socket"),
        (["--http"], HOME, "expected --system, --socket"),
        (["--http", "x"], HOME, "expected numbers"),
        (["--http", "70000"], HOME, "expected --http with a port"),
        ([*SYSTEM, "--http", "1"], HOME, "a port tells no users apart"),
        (["--system", "--socket", "x", "--home", "/y"], HOME, "expected absolute paths"),
    ],
)
def test_invalid_options_are_an_error(arguments: list[str], env: dict[str, str], message: str) -> None:
    """A missing, unknown or invalid option is an error that names what is expected."""
    with pytest.raises(DaemonError, match=message):
        DaemonOptions.from_arguments(arguments, env)
