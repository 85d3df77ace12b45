"""`contracts/<session>/<seq>.yml`: contracts as files beside the log, for people and scripts. The log is the truth."""

import os
from pathlib import Path

from verdikt.ledger.home import make_private
from verdikt.ledger.name import file_name


def contract_path(home: Path, session: str, seq: int) -> Path:
    """Where a contract lies."""
    return home / "contracts" / file_name(session) / f"{seq}.yml"


def write_contract(home: Path, session: str, seq: int, text: str) -> Path:
    """Writes a contract's file, readable by its owner alone."""
    path = contract_path(home, session, seq)
    make_private(path.parent)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with open(fd, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)
    return path
