"""Signed checkpoints to store elsewhere: every session's head in one document, which a rollback cannot reach."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from verdikt.errors import CanonicalError, LedgerError
from verdikt.ledger.audit_finding import AuditFinding, Corruption, Witness
from verdikt.ledger.data_directory import sync_directory
from verdikt.ledger.files import FileStore
from verdikt.ledger.key_introduction import IntroducedKeys
from verdikt.ledger.keys import Keyring, to_public_records
from verdikt.model.canonical_json import encode_canonical, parse_json
from verdikt.model.chain_head import ChainHead
from verdikt.model.entry import unseal_line
from verdikt.observe.atomic_file import write_atomically

# Separates these signatures from those of log entries, which are made with the same key.
_DOMAIN = b"verdikt checkpoint v1\n"
_FILE_PREFIX = "verdikt-checkpoint-"


def sign_session_ends(store: FileStore, sessions: Sequence[str], reason: str = "operator") -> int:
    """Append a checkpoint to each session that has entries after its last signature; return how many there were."""
    covered = 0
    for session in sessions:
        fields = unseal_line(store.reader.read_last_line(session))
        # A fully archived session ends in a signed rotation entry, and appending would bring its file back.
        if store.reader.hot_file_path(session).exists() and not (isinstance(fields, dict) and fields["sig"]):
            store.append_checkpoint(session, reason)
            covered += 1
    return covered


def build_checkpoint(heads: Mapping[str, ChainHead], keyring: Keyring, now: float) -> dict[str, Any]:
    """Return a signed checkpoint document: heads, public keys, time, signature."""
    signer = keyring.get_signing_key()
    document: dict[str, Any] = {
        "v": 1,
        "ts": int(now * 1_000_000),
        "heads": {session: {"seq": head.seq, "hash": head.hash} for session, head in sorted(heads.items())},
        "keys": to_public_records(keyring.list_keys()),
        "kid": signer.kid,
    }
    return {**document, "sig": signer.sign(_DOMAIN + encode_canonical(document))}


def write_checkpoint(document: Mapping[str, Any], directory: Path) -> Path:
    """Write the document into a directory, under a name of its own, and return its path."""
    path = directory / f"{_FILE_PREFIX}{document['ts']}.json"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        write_atomically(path, encode_canonical(document) + b"\n", mode=None)
        sync_directory(directory)
    except OSError as error:
        raise LedgerError(f"cannot write `{path}`: {error.strerror}; choose a directory that you can write") from error
    return path


def read_checkpoints(path: Path) -> list[dict[str, Any]]:
    """Return the checkpoints in a file, or in all checkpoint files of a directory, oldest first."""
    try:
        files = sorted(path.glob(f"{_FILE_PREFIX}*.json")) if path.is_dir() else [path]
        checkpoints = [document for file in files for document in parse_checkpoints(file.read_bytes(), str(file))]
    except OSError as error:
        raise LedgerError(f"cannot read the witness `{path}`: {error.strerror}") from error
    if not checkpoints:
        raise LedgerError(
            f"expected a checkpoint in `{path}`, found none; make one with `verdikt ledger checkpoint --export`"
        )
    return sorted(checkpoints, key=lambda document: int(document["ts"]))


def parse_checkpoints(text: bytes, source: str) -> Iterator[dict[str, Any]]:
    """Yield the checkpoints of a text with one document per line."""
    for line in text.splitlines():
        if not line.strip():
            continue
        try:
            document = parse_json(line)
            heads = {session: (head["seq"], head["hash"]) for session, head in document["heads"].items()}
            if not all(isinstance(seq, int) and isinstance(hash, str) for seq, hash in heads.values()):
                raise LedgerError(f"expected a seq and a hash for every session in `{source}`, found something else")
            yield {**document, "ts": int(document["ts"]), "sig": str(document["sig"]), "kid": str(document["kid"])}
        except (CanonicalError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise LedgerError(f"expected a checkpoint in `{source}`, found something else: {error}") from error


def verify_checkpoints(
    checkpoints: Sequence[Mapping[str, Any]], keyring: Keyring | IntroducedKeys, source: str
) -> tuple[list[Witness], list[AuditFinding]]:
    """Return the witnesses that validly signed checkpoints give, and a finding for each invalid signature."""
    witnesses: list[Witness] = []
    findings: list[AuditFinding] = []
    for document in checkpoints:
        signed_fields = {key: value for key, value in document.items() if key != "sig"}
        problem = keyring.verify_signature(
            document["kid"], _DOMAIN + encode_canonical(signed_fields), document["sig"], document["ts"]
        )
        if problem is None:
            witnesses += [
                Witness(session, head["seq"], head["hash"], source, is_external=True)
                for session, head in document["heads"].items()
            ]
        else:
            findings.append(
                AuditFinding(
                    problem,
                    "",
                    0,
                    f"the checkpoint in `{source}` {_SIGNATURE_PROBLEMS[problem]} (key `{document['kid']}`)",
                )
            )
    return witnesses, findings


_SIGNATURE_PROBLEMS = {
    Corruption.UNKNOWN_KEY: "is signed with a key that no entry introduces or the keyring does not hold",
    Corruption.BAD_SIGNATURE: "carries a signature that does not fit",
    Corruption.RETIRED_KEY: "is signed with a key after it was rotated out",
}


def to_line(document: Mapping[str, Any]) -> str:
    """Return the document on one line, for a medium that stores text."""
    return encode_canonical(document).decode()
