"""How an extra is added to the verdikt that runs."""

from pathlib import Path

import pytest

from verdikt.cli.extra_install import describe_extra_install


@pytest.mark.parametrize(
    ("file", "command"),
    [
        ("uv-receipt.toml", "uv tool install 'verdikt-runtime[team]'"),
        ("pipx_metadata.json", "pipx install --force 'verdikt-runtime[team]'"),
        ("pyvenv.cfg", "pip install 'verdikt-runtime[team]'"),
    ],
)
def test_the_command_is_that_of_what_installed_verdikt(tmp_path: Path, file: str, command: str) -> None:
    """`pip` of a shell does not reach the environment that uv or pipx made."""
    (tmp_path / file).touch()

    assert describe_extra_install("team", str(tmp_path)) == command
