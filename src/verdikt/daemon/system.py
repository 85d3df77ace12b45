"""Deciding for other users: their logs apart and under this process's key, their files seen with their rights or not at all."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

from verdikt import __version__
from verdikt.daemon.pending import Pending
from verdikt.daemon.question import Peer, Question, Said
from verdikt.daemon.warm import NOT_PATHS, Warm
from verdikt.errors import PolicyError
from verdikt.evidence.section import EvidenceSettings
from verdikt.govern import Governance
from verdikt.graph.policy import Policy
from verdikt.model.facts import GitFact, PathFact
from verdikt.model.value import replace
from verdikt.observe.clock import Clock
from verdikt.observe.git import git_as
from verdikt.observe.guarded import guarded_paths
from verdikt.observe.policy import MANAGED, policy_places
from verdikt.observe.world import RealWorld, project_root

PATH = "/usr/local/bin:/usr/bin:/bin"
"""Where programs are looked for: a peer's own path could name anything."""

OWN = ("PATH", "VERDIKT_HOME", "XDG_DATA_HOME", "VERDIKT_RUNS_DIR")
"""Variables in which no peer has a say."""


class Rights:
    """What may be read for a peer. Root reads with the peer's rights; another user whatever it can, but its own files."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    @contextmanager
    def held(self) -> Iterator[None]:
        """Inside, this thread reads files as the peer would, if it can put on its rights."""
        me = os.geteuid()
        if me != 0:
            yield
            return
        import ctypes

        libc = ctypes.CDLL(None)
        group = libc.setfsgid(self._peer.gid)
        user = libc.setfsuid(self._peer.uid)  # who it was before: what is held may be held again inside
        try:
            if libc.setfsuid(-1) != self._peer.uid or libc.setfsgid(-1) != self._peer.gid:
                raise PermissionError("cannot take on the rights of the peer")
            yield
        finally:
            libc.setfsuid(user)
            libc.setfsgid(group)

    @contextmanager
    def look(self, path: str) -> Iterator[None]:
        """Inside, what is at a path is read as the peer would; `PermissionError` when it belongs to this process."""
        with self.held():
            if self.ours(path):
                raise PermissionError("a file of the warm process")
            yield

    def ours(self, path: str) -> bool:
        """Whether a file belongs to this process, which must not read it for others."""
        me = os.geteuid()
        try:
            return me != 0 and os.stat(path).st_uid == me
        except (OSError, ValueError):
            return False


class PeerWorld:
    """The world as a peer may see it."""

    def __init__(self, world: RealWorld, rights: Rights) -> None:
        self._world = world
        self._rights = rights

    def place(self) -> Mapping[str, Any]:
        """Where and when."""
        with self._rights.held():
            return self._world.place()

    def path(self, path: str, *, git: bool = True) -> PathFact:
        """What is at an absolute path, and what git knows of it."""
        with self._rights.held():
            return self._world.path(path, git=git)

    def text(self, path: str) -> str | None:
        """The text of a small regular file."""
        with self._rights.held():
            return None if self._rights.ours(path) else self._world.text(path)

    def stamp(self, path: str) -> str:
        """The beginning of a file's digest."""
        with self._rights.held():
            return "" if self._rights.ours(path) else self._world.stamp(path)

    def changed(self, path: str) -> float:
        """When a file was last written."""
        with self._rights.held():
            return self._world.changed(path)

    def git(self, directory: str) -> GitFact:
        """The repository around a directory."""
        with self._rights.held():
            return self._world.git(directory)


class SystemWarm(Warm):
    """Answers every user from data of its own: `<home>/users/<uid>`."""

    def __init__(self, home: Path, clock: Clock | None = None) -> None:
        super().__init__(home, clock)

    def decide(self, question: Question) -> Pending:
        """What the client must say. git is run as the peer, or not at all."""
        if question.version != __version__ and question.version != _installed():
            # Leaving would be no help, and a way for every user to keep the others without an answer.
            return Pending(
                Said.refused(
                    f"the warm process is of version {__version__}, this hook of {question.version}: install the same for both"
                )
            )
        with git_as(question.peer.uid, question.peer.gid):
            return super().decide(replace(question, env=self._env(question)))

    def _at_home(self, question: Question) -> bool:
        """Always: `_env` says where the data of every question lies."""
        return True

    def _env(self, question: Question) -> dict[str, str]:
        env = {
            name: value if name in NOT_PATHS or not value else os.path.join(question.cwd or "/", value)
            for name, value in question.env.items()
            if name not in OWN
        }
        return env | {"PATH": PATH, "VERDIKT_HOME": str(self.home / "users" / str(question.peer.uid))}

    def _govern(self, cwd: str, question: Question) -> Governance:
        rights, env = Rights(question.peer), question.env
        with rights.held():
            for _, path in policy_places(cwd, env):
                if path != MANAGED and rights.ours(path):
                    raise PolicyError("expected a file of the user's own, found one of the warm process", where=path)
            policy = self.policies.at(cwd, env, Peer(question.peer.uid, question.peer.gid))

        def see(directory: str) -> PeerWorld:
            here = os.path.abspath(os.path.join(question.cwd, directory))
            with rights.held():
                root = project_root(here, env.get("HOME", ""))
                guarded = guarded_paths(root, env)
                return PeerWorld(RealWorld(here, env=env, guarded=guarded, clock=self.clock), rights)

        store = self.stores.of(env)
        made = Governance(policy, store, see=see, clock=self.clock, env=env, here=question.cwd, look=rights.look)
        made.proving.settings = _written_by_us(made.proving.settings, policy)
        return made


def _written_by_us(settings: EvidenceSettings, policy: Policy) -> EvidenceSettings:
    """Files are written with this process's rights, so only the operator may name them, and not by a home that a peer names."""
    top = policy.layers[0]
    said = top.section("evidence") if top.file == MANAGED else None
    named = {name: getattr(said, name, "") for name in ("memory", "notices")}
    return replace(settings, **{name: path if path.startswith("/") else "" for name, path in named.items()})


def _installed() -> str:
    """The version that lies on the disk now, which an upgrade may have changed."""
    try:
        return metadata.version("verdikt")
    except metadata.PackageNotFoundError:
        return ""
