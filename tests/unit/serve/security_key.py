"""A security key in software: it signs as an authenticator without a counter does."""

import json
import secrets
from typing import Any

import cbor2
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from sqlalchemy import insert
from webauthn.helpers import base64url_to_bytes, bytes_to_base64url

from verdikt.model.canonical_json import sha256_hex
from verdikt.serve import schema
from verdikt.serve.people import Person
from verdikt.serve.store import TeamStore

_PRESENT_AND_VERIFIED = b"\x05"
_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


class SoftwareKey:
    """An ES256 key of a person, known to the service."""

    def __init__(self, store: TeamStore, person: Person, origin: str) -> None:
        self._origin = origin
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._id = b"key of " + person.name.encode() + secrets.token_bytes(8)
        numbers = self._key.public_key().public_numbers()
        self.public_key = self._key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        public_key = cbor2.dumps(
            {1: 2, 3: -7, -1: 1, -2: numbers.x.to_bytes(32, "big"), -3: numbers.y.to_bytes(32, "big")}
        )
        values = {"organisation": person.organisation, "person": person.id, "name": "key", "sign_count": 0, "added": 1}
        with store.database.begin_write() as connection:
            inserted = connection.execute(
                insert(schema.credential)
                .values(**values, credential_id=self._id, public_key=public_key)
                .returning(schema.credential.c.id)
            )
            self.number = int(inserted.scalar_one())

    def sign(self, challenge: str) -> dict[str, Any]:
        """Return the assertion for a challenge in hex."""
        text = bytes_to_base64url(bytes.fromhex(challenge))
        client_data = json.dumps({"type": "webauthn.get", "challenge": text, "origin": self._origin}).encode()
        host = self._origin.split("//")[1].split(":")[0]
        data = bytes.fromhex(sha256_hex(host.encode())) + _PRESENT_AND_VERIFIED + bytes(4)
        signature = self._key.sign(data + bytes.fromhex(sha256_hex(client_data)), ec.ECDSA(SHA256()))
        id = bytes_to_base64url(self._id)
        response = {"authenticatorData": data, "clientDataJSON": client_data, "signature": signature}
        encoded = {name: bytes_to_base64url(value) for name, value in response.items()}
        return {"id": id, "rawId": id, "type": "public-key", "response": encoded}


def write_otherwise(assertion: dict[str, Any]) -> dict[str, Any]:
    """Return the same assertion with another text of its signature."""
    response = assertion["response"]
    return {**assertion, "response": {**response, "signature": response["signature"] + "!"}}


def mirror_signature(assertion: dict[str, Any]) -> dict[str, Any]:
    """Return the assertion with the second signature that ECDSA lets anyone make from a first one."""
    response = assertion["response"]
    r, s = decode_dss_signature(base64url_to_bytes(response["signature"]))
    return {**assertion, "response": {**response, "signature": bytes_to_base64url(encode_dss_signature(r, _ORDER - s))}}
