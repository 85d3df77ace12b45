"""The hook: `verdikt hook <host> [event]`, payload on stdin, exactly one JSON document on stdout.

Whatever goes wrong here, the host hears a decision: a block where the agent is about to act, no opinion elsewhere.
"""

import os
import signal
import sys
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from verdikt.adapters.host import Host
    from verdikt.adapters.moment import Moment
    from verdikt.adapters.reply import Reply

SECONDS = 10.0
"""How long the hook may think; the wrapper around it waits longer, the client longer still."""

KINDS = {"read": "Read", "write": "Write", "bash": "Bash"}
"""Seed 001's wiring: the first argument names the kind of the tool instead of an event."""

_ADVICE = "Instead: stop here and ask the person to run `verdikt doctor`"


class Hook:
    """One run of the hook: what is known of it so far, and the one answer it gives."""

    def __init__(self, out: int, arguments: list[str]) -> None:
        self._out = out
        self.name = arguments[0] if arguments else "generic"
        words = arguments[1:]
        self.tool = KINDS.get(words[0], "") if words else ""
        self.event = "PreToolUse" if self.tool else (words[0] if words else "")
        self.argument = words[1] if len(words) > 1 else ""
        self.host: Host | None = None
        self.moment: Moment | None = None

    def run(self) -> NoReturn:
        """Reads, decides, answers, exits."""
        try:
            self._guard()
            from verdikt.adapters.start import spare

            spare()
            from verdikt import adapters

            self.host = adapters.host(self.name)
            self.moment = self.host.decode(self._payload(), self.event, os.environ)
            self.answer(self._decide(self.moment))
        except BaseException as error:
            self.fail(error)

    def answer(self, reply: "Reply") -> NoReturn:
        """Writes the one document and leaves without running anything else."""
        # A second signal must not cut the document in half.
        for number in (signal.SIGALRM, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        code = reply.code
        try:
            if reply.stderr:
                _write(2, reply.stderr.encode("utf-8", "replace") + b"\n")
            _write(self._out, reply.stdout.encode("ascii") + b"\n")
        except OSError:
            # Nobody hears the document: the status alone must say it.
            code = 2 if self._closed() else 0
        os._exit(code)

    def fail(self, error: BaseException) -> NoReturn:
        """Records what went wrong and answers as this moment demands."""
        recorded = self._record(error)
        try:
            reply = self._failure(error)
        except BaseException:
            _write(2, b"verdikt: blocked\n")
            _write(self._out, b'{"decision":"block","reason":"[verdikt] the hook could not start"}\n')
            os._exit(2)
        if not recorded:
            _write(2, f"verdikt: {type(error).__name__}\n".encode())
        self.answer(reply)

    def _guard(self) -> None:
        """From here on a signal is a failure like any other, and so is taking too long."""
        for number in (signal.SIGALRM, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._interrupted)
        signal.setitimer(signal.ITIMER_REAL, _seconds())

    def _interrupted(self, number: int, frame: FrameType | None) -> NoReturn:
        if number == signal.SIGALRM:
            self.fail(TimeoutError("the decision took too long"))
        self.fail(InterruptedError(f"stopped by {signal.Signals(number).name}"))

    def _payload(self) -> object:
        from verdikt.adapters.payload import LIMIT_BYTES, parse

        if self.argument:
            payload = parse(self.argument.encode("utf-8", "surrogateescape"))
        else:
            raw = sys.stdin.buffer.read(LIMIT_BYTES + 1)
            while sys.stdin.buffer.read(1024 * 1024):
                pass  # the client must be able to write all of it
            payload = parse(raw)
        if self.tool and isinstance(payload, dict) and "tool_name" not in payload:
            return {"tool_name": self.tool, "tool_input": payload, "cwd": os.getcwd()}
        return payload

    def _decide(self, moment: "Moment") -> "Reply":
        from verdikt.adapters.judge import judge
        from verdikt.govern import Governance

        assert self.host is not None
        governance = Governance.load(cwd=moment.cwd or os.getcwd())
        return self.host.encode(moment, judge(governance, moment, os.environ))

    def _closed(self) -> bool:
        """Whether a failure must block: unless this is known to be a moment where it must not, it is one where it must."""
        from verdikt.adapters.moment import MomentKind

        if self.moment:
            turn = self.moment.turn
            # A refused stop is asked again; the second failure lets go, so that it cannot go round for ever.
            return self.moment.kind.closed or bool(turn and not turn.stop_hook_active)
        kind = self.host.EVENTS.get(self.event, MomentKind.BEFORE) if self.host else MomentKind.BEFORE
        return kind.closed

    def _failure(self, error: BaseException) -> "Reply":
        from verdikt.adapters.moment import Moment, MomentKind
        from verdikt.adapters.reply import NEUTRAL, refuse
        from verdikt.adapters.ruling import Ruling

        if not self._closed():
            return NEUTRAL
        ruling = Ruling.block(f"blocked, because no decision could be made: {_words(error)}\n{_ADVICE}")
        if self.host is None:
            return refuse(ruling.reason)
        moment = self.moment or Moment(kind=MomentKind.BEFORE, host=self.name, event=self.event)
        return self.host.encode(moment, ruling)

    def _record(self, error: BaseException) -> bool:
        try:
            from verdikt.ledger.home import data_home
            from verdikt.observe.crash import record_crash

            return record_crash(data_home(os.environ), f"{self.name}.{self.event or 'unknown'}", error)
        except BaseException:
            return False


def main(arguments: list[str] | None = None) -> NoReturn:
    """Runs the hook and exits with what the host must see."""
    # Whatever else prints, prints to stderr: stdout carries the decision and nothing but the decision.
    try:
        out = os.dup(1)
        os.dup2(2, 1)
    except OSError:
        os._exit(2)
    Hook(out, sys.argv[1:] if arguments is None else arguments).run()


def _seconds() -> float:
    try:
        seconds = float(os.environ.get("VERDIKT_HOOK_SECONDS", ""))
    except ValueError:
        return SECONDS
    return seconds if 0 < seconds <= SECONDS else SECONDS


def _write(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


def _words(error: BaseException) -> str:
    """The failure as the model may hear it: our own words where they are about its call or the policy, else only its kind."""
    from verdikt.errors import HookError, PolicyError

    if isinstance(error, HookError | PolicyError | TimeoutError):
        return str(error)
    return f"verdikt failed with {type(error).__name__}"


if __name__ == "__main__":
    main()
