"""The table of what is proven where: every cell is a test, and the documentation shows the same table."""

import ast
from pathlib import Path

import pytest

from tests.clients.install import PACKAGES, ClientMissing, install_client
from tests.clients.table import BEHAVIOURS, CLIENTS, IN_PART

HERE = Path(__file__).parent
PAGE = HERE.parent.parent / "docs" / "hosts" / "README.md"


def find_tested_behaviours() -> set[str]:
    """Return the behaviours that tests are parametrized by."""
    behaviours = set()
    for file in HERE.glob("test_*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "list_clients":
                behaviours |= {argument.value for argument in node.args if isinstance(argument, ast.Constant)}
    return behaviours


def render_table() -> str:
    """Return the table as the documentation shows it."""
    hosts = list(dict.fromkeys(client.rpartition("-")[0] for client in CLIENTS))
    notes = list(dict.fromkeys(IN_PART.values()))
    lines = [f"| proven on the client itself | {' | '.join(CLIENTS)} |", f"|---|{'---|' * len(CLIENTS)}"]
    for behaviour, words in BEHAVIOURS.items():
        marks = [IN_PART.get((behaviour, client.rpartition("-")[0]), "") for client in CLIENTS]
        cells = [f"✓ ({notes.index(mark) + 1})" if mark else "✓" for mark in marks]
        lines.append(f"| {words} | {' | '.join(cells)} |")
    assert {host for _, host in IN_PART} <= set(hosts)
    return "\n".join([*lines, "", *(f"({number}) {note}  " for number, note in enumerate(notes, 1))])


def test_every_behaviour_of_the_table_is_tested() -> None:
    """A behaviour that is no longer tested must not stay in the table."""
    assert find_tested_behaviours() == set(BEHAVIOURS)


def test_every_client_that_can_be_installed_is_in_the_table() -> None:
    """The two lists name the same versions."""
    assert set(CLIENTS) == set(PACKAGES)


def test_the_documentation_shows_the_table() -> None:
    """The page holds the table word for word."""
    assert render_table() in PAGE.read_text(), f"put this into {PAGE.name}:\n{render_table()}"


def test_install_client_without_registry_or_npm_raises_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tests fail and say why, instead of being skipped."""
    monkeypatch.setenv("VERDIKT_CLIENTS", str(tmp_path))
    monkeypatch.setenv("npm_config_registry", "http://127.0.0.1:9")
    monkeypatch.setenv("npm_config_fetch_retries", "0")
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "cache"))
    with pytest.raises(ClientMissing, match=r"npm could not install .*; is the registry reachable\?"):
        install_client(CLIENTS[0])

    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ClientMissing, match=r"npm is not installed.*: install Node\.js 20 or newer"):
        install_client(CLIENTS[0])
