"""Replacing the key that signs the log, so that everything signed before stays verifiable and the new key is vouched for."""

from verdikt.errors import KeyringError
from verdikt.ledger.files import FileStore
from verdikt.ledger.keys import ED25519, Key
from verdikt.ledger.store import OPERATOR
from verdikt.model.entry import Entry, EntryKind


def rotate_key(store: FileStore, algorithm: str = ED25519, *, lost: bool = False) -> tuple[Key, Entry]:
    """Makes a new key, lets the old one sign its introduction, and then sign no more.

    With `lost`, the old key's secret half is gone and the new key introduces itself, which verification will say. Stopped
    half-way, the old key simply goes on; the prepared one signs nothing.
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
    entry = store.append(OPERATOR, EntryKind.KEY_ROTATION, body)
    keyring.activate_key(key.kid)
    return key, entry
