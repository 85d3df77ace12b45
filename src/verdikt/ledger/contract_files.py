"""`contracts/<session>/<seq>.yml`: contracts as files beside the log, for people and scripts. The log is the truth."""

import os
from pathlib import Path

from verdikt.ledger.data_directory import make_private_directory
from verdikt.ledger.session_filename import encode_session_filename


def contract_path(home: Path, session: str, seq: int) -> Path:
    """Where a contract lies."""
    return home / "contracts" / encode_session_filename(session) / f"{seq}.yml"


def write_contract(home: Path, session: str, seq: int, text: str) -> Path:
    """Writes a contract's file, readable by its owner alone."""
    path = contract_path(home, session, seq)
    make_private_directory(path.parent)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with open(fd, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)
    return path
