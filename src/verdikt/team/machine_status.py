"""What a machine says of itself beside its log: version, what it could not send, which hosts call its hook."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from verdikt.errors import WireError

MAX_TEXT_CHARS = 100
MAX_HOSTS = 50
_MAX_COUNT = 2**53 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineStatus:
    """One report. `hosts` is None when the machine did not look."""

    version: str
    unsent: int = 0
    """Entries that the service does not take, or that are still to be sent."""
    problems: int = 0
    """Sessions that cannot be sent to their end."""
    hosts: tuple[str, ...] | None = None
    """The hosts whose settings, for all of the user's projects, name the hook."""

    def to_record(self) -> dict[str, Any]:
        """Return the report as it is sent."""
        record = {"version": self.version, "unsent": self.unsent, "problems": self.problems}
        return record if self.hosts is None else {**record, "hosts": list(self.hosts)}


def parse_status(fields: Any) -> MachineStatus:
    """Return the report of a machine; raise `WireError` unless every part of it is as it should be."""
    if not isinstance(fields, Mapping) or not _is_short_text(fields.get("version")):
        raise WireError("expected a version")
    counts = {name: fields.get(name, 0) for name in ("unsent", "problems")}
    if any(type(count) is not int or not 0 <= count <= _MAX_COUNT for count in counts.values()):
        raise WireError("expected numbers of what was not sent")
    hosts = fields.get("hosts")
    if hosts is not None and (
        not isinstance(hosts, list) or len(hosts) > MAX_HOSTS or not all(map(_is_short_text, hosts))
    ):
        raise WireError("expected the names of hosts")
    known = None if hosts is None else tuple(sorted(set(hosts)))
    return MachineStatus(version=fields["version"], hosts=known, **counts)


def _is_short_text(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= MAX_TEXT_CHARS and value.isprintable()


def merge_status(stored: Mapping[str, Any], status: MachineStatus) -> dict[str, Any]:
    """Return what is kept of a machine after a report; a host that called the hook before and no longer does is lost.

    Only what was there can be lost: a machine may be wired in some of its projects alone.
    """
    kept = {"unsent": status.unsent, "problems": status.problems}
    before = {*_read_names(stored, "hosts"), *_read_names(stored, "lost")}
    if status.hosts is None:
        return {**kept, "hosts": _read_names(stored, "hosts"), "lost": _read_names(stored, "lost")}
    return {**kept, "hosts": list(status.hosts), "lost": sorted(before - set(status.hosts))}


def _read_names(stored: Mapping[str, Any], key: str) -> list[str]:
    names = stored.get(key)
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
