"""One call of a hook: the same whether the hook process decides it or the warm process does."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from verdikt.adapters.host import Host
    from verdikt.adapters.moment import Moment
    from verdikt.adapters.reply import Reply
    from verdikt.govern import Governance

KINDS = {"read": "Read", "write": "Write", "bash": "Bash"}
"""Seed 001's wiring: the first argument names the kind of the tool instead of an event."""

LONGEST_CWD = 4096
"""No system has longer ones, and what a directory means is remembered."""

_ADVICE = "Instead: stop here and ask the person to run `verdikt doctor`"

Govern = Callable[[str, Mapping[str, str]], "Governance"]
"""Governance at a directory, in an environment."""


class HookCall:
    """What is known of a call so far. `cwd` is the hook's working directory, empty when it has none; `env` its environment."""

    def __init__(self, arguments: list[str], env: Mapping[str, str], cwd: str) -> None:
        self.name = arguments[0] if arguments else "generic"
        words = arguments[1:]
        self.tool = KINDS.get(words[0], "") if words else ""
        self.event = "PreToolUse" if self.tool else (words[0] if words else "")
        self.argument = words[1] if len(words) > 1 else ""
        self.env = env
        self.cwd = cwd
        self.host: Host | None = None
        self.moment: Moment | None = None

    def decide(self, raw: bytes, govern: Govern) -> Reply:
        """The reply to a payload; it is in the log before it is returned. Raises where no decision can be made."""
        from verdikt import adapters
        from verdikt.adapters.judge import judge

        self.host = adapters.host(self.name)
        self.moment = self.host.decode(self._payload(raw), self.event, self.env)
        if len(self.moment.cwd) > LONGEST_CWD:
            from verdikt.errors import HookError

            raise HookError(f"expected a working directory of at most {LONGEST_CWD} characters, found a longer one")
        governance = govern(os.path.join(self._here(), self.moment.cwd), self.env)
        return self.host.encode(self.moment, judge(governance, self.moment, self.env))

    @property
    def closed(self) -> bool:
        """Whether a failure must block: unless this is known to be a moment where it must not, it is one where it must."""
        from verdikt.adapters.moment import MomentKind

        if self.moment:
            turn = self.moment.turn
            # A refused stop is asked again; the second failure lets go, so that it cannot go round for ever.
            return self.moment.kind.closed or bool(turn and not turn.stop_hook_active)
        kind = self.host.EVENTS.get(self.event, MomentKind.BEFORE) if self.host else MomentKind.BEFORE
        return kind.closed

    def failure(self, error: BaseException) -> Reply:
        """What this moment demands when no decision could be made."""
        from verdikt.adapters.moment import Moment, MomentKind
        from verdikt.adapters.reply import NEUTRAL, refuse
        from verdikt.adapters.ruling import Ruling

        if not self.closed:
            return NEUTRAL
        ruling = Ruling.block(f"blocked, because no decision could be made: {_words(error)}\n{_ADVICE}")
        if self.host is None:
            return refuse(ruling.reason)
        moment = self.moment or Moment(kind=MomentKind.BEFORE, host=self.name, event=self.event)
        return self.host.encode(moment, ruling)

    def lost(self, error: Exception) -> Reply:
        """What this moment demands when its decision was made and could not be kept."""
        from verdikt.adapters.ruling import Ruling
        from verdikt.model.decision import failed

        if not (self.host and self.moment and self.moment.kind.closed):
            return self.failure(error)
        return self.host.encode(self.moment, Ruling.of_verdict(failed(error).verdict))

    def record(self, error: BaseException) -> bool:
        """Leaves a trace of a failure; whether it could be written."""
        from verdikt.ledger.home import data_home
        from verdikt.observe.crash import record_crash

        return record_crash(data_home(self.env), f"{self.name}.{self.event or 'unknown'}", error)

    def _payload(self, raw: bytes) -> object:
        from verdikt.adapters.payload import parse

        payload = parse(self.argument.encode("utf-8", "surrogateescape") if self.argument else raw)
        if self.tool and isinstance(payload, dict) and "tool_name" not in payload:
            return {"tool_name": self.tool, "tool_input": payload, "cwd": self._here()}
        return payload

    def _here(self) -> str:
        if not self.cwd and not (self.moment and self.moment.cwd.startswith("/")):
            raise FileNotFoundError("the working directory is gone")
        return self.cwd


def _words(error: BaseException) -> str:
    """The failure as the model may hear it: our own words where they are about its call or the policy, else only its kind."""
    from verdikt.errors import HookError, PolicyError

    if isinstance(error, HookError | PolicyError | TimeoutError):
        return str(error)
    return f"verdikt failed with {type(error).__name__}"
