"""Acceptances of policies as signed entries of the operator's log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from verdikt.errors import ChainBroken
from verdikt.ledger.accepted_policies import (
    AcceptedIndex,
    LayerDigests,
)
from verdikt.ledger.key_introduction import IntroducedKeys
from verdikt.ledger.keys import Keyring
from verdikt.ledger.log_reader import LogReader
from verdikt.ledger.store import OPERATOR
from verdikt.model.entry import EntryKind, decode_entry
from verdikt.observe.policy_files import is_project_layer

if TYPE_CHECKING:
    from verdikt.ledger.files import FileStore
    from verdikt.model.entry import Entry

_READ_MARKS = (b'"accept"', b'"key_rotation"')
"""What an entry that matters here contains; the others of a long log are not even parsed."""


def log_acceptance(
    store: FileStore,
    *,
    root: str,
    directory: str,
    digest: str,
    layers: Iterable[tuple[str, str]],
    by: str,
    how: str,
) -> Entry:
    """Append the acceptance of a policy, signed; `how` says where it came from: terminal, digest or init."""
    record = {
        "root": root,
        "directory": directory,
        "digest": digest,
        "layers": [list(layer) for layer in layers],
        "by": by,
        "how": how,
    }
    return store.append(OPERATOR, EntryKind.GRANT, {"accept": record})


def read_logged_index(home: str) -> AcceptedIndex:
    """Return what the signed entries of the operator's log accept, one after another."""
    index = AcceptedIndex()
    if not home:
        return index
    entries = _read_relevant_entries(Path(home))
    keys = None
    for entry in entries:
        record = entry.body.get("accept")
        if not isinstance(record, Mapping):
            continue
        keys = keys or IntroducedKeys(Keyring(Path(home) / "keys"), entries)
        # A program that can write a file can also write an unsigned entry.
        if keys.check_entry_signature(entry.kid, entry.hash, entry.sig, entry.ts) is None:
            index = _fold_acceptance(index, record)
    return index


def _read_relevant_entries(home: Path) -> list[Entry]:
    """Return the entries that accept a policy or introduce a key, without those that are damaged."""
    entries = []
    for line in LogReader(home / "ledger").read_lines(OPERATOR):
        if any(mark in line for mark in _READ_MARKS):
            with suppress(ChainBroken):
                entries.append(decode_entry(line))
    return entries


def _fold_acceptance(index: AcceptedIndex, record: Mapping[str, object]) -> AcceptedIndex:
    layers = record.get("layers")
    pairs: LayerDigests = tuple((str(name), str(digest)) for name, digest in layers) if isinstance(layers, list) else ()
    root = str(record.get("root", ""))
    return index.accept(
        root,
        str(record.get("directory", root)),
        tuple(pair for pair in pairs if not is_project_layer(pair[0])),
        tuple(pair for pair in pairs if is_project_layer(pair[0])),
    )


def find_unlogged_projects(home: str, index: AcceptedIndex) -> list[str]:
    """Return the projects whose accepted layers are not those that signed entries accept."""
    logged = read_logged_index(home).projects
    return [root for root in {**logged, **index.projects} if index.projects.get(root) != logged.get(root)]
