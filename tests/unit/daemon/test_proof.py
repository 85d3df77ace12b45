"""The proof that a reply comes from the warm process."""

import os
import stat
from pathlib import Path

import pytest

from verdikt.daemon import protocol
from verdikt.daemon.proof import (
    NONCE_BYTES,
    PROOF_BYTES,
    SECRET_NAME,
    append_nonce,
    compute_proof,
    create_nonce,
    create_secret,
    is_proven,
    read_secret,
    split_nonce,
)
from verdikt.daemon.request import HookRequest, Peer


def test_secret_is_new_with_every_start_and_private(tmp_path: Path) -> None:
    """A process that knew the secret of an earlier start knows nothing of this one."""
    first, second = create_secret(tmp_path), create_secret(tmp_path)

    assert first != second == read_secret(tmp_path)
    assert stat.S_IMODE(os.stat(tmp_path / SECRET_NAME).st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [SECRET_NAME]


def test_proof_covers_secret_nonce_and_reply() -> None:
    """Another secret, nonce or reply needs another proof; without a secret nothing is proven."""
    secret, nonce = b"s" * 64, create_nonce()
    proof = compute_proof(secret, nonce, b"reply")

    assert len(proof) == PROOF_BYTES
    assert is_proven(secret, nonce, b"reply", proof)
    assert not is_proven(b"t" * 64, nonce, b"reply", proof)
    assert not is_proven(secret, create_nonce(), b"reply", proof)
    assert not is_proven(secret, nonce, b"other", proof)
    assert not is_proven(b"", nonce, b"reply", compute_proof(b"", nonce, b"reply"))


@pytest.mark.parametrize("head", [b"a\0b\0", b"nonce=" + b"0" * NONCE_BYTES + b"\0", b"", b"xnonce=" + b"0" * 33])
def test_head_without_a_nonce_stays_as_it_is(head: bytes) -> None:
    """Only a last field of its own is a nonce."""
    assert split_nonce(head) == (head, b"")


def test_nonce_is_split_off_before_the_head_is_parsed(tmp_path: Path) -> None:
    """Requests of one session and event have the same head, and a nonce of their own."""
    nonce = create_nonce()
    data = protocol.encode_request(["v", "claude", "PreToolUse", "", "/", "python"], {"HOME": "/h"}, b"{}", nonce)
    head_length, _ = protocol.decode_request_prefix(data[: protocol.REQUEST_PREFIX_BYTES])
    head = data[protocol.REQUEST_PREFIX_BYTES :][:head_length]
    request = HookRequest.from_head(head, b"{}", Peer(0, 0))

    assert split_nonce(head)[1] == request.nonce == nonce
    assert append_nonce(split_nonce(head)[0], nonce) == head
    assert dict(request.env) == {"HOME": "/h"}


@pytest.mark.parametrize("mode", [0o640, 0o604])
def test_secret_that_others_can_read_is_none(tmp_path: Path, mode: int) -> None:
    """Another user could have put it there, or read it."""
    create_secret(tmp_path)
    (tmp_path / SECRET_NAME).chmod(mode)

    assert read_secret(tmp_path) == b""
