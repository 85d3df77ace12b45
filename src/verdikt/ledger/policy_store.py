"""Policies stored by their digest, so that a decision can be replayed after its policy has changed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from verdikt.errors import CanonicalError, LedgerError
from verdikt.ledger.data_directory import get_policy_path, has_stored_policy, make_private_directory
from verdikt.model.canonical_json import encode_canonical, parse_json, sha256_hex
from verdikt.observe.atomic_file import write_atomically


def store_policy(home: Path, digest: str, document: Mapping[str, Any]) -> None:
    """Write a policy's document under its digest, unless it is stored already."""
    if has_stored_policy(home, digest):
        return
    path = get_policy_path(os.fspath(home), digest)
    data = encode_canonical(document)
    if sha256_hex(data) != digest:
        raise LedgerError(f"expected the policy `{digest}`, found a document with another digest")
    make_private_directory(home / "policies")
    try:
        write_atomically(path, data)
    except OSError as error:
        raise LedgerError(f"cannot write `{path}`: {error.strerror}; make room or set VERDIKT_HOME") from error


def load_stored_policy(home: Path, digest: str) -> Any:
    """Return the document of the policy with this digest; raise `LedgerError` when it is missing or was changed."""
    path = get_policy_path(os.fspath(home), digest)
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise LedgerError(
            f"the policy `{digest[:12]}…` was not kept: cannot read `{path}`: {error.strerror}"
        ) from error
    if sha256_hex(data) != digest:
        raise LedgerError(f"`{path}` is not the policy that it was: its digest is another")
    try:
        return parse_json(data)
    except CanonicalError as error:
        raise LedgerError(f"cannot read `{path}`: {error}") from error
