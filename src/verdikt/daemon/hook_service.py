"""Decides hook calls in the warm process, with the environment and working directory of each client."""

import os
import subprocess
import sys
from collections.abc import Hashable, Mapping
from dataclasses import replace
from functools import lru_cache
from importlib import import_module
from pathlib import Path

import verdikt
from verdikt import __version__
from verdikt.daemon import client, protocol
from verdikt.daemon.cache import LRUCache, PolicyCache, StorePool
from verdikt.daemon.deferred_reply import AwaitedReply, DeferredReply
from verdikt.daemon.request import DaemonReply, HookRequest
from verdikt.decide import decide
from verdikt.errors import VerdiktError
from verdikt.govern import Governance
from verdikt.hosts.hook_call import HookCall
from verdikt.hosts.hook_event import HookEventKind
from verdikt.hosts.hook_response import HookResponse
from verdikt.hosts.registry import HOSTS, load_adapter
from verdikt.ledger.data_directory import find_data_directory
from verdikt.ledger.group_commit import GroupCommit
from verdikt.ledger.rotation import RotationPolicy, is_rotation_due, rotate_and_record
from verdikt.model.action import Action
from verdikt.model.facts import Facts
from verdikt.model.posture import Posture
from verdikt.model.session_state import SessionState
from verdikt.model.tool_kind import classify_tool
from verdikt.observe.clock import Clock, SystemClock
from verdikt.observe.world import RealWorld

MAX_GOVERNANCES = 128

ROTATION_CHECK_SECONDS = 3600.0
"""How often the logs are looked at for rotation."""

HOOK_PROCESS_TIMEOUT_SECONDS = 15

# Events whose log entries may be synced together with those of other calls: only the reply depends on them.
GROUP_COMMIT_KINDS = (HookEventKind.BEFORE, HookEventKind.PERMISSION, HookEventKind.AFTER)

# All other sent variables are paths; a relative one has a meaning only in the client's working directory.
NON_PATH_VARIABLES = frozenset(["PATH", "USER", "LOGNAME", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ATTENDED"])

_LAZY_MODULES = (
    "verdikt.evidence.gate_service",
    "verdikt.guidance.hooks",
    "verdikt.hosts.integrity",
    "verdikt.policy",
)
"""Modules that the flow imports when it first uses them; the first prompt or stop must not wait for them."""


class HookService:
    """Answers requests about one data directory. A failure gets the reply that a failing hook process would give."""

    def __init__(self, home: Path, clock: Clock | None = None, package_file: str = verdikt.__file__) -> None:
        self.home = home
        self._home_path = str(home)
        self.clock = clock or SystemClock()
        self._package_file = package_file
        self._package_stamp = _get_file_fingerprint(package_file)
        # The start counts as a check: a process that has just started has requests waiting.
        self._rotation_checked_at = self.clock.now()
        self.policies = PolicyCache(self.clock)
        self._group_commit = GroupCommit()
        self.stores = StorePool(self.clock, self._group_commit)
        self._governances: LRUCache[tuple[Hashable, ...], Governance] = LRUCache(MAX_GOVERNANCES)

    def answer_request(self, request: HookRequest) -> DaemonReply:
        """Decide a request, sync its log entries, and return the reply."""
        return self.decide_request(request).wait_until_durable()

    def decide_request(self, request: HookRequest) -> DeferredReply:
        """Decide a request and return the reply, which may be sent once its log entries are synced."""
        refusal = self._find_refusal(request)
        if refusal is not None:
            return DeferredReply(refusal)
        if not _has_absolute_paths(tuple(request.env.items())):
            return DeferredReply(_run_hook_process(request))
        call = HookCall([request.host, request.event, request.argument], request.env, request.cwd)

        def load_governance(cwd: str, _: Mapping[str, str]) -> Governance:
            if call.hook_event and call.hook_event.kind in GROUP_COMMIT_KINDS:
                self._group_commit.begin_batch()
            return self._load_governance(cwd, request)

        stderr_note = ""
        try:
            response = call.decide_payload(request.payload, load_governance)
        # The daemon's request loop: whatever fails is a block where the agent is about to act.
        except Exception as error:
            response, stderr_note = call.build_failure_response(error), self._record_failure(call, error)
        finally:
            log_positions = self._group_commit.end_batch()
        return DeferredReply(
            _to_daemon_reply(response, stderr_note),
            log_positions,
            lambda error: _to_daemon_reply(call.build_unrecorded_response(error), self._record_failure(call, error)),
            self._build_awaited_reply(call, request) if request.patience_seconds and call.awaited_approval else None,
        )

    def _build_awaited_reply(self, call: HookCall, request: HookRequest) -> AwaitedReply:
        """Return what people's answer would make of a call that waits for it."""
        # Only here, because hardly any call waits for people.
        from verdikt.ledger.awaited_approval import AwaitedApproval

        assert call.hook_event is not None
        store = self.stores.get_store(request.env)
        approval = AwaitedApproval(store, call.hook_event.session_id, call.awaited_approval)
        # Without patience: a call whose approval fits no longer is refused, and does not wait a second time.
        final_request = replace(request, patience_seconds=0)
        return AwaitedReply(
            request.patience_seconds,
            approval.can_be_answered,
            approval.is_answered,
            lambda: self.decide_request(final_request),
        )

    def run_maintenance(self) -> None:
        """Record the chain heads that were deferred while requests were waiting, and rotate logs that are due."""
        self.stores.record_heads()
        # Looked at rarely: a directory of sessions takes a `stat` each.
        now = self.clock.now()
        if abs(now - self._rotation_checked_at) >= ROTATION_CHECK_SECONDS:
            self._rotation_checked_at = now
            policy = RotationPolicy.from_env(os.environ)
            for store in self.stores.list_stores():
                if is_rotation_due(store, policy):
                    rotate_and_record(store, policy)

    def warm_up(self, env: Mapping[str, str]) -> None:
        """Load what decisions need, so that the first one is as fast as the others."""
        for host in HOSTS:
            load_adapter(host)
        for module in _LAZY_MODULES:
            import_module(module)
        try:
            policy = self.policies.load_policy("/", env)
            for tool, payload in _WARM_UP_CALLS:
                action = Action(kind=classify_tool(tool), tool=tool, payload=payload, cwd="/")
                decide(action, Facts(RealWorld("/", env=env)), SessionState("warm-up"), Posture.INTERACTIVE, policy)
            keyring = self.stores.get_store(env).keyring
            if keyring.current_kid():  # a key that does not exist yet is created by the first signature
                keyring.get_signing_key()
        except VerdiktError:
            return  # the first call will fail in the same way and report it

    def close(self) -> None:
        """Close every store."""
        self.stores.close()

    def _find_refusal(self, request: HookRequest) -> DaemonReply | None:
        """Return the reply to a request that this process must not decide; None when it may."""
        # First: an upgrade counts from the next call on, and the client may be one from before it as well.
        if _get_file_fingerprint(self._package_file) != self._package_stamp:
            return DaemonReply(protocol.KIND_RETRY, ends_process=True)
        if request.version != __version__:
            # A native client can be left over from before an upgrade; the hook process that it then runs is current.
            # A Python client of another version is another installation, for which this process makes room.
            return DaemonReply(protocol.KIND_RETRY, ends_process=request.client_kind == protocol.PYTHON_CLIENT)
        if not self._is_own_data(request):
            return DaemonReply.refusal(f"expected a request about `{self.home}`, found another data directory")
        return None

    def _is_own_data(self, request: HookRequest) -> bool:
        """Return whether a request is about the data directory of this process, however it is spelt."""
        data_directory = find_data_directory(request.env)
        if data_directory == self._home_path:
            return True
        try:
            return data_directory.startswith("/") and os.path.samefile(data_directory, self.home)
        except (OSError, ValueError):
            return False

    def _load_governance(self, cwd: str, request: HookRequest) -> Governance:
        # The store first: it creates the data directory, in which the user's policy is recorded when it is first seen.
        store = self.stores.get_store(request.env)
        policy = self.policies.load_policy(cwd, request.env)
        # Ids are safe as keys: a cached governance references its policy and its store, so no other object gets them.
        key = (id(policy), id(store), request.cwd, *request.env.items())
        governance = self._governances.get(key)
        if governance is None:
            governance = self._governances.put_if_absent(
                key, Governance(policy, store, clock=self.clock, env=request.env, base_directory=request.cwd)
            )
        return governance

    def _record_failure(self, call: HookCall, error: Exception) -> str:
        """Record a failure; return a note for stderr where that is not possible."""
        try:
            is_recorded = call.record_failure(error)
            call.note_failure()
        except VerdiktError:
            is_recorded = False
        return "" if is_recorded else f"verdikt: {type(error).__name__}\n"


_WARM_UP_CALLS: tuple[tuple[str, dict[str, str]], ...] = (
    ("Bash", {"command": "cd src && git status | head -3; make test > out.txt"}),
    ("Read", {"file_path": "/nowhere/a.txt"}),
    ("Write", {"file_path": "/nowhere/a.txt", "content": "x"}),
    ("Edit", {"file_path": "/nowhere/a.txt", "old_string": "a", "new_string": "b"}),
)


def _to_daemon_reply(response: HookResponse, stderr_note: str = "") -> DaemonReply:
    stderr_line = f"{response.stderr}\n" if response.stderr else ""
    err = f"{stderr_note}{stderr_line}".encode("utf-8", "replace")
    return DaemonReply(protocol.KIND_ANSWER, response.exit_code, response.stdout.encode("ascii") + b"\n", err)


@lru_cache(maxsize=64)
def _has_absolute_paths(env: tuple[tuple[str, str], ...]) -> bool:
    """Return whether every variable has the same meaning in every working directory."""
    return all(value[:1] in ("", "/") for name, value in env if name not in NON_PATH_VARIABLES)


def _get_file_fingerprint(path: str) -> tuple[int, int, int]:
    """Return a value that changes when a file is replaced; zeros when it is gone."""
    try:
        status = os.stat(path)
    except OSError:
        return 0, 0, 0
    return status.st_ino, status.st_mtime_ns, status.st_size


def _run_hook_process(request: HookRequest) -> DaemonReply:
    """Return the reply of a hook process in the client's directory, for relative paths in its environment."""
    arguments = [request.host, request.event, request.argument]
    try:
        completed_process = subprocess.run(
            [sys.executable, *client.get_python_flags(), "-m", "verdikt.hosts.hook", *arguments],
            cwd=request.cwd or "/",
            env={**request.env, "VERDIKT_DAEMON": "off"},
            input=request.payload,
            capture_output=True,
            timeout=HOOK_PROCESS_TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return DaemonReply.refusal(f"the hook could not be run: {type(error).__name__}")
    status, out = completed_process.returncode, completed_process.stdout
    if status not in (0, 2) or not out.startswith(b"{"):
        return DaemonReply.refusal("the hook did not work")
    return DaemonReply(protocol.KIND_ANSWER, status, out, completed_process.stderr)
