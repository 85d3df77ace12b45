"""Frozen chains: one that must verify for ever, and one for each corruption that must be found for ever."""

import json
from pathlib import Path
from typing import Any

import pytest

from verdikt.ledger.audit_finding import Witness
from verdikt.ledger.chain_verifier import ChainReport, verify_chain
from verdikt.ledger.keys import Keyring

VECTORS: dict[str, Any] = json.loads((Path(__file__).parents[2] / "vectors" / "chain.json").read_text())


def look(directory: Path, lines: list[str], *, head: bool) -> ChainReport:
    """An examination by the frozen public key and head."""
    document = {"v": 1, "current": "", "keys": [VECTORS["key"]]}
    (directory / "keyring.json").write_text(json.dumps(document))
    known = VECTORS["head"]
    witnesses = [Witness("s", known["seq"], known["hash"])] if head else []
    check = Keyring(directory).check_entry_signature
    return verify_chain(
        lambda: [line.encode() for line in lines], session="s", witnesses=witnesses, verify_signature=check
    )


def test_the_frozen_chain_verifies(tmp_path: Path) -> None:
    """Written by version 1, readable for ever."""
    found = look(tmp_path, VECTORS["intact"], head=True)

    assert found.is_intact
    assert (found.findings, found.entry_count, found.signature_count) == ([], 6, 2)


@pytest.mark.parametrize("vector", VECTORS["corrupt"], ids=lambda vector: str(vector["name"]))
def test_each_frozen_corruption_is_found(tmp_path: Path, vector: dict[str, Any]) -> None:
    """Of its kind, at its entry."""
    found = look(tmp_path, vector["lines"], head=vector["head"])

    assert (vector["kind"], vector["seq"]) in [(fault.kind.value, fault.seq) for fault in found.findings], (
        found.findings
    )
