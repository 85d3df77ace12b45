"""Decides for several users: each has a log of their own, signed with this process's key.

Files are read with the rights of the user who asks, or not at all.
"""

import ctypes
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from importlib import metadata
from typing import Any

from verdikt import __version__
from verdikt.daemon.deferred_reply import DeferredReply
from verdikt.daemon.hook_service import NON_PATH_VARIABLES, HookService
from verdikt.daemon.options import USERS_DIRECTORY
from verdikt.daemon.request import DaemonReply, HookRequest, Peer
from verdikt.errors import PolicyError
from verdikt.evidence.section import EvidenceSettings
from verdikt.govern import Governance
from verdikt.graph.policy import Policy
from verdikt.model.distribution import DISTRIBUTION_NAME
from verdikt.model.path_set import PathSet
from verdikt.model.world import GitFact, PathFact
from verdikt.observe.git_repository import use_git_user
from verdikt.observe.guarded_paths import list_guarded_paths
from verdikt.observe.policy_files import MANAGED_POLICY_PATH, list_policy_places
from verdikt.observe.world import RealWorld, find_project_root

# Replaces the PATH of the peer, which could name any program.
SAFE_PATH = "/usr/local/bin:/usr/bin:/bin"

# Variables that only the operator may set; the peer's are ignored.
OPERATOR_VARIABLES = ("PATH", "VERDIKT_HOME", "XDG_DATA_HOME", "VERDIKT_RUNS_DIR")


class PeerRights:
    """What may be read on behalf of a peer.

    Root reads with the peer's rights; any other user reads what it can, except its own files.
    """

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    @contextmanager
    def assume(self) -> Iterator[None]:
        """Let this thread read files with the peer's rights, if this process is root."""
        if os.geteuid() != 0:
            yield
            return
        libc = ctypes.CDLL(None)
        # Both calls return the previous id, which is not always root's: contexts may be nested.
        previous_gid = libc.setfsgid(self._peer.gid)
        previous_uid = libc.setfsuid(self._peer.uid)
        try:
            # They report no error, so a second call with an invalid id has to tell which id is in force.
            if libc.setfsuid(-1) != self._peer.uid or libc.setfsgid(-1) != self._peer.gid:
                raise PermissionError("cannot take on the rights of the peer")
            yield
        finally:
            libc.setfsuid(previous_uid)
            libc.setfsgid(previous_gid)

    @contextmanager
    def assume_for_path(self, path: str) -> Iterator[None]:
        """Let this thread read a path with the peer's rights; raise `PermissionError` for a file of this process."""
        with self.assume():
            if self.is_own_file(path):
                raise PermissionError("a file of the warm process")
            yield

    def is_own_file(self, path: str) -> bool:
        """Return whether a file belongs to this process's user, who must not read it for others."""
        own_uid = os.geteuid()
        try:
            return own_uid != 0 and os.stat(path).st_uid == own_uid
        except (OSError, ValueError):
            return False


class PeerWorld:
    """A `World` that shows what a peer may read."""

    def __init__(self, world: RealWorld, rights: PeerRights) -> None:
        self._world = world
        self._rights = rights

    def place(self) -> Mapping[str, Any]:
        """Return where and when the action happens."""
        with self._rights.assume():
            return self._world.place()

    def path(self, path: str, *, git: bool = True) -> PathFact:
        """Return what is at an absolute path, and what git knows of it."""
        with self._rights.assume():
            return self._world.path(path, git=git)

    def text(self, path: str) -> str | None:
        """Return the text of a small regular file."""
        with self._rights.assume():
            return None if self._rights.is_own_file(path) else self._world.text(path)

    def content_stamp(self, path: str) -> str:
        """Return the beginning of a file's digest."""
        with self._rights.assume():
            return "" if self._rights.is_own_file(path) else self._world.content_stamp(path)

    def modification_time(self, path: str) -> float:
        """Return when a file was last written."""
        with self._rights.assume():
            return self._world.modification_time(path)

    def guarded_in(self, path_set: PathSet) -> tuple[str, ...] | None:
        """Return the guarded paths that a set would change, as far as the peer may read it."""
        with self._rights.assume():
            return self._world.guarded_in(path_set)

    def git(self, directory: str) -> GitFact:
        """Return the repository around a directory."""
        with self._rights.assume():
            return self._world.git(directory)


class SystemHookService(HookService):
    """Answers each user from a data directory of their own: `<home>/users/<uid>`."""

    def decide_request(self, request: HookRequest) -> DeferredReply:
        """Decide a request; git is run as the peer, or not at all."""
        if request.version != __version__ and request.version != _get_installed_version():
            # Stopping would not help, and any user could use it to keep the others from being answered.
            return DeferredReply(
                DaemonReply.refusal(
                    f"the warm process is of version {__version__}, this hook of {request.version}: "
                    "install the same for both"
                )
            )
        with use_git_user(request.peer.uid, request.peer.gid):
            return super().decide_request(replace(request, env=self._build_env(request)))

    def _is_own_data(self, request: HookRequest) -> bool:
        """Return True: `_build_env` decides where the data of each request is."""
        return True

    def _build_env(self, request: HookRequest) -> dict[str, str]:
        env = {
            name: value if name in NON_PATH_VARIABLES or not value else os.path.join(request.cwd or "/", value)
            for name, value in request.env.items()
            if name not in OPERATOR_VARIABLES
        }
        return env | {"PATH": SAFE_PATH, "VERDIKT_HOME": str(self.home / USERS_DIRECTORY / str(request.peer.uid))}

    def _load_governance(self, cwd: str, request: HookRequest) -> Governance:
        rights, env = PeerRights(request.peer), request.env
        with rights.assume():
            for _, path in list_policy_places(cwd, env):
                if path != MANAGED_POLICY_PATH and rights.is_own_file(path):
                    raise PolicyError("expected a file of the user's own, found one of the warm process", where=path)
        store = self.stores.get_store(env)
        policy = self.policies.load_policy(cwd, env, Peer(request.peer.uid, request.peer.gid), rights.assume)

        def create_world(directory: str) -> PeerWorld:
            cwd = os.path.abspath(os.path.join(request.cwd, directory))
            with rights.assume():
                project_root = find_project_root(cwd, env.get("HOME", ""))
                guarded = list_guarded_paths(project_root, env)
                return PeerWorld(RealWorld(cwd, env=env, guarded=guarded, clock=self.clock), rights)

        governance = Governance(
            policy,
            store,
            world_factory=create_world,
            clock=self.clock,
            env=env,
            base_directory=request.cwd,
            path_access=rights.assume_for_path,
        )
        governance.evidence_gate.settings = _restrict_output_paths(governance.evidence_gate.settings, policy)
        return governance


def _restrict_output_paths(settings: EvidenceSettings, policy: Policy) -> EvidenceSettings:
    """Return the settings with only those output files that the operator has named by an absolute path.

    They are written with this process's rights, and `~` would be the home directory that the peer has named.
    """
    top_layer = policy.layers[0]
    section = top_layer.section("evidence") if top_layer.file == MANAGED_POLICY_PATH else None
    paths = {name: getattr(section, name, "") for name in ("memory", "notices")}
    absolute_paths: dict[str, Any] = {name: path if path.startswith("/") else "" for name, path in paths.items()}
    return replace(settings, **absolute_paths)


def _get_installed_version() -> str:
    """Return the version that is installed now, which an upgrade may have changed since this process started."""
    try:
        return metadata.version(DISTRIBUTION_NAME)
    except metadata.PackageNotFoundError:
        return ""
