"""One call of a hook: the same whether the hook process decides it or the warm process does."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from verdikt import hosts
from verdikt.errors import HookError, PolicyError
from verdikt.hosts.dispatch import dispatch_event
from verdikt.hosts.hook_event import HookEvent, HookEventKind
from verdikt.hosts.hook_response import NO_OPINION, build_block_response
from verdikt.hosts.host_decision import HostDecision
from verdikt.hosts.payload import parse_payload
from verdikt.ledger.data_directory import get_data_directory
from verdikt.model.verdict import decision_from_error
from verdikt.observe.crash_log import record_crash

if TYPE_CHECKING:
    from verdikt.govern import Governance
    from verdikt.hosts.adapter import HostAdapter
    from verdikt.hosts.hook_response import HookResponse

TOOLS_BY_ARGUMENT = {"read": "Read", "write": "Write", "bash": "Bash"}
"""Seed 001's wiring: the first argument names the kind of the tool instead of an event."""

MAX_CWD_LENGTH = 4096
"""No system has longer ones, and what a directory means is remembered."""

_ADVICE = "Instead: stop here and ask the person to run `verdikt doctor`"

GovernanceLoader = Callable[[str, Mapping[str, str]], "Governance"]
"""Governance at a directory, in an environment."""


class HookCall:
    """What is known of a call so far. `cwd` is the hook's working directory, empty when it has none; `env` its environment."""

    def __init__(self, arguments: list[str], env: Mapping[str, str], cwd: str) -> None:
        self.host_name = arguments[0] if arguments else "generic"
        words = arguments[1:]
        self.tool_name = TOOLS_BY_ARGUMENT.get(words[0], "") if words else ""
        self.event_name = "PreToolUse" if self.tool_name else (words[0] if words else "")
        self.argument = words[1] if len(words) > 1 else ""
        self.env = env
        self.cwd = cwd
        self.adapter: HostAdapter | None = None
        self.hook_event: HookEvent | None = None

    def decide_payload(self, raw: bytes, load_governance: GovernanceLoader) -> HookResponse:
        """The reply to a payload; it is in the log before it is returned. Raises where no decision can be made."""
        self.adapter = hosts.load_adapter(self.host_name)
        self.hook_event = self.adapter.decode(self._parse_payload(raw), self.event_name, self.env)
        if len(self.hook_event.cwd) > MAX_CWD_LENGTH:
            raise HookError(f"expected a working directory of at most {MAX_CWD_LENGTH} characters, found a longer one")
        governance = load_governance(os.path.join(self._require_cwd(), self.hook_event.cwd), self.env)
        return self.adapter.encode(self.hook_event, dispatch_event(governance, self.hook_event, self.env))

    @property
    def fails_closed(self) -> bool:
        """Whether a failure must block: unless this is known to be a moment where it must not, it is one where it must."""
        if self.hook_event:
            turn = self.hook_event.turn
            # A refused stop is asked again; the second failure lets go, so that it cannot go round for ever.
            return self.hook_event.kind.fails_closed or bool(turn and not turn.stop_hook_active)
        kind = self.adapter.EVENTS.get(self.event_name, HookEventKind.BEFORE) if self.adapter else HookEventKind.BEFORE
        return kind.fails_closed

    def build_failure_response(self, error: BaseException) -> HookResponse:
        """What this moment demands when no decision could be made."""
        if not self.fails_closed:
            return NO_OPINION
        ruling = HostDecision.block(f"blocked, because no decision could be made: {_describe_error(error)}\n{_ADVICE}")
        if self.adapter is None:
            return build_block_response(ruling.reason)
        moment = self.hook_event or HookEvent(kind=HookEventKind.BEFORE, host=self.host_name, name=self.event_name)
        return self.adapter.encode(moment, ruling)

    def build_unrecorded_response(self, error: Exception) -> HookResponse:
        """What this moment demands when its decision was made and could not be kept."""
        if not (self.adapter and self.hook_event and self.hook_event.kind.fails_closed):
            return self.build_failure_response(error)
        return self.adapter.encode(self.hook_event, HostDecision.from_verdict(decision_from_error(error).verdict))

    def record_failure(self, error: BaseException) -> bool:
        """Leaves a trace of a failure; whether it could be written."""
        return record_crash(get_data_directory(self.env), f"{self.host_name}.{self.event_name or 'unknown'}", error)

    def _parse_payload(self, raw: bytes) -> object:
        payload = parse_payload(self.argument.encode("utf-8", "surrogateescape") if self.argument else raw)
        if self.tool_name and isinstance(payload, dict) and "tool_name" not in payload:
            return {"tool_name": self.tool_name, "tool_input": payload, "cwd": self._require_cwd()}
        return payload

    def _require_cwd(self) -> str:
        if not self.cwd and not (self.hook_event and self.hook_event.cwd.startswith("/")):
            raise FileNotFoundError("the working directory is gone")
        return self.cwd


def _describe_error(error: BaseException) -> str:
    """The failure as the model may hear it: our own words where they are about its call or the policy, else only its kind."""
    if isinstance(error, HookError | PolicyError | TimeoutError):
        return str(error)
    return f"verdikt failed with {type(error).__name__}"
