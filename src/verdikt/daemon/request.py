"""What the warm process receives and sends: the peer, one hook call, one reply."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from verdikt.daemon import protocol
from verdikt.daemon.proof import split_nonce

# Only short heads are cached, so that 256 of them stay within 1 MB.
MAX_CACHED_HEAD_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Peer:
    """The user at the other end of a connection, as the kernel reports it."""

    uid: int
    gid: int
    pid: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class HookRequest:
    """One hook call as its client sent it."""

    version: str
    host: str
    event: str
    argument: str
    cwd: str
    env: Mapping[str, str]
    payload: bytes
    peer: Peer
    client_kind: str = protocol.PYTHON_CLIENT
    nonce: bytes = b""
    """What the proof in the reply covers; empty when the client wants none."""
    patience_seconds: int = 0
    """How long the client can wait for people who have to approve the call."""

    @classmethod
    def from_head(cls, head: bytes, payload: bytes, peer: Peer) -> "HookRequest":
        """Parse a request; raise `MalformedMessage` when the head is invalid."""
        # Without the nonce, all calls of one session and event send the same head.
        head, nonce = split_nonce(head)
        parse = _parse_head_cached if len(head) < MAX_CACHED_HEAD_BYTES else _parse_head
        (version, host, event, argument, cwd, client_kind), env, patience_seconds = parse(head)
        return cls(
            version=version,
            host=host,
            event=event,
            argument=argument,
            cwd=cwd,
            env=env,
            payload=payload,
            peer=peer,
            client_kind=client_kind,
            nonce=nonce,
            patience_seconds=patience_seconds,
        )


def _parse_head(head: bytes) -> tuple[list[str], Mapping[str, str], int]:
    fields, env = protocol.decode_head(head)
    cwd = fields[4]
    if cwd and not cwd.startswith("/"):
        raise protocol.MalformedMessage("expected an absolute working directory")
    return fields, env, protocol.decode_patience(head)


_parse_head_cached = lru_cache(maxsize=256)(_parse_head)


@dataclass(frozen=True, slots=True)
class DaemonReply:
    """What a client is sent: one of the protocol's kinds, an exit status, and the bytes of stdout and stderr."""

    kind: int
    status: int = 0
    out: bytes = b""
    err: bytes = b""
    ends_process: bool = False
    """Whether this process stops after the reply, so that a process of another version can take over."""

    @classmethod
    def refusal(cls, reason: str) -> "DaemonReply":
        """Return a reply that says that nothing was decided, and why."""
        return cls(protocol.KIND_REFUSED, 2, b"", f"{reason}\n".encode("utf-8", "replace"))
