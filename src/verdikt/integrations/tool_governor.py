"""What every adapter of an agent SDK shares: tool calls become actions, decisions become texts, nothing raises.

An SDK calls hooks of its own shape, and most of them run the tool when a hook raises, returns None or gives an empty
reason. So an adapter asks `ToolGovernor` and gets a `Ruling`, always, with a text for the model that is never empty.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar
from weakref import finalize

from verdikt.errors import LedgerError
from verdikt.govern import Governance
from verdikt.integrations.refusal_counter import RefusalCounter
from verdikt.integrations.refused_calls import RefusedCalls
from verdikt.integrations.ruling import Ruling, build_ruling, close_question
from verdikt.integrations.tool_kinds import ToolKinds, classify_call, parse_kinds
from verdikt.integrations.tool_outcome import outcome_from_error
from verdikt.integrations.worker_threads import WorkerThreads
from verdikt.model.action import Action, ActionKind, Outcome
from verdikt.model.hook_message import Answer, Prompt, Turn
from verdikt.model.posture import Posture
from verdikt.model.verdict import decision_from_error
from verdikt.observe.crash_log import record_crash

R = TypeVar("R")

MAX_REFUSALS = 3
"""How often a turn that wants to finish is sent back to work, whatever the policy says after that."""

DECISION_TIMEOUT_SECONDS = 60.0
"""After so long an async adapter takes the decision for failed, and blocks."""


class ToolGovernor:
    """A governance behind one SDK: decides calls, records answers and outcomes, refuses an unproven end.

    Safe for many tasks and threads. Methods that begin with `a` are the async forms of the others.
    """

    def __init__(
        self,
        governance: Governance | None = None,
        kinds: ToolKinds | None = None,
        *,
        host: str,
        cwd: str = "",
        max_refusals: int = MAX_REFUSALS,
        timeout_seconds: float = DECISION_TIMEOUT_SECONDS,
    ) -> None:
        """Govern by `governance`, by default that of the working directory; `host` names the SDK in the log."""
        self.cwd = cwd or os.getcwd()
        self.governance = governance if governance is not None else Governance.load(cwd=self.cwd)
        self.kinds = parse_kinds(kinds)
        self.host = host
        self.max_refusals = max_refusals
        self.timeout_seconds = timeout_seconds
        self._refusals = RefusalCounter()
        self._refused = RefusedCalls()
        self._threads = WorkerThreads()
        finalize(self, self._threads.close)

    def build_action(
        self, tool: str, arguments: object, *, call_id: str = "", session_id: str = "", agent: str = ""
    ) -> Action:
        """Return a tool call as an action; arguments that cannot be read become an action that no policy passes."""
        tool = str(tool or "")
        kind: ActionKind
        try:
            kind, payload = classify_call(self.kinds, tool, arguments)
        except Exception as error:
            # Not a number: no receipt can hold it, so the decision is a block that says why.
            kind, payload = ActionKind.OTHER, {"unreadable": type(error).__name__, "value": float("nan")}
        return Action(
            kind=kind,
            tool=tool,
            payload=payload,
            session_id=str(session_id or "") or "default",
            cwd=self.cwd,
            host=self.host,
            agent=str(agent or ""),
            call_id=str(call_id or ""),
        )

    def decide(self, action: Action, *, can_ask: bool, posture: Posture | None = None) -> Ruling:
        """Decide a call. `can_ask` says whether the SDK can put a question to a person and wait for the answer.

        `posture` can only make the session's posture stricter.
        """
        try:
            posture = posture or (None if can_ask else Posture.AUTONOMOUS)
            return self._refused.note(
                build_ruling(action, self.governance.before(action, posture=posture), can_ask=can_ask)
            )
        except Exception as error:
            return self._refuse_after_error("before", action, error)

    async def adecide(self, action: Action, *, can_ask: bool) -> Ruling:
        """Decide a call in a worker thread; a decision that takes too long is a block."""
        try:
            posture = None if can_ask else Posture.AUTONOMOUS
            decision = await self.run_in_thread(self.governance.before, action, posture=posture)
            return self._refused.note(build_ruling(action, decision, can_ask=can_ask))
        except Exception as error:
            return self._refuse_after_error("before", action, error)

    def decide_answered(self, action: Action, *, approved: bool, by: str = "", channel: str = "") -> Ruling:
        """Record a person's answer about a call, and decide it again: it may run only if the ruling says so."""
        try:
            self.governance.record_answer(
                action.session_id, action.call_id, approved=approved is True, by=by, channel=channel or self.host
            )
        except Exception as error:
            return self._refuse_after_error("answer", action, error)
        return close_question(self.decide(action, can_ask=True))

    async def adecide_answered(self, action: Action, *, approved: bool, by: str = "", channel: str = "") -> Ruling:
        """Record a person's answer and decide again, in a worker thread."""
        try:
            decide = partial(self.decide_answered, action, approved=approved, by=by, channel=channel)
            return await self.run_in_thread(decide)
        except Exception as error:
            return self._refuse_after_error("answer", action, error)

    def record_given_answer(self, session_id: str, call_id: str, *, approved: bool, by: str, channel: str) -> None:
        """Record an answer that a program brings; one to a question that is not ours is left out.

        Raises `LedgerError` when the answer contradicts one that is recorded.
        """
        if self.governance.read_ask(session_id, call_id) is not None:
            self.governance.record_answer(session_id, call_id, approved=approved, by=by, channel=channel)

    def note_rejection(self, call_id: str, *, session_id: str, channel: str = "") -> None:
        """Record a no that the SDK enforces by itself, without calling the adapter; other calls are left alone."""
        try:
            self.governance.record_answer(session_id, call_id, approved=False, channel=channel or self.host)
        except LedgerError:
            return  # the SDK asked for a reason of its own, so there is no question of ours
        except Exception as error:
            self._record_failure("answer", error)

    def report(self, action: Action, outcome: Outcome) -> str:
        """Record what came of a call, and return text for the model to append to the result, or an empty text."""
        try:
            return _to_answer(self.governance.after(action, outcome)).context
        except Exception as error:
            self._record_failure("after", error)
            return ""

    async def areport(self, action: Action, outcome: Outcome) -> str:
        """Record what came of a call, in a worker thread."""
        try:
            return _to_answer(await self.run_in_thread(self.governance.after, action, outcome)).context
        except Exception as error:
            self._record_failure("after", error)
            return ""

    @contextmanager
    def report_errors(self, action: Action, *, unless: tuple[type[BaseException], ...] = ()) -> Iterator[None]:
        """Record the call as failed if the block raises, a cancellation included, and raise it again.

        `unless` are the SDK's own exceptions with which a call waits or is stopped, but has not ended.
        """
        try:
            yield
        except unless:
            raise
        except BaseException as error:
            # Not awaited, also in a task: it may be cancelled, and an await would raise before anything is recorded.
            self.report(action, outcome_from_error(error))
            raise

    def begin_turn(self, text: str, *, session_id: str) -> str:
        """Record a person's request, forget earlier refusals, and return text for the model."""
        try:
            self._refusals.reset(session_id)
            return _to_answer(self.governance.prompt(self._build_prompt(text, session_id))).context
        except Exception as error:
            self._record_failure("prompt", error)
            return ""

    async def abegin_turn(self, text: str, *, session_id: str) -> str:
        """Record a person's request, in a worker thread."""
        try:
            self._refusals.reset(session_id)
            prompt = self._build_prompt(text, session_id)
            return _to_answer(await self.run_in_thread(self.governance.prompt, prompt)).context
        except Exception as error:
            self._record_failure("prompt", error)
            return ""

    def refuse_stop(self, message: str, *, session_id: str, executed: Mapping[str, str] | None = None) -> str:
        """Return why the agent may not finish yet, or an empty text. Refuses at most `max_refusals` times per turn.

        `executed` are the calls that the SDK itself says it made: call id → tool.
        """
        return self.refuse_turn(self._build_turn(message, session_id, executed))

    def refuse_turn(self, turn: Turn) -> str:
        """Return why a turn may not end yet, or an empty text; for SDKs that describe the turn themselves."""
        open_turn = self._begin_stop(turn)
        if open_turn is None:
            return ""
        try:
            answer = _to_answer(self.governance.stop(open_turn))
        except Exception as error:
            answer = self._refuse_unknown_stop(open_turn, error)
        return self._end_stop(turn.session_id, answer)

    async def arefuse_stop(self, message: str, *, session_id: str, executed: Mapping[str, str] | None = None) -> str:
        """Return why the agent may not finish yet, from a worker thread."""
        turn = self._begin_stop(self._build_turn(message, session_id, executed))
        if turn is None:
            return ""
        try:
            answer = _to_answer(await self.run_in_thread(self.governance.stop, turn))
        except Exception as error:
            answer = self._refuse_unknown_stop(turn, error)
        return self._end_stop(turn.session_id, answer)

    async def run_in_thread(self, function: Callable[..., R], *args: Any, **kwargs: Any) -> R:
        """Return what a function returns in a worker thread; raise `TimeoutError` when it takes too long."""
        return await self._threads.run(function, *args, timeout_seconds=self.timeout_seconds, **kwargs)  # type: ignore[no-any-return]

    def _build_prompt(self, text: str, session_id: str) -> Prompt:
        return Prompt(text=text, session_id=session_id or "default", cwd=self.cwd, host=self.host)

    def _build_turn(self, message: str, session_id: str, executed: Mapping[str, str] | None) -> Turn:
        session_id = session_id or "default"
        executed = self._refused.leave_out(session_id, executed or {})
        return Turn(session_id=session_id, message=message, cwd=self.cwd, host=self.host, executed=executed)

    def _begin_stop(self, turn: Turn) -> Turn | None:
        """Return the turn with whether it was refused before; None when it was refused often enough."""
        count = self._refusals.get_count(turn.session_id)
        if count >= self.max_refusals:
            self._refusals.reset(turn.session_id)
            return None
        return turn._replace(stop_hook_active=count > 0)

    def _end_stop(self, session_id: str, answer: Answer) -> str:
        """Count a refusal, and return its reason; an empty text when the turn may end."""
        if answer.allowed:
            self._refusals.reset(session_id)
            return ""
        self._refusals.add(session_id)
        return answer.reason or "the work is not finished; say what is missing"

    def _refuse_unknown_stop(self, turn: Turn, error: Exception) -> Answer:
        """Refuse once when it is not known whether the work is complete, and then let go."""
        self._record_failure("stop", error)
        if turn.stop_hook_active:
            return Answer()
        return Answer(allowed=False, reason="whether the work is complete could not be told: say so in your answer")

    def _refuse_after_error(self, moment: str, action: Action, error: Exception) -> Ruling:
        self._record_failure(moment, error)
        return self._refused.note(Ruling(action, decision_from_error(error).verdict))

    def _record_failure(self, moment: str, error: Exception) -> None:
        # Even this must not raise: an exception in a hook runs the tool in some SDKs.
        try:
            record_crash(self.governance.store.home, f"sdk.{moment}", error)
        except Exception:
            return  # there is nothing left to write to


def _to_answer(answer: object) -> Answer:
    if not isinstance(answer, Answer):
        raise TypeError(f"expected an Answer, found {type(answer).__name__}")
    return answer
