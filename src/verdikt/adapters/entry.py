"""The hook: `verdikt hook <host> [event]`, payload on stdin, exactly one JSON document on stdout.

Whatever goes wrong here, the host hears a decision: a block where the agent is about to act, no opinion elsewhere.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Mapping
    from types import FrameType
    from typing import NoReturn

    from verdikt.adapters.call import HookCall
    from verdikt.adapters.reply import Reply
    from verdikt.govern import Governance
else:
    try:
        import _signal as signal  # `signal` makes enums of its constants, which takes longer than using them
    except ImportError:
        import signal

SECONDS = 10.0
"""How long the hook may think; the wrapper around it waits longer, the client longer still."""


class Hook:
    """One run of the hook: what is known of it so far, and the one answer it gives."""

    def __init__(self, out: int, arguments: list[str]) -> None:
        self._out = out
        self._socket = arguments[1] if arguments[:1] == ["--socket"] and len(arguments) > 1 else ""
        self._arguments = arguments[2:] if self._socket else arguments
        self._call: HookCall | None = None
        self._alone = False
        """Nobody could be asked, and somebody should be there for the next call."""

    def run(self) -> NoReturn:
        """Reads, decides, answers, exits."""
        try:
            self._guard()
            cwd = _cwd()
            raw = b"" if len(self._arguments) > 2 and self._arguments[2] else _stdin()
            if os.environ.get("VERDIKT_DAEMON") != "off" or self._socket:
                self._ask(raw, cwd)
            from verdikt.adapters.start import spare

            spare()
            self._call = self._new_call(cwd)
            self.answer(self._call.decide(raw, _govern))
        except BaseException as error:
            self.fail(error)

    def answer(self, reply: Reply) -> NoReturn:
        """Writes the one document and leaves without running anything else."""
        words = reply.stderr.encode("utf-8", "replace") + b"\n" if reply.stderr else b""
        self._say(reply.code, reply.stdout.encode("ascii") + b"\n", words)

    def _say(self, code: int, document: bytes, words: bytes) -> NoReturn:
        # A second signal must not cut the document in half.
        for number in (signal.SIGALRM, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        _tell(words)
        try:
            _write(self._out, document)
        except OSError:
            # Nobody hears the document: the status alone must say it.
            code = 2 if code == 2 or self._call is None or self._call.closed else 0
        if self._alone:
            self._start_warm()
        os._exit(code)

    def _start_warm(self) -> None:
        # When the answer is out, so that the two do not compete for the processor.
        try:
            from verdikt.daemon.client import start_for_the_next

            start_for_the_next(os.environ)
        except BaseException:
            return  # the answer counts

    def _ask(self, raw: bytes, cwd: str) -> None:
        """Answers as the warm process does; returns when nobody heard the question. What became of it must be known."""
        from verdikt.daemon.client import NoAnswer, relay

        try:
            said = relay(self._arguments, raw, cwd, os.environ, seconds=_seconds() * 0.8, socket=self._socket)
        except NoAnswer:
            # What is left of the time is not enough to say so, and the wrapper waits longer.
            signal.setitimer(signal.ITIMER_REAL, SECONDS)
            from verdikt import adapters

            self._call = self._new_call(cwd)
            self._call.host = adapters.host(self._call.name)
            raise
        if said is not None:
            self._say(*said)
        self._alone = True

    def _new_call(self, cwd: str) -> HookCall:
        from verdikt.adapters.call import HookCall

        return HookCall(self._arguments, os.environ, cwd)

    def fail(self, error: BaseException) -> NoReturn:
        """Records what went wrong and answers as this moment demands."""
        try:
            call = self._call or self._new_call("")
            if not self._record(call, error):
                _tell(f"verdikt: {type(error).__name__}\n".encode())
            self.answer(call.failure(error))
        except BaseException:
            self._say(2, b'{"decision":"block","reason":"[verdikt] the hook could not start"}\n', b"verdikt: blocked\n")

    def _guard(self) -> None:
        """From here on a signal is a failure like any other, and so is taking too long."""
        for number in (signal.SIGALRM, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._interrupted)
        signal.setitimer(signal.ITIMER_REAL, _seconds())

    def _interrupted(self, number: int, frame: FrameType | None) -> NoReturn:
        if number == signal.SIGALRM:
            self.fail(TimeoutError("the decision took too long"))
        from signal import Signals

        self.fail(InterruptedError(f"stopped by {Signals(number).name}"))

    def _record(self, call: HookCall, error: BaseException) -> bool:
        try:
            return call.record(error)
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
    try:
        Hook(out, sys.argv[1:] if arguments is None else arguments).run()
    except BaseException:
        os._exit(2)  # any other status lets the tool run


def _seconds() -> float:
    try:
        seconds = float(os.environ.get("VERDIKT_HOOK_SECONDS", ""))
    except ValueError:
        return SECONDS
    return seconds if 0 < seconds <= SECONDS else SECONDS


def _write(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


def _tell(words: bytes) -> None:
    """Says it on stderr. That nobody reads there must not keep the document from those who do."""
    try:
        _write(2, words)
    except OSError:
        return


def _stdin() -> bytes:
    from verdikt.daemon.protocol import PAYLOAD_BYTES  # as much as is looked at, without loading who looks

    raw = sys.stdin.buffer.read(PAYLOAD_BYTES + 1)
    while sys.stdin.buffer.read(1024 * 1024):
        pass  # the client must be able to write all of it
    return raw


def _cwd() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        return ""


def _govern(cwd: str, env: Mapping[str, str]) -> Governance:
    from verdikt.govern import Governance

    return Governance.load(cwd=cwd, env=env)


if __name__ == "__main__":
    main()
