"""Frozen chains of both versions: some that must verify for ever, and one for each corruption to be found for ever."""

import json
from pathlib import Path
from typing import Any

import pytest

from verdikt.ledger.audit_finding import Witness
from verdikt.ledger.chain_verifier import ChainReport, verify_chain
from verdikt.ledger.keys import Keyring

DIRECTORY = Path(__file__).parents[2] / "vectors"
VECTORS: dict[int, dict[str, Any]] = {
    1: json.loads((DIRECTORY / "chain.json").read_text()),
    2: json.loads((DIRECTORY / "chain_v2.json").read_text()),
}
CORRUPTIONS = [(version, vector) for version, vectors in VECTORS.items() for vector in vectors["corrupt"]]


def verify_frozen_chain(directory: Path, version: int, lines: list[str], *, head: bool) -> ChainReport:
    """Verify lines by the frozen public key and head."""
    vectors = VECTORS[version]
    document = {"v": 1, "current": "", "keys": [vectors["key"]]}
    (directory / "keyring.json").write_text(json.dumps(document))
    key = vectors["head"]
    witnesses = [Witness("s", key["seq"], key["hash"])] if head else []
    check = Keyring(directory).check_entry_signature
    return verify_chain(
        lambda: [line.encode() for line in lines], session="s", witnesses=witnesses, verify_signature=check
    )


@pytest.mark.parametrize("version", VECTORS)
def test_frozen_chain_verifies(tmp_path: Path, version: int) -> None:
    """Each version stays readable for ever."""
    report = verify_frozen_chain(tmp_path, version, VECTORS[version]["intact"], head=True)

    assert report.is_intact
    assert (report.findings, report.entry_count, report.signature_count) == ([], 6, 2)
    assert report.absent_body_count == 0


def test_frozen_chain_without_bodies_verifies(tmp_path: Path) -> None:
    """The chain of version 2, its signatures and its head hold without a single body, and say that they are absent."""
    report = verify_frozen_chain(tmp_path, 2, VECTORS[2]["without_bodies"], head=True)

    assert (report.is_intact, report.entry_count, report.signature_count) == (True, 6, 2)
    assert (report.absent_body_count, report.first_absent_body) == (6, 1)


@pytest.mark.parametrize("name", ["mixed", "alternating"])
def test_frozen_chain_of_both_versions_verifies(tmp_path: Path, name: str) -> None:
    """A log that was begun in version 1 and continued in version 2 is one chain."""
    report = verify_frozen_chain(tmp_path, 2, VECTORS[2][name], head=False)

    assert (report.findings, report.entry_count, report.signature_count) == ([], 6, 2)


@pytest.mark.parametrize(
    ("version", "vector"), CORRUPTIONS, ids=[f"v{version}: {vector['name']}" for version, vector in CORRUPTIONS]
)
def test_each_frozen_corruption_is_found(tmp_path: Path, version: int, vector: dict[str, Any]) -> None:
    """Each corruption is found with its kind, at its entry."""
    report = verify_frozen_chain(tmp_path, version, vector["lines"], head=vector["head"])

    assert (vector["kind"], vector["seq"]) in [(fault.kind.value, fault.seq) for fault in report.findings], (
        report.findings
    )
