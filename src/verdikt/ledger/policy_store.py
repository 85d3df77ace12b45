"""The policies that decided, kept by their digest, so that a decision can be made again after its policy has changed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from verdikt.errors import CanonicalError, LedgerError
from verdikt.ledger.data_directory import make_private_directory
from verdikt.model.canonical_json import encode_canonical, parse_json, sha256_hex


def has_stored_policy(home: Path, digest: str) -> bool:
    """Whether the policy with this digest is there already."""
    try:
        os.stat(_policy_path(os.fspath(home), digest))
    except OSError:
        return False
    return True


def store_policy(home: Path, digest: str, document: Mapping[str, Any]) -> None:
    """Writes a policy's document under its digest, unless it is there already."""
    if has_stored_policy(home, digest):
        return
    path = _policy_path(os.fspath(home), digest)

    data = encode_canonical(document)
    if sha256_hex(data) != digest:
        raise LedgerError(f"expected the policy `{digest}`, found a document with another digest")
    directory = make_private_directory(home / "policies")
    try:
        handle, draft = tempfile.mkstemp(dir=directory, prefix=".draft-")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())  # or a power cut could leave an empty file in its place, which counts as kept
        os.replace(draft, path)
    except OSError as error:
        raise LedgerError(f"cannot write `{path}`: {error.strerror}; make room or set VERDIKT_HOME") from error


def load_stored_policy(home: Path, digest: str) -> Any:
    """The document of the policy with this digest; `LedgerError` when it was not kept or is not what it was."""
    path = _policy_path(os.fspath(home), digest)
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


@lru_cache(maxsize=64)
def _policy_path(home: str, digest: str) -> str:
    if not (len(digest) == 64 and digest.isalnum()):
        raise LedgerError(f"expected the digest of a policy, found `{digest}`")
    return f"{home}/policies/{digest}.json"
