"""What a host's payload stands for, the same for every host."""

from __future__ import annotations

import enum

from verdikt.model.value import Value, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from verdikt.model.action import Action, Outcome
    from verdikt.model.moment import Prompt, Turn
    from verdikt.model.posture import Posture


class MomentKind(enum.StrEnum):
    """The moments that hosts report; those at which something is about to happen are refused when verdikt itself fails."""

    START = "start"
    PROMPT = "prompt"
    BEFORE = "before"
    AFTER = "after"
    STOP = "stop"
    PERMISSION = "permission"  # the host is about to ask a person about an action
    BATCH = "batch"  # the host tells which calls it has made
    COMPACT = "compact"  # the host is about to shorten the conversation
    CONFIG = "config"  # the host is about to take over changed settings
    END = "end"
    NOTICE = "notice"  # anything else a host tells us: nothing is decided

    @property
    def closed(self) -> bool:
        """Whether a failure here must count as a block."""
        return self in (MomentKind.BEFORE, MomentKind.PERMISSION, MomentKind.CONFIG)


class Moment(Value, kw_only=True):
    """One call of the hook. Of `action`, `prompt` and `turn`, the one that belongs to `kind` is there."""

    kind: MomentKind
    host: str
    event: str
    session_id: str = "default"
    agent: str = ""
    cwd: str = ""
    action: Action | None = None
    outcome: Outcome | None = None
    prompt: Prompt | None = None
    turn: Turn | None = None
    asks: bool = False
    """Whether an `ask` would reach a person here. Where it would hang or run the tool, it must become a block."""
    posture: Posture | None = None
    """The posture that the host's permission mode stands for, when it stands for one."""
    raw: Mapping[str, Any] = field(default_factory=dict)
