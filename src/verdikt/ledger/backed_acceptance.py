"""The record of accepted policies, as far as signed entries of the operator's log say the same."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from verdikt import __version__
from verdikt.errors import LedgerError, PolicyError
from verdikt.ledger.accepted_policies import (
    REPAIR,
    Acceptance,
    AcceptedIndex,
    find_acceptance,
    get_index_path,
    parse_index,
)
from verdikt.ledger.content_cache import ContentCache
from verdikt.ledger.data_directory import KEYRING_FILE
from verdikt.ledger.log_reader import LogReader
from verdikt.ledger.store import OPERATOR
from verdikt.observe.clock import SystemClock
from verdikt.observe.watched_files import WatchedFiles

CACHE_DIRECTORY = "acceptances"


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


def _read_cached_index(home: str) -> AcceptedIndex:
    """Return the same, without reading a long log and checking its signatures while log and keys have not changed.

    Which program can write the cache can also write the compiled policies beside it, so it is trusted as much.
    """
    if not home:
        return AcceptedIndex()
    watched = WatchedFiles(SystemClock().now())
    reader, keyring_path = LogReader(Path(home) / "ledger"), Path(home) / "keys" / KEYRING_FILE
    for path in (reader.hot_file_path(OPERATOR), reader.ledger / "_archive", keyring_path):
        watched.add(os.fspath(path))
    # A file that has just changed may change again without showing it.
    if not watched.is_settled():
        return _read_log(home)
    cache = ContentCache(home, CACHE_DIRECTORY, __version__)
    source = watched.fingerprint.encode("utf-8", "surrogateescape")
    cached = parse_index(cache.get(source) or b"")
    if cached is not None:
        return cached
    index = _read_log(home)
    cache.put(source, json.dumps(index.dump()).encode())
    return index


def _read_log(home: str) -> AcceptedIndex:
    from verdikt.ledger.acceptance_log import read_logged_index  # with the keys; not needed while the cache holds

    return read_logged_index(home)
