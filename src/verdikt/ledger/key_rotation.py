"""Replacement of the signing key: old signatures stay verifiable, and the old key introduces the new one."""

from verdikt.errors import KeyringError
from verdikt.ledger.files import FileStore
from verdikt.ledger.keys import ED25519, Key
from verdikt.ledger.store import OPERATOR
from verdikt.model.entry import Entry, EntryKind


def rotate_key(store: FileStore, algorithm: str = ED25519, *, lost: bool = False) -> tuple[Key, Entry]:
    """Make a new key, have the old one sign its introduction, and activate it.

    With `lost`, the old key's secret half is gone and the new key introduces itself, which verification reports. If the
    process stops half-way, the old key stays active; the prepared one signs nothing.
    """
    keyring = store.keyring
    old = keyring.current_kid()
    if not old:
        raise KeyringError(f"no key in `{keyring.directory}` to rotate; run `verdikt keys init`")
    if not lost:
        keyring.get_signing_key()  # tells at once when the secret half is missing
    key = keyring.prepare_key(algorithm)
    body = {"old": old, "new": key.kid, "algorithm": key.algorithm, "public": key.public, "lost": lost}
    if lost:
        keyring.activate_key(key.kid)
        return key, store.append(OPERATOR, EntryKind.KEY_ROTATION, body)
    # The introduction is in the log before the new key signs anything.
    entry = store.append(OPERATOR, EntryKind.KEY_ROTATION, body)
    keyring.activate_key(key.kid)
    return key, entry
