"""The key with which the service signs what people decided; made once, the same for all replicas."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from sqlalchemy import select

from verdikt.serve import schema
from verdikt.serve.insertion import insert_for

if TYPE_CHECKING:
    from verdikt.serve.database import Database

_ONLY = 1


class ServiceKey:
    """An Ed25519 key in the database. Machines remember its public half when they enrol."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @cached_property
    def _key(self) -> Ed25519PrivateKey:
        fresh = Ed25519PrivateKey.generate().private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())
        table = schema.service_key
        with self._database.begin_write() as connection:
            # Of replicas that start at once, one makes the key, and all read it.
            connection.execute(
                insert_for(self._database, table).values(id=_ONLY, private_key=fresh).on_conflict_do_nothing()
            )
            stored = connection.execute(select(table.c.private_key).where(table.c.id == _ONLY)).scalar_one()
        return Ed25519PrivateKey.from_private_bytes(bytes(stored))

    @property
    def public_hex(self) -> str:
        """The public half."""
        return self._key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()

    def sign(self, message: bytes) -> str:
        """Return the signature of a message in hex."""
        return self._key.sign(message).hex()
