"""What a machine says of itself beside its log: version, policy, what is at fault, what it could not send."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from verdikt.errors import WireError

MAX_TEXT_CHARS = 100
MAX_NAMES = 50
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
    policy: str = ""
    """Digest of the policy that is in force outside of projects; empty when it has a fault."""
    faults: tuple[str, ...] = ()
    """Names of what `verdikt doctor` finds at fault: clients, the wrapper, the policy."""

    def to_record(self) -> dict[str, Any]:
        """Return the report as it is sent."""
        counts = {"unsent": self.unsent, "problems": self.problems}
        record = {"version": self.version, **counts, "policy": self.policy, "faults": list(self.faults)}
        return record if self.hosts is None else {**record, "hosts": list(self.hosts)}


def parse_status(fields: Any) -> MachineStatus:
    """Return the report of a machine; raise `WireError` unless every part of it is as it should be."""
    if not isinstance(fields, Mapping) or not _is_short_text(fields.get("version")):
        raise WireError("expected a version")
    counts = {name: fields.get(name, 0) for name in ("unsent", "problems")}
    if any(type(count) is not int or not 0 <= count <= _MAX_COUNT for count in counts.values()):
        raise WireError("expected numbers of what was not sent")
    policy = fields.get("policy", "")
    if policy != "" and not _is_short_text(policy):
        raise WireError("expected the digest of a policy")
    hosts = None if fields.get("hosts") is None else _parse_names(fields["hosts"], "hosts")
    faults = _parse_names(fields.get("faults", []), "what is at fault")
    return MachineStatus(version=fields["version"], hosts=hosts, policy=policy, faults=faults, **counts)


def _parse_names(names: Any, what: str) -> tuple[str, ...]:
    if not isinstance(names, list) or len(names) > MAX_NAMES or not all(map(_is_short_text, names)):
        raise WireError(f"expected the names of {what}")
    return tuple(sorted(set(names)))


def _is_short_text(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= MAX_TEXT_CHARS and value.isprintable()


def merge_status(stored: Mapping[str, Any], status: MachineStatus, signed_at: int) -> dict[str, Any] | None:
    """Return what is kept of a machine after a report; a host that called the hook before and no longer does is lost.

    Only what was there can be lost: a machine may be wired in some of its projects alone. None for a report that was
    signed before the last one: it was held back, or is sent again by another.
    """
    if signed_at < stored.get("signed_at", 0):
        return None
    counts = {"signed_at": signed_at, "unsent": status.unsent, "problems": status.problems}
    kept = {**counts, "policy": status.policy, "faults": list(status.faults)}
    before = {*_read_names(stored, "hosts"), *_read_names(stored, "lost")}
    if status.hosts is None:
        return {**kept, "hosts": _read_names(stored, "hosts"), "lost": _read_names(stored, "lost")}
    return {**kept, "hosts": list(status.hosts), "lost": sorted(before - set(status.hosts))}


def _read_names(stored: Mapping[str, Any], key: str) -> list[str]:
    names = stored.get(key)
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
