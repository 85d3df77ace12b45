"""Deciding in a process that is warm already: as the hook process would, with the client's environment and directory."""

import os
import subprocess
import sys
from collections.abc import Hashable, Mapping
from functools import lru_cache
from pathlib import Path

import verdikt
from verdikt import __version__, adapters
from verdikt.adapters.call import HookCall
from verdikt.adapters.moment import MomentKind
from verdikt.adapters.reply import Reply
from verdikt.daemon import client, protocol
from verdikt.daemon.held import HeldPolicies, HeldStores, Newest
from verdikt.daemon.pending import Pending
from verdikt.daemon.question import Question, Said
from verdikt.errors import VerdiktError
from verdikt.govern import Governance
from verdikt.ledger.later import Later
from verdikt.ledger.place import data_place
from verdikt.observe.clock import Clock, SystemClock

MOST_GOVERNANCES = 128

PUT_OFF = (MomentKind.BEFORE, MomentKind.PERMISSION, MomentKind.AFTER)
"""The moments whose entries may wait for the disk with those of others: nothing but the answer follows from them."""

NOT_PATHS = frozenset(["PATH", "USER", "LOGNAME", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ATTENDED"])
"""The variables that name no place; all others must be absolute, or mean something only in the client's own directory."""


class Warm:
    """Answers questions about one data directory. Whatever fails is the answer that a failing hook process would have given."""

    def __init__(self, home: Path, clock: Clock | None = None, package: str = verdikt.__file__) -> None:
        self.home = home
        self._place = str(home)
        self.clock = clock or SystemClock()
        self._package = package
        self._installed = _print(package)
        self.policies = HeldPolicies(self.clock)
        self._later = Later()
        self.stores = HeldStores(self.clock, self._later)
        self._governances: Newest[tuple[Hashable, ...], Governance] = Newest(MOST_GOVERNANCES)

    def answer(self, question: Question) -> Said:
        """What the client must say. A decision is in the log, on the disk, before it is returned."""
        return self.decide(question).settled()

    def decide(self, question: Question) -> Pending:
        """What the client must say, once it is on the disk."""
        # An upgrade counts from the next call on, whatever version the client is of: it may be left from before as well.
        if _print(self._package) != self._installed:
            return Pending(Said(protocol.AGAIN, last=True))
        if question.version != __version__:
            # A native client was left from before, and the hook process that it turns to is what is installed.
            return Pending(Said(protocol.AGAIN, last=question.asker == protocol.PYTHON))
        if not self._at_home(question):
            away = f"expected a question about `{self.home}`, found one about another data directory"
            return Pending(Said.refused(away))
        if not _fixed(tuple(question.env.items())):
            return Pending(_elsewhere(question))
        call = HookCall([question.host, question.event, question.argument], question.env, question.cwd)

        def govern(cwd: str, _: Mapping[str, str]) -> Governance:
            if call.moment and call.moment.kind in PUT_OFF:
                self._later.begin()
            return self._govern(cwd, question)

        note = ""
        try:
            reply = call.decide(question.payload, govern)
        except Exception as error:
            reply, note = call.failure(error), self._noted(call, error)
        finally:
            written = self._later.end()
        return Pending(_said(reply, note), written, lambda error: _said(call.lost(error), self._noted(call, error)))

    def rest(self) -> None:
        """Does what was put off, while nobody asks."""
        self.stores.record()

    def warm_up(self, env: Mapping[str, str]) -> None:
        """Loads what decisions need, so that the first one is as fast as the others."""
        from verdikt.decide import decide
        from verdikt.model.action import Action
        from verdikt.model.facts import Facts
        from verdikt.model.posture import Posture
        from verdikt.model.session import SessionState
        from verdikt.model.tool import kind_of
        from verdikt.observe.world import RealWorld

        for host in adapters.HOSTS:
            adapters.host(host)
        try:
            policy = self.policies.at("/", env)
            for tool, payload in _SAMPLES:
                action = Action(kind=kind_of(tool), tool=tool, payload=payload, cwd="/")
                decide(action, Facts(RealWorld("/", env=env)), SessionState("warm-up"), Posture.INTERACTIVE, policy)
            keyring = self.stores.of(env).keyring
            if keyring.current_kid():  # the first key is made when something is first signed, and not before
                keyring.current()
        except VerdiktError:
            return  # whoever asks will be told

    def close(self) -> None:
        """Lets go of every file."""
        self.stores.close()

    def _at_home(self, question: Question) -> bool:
        """Whether a question is about the data directory of this process, however it is spelt."""
        place = data_place(question.env)
        if place == self._place:
            return True
        try:
            return place.startswith("/") and os.path.samefile(place, self.home)
        except (OSError, ValueError):
            return False

    def _govern(self, cwd: str, question: Question) -> Governance:
        policy, store = self.policies.at(cwd, question.env), self.stores.of(question.env)
        # By identity: what is kept holds on to its policy and its store, so that no other can have it.
        key = (id(policy), id(store), question.cwd, *question.env.items())
        found = self._governances.get(key)
        if found is None:
            made = Governance(policy, store, clock=self.clock, env=question.env, here=question.cwd)
            found = self._governances.keep(key, made)
        return found

    def _noted(self, call: HookCall, error: Exception) -> str:
        """Leaves a trace of a failure, or else says so."""
        try:
            recorded = call.record(error)
        except VerdiktError:
            recorded = False
        return "" if recorded else f"verdikt: {type(error).__name__}\n"


_SAMPLES: tuple[tuple[str, dict[str, str]], ...] = (
    ("Bash", {"command": "cd src && git status | head -3; make test > out.txt"}),
    ("Read", {"file_path": "/nowhere/a.txt"}),
    ("Write", {"file_path": "/nowhere/a.txt", "content": "x"}),
    ("Edit", {"file_path": "/nowhere/a.txt", "old_string": "a", "new_string": "b"}),
)


def _said(reply: Reply, note: str = "") -> Said:
    words = f"{reply.stderr}\n" if reply.stderr else ""
    err = f"{note}{words}".encode("utf-8", "replace")
    return Said(protocol.ANSWER, reply.code, reply.stdout.encode("ascii") + b"\n", err)


@lru_cache(maxsize=64)
def _fixed(env: tuple[tuple[str, str], ...]) -> bool:
    """Whether every variable means the same wherever one stands."""
    return all(value[:1] in ("", "/") for name, value in env if name not in NOT_PATHS)


def _print(path: str) -> tuple[int, int, int]:
    """What changes when a file is replaced; zeros when it is gone."""
    try:
        found = os.stat(path)
    except OSError:
        return 0, 0, 0
    return found.st_ino, found.st_mtime_ns, found.st_size


def _elsewhere(question: Question) -> Said:
    """The answer of a hook process, for the client whose variables mean something only where it stands."""
    words = [question.host, question.event, question.argument]
    try:
        done = subprocess.run(
            [sys.executable, *client.flags(), "-m", "verdikt.adapters.entry", *words],
            cwd=question.cwd or "/",
            env={**question.env, "VERDIKT_DAEMON": "off"},
            input=question.payload,
            capture_output=True,
            timeout=15,
            check=False,
        )
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return Said.refused(f"the hook could not be run: {type(error).__name__}")
    if done.returncode not in (0, 2) or not done.stdout.startswith(b"{"):
        return Said.refused("the hook did not work")
    return Said(protocol.ANSWER, done.returncode, done.stdout, done.stderr)
