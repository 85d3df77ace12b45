"""The record of accepted policies: what counts where, and that damage is never taken for absence."""

import json
import os
from pathlib import Path

import pytest

from verdikt.errors import PolicyError
from verdikt.ledger.accepted_policies import (
    AcceptedIndex,
    get_index_path,
    read_accepted_document,
    read_index,
    record_acceptance,
    record_user_layers,
)
from verdikt.model.canonical_json import hash_canonical

STRICT, LOOSE = {"profile": "strict"}, {"profile": "none"}


def accept(home: Path, root: str, directory: str = "", **layers: dict[str, str]) -> AcceptedIndex:
    """Accept these layers of a project."""
    names = {"project": "project", "docs": "project docs"}
    project = [(names[name], document) for name, document in layers.items()]
    return record_acceptance(str(home), root, directory or root, user=[], project=project)


def test_accepted_layers_are_read_back(tmp_path: Path) -> None:
    """The index names each layer by the digest of what it says."""
    accept(tmp_path, "/p", project=STRICT)

    index = read_index(str(tmp_path))

    assert index.projects == {"/p": (("project", hash_canonical(STRICT)),)}
    assert read_accepted_document(str(tmp_path), hash_canonical(STRICT)) == STRICT
    assert oct(os.stat(get_index_path(str(tmp_path))).st_mode & 0o777) == "0o600"


def test_acceptance_at_one_directory_keeps_the_layers_of_others(tmp_path: Path) -> None:
    """Accepting at the top of a project says nothing about a directory below it."""
    accept(tmp_path, "/p", "/p/docs", project=STRICT, docs=LOOSE)
    accept(tmp_path, "/p", project=LOOSE)
    accept(tmp_path, "/q", project=STRICT)

    index = read_index(str(tmp_path))

    assert [name for name, _ in index.find_project_layers("/p", "/p/docs/a")] == ["project", "project docs"]
    assert [name for name, _ in index.find_project_layers("/p", "/p/docs2")] == ["project"]
    assert index.projects["/p"][0] == ("project", hash_canonical(LOOSE))


@pytest.mark.parametrize(
    ("top", "directory", "root"),
    [
        ("/p", "/p/a", "/p"),
        ("", "/p/a/b", "/p"),
        ("/p/a", "/p/a", "/p"),
        ("", "/home/ada/x", ""),
        ("/home/ada", "/home/ada", "/home/ada"),
        ("", "/pp", ""),
    ],
)
def test_nearest_accepted_project_counts(top: str, directory: str, root: str) -> None:
    """The project itself, or else the nearest around it, but never a home directory."""
    index = AcceptedIndex(None, {"/p": (), "/home/ada": ()})

    assert index.find_project_root(top, directory, ("/", "/home/ada")) == root


def test_user_layers_are_recorded_once(tmp_path: Path) -> None:
    """What was seen first stays, whatever is seen later; nothing creates a data directory."""
    record_user_layers(str(tmp_path), [("user", STRICT)])
    record_user_layers(str(tmp_path), [("user", LOOSE)])
    record_user_layers(str(tmp_path / "none"), [])

    assert read_index(str(tmp_path)).user == (("user", hash_canonical(STRICT)),)
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("text", ["", "[]", "{", "null", '{"v": 1}', "\xff", "[" * 100_000])
def test_damaged_index_is_an_error(tmp_path: Path, text: str) -> None:
    """A file that is there and is not the index never counts as nothing accepted."""
    (tmp_path / "accepted.json").write_text(text, encoding="latin-1")

    with pytest.raises(PolicyError, match="is damaged; a person can repair it"):
        read_index(str(tmp_path))


def test_edited_index_is_an_error(tmp_path: Path) -> None:
    """The checksum covers every field."""
    accept(tmp_path, "/p", project=STRICT)
    file = tmp_path / "accepted.json"
    body = json.loads(file.read_text())
    file.write_text(json.dumps({**body, "projects": {"/p": [["project", hash_canonical(LOOSE)]]}}))

    with pytest.raises(PolicyError, match="is damaged"):
        read_index(str(tmp_path))


def test_index_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    """Neither does a directory in its place count as nothing accepted."""
    (tmp_path / "accepted.json").mkdir()

    with pytest.raises(PolicyError, match="cannot be read"):
        read_index(str(tmp_path))
