"""The key ring: the keys that sign the log. Old public keys stay in it, so that old signatures stay verifiable."""

import fcntl
import hashlib
import hmac
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verdikt.errors import CanonicalError, KeyringError
from verdikt.ledger.audit_finding import Corruption
from verdikt.ledger.data_directory import KEYRING_FILE, make_private_directory, sync_directory
from verdikt.model.canonical_json import fields_of, parse_json
from verdikt.model.entry import signature_message
from verdikt.observe.atomic_file import write_atomically
from verdikt.observe.clock import Clock, SystemClock

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

ED25519 = "ed25519"
HMAC = "hmac-sha256"
ALGORITHMS = (ED25519, HMAC)
ALGORITHM_LABELS: Mapping[str, str] = {
    ED25519: "everyone can verify, only the holder of the private key can sign",
    HMAC: "forgeable by everyone who can read it, verifiers included",
}
_RETIREMENT_GRACE_SECONDS = 60
"""Time after its rotation during which a key's signature is accepted: an entry may have been under way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """The public part of a key. `public` is empty for HMAC, whose only key is secret."""

    kid: str
    algorithm: str
    public: str = ""
    created: int = 0
    retired: int | None = None


@dataclass(frozen=True, slots=True)
class SigningKey:
    """The current key with its secret half."""

    kid: str
    sign: Callable[[bytes], str]


class Keyring:
    """The keys of one data directory: `keys/keyring.json`, and `keys/<kid>.key` (0600) for the current one.

    Holds no open file between calls, so it needs no `close`.
    """

    def __init__(self, directory: Path, clock: Clock | None = None) -> None:
        self.directory = directory
        self._clock = clock or SystemClock()
        self._cached_keyring: tuple[tuple[int, int, int], str, dict[str, Key], dict[str, int]] | None = None
        self._signing_key: SigningKey | None = None
        self._public_keys: dict[str, Ed25519PublicKey] = {}
        self._secrets: dict[str, bytes] = {}

    @property
    def path(self) -> Path:
        """Return the path of the list of keys."""
        return self.directory / KEYRING_FILE

    def list_keys(self) -> list[Key]:
        """Return every key there ever was, oldest first."""
        return list(self._load_keyring()[1].values())

    def current_kid(self) -> str:
        """Return the id of the key that signs now; empty when there is none yet."""
        return self._load_keyring()[0]

    def find_introduction(self, kid: str) -> int:
        """Return the seq at which the operator's log introduces a key; 0 when none is noted here."""
        self._load_keyring()
        return self._cached_keyring[3].get(kid, 0) if self._cached_keyring else 0

    def note_introduction(self, kid: str, seq: int) -> None:
        """Note where the operator's log introduces a key. Only the entry there is trusted, not this note."""
        with self._lock_keyring():
            current, keys = self._load_keyring()
            if kid in keys:
                self._save_keyring(current, keys, {kid: seq})

    def create_first_key(self, algorithm: str = ED25519) -> Key:
        """Make the first key; raise `KeyringError` when there is one already."""
        with self._lock_keyring():
            if self._load_keyring()[0]:
                raise KeyringError(f"`{self.path}` already has a key; use `verdikt keys rotate` to replace it")
            key = self._generate_key(algorithm)
            self._activate_key(key.kid)
        return key

    def prepare_key(self, algorithm: str = ED25519) -> Key:
        """Make a key and store it beside the current one, which goes on signing until `activate_key`."""
        with self._lock_keyring():
            return self._generate_key(algorithm)

    def _generate_key(self, algorithm: str) -> Key:
        if algorithm not in ALGORITHMS:
            raise KeyringError(f"expected one of {', '.join(ALGORITHMS)}, found `{algorithm}`")
        secret = os.urandom(32)
        # An HMAC key has no public half: its id is a digest of the secret under a label of its own.
        public = _derive_public_key(secret) if algorithm == ED25519 else b""
        kid = _derive_kid(algorithm, public or secret)
        # The secret is durable before the list names the key.
        self._write_file(self.directory / f"{kid}.key", secret.hex().encode() + b"\n")
        key = Key(kid=kid, algorithm=algorithm, public=public.hex(), created=int(self._clock.now()))
        current, keys = self._load_keyring()
        self._save_keyring(current, {**keys, kid: key})
        return key

    def activate_key(self, kid: str) -> None:
        """Sign with a prepared key from now on. The secret half of an Ed25519 key that it replaces is deleted."""
        with self._lock_keyring():
            self._activate_key(kid)

    def _activate_key(self, kid: str) -> None:
        current, keys = self._load_keyring()
        if kid not in keys:
            raise KeyringError(f"`{self.path}` holds no key `{kid}`")
        if current and current != kid:
            keys = {**keys, current: replace(keys[current], retired=int(self._clock.now()))}
        self._save_keyring(kid, keys)
        # An HMAC secret is needed to verify old signatures; an Ed25519 one could only forge.
        if current and current != kid and keys[current].algorithm == ED25519:
            self._secret_path(current).unlink(missing_ok=True)

    def get_signing_key(self) -> SigningKey:
        """Return the key to sign with; make the first one when it is first needed."""
        kid, keys = self._load_keyring()
        if not kid:
            with self._lock_keyring():
                kid = self._load_keyring()[0]
                if not kid:
                    kid = self._generate_key(ED25519).kid
                    self._activate_key(kid)
                keys = self._load_keyring()[1]
        # Another process may have rotated the key since.
        if self._signing_key is None or self._signing_key.kid != kid:
            self._signing_key = SigningKey(kid, _create_signer(keys[kid].algorithm, self._load_secret(kid)))
        return self._signing_key

    def check_entry_signature(self, kid: str, hash: str, sig: str, ts: int = 0) -> Corruption | None:
        """Return what is wrong with an entry's signature; None when it is valid."""
        return self.verify_signature(kid, signature_message(hash), sig, ts)

    def verify_signature(self, kid: str, message: bytes, sig: str, ts: int = 0) -> Corruption | None:
        """Return what is wrong with a signature made at `ts` (microseconds); None when it is valid."""
        key = self._load_keyring()[1].get(kid)
        if key is None:
            return Corruption.UNKNOWN_KEY
        try:
            raw = bytes.fromhex(sig)
        except ValueError:
            return Corruption.BAD_SIGNATURE
        is_valid = (
            self._is_valid_hmac(kid, message, raw)
            if key.algorithm == HMAC
            else self._is_valid_ed25519(key, message, raw)
        )
        if not is_valid:
            return Corruption.BAD_SIGNATURE
        # Otherwise a leaked old key could sign new entries.
        if key.retired is not None and ts / 1_000_000 > key.retired + _RETIREMENT_GRACE_SECONDS:
            return Corruption.RETIRED_KEY
        return None

    @contextmanager
    def _lock_keyring(self) -> Iterator[None]:
        """Exclude other processes that would make or rotate keys."""
        make_private_directory(self.directory)
        try:
            fd = os.open(self.directory / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise KeyringError(f"cannot write in `{self.directory}`: {error.strerror}; make it writable") from error
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)

    def _is_valid_ed25519(self, key: Key, message: bytes, sig: bytes) -> bool:
        # cryptography takes longer to import than a decision; only signing and verifying need it.
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        public = self._public_keys.get(key.kid)
        if public is None:
            public = self._public_keys[key.kid] = Ed25519PublicKey.from_public_bytes(bytes.fromhex(key.public))
        try:
            public.verify(sig, message)
        except InvalidSignature:
            return False
        return True

    def _is_valid_hmac(self, kid: str, message: bytes, sig: bytes) -> bool:
        if kid not in self._secrets:
            self._secrets[kid] = self._load_secret(kid)
        return hmac.compare_digest(hmac.digest(self._secrets[kid], message, "sha256"), sig)

    def _secret_path(self, kid: str) -> Path:
        return self.directory / f"{kid}.key"

    def _load_secret(self, kid: str) -> bytes:
        path = self._secret_path(kid)
        try:
            text = path.read_text(encoding="ascii").strip()
            secret = bytes.fromhex(text)
        except FileNotFoundError:
            raise KeyringError(
                f"the secret half of key `{kid}` is missing: expected it in `{path}`;"
                " restore it from a backup, or run `verdikt keys rotate --lost` to go on with a new key"
            ) from None
        except OSError as error:
            raise KeyringError(f"cannot read `{path}`: {error.strerror}; sign as the user who owns it") from error
        except ValueError:
            raise KeyringError(f"expected 32 bytes in hex in `{path}`, found something else; restore it") from None
        if len(secret) != 32:
            raise KeyringError(f"expected 32 bytes in hex in `{path}`, found {len(secret)}; restore it")
        return secret

    def _load_keyring(self) -> tuple[str, dict[str, Key]]:
        try:
            stat = self.path.stat()
        except FileNotFoundError:
            self._cached_keyring = None
            return "", {}
        except OSError as error:
            raise KeyringError(f"cannot read `{self.path}`: {error.strerror}; check who owns it") from error
        # A rotation replaces the file, so the inode changes even within one clock tick.
        identity = (stat.st_ino, stat.st_size, stat.st_mtime_ns)
        if self._cached_keyring is None or self._cached_keyring[0] != identity:
            self._cached_keyring = (identity, *_parse_keyring(self.path))
            self._public_keys.clear()
        return self._cached_keyring[1], self._cached_keyring[2]

    def _save_keyring(
        self, current: str, keys: Mapping[str, Key], introductions: Mapping[str, int] | None = None
    ) -> None:
        self._load_keyring()
        known = self._cached_keyring[3] if self._cached_keyring else {}
        document: dict[str, Any] = {
            "v": 1,
            "current": current,
            "keys": [fields_of(key) for key in keys.values()],
            "introductions": {**known, **(introductions or {})},
        }
        self._write_file(self.path, json.dumps(document, indent=1).encode() + b"\n")

    def _write_file(self, path: Path, data: bytes) -> None:
        """Put a file in place in one step, readable by its owner only."""
        try:
            write_atomically(path, data)
            sync_directory(self.directory)
        except OSError as error:
            raise KeyringError(f"cannot write `{path}`: {error.strerror}; make `{self.directory}` writable") from error


def to_public_records(keys: list[Key]) -> list[dict[str, Any]]:
    """Return the keys as plain data without secrets."""
    return [fields_of(key) for key in keys]


def _derive_kid(algorithm: str, material: bytes) -> str:
    prefix = "hm" if algorithm == HMAC else "ed"
    return f"{prefix}-{hashlib.sha256(f'verdikt {algorithm} key id'.encode() + material).hexdigest()[:16]}"


def _derive_public_key(secret: bytes) -> bytes:
    # Only needed to make a key: see `_is_valid_ed25519`.
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw()


def _create_signer(algorithm: str, secret: bytes) -> Callable[[bytes], str]:
    if algorithm == HMAC:
        return lambda data: hmac.digest(secret, data, "sha256").hex()
    # Only needed to sign: see `_is_valid_ed25519`.
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    private = Ed25519PrivateKey.from_private_bytes(secret)
    return lambda data: private.sign(data).hex()


def _parse_keyring(path: Path) -> tuple[str, dict[str, Key], dict[str, int]]:
    try:
        document = parse_json(path.read_bytes())
        keys = {fields["kid"]: Key(**fields) for fields in document["keys"]}
        current = document["current"]
        introductions = {str(kid): int(seq) for kid, seq in document.get("introductions", {}).items()}
    except (OSError, CanonicalError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise KeyringError(f"cannot read `{path}`: {error}; restore it from a backup") from error
    if current and current not in keys:
        raise KeyringError(f"expected the current key `{current}` among the keys of `{path}`, found it missing")
    return current, keys, introductions
