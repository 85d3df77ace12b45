"""What an action would do to the world: six closed classes, with targets and certainty."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from verdikt.model.canonical_json import CanonicalText, encode_canonical

# Effects of up to this many characters are cached in encoded form. Targets come from outside, so longer ones are
# encoded each time to keep memory bounded.
_MAX_CACHED_CHARS = 4000


_FORGETTABLE_PREFIXES = ("fs.list", "fs.delete", "none", "git.read", "keys.list", "sys.read", "proc.read", "pkg.read")


class EffectClass(enum.StrEnum):
    """The six classes, from the least to the most restrictive."""

    # `Enum.__hash__` is written in Python, and every decision hashes effect classes dozens of times.
    __hash__ = str.__hash__

    READ = "read"
    WRITE = "write"
    NETWORK = "network"
    EXECUTE = "execute"
    SPAWN = "spawn"
    DESTRUCTIVE = "destructive"


PRECEDENCE: tuple[EffectClass, ...] = (
    EffectClass.DESTRUCTIVE,
    EffectClass.SPAWN,
    EffectClass.EXECUTE,
    EffectClass.NETWORK,
    EffectClass.WRITE,
    EffectClass.READ,
)
"""Most restrictive first."""

_RANK = {cls: rank for rank, cls in enumerate(PRECEDENCE)}


def most_restrictive(effects: Iterable[EffectClass]) -> EffectClass:
    """Return the most restrictive of these classes."""
    try:
        return min(effects, key=_RANK.__getitem__)
    except ValueError:
        raise ValueError("effects must be non-empty") from None


class Certainty(enum.StrEnum):
    """Whether the effect follows from the text alone, or depends on something that the text does not show."""

    __hash__ = str.__hash__

    CERTAIN = "certain"
    POSSIBLE = "possible"


class Zone(enum.StrEnum):
    """Where a path target lies, which is half of what makes an effect dangerous."""

    __hash__ = str.__hash__

    PROJECT = "project"  # below the project root
    TEMP = "temp"  # /tmp, $TMPDIR, /var/tmp
    HOME = "home"  # below the home directory, outside the project
    SYSTEM = "system"  # /etc, /usr, /boot, /, devices …
    OUTSIDE = "outside"  # elsewhere
    SECRET = "secret"  # keys, tokens, .env, credentials, wherever they lie
    GUARD = "guard"  # verdikt's own policy, data, keys and hook wiring
    PERSIST = "persist"  # rc files, cron, authorized_keys, units: what runs again later
    UNKNOWN = "unknown"  # the text does not say


class Target(NamedTuple):
    """The object of an effect. `text` is as written; `path` is absolute and resolved, for path targets only.

    `state` is the state of a path in git and on disk: tracked, modified, untracked, ignored, absent, or `own` for an
    untracked file that this session created; "" when it was not looked up. A name that a build creates again (`build`,
    `node_modules`, caches) counts as `ignored` whatever git says.
    """

    text: str
    kind: str = "path"  # path, host, ref, pid, package, database, unit, resource, other
    path: str = ""
    zone: Zone = Zone.UNKNOWN
    state: str = ""


class Effect(NamedTuple):
    """One thing that an action would do. `what` is a dotted name such as `fs.delete`; `by` is the command behind it."""

    cls: EffectClass
    what: str
    targets: tuple[Target, ...] = ()
    certainty: Certainty = Certainty.CERTAIN
    recoverable: bool = True
    by: str = ""
    note: str = ""

    @property
    def target(self) -> str:
        """The first target as written, for messages."""
        return self.targets[0].text if self.targets else ""

    @property
    def certain(self) -> bool:
        """Whether the effect is certain."""
        return self.certainty is Certainty.CERTAIN


@dataclass(frozen=True, slots=True)
class Effects:
    """The effects of one action, in the order in which they would happen."""

    items: tuple[Effect, ...] = ()

    def __iter__(self) -> Iterator[Effect]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def of(self, cls: EffectClass) -> tuple[Effect, ...]:
        """Return the effects of one class."""
        return tuple(effect for effect in self.items if effect.cls is cls)

    def named(self, what: str) -> tuple[Effect, ...]:
        """Return the effects whose dotted name is `what` or begins with `what.`."""
        return tuple(e for e in self.items if e.what == what or e.what.startswith(what + "."))

    @property
    def classes(self) -> tuple[EffectClass, ...]:
        """The distinct classes, most restrictive first."""
        present = {effect.cls for effect in self.items}
        return tuple([cls for cls in PRECEDENCE if cls in present])

    @property
    def may_matter_later(self) -> bool:
        """Whether some effect is worth remembering; lists, deletes and reads of settings are not."""
        # A list and no generator: every decision asks this twice, and there are few effects.
        return bool([effect for effect in self.items if not effect.what.startswith(_FORGETTABLE_PREFIXES)])

    @property
    def dominant(self) -> EffectClass | None:
        """The most restrictive class present, or None when there is no effect."""
        classes = self.classes
        return classes[0] if classes else None


def effects_to_record(effects: Effects) -> list[dict[str, Any]]:
    """Return effects as plain data, in order."""
    return [_effect_to_record(effect) for effect in effects]


def encode_effects(effects: Effects) -> CanonicalText:
    """Return the record of effects in canonical form, as a receipt holds it."""
    try:
        return _encode_and_cache(effects.items)
    except _EffectsTooLongError as error:
        return error.encoded


class _EffectsTooLongError(Exception):
    """Encoded effects that are too long for the cache; `lru_cache` does not keep a call that raises."""

    def __init__(self, encoded: CanonicalText) -> None:
        self.encoded = encoded


@lru_cache(maxsize=256)
def _encode_and_cache(items: tuple[Effect, ...]) -> CanonicalText:
    encoded = CanonicalText(encode_canonical([_effect_to_record(effect) for effect in items]))
    if len(encoded.text) > _MAX_CACHED_CHARS:
        raise _EffectsTooLongError(encoded)
    return encoded


def _effect_to_record(effect: Effect) -> dict[str, Any]:
    # `_value_` is what `value` returns, without the call of a property that is written in Python.
    record: dict[str, Any] = {
        "class": effect.cls._value_,
        "what": effect.what,
        "certainty": effect.certainty._value_,
        "recoverable": effect.recoverable,
    }
    # Empty fields are left out: a receipt is written for every action, so its size matters.
    if effect.targets:
        record["targets"] = [_target_to_record(target) for target in effect.targets]
    if effect.by:
        record["by"] = effect.by
    if effect.note:
        record["note"] = effect.note
    return record


def _target_to_record(target: Target) -> dict[str, Any]:
    record = {"text": target.text, "kind": target.kind, "zone": target.zone._value_}
    if target.path and target.path != target.text:
        record["path"] = target.path
    if target.state:
        record["state"] = target.state
    return record
