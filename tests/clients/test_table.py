"""The table of what is proven where: every cell is a test, and the documentation shows it as it is."""

import ast
from pathlib import Path

import pytest

from tests.clients.install import PACKAGES, ClientMissing, binary
from tests.clients.table import BEHAVIOURS, CLIENTS, IN_PART

HERE = Path(__file__).parent
PAGE = HERE.parent.parent / "docs" / "hosts" / "README.md"


def used() -> set[str]:
    """The behaviours that tests are parametrized by."""
    found = set()
    for file in HERE.glob("test_*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "cells":
                found |= {argument.value for argument in node.args if isinstance(argument, ast.Constant)}
    return found


def rendered() -> str:
    """The table as the documentation shows it."""
    hosts = list(dict.fromkeys(client.rpartition("-")[0] for client in CLIENTS))
    notes = list(dict.fromkeys(IN_PART.values()))
    lines = [f"| proven on the client itself | {' | '.join(CLIENTS)} |", f"|---|{'---|' * len(CLIENTS)}"]
    for behaviour, words in BEHAVIOURS.items():
        marks = [IN_PART.get((behaviour, client.rpartition("-")[0]), "") for client in CLIENTS]
        cells = [f"✓ ({notes.index(mark) + 1})" if mark else "✓" for mark in marks]
        lines.append(f"| {words} | {' | '.join(cells)} |")
    assert {host for _, host in IN_PART} <= set(hosts)
    return "\n".join([*lines, "", *(f"({number}) {note}  " for number, note in enumerate(notes, 1))])


def test_every_behaviour_is_a_test() -> None:
    """One that nobody tests any more shows here."""
    assert used() == set(BEHAVIOURS)


def test_every_client_that_is_installed_is_in_the_table() -> None:
    """And the other way round."""
    assert set(CLIENTS) == set(PACKAGES)


def test_the_documentation_shows_the_table() -> None:
    """Word for word."""
    assert rendered() in PAGE.read_text(), f"put this into {PAGE.name}:\n{rendered()}"


def test_a_registry_that_is_out_of_reach_is_said_plainly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests fail and say why, rather than vanish."""
    monkeypatch.setenv("VERDIKT_CLIENTS", str(tmp_path))
    monkeypatch.setenv("npm_config_registry", "http://127.0.0.1:9")
    monkeypatch.setenv("npm_config_fetch_retries", "0")
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "cache"))
    with pytest.raises(ClientMissing, match=r"npm could not install .*; is the registry reachable\?"):
        binary(CLIENTS[0])

    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ClientMissing, match=r"npm is not installed.*: install Node\.js 20 or newer"):
        binary(CLIENTS[0])
