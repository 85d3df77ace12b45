"""Deciding in a process that is warm already: as the hook process would, with the client's environment and directory."""

import os
import subprocess
import sys
from collections.abc import Hashable, Mapping
from functools import lru_cache
from pathlib import Path

import verdikt
from verdikt import __version__
from verdikt.daemon import client, protocol
from verdikt.daemon.cache import LRUCache, PolicyCache, StorePool
from verdikt.daemon.deferred_reply import DeferredReply
from verdikt.daemon.request import DaemonReply, HookRequest
from verdikt.decide import decide
from verdikt.errors import VerdiktError
from verdikt.govern import Governance
from verdikt.hosts.hook_call import HookCall
from verdikt.hosts.hook_event import HookEventKind
from verdikt.hosts.hook_response import HookResponse
from verdikt.hosts.registry import HOSTS, load_adapter
from verdikt.ledger.data_location import find_data_directory
from verdikt.ledger.group_commit import GroupCommit
from verdikt.model.action import Action
from verdikt.model.facts import Facts
from verdikt.model.posture import Posture
from verdikt.model.session_state import SessionState
from verdikt.model.tool_kind import classify_tool
from verdikt.observe.clock import Clock, SystemClock
from verdikt.observe.world import RealWorld

MAX_GOVERNANCES = 128

GROUP_COMMIT_KINDS = (HookEventKind.BEFORE, HookEventKind.PERMISSION, HookEventKind.AFTER)
"""The moments whose entries may wait for the disk with those of others: nothing but the answer follows from them."""

NON_PATH_VARIABLES = frozenset(["PATH", "USER", "LOGNAME", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ATTENDED"])
"""The variables that name no place; all others must be absolute, or mean something only in the client's own directory."""


class HookService:
    """Answers questions about one data directory. Whatever fails is the answer that a failing hook process would have given."""

    def __init__(self, home: Path, clock: Clock | None = None, package_file: str = verdikt.__file__) -> None:
        self.home = home
        self._home_path = str(home)
        self.clock = clock or SystemClock()
        self._package_file = package_file
        self._package_stamp = _get_file_fingerprint(package_file)
        self.policies = PolicyCache(self.clock)
        self._group_commit = GroupCommit()
        self.stores = StorePool(self.clock, self._group_commit)
        self._governances: LRUCache[tuple[Hashable, ...], Governance] = LRUCache(MAX_GOVERNANCES)

    def answer_request(self, request: HookRequest) -> DaemonReply:
        """What the client must say. A decision is in the log, on the disk, before it is returned."""
        return self.decide_request(request).wait_until_durable()

    def decide_request(self, request: HookRequest) -> DeferredReply:
        """What the client must say, once it is on the disk."""
        # An upgrade counts from the next call on, whatever version the client is of: it may be left from before as well.
        if _get_file_fingerprint(self._package_file) != self._package_stamp:
            return DeferredReply(DaemonReply(protocol.KIND_RETRY, ends_process=True))
        if request.version != __version__:
            # A native client was left from before, and the hook process that it turns to is what is installed.
            return DeferredReply(
                DaemonReply(protocol.KIND_RETRY, ends_process=request.client_kind == protocol.PYTHON_CLIENT)
            )
        if not self._is_own_data(request):
            away = f"expected a question about `{self.home}`, found one about another data directory"
            return DeferredReply(DaemonReply.refusal(away))
        if not _has_absolute_paths(tuple(request.env.items())):
            return DeferredReply(_run_hook_process(request))
        call = HookCall([request.host, request.event, request.argument], request.env, request.cwd)

        def load_governance(cwd: str, _: Mapping[str, str]) -> Governance:
            if call.hook_event and call.hook_event.kind in GROUP_COMMIT_KINDS:
                self._group_commit.begin_batch()
            return self._load_governance(cwd, request)

        note = ""
        try:
            reply = call.decide_payload(request.payload, load_governance)
        except Exception as error:
            reply, note = call.build_failure_response(error), self._record_failure(call, error)
        finally:
            written = self._group_commit.end_batch()
        return DeferredReply(
            _to_daemon_reply(reply, note),
            written,
            lambda error: _to_daemon_reply(call.build_unrecorded_response(error), self._record_failure(call, error)),
        )

    def run_maintenance(self) -> None:
        """Does what was put off, while nobody asks."""
        self.stores.record_heads()

    def warm_up(self, env: Mapping[str, str]) -> None:
        """Loads what decisions need, so that the first one is as fast as the others."""
        for host in HOSTS:
            load_adapter(host)
        try:
            policy = self.policies.load_policy("/", env)
            for tool, payload in _WARM_UP_CALLS:
                action = Action(kind=classify_tool(tool), tool=tool, payload=payload, cwd="/")
                decide(action, Facts(RealWorld("/", env=env)), SessionState("warm-up"), Posture.INTERACTIVE, policy)
            keyring = self.stores.get_store(env).keyring
            if keyring.current_kid():  # the first key is made when something is first signed, and not before
                keyring.get_signing_key()
        except VerdiktError:
            return  # whoever asks will be told

    def close(self) -> None:
        """Lets go of every file."""
        self.stores.close()

    def _is_own_data(self, request: HookRequest) -> bool:
        """Whether a question is about the data directory of this process, however it is spelt."""
        place = find_data_directory(request.env)
        if place == self._home_path:
            return True
        try:
            return place.startswith("/") and os.path.samefile(place, self.home)
        except (OSError, ValueError):
            return False

    def _load_governance(self, cwd: str, request: HookRequest) -> Governance:
        policy, store = self.policies.load_policy(cwd, request.env), self.stores.get_store(request.env)
        # By identity: what is kept holds on to its policy and its store, so that no other can have it.
        key = (id(policy), id(store), request.cwd, *request.env.items())
        found = self._governances.get(key)
        if found is None:
            made = Governance(policy, store, clock=self.clock, env=request.env, base_directory=request.cwd)
            found = self._governances.put_if_absent(key, made)
        return found

    def _record_failure(self, call: HookCall, error: Exception) -> str:
        """Leaves a trace of a failure, or else says so."""
        try:
            recorded = call.record_failure(error)
        except VerdiktError:
            recorded = False
        return "" if recorded else f"verdikt: {type(error).__name__}\n"


_WARM_UP_CALLS: tuple[tuple[str, dict[str, str]], ...] = (
    ("Bash", {"command": "cd src && git status | head -3; make test > out.txt"}),
    ("Read", {"file_path": "/nowhere/a.txt"}),
    ("Write", {"file_path": "/nowhere/a.txt", "content": "x"}),
    ("Edit", {"file_path": "/nowhere/a.txt", "old_string": "a", "new_string": "b"}),
)


def _to_daemon_reply(reply: HookResponse, note: str = "") -> DaemonReply:
    words = f"{reply.stderr}\n" if reply.stderr else ""
    err = f"{note}{words}".encode("utf-8", "replace")
    return DaemonReply(protocol.KIND_ANSWER, reply.exit_code, reply.stdout.encode("ascii") + b"\n", err)


@lru_cache(maxsize=64)
def _has_absolute_paths(env: tuple[tuple[str, str], ...]) -> bool:
    """Whether every variable means the same wherever one stands."""
    return all(value[:1] in ("", "/") for name, value in env if name not in NON_PATH_VARIABLES)


def _get_file_fingerprint(path: str) -> tuple[int, int, int]:
    """What changes when a file is replaced; zeros when it is gone."""
    try:
        found = os.stat(path)
    except OSError:
        return 0, 0, 0
    return found.st_ino, found.st_mtime_ns, found.st_size


def _run_hook_process(request: HookRequest) -> DaemonReply:
    """The answer of a hook process, for the client whose variables mean something only where it stands."""
    words = [request.host, request.event, request.argument]
    try:
        done = subprocess.run(
            [sys.executable, *client.get_python_flags(), "-m", "verdikt.hosts.hook", *words],
            cwd=request.cwd or "/",
            env={**request.env, "VERDIKT_DAEMON": "off"},
            input=request.payload,
            capture_output=True,
            timeout=15,
            check=False,
        )
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return DaemonReply.refusal(f"the hook could not be run: {type(error).__name__}")
    if done.returncode not in (0, 2) or not done.stdout.startswith(b"{"):
        return DaemonReply.refusal("the hook did not work")
    return DaemonReply(protocol.KIND_ANSWER, done.returncode, done.stdout, done.stderr)
