"""What a client of the warm process asks, and who it is."""

from collections.abc import Mapping

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
        (version, host, event, argument, cwd, asker), env = protocol.read_head(head)
        if cwd and not cwd.startswith("/"):
            raise protocol.Malformed("expected an absolute working directory")
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
