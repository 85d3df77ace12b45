"""What the relay asks of governance: decisions on calls, records of outcomes, what a hook has decided already."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verdikt.errors import VerdiktError
from verdikt.hosts.host_decision import HostDecision
from verdikt.hosts.undecided_calls import find_decision, find_unnamed_decision
from verdikt.ledger.data_directory import get_data_directory
from verdikt.ledger.files import FileStore
from verdikt.ledger.group_commit import GroupCommit
from verdikt.ledger.log_file import LogFile
from verdikt.ledger.projections import load_projections
from verdikt.mcp.host_link import find_unnamed_host, is_attended, read_host_link
from verdikt.model.action import Action, ActionKind, Outcome
from verdikt.model.effect import EffectClass
from verdikt.model.entry import EntryKind
from verdikt.model.posture import Posture
from verdikt.model.redaction import redact_value
from verdikt.model.verdict import VerdictKind
from verdikt.observe.clock import Clock, SystemClock
from verdikt.observe.crash_log import record_crash

# The policy and what decides by it are half of what a relay loads, and a client that connects needs neither.
if TYPE_CHECKING:
    from verdikt.govern import Governance
    from verdikt.mcp.governance_loader import GovernanceLoader

HOST = "mcp"
"""The host of an action that only the relay has seen."""

CHANNEL = "elicitation"
"""How the log names an answer that came through the client."""

OWN_CALL_PREFIX = "mcp-"
"""How the id of a call begins to which the host gave none; a question to a person needs one."""

_RANDOM_IDS = 64
"""Number of own ids that are made at once."""
LogPositions = Sequence[tuple[LogFile, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallDecision:
    """What is to become of a call."""

    decision: HostDecision
    is_covered: bool = False
    """Whether the host's hook has decided this very call; it records the outcome too."""
    log_positions: LogPositions = ()
    """What is written and not synced yet: nothing that the server sends may reach the client before it is."""


class CallGovernor:
    """Governance for one relay process. Its policy follows the files; its log is that of every other host."""

    def __init__(
        self,
        server: str,
        *,
        cwd: str,
        env: Mapping[str, str],
        clock: Clock | None = None,
        has_person: bool = True,
    ) -> None:
        """Govern calls to one server. Without `has_person` no client is asked; it is the operator's word."""
        self.server = server
        self.cwd = cwd
        self.clock = clock or SystemClock()
        self._env = env
        # A decision is synced at once, by another thread where the call reads: a hint to the system would cost time.
        self._group_commit = GroupCommit(starts_writeback=False)
        home = get_data_directory(env)
        self.store = FileStore(home, self.clock, load_projections(), group_commit=self._group_commit)
        self._loading = threading.Lock()
        self._loader: GovernanceLoader | None = None
        self._unsynced: list[tuple[LogFile, int]] = []
        self._random_ids: list[str] = []
        self._has_person = has_person
        self.session_id = f"mcp-{server}-{secrets.token_hex(8)}"

    @property
    def data_directory(self) -> Path:
        """The data directory."""
        return self.store.home

    def close(self) -> None:
        """Write what was deferred and close the log."""
        self.store.close()

    @property
    def is_attended(self) -> bool:
        """Whether a person may be there to answer."""
        return self._has_person and is_attended(self._env)

    def build_action(
        self, tool: str, payload: Mapping[str, Any], *, hints: Mapping[str, Any], meta: object = None
    ) -> Action:
        """Return the action that a request stands for, in the session of the host that sent it, if it is known."""
        link = read_host_link(meta, self._env)
        return Action(
            kind=ActionKind.MCP,
            tool=f"mcp__{self.server}__{tool}",
            payload=payload,
            session_id=link.session_id or self.session_id,
            cwd=self.cwd,
            host=HOST,
            call_id=link.call_id or self._make_call_id(),
            hints=hints,
        )

    def _make_call_id(self) -> str:
        while True:
            try:
                return OWN_CALL_PREFIX + self._random_ids.pop()
            except IndexError:
                # For many calls at once: a call should not have to wait for the system's random numbers.
                digits = secrets.token_hex(8 * _RANDOM_IDS)
                self._random_ids = [digits[index : index + 16] for index in range(0, len(digits), 16)]

    def decide(self, action: Action, *, can_ask: bool = True, withholds_result: bool = False) -> CallDecision:
        """Return what is to become of a call. It is in the log when this returns; a failure is a block.

        Unless the client `can_ask` a person, what the policy asks goes to the team service, where there is one.
        A caller that `withholds_result` until `sync_decision` has returned need not wait for the disk before a call
        that only reads: such a call has no effect but its result.
        """
        try:
            governance = self._load_governance()
            if self._is_covered(action, governance):
                return CallDecision(decision=HostDecision(), is_covered=True)
            # Only a host that says so runs without a person; where it is not known, the policy's posture decides.
            posture = None if is_attended(self._env) else Posture.AUTONOMOUS
            self._group_commit.begin_batch()
            try:
                decision = governance.before(action, posture=posture, is_asked_away=not can_ask)
            finally:
                log_positions = self._group_commit.end_batch()
            if not (withholds_result and decision.passed and decision.dominant is EffectClass.READ):
                for log, position in log_positions:
                    log.sync(position)
                log_positions = []
        # The relay's own border: whatever fails here must not let the call through.
        except Exception as error:
            record_crash(self.data_directory, "mcp.before", error)
            # The text of a foreign exception may quote a secret, so only its type is shown.
            message = str(error) if isinstance(error, VerdiktError) else type(error).__name__
            return CallDecision(decision=HostDecision.block(f"blocked: no decision could be made ({message})"))
        host_decision = HostDecision.from_verdict(
            decision.verdict, warnings=decision.warnings, awaited_approval=decision.awaited_approval
        )
        return CallDecision(decision=host_decision, log_positions=log_positions)

    def sync_decision(self, log_positions: LogPositions) -> bool:
        """Wait until a decision is on the disk; return whether it is. A failure is noted in the crash file."""
        try:
            for log, position in log_positions:
                log.sync(position)
        except VerdiktError as error:
            record_crash(self.data_directory, "mcp.before", error)
            return False
        return True

    def record_answer(self, action: Action, *, allowed: bool, by: str = "", channel: str = CHANNEL) -> bool:
        """Record a person's answer to the ask about a call; return whether it is in the log.

        The next decision on the same call goes by it. An answer that is not in the log counts for nothing.
        """
        try:
            governance = self._load_governance()
            governance.record_answer(action.session_id, action.call_id, approved=allowed, by=by, channel=channel)
        except Exception as error:
            record_crash(self.data_directory, "mcp.answer", error)
            return False
        return True

    @property
    def has_feedback(self) -> bool:
        """Whether the policy may have something to say about a result, so that the client must wait for it."""
        return self._last_governance is not None and self._last_governance.guidance_hooks is not None

    def record_outcome(self, action: Action, outcome: Outcome) -> str:
        """Record what came of a call; return what the agent should know now. Never raises."""
        try:
            # By the policy that decided: one that changed meanwhile counts from the next call on.
            answer = (self._last_governance or self._load_governance()).after(action, outcome)
            return HostDecision.from_answer(answer).context
        except Exception as error:
            record_crash(self.data_directory, "mcp.after", error)
            return ""

    def record_outcome_later(self, action: Action, outcome: Outcome) -> None:
        """Record what came of a call, without waiting for the disk; `sync_log` or the next decision does."""
        self._group_commit.begin_batch()
        try:
            self.record_outcome(action, outcome)
        finally:
            self._unsynced += self._group_commit.end_batch()

    def sync_log(self) -> None:
        """Wait until every recorded outcome is on the disk; a failure is noted in the crash file."""
        positions, self._unsynced = self._unsynced, []
        try:
            for log, position in positions:
                log.sync(position)
        except VerdiktError as error:
            record_crash(self.data_directory, "mcp.after", error)

    def record_failure(self, error: BaseException) -> None:
        """Note a failure of the relay itself in the crash file; a signal that ends it is none."""
        if isinstance(error, Exception):
            record_crash(self.data_directory, "mcp.relay", error)

    def record_event(self, session_id: str, event: str, **fields: Any) -> None:
        """Record something that the relay did by itself; a log that cannot be written is noted in the crash file."""
        try:
            body = redact_value({"event": event, "server": self.server, **fields})[0]
            self.store.append(session_id or self.session_id, EntryKind.MCP, body)
        except Exception as error:
            record_crash(self.data_directory, f"mcp.{event}", error)

    def _is_covered(self, action: Action, governance: Governance) -> bool:
        """Whether the host's own hook let this very call through and still waits for its outcome; if so, record it."""
        is_linked = action.session_id != self.session_id and not action.call_id.startswith(OWN_CALL_PREFIX)
        if not is_linked:
            host = find_unnamed_host(self._env)
            if not host:
                return False
            match = find_unnamed_decision(action, host, governance.store)
            if match is not None:
                self.record_event(match[0], "covered", tool=action.tool, receipt=match[1])
            return match is not None
        if not governance.store.reader.has_session(action.session_id):
            return False
        # What the relay itself has decided on this call covers nothing: its own ask, repeated, would be a yes.
        verdict = find_decision(action, governance.store, call_id=action.call_id, other_than=HOST)
        # An ask reaches us only after the person said yes: the host itself asked. In a posture without a person the log
        # would have a block.
        if verdict is None or verdict.get("kind") == VerdictKind.BLOCK.word:
            return False
        self.record_event(action.session_id, "covered", tool=action.tool, call_id=action.call_id)
        return True

    def warm_up(self) -> None:
        """Load the policy before the first call needs it; one that cannot be loaded is reported by that call."""
        with suppress(Exception):
            self._load_governance()

    def _load_governance(self) -> Governance:
        with self._loading:
            if self._loader is None:
                from verdikt.mcp.governance_loader import GovernanceLoader

                self._loader = GovernanceLoader(self.store, self.clock, self._env, self.cwd)
            return self._loader.load()

    @property
    def _last_governance(self) -> Governance | None:
        return self._loader.last if self._loader is not None else None
