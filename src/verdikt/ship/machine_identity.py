"""Who this machine is to its service: an address, a number, and a key that never leaves it."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from threading import get_ident
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from cryptography.x509 import load_pem_x509_certificates

from verdikt.errors import ServiceError
from verdikt.ledger.unsent_archives import ACKNOWLEDGED_NAME, DEFAULT_MAX_UNSENT_BYTES
from verdikt.observe.atomic_file import DRAFT_SUFFIX, write_atomically
from verdikt.team.request_signature import RequestSignature, build_message, format_header

if TYPE_CHECKING:
    from pathlib import Path

LEVELS = ("full", "index", "heads")
"""What leaves the machine: whole entries; or their headers with digests of their bodies and what is searched by; or
those headers alone, which prove the log and tell nothing of what was done."""


@dataclass(frozen=True, slots=True)
class Enrolment:
    """What enrolling gave."""

    url: str
    machine: int
    level: str = "full"
    service_key: str = ""
    """The key with which the service signs approvals, as it named it then."""
    max_unsent: int = DEFAULT_MAX_UNSENT_BYTES
    """How many bytes of archives are kept beyond their time because the service does not have them yet."""
    ca: str = ""
    """The certificates of the authorities that the service's own must be signed by, as PEM; empty for the system's."""


class MachineIdentity:
    """The files in `ship/` of a data directory: `config.json` and `machine.key`."""

    def __init__(self, home: Path) -> None:
        self._directory = home / "ship"
        self._config = self._directory / "config.json"
        self._key = self._directory / "machine.key"

    def acquire_lock(self) -> bool:
        """Return whether this process is the only one that sends; it stays so until it ends."""
        self._create_directory()
        self._lock = os.open(self._directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._lock)
            return False
        return True

    def _create_directory(self) -> None:
        # A machine may enrol before anything was recorded on it.
        self._directory.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._directory.mkdir(mode=0o700, exist_ok=True)

    @property
    def is_enrolled(self) -> bool:
        """Return whether this machine has a service to send to."""
        return self._config.exists()

    def load_or_create_key(self) -> Ed25519PrivateKey:
        """Return the machine's key, made on the first call, readable by its owner only."""
        if not self._key.exists():
            self._create_key()
        try:
            return Ed25519PrivateKey.from_private_bytes(self._key.read_bytes())
        except (OSError, ValueError) as error:
            raise ServiceError(f"cannot read `{self._key}`: {error}; remove it and enrol again") from error

    def _create_key(self) -> None:
        """Put a new key in place, whole, unless another process was faster."""
        self._create_directory()
        data = Ed25519PrivateKey.generate().private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())
        draft = self._key.with_name(f"{self._key.name}.{os.getpid()}-{get_ident()}{DRAFT_SUFFIX}")
        try:
            write_atomically(draft, data)
            # Unlike a rename, a link never replaces the key with which the other process has enrolled.
            with suppress(FileExistsError):
                os.link(draft, self._key)
            draft.unlink()
        except OSError as error:
            raise ServiceError(f"cannot write `{self._key}`: {error.strerror}; make room, and enrol again") from error

    def replace_key(self) -> None:
        """Make another key, in place of one that the service does not take any more."""
        self._key.unlink(missing_ok=True)
        self._create_key()

    def get_public_key_hex(self) -> str:
        """Return the public half of the key."""
        return self.load_or_create_key().public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()

    def save_enrolment(self, enrolment: Enrolment) -> None:
        """Remember the service."""
        write_atomically(self._config, json.dumps(asdict(enrolment), indent=1).encode() + b"\n")

    def load_enrolment(self) -> Enrolment:
        """Return the service that this machine sends to."""
        try:
            enrolment = Enrolment(**json.loads(self._config.read_text()))
        except FileNotFoundError:
            raise ServiceError("this machine sends its log nowhere: `verdikt ship enrol URL`") from None
        except (OSError, ValueError, TypeError) as error:
            raise ServiceError(f"cannot read `{self._config}`: {error}; enrol again") from error
        if enrolment.level not in LEVELS:
            raise ServiceError(f"expected one of {', '.join(LEVELS)} as level, found `{enrolment.level}`")
        return enrolment

    def save_acknowledged(self, seqs: Mapping[str, int]) -> None:
        """Remember how far the service is: archives that it has need not be kept for it."""
        write_atomically(self._directory / ACKNOWLEDGED_NAME, json.dumps(seqs).encode())

    def forget(self) -> None:
        """Send nothing any more; the key stays, so that enrolling again gives the same machine."""
        self._config.unlink(missing_ok=True)

    def sign_request(self, machine: int, method: str, path: str, body: bytes, time: int) -> str:
        """Return the `Authorization` header of a request."""
        signature = self.load_or_create_key().sign(build_message(method, path, machine, time, body)).hex()
        return format_header(RequestSignature(machine, time, signature))


def read_authorities(file: Path) -> str:
    """Return the certificates of a PEM file, and nothing else of it, such as a private key beside them."""
    try:
        certificates = load_pem_x509_certificates(file.read_bytes())
    except (OSError, ValueError) as error:
        raise ServiceError(f"expected certificates in PEM form in `{file}`: {error}") from error
    return "".join(certificate.public_bytes(Encoding.PEM).decode() for certificate in certificates)
