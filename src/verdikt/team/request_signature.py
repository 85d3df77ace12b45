"""How a machine signs a request: Ed25519 over method, path, time and the digest of the body. Keys are elsewhere."""

from __future__ import annotations

import re
from typing import NamedTuple

from verdikt.errors import WireError
from verdikt.model.canonical_json import sha256_hex

MAX_CLOCK_SKEW_SECONDS = 300
"""Most seconds between a machine's clock and the service's. A request can be repeated that long: all are idempotent."""

SCHEME = "Verdikt-Machine"
# Domain separation: no signature of a log entry or a checkpoint is one of a request.
_DOMAIN = "verdikt request v1"
_HEADER = re.compile(rf"{SCHEME} machine=([0-9]{{1,18}}), time=([0-9]{{1,12}}), signature=([0-9a-f]{{128}})")


class RequestSignature(NamedTuple):
    """What the `Authorization` header of a machine says."""

    machine: int
    time: int
    signature: str


def build_message(method: str, path: str, machine: int, time: int, body: bytes) -> bytes:
    """Return the bytes that are signed. `path` has the query, so none of it can be changed."""
    return "\n".join((_DOMAIN, method, path, str(machine), str(time), sha256_hex(body))).encode()


def format_header(signature: RequestSignature) -> str:
    """Return the value of the `Authorization` header."""
    return f"{SCHEME} machine={signature.machine}, time={signature.time}, signature={signature.signature}"


def parse_header(text: str) -> RequestSignature:
    """Return what a header says; raise `WireError` when it is not in this form."""
    match = _HEADER.fullmatch(text)
    if match is None:
        raise WireError("expected the signature of a machine in the header `Authorization`")
    return RequestSignature(int(match[1]), int(match[2]), match[3])
