"""What a client of the warm process asks, and who it is."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from verdikt.daemon import protocol


@dataclass(frozen=True, slots=True)
class Peer:
    """The user at the other end, as the kernel says."""

    uid: int
    gid: int
    pid: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class HookRequest:
    """One hook call, as its client sent it."""

    version: str
    host: str
    event: str
    argument: str
    cwd: str
    env: Mapping[str, str]
    payload: bytes
    peer: Peer
    client_kind: str = protocol.PYTHON_CLIENT

    @classmethod
    def from_head(cls, head: bytes, payload: bytes, peer: Peer) -> "HookRequest":
        """The question in a head; `Malformed` when there is none."""
        (version, host, event, argument, cwd, asker), env = (
            _parse_head_cached if len(head) < MAX_CACHED_HEAD_BYTES else _parse_head
        )(head)
        return cls(
            version=version,
            host=host,
            event=event,
            argument=argument,
            cwd=cwd,
            env=env,
            payload=payload,
            peer=peer,
            client_kind=asker,
        )


MAX_CACHED_HEAD_BYTES = 4096
"""Heads up to this length are remembered: they are the same from call to call, and memory must stay bounded."""


def _parse_head(head: bytes) -> tuple[list[str], Mapping[str, str]]:
    words, env = protocol.decode_head(head)
    if words[4] and not words[4].startswith("/"):
        raise protocol.MalformedMessage("expected an absolute working directory")
    return words, env


_parse_head_cached = lru_cache(maxsize=256)(_parse_head)


@dataclass(frozen=True, slots=True)
class DaemonReply:
    """What a client is told: of one of the protocol's kinds, with a status, and the bytes of both streams."""

    kind: int
    status: int = 0
    out: bytes = b""
    err: bytes = b""
    ends_process: bool = False
    """Whether the process makes room for another with it."""

    @classmethod
    def refusal(cls, reason: str) -> "DaemonReply":
        """Nothing was decided, and this says why."""
        return cls(protocol.KIND_REFUSED, 2, b"", f"{reason}\n".encode("utf-8", "replace"))
