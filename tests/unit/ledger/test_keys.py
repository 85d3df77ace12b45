"""The key ring: signing, verifying, rotating."""

import multiprocessing
from contextlib import closing
from pathlib import Path

import pytest

from tests.cleanup import close_after_test
from tests.fakes import FakeClock
from verdikt.errors import KeyringError
from verdikt.ledger.audit import audit
from verdikt.ledger.audit_finding import Corruption
from verdikt.ledger.files import FileStore
from verdikt.ledger.key_rotation import rotate_key
from verdikt.ledger.keys import ED25519, HMAC, Keyring
from verdikt.ledger.store import OPERATOR
from verdikt.model.entry import EntryKind, decode_entry


def open_store(home: Path) -> FileStore:
    """Open a store as a new process would."""
    return close_after_test(FileStore(home, FakeClock(), durable=False))


@pytest.mark.parametrize("algorithm", [ED25519, HMAC])
def test_signature_verifies_only_for_its_message_and_key(tmp_path: Path, algorithm: str) -> None:
    """For every algorithm, only the signed message verifies."""
    keyring = Keyring(tmp_path)
    key = keyring.create_first_key(algorithm)
    sig = keyring.get_signing_key().sign(b"message")
    other = "0" if sig[0] != "0" else "1"

    assert keyring.verify_signature(key.kid, b"message", sig) is None
    assert keyring.verify_signature(key.kid, b"massage", sig) is Corruption.BAD_SIGNATURE
    assert keyring.verify_signature(key.kid, b"message", other + sig[1:]) is Corruption.BAD_SIGNATURE
    assert keyring.verify_signature(key.kid, b"message", "zz") is Corruption.BAD_SIGNATURE
    assert keyring.verify_signature("ed-0000", b"message", sig) is Corruption.UNKNOWN_KEY


def test_secret_key_file_is_private(tmp_path: Path) -> None:
    """The file is 0600, the directory 0700."""
    key = Keyring(tmp_path / "keys").create_first_key()

    assert (tmp_path / "keys").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "keys" / f"{key.kid}.key").stat().st_mode & 0o777 == 0o600


def test_create_first_key_twice_raises(tmp_path: Path) -> None:
    """A second first key would orphan what the first one signed."""
    keyring = Keyring(tmp_path)
    keyring.create_first_key()

    with pytest.raises(KeyringError, match="already has a key; use `verdikt keys rotate`"):
        keyring.create_first_key()


def test_unknown_algorithm_raises(tmp_path: Path) -> None:
    """The error names the algorithm."""
    with pytest.raises(KeyringError, match="expected one of ed25519, hmac-sha256, found `rot13`"):
        Keyring(tmp_path).create_first_key("rot13")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("not json", "restore it"),
        ('{"current":"ed-1","keys":[]}', "expected the current key `ed-1`"),
        ('{"current":"","keys":[{"kid":1,"bogus":2}]}', "restore it"),
        ("[]", "restore it"),
    ],
)
def test_damaged_keyring_raises_with_file_and_remedy(tmp_path: Path, text: str, message: str) -> None:
    """The error names the file and what to do."""
    (tmp_path / "keyring.json").write_text(text)

    with pytest.raises(KeyringError, match=message) as error:
        Keyring(tmp_path).get_signing_key()
    assert "keyring.json" in str(error.value)


@pytest.mark.parametrize("text", ["", "xyz", "00"])
def test_damaged_secret_raises_instead_of_signing(tmp_path: Path, text: str) -> None:
    """A damaged secret never signs."""
    key = Keyring(tmp_path).create_first_key()
    (tmp_path / f"{key.kid}.key").write_text(text)

    with pytest.raises(KeyringError, match=f"expected 32 bytes in hex in `.*{key.kid}.key`"):
        Keyring(tmp_path).get_signing_key()


def test_entries_signed_before_rotations_stay_verifiable(tmp_path: Path) -> None:
    """Each rotation is an entry signed by the key that is replaced."""
    store = open_store(tmp_path)
    kids = [store.append("s", "posture", {"to": "locked"}).kid]
    for algorithm in (HMAC, ED25519):
        key, entry = rotate_key(store, algorithm)
        assert (entry.kind, entry.kid, entry.body["new"]) == (EntryKind.KEY_ROTATION, kids[-1], key.kid)
        kids.append(store.append("s", "posture", {"to": "locked"}).kid)

    assert len(set(kids)) == 3
    assert [key.kid for key in store.keyring.list_keys()] == kids
    report = audit(tmp_path)
    assert report.is_intact
    assert report.findings == []


def test_rotation_takes_effect_in_an_open_store(tmp_path: Path) -> None:
    """After another process rotates, the next signature uses the new key."""
    long_lived = open_store(tmp_path)
    first = long_lived.append("s", "posture", {}).kid
    key, _ = rotate_key(open_store(tmp_path))

    assert long_lived.append("s", "posture", {}).kid == key.kid != first


def test_rotated_ed25519_secret_is_deleted(tmp_path: Path) -> None:
    """Verifying needs only the public half, and a deleted secret cannot be stolen."""
    store = open_store(tmp_path)
    old = store.keyring.create_first_key().kid
    rotate_key(store)

    assert not (tmp_path / "keys" / f"{old}.key").exists()


def test_signature_by_a_retired_key_is_reported(tmp_path: Path) -> None:
    """A copied old key cannot sign new entries."""
    store = open_store(tmp_path)
    old = store.keyring.get_signing_key()
    rotate_key(store)
    stolen = old.sign(b"message")
    then = int(FakeClock().now()) * 1_000_000

    assert store.keyring.verify_signature(old.kid, b"message", stolen, then) is None
    assert store.keyring.verify_signature(old.kid, b"message", stolen, then + 3_600_000_000) is Corruption.RETIRED_KEY


def test_key_without_introduction_is_reported(tmp_path: Path) -> None:
    """A key that no entry introduces verifies nothing, also when it introduces itself."""
    store = open_store(tmp_path)
    store.append("s", "posture", {})
    planted = store.keyring.prepare_key()
    store.keyring.activate_key(planted.kid)
    store.append("s", "posture", {})

    report = audit(tmp_path)

    assert [(fault.kind, fault.session, fault.seq) for fault in report.findings] == [
        (Corruption.UNKNOWN_KEY, OPERATOR, 0),
        (Corruption.UNKNOWN_KEY, "s", 2),
        (Corruption.UNKNOWN_KEY, OPERATOR, 3),
    ]
    assert f"key `{planted.kid}` is in the keyring" in report.findings[0].message
    assert report.sessions[0].last_covered_seq == 1


def test_rotation_after_a_lost_key_is_noted(tmp_path: Path) -> None:
    """The new key introduces itself, and earlier entries stay verifiable."""
    store = open_store(tmp_path)
    old = store.append("s", "posture", {}).kid
    (tmp_path / "keys" / f"{old}.key").unlink()
    store = open_store(tmp_path)
    with pytest.raises(KeyringError, match="restore it from a backup, or run `verdikt keys rotate --lost`"):
        rotate_key(store)

    key, entry = rotate_key(store, lost=True)
    store.append("s", "posture", {})

    assert entry.kid == key.kid
    report = audit(tmp_path)
    assert report.is_intact
    assert [fault.message for fault in report.findings] == [
        f"key `{key.kid}` introduced itself, because the key before it was lost"
    ]


def test_rotation_without_a_key_raises(tmp_path: Path) -> None:
    """There is nothing to rotate."""
    with pytest.raises(KeyringError, match="no key in `.*` to rotate; run `verdikt keys init`"):
        rotate_key(open_store(tmp_path))


def test_entry_signed_with_another_keyring_has_an_unknown_key(tmp_path: Path) -> None:
    """A signature counts only when its key is in the key ring."""
    stranger = open_store(tmp_path / "stranger")
    stranger.append("s", "posture", {})
    store = open_store(tmp_path / "home")
    store.append("other", "posture", {})
    path = tmp_path / "home" / "ledger" / "s.jsonl"
    path.write_bytes((tmp_path / "stranger" / "ledger" / "s.jsonl").read_bytes())

    kinds = [fault.kind for fault in audit(tmp_path / "home", ["s"]).findings]

    assert kinds == [Corruption.UNKNOWN_KEY, Corruption.NO_HEAD, Corruption.NOT_INTRODUCED]
    assert decode_entry(path.read_bytes()).kid != store.keyring.current_kid()


def _sign_once(home: str) -> None:
    with closing(FileStore(Path(home), durable=False)) as store:
        store.append("s", "posture", {})


def test_parallel_processes_make_one_first_key(tmp_path: Path) -> None:
    """The second process uses the key that the first one made."""
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_sign_once, args=(str(tmp_path),)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    store = open_store(tmp_path)
    assert len(store.keyring.list_keys()) == 1
    assert len({entry.kid for entry in store.read_entries("s")}) == 1
    assert audit(tmp_path).is_intact
