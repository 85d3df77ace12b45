"""Approvals away from the terminal: who has to say yes, to which digest, and what was answered."""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from verdikt.errors import PolicyError
from verdikt.model.canonical_json import fields_of, hash_canonical, sha256_hex
from verdikt.model.lazy_regex import compile_lazily

DEFAULT_EXPIRES_SECONDS = 4 * 3600
DEFAULT_VALID_SECONDS = 30 * 60
MAX_EXPIRES_SECONDS = 7 * 86_400
MAX_VALID_SECONDS = 24 * 3600
MAX_COUNT = 20
MAX_KEYS = 100
KEY_PREFIX = "sha256:"

DOCUMENT_VERSION = 1
"""Version of the document whose digest is approved."""

APPROVAL_KEYS: dict[str, str] = {
    "by": "who answers: `self`, the person of this machine, or `{group: NAME}`",
    "count": "how many people have to say yes",
    "separate": "whether the person of this machine does not count",
    "strong": "whether each yes needs a security key or passkey",
    "keys": "the security keys that count, as Settings shows them; all keys of these people where there are none",
    "expires": "how long the approval waits, such as `4h`",
    "valid": "how long a yes can be used after it was given, such as `30m`",
}
"""Key of `approval` in a rule → its meaning."""

_DURATION = compile_lazily(r"([1-9][0-9]{0,5})(s|m|h|d)", re.ASCII)
_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_KEY_NAME = compile_lazily(KEY_PREFIX + r"[0-9a-f]{64}", re.ASCII)
_GROUP_NAME = compile_lazily(r"[A-Za-z0-9][A-Za-z0-9 ._/@:-]{0,99}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalNeed:
    """Who has to approve a call. An empty `group` is the person of the machine."""

    group: str = ""
    count: int = 1
    separate: bool = False
    strong: bool = False
    keys: tuple[str, ...] = ()
    """Names of the security keys that count; empty for all keys of these people, which the service names."""
    expires: int = DEFAULT_EXPIRES_SECONDS
    valid: int = DEFAULT_VALID_SECONDS

    def __post_init__(self) -> None:
        if self.group and not _GROUP_NAME.fullmatch(self.group):
            raise PolicyError(f"`approval`: expected the name of a group, found `{self.group}`")
        if not self.group and (self.count != 1 or self.separate):
            # It could never be met: there is one such person.
            raise PolicyError("`approval`: `by: self` is one person; `count` and `separate` need `by: {group: NAME}`")
        if not 1 <= self.count <= MAX_COUNT:
            raise PolicyError(f"`approval`: expected a `count` of 1 to {MAX_COUNT}, found {self.count}")
        if self.keys and not self.strong:
            raise PolicyError("`approval`: `keys` says which security keys count, and needs `strong: true`")
        if len(self.keys) > MAX_KEYS:
            raise PolicyError(f"`approval`: expected at most {MAX_KEYS} `keys`, found {len(self.keys)}")
        for key in self.keys:
            check_key_name(key)
        for name, limit in (("expires", MAX_EXPIRES_SECONDS), ("valid", MAX_VALID_SECONDS)):
            seconds = getattr(self, name)
            if not 1 <= seconds <= limit:
                raise PolicyError(f"`approval`: expected `{name}` of 1s to {limit // 3600}h, found {seconds} seconds")

    @property
    def is_answered_at_terminal(self) -> bool:
        """Whether the person at the terminal is enough: the prompt of a host knows neither groups nor keys."""
        return not self.group and not self.strong

    def describe(self) -> str:
        """Return who has to approve, in words."""
        if not self.group:
            people = "the person of this machine"
        else:
            people = f"{self.count} of `{self.group}`" if self.count > 1 else f"`{self.group}`"
        conditions = [
            *(["not the person of this machine"] if self.separate else []),
            *([f"with a security key{' that the policy names' if self.keys else ''}"] if self.strong else []),
        ]
        return f"{people} ({', '.join(conditions)})" if conditions else people

    def to_record(self) -> dict[str, Any]:
        """Return the need as plain data."""
        record: dict[str, Any] = fields_of(self)
        keys = record.pop("keys")
        # Most have none, and what was asked before there were any has the same digest.
        return record | ({"keys": list(keys)} if keys else {})

    def dump(self) -> dict[str, Any]:
        """Return the need with the keys of the policy file."""
        record = self.to_record()
        by: Any = {"group": record.pop("group")} if self.group else "self"
        record.pop("group", None)
        return {"by": by, **record, "expires": f"{self.expires}s", "valid": f"{self.valid}s"}


def parse_need(record: Mapping[str, Any]) -> ApprovalNeed:
    """Return the need that `to_record` wrote; raise `PolicyError` when it is none."""
    types = {"group": str, "count": int, "separate": bool, "strong": bool, "expires": int, "valid": int}
    keys = record.get("keys", [])
    are_fields = record.keys() - {"keys"} == types.keys() and isinstance(keys, list | tuple)
    if not are_fields or any(type(record[name]) is not types[name] for name in types):
        raise PolicyError("expected the fields of an approval, found others")
    return ApprovalNeed(**{**record, "keys": tuple(map(str, keys))})


def need_from_data(data: Mapping[str, Any]) -> ApprovalNeed:
    """Return the need that a rule of the policy file describes."""
    if unknown := set(data) - set(APPROVAL_KEYS):
        raise PolicyError(f"`approval` has no key `{min(unknown)}`")
    by = data.get("by", "self")
    if isinstance(by, Mapping) and set(by) == {"group"} and isinstance(by["group"], str):
        group = by["group"]
        if not group:
            raise PolicyError("`approval`: expected the name of a group, found none")
    elif by == "self":
        group = ""
    else:
        raise PolicyError(f"`by` of `approval`: expected `self` or `{{group: NAME}}`, found `{by}`")
    fields: dict[str, Any] = {name: data[name] for name in ("count", "separate", "strong") if name in data}
    if "keys" in data:
        keys = data["keys"]
        fields["keys"] = (keys,) if isinstance(keys, str) else tuple(keys)
    for name in ("expires", "valid"):
        if name in data:
            fields[name] = parse_duration(str(data[name]))
    return ApprovalNeed(group=group, **fields)


def check_key_name(text: str) -> str:
    """Return the name of a security key; raise `PolicyError` when it is none."""
    if not _KEY_NAME.fullmatch(text):
        raise PolicyError(f"`approval`: expected a key as Settings shows it, `{KEY_PREFIX}…`, found `{text[:80]}`")
    return text


def parse_duration(text: str) -> int:
    """Return the seconds of a duration such as `30m`; raise `PolicyError` when it is none."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise PolicyError(f"expected a duration such as `30m` or `4h`, found `{text}`")
    return int(match[1]) * _UNIT_SECONDS[match[2]]


def describe_needs(needs: Sequence[ApprovalNeed]) -> str:
    """Return who has to approve, in words."""
    return " and ".join(need.describe() for need in needs)


def build_document(
    receipt: Mapping[str, Any],
    needs: Sequence[ApprovalNeed],
    machine: Mapping[str, Any],
    contents: Mapping[str, str],
) -> dict[str, Any]:
    """Return what is approved: the action, its effects, the policy, and the facts that they rest on.

    Counters of the session are not part of it, or no repetition of the call would match. Secrets are tokens already.
    """
    facts = receipt["facts"]
    return {
        "v": DOCUMENT_VERSION,
        "machine": dict(machine),
        "session": receipt["action"]["session_id"],
        "action": receipt["action"],
        "effects": receipt["effects"],
        "policy": {name: receipt[name] for name in ("policy", "accepted") if name in receipt},
        "needs": [need.to_record() for need in needs],
        "pinned": {
            # A script, a Makefile, a configuration: edited after the answer, the answer no longer fits.
            "texts": {
                path: sha256_hex(text.encode("utf-8", "backslashreplace")) if isinstance(text, str) else ""
                for path, text in facts["text"].items()
            },
            "paths": {path: fact["real"] for path, fact in facts["path"].items()},
            "git": facts["git"],
            # A file that is too long to be shown, the repository of a push: path → digest.
            "contents": dict(contents),
        },
    }


PART_NAMES = ("machine", "session", "action", "effects", "policy", "needs", "pinned")


def hash_parts(document: Mapping[str, Any]) -> dict[str, str]:
    """Return a digest of each part, which say why an approval does not fit another call."""
    return {name: hash_canonical(document[name])[:32] for name in PART_NAMES}


_MISFITS = (
    ("action", "approval {id} was for another call"),
    ("policy", "the policy has changed since approval {id}"),
    ("needs", "the policy has changed since approval {id}"),
    ("pinned", "a script, a link or a commit that this call rests on has changed since approval {id}"),
    ("effects", "this call would do something else now than what approval {id} was given for"),
    ("machine", "approval {id} was given to another machine"),
)


def explain_misfit(id: str, approved: Mapping[str, str], parts: Mapping[str, str]) -> str:
    """Return why an approval with these parts does not cover a call with other ones; empty when it does."""
    return next((text.format(id=id) for name, text in _MISFITS if approved.get(name) != parts[name]), "")


class ApprovalState(enum.StrEnum):
    """What became of a request."""

    WAITING = "waiting"
    APPROVED = "approved"
    REFUSED = "refused"
    EXPIRED = "expired"
    USED = "used"
    CANCELLED = "cancelled"


OPEN_STATES = (ApprovalState.WAITING, ApprovalState.APPROVED)
"""States in which something may still come of a request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalAnswer:
    """What people answered to the request about one digest; part of the receipt of the call that goes by it."""

    id: str
    digest: str
    approved: bool
    by: tuple[str, ...]
    reason: str = ""

    def to_record(self) -> dict[str, Any]:
        """Return the answer as plain data, for a receipt."""
        return {
            "id": self.id,
            "digest": self.digest,
            "approved": self.approved,
            "by": list(self.by),
            "reason": self.reason,
        }


def parse_answer(fields: Mapping[str, Any]) -> ApprovalAnswer:
    """Return the answer that `to_record` wrote."""
    return ApprovalAnswer(**{**fields, "by": tuple(fields["by"])})
