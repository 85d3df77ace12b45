"""An operator's permission to pass one guard, for one target, for a limited time."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from verdikt.errors import LedgerError
from verdikt.model.canonical_json import fields_of
from verdikt.model.effect import Effects

if TYPE_CHECKING:
    from verdikt.model.action import Action
    from verdikt.model.verdict import Verdict

ANY_SESSION = "*"
MAX_GRANT_SECONDS = 30 * 86_400
"""Longest grant; what is needed for longer belongs into the policy, where it is reviewed."""
ARMED_GUARD = "armed_file"
"""The rule that asks before something loads an armed file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """Overrules `guard` for `target` in `session` (`*`: any) until `expires` (seconds since the epoch).

    An absolute path as target covers everything at or below it; any other text covers exactly that command or target.
    """

    id: str
    guard: str
    target: str
    session: str
    expires: int
    reason: str
    by: str = ""
    created: int = 0
    once: bool = False
    """Whether it ends with the first call that it lets through."""

    def __post_init__(self) -> None:
        for name in ("id", "guard", "target", "session", "reason"):
            value = getattr(self, name)
            if not isinstance(value, str) or not value.strip():
                raise LedgerError(f"expected the `{name}` of a grant, found none")
        if self.guard == "*" or self.target in ("*", "/"):
            raise LedgerError("a grant names one guard and one target: `*` and `/` would be a way around the policy")

    @property
    def is_path(self) -> bool:
        """Whether the target is a path rather than a text."""
        return self.target.startswith("/")

    def is_active(self, now: float, session: str) -> bool:
        """Return whether the grant is valid at this time, in this session."""
        return now < self.expires and self.session in (ANY_SESSION, session)

    def to_record(self) -> dict[str, Any]:
        """Return the grant as plain data."""
        record: dict[str, Any] = fields_of(self)
        # Absent unless it is set: receipts and entries from before this field keep their bytes.
        return record if self.once else {key: value for key, value in record.items() if key != "once"}


def parse_grant(fields: Mapping[str, Any]) -> Grant:
    """Return the grant that an entry's body holds."""
    try:
        return Grant(**fields)
    except TypeError as error:
        raise LedgerError(f"expected the fields of a grant, found others: {error}") from error


def find_covering_grant(
    grants: Iterable[Grant], verdict: Verdict, action: Action, now: float, effects: Effects | None = None
) -> Grant | None:
    """Return the grant that lets this action past this verdict, or None.

    A red line accepts no grant, and neither does a guard that failed, nor a question that the person of this machine
    cannot answer alone. If the effects are known, every one of them must be certain and fall on the grant's target,
    reads included: half of `cp key /granted/place` is elsewhere.
    """
    if verdict.passed or verdict.red_line or verdict.error:
        return None
    if not all(need.is_answered_at_terminal for need in verdict.approvals):
        return None
    for grant in grants:
        if (
            grant.guard == verdict.guard
            and grant.is_active(now, action.session_id)
            and _covers_action(grant, action, effects)
        ):
            return grant
    return None


def find_used_grants(grants: Iterable[Grant], action: Action, effects: Effects | None) -> list[Grant]:
    """Return the grants for one call that this call, which passed because of grants, has used up."""
    return [grant for grant in grants if grant.once and _covers_action(grant, action, effects)]


def _covers_action(grant: Grant, action: Action, effects: Effects | None) -> bool:
    # The exact command that the operator saw needs no look at its effects.
    if not grant.is_path and grant.target.strip() in (action.command.strip(), action.path.strip()):
        return True
    if grant.guard == ARMED_GUARD and effects is not None:
        # This guard speaks of files that a command may load, so a grant for a file covers whatever loads it.
        effects = Effects(tuple(effect for effect in effects if effect.what == "code.armed"))
        return (
            grant.is_path
            and len(effects) > 0
            and all(_is_within(target.path, grant.target) for effect in effects for target in effect.targets)
        )
    if effects is None:
        return grant.is_path and not action.command and _is_within(action.path, grant.target)
    return len(effects) > 0 and all(
        effect.certain
        and len(effect.targets) > 0
        and all(
            target.kind == "path" and _is_within(target.path, grant.target)
            if grant.is_path
            else target.text == grant.target
            for target in effect.targets
        )
        for effect in effects
    )


def _is_within(path: str, directory: str) -> bool:
    if not path.startswith("/"):
        return False
    # Normalised, so that `/granted/../etc` is not below `/granted`.
    path, directory = posixpath.normpath(path), posixpath.normpath(directory)
    return path == directory or path.startswith(directory + "/")
