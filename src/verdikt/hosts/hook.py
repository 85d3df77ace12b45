"""The hook process: `verdikt hook <host> [event]`, payload on stdin, exactly one JSON document on stdout.

Every failure still produces a response: a block where the agent is about to act, no opinion elsewhere. The modules of
verdikt are imported inside functions, so that a package that is only half installed is such a failure too.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Mapping
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from verdikt.govern import Governance
    from verdikt.hosts.hook_call import HookCall
    from verdikt.hosts.hook_response import HookResponse

MAX_DECISION_SECONDS = 10.0
"""The hook's own time limit. The wrapper around it waits longer, and the client longer still."""


class HookProcess:
    """One run of the hook, which ends with exactly one response."""

    def __init__(self, stdout_fd: int, arguments: list[str]) -> None:
        self._stdout_fd = stdout_fd
        self._socket_path = arguments[1] if arguments[:1] == ["--socket"] and len(arguments) > 1 else ""
        self._arguments = arguments[2:] if self._socket_path else arguments
        self._call: HookCall | None = None
        self._has_failed = False
        self._needs_daemon = False
        """Whether no warm process answered, so that one should be started for the next call."""

    def run(self) -> NoReturn:
        """Read the payload, decide, respond and exit."""
        try:
            self._install_signal_handlers()
            cwd = _get_cwd()
            _drop_project_variables(cwd)
            raw = b"" if len(self._arguments) > 2 and self._arguments[2] else _read_stdin()
            fault = ""
            if os.environ.get("VERDIKT_DAEMON") != "off" or self._socket_path:
                fault = self._find_daemon_fault(cwd) or self._ask_daemon(raw, cwd)
            self._call = self._create_call(cwd)
            if fault:
                self._call.faults.append(fault)
                self._try_record_failure(self._call, ConnectionError(fault))
            self.respond_and_exit(self._call.decide_payload(raw, _load_governance))
        except BaseException as error:
            self.exit_with_failure(error)

    def respond_and_exit(self, response: HookResponse) -> NoReturn:
        """Write the one document and exit without running anything else."""
        stderr_text = response.stderr.encode("utf-8", "replace") + b"\n" if response.stderr else b""
        self._write_and_exit(response.exit_code, response.stdout.encode("ascii") + b"\n", stderr_text)

    def _write_and_exit(self, exit_code: int, document: bytes, stderr_text: bytes) -> NoReturn:
        # A second signal must not cut the document in half.
        for number in (signal.SIGALRM, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        _write_stderr(stderr_text)
        try:
            _write_all(self._stdout_fd, document)
        except OSError:
            # The document cannot be written, so the status alone must carry the decision.
            exit_code = 2 if exit_code == 2 or self._call is None or self._call.fails_closed else 0
        # Where another user's process decides and keeps the log, this account has neither policy nor log to note it in.
        if self._has_failed and not self._socket_path:
            self._note_failure()
        if self._needs_daemon:
            self._start_daemon()
        os._exit(exit_code)

    def _note_failure(self) -> None:
        # After the response, like the start of a process: the alarm must not delay it.
        try:
            if self._call is not None:
                self._call.note_failure()
        except BaseException:
            return

    def _start_daemon(self) -> None:
        # Only after the response is written, so that the two do not compete for the processor.
        try:
            # Imported here, as everywhere in this file: a package that is half installed must end in a response.
            from verdikt.daemon.client import start_if_absent

            start_if_absent(os.environ)
        except BaseException:
            return  # the response is out, and that is what matters

    def _find_daemon_fault(self, cwd: str) -> str:
        """Return why the warm process must not be asked; looked for at the start and the end of a session only."""
        if self._socket_path or len(self._arguments) < 2:
            return ""  # an operator's warm process is of another user, who also owns the log
        from verdikt.daemon.protocol import CHECKED_EVENTS

        if self._arguments[1] not in CHECKED_EVENTS:
            return ""
        # The canary reads the log: most of what a cold call imports.
        from verdikt.hosts.daemon_canary import find_daemon_fault

        return find_daemon_fault(cwd, os.environ)

    def _ask_daemon(self, raw: bytes, cwd: str) -> str:
        """Respond with the answer of the warm process and exit.

        Return only if no process took the question: why the one that answered cannot be trusted, or an empty string.
        """
        from verdikt.daemon.client import DaemonUntrusted, NoReply, relay_hook_call

        try:
            answer = relay_hook_call(
                self._arguments,
                raw,
                cwd,
                os.environ,
                timeout_seconds=_read_time_limit() * 0.8,
                socket_path=self._socket_path,
            )
        except DaemonUntrusted as error:
            return str(error)
        except NoReply:
            # The question was taken and not answered: the action may be counted already, so deciding it again here is
            # no option. The alarm is reset, because what remains of the time may be too short for the response.
            signal.setitimer(signal.ITIMER_REAL, MAX_DECISION_SECONDS)
            from verdikt.hosts.registry import load_adapter

            self._call = self._create_call(cwd)
            self._call.adapter = load_adapter(self._call.host_name)
            raise
        if answer is not None:
            self._write_and_exit(*answer)
        self._needs_daemon = True
        return ""

    def _create_call(self, cwd: str) -> HookCall:
        from verdikt.hosts.hook_call import HookCall

        return HookCall(self._arguments, os.environ, cwd)

    def exit_with_failure(self, error: BaseException) -> NoReturn:
        """Record the failure, respond as this event demands and exit."""
        try:
            call = self._call = self._call or self._create_call("")
            self._has_failed = True
            if not self._try_record_failure(call, error):
                _write_stderr(f"verdikt: {type(error).__name__}\n".encode())
            self.respond_and_exit(call.build_failure_response(error))
        except BaseException:
            self._write_and_exit(
                2, b'{"decision":"block","reason":"[verdikt] the hook could not start"}\n', b"verdikt: blocked\n"
            )

    def _install_signal_handlers(self) -> None:
        """Treat signals, and the expiry of the time limit, as failures like any other."""
        for number in (signal.SIGALRM, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._handle_signal)
        signal.setitimer(signal.ITIMER_REAL, _read_time_limit())

    def _handle_signal(self, number: int, frame: FrameType | None) -> NoReturn:
        if number == signal.SIGALRM:
            self.exit_with_failure(TimeoutError("the decision took too long"))
        self.exit_with_failure(InterruptedError(f"stopped by {signal.Signals(number).name}"))

    def _try_record_failure(self, call: HookCall, error: BaseException) -> bool:
        try:
            return call.record_failure(error)
        except BaseException:
            return False


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the hook and exit."""
    # Everything that prints goes to stderr: one stray line before the document, and every client runs the tool.
    try:
        stdout_fd = os.dup(1)
        os.dup2(2, 1)
    except OSError:
        os._exit(2)
    # The process ends with this one decision, long before cycles of objects could matter; looking for them while the
    # modules are imported takes 4 % of a cold call.
    gc.disable()
    try:
        HookProcess(stdout_fd, sys.argv[1:] if arguments is None else arguments).run()
    except BaseException:
        os._exit(2)  # any other status lets the tool run


def _read_time_limit() -> float:
    try:
        seconds = float(os.environ.get("VERDIKT_HOOK_SECONDS", ""))
    except ValueError:
        return MAX_DECISION_SECONDS
    return seconds if 0 < seconds <= MAX_DECISION_SECONDS else MAX_DECISION_SECONDS


def _write_all(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


def _write_stderr(text: bytes) -> None:
    """Write to stderr. A closed stderr must not keep the document from being written."""
    try:
        _write_all(2, text)
    except OSError:
        return


def _read_stdin() -> bytes:
    from verdikt.daemon.protocol import MAX_PAYLOAD_BYTES

    raw = sys.stdin.buffer.read(MAX_PAYLOAD_BYTES + 1)
    while sys.stdin.buffer.read(1024 * 1024):
        pass  # the rest is discarded, so that the client can write all of it
    return raw


def _get_cwd() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        return ""


def _drop_project_variables(cwd: str) -> None:
    """Ignore the variables with which a project's settings would send this hook to another log and policy."""
    from verdikt.hosts.project_variables import drop_project_variables

    drop_project_variables(os.environ, cwd)


def _load_governance(cwd: str, env: Mapping[str, str]) -> Governance:
    from verdikt.govern import Governance

    return Governance.load(cwd=cwd, env=env)


if __name__ == "__main__":
    main()
