"""How a warm process is started."""

from pathlib import Path

import pytest

from verdikt.daemon.options import DaemonOptions
from verdikt.errors import DaemonError

HOME = {"HOME": "/h"}
SYSTEM = ["--system", "--socket", "/run/v/d.sock", "--home", "/var/v"]


def test_for_one_user_nothing_need_be_said() -> None:
    """The environment names the data directory."""
    assert DaemonOptions.from_arguments([], HOME) == DaemonOptions(home=Path("/h/.local/share/verdikt"))
    assert DaemonOptions.from_arguments(["--http", "0"], HOME).http_port == 0


def test_for_all_users_its_places_are_named() -> None:
    """And the environment has no say."""
    found = DaemonOptions.from_arguments([*SYSTEM, "--allow", "1", "--allow", "2"], {"VERDIKT_HOME": "/elsewhere"})

    assert found == DaemonOptions(
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
def test_what_is_missing_or_unknown_is_told(arguments: list[str], env: dict[str, str], message: str) -> None:
    """Instead of being guessed."""
    with pytest.raises(DaemonError, match=message):
        DaemonOptions.from_arguments(arguments, env)
