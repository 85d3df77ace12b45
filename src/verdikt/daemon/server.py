"""The warm process at work: a few threads let clients in and decide; one listens to those who take their time to ask.

A connection has one owner at a time, and only its owner reads from it:

1. through the Unix socket it is let in by one of the quick threads (`_let_in`), the one whose turn it is: it passes the turn on
   while it waits for a slow disk, and loses it when it takes long. Most have asked by then: that thread decides and answers. Whoever has not asked is handed over (`_handed`) to the thread that listens.
2. through the port it is let in by the thread that listens (`_accept`), which must not wait for anybody.
3. the thread that listens (`serve`) owns all in `_open`, and alone touches that, `_selector` and `_buffered`. A question that is
   complete goes to `_jobs`; a client that may not or will not ask is answered and let go (`_dismiss`), through the port only when it
   has stopped sending.
4. one of the late threads (`_work`) takes it from there, decides and answers.

The one exception: what is in `_due` must be answered in time, so the thread that listens may answer it while another decides.
`Connection.answer` sees to it that the first of them is heard and the other is not.
"""

import json
import os
import selectors
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import SimpleQueue
from typing import Protocol

from verdikt.daemon import protocol
from verdikt.daemon.connection import Connection
from verdikt.daemon.journal import Journal
from verdikt.daemon.pulse import Pulse
from verdikt.daemon.question import Question, Said
from verdikt.daemon.relay import Relay

WORKERS = 8
"""How many clients are let in and answered at once; more would only take turns with one another."""

LATE = 2
"""How many more answer those who took their time to ask."""

MOST_LATE = 32
"""How many of those there may be, when some hang and others take their place."""

PATIENCE_SECONDS = 0.003
"""How long a client that was let in is waited for, before it counts as one that takes its time."""

CROWD = 64
"""From so many of those on, nobody is waited for."""

ASK_SECONDS = 10.0
"""How long a client may take to ask, and how long it waits for its answer."""

HUNG_SECONDS = 60.0
"""A decision that takes longer will not end: the process makes room for a new one."""

MOST_OPEN = 4096
MOST_BUFFERED = 192 * 1024 * 1024
"""Bytes of unfinished questions that are held; beyond it the longest is given up."""

LEAVE_SECONDS = 10.0
"""How long decisions under way are waited for when the process ends."""

TICK_SECONDS = 1.0

TURN_SECONDS = 0.02
"""How long one quick thread may decide before the next lets clients in beside it."""

HANGS, OTHER_VERSION = "a decision hangs", "a client of another version"
"""Why a process ends that is still wanted."""

STATUS = "@status"
"""The host by whose name the command line asks how the process is."""


class Door(Protocol):
    """Where clients come in."""

    sock: socket.socket
    waits: bool
    """Whether letting somebody in may wait for them: then threads do it that answer them too."""

    def admit(self, sock: socket.socket, now: float) -> Connection | None:
        """The client that knocked; None when it may not come in."""
        ...

    def close(self) -> None:
        """Lets nobody in any more; those who had knocked already are let in where `waits`."""
        ...


class Server:
    """Serves until it is told to leave, has nothing to do for long, or finds another in its place."""

    def __init__(
        self,
        doors: Sequence[Door],
        answer: Callable[[Question], Said],
        journal: Journal,
        *,
        ours: Callable[[], bool],
        facts: Callable[[], dict[str, object]],
        idle_seconds: float,
        relay: Relay | None = None,
        gone: Callable[[str], None] = lambda _: None,
        workers: int = WORKERS,
        most_open: int = MOST_OPEN,
    ) -> None:
        self._doors = list(doors)
        self._answer = answer
        self._journal = journal
        self._ours = ours
        self._facts = facts
        self._idle_seconds = idle_seconds
        self._relay = relay or Relay()
        self._gone = gone
        self._most_open = most_open
        self.pulse = Pulse()
        self._selector = selectors.DefaultSelector()
        self._woken, self._wake = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(self._wake, False)
        self._open: dict[Connection, None] = {}  # the oldest first
        self._buffered = 0
        self._jobs: SimpleQueue[Connection] = SimpleQueue()
        self._pending = 0
        self._due: dict[Connection, None] = {}  # have asked, and must be told something in time
        self._lock = threading.Lock()
        self._deciding: dict[int, float] = {}
        self._why = ""
        self._last = time.monotonic()
        self._handed: SimpleQueue[Connection] = SimpleQueue()
        self._crowded = False
        self._shut = False
        self._late = [threading.Thread(target=self._work, daemon=True) for _ in range(LATE)]
        self._quick = [
            threading.Thread(target=self._let_in, args=(door,), daemon=True)
            for door in self._doors
            if door.waits
            for _ in range(workers)
        ]

    @property
    def wake_fd(self) -> int:
        """Where a signal's byte wakes the loop."""
        return self._wake

    def leave(self, why: str) -> None:
        """Lets everybody who asked have an answer, and then ends. Callable from any thread and from a signal handler."""
        self._why = self._why or why
        self._call()

    def _call(self) -> None:
        """Wakes the thread that listens."""
        with suppress(BlockingIOError):
            os.write(self._wake, b"!")

    def serve(self) -> str:
        """Serves; why it ended."""
        self._selector.register(self._woken, selectors.EVENT_READ)
        for door in self._doors:
            if not door.waits:
                self._selector.register(door.sock, selectors.EVENT_READ, door)
        for worker in (*self._late, *self._quick):
            worker.start()
        checked = time.monotonic()
        while not self._why:
            busy = time.monotonic() - self._last < TICK_SECONDS
            self._listen(TURN_SECONDS if busy else TICK_SECONDS)
            now = time.monotonic()
            self._relieve(now)
            if now - checked >= TICK_SECONDS:
                checked = now
                self._look_around(now)
        self._finish()
        return self._why

    def _relieve(self, now: float) -> None:
        """A quick thread that waits for git, or for whoever holds a lock, keeps nobody else waiting."""
        with self._lock:
            slow = [thread for thread, since in self._deciding.items() if now - since > TURN_SECONDS]
        for thread in slow:
            self._relay.pass_on(thread)

    def _listen(self, seconds: float) -> None:
        for key, _ in self._selector.select(seconds):
            if key.fileobj == self._woken:
                self._wake_up()
            elif isinstance(key.data, Connection):
                if key.data in self._open:  # or it was sent away a moment ago, to make room for another
                    self._hear(key.data)
            else:
                self._accept(key.data)

    def _wake_up(self) -> None:
        with suppress(BlockingIOError):
            os.read(self._woken, 4096)
        if self._crowded:
            self._crowded = False
            self._give_up_oldest("too many clients at once")
        while not self._handed.empty():
            self._take(self._handed.get())

    def _let_in(self, door: Door) -> None:
        """Lets clients in and answers them, one thread at a time, until nobody is let in any more."""
        try:
            while True:
                self._relay.take()
                try:
                    sock, _ = door.sock.accept()
                except (BlockingIOError, InterruptedError):
                    if self._shut:
                        return
                    continue
                except OSError:
                    if self._shut:
                        return
                    # No descriptor is left, most likely: whoever came first and has not asked yet makes room.
                    self._crowded = True
                    self._call()
                    time.sleep(0.02)
                    continue
                self._entertain(door, sock)
        finally:
            self._relay.pass_on()

    def _entertain(self, door: Door, sock: socket.socket) -> None:
        """Answers a client; whoever takes their time to ask is handed over."""
        connection = self._admitted(door, sock)
        if connection is None:
            return
        with self._lock:
            self._pending += 1
        try:
            if self._asks_at_once(connection):
                self._decide(connection)
            else:
                self._handed.put(connection)
                self._call()
        except Exception as error:
            self._failed(connection, error)
        finally:
            with self._lock:
                self._pending -= 1

    def _asks_at_once(self, connection: Connection) -> bool:
        """Whether the whole question is there, now or in an instant; what went wrong is found by whoever reads on."""
        try:
            try:
                if connection.feed(socket.MSG_DONTWAIT):
                    return True
            except BlockingIOError:
                if len(self._open) < CROWD:
                    connection.sock.settimeout(PATIENCE_SECONDS)
                    if connection.feed():
                        return True
        except protocol.Malformed as error:
            connection.fault = str(error)
        except OSError:
            pass  # not yet, or never: then the next look says so again
        connection.sock.setblocking(False)
        return False

    def _accept(self, door: Door) -> None:
        for _ in range(64):
            try:
                sock, _ = door.sock.accept()
            except (BlockingIOError, InterruptedError):
                return
            except OSError as error:
                # No descriptor is left, most likely: whoever came first and has not asked yet makes room.
                if not self._give_up_oldest("too many clients at once"):
                    self._journal.write(f"cannot accept: {error}")
                return
            connection = self._admitted(door, sock)
            if connection is not None:
                sock.setblocking(False)
                self._take(connection)

    def _admitted(self, door: Door, sock: socket.socket) -> Connection | None:
        now = time.monotonic()
        try:
            connection = door.admit(sock, now)
        except Exception as error:
            if not isinstance(error, OSError):
                self._journal.write(f"failed to let in: {type(error).__name__}")
            sock.close()
            return None
        if connection is None:
            self.pulse.refuse()
        self._last = now
        return connection

    def _take(self, connection: Connection) -> None:
        """Listens to a client until it has asked."""
        if len(self._open) >= self._most_open:
            self._give_up_oldest("too many clients at once")
        self._open[connection] = None
        self._buffered += len(connection.data)
        self._selector.register(connection, selectors.EVENT_READ, connection)
        if connection.fault:
            self._dismiss(connection, connection.fault)
        else:
            self._hear(connection)  # it may have asked by now

    def _hear(self, connection: Connection) -> None:
        """Takes in more of a question; whatever its bytes do, the thread that listens goes on."""
        try:
            self._read(connection)
        except Exception as error:
            if connection in self._open:
                self._forget(connection)
            self._failed(connection, error)

    def _read(self, connection: Connection) -> None:
        before = len(connection.data)
        try:
            try:
                complete = connection.feed()
            finally:
                self._buffered += len(connection.data) - before
        except (BlockingIOError, InterruptedError):
            return
        except protocol.Malformed as error:
            self._dismiss(connection, str(error))
            return
        except OSError:
            self._forget(connection)
            connection.close()
            return
        if complete:
            self._forget(connection)
            with self._lock:
                self._pending += 1
                if connection.due is not None:
                    self._due[connection] = None
            self._jobs.put(connection)
        elif self._buffered > MOST_BUFFERED:
            self._dismiss(max(self._open, key=lambda each: len(each.data)), "too much is being asked at once")

    def _forget(self, connection: Connection) -> None:
        self._selector.unregister(connection)
        del self._open[connection]
        self._buffered -= len(connection.data)

    def _dismiss(self, connection: Connection, why: str) -> None:
        """Sends a client away that has not asked; its answer fits in the socket's buffer, so this does not wait."""
        self._forget(connection)
        if connection.lingers:
            connection.close()
            return
        self.pulse.refuse()
        connection.answer(Said.refused(why))
        if connection.lingers:
            self._open[connection] = None
            self._selector.register(connection, selectors.EVENT_READ, connection)

    def _give_up_oldest(self, why: str) -> bool:
        oldest = next(iter(self._open), None)
        if oldest is not None:
            self._dismiss(oldest, why)
            if oldest in self._open:
                self._dismiss(oldest, why)  # its place is wanted now
        return oldest is not None

    def _tell_in_time(self, now: float) -> None:
        """Answers those whose time is over."""
        for connection in [each for each in self._open if each.due is not None and now > each.due]:
            self._dismiss(connection, "expected the question sooner")
        with self._lock:
            over = [each for each in self._due if each.due is not None and now > each.due]
            for connection in over:
                del self._due[connection]
        for connection in over:
            self.pulse.refuse()
            connection.answer(Said.refused("the warm process did not decide in time"))

    def _look_around(self, now: float) -> None:
        self._tell_in_time(now)
        if not self._jobs.empty() and len(self._late) < MOST_LATE:
            self._late.append(threading.Thread(target=self._work, daemon=True))
            self._late[-1].start()
        while (oldest := next(iter(self._open), None)) and now - oldest.opened > ASK_SECONDS:
            self._dismiss(oldest, f"expected the question within {ASK_SECONDS:.0f} seconds")
        with self._lock:
            pending = self._pending
            hung = any(now - since > HUNG_SECONDS for since in list(self._deciding.values()))
        if pending or self._open:
            self._last = now
        if hung:
            self.leave(HANGS)
        elif now - self._last > self._idle_seconds:
            self.leave("nothing to do")
        elif not self._ours():
            self.leave("the socket is not ours any more")

    def _finish(self) -> None:
        """Nobody new is let in; whoever has asked is answered."""
        for door in self._doors:
            if not door.waits:
                self._selector.unregister(door.sock)
            door.close()
        self._shut = True
        self._gone(self._why)  # there is room for another now
        end = time.monotonic() + LEAVE_SECONDS
        grace = time.monotonic() + TICK_SECONDS
        while time.monotonic() < end:
            self._listen(0.02)
            self._tell_in_time(time.monotonic())
            if self._open and time.monotonic() > grace:
                # A client whose question was not taken to its end knows that nothing was decided.
                self._give_up_oldest("the warm process is going")
            inside = any(worker.is_alive() for worker in self._quick)  # somebody may wait to be let in
            with self._lock:
                if not (inside or self._pending or self._open) and self._handed.empty():
                    break
        self._tell_in_time(float("inf"))

    def _work(self) -> None:
        while True:
            try:
                connection = self._jobs.get()
                self._decide(connection)
            finally:
                with self._lock:
                    self._pending -= 1

    def _decide(self, connection: Connection) -> None:
        me = threading.get_ident()
        with self._lock:
            self._deciding[me] = time.monotonic()
        try:
            self._serve(connection)
        except Exception as error:
            self._failed(connection, error)
        finally:
            with self._lock:
                del self._deciding[me]
                self._due.pop(connection, None)

    def _failed(self, connection: Connection, error: Exception) -> None:
        """A thread goes on, whatever an answer was that could not be given."""
        self._journal.write(f"failed to answer: {type(error).__name__}")
        connection.answer(Said.refused(f"the warm process failed with {type(error).__name__}"))
        connection.close()

    def _serve(self, connection: Connection) -> None:
        late = connection.answered or time.monotonic() - connection.asked > ASK_SECONDS
        if late or connection.gone():
            connection.close()  # nobody waits for an answer, so nothing must be decided
            return
        try:
            question = connection.question()
            said = self._status() if question.host == STATUS else self._answer(question)
        except protocol.Malformed as error:
            said = Said.refused(str(error))
        except Exception as error:
            self._journal.write(f"failed: {type(error).__name__}")
            said = Said.refused(f"the warm process failed with {type(error).__name__}")
        if said.last:
            self.leave(OTHER_VERSION)
        self.pulse.count(time.monotonic() - connection.asked)
        connection.answer(said)

    def _status(self) -> Said:
        with self._lock:
            pending = self._pending
        report = self.pulse.report(open=len(self._open), pending=pending, **self._facts())
        return Said(protocol.ANSWER, 0, json.dumps(report).encode() + b"\n")
