"""The warm process at work: one thread leads, the first one watches over it.

The thread that leads lets clients in, hears them out and decides, one after the other: threads of one interpreter that decide at
once only get in one another's way. Answers are held back until nobody else has asked, so that the disk is waited for once. It
alone touches `_lobby`, `_heard` and `_held`.

The thread that watches (`serve`) has another one lead when a decision takes long, or the disk does: whoever has lost the lead
ends what it is at and answers that, and touches nothing else. What must be answered in time is answered by the thread that
watches while another is still at it. `Connection.answer` sees to it that the first of them is heard and the other is not.
"""

import json
import selectors
import threading
import time
from collections.abc import Callable, Sequence

from verdikt.daemon import protocol
from verdikt.daemon.connection import Connection
from verdikt.daemon.journal import Journal
from verdikt.daemon.knock import Knock
from verdikt.daemon.lead import TURN_SECONDS, Lead
from verdikt.daemon.lobby import MOST_BUFFERED, MOST_OPEN, Door, Lobby
from verdikt.daemon.pending import Pending
from verdikt.daemon.pulse import Pulse
from verdikt.daemon.question import Said
from verdikt.errors import DaemonError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from verdikt.daemon.question import Question

HUNG_SECONDS = 60.0
"""A decision that takes longer will not end: the process makes room for a new one."""

LEAVE_SECONDS = 10.0
"""How long decisions under way are waited for when the process ends."""

MOST_HELD = 8
"""How many answers are held back to wait for the disk together."""

TICK_SECONDS, IDLE_TICK_SECONDS = 1.0, 0.25

PAUSE_SECONDS, REST_SECONDS = 0.005, 0.05
"""When nobody has asked for so long there is time for what can wait; under load now and then, at the next occasion."""

HANGS, BROKEN, OTHER_VERSION = "a decision hangs", "a thread failed", "a client of another version"
"""Why a process ends that is still wanted."""

STATUS = "@status"
"""The host by whose name the command line asks how the process is."""


class Server:
    """Serves until it is told to leave, has nothing to do for long, or finds another in its place."""

    def __init__(
        self,
        doors: Sequence[Door],
        decide: "Callable[[Question], Pending]",
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
        self._decide = decide
        self._journal = journal
        self._ours = ours
        self._facts = facts
        self._idle_seconds = idle_seconds
        self._rest = rest
        self._gone = gone
        self.pulse = Pulse()
        self._why = ""
        self._last = time.monotonic()
        self._wake = Knock()
        self._waker = selectors.DefaultSelector()
        self._waker.register(self._wake, selectors.EVENT_READ)

        self._lock = threading.Lock()
        self._asked: dict[Connection, None] = {}
        """Everybody who has asked and was not answered; under the lock."""
        self._lead = Lead(self._go_on)
        self._lobby = Lobby(doors, journal, self.pulse, most_open)
        self._heard: list[Connection] = []
        """Whose question is next."""
        self._held: list[tuple[Connection, Pending]] = []
        """Decided, and not answered yet."""
        self._tired = False
        """Whether something was decided since there was time for what can wait."""
        self._rested = 0.0
        self._done = False
        """Whether everybody was answered after the doors were shut."""

    @property
    def wake_fd(self) -> int:
        """Where a signal's byte wakes the thread that watches."""
        return self._wake.write_fd

    def leave(self, why: str) -> None:
        """Lets everybody who asked have an answer, and then ends. Callable from any thread and from a signal handler."""
        self._why = self._why or why
        self._wake.ring()

    # The thread that watches.

    def serve(self) -> str:
        """Serves; why it ended."""
        if not self._lead.start():
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
        busy = self._why or self._asked or time.monotonic() - self._last < TICK_SECONDS
        if self._waker.select(TURN_SECONDS if busy else IDLE_TICK_SECONDS):
            self._wake.hear()

    def _watch(self, now: float) -> None:
        """Has another thread lead while one waits for git, for the disk or for a lock; answers those whose time is over."""
        self._lead.watch(now)
        with self._lock:
            late = [each for each in self._asked if each.due is not None and now > each.due]
        for connection in late:
            connection.due = None  # it is told once, and may be waited for long
            if connection.answer(Said.refused("the warm process did not decide in time")):
                self.pulse.refuse()

    def _look_around(self, now: float) -> None:
        with self._lock:
            oldest = min((each.asked for each in self._asked), default=now)
        if self._asked or self._lobby:
            self._last = now
        if max(now - oldest, self._lead.longest(now)) > HUNG_SECONDS:
            self.leave(HANGS)
        elif now - self._last > self._idle_seconds:
            self.leave("nothing to do")
        elif not self._ours():
            self.leave("the socket is not ours any more")

    def _finish(self) -> None:
        """Whoever has asked is answered."""
        end, told = time.monotonic() + LEAVE_SECONDS, False
        while not self._done and time.monotonic() < end:
            self._lobby.bell.ring()
            self._doze()
            self._watch(time.monotonic())
            if self._lobby.shut and not told:
                told = True
                self._gone(self._why)
        if not self._lobby.shut and self._lead.seize():
            # Whoever leads hangs and no other can: the place and the port are needed by whoever follows.
            self._take_in(self._lobby.shut_doors())
        if not told:
            self._gone(self._why)
        with self._lock:
            left = list(self._asked)
        for connection in left:
            connection.answer(Said.refused("the warm process did not decide in time"))
        self._lobby.abandon()

    # The thread that leads.

    def _go_on(self) -> None:
        """Leads until it has lost the lead; whatever fails, somebody leads."""
        while self._lead.mine():
            try:
                self._take_turn()
            except Exception as error:
                self._give_up(error)

    def _take_turn(self) -> None:
        if self._why:
            self._take_in(self._lobby.shut_doors())
        self._lobby.look()
        room = self._lead.room()
        if not self._heard or not room:
            self._take_in(self._lobby.listen(self._patience()))
        while not room and sum(len(each.data) for each in self._heard) > MOST_BUFFERED:
            self._give(self._heard.pop(), Pending(Said.refused("too much is being asked at once")))
        if self._heard and room and len(self._held) < MOST_HELD:
            self._entertain(self._heard.pop(0))
        elif self._held:
            self._settle()
        elif self._tired:
            self._at_rest()
        elif self._lobby.shut and self._lobby.deserted() and not self._asked:
            self._done = True
            self._wake.ring()

    def _patience(self) -> float | None:
        """How long to wait for somebody to ask."""
        if self._held:
            return 0
        if self._tired:
            return PAUSE_SECONDS if time.monotonic() - self._rested < REST_SECONDS else 0
        if self._why or self._heard:
            return TURN_SECONDS
        return TICK_SECONDS if self._lobby else None

    def _take_in(self, heard: list[Connection]) -> None:
        if heard:
            with self._lock:
                self._asked.update(dict.fromkeys(heard))
            self._heard += heard
            self._last = time.monotonic()

    def _give_up(self, error: Exception) -> None:
        """Makes room for another process after what should not happen; meanwhile whoever asks is answered as well as can be."""
        self._journal.write(f"failed to lead: {type(error).__name__}")
        self._lead.take_back()
        self.leave(BROKEN)
        time.sleep(TURN_SECONDS)  # it may fail again and again

    # What takes its time: meanwhile the lead may pass on.

    def _entertain(self, connection: Connection) -> None:
        """Decides; the answer is held back as long as this thread leads."""
        self._tired = True
        self._lead.lend()
        pending = self._decided(connection)
        if self._lead.take_back():
            self._held.append((connection, pending))
        else:
            self._give(connection, pending)
            self._tired = True
            self._lobby.bell.ring()  # there is something to do at rest that the one who leads does not know of

    def _decided(self, connection: Connection) -> Pending:
        try:
            if connection.gone():  # nobody waits for an answer, so nothing must be decided
                return Pending(Said.refused("the client went away"))
            question = connection.question()
            return self._status() if question.host == STATUS else self._decide(question)
        except protocol.Malformed as error:
            return Pending(Said.refused(str(error)))
        except Exception as error:
            self._journal.write(f"failed: {type(error).__name__}")
            return Pending(Said.refused(f"the warm process failed with {type(error).__name__}"))

    def _settle(self) -> None:
        """Gives the answers that were held back."""
        held, self._held = self._held, []
        self._lead.lend()
        for connection, pending in held:
            self._give(connection, pending)
        self._lead.take_back()

    def _at_rest(self) -> None:
        self._tired, self._rested = False, time.monotonic()
        self._lead.lend()
        try:
            self._rest()
        except Exception as error:
            self._journal.write(f"failed at rest: {type(error).__name__}")
        self._lead.take_back()

    def _give(self, connection: Connection, pending: Pending) -> None:
        """Answers, once that may be; a thread goes on, whatever an answer was that could not be given."""
        try:
            said = pending.settled()
            if said.last:
                self.leave(OTHER_VERSION)
            if said.kind == protocol.REFUSED:
                self.pulse.refuse()
            else:
                self.pulse.count(time.monotonic() - connection.asked)
            connection.answer(said)
        except Exception as error:
            self._journal.write(f"failed to answer: {type(error).__name__}")
            connection.answer(Said.refused(f"the warm process failed with {type(error).__name__}"))
            connection.close()
        finally:
            with self._lock:
                self._asked.pop(connection, None)

    def _status(self) -> Pending:
        report = self.pulse.report(open=len(self._lobby), pending=len(self._asked) - 1, **self._facts())
        return Pending(Said(protocol.ANSWER, 0, json.dumps(report).encode() + b"\n"))
