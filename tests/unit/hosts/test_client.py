"""The clients as a rehearsal starts them."""

from pathlib import Path

import pytest

from verdikt.hosts.live.client_driver import CLIENT_DRIVERS


@pytest.mark.parametrize("name", CLIENT_DRIVERS)
def test_a_rehearsal_starts_what_the_person_starts(name: str, tmp_path: Path) -> None:
    """Whatever stands in PATH under that name: a program, a script, a version manager's stand-in for one."""
    client = CLIENT_DRIVERS[name]
    command, env = client.build_command(client, tmp_path / "client", tmp_path, "http://127.0.0.1:1", "hello")

    assert command[0] == str(tmp_path / "client")
    assert "hello" in command
    assert any("127.0.0.1:1" in word for word in (*command, *env.values()))
