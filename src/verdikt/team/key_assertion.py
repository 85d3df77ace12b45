"""What a security key signed, verified by its public key alone: machines do not take the service's word for it."""

from __future__ import annotations

from base64 import urlsafe_b64decode
from collections.abc import Mapping
from typing import Any

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_der_public_key

from verdikt.errors import CanonicalError
from verdikt.model.approval import KEY_PREFIX
from verdikt.model.canonical_json import parse_json, sha256_hex

PARTS = ("authenticatorData", "clientDataJSON", "signature")
"""The parts of an assertion that are verified, each in base64url."""

_PRESENT_AND_VERIFIED = 0x05
_MIN_DATA_BYTES = 37


def name_key(public_key: bytes) -> str:
    """Return the name of a key, by which a policy can ask for it: the digest of its SubjectPublicKeyInfo."""
    return f"{KEY_PREFIX}{sha256_hex(public_key)}"


def find_signer(signed: Any, challenge: bytes) -> str:
    """Return the name of the key that signed a challenge; empty when none did.

    Its person was present and verified. `signed` has the parts of the assertion, and the key in hex as `public_key`.
    """
    try:
        public_key = bytes.fromhex(signed["public_key"])
        data, client_data, signature = (_decode(signed[name]) for name in PARTS)
        client = parse_json(client_data)
        if not isinstance(client, Mapping) or client.get("type") != "webauthn.get":
            return ""
        # Keys are bound to names, never to addresses, so the only colon of a host is that of its port.
        host = str(client.get("origin")).partition("://")[2].partition(":")[0]
        if _decode(client["challenge"]) != challenge or not _is_of_host(data, host):
            return ""
        _verify(public_key, signature, data + bytes.fromhex(sha256_hex(client_data)))
    except (KeyError, TypeError, ValueError, CanonicalError, InvalidSignature, UnsupportedAlgorithm):
        return ""
    return name_key(public_key)


def trim_assertion(assertion: Mapping[str, Any], public_key: bytes) -> dict[str, str]:
    """Return what is kept of an assertion that was verified: what another can verify it by, and nothing else."""
    response = assertion["response"]
    return {name: str(response[name]) for name in PARTS} | {"public_key": public_key.hex()}


def _is_of_host(data: bytes, host: str) -> bool:
    """Return whether a key signed for a page of this host, with its person present and verified."""
    is_whole = len(data) >= _MIN_DATA_BYTES and data[:32] == bytes.fromhex(sha256_hex(host.encode()))
    return is_whole and data[32] & _PRESENT_AND_VERIFIED == _PRESENT_AND_VERIFIED


def _verify(public_key: bytes, signature: bytes, data: bytes) -> None:
    key = load_der_public_key(public_key)
    if isinstance(key, EllipticCurvePublicKey):
        key.verify(signature, data, ECDSA(SHA256()))
    elif isinstance(key, RSAPublicKey):
        key.verify(signature, data, PKCS1v15(), SHA256())
    elif isinstance(key, Ed25519PublicKey):
        key.verify(signature, data)
    else:
        raise InvalidSignature("a kind of key that is not known")


def _decode(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
