"""The stdio transport: a server as a child process, one reader per direction, one JSON message per line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import IO, TYPE_CHECKING, NoReturn, Protocol

from verdikt.errors import McpError
from verdikt.mcp.deferred_work import DeferredWork
from verdikt.mcp.message import MAX_MESSAGE_BYTES, Message, MessageError, build_error, decode_message, encode_message

if TYPE_CHECKING:
    from verdikt.mcp.reaction import Reaction
    from verdikt.mcp.relay import Relay

END_SECONDS = 2.0
"""How long a server has to end by itself after its input was closed, and again after it was told to terminate."""

BUFFER_BYTES = 256 * 1024
"""Of each pipe and its reader: a message of megabytes crosses in few steps, where Python's own 8 KB take hundreds."""

_CHUNK_BYTES = 1024 * 1024


class ServerProcess(Protocol):
    """What the transport needs of a server: a child process has it, and a server at an address is given it."""

    @property
    def stdin(self) -> IO[bytes] | None:
        """Where messages for the server go."""

    @property
    def stdout(self) -> IO[bytes] | None:
        """Where its messages come from."""

    @property
    def returncode(self) -> int:
        """The exit status, once it has ended."""

    def kill(self) -> None:
        """End it at once."""

    def terminate(self) -> None:
        """Ask it to end."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; raises `subprocess.TimeoutExpired`."""


def start_server(command: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start a server; its stderr is ours. Raises `McpError` when it cannot be started."""
    try:
        # `pipesize` is for Linux, and without effect elsewhere.
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=BUFFER_BYTES, pipesize=BUFFER_BYTES
        )
    except (OSError, ValueError) as error:
        raise McpError(f"cannot start the server `{command[0]}`: {getattr(error, 'strerror', error)}") from error


def read_lines(stream: IO[bytes]) -> Iterator[bytes | None]:
    """Yield each line without its end; None for one that is too long, which is never in memory as a whole."""
    while line := stream.readline(MAX_MESSAGE_BYTES + 2):
        if line.endswith(b"\n"):
            yield line.rstrip(b"\r\n")
            continue
        if len(line) < MAX_MESSAGE_BYTES + 2:
            return  # the end of the stream in the middle of a line: half a message is none
        while line and not line.endswith(b"\n"):
            line = stream.readline(_CHUNK_BYTES)
        yield None


class StdioTransport:
    """Relays between this process's stdin and stdout and a server's. Whatever fails closes both sides."""

    def __init__(self, server: ServerProcess, client_input: IO[bytes], client_output: IO[bytes]) -> None:
        self._server = server
        self._client_input, self._client_output = client_input, client_output
        self._client_lock, self._server_lock = threading.Lock(), threading.Lock()
        self._relay: Relay | None = None
        self._failure: BaseException | None = None
        self._has_ended = threading.Event()
        self._deferred = DeferredWork()

    def run(self, relay: Relay) -> int:
        """Relay until one side ends, and return the exit status of the server; 1 after a failure of the relay."""
        self._relay = relay
        assert self._server.stdout is not None
        readers = [
            threading.Thread(target=self._run_worker, args=(self._relay_client,), name="mcp-client", daemon=True),
            threading.Thread(target=self._run_worker, args=(self._relay_server,), name="mcp-server", daemon=True),
        ]
        log_writer = threading.Thread(target=self._run_worker, args=(self._run_deferred,), name="mcp-log", daemon=True)
        for thread in (*readers, log_writer):
            thread.start()
        self._has_ended.wait()
        self._end_server()
        # What the server still answered is relayed; the client's reader may sit in a read that never returns.
        readers[1].join(END_SECONDS)
        self._deferred.end()
        log_writer.join(END_SECONDS)
        if self._failure is not None:
            return 1
        return self._server.returncode if self._server.returncode >= 0 else 128 - self._server.returncode

    @property
    def failure(self) -> BaseException | None:
        """What ended the relay, if it was not one of the two sides."""
        return self._failure

    def _run_worker(self, work: Callable[[], None]) -> None:
        """Run the work of one thread. Its end, and any failure in it, ends the whole relay."""
        try:
            work()
        except BrokenPipeError:
            pass  # the other side is gone, which ends the conversation
        except BaseException as error:
            self._failure = error
        finally:
            self._has_ended.set()

    def _relay_client(self) -> None:
        assert self._relay is not None
        for line in read_lines(self._client_input):
            if line is not None and not line.strip():
                continue
            try:
                message = _decode_line(line)
            except MessageError as error:
                self._relay.note_broken("client", str(error))
                self._send_to_client([build_error(error.id, error.code, str(error))])
                continue
            if self._relay.is_decided(message):
                self._deferred.run_all()
            reaction = self._relay.receive_from_client(message)
            self._send(reaction)
            if reaction.deferred is not None:
                # The sync of a decision, while the server works; the client's next message would wait for it anyway.
                reaction.deferred()

    def _relay_server(self) -> None:
        assert self._relay is not None
        assert self._server.stdout is not None
        for line in read_lines(self._server.stdout):
            if line is not None and not line.strip():
                continue
            try:
                message = _decode_line(line)
            except MessageError as error:
                self._send(self._relay.reject_broken(line, str(error)))
                continue
            reaction = self._relay.receive_from_server(message)
            self._send(reaction)
            if reaction.deferred is not None:
                self._deferred.add(reaction.deferred)

    def _send(self, reaction: Reaction) -> None:
        # The answer to the client first: what goes to the server may block until the server reads.
        self._send_to_client(reaction.to_client)
        for message in reaction.to_server:
            with self._server_lock:
                assert self._server.stdin is not None
                self._server.stdin.write(encode_message(message) + b"\n")
                self._server.stdin.flush()

    def _run_deferred(self) -> None:
        assert self._relay is not None
        self._deferred.run_until_end(self._relay.sync_log)

    def _send_to_client(self, messages: list[Message]) -> None:
        for message in messages:
            with self._client_lock:
                self._client_output.write(encode_message(message) + b"\n")
                self._client_output.flush()

    def _end_server(self) -> None:
        """Close the server's input, and end it if that does not."""
        assert self._server.stdin is not None
        try:
            # After a failure nothing may run any more, not even what the server has in its input already.
            if self._failure is not None:
                self._server.kill()
            # The lock is not taken: a reader that blocks in a write holds it.
            self._server.stdin.close()
        except OSError:
            pass
        ends: tuple[Callable[[], object], ...] = (bool, self._server.terminate, self._server.kill)
        for end in ends:
            end()
            with suppress(subprocess.TimeoutExpired):
                self._server.wait(END_SECONDS)
                break


def _decode_line(line: bytes | None) -> Message:
    if line is None:
        raise MessageError(f"expected a message of at most {MAX_MESSAGE_BYTES} bytes, found more")
    return decode_message(line)


def run_stdio_relay(start: Callable[[], ServerProcess], create_relay: Callable[[], Relay]) -> NoReturn:
    """Relay between this process's own stdin and stdout and a server; then exit with the server's status."""
    # The server first: it starts while governance is loaded, so that a client hardly waits longer than without us.
    server = start()
    client_output = _take_stdout()
    signal.signal(signal.SIGTERM, _raise_exit)
    transport = StdioTransport(server, os.fdopen(0, "rb", BUFFER_BYTES, closefd=False), client_output)
    relay: Relay | None = None
    try:
        relay = create_relay()
        status = transport.run(relay)
    except BaseException:
        server.kill()
        server.wait()
        if relay is None:
            raise  # nothing ran yet, and the command line reports what is wrong
        relay.close()
        os._exit(1)
    if transport.failure is not None:
        name = type(transport.failure).__name__
        print(f"verdikt: the relay failed ({name}); nothing more runs through it", file=sys.stderr)
        relay.record_failure(transport.failure)
    relay.close()
    client_output.close()
    # Not by way of the interpreter's end: it would wait for the thread that still reads our stdin.
    os._exit(status)


def _take_stdout() -> IO[bytes]:
    """Return our stdout for messages alone; whatever else prints in this process goes to stderr."""
    sys.stdout.flush()
    own = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return own


def _raise_exit(number: int, frame: object) -> None:
    raise SystemExit(128 + number)
