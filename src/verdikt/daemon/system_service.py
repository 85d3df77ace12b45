"""Deciding for other users: their logs apart and under this process's key, their files seen with their rights or not at all."""

import ctypes
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

from verdikt import __version__
from verdikt.daemon.deferred_reply import DeferredReply
from verdikt.daemon.hook_service import NON_PATH_VARIABLES, HookService
from verdikt.daemon.request import DaemonReply, HookRequest, Peer
from verdikt.errors import PolicyError
from verdikt.evidence.section import EvidenceSettings
from verdikt.govern import Governance
from verdikt.graph.policy import Policy
from verdikt.model.facts import GitFact, PathFact
from verdikt.observe.clock import Clock
from verdikt.observe.git_repository import use_git_user
from verdikt.observe.guarded_paths import list_guarded_paths
from verdikt.observe.policy_files import MANAGED_POLICY_PATH, list_policy_places
from verdikt.observe.world import RealWorld, find_project_root

SAFE_PATH = "/usr/local/bin:/usr/bin:/bin"
"""Where programs are looked for: a peer's own path could name anything."""

OPERATOR_VARIABLES = ("PATH", "VERDIKT_HOME", "XDG_DATA_HOME", "VERDIKT_RUNS_DIR")
"""Variables in which no peer has a say."""


class PeerRights:
    """What may be read for a peer. Root reads with the peer's rights; another user whatever it can, but its own files."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    @contextmanager
    def assume(self) -> Iterator[None]:
        """Inside, this thread reads files as the peer would, if it can put on its rights."""
        me = os.geteuid()
        if me != 0:
            yield
            return

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
    def assume_for_path(self, path: str) -> Iterator[None]:
        """Inside, what is at a path is read as the peer would; `PermissionError` when it belongs to this process."""
        with self.assume():
            if self.is_own_file(path):
                raise PermissionError("a file of the warm process")
            yield

    def is_own_file(self, path: str) -> bool:
        """Whether a file belongs to this process, which must not read it for others."""
        me = os.geteuid()
        try:
            return me != 0 and os.stat(path).st_uid == me
        except (OSError, ValueError):
            return False


class PeerWorld:
    """The world as a peer may see it."""

    def __init__(self, world: RealWorld, rights: PeerRights) -> None:
        self._world = world
        self._rights = rights

    def place(self) -> Mapping[str, Any]:
        """Where and when."""
        with self._rights.assume():
            return self._world.place()

    def path(self, path: str, *, git: bool = True) -> PathFact:
        """What is at an absolute path, and what git knows of it."""
        with self._rights.assume():
            return self._world.path(path, git=git)

    def text(self, path: str) -> str | None:
        """The text of a small regular file."""
        with self._rights.assume():
            return None if self._rights.is_own_file(path) else self._world.text(path)

    def content_stamp(self, path: str) -> str:
        """The beginning of a file's digest."""
        with self._rights.assume():
            return "" if self._rights.is_own_file(path) else self._world.content_stamp(path)

    def modification_time(self, path: str) -> float:
        """When a file was last written."""
        with self._rights.assume():
            return self._world.modification_time(path)

    def git(self, directory: str) -> GitFact:
        """The repository around a directory."""
        with self._rights.assume():
            return self._world.git(directory)


class SystemHookService(HookService):
    """Answers every user from data of its own: `<home>/users/<uid>`."""

    def __init__(self, home: Path, clock: Clock | None = None) -> None:
        super().__init__(home, clock)

    def decide_request(self, request: HookRequest) -> DeferredReply:
        """What the client must say. git is run as the peer, or not at all."""
        if request.version != __version__ and request.version != _get_installed_version():
            # Leaving would be no help, and a way for every user to keep the others without an answer.
            return DeferredReply(
                DaemonReply.refusal(
                    f"the warm process is of version {__version__}, this hook of {request.version}: install the same for both"
                )
            )
        with use_git_user(request.peer.uid, request.peer.gid):
            return super().decide_request(replace(request, env=self._build_env(request)))

    def _is_own_data(self, request: HookRequest) -> bool:
        """Always: `_env` says where the data of every question lies."""
        return True

    def _build_env(self, request: HookRequest) -> dict[str, str]:
        env = {
            name: value if name in NON_PATH_VARIABLES or not value else os.path.join(request.cwd or "/", value)
            for name, value in request.env.items()
            if name not in OPERATOR_VARIABLES
        }
        return env | {"PATH": SAFE_PATH, "VERDIKT_HOME": str(self.home / "users" / str(request.peer.uid))}

    def _load_governance(self, cwd: str, request: HookRequest) -> Governance:
        rights, env = PeerRights(request.peer), request.env
        with rights.assume():
            for _, path in list_policy_places(cwd, env):
                if path != MANAGED_POLICY_PATH and rights.is_own_file(path):
                    raise PolicyError("expected a file of the user's own, found one of the warm process", where=path)
            policy = self.policies.load_policy(cwd, env, Peer(request.peer.uid, request.peer.gid))

        def create_world(directory: str) -> PeerWorld:
            here = os.path.abspath(os.path.join(request.cwd, directory))
            with rights.assume():
                root = find_project_root(here, env.get("HOME", ""))
                guarded = list_guarded_paths(root, env)
                return PeerWorld(RealWorld(here, env=env, guarded=guarded, clock=self.clock), rights)

        store = self.stores.get_store(env)
        made = Governance(
            policy,
            store,
            world_factory=create_world,
            clock=self.clock,
            env=env,
            base_directory=request.cwd,
            path_access=rights.assume_for_path,
        )
        made.evidence_gate.settings = _restrict_output_paths(made.evidence_gate.settings, policy)
        return made


def _restrict_output_paths(settings: EvidenceSettings, policy: Policy) -> EvidenceSettings:
    """Files are written with this process's rights, so only the operator may name them, and not by a home that a peer names."""
    top = policy.layers[0]
    said = top.section("evidence") if top.file == MANAGED_POLICY_PATH else None
    named = {name: getattr(said, name, "") for name in ("memory", "notices")}
    paths: dict[str, Any] = {name: path if path.startswith("/") else "" for name, path in named.items()}
    return replace(settings, **paths)


def _get_installed_version() -> str:
    """The version that lies on the disk now, which an upgrade may have changed."""
    try:
        return metadata.version("verdikt")
    except metadata.PackageNotFoundError:
        return ""
