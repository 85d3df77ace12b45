"""Acceptances of policies as signed entries of the operator's log."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from verdikt.errors import ChainBroken
from verdikt.ledger.store import OPERATOR
from verdikt.model.entry import EntryKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from verdikt.ledger.accepted_policies import AcceptedIndex
    from verdikt.ledger.files import FileStore
    from verdikt.model.entry import Entry


def log_acceptance(
    store: FileStore, *, root: str, digest: str, layers: Iterable[tuple[str, str]], by: str, how: str
) -> Entry:
    """Append the acceptance of a policy, signed; `how` says where it came from: terminal, digest or init."""
    record = {"root": root, "digest": digest, "layers": [list(layer) for layer in layers], "by": by, "how": how}
    return store.append(OPERATOR, EntryKind.GRANT, {"accept": record})


def find_unlogged_projects(store: FileStore, index: AcceptedIndex) -> list[str]:
    """Return the projects with an accepted layer that no signed entry introduces: their record was written by hand."""
    logged: dict[str, set[tuple[str, str]]] = {}
    with suppress(ChainBroken):
        for entry in store.read_entries(OPERATOR):
            record = entry.body.get("accept")
            if record and store.keyring.check_entry_signature(entry.kid, entry.hash, entry.sig, entry.ts) is None:
                logged.setdefault(record["root"], set()).update((name, digest) for name, digest in record["layers"])
    return [root for root, layers in index.projects.items() if not set(layers) <= logged.get(root, set())]
