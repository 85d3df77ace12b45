"""One event that a host reports, in the same form for every host."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from verdikt.model.action import Action, Outcome
    from verdikt.model.hook_message import Prompt, Turn
    from verdikt.model.posture import Posture


class HookEventKind(enum.StrEnum):
    """The kinds of events. Where something is about to happen, a failure of verdikt itself counts as a block."""

    START = "start"
    PROMPT = "prompt"
    BEFORE = "before"
    AFTER = "after"
    STOP = "stop"
    PERMISSION = "permission"  # the host is about to ask a person about an action
    BATCH = "batch"  # the host reports which calls it has made
    COMPACT = "compact"  # the host is about to shorten the conversation
    CONFIG = "config"  # the host is about to reload changed settings
    END = "end"
    NOTICE = "notice"  # anything else that a host reports: nothing is decided

    @property
    def fails_closed(self) -> bool:
        """Whether a failure here must count as a block."""
        return self in (HookEventKind.BEFORE, HookEventKind.PERMISSION, HookEventKind.CONFIG)


class HookEvent(NamedTuple):
    """One call of the hook. Of `action`, `prompt` and `turn`, the one that belongs to `kind` is set."""

    kind: HookEventKind
    host: str
    name: str
    session_id: str = "default"
    agent: str = ""
    cwd: str = ""
    action: Action | None = None
    outcome: Outcome | None = None
    prompt: Prompt | None = None
    turn: Turn | None = None
    can_ask: bool = False
    """Whether an `ask` reaches a person. Where it would hang or run the tool, it must become a block."""
    posture: Posture | None = None
    """The posture that the host's permission mode stands for, if it stands for one."""
    raw: Mapping[str, Any] = MappingProxyType({})
