"""What a client of the warm process asks, and who it is."""

from collections.abc import Mapping
from functools import lru_cache

from verdikt.daemon import protocol
from verdikt.model.value import Value


class Peer(Value):
    """The user at the other end, as the kernel says."""

    uid: int
    gid: int
    pid: int = 0


class Question(Value, kw_only=True):
    """One hook call, as its client sent it."""

    version: str
    host: str
    event: str
    argument: str
    cwd: str
    env: Mapping[str, str]
    payload: bytes
    peer: Peer
    asker: str = protocol.PYTHON

    @classmethod
    def read(cls, head: bytes, payload: bytes, peer: Peer) -> "Question":
        """The question in a head; `Malformed` when there is none."""
        (version, host, event, argument, cwd, asker), env = (_known if len(head) < FAMILIAR else _words)(head)
        return cls(
            version=version,
            host=host,
            event=event,
            argument=argument,
            cwd=cwd,
            env=env,
            payload=payload,
            peer=peer,
            asker=asker,
        )


FAMILIAR = 4096
"""Heads up to this length are remembered: they are the same from call to call, and memory must stay bounded."""


def _words(head: bytes) -> tuple[list[str], Mapping[str, str]]:
    words, env = protocol.read_head(head)
    if words[4] and not words[4].startswith("/"):
        raise protocol.Malformed("expected an absolute working directory")
    return words, env


_known = lru_cache(maxsize=256)(_words)


class Said(Value):
    """What a client is told: of one of the protocol's kinds, with a status, and the bytes of both streams."""

    kind: int
    status: int = 0
    out: bytes = b""
    err: bytes = b""
    last: bool = False
    """Whether the process makes room for another with it."""

    @classmethod
    def refused(cls, why: str) -> "Said":
        """Nothing was decided, and this says why."""
        return cls(protocol.REFUSED, 2, b"", f"{why}\n".encode("utf-8", "replace"))
