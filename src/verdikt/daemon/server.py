"""The warm process at work: one thread leads, the first one watches over it.

The thread that leads lets clients in, hears them out and decides, one after the other: threads of one interpreter that decide at
once only get in one another's way. Answers are held back until nobody else has asked, so that the disk is waited for once. It
alone touches `_selector`, `_open`, `_buffered` and `_held`.

The thread that watches (`serve`) passes the lead on when a decision takes long, or the disk does: whoever has lost the lead ends
what it is at and answers that, and touches nothing else. The lead changes only
while its holder is in `_busy`, so no two threads ever lead.
What must be answered in time is answered by the thread that watches while another is still at it. `Connection.answer` sees to
it that the first of them is heard and the other is not.
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
from verdikt.daemon.pending import Pending
from verdikt.daemon.pulse import Pulse
from verdikt.daemon.question import Question, Said
from verdikt.errors import DaemonError
from verdikt.ledger.log import LogFile

MOST_THREADS = 40
"""How many decisions may take long at once; whoever asks then waits."""

SPARE_THREADS = 2
"""How many threads wait for the lead; further ones end."""

MOST_HELD = 8
"""How many answers are held back at most."""

AT_ONCE = 64
"""How many clients are let in before others are heard."""

ASK_SECONDS = 10.0
"""How long a client may take to ask."""

HUNG_SECONDS = 60.0
"""A decision that takes longer will not end: the process makes room for a new one."""

MOST_OPEN = 4096
MOST_BUFFERED = 192 * 1024 * 1024
"""Bytes of unfinished questions that are held; beyond it the longest is given up."""

LEAVE_SECONDS = 10.0
"""How long decisions under way are waited for when the process ends."""

TICK_SECONDS = 1.0

SLOW_SECONDS = 0.00005
"""A wait for the disk; where there are such waits, several threads wait for several logs."""

MOST_FINISHERS = 7
IDLE_TICK_SECONDS = 0.25

PAUSE_SECONDS, REST_SECONDS = 0.005, 0.05
"""When nobody has asked for so long there is time for what can wait; under load now and then, at the next occasion."""


TURN_SECONDS = 0.02
"""How long a thread may be at one thing before another leads."""

HANGS, BROKEN, OTHER_VERSION = "a decision hangs", "a thread failed", "a client of another version"
"""Why a process ends that is still wanted."""

STATUS = "@status"
"""The host by whose name the command line asks how the process is."""


class Door(Protocol):
    """Where clients come in."""

    sock: socket.socket
    """Does not block."""

    def accept(self) -> socket.socket:
        """The next who knocked; an `OSError` when nobody has."""
        ...

    def admit(self, sock: socket.socket, now: float) -> Connection | None:
        """The client that knocked; None when it may not come in."""
        ...

    def close(self) -> None:
        """Lets nobody in any more; whoever had knocked already may be let in, until `accept` fails."""
        ...


class Server:
    """Serves until it is told to leave, has nothing to do for long, or finds another in its place."""

    def __init__(
        self,
        doors: Sequence[Door],
        decide: Callable[[Question], Pending],
        journal: Journal,
        *,
        ours: Callable[[], bool],
        facts: Callable[[], dict[str, object]],
        idle_seconds: float,
        rest: Callable[[], None] = lambda: None,
        gone: Callable[[str], None] = lambda _: None,
        most_open: int = MOST_OPEN,
    ) -> None:
        """`rest` is called when nobody asks, and must be short; `gone` when there is room for another process."""
        self._doors = list(doors)
        self._decide = decide
        self._journal = journal
        self._ours = ours
        self._facts = facts
        self._idle_seconds = idle_seconds
        self._rest = rest
        self._gone = gone
        self._most_open = most_open
        self.pulse = Pulse()
        self._why = ""
        self._last = time.monotonic()
        self._woken, self._wake = _pipe()
        self._waker = selectors.DefaultSelector()
        self._waker.register(self._woken, selectors.EVENT_READ)

        self._lock = threading.Lock()  # of what follows, up to `_held`
        self._lead = threading.Lock()
        self._leader = 0
        self._threads = self._waiting = 0
        self._busy: dict[int, tuple[float, Sequence[Connection]]] = {}
        """Since when each thread is at something, and whom it is for."""
        self._held: list[tuple[Connection, Pending]] = []
        self._groups: SimpleQueue[tuple[int, Sequence[tuple[Connection, Pending]]]] = SimpleQueue()
        self._finishers = self._groups_put = 0
        self._slow = 0.0
        """How many answers of late have had to wait for the disk; few of those of one session do."""

        self._selector = selectors.DefaultSelector()
        self._calls, self._called = _pipe()
        self._selector.register(self._calls, selectors.EVENT_READ)
        self._open: dict[Connection, None] = {}  # the oldest first
        self._buffered = 0
        self._looked = 0.0
        self._tired = False
        """Whether something was decided since there was time for what can wait."""
        self._rested = 0.0
        self._shut = 0.0
        """When the doors were shut."""

    @property
    def wake_fd(self) -> int:
        """Where a signal's byte wakes the thread that watches."""
        return self._wake

    def leave(self, why: str) -> None:
        """Lets everybody who asked have an answer, and then ends. Callable from any thread and from a signal handler."""
        self._why = self._why or why
        _knock(self._wake)

    # The thread that watches.

    def serve(self) -> str:
        """Serves; why it ended."""
        for door in self._doors:
            self._selector.register(door.sock, selectors.EVENT_READ, door)
        with self._lock:
            if not self._start_thread():
                raise DaemonError("expected to start a thread, found no room for one: end something and try again")
        checked = time.monotonic()
        while not self._why:
            self._doze()
            now = time.monotonic()
            self._watch(now)
            if now - checked >= TICK_SECONDS:
                checked = now
                self._look_around(now)
        self._finish()
        return self._why

    def _doze(self) -> None:
        busy = self._shut or self._busy or time.monotonic() - self._last < TICK_SECONDS
        if self._waker.select(TURN_SECONDS if busy else IDLE_TICK_SECONDS):
            _drain(self._woken)

    def _watch(self, now: float) -> None:
        """Has another thread lead while one waits for git, for the disk or for a lock; answers those whose time is over."""
        with self._lock:
            since, _ = self._busy.get(self._leader, (now, ()))
            if now - since > TURN_SECONDS:
                self._pass_on()
        self._tell_in_time(now)

    def _tell_in_time(self, now: float) -> None:
        with self._lock:
            waiting = [each for _, at in self._busy.values() for each in at] + [each for each, _ in self._held]
        for connection in [each for each in waiting if each.due is not None and now > each.due]:
            if connection.answer(Said.refused("the warm process did not decide in time")):
                self.pulse.refuse()

    def _look_around(self, now: float) -> None:
        with self._lock:
            hung = any(now - since > HUNG_SECONDS for since, _ in self._busy.values())
        if self._busy or self._open:
            self._last = now
        if hung:
            self.leave(HANGS)
        elif now - self._last > self._idle_seconds:
            self.leave("nothing to do")
        elif not self._ours():
            self.leave("the socket is not ours any more")

    def _finish(self) -> None:
        """Whoever has asked is answered."""
        end, told = time.monotonic() + LEAVE_SECONDS, False
        while time.monotonic() < end:
            _knock(self._called)
            self._doze()
            self._watch(time.monotonic())
            if self._shut and not told:
                told = True
                self._gone(self._why)
            with self._lock:
                if self._shut and not (self._doors or self._open or self._held or self._busy):
                    break
        if not told:
            self._gone(self._why)
        self._tell_in_time(float("inf"))
        for connection in list(self._open):  # nobody leads who could have sent them away
            connection.answer(Said.refused("the warm process is going"))

    # The lead.

    def _start_thread(self) -> bool:
        """Whether there is one more that can lead."""
        started = _started(self._work)
        self._threads += started
        return started

    def _work(self) -> None:
        while True:
            with self._lock:
                self._waiting += 1
            self._lead.acquire()
            with self._lock:
                self._waiting -= 1
                self._leader = threading.get_ident()
            self._go_on()
            with self._lock:
                if self._waiting >= SPARE_THREADS:
                    self._threads -= 1
                    return

    def _pass_on(self) -> None:
        """Lets another thread lead than the one that is busy, if there can be another. Only under the lock."""
        if self._waiting or (self._threads < MOST_THREADS and self._start_thread()):
            self._leader = 0
            self._lead.release()

    def _leads(self) -> bool:
        return self._leader == threading.get_ident()

    # The thread that leads.

    def _go_on(self) -> None:
        """Leads until it has lost the lead; whatever fails, somebody leads."""
        while self._leads():
            try:
                self._take_turn()
            except Exception as error:
                self._give_up(error)

    def _take_turn(self) -> None:
        if self._why and not self._shut:
            self._shut_doors()
        self._look_at_clients()
        held = len(self._held)
        heard = self._listen(0)
        if not self._leads() or (heard and len(self._held) > held):
            return  # perhaps somebody else has asked by now
        if self._held:
            self._settle()
            return
        if heard:
            return
        if self._tired:
            if time.monotonic() - self._rested < REST_SECONDS and self._listen(PAUSE_SECONDS):
                return
            self._at_rest()
        if self._leads():
            self._listen(TURN_SECONDS if self._shut else TICK_SECONDS if self._open else None)

    def _give_up(self, error: Exception) -> None:
        """Makes room for another process after what should not happen; meanwhile whoever asks is answered as well as can be."""
        self._journal.write(f"failed to lead: {type(error).__name__}")
        with self._lock:
            _, at = self._busy.pop(threading.get_ident(), (0.0, ()))
        for connection in at:
            connection.answer(Said.refused(f"the warm process failed with {type(error).__name__}"))
        self.leave(BROKEN)
        time.sleep(TURN_SECONDS)  # it may fail again and again

    def _listen(self, seconds: float | None) -> bool:
        """Lets in and hears whoever is there; whether somebody was."""
        events = self._selector.select(seconds)
        for key, _ in events:
            if key.data is None:
                _drain(self._calls)
            elif isinstance(key.data, Connection):
                if key.data in self._open:  # or it was sent away a moment ago, to make room for another
                    self._hear(key.data)
            else:
                self._accept(key.data)
            if not self._leads():
                break
        return bool(events)

    def _accept(self, door: Door) -> None:
        for _ in range(AT_ONCE):
            try:
                sock = door.accept()
            except (BlockingIOError, InterruptedError):
                return
            except OSError as error:
                if self._shut:
                    self._selector.unregister(door.sock)
                    self._doors.remove(door)
                # No descriptor is left, most likely: whoever came first and has not asked yet makes room.
                elif not self._give_up_oldest("too many clients at once"):
                    self._journal.write(f"cannot accept: {error}")
                    time.sleep(TURN_SECONDS)
                return
            self._admit(door, sock)
            if not self._leads():
                return

    def _admit(self, door: Door, sock: socket.socket) -> None:
        now = self._last = time.monotonic()
        try:
            connection = door.admit(sock, now)
        except Exception as error:
            if not isinstance(error, OSError):
                self._journal.write(f"failed to let in: {type(error).__name__}")
            sock.close()
            return
        if connection is None:
            self.pulse.refuse()
        else:
            self._hear(connection)

    def _hear(self, connection: Connection) -> None:
        """Whatever fails, the client is told."""
        try:
            self._take_in(connection)
        except Exception as error:
            self._failed(connection, error)
            raise

    def _take_in(self, connection: Connection) -> None:
        """Takes in more of a question; whatever its bytes do, the thread goes on."""
        before = len(connection.data)
        try:
            try:
                complete = connection.feed()
            finally:
                if connection in self._open:
                    self._buffered += len(connection.data) - before
        except (BlockingIOError, InterruptedError):
            complete = False
        except protocol.Malformed as error:
            self._dismiss(connection, str(error))
            return
        except OSError:
            self._forget(connection)
            connection.close()
            return
        except Exception as error:
            self._forget(connection)
            self._failed(connection, error)
            return
        if complete:
            self._entertain(connection)
            return
        self._keep(connection)
        if self._buffered > MOST_BUFFERED:
            self._dismiss(max(self._open, key=lambda each: len(each.data)), "too much is being asked at once")

    def _keep(self, connection: Connection) -> None:
        """Listens to a client until it has asked."""
        if connection in self._open:
            return
        if len(self._open) >= self._most_open:
            self._give_up_oldest("too many clients at once")
        self._open[connection] = None
        self._buffered += len(connection.data)
        self._selector.register(connection, selectors.EVENT_READ, connection)

    def _forget(self, connection: Connection) -> None:
        if connection in self._open:
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
            self._keep(connection)

    def _give_up_oldest(self, why: str) -> bool:
        oldest = next(iter(self._open), None)
        if oldest is not None:
            self._dismiss(oldest, why)
            if oldest in self._open:
                self._dismiss(oldest, why)  # its place is wanted now
        return oldest is not None

    def _look_at_clients(self) -> None:
        """Sends away whoever takes too long."""
        now = time.monotonic()
        if now - self._looked < TICK_SECONDS and not self._shut:
            return
        self._looked = now
        for connection in [each for each in self._open if each.due is not None and now > each.due]:
            self._dismiss(connection, "expected the question sooner")
        while (oldest := next(iter(self._open), None)) and now - oldest.opened > ASK_SECONDS:
            self._dismiss(oldest, f"expected the question within {ASK_SECONDS:.0f} seconds")
        while self._shut and self._open and now > self._shut + TICK_SECONDS:
            # A client whose question was not taken to its end knows that nothing was decided.
            self._give_up_oldest("the warm process is going")

    def _shut_doors(self) -> None:
        """Nobody new is let in; of those who knocked already, whoever a door still lets in."""
        self._shut = time.monotonic()
        for door in list(self._doors):
            self._selector.unregister(door.sock)
            door.close()
            if door.sock.fileno() < 0:
                self._doors.remove(door)
            else:
                self._selector.register(door.sock, selectors.EVENT_READ, door)

    # What takes its time: meanwhile the lead may pass on.

    def _entertain(self, connection: Connection) -> None:
        """Decides; the answer is held back as long as this thread leads."""
        me = threading.get_ident()
        with self._lock:
            self._busy[me] = float("inf"), (connection,)  # the lead must not pass on yet
        self._forget(connection)
        self._tired = True
        with self._lock:
            self._busy[me] = time.monotonic(), (connection,)
        pending = self._decided(connection)
        with self._lock:
            leads = self._leader == me
            if leads:
                if pending:
                    self._held.append((connection, pending))
                del self._busy[me]
        if not leads:
            if pending:
                self._say(connection, pending)
            with self._lock:
                del self._busy[me]
        elif len(self._held) >= MOST_HELD:
            self._settle()

    def _decided(self, connection: Connection) -> Pending | None:
        try:
            if connection.gone():
                connection.close()  # nobody waits for an answer, so nothing must be decided
                return None
            question = connection.question()
            return self._status() if question.host == STATUS else self._decide(question)
        except protocol.Malformed as error:
            return Pending(Said.refused(str(error)))
        except Exception as error:
            self._journal.write(f"failed: {type(error).__name__}")
            return Pending(Said.refused(f"the warm process failed with {type(error).__name__}"))

    def _settle(self) -> None:
        """Gives the answers that were held back."""
        me = threading.get_ident()
        with self._lock:
            held, self._held = self._held, []
            ours, *others = _by_log(held) if self._slow > 0.2 else [held]
            ours = [*ours, *(each for group in others if not self._put_off(group) for each in group)]
            self._busy[me] = time.monotonic(), [connection for connection, _ in ours]
        for connection, pending in ours:
            self._say(connection, pending)
        with self._lock:
            del self._busy[me]

    def _put_off(self, group: Sequence[tuple[Connection, Pending]]) -> bool:
        """Leaves the wait for one log to another thread; whether there is one. Only under the lock."""
        if self._finishers < MOST_FINISHERS:
            self._finishers += _started(self._finish_groups)
        if not self._finishers:
            return False
        self._groups_put += 1
        self._busy[-self._groups_put] = time.monotonic(), [connection for connection, _ in group]
        self._groups.put((-self._groups_put, group))
        return True

    def _finish_groups(self) -> None:
        while True:
            number, group = self._groups.get()
            for connection, pending in group:
                self._say(connection, pending)
            with self._lock:
                del self._busy[number]

    def _at_rest(self) -> None:
        me = threading.get_ident()
        self._tired, self._rested = False, time.monotonic()
        with self._lock:
            self._busy[me] = self._rested, ()
        try:
            self._rest()
        except Exception as error:
            self._journal.write(f"failed at rest: {type(error).__name__}")
        with self._lock:
            del self._busy[me]

    def _say(self, connection: Connection, pending: Pending) -> None:
        try:
            begun = time.monotonic()
            said = pending.settled()
            now = time.monotonic()
            self._slow += 0.1 * ((now - begun > SLOW_SECONDS) - self._slow)
            if said.last:
                self.leave(OTHER_VERSION)
            self.pulse.count(now - connection.asked)
            connection.answer(said)
        except Exception as error:
            self._failed(connection, error)

    def _failed(self, connection: Connection, error: Exception) -> None:
        """A thread goes on, whatever an answer was that could not be given."""
        self._journal.write(f"failed to answer: {type(error).__name__}")
        connection.answer(Said.refused(f"the warm process failed with {type(error).__name__}"))
        connection.close()

    def _status(self) -> Pending:
        with self._lock:
            pending = len(self._held) + sum(len(at) for _, at in self._busy.values())
        report = self.pulse.report(open=len(self._open), pending=pending, **self._facts())
        return Pending(Said(protocol.ANSWER, 0, json.dumps(report).encode() + b"\n"))


def _by_log(held: Sequence[tuple[Connection, Pending]]) -> list[list[tuple[Connection, Pending]]]:
    """Those together that wait for the same log."""
    groups: dict[LogFile | None, list[tuple[Connection, Pending]]] = {}
    for connection, pending in held:
        groups.setdefault(pending.written[0][0] if pending.written else None, []).append((connection, pending))
    return list(groups.values())


def _started(work: Callable[[], None]) -> bool:
    """Whether a thread does it; a system may have no room for one."""
    try:
        threading.Thread(target=work, daemon=True).start()
    except RuntimeError:
        return False
    return True


def _pipe() -> tuple[int, int]:
    read, write = os.pipe()
    os.set_blocking(read, False)
    os.set_blocking(write, False)
    return read, write


def _knock(fd: int) -> None:
    with suppress(BlockingIOError):
        os.write(fd, b"!")


def _drain(fd: int) -> None:
    with suppress(BlockingIOError):
        os.read(fd, 4096)
