"""Acceptances of policies as signed entries of the operator's log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdikt.ledger.store import OPERATOR
from verdikt.model.entry import EntryKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from verdikt.ledger.files import FileStore
    from verdikt.model.entry import Entry


def log_acceptance(
    store: FileStore, *, root: str, digest: str, layers: Iterable[tuple[str, str]], by: str, how: str
) -> Entry:
    """Append the acceptance of a policy, signed; `how` says where it came from: terminal, digest or init."""
    record = {"root": root, "digest": digest, "layers": [list(layer) for layer in layers], "by": by, "how": how}
    return store.append(OPERATOR, EntryKind.GRANT, {"accept": record})
