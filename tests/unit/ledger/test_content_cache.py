"""The content-addressed caches: found by content and version, private, and never required."""

import json
import os
from pathlib import Path

import pytest

from verdikt.errors import PolicyError
from verdikt.ledger.content_cache import MAX_FILES, ContentCache, DocumentCache
from verdikt.model.canonical_json import sha256_hex
from verdikt.policy import load_policy


def open_cache(home: Path, version: str = "1") -> ContentCache:
    """Return a cache in a data directory."""
    return ContentCache(str(home), "kept", version)


def test_get_finds_content_by_source_and_version(tmp_path: Path) -> None:
    """Content cached by another version is not found."""
    open_cache(tmp_path).put(b"x", b"made of x")

    assert [open_cache(tmp_path).get(b"x"), open_cache(tmp_path).get(b"y"), open_cache(tmp_path, "2").get(b"x")] == [
        b"made of x",
        None,
        None,
    ]


def test_put_makes_private_files_only(tmp_path: Path) -> None:
    """The directory is 0700, the file 0600, and no draft is left."""
    open_cache(tmp_path).put(b"x", b"made of x")
    (file,) = (tmp_path / "kept").iterdir()

    assert (file.parent.stat().st_mode & 0o777, file.stat().st_mode & 0o777) == (0o700, 0o600)


def test_get_ignores_files_of_another_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of another user is ignored, even with a right checksum."""
    open_cache(tmp_path).put(b"x", b"made of x")
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)

    assert open_cache(tmp_path).get(b"x") is None


def test_put_without_data_directory_creates_nothing(tmp_path: Path) -> None:
    """The cache does not create the data directory."""
    open_cache(tmp_path / "absent").put(b"x", b"made of x")

    assert list(tmp_path.iterdir()) == []


def test_put_that_cannot_write_is_ignored(tmp_path: Path) -> None:
    """A cache that cannot be written is no error."""
    (tmp_path / "kept").write_text("in its place")
    open_cache(tmp_path).put(b"x", b"made of x")

    assert open_cache(tmp_path).get(b"x") is None


def test_put_evicts_the_oldest_files(tmp_path: Path) -> None:
    """At most `MAX_FILES` files stay; the oldest are deleted."""
    for number in range(MAX_FILES + 5):
        open_cache(tmp_path).put(b"%d" % number, b"made")

    assert len(list((tmp_path / "kept").iterdir())) == MAX_FILES
    assert open_cache(tmp_path).get(b"%d" % (MAX_FILES + 4)) == b"made"


POLICY = """
profile: none
rules:
- {name: zeta, command: zeta, verdict: block, reason: no, fix: do not}
- {name: alpha, command: alpha, verdict: ask, reason: no, fix: do not}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a project with a policy, and a data directory beside it."""
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "governance.yaml").write_text(POLICY)
    (tmp_path / "data").mkdir(mode=0o700)
    return tmp_path / "project"


def load_rules(project: Path) -> list[str]:
    """Return the rules in force, with their places."""
    env = {"HOME": str(project.parent / "home"), "VERDIKT_HOME": str(project.parent / "data")}
    policy = load_policy(str(project), environ=env, managed=str(project.parent / "none"))
    placed = [location for layer in policy.layers for location in layer.located_items]
    return [f"{located.item.name} {located.where.rpartition('/')[2]}" for located in placed]


def list_cached_files(project: Path) -> list[Path]:
    """Return the cached documents, except the built-in profile's."""
    files = sorted((project.parent / "data" / "documents").glob("*"))
    return [file for file in files if not file.is_file() or b"guard_tamper" not in file.read_bytes()]


FRESH = ["zeta governance.yaml:4:3", "alpha governance.yaml:5:3"]


def forge_document(file: Path, document: object, key: str = "") -> None:
    """Put another document into a cache file, with the checksum it would have."""
    data = json.dumps(document).encode()
    file.write_bytes(sha256_hex((key or file.name).encode() + b"\n" + data).encode() + b"\n" + data)


def test_second_load_uses_no_yaml_parser(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cached document gives the same rules in the same order at the same places."""
    assert load_rules(project) == FRESH
    monkeypatch.setattr("verdikt.policy.parse_document", lambda *_: pytest.fail("it was parsed again"))

    assert load_rules(project) == FRESH


def test_cached_documents_are_private(project: Path) -> None:
    """The directory is 0700, the file 0600, and no draft is left."""
    load_rules(project)
    (file,) = list_cached_files(project)

    assert (file.parent.stat().st_mode & 0o777, file.stat().st_mode & 0o777) == (0o700, 0o600)


def test_changed_policy_file_is_parsed_again(project: Path) -> None:
    """A changed file is another document."""
    load_rules(project)
    (project / "governance.yaml").write_text(POLICY.replace("zeta", "beta"))

    assert load_rules(project) == ["beta governance.yaml:4:3", "alpha governance.yaml:5:3"]
    assert len(list_cached_files(project)) == 2


def test_document_of_another_version_is_not_used(tmp_path: Path) -> None:
    """Another version may understand a file differently."""
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
        pytest.param(
            lambda file: forge_document(file, {"value": {"profile": "none"}}, key="0" * 64), id="sealed for another"
        ),
        pytest.param(lambda file: forge_document(file, {"value": {"profile": "none"}}), id="incomplete"),
        pytest.param(lambda file: forge_document(file, ["value"]), id="another shape"),
        pytest.param(lambda file: (file.rename(file.parent / "x"), file.symlink_to(file.parent / "x")), id="a link"),
        pytest.param(lambda file: (file.unlink(), os.mkfifo(file, 0o600)), id="a pipe"),
        pytest.param(lambda file: (file.unlink(), file.mkdir()), id="a directory"),
    ],
)
def test_tampered_document_is_not_used(project: Path, damage: object) -> None:
    """The policy file decides, as if nothing were cached."""
    load_rules(project)
    (file,) = list_cached_files(project)
    assert callable(damage)
    damage(file)

    assert load_rules(project) == FRESH


def test_damaged_document_is_replaced(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next load uses the cache again."""
    load_rules(project)
    list_cached_files(project)[0].write_bytes(b"?")
    load_rules(project)
    monkeypatch.setattr("verdikt.policy.parse_document", lambda *_: pytest.fail("it was parsed again"))

    assert load_rules(project) == FRESH


def test_document_of_another_user_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of another user is ignored, even with a right checksum."""
    DocumentCache(tmp_path, "1").put(b"x", {"a": 1})
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)

    assert DocumentCache(tmp_path, "1").get(b"x") is None


def test_invalid_policy_is_not_cached(project: Path) -> None:
    """Its fault is reported at every load, with its place."""
    (project / "governance.yaml").write_text(POLICY + "nonsense: 1\n")
    for _ in range(2):
        with pytest.raises(PolicyError, match=r"governance.yaml:6:1: expected a known key, found `nonsense`"):
            load_rules(project)


def test_load_without_data_directory_creates_nothing(tmp_path: Path) -> None:
    """Loading a policy does not create the data directory."""
    DocumentCache(tmp_path / "absent", "1").put(b"x", {"a": 1})

    assert list(tmp_path.iterdir()) == []


def test_load_without_a_writable_cache_works(tmp_path: Path) -> None:
    """A document that cannot be cached is parsed again."""
    (tmp_path / "documents").write_text("in its place")
    DocumentCache(tmp_path, "1").put(b"x", {"a": 1})

    assert DocumentCache(tmp_path, "1").get(b"x") is None


def test_cache_evicts_the_oldest_documents(tmp_path: Path) -> None:
    """At most `MAX_FILES` documents stay; the oldest are deleted."""
    documents = DocumentCache(tmp_path, "1")
    for number in range(MAX_FILES + 5):
        documents.put(b"%d" % number, {"n": number})

    assert len(list((tmp_path / "documents").iterdir())) == MAX_FILES
    assert documents.get(b"%d" % (MAX_FILES + 4)) == {"n": MAX_FILES + 4}
