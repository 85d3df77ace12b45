"""Policy files kept as data: used when they are what was written, and otherwise as if they were not there."""

import json
import os
from pathlib import Path

import pytest

from verdikt.errors import PolicyError
from verdikt.ledger.content_cache import MAX_FILES, DocumentCache
from verdikt.model.canonical_json import sha256_hex
from verdikt.policy import load_policy

POLICY = """
profile: none
rules:
- {name: zeta, command: zeta, verdict: block, reason: no, fix: do not}
- {name: alpha, command: alpha, verdict: ask, reason: no, fix: do not}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a policy, and verdikt's data beside it."""
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "governance.yaml").write_text(POLICY)
    (tmp_path / "data").mkdir(mode=0o700)
    return tmp_path / "project"


def load(project: Path) -> list[str]:
    """The rules in force, with their places."""
    env = {"HOME": str(project.parent / "home"), "VERDIKT_HOME": str(project.parent / "data")}
    policy = load_policy(str(project), environ=env, managed=str(project.parent / "none"))
    placed = [place for layer in policy.layers for place in layer.located_items]
    return [f"{each.item.name} {each.where.rpartition('/')[2]}" for each in placed]


def kept(project: Path) -> list[Path]:
    """The files in which documents are kept, but for that of the profile whose red lines hold everywhere."""
    found = sorted((project.parent / "data" / "documents").glob("*"))
    return [file for file in found if not file.is_file() or b"guard_tamper" not in file.read_bytes()]


FRESH = ["zeta governance.yaml:4:3", "alpha governance.yaml:5:3"]


def forge(file: Path, document: object, key: str = "") -> None:
    """Another document in its place, with the seal it would have."""
    data = json.dumps(document).encode()
    file.write_bytes(sha256_hex((key or file.name).encode() + b"\n" + data).encode() + b"\n" + data)


def test_the_second_reading_needs_no_yaml(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It gives the same rules in the same order at the same places."""
    assert load(project) == FRESH
    monkeypatch.setattr("verdikt.policy.parse_document", lambda *_: pytest.fail("it was parsed again"))

    assert load(project) == FRESH


def test_what_is_kept_is_private(project: Path) -> None:
    """The directory is 0700, the file 0600, and nothing else is left."""
    load(project)
    (file,) = kept(project)

    assert (file.parent.stat().st_mode & 0o777, file.stat().st_mode & 0o777) == (0o700, 0o600)


def test_another_content_is_another_document(project: Path) -> None:
    """A changed file is read anew at once."""
    load(project)
    (project / "governance.yaml").write_text(POLICY.replace("zeta", "beta"))

    assert load(project) == ["beta governance.yaml:4:3", "alpha governance.yaml:5:3"]
    assert len(kept(project)) == 2


def test_another_version_does_not_use_it(tmp_path: Path) -> None:
    """What an older verdikt understood is not what this one would."""
    DocumentCache(tmp_path, "1").put(b"x", {"a": 1})

    assert (DocumentCache(tmp_path, "1").get(b"x"), DocumentCache(tmp_path, "2").get(b"x")) == ({"a": 1}, None)


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda file: file.write_bytes(b""), id="empty"),
        pytest.param(lambda file: file.write_bytes(file.read_bytes()[:-20]), id="truncated"),
        pytest.param(lambda file: file.write_bytes(file.read_bytes().replace(b"zeta", b"none")), id="changed"),
        pytest.param(lambda file: file.write_bytes(b"\x80\x04" + os.urandom(64)), id="other bytes"),
        pytest.param(lambda file: file.chmod(0o644), id="others may read"),
        pytest.param(lambda file: file.chmod(0o620), id="others may write"),
        pytest.param(lambda file: file.parent.chmod(0o770), id="others may write the directory"),
        pytest.param(lambda file: forge(file, {"value": {"profile": "none"}}, key="0" * 64), id="sealed for another"),
        pytest.param(lambda file: forge(file, {"value": {"profile": "none"}}), id="incomplete"),
        pytest.param(lambda file: forge(file, ["value"]), id="another shape"),
        pytest.param(lambda file: (file.rename(file.parent / "x"), file.symlink_to(file.parent / "x")), id="a link"),
        pytest.param(lambda file: (file.unlink(), os.mkfifo(file, 0o600)), id="a pipe"),
        pytest.param(lambda file: (file.unlink(), file.mkdir()), id="a directory"),
    ],
)
def test_what_is_not_as_it_was_written_is_not_used(project: Path, damage: object) -> None:
    """The file of the policy decides, as if nothing had been kept."""
    load(project)
    (file,) = kept(project)
    assert callable(damage)
    damage(file)

    assert load(project) == FRESH


def test_what_was_damaged_is_written_anew(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next reading is a cheap one again."""
    load(project)
    kept(project)[0].write_bytes(b"?")
    load(project)
    monkeypatch.setattr("verdikt.policy.parse_document", lambda *_: pytest.fail("it was parsed again"))

    assert load(project) == FRESH


def test_what_another_owns_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another user's file, however it is sealed."""
    DocumentCache(tmp_path, "1").put(b"x", {"a": 1})
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)

    assert DocumentCache(tmp_path, "1").get(b"x") is None


def test_a_faulty_policy_is_not_kept(project: Path) -> None:
    """Its fault is told each time, at its place."""
    (project / "governance.yaml").write_text(POLICY + "nonsense: 1\n")
    for _ in range(2):
        with pytest.raises(PolicyError, match=r"governance.yaml:6:1: expected a known key, found `nonsense`"):
            load(project)


def test_nothing_is_made_where_verdikt_keeps_nothing_yet(tmp_path: Path) -> None:
    """Looking at a policy leaves no trace."""
    DocumentCache(tmp_path / "absent", "1").put(b"x", {"a": 1})

    assert list(tmp_path.iterdir()) == []


def test_a_full_or_closed_disk_is_no_failure(tmp_path: Path) -> None:
    """What cannot be kept is read again."""
    (tmp_path / "documents").write_text("in its place")
    DocumentCache(tmp_path, "1").put(b"x", {"a": 1})

    assert DocumentCache(tmp_path, "1").get(b"x") is None


def test_only_so_many_are_kept(tmp_path: Path) -> None:
    """The oldest go."""
    documents = DocumentCache(tmp_path, "1")
    for number in range(MAX_FILES + 5):
        documents.put(b"%d" % number, {"n": number})

    assert len(list((tmp_path / "documents").iterdir())) == MAX_FILES
    assert documents.get(b"%d" % (MAX_FILES + 4)) == {"n": MAX_FILES + 4}
