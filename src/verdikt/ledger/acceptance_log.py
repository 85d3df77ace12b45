"""Acceptances of policies as signed entries of the operator's log, which the record in force must agree with."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from verdikt import __version__
from verdikt.errors import ChainBroken, LedgerError, PolicyError
from verdikt.ledger.accepted_policies import (
    REPAIR,
    Acceptance,
    AcceptedIndex,
    LayerDigests,
    find_acceptance,
    get_index_path,
    parse_index,
)
from verdikt.ledger.content_cache import ContentCache
from verdikt.ledger.key_introduction import IntroducedKeys
from verdikt.ledger.keys import Keyring
from verdikt.ledger.log_reader import LogReader
from verdikt.ledger.store import OPERATOR
from verdikt.model.entry import EntryKind, decode_entry
from verdikt.observe.clock import SystemClock
from verdikt.observe.policy_files import is_project_layer
from verdikt.observe.watched_files import WatchedFiles

if TYPE_CHECKING:
    from verdikt.ledger.files import FileStore
    from verdikt.model.entry import Entry

CACHE_DIRECTORY = "acceptances"

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


def _read_cached_index(home: str) -> AcceptedIndex:
    """Return the same, without reading a long log and checking its signatures while log and keys have not changed.

    Which program can write the cache can also write the compiled policies beside it, so it is trusted as much.
    """
    if not home:
        return AcceptedIndex()
    watched = WatchedFiles(SystemClock().now())
    reader, keyring = LogReader(Path(home) / "ledger"), Keyring(Path(home) / "keys")
    for path in (reader.hot_file_path(OPERATOR), reader.ledger / "_archive", keyring.path):
        watched.add(os.fspath(path))
    # A file that has just changed may change again without showing it.
    if not watched.is_settled():
        return read_logged_index(home)
    cache = ContentCache(home, CACHE_DIRECTORY, __version__)
    source = watched.fingerprint.encode("utf-8", "surrogateescape")
    cached = parse_index(cache.get(source) or b"")
    if cached is not None:
        return cached
    index = read_logged_index(home)
    cache.put(source, json.dumps(index.dump()).encode())
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


def find_backed_acceptance(
    home: str, index: AcceptedIndex, start: str, environ: Mapping[str, str], places: Sequence[tuple[str, str]]
) -> Acceptance:
    """Return what is accepted at a directory; raise `PolicyError` when the log does not say the same.

    A record that was written by hand, put back to an earlier state or deleted must not decide which policy is in force.
    """
    acceptance = find_acceptance(home, index, start, environ, places)
    try:
        logged = _read_cached_index(home)
    except (LedgerError, OSError) as error:
        raise PolicyError(f"the signed acceptances cannot be read: {error}; {REPAIR}", where=home) from error
    expected = find_acceptance(home, logged, start, environ, places)
    # The user's own files, as first seen, are on record before any person accepts anything.
    is_user_backed = logged.user is None or logged.user == acceptance.user
    if is_user_backed and (acceptance.root, acceptance.project) == (expected.root, expected.project):
        return acceptance
    raise PolicyError(
        f"the record of accepted policies is not what a person accepted: no signed entry of the log says so; {REPAIR}",
        where=get_index_path(home),
    )


def find_unlogged_projects(home: str, index: AcceptedIndex) -> list[str]:
    """Return the projects whose accepted layers are not those that signed entries accept."""
    logged = read_logged_index(home).projects
    return [root for root in {**logged, **index.projects} if index.projects.get(root) != logged.get(root)]
