"""How real clients are started for a live check."""

from pathlib import Path

import pytest

from verdikt.hosts.registry import HOSTS, load_client_driver

SCRIPTABLE = [name for name in HOSTS if load_client_driver(name)]


@pytest.mark.parametrize("name", SCRIPTABLE)
def test_build_command_of_any_driver_starts_the_given_binary_with_the_scripted_model(name: str, tmp_path: Path) -> None:
    """The first word is the binary as found in PATH, and the client is pointed at the scripted model."""
    driver = load_client_driver(name)
    assert driver is not None
    command, env = driver.build_command(tmp_path / "client", tmp_path, "http://127.0.0.1:1", "hello")

    assert command[0] == str(tmp_path / "client")
    assert "hello" in command
    assert any("127.0.0.1:1" in text for text in (*command, *env.values()))


def test_load_client_driver_without_a_live_module_returns_none() -> None:
    """A client that cannot be scripted has no module `live`."""
    assert load_client_driver("cursor") is None
    assert set(SCRIPTABLE) == {"claude", "codex", "gemini", "copilot", "opencode"}
