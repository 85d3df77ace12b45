"""Policies stored by digest, for replay."""

from pathlib import Path

import pytest

from tests.unit.test_decide import RULED, STANDARD
from verdikt.errors import LedgerError
from verdikt.ledger.policy_store import load_stored_policy, store_policy
from verdikt.policy import restore_policy


def test_stored_policy_is_loaded_by_its_digest(tmp_path: Path) -> None:
    """Profiles and manifest included; storing twice changes nothing."""
    for policy in (RULED, STANDARD, RULED):
        store_policy(tmp_path, policy.digest, policy.document)

        assert restore_policy(load_stored_policy(tmp_path, policy.digest)).digest == policy.digest
    assert len(list((tmp_path / "policies").iterdir())) == 2
    assert (tmp_path / "policies").stat().st_mode & 0o077 == 0


def test_document_with_another_digest_raises(tmp_path: Path) -> None:
    """Neither storing nor loading accepts a document with another digest."""
    digest = RULED.digest
    with pytest.raises(LedgerError, match="found a document with another digest"):
        store_policy(tmp_path, digest, STANDARD.document)
    with pytest.raises(LedgerError, match="was not kept: cannot read"):
        load_stored_policy(tmp_path, digest)
    store_policy(tmp_path, digest, RULED.document)
    path = tmp_path / "policies" / f"{digest}.json"
    path.write_bytes(path.read_bytes().replace(b"no_force", b"no_farce"))
    with pytest.raises(LedgerError, match="is not the policy that it was"):
        load_stored_policy(tmp_path, digest)
    with pytest.raises(LedgerError, match="expected the digest of a policy"):
        load_stored_policy(tmp_path, "../../etc/passwd")
