"""What an action would do to the world: six classes, closed, with targets and certainty."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple


class EffectClass(enum.StrEnum):
    """The six classes, in declaration order of the least to the most restrictive."""

    __hash__ = str.__hash__  # that of `Enum` is written in Python, and these are looked up all the time

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
    """The class that dominates all the others given."""
    try:
        return min(effects, key=_RANK.__getitem__)
    except ValueError:
        raise ValueError("effects must be non-empty") from None


class Certainty(enum.StrEnum):
    """Whether the effect follows from the text alone, or depends on something that cannot be known from it."""

    __hash__ = str.__hash__  # that of `Enum` is written in Python, and these are looked up all the time

    CERTAIN = "certain"
    POSSIBLE = "possible"


class Zone(enum.StrEnum):
    """Where a path target lies, which is half of what makes an effect dangerous."""

    __hash__ = str.__hash__  # that of `Enum` is written in Python, and these are looked up all the time

    PROJECT = "project"  # below the project root
    TEMP = "temp"  # /tmp, $TMPDIR, /var/tmp
    HOME = "home"  # below the home directory, outside the project
    SYSTEM = "system"  # /etc, /usr, /boot, /, devices …
    OUTSIDE = "outside"  # elsewhere
    SECRET = "secret"  # keys, tokens, .env, credentials, wherever they lie
    GUARD = "guard"  # verdikt's own policy, data, keys and hook wiring
    PERSIST = "persist"  # rc files, cron, authorized_keys, units: what runs again later
    UNKNOWN = "unknown"  # the text does not tell


class Target(NamedTuple):
    """What an effect falls on. `text` is as written; `path` is absolute and resolved, for path targets only.

    `state` is what git and the disk know of a path: tracked, modified, untracked, ignored, absent, or "" when nobody looked.
    """

    text: str
    kind: str = "path"  # path, host, ref, pid, package, database, unit, resource, other
    path: str = ""
    zone: Zone = Zone.UNKNOWN
    state: str = ""


class Effect(NamedTuple):
    """One thing that an action would do. `what` is a dotted name such as `fs.delete`; `by` is the command that does it."""

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
    """Everything that one action would do, in the order in which it would happen."""

    items: tuple[Effect, ...] = ()

    def __iter__(self) -> Iterator[Effect]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def of(self, cls: EffectClass) -> tuple[Effect, ...]:
        """The effects of one class."""
        return tuple(effect for effect in self.items if effect.cls is cls)

    def named(self, what: str) -> tuple[Effect, ...]:
        """The effects whose dotted name is `what` or begins with `what.`."""
        return tuple(e for e in self.items if e.what == what or e.what.startswith(what + "."))

    @property
    def classes(self) -> tuple[EffectClass, ...]:
        """The distinct classes, most restrictive first."""
        present = {effect.cls for effect in self.items}
        return tuple(cls for cls in PRECEDENCE if cls in present)

    @property
    def dominant(self) -> EffectClass | None:
        """The most restrictive class present, or None when nothing happens."""
        classes = self.classes
        return classes[0] if classes else None
