"""Addresses: who is at the other end, and whether that is this machine."""

from __future__ import annotations

from verdikt.model.effect import Target
from verdikt.model.regex import regex
from verdikt.shell.command import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from verdikt.shell.command import Word

_URL = regex(r"^([a-zA-Z][a-zA-Z0-9+.-]*)://(?:[^/@\s]*@)?(\[[^\]]*\]|[^/:?#\s]*)")
_HOST = regex(r"^(?:[^@/\s]+@)?([A-Za-z0-9_.-]+|\[[0-9a-fA-F:]+\])(?::\d+)?(?:/.*)?$")
_LOCAL = regex(r"^(?:localhost|127(?:\.\d+){0,3}|0\.0\.0\.0|\[?::1\]?|.*\.localhost|host\.docker\.internal)$")


def host(text: str) -> str:
    """The host in a URL, a `user@host:path` or a bare name; what is unknown stays `…`."""
    text = text.replace(UNKNOWN, "…")
    if found := _URL.match(text):
        return found.group(2)
    if found := _HOST.match(text):
        return found.group(1)
    return text


def is_local(name: str) -> bool:
    """Whether a host is this machine."""
    return _LOCAL.match(name) is not None


_METADATA = frozenset(
    "169.254.169.254 169.254.170.2 metadata.google.internal metadata.goog 100.100.100.200 [fd00:ec2::254] metadata metadata.azure.internal".split()
)


def is_metadata(name: str) -> bool:
    """Whether a host is where a cloud's machine gets its own credentials."""
    return name in _METADATA


def target(word: Word) -> Target:
    """The host that a word names, as a target."""
    return Target(host(word.text) or word.shown, "host")


def is_remote_path(text: str) -> bool:
    """Whether `scp` and `rsync` would take a word for a path on another machine."""
    if text.startswith(("rsync://", "scp://", "sftp://")):
        return True
    head, colon, _ = text.partition(":")
    return bool(colon) and "/" not in head and len(head) > 1 and not head.startswith(".")
