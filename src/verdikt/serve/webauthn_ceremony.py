"""What browsers and security keys say to each other, checked by the library for it, which is slow to import."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from cbor2 import CBORDecodeError
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from webauthn import (
    generate_registration_options,
    options_to_json,
    verify_authentication_response,
    verify_registration_response,
)
from webauthn.authentication.verify_authentication_response import VerifiedAuthentication
from webauthn.helpers import decode_credential_public_key, decoded_public_key_to_cryptography
from webauthn.helpers.exceptions import WebAuthnException
from webauthn.helpers.structs import (
    AuthenticatorSelectionCriteria,
    PublicKeyCredentialDescriptor,
    UserVerificationRequirement,
)
from webauthn.registration.verify_registration_response import VerifiedRegistration

from verdikt.serve.security_keys import read_host

_FAILURES = (WebAuthnException, ValueError, KeyError, TypeError)


def build_options(origin: str, person: int, name: str, challenge: bytes, known: Sequence[bytes]) -> dict[str, Any]:
    """Return what a browser needs to add a key that is none of the known ones."""
    options = generate_registration_options(
        rp_id=read_host(origin),
        rp_name="verdikt",
        user_id=str(person).encode(),
        user_name=name,
        challenge=challenge,
        authenticator_selection=AuthenticatorSelectionCriteria(user_verification=UserVerificationRequirement.REQUIRED),
        exclude_credentials=[PublicKeyCredentialDescriptor(id=credential_id) for credential_id in known],
    )
    data: dict[str, Any] = json.loads(options_to_json(options))
    return data


def verify_registration(response: Mapping[str, Any], challenge: bytes, origin: str) -> VerifiedRegistration | None:
    """Return the key that answered a challenge; None when the answer does not verify."""
    try:
        return verify_registration_response(
            credential=dict(response),
            expected_challenge=challenge,
            expected_rp_id=read_host(origin),
            expected_origin=origin,
            require_user_verification=True,
        )
    except _FAILURES:
        return None


def verify_assertion(
    assertion: Mapping[str, Any], challenge: bytes, origin: str, public_key: bytes, sign_count: int
) -> VerifiedAuthentication | None:
    """Return what a key signed for a challenge; None when the signature does not hold."""
    try:
        return verify_authentication_response(
            credential=dict(assertion),
            expected_challenge=challenge,
            expected_rp_id=read_host(origin),
            expected_origin=origin,
            credential_public_key=public_key,
            credential_current_sign_count=sign_count,
            require_user_verification=True,
        )
    except _FAILURES:
        return None


def encode_public_key(credential_public_key: bytes) -> bytes:
    """Return a public key as SubjectPublicKeyInfo, which others can read; empty when it is none of a known kind."""
    try:
        key = decoded_public_key_to_cryptography(decode_credential_public_key(credential_public_key))
    except (*_FAILURES, IndexError, CBORDecodeError):
        return b""
    return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
