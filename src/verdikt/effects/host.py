"""Parse hosts out of addresses, and recognise this machine and the metadata services of clouds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdikt.model.effect import Target
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import UNKNOWN

if TYPE_CHECKING:
    from verdikt.shell.command import Word

_URL = compile_lazily(r"^([a-zA-Z][a-zA-Z0-9+.-]*)://(?:[^/@\s]*@)?(\[[^\]]*\]|[^/:?#\s]*)")
_BARE_HOST = compile_lazily(r"^(?:[^@/\s]+@)?([A-Za-z0-9_.-]+|\[[0-9a-fA-F:]+\])(?::\d+)?(?:/.*)?$")
_LOCAL_HOST = compile_lazily(
    r"^(?:localhost|127(?:\.\d+){0,3}|0\.0\.0\.0|\[?::1\]?|.*\.localhost|host\.docker\.internal)$"
)


def parse_host(text: str) -> str:
    """Return the host in a URL, a `user@host:path` or a bare name; an unknown part is shown as `…`."""
    text = text.replace(UNKNOWN, "…")
    if match := _URL.match(text):
        return match.group(2)
    if match := _BARE_HOST.match(text):
        return match.group(1)
    return text


def is_local_host(name: str) -> bool:
    """Return whether a host is this machine."""
    return _LOCAL_HOST.match(name) is not None


_NUMBERS = compile_lazily(r"^(\d{1,3})\.(\d{1,3})\.\d{1,3}\.\d{1,3}$")
_NUMBER_DOMAIN = compile_lazily(r"(?i)\d{1,3}[-.]\d{1,3}[-.]\d{1,3}[-.]\d{1,3}\.(?:nip|sslip|xip)\.io$")
"""Domains that stand for the address which their names hold."""


def is_bare_public_address(name: str) -> bool:
    """Return whether a host is named by its number alone, and is not of a private network."""
    if _NUMBER_DOMAIN.search(name):
        return True
    match = _NUMBERS.match(name)
    if match is None:
        return name.startswith("[") and not is_local_host(name) and not name.lower().startswith(("[fd", "[fe80"))
    first, second = int(match[1]), int(match[2])
    is_private = first in (0, 10, 127) or (first, second) in ((192, 168), (169, 254))
    return not is_private and not (first == 172 and 16 <= second < 32)


_LOCAL_SERVICES = frozenset(("minio", "localstack", "host.lima.internal", "localhost.localstack.cloud"))


def is_local_address(address: str) -> bool:
    """Return whether an address, with a port or a scheme or without, is on this machine or in one of its containers."""
    host = parse_host(address)
    return is_local_host(host) or host in _LOCAL_SERVICES


# A cloud machine gets its own credentials from these, without a password.
_METADATA_HOSTS = frozenset(
    "169.254.169.254 169.254.170.2 metadata.google.internal metadata.goog 100.100.100.200 [fd00:ec2::254] metadata "
    "metadata.azure.internal".split()
)


def is_metadata_host(name: str) -> bool:
    """Return whether a host is a cloud's metadata service."""
    return name.lower().removesuffix(".") in _METADATA_HOSTS


def to_host_target(word: Word) -> Target:
    """Return the host that a word names, as a target."""
    return Target(parse_host(word.text) or word.display_text, "host")


def is_remote_path(text: str) -> bool:
    """Return whether `scp` and `rsync` take a word for a path on another machine."""
    if text.startswith(("rsync://", "scp://", "sftp://")):
        return True
    head, colon, _ = text.partition(":")
    return bool(colon) and "/" not in head and len(head) > 1 and not head.startswith(".")
