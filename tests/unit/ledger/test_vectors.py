"""Frozen chains: one that must verify for ever, and one for each corruption that must be found for ever."""

import json
from pathlib import Path
from typing import Any

import pytest

from verdikt.ledger.audit_finding import Witness
from verdikt.ledger.chain_verifier import ChainReport, verify_chain
from verdikt.ledger.keys import Keyring

VECTORS: dict[str, Any] = json.loads((Path(__file__).parents[2] / "vectors" / "chain.json").read_text())


def verify_frozen_chain(directory: Path, lines: list[str], *, head: bool) -> ChainReport:
    """Verify lines by the frozen public key and head."""
    document = {"v": 1, "current": "", "keys": [VECTORS["key"]]}
    (directory / "keyring.json").write_text(json.dumps(document))
    key = VECTORS["head"]
    witnesses = [Witness("s", key["seq"], key["hash"])] if head else []
    check = Keyring(directory).check_entry_signature
    return verify_chain(
        lambda: [line.encode() for line in lines], session="s", witnesses=witnesses, verify_signature=check
    )


def test_frozen_chain_verifies(tmp_path: Path) -> None:
    """Version 1 stays readable for ever."""
    report = verify_frozen_chain(tmp_path, VECTORS["intact"], head=True)

    assert report.is_intact
    assert (report.findings, report.entry_count, report.signature_count) == ([], 6, 2)


@pytest.mark.parametrize("vector", VECTORS["corrupt"], ids=lambda vector: str(vector["name"]))
def test_each_frozen_corruption_is_found(tmp_path: Path, vector: dict[str, Any]) -> None:
    """Each corruption is found with its kind, at its entry."""
    report = verify_frozen_chain(tmp_path, vector["lines"], head=vector["head"])

    assert (vector["kind"], vector["seq"]) in [(fault.kind.value, fault.seq) for fault in report.findings], (
        report.findings
    )
