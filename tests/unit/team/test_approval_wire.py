"""What a machine checks of a grant by itself, whatever the service that signs it says."""

import hashlib
import json
from base64 import urlsafe_b64encode
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from verdikt.model.approval import ApprovalNeed
from verdikt.team.approval_wire import build_challenge, find_grant_problem
from verdikt.team.key_assertion import find_signer, name_key

REQUEST, DIGEST, MACHINE = "r1", "d" * 64, 7
HOST = "team.example"


def _encode(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")


def _export(key: Ed25519PrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def sign(key: Ed25519PrivateKey) -> dict[str, str]:
    """Return what a security key signs in answer to the request of these tests."""
    data = hashlib.sha256(HOST.encode()).digest() + b"\x05" + bytes(4)
    challenge = _encode(build_challenge(REQUEST, DIGEST))
    client = json.dumps(
        {"type": "webauthn.get", "challenge": challenge, "origin": f"https://{HOST}"}, separators=(",", ":")
    ).encode()
    signature = key.sign(data + hashlib.sha256(client).digest())
    return {
        "authenticatorData": _encode(data),
        "clientDataJSON": _encode(client),
        "signature": _encode(signature),
        "public_key": _export(key).hex(),
    }


def find_problem(votes: list[Any], need: ApprovalNeed) -> str:
    """Return what a machine finds wrong with a grant that has these votes."""
    grant = {
        "v": 1,
        "approval": REQUEST,
        "digest": DIGEST,
        "machine": MACHINE,
        "not_after": 2**40,
        "approved": True,
        "votes": [{"approved": True, **vote} for vote in votes],
    }
    return find_grant_problem(grant, request=REQUEST, digest=DIGEST, machine=MACHINE, needs=[need])


def test_one_signature_is_one_vote() -> None:
    """A service cannot have one key's signature count for two people; two keys count."""
    first, second = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
    names = (name_key(_export(first)), name_key(_export(second)))
    for need in (
        ApprovalNeed(group="release", count=2, strong=True),
        ApprovalNeed(group="release", count=2, strong=True, keys=names),
    ):
        twice = [{"person": 1, "assertion": sign(first)}, {"person": 2, "assertion": sign(first)}]
        assert find_problem(twice, need).startswith("the grant has fewer votes")
        both = [{"person": 1, "assertion": sign(first)}, {"person": 2, "assertion": sign(second)}]
        assert find_problem(both, need) == ""


@pytest.mark.parametrize("person", [None, "1", [1], {"a": 1}, True])
def test_a_vote_of_no_person_is_none(person: Any) -> None:
    """What is no number of a person counts for nothing, and breaks nothing."""
    need = ApprovalNeed(group="release", count=1)
    assert find_problem([{"person": person}], need).startswith("the grant has fewer votes")


@pytest.mark.parametrize(
    "signed",
    [
        None,
        [],
        "text",
        {},
        {"public_key": 1},
        {"public_key": "zz"},
        {"public_key": "00", "authenticatorData": 1, "clientDataJSON": "", "signature": ""},
        {"public_key": "00", "authenticatorData": "é", "clientDataJSON": "", "signature": ""},
        {
            "public_key": "30",
            "authenticatorData": "AA",
            "clientDataJSON": _encode(b"[" * 100_000),
            "signature": "",
        },
        {
            "public_key": "30",
            "authenticatorData": "AA",
            "clientDataJSON": _encode(b'{"type":"webauthn.get","origin":"a://\\ud800","challenge":""}'),
            "signature": "",
        },
    ],
    ids=str,
)
def test_what_is_no_signature_names_no_key(signed: Any) -> None:
    """Whatever a service sends in place of a signature, no key has signed."""
    assert find_signer(signed, build_challenge(REQUEST, DIGEST)) == ""
