"""One call of a hook, decided in the same way by the hook process and by the warm process."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from verdikt.errors import HookError, PolicyError, VerdiktError
from verdikt.hosts.dispatch import dispatch_event
from verdikt.hosts.hook_event import HookEvent, HookEventKind
from verdikt.hosts.hook_response import NO_OPINION, build_block_response
from verdikt.hosts.host_decision import HostDecision
from verdikt.hosts.payload import parse_payload
from verdikt.hosts.registry import get_host, load_adapter
from verdikt.ledger.data_directory import get_data_directory
from verdikt.model.verdict import decision_from_error
from verdikt.observe.clock import SystemClock
from verdikt.observe.crash_log import CRASH_FILE, POLICY_FAULT, record_crash

if TYPE_CHECKING:
    from verdikt.govern import Governance
    from verdikt.hosts.adapter import HostAdapter
    from verdikt.hosts.hook_response import HookResponse

TOOLS_BY_ARGUMENT = {"read": "Read", "write": "Write", "bash": "Bash"}
"""Wiring by hand (`claude_hooks read|write|bash`): the first argument names the kind of the tool, not an event."""

MAX_CWD_LENGTH = 4096
"""Longer than any path that a system accepts. The limit bounds the size of caches by directory."""

STOP_MARKER_FILE = "_stop_refused.json"
STOP_REFUSAL_SECONDS = 600.0
"""How long after a refusal a stop whose payload cannot be read is let go."""

DEFAULT_CRASHES_PER_HOUR = 3
"""The threshold of the crash alarm where no policy can be read."""

_ADVICE = "Instead: stop here and ask the person to run `verdikt doctor`"

_POLICY_ADVICE = "Instead: stop here and ask the person to fix the policy file; `verdikt policy lint` shows every fault"

GovernanceLoader = Callable[[str, Mapping[str, str]], "Governance"]
"""(directory, environment) → governance."""


class HookCall:
    """What is known of a call so far. `cwd` is the hook's working directory; empty when that no longer exists."""

    def __init__(self, arguments: list[str], env: Mapping[str, str], cwd: str) -> None:
        self.host_name = arguments[0] if arguments else "generic"
        kind, self.argument = [*arguments[1:3], "", ""][:2]
        self.tool_name = TOOLS_BY_ARGUMENT.get(kind, "")
        self.event_name = "PreToolUse" if self.tool_name else kind
        self.env = env
        self.cwd = cwd
        self.adapter: HostAdapter | None = None
        self.hook_event: HookEvent | None = None
        self.faults: list[str] = []
        """What was found wrong before the call was decided, in words for a person."""
        self.awaited_approval = ""
        """The approval request that stops the call, as long as it was not answered."""

    def decide_payload(self, raw: bytes, load_governance: GovernanceLoader) -> HookResponse:
        """Return the response to a payload, already recorded in the log. Raises if nothing can be decided."""
        self.adapter = load_adapter(self.host_name)
        self.hook_event = self.adapter.decode(self._parse_payload(raw), self.event_name, self.env)
        # Checked before governance is loaded, which caches by directory.
        if len(self.hook_event.cwd) > MAX_CWD_LENGTH:
            raise HookError(f"expected a working directory of at most {MAX_CWD_LENGTH} characters, found a longer one")
        governance = load_governance(os.path.join(self._require_cwd(), self.hook_event.cwd), self.env)
        host_decision = dispatch_event(governance, self.hook_event, self.env, self.faults)
        # Not for an ask that the host shows: its prompt must not come later than it would.
        self.awaited_approval = host_decision.awaited_approval if host_decision.is_blocked else ""
        return self.adapter.encode(self.hook_event, host_decision)

    @property
    def fails_closed(self) -> bool:
        """Whether a failure must block. It must, unless the event is known to be one where it need not."""
        if self.hook_event:
            turn = self.hook_event.turn
            # A refused stop is tried again; the second failure lets the agent stop, so that this cannot loop forever.
            return self.hook_event.kind.fails_closed or bool(turn and not turn.stop_hook_active)
        if self.adapter is None:
            return True
        return get_host(self.host_name).events.get(self.event_name, HookEventKind.BEFORE).fails_closed

    def build_failure_response(self, error: BaseException) -> HookResponse:
        """Return the response when no decision could be made: a block if this event fails closed."""
        if not self.fails_closed and not self._is_first_unreadable_stop():
            return NO_OPINION
        advice = _POLICY_ADVICE if isinstance(error, PolicyError) else _ADVICE
        reason = f"blocked, because no decision could be made: {_describe_error(error)}\n{advice}"
        host_decision = HostDecision.block(reason)
        if self.adapter is None:
            return build_block_response(host_decision.reason)
        kind = get_host(self.host_name).events.get(self.event_name, HookEventKind.BEFORE)
        hook_event = self.hook_event or HookEvent(kind=kind, host=self.host_name, name=self.event_name)
        return self.adapter.encode(hook_event, host_decision)

    def build_unrecorded_response(self, error: Exception) -> HookResponse:
        """Return the response when a decision was made and could not be recorded."""
        if not (self.adapter and self.hook_event and self.hook_event.kind.fails_closed):
            return self.build_failure_response(error)
        return self.adapter.encode(self.hook_event, HostDecision.from_verdict(decision_from_error(error).verdict))

    def record_failure(self, error: BaseException) -> bool:
        """Record a failure and return whether that succeeded."""
        hook = f"{self.host_name}.{self.event_name or 'unknown'}"
        # A typing error in a policy file is the author's to fix, and no sign that the hook is unreliable.
        if isinstance(error, PolicyError):
            return record_crash(get_data_directory(self.env), POLICY_FAULT, error, note=hook)
        return record_crash(get_data_directory(self.env), hook, error)

    def note_failure(self) -> None:
        """Write the alarm if the hook that failed last has failed too often within an hour."""
        # Here and below: only a failure needs these, and it may be that of the policy.
        from verdikt.govern import Governance
        from verdikt.observe.alerts import HOUR_SECONDS, note_crashes, read_recent_lines

        home, now = get_data_directory(self.env), SystemClock().now()
        last = next(read_recent_lines(home / CRASH_FILE, now - HOUR_SECONDS), None)
        if last is None:
            return
        hook = str(last.get("hook", ""))
        try:
            with Governance.load(cwd=self.cwd, env=self.env) as governance:
                governance.evidence_gate.note_crash(hook)
        except VerdiktError:
            # Where the notes belong is in the policy, which may be what is broken: then they go beside the log.
            note_crashes(home, hook, now, threshold=DEFAULT_CRASHES_PER_HOUR, memory=str(home / "MEMORY.md"))

    def _is_first_unreadable_stop(self) -> bool:
        """Return whether this is a stop whose payload cannot be read, for the first time in a while.

        Refused once, so that a broken host does not end every turn unchecked; no more, because its session is unknown.
        """
        if self.hook_event or get_host(self.host_name).events.get(self.event_name) is not HookEventKind.STOP:
            return False
        from verdikt.observe.alerts import mark_first_breach

        now = SystemClock().now()
        try:
            marker = get_data_directory(self.env) / STOP_MARKER_FILE
            return mark_first_breach(marker, self.host_name, now, now - STOP_REFUSAL_SECONDS)
        except (OSError, VerdiktError):
            return False

    def _parse_payload(self, raw: bytes) -> object:
        payload = parse_payload(self.argument.encode("utf-8", "surrogateescape") if self.argument else raw)
        if self.tool_name and isinstance(payload, dict) and "tool_name" not in payload:
            return {"tool_name": self.tool_name, "tool_input": payload, "cwd": self._require_cwd()}
        return payload

    def _require_cwd(self) -> str:
        if not self.cwd and not (self.hook_event and self.hook_event.cwd.startswith("/")):
            raise FileNotFoundError("the working directory no longer exists")
        return self.cwd


def _describe_error(error: BaseException) -> str:
    """Return the failure for the model: the message if it is about the call or the policy, else only its class."""
    if isinstance(error, HookError | PolicyError | TimeoutError):
        return str(error)
    return f"verdikt failed with {type(error).__name__}"
