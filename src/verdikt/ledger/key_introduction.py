"""Which keys the log itself introduces: only their signatures count, whatever the key ring holds.

The signer of the first `key_rotation` entry of the operator's log is the root. Every other key must be introduced by an
entry that an introduced key signed, or by a rotation that says that the key before it was lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from verdikt.ledger.audit_finding import Corruption
from verdikt.ledger.store import OPERATOR
from verdikt.model.entry import EntryKind

if TYPE_CHECKING:
    from verdikt.ledger.files import FileStore
    from verdikt.ledger.keys import Keyring
    from verdikt.model.entry import Entry


class IntroducedKeys:
    """The key ring as far as the operator's log introduces its keys."""

    def __init__(self, keyring: Keyring, operator_entries: Iterable[Entry]) -> None:
        self._keyring = keyring
        self.introduced_by: dict[str, str] = {}
        """Key → the key that signed its introduction; itself for the root, and for one that replaced a lost key."""
        for entry in operator_entries:
            if entry.kind is EntryKind.KEY_ROTATION and entry.sig and self._is_signed(entry):
                self._add_introduction(entry)

    def check_entry_signature(self, kid: str, hash: str, sig: str, ts: int = 0) -> Corruption | None:
        """Return what is wrong with an entry's signature; None when it is valid."""
        if kid not in self.introduced_by:
            return Corruption.UNKNOWN_KEY
        return self._keyring.check_entry_signature(kid, hash, sig, ts)

    def verify_signature(self, kid: str, message: bytes, sig: str, ts: int = 0) -> Corruption | None:
        """Return what is wrong with a signature made at `ts` (microseconds); None when it is valid."""
        if kid not in self.introduced_by:
            return Corruption.UNKNOWN_KEY
        return self._keyring.verify_signature(kid, message, sig, ts)

    def _is_signed(self, entry: Entry) -> bool:
        return self._keyring.check_entry_signature(entry.kid, entry.hash, entry.sig, entry.ts) is None

    def _add_introduction(self, entry: Entry) -> None:
        new, old = str(entry.body.get("new")), str(entry.body.get("old"))
        if not self.introduced_by:
            self.introduced_by[entry.kid] = entry.kid
            # A log of an earlier version: the first key was lost before any entry introduced it.
            if entry.body.get("lost") and old:
                self.introduced_by.setdefault(old, entry.kid)
        if entry.kid in self.introduced_by or (entry.body.get("lost") and entry.kid == new):
            self.introduced_by.setdefault(new, entry.kid)


def is_introduced(store: FileStore, kid: str) -> bool:
    """Return whether an entry of the operator's log introduces a key. The key ring only says where to look."""
    entries = [*_find_root(store)]
    seen: set[str] = set()
    while kid not in seen and (entry := store.reader.read_entry(OPERATOR, store.keyring.find_introduction(kid))):
        seen.add(kid)
        entries.append(entry)
        kid = entry.kid
    # Oldest first, as they stand in the log.
    entries.sort(key=lambda entry: entry.seq)
    known = IntroducedKeys(store.keyring, entries)
    return all(name in known.introduced_by for name in (*seen, kid))


def _find_root(store: FileStore) -> Iterator[Entry]:
    """Yield the first rotation of the operator's log, which is among its first entries."""
    for entry in store.reader.read_intact_entries(OPERATOR):
        if entry.kind is EntryKind.KEY_ROTATION:
            yield entry
            return
