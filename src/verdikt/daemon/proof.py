"""The proof that a reply comes from the warm process: a keyed hash over the request's nonce and the reply.

The key is a secret that the warm process writes beside its socket, readable by its owner only, before it listens, and
that is new with every start. The native client has the same constants in `native/verdikt-hook.c`.
"""

from __future__ import annotations

import hmac
import os
import stat
from contextlib import suppress

SECRET_NAME = "daemon.secret"

SECRET_BYTES = 64
"""Length of the secret, in hexadecimal digits; a block of SHA-256, so that the native client need not hash it."""

NONCE_BYTES = 32
"""Length of a nonce, in hexadecimal digits."""

PROOF_BYTES = 32

_NONCE_FIELD = b"nonce="


def create_secret(directory: str | os.PathLike[str]) -> bytes:
    """Write a new secret into the run directory, in one step, and return it."""
    secret = os.urandom(SECRET_BYTES // 2).hex().encode()
    temporary = os.path.join(directory, f".{SECRET_NAME}")
    with suppress(FileNotFoundError):
        os.unlink(temporary)
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        os.write(fd, secret)
    finally:
        os.close(fd)
    os.replace(temporary, os.path.join(directory, SECRET_NAME))
    return secret


def read_secret(directory: str | os.PathLike[str]) -> bytes:
    """Return the secret in a run directory; empty when there is none, or when another user could have written it."""
    try:
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        fd = os.open(os.path.join(directory, SECRET_NAME), flags)
    except OSError:
        return b""
    try:
        status = os.fstat(fd)
        is_private = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o077
        secret = os.read(fd, SECRET_BYTES + 1) if is_private else b""
    finally:
        os.close(fd)
    return secret if len(secret) == SECRET_BYTES else b""


def create_nonce() -> bytes:
    """Return a new nonce."""
    return os.urandom(NONCE_BYTES // 2).hex().encode()


def append_nonce(head: bytes, nonce: bytes) -> bytes:
    """Return the head of a request with the nonce as its last field."""
    return head + _NONCE_FIELD + nonce + b"\0" if nonce else head


def split_nonce(head: bytes) -> tuple[bytes, bytes]:
    """Return the head of a request without its nonce, and the nonce; empty when it has none."""
    start = len(head) - len(_NONCE_FIELD) - NONCE_BYTES - 1
    # After a NUL, so that the end of another field is not taken for one.
    if start < 1 or head[start - 1 : start + len(_NONCE_FIELD)] != b"\0" + _NONCE_FIELD or head[-1:] != b"\0":
        return head, b""
    return head[:start], head[start + len(_NONCE_FIELD) : -1]


def compute_proof(secret: bytes, nonce: bytes, reply: bytes) -> bytes:
    """Return the proof for a reply."""
    return hmac.digest(secret, nonce + reply, "sha256")


def is_proven(secret: bytes, nonce: bytes, reply: bytes, proof: bytes) -> bool:
    """Return whether the sender of a reply knew the secret."""
    return bool(secret) and hmac.compare_digest(compute_proof(secret, nonce, reply), proof)
