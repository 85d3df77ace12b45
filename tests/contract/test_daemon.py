"""The warm process decides as the hook process does, and notices changes at once."""

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.acceptance import accept
from tests.contract.hook import HookOutput, catches, run_forked
from tests.contract.test_adapters import RECORDED, event_of, load
from tests.contract.warm import WarmProcess, bash, wait_until
from tests.unit.graph.test_policy_cache import write_forged_cache
from verdikt.daemon import client, protocol
from verdikt.daemon.client import find_daemon_pid
from verdikt.graph.compiled_policy import compile_policy
from verdikt.graph.policy_cache import load_cached_policy
from verdikt.ledger import pause
from verdikt.ledger.audit import audit
from verdikt.ledger.data_directory import get_data_directory
from verdikt.ledger.files import FileStore
from verdikt.ledger.key_rotation import rotate_key
from verdikt.ledger.projections import load_projections
from verdikt.ledger.store import OPERATOR
from verdikt.model.session_state import CANARY_SESSION
from verdikt.policy import parse_policy


def receipts(data: Path) -> dict[str, list[tuple[str, str]]]:
    """Return kind and receipt of every entry, by session; without the canaries, which only find a warm process."""
    store = FileStore(data)
    receipts_by_session = {
        session: [(str(entry.kind), str(entry.body.get("receipt_sha256", ""))) for entry in store.read_entries(session)]
        for session in store.list_sessions()
        if session not in (OPERATOR, CANARY_SESSION)
    }
    store.close()
    return receipts_by_session


def test_daemon_and_hook_process_reply_and_record_the_same(warm: WarmProcess) -> None:
    """Every recorded payload gets the same bytes, status and receipts from the warm process and the hook process."""
    requests = []
    for name in RECORDED:
        recorded = load(name)
        env = warm.env | {
            key: value for key, value in recorded.get("env", {}).items() if key in protocol.SENT_VARIABLES
        }
        arguments = [name.split("/")[0].split("_")[0], event_of(name)]
        requests.append((name, arguments, env, json.dumps(recorded["payload"]).encode()))
    requests.append(("half a payload", ["claude", "PreToolUse"], warm.env, b'{"tool_name": "Ba'))
    requests.append(("no payload after", ["claude", "PostToolUse"], warm.env, b""))
    requests.append(("seed 001's wiring", ["claude", "bash"], warm.env, b'{"command": "rm -rf /"}'))
    requests.append(("a payload as argument", ["claude", "bash", '{"command": "ls"}'], warm.env, b""))
    requests.append(("an unknown host", ["unknown", "before"], warm.env, bash("rm -rf /")))
    requests.append(("a relative place", ["claude", "PreToolUse"], warm.env | {"TMPDIR": "tmp"}, bash("ls")))

    cold = str(warm.home)
    daemon_replies = {
        name: warm.ask(payload, *arguments, env=env, cwd=cold) for name, arguments, env, payload in requests
    }
    daemon_receipts = receipts(warm.data)
    warm.started[0].terminate()
    warm.started[0].wait()
    shutil.rmtree(warm.data)

    os.chdir(cold)
    hook_replies = {name: run_forked(arguments, payload, env) for name, arguments, env, payload in requests}

    assert daemon_replies == hook_replies
    assert receipts(warm.data) == daemon_receipts
    assert sum(len(entries) for entries in daemon_receipts.values()) > 50


def test_run_directory_is_in_the_data_directory() -> None:
    """The client finds the same data directory as everything else."""
    for env in (
        {"VERDIKT_HOME": "/v"},
        {"VERDIKT_HOME": "~/v", "HOME": "/h"},
        {"XDG_DATA_HOME": "/x", "HOME": "/h"},
        {"HOME": "/h"},
    ):
        assert Path(client.get_run_directory(env)) == get_data_directory(env) / "run"
    assert client.get_run_directory({}) == client.get_run_directory({"VERDIKT_HOME": "v"}) == ""
    assert client.get_run_directory({"VERDIKT_HOME": "~/v", "HOME": "/h"}) == "/h/v/run"


def test_hook_relays_the_reply_of_the_daemon(warm: WarmProcess) -> None:
    """The hook process passes on the reply of the warm process and decides nothing itself."""
    reply = warm.hook(bash("rm -rf /"), VERDIKT_DAEMON="on")

    assert reply.code == 2
    assert json.loads(reply.stdout)["decision"] == "block"
    assert warm.status()["calls"] == 1
    assert warm.calls() == ["t1"]


def test_first_hook_decides_and_starts_the_daemon(tmp_path: Path) -> None:
    """The first hook decides without waiting and starts a warm process for the next one."""
    process = WarmProcess(tmp_path)
    try:
        first = process.hook(bash("ls", call="one"), VERDIKT_DAEMON="on")
        wait_until("one was started", process.reachable)
        second = process.hook(bash("ls", call="two"), VERDIKT_DAEMON="on")

        assert first == second == HookOutput(0, b"{}\n", b"")
        assert process.calls() == ["one", "two"]
        assert process.status()["calls"] == 1
    finally:
        process.end()


def test_daemon_is_not_asked_when_it_is_off(warm: WarmProcess, tmp_path: Path) -> None:
    """With VERDIKT_DAEMON=off only the hook process decides."""
    assert warm.hook(bash("ls"), VERDIKT_DAEMON="off").code == 0
    assert warm.status()["calls"] == 0


@pytest.mark.parametrize("layer", ["user", "project", "managed"])
def test_policy_change_counts_from_the_next_call(warm: WarmProcess, layer: str) -> None:
    """A policy file that appears, changes or disappears counts from the next call on."""
    project = warm.home / "project"
    (project / ".git").mkdir(parents=True)
    managed = warm.home / "managed.yaml"
    places = {
        "user": warm.home / ".config" / "verdikt" / "governance.yaml",
        "project": project / "governance.yaml",
        "managed": managed,
    }
    env = warm.env | {"VERDIKT_MANAGED_POLICY": str(managed)}
    file = places[layer]
    file.parent.mkdir(parents=True, exist_ok=True)
    rule = "rules:\n  - {name: %s, command: %s, verdict: block, reason: no, fix: do not}\n"

    def get_status(command: str) -> int:
        return warm.ask(bash(command, cwd=str(project)), env=env).code

    assert get_status("echo a") == 0
    for attempt in range(3):
        file.write_text(rule % ("no_a", "echo a"))
        assert (get_status("echo a"), get_status("echo b")) == (2, 0), attempt
        file.write_text(rule % ("no_b", "echo b"))  # the same length, within the same instant
        assert (get_status("echo a"), get_status("echo b")) == (0, 2), attempt
        file.unlink()
        assert (get_status("echo a"), get_status("echo b")) == (0, 0), attempt


def test_commands_of_people_count_without_a_restart(warm: WarmProcess) -> None:
    """A pause, its end, a rotated key and entries of other processes are noticed without a restart."""
    command = "rm -rf /opt/elsewhere"
    store = FileStore(warm.data, projections=load_projections())
    assert warm.ask(bash(command, call="1")).code == 2
    pause.begin_pause(store, seconds=600, reason="an errand", by="a person")
    assert warm.ask(bash(command, call="2")).code == 0
    pause.end_pause(store, by="a person")
    assert warm.ask(bash(command, call="3")).code == 2
    rotate_key(store)
    store.append_checkpoint("s", "by another process")
    assert warm.ask(bash("ls", call="4")).code == 0
    payload = {"session_id": "s", "hook_event_name": "SessionEnd", "cwd": str(warm.home), "reason": "other"}
    assert warm.ask(json.dumps(payload).encode(), "claude", "SessionEnd").code == 0
    store.close()

    assert warm.calls() == ["1", "2", "3", "4"]
    report = audit(warm.data, projections=load_projections())
    assert report.is_intact, report.findings


def test_daemon_stops_when_a_client_has_another_version(warm: WarmProcess) -> None:
    """A client of another version gets a retry, and the warm process releases socket and lock and ends."""
    head_fields = ["0.0.0-other", "claude", "PreToolUse", "", "/", protocol.PYTHON_CLIENT]
    with pytest.raises(client.DaemonOutdated):
        client.send_request(warm.path, protocol.encode_request(head_fields, warm.env, bash("ls")), 10)

    assert warm.started[0].wait(timeout=60) == 0
    assert not os.path.exists(warm.path)
    assert find_daemon_pid(warm.run) == 0
    warm.start()
    assert warm.ask(bash("ls")).code == 0
    assert warm.calls() == ["t1"]


def test_daemon_answers_open_requests_before_it_ends_on_a_signal(warm: WarmProcess) -> None:
    """A request that was sent before SIGTERM is answered, and the socket is removed."""
    with warm.connect() as sock:
        sock.sendall(warm.encode_request(bash("ls")))
        warm.started[0].send_signal(signal.SIGTERM)
        prefix = sock.recv(protocol.REPLY_PREFIX_BYTES)

    assert protocol.decode_reply_prefix(prefix)[:2] == (protocol.KIND_ANSWER, 0)
    assert warm.started[0].wait(timeout=60) == 0
    assert not os.path.exists(warm.path)
    assert "ended: SIGTERM" in (warm.run / "daemon.log").read_text()


def test_daemon_resets_an_ignored_alarm_signal(place: WarmProcess) -> None:
    """SIGALRM is not ignored although the starter ignored it: git and other children would inherit that."""
    ignoring = ["sh", "-c", 'trap "" ALRM; exec "$@"', "sh"]
    process = subprocess.Popen([*ignoring, sys.executable, "-I", "-m", "verdikt.daemon"], env=place.env)
    place.started.append(process)
    wait_until("it listens to signals", lambda: catches(process.pid, signal.SIGTERM))

    def is_ignored() -> bool:
        with open(f"/proc/{process.pid}/status") as status:
            bits = next(line.split()[1] for line in status if line.startswith("SigIgn"))
        return bool(int(bits, 16) & 1 << (signal.SIGALRM - 1))

    wait_until("it no longer ignores it", lambda: not is_ignored())


def test_daemon_ends_when_it_is_idle(tmp_path: Path) -> None:
    """An idle warm process ends and says so in its journal."""
    process = WarmProcess(tmp_path, VERDIKT_DAEMON_IDLE="0.2")
    try:
        started = process.start(wait=False)
        assert started.wait(timeout=60) == 0
        assert "ended: nothing to do" in (process.run / "daemon.log").read_text()
    finally:
        process.end()


def test_daemon_is_private_and_inherits_no_secret(warm: WarmProcess) -> None:
    """Only its user can reach the socket, and no token of the session is in its environment."""
    assert warm.run.stat().st_mode & 0o777 == 0o700
    assert os.stat(warm.path).st_mode & 0o777 == 0o600
    warm.started[0].terminate()
    warm.started[0].wait()
    shutil.rmtree(warm.run)

    warm.hook(bash("ls"), VERDIKT_DAEMON="on", ANTHROPIC_API_KEY="sk-not-yours")
    wait_until("one was started", warm.reachable)

    assert b"sk-not-yours" not in Path(f"/proc/{find_daemon_pid(warm.run)}/environ").read_bytes()


def test_started_daemon_holds_no_descriptor_of_the_hook(place: WarmProcess) -> None:
    """The warm process keeps no descriptor, directory or session of the hook, because hosts wait for open pipes."""
    read, write = os.pipe()
    command = [sys.executable, "-I", "-m", "verdikt.hosts.hook", "claude", "PreToolUse"]
    completed_process = subprocess.run(
        command, env=place.env, cwd=place.home, input=bash("ls"), pass_fds=[write], capture_output=True, check=False
    )
    os.close(write)
    assert (completed_process.returncode, completed_process.stdout, completed_process.stderr) == (0, b"{}\n", b"")
    wait_until("one was started", place.reachable)
    process = Path(f"/proc/{find_daemon_pid(place.run)}")

    assert select.select([read], [], [], 0)[0], "no process holds the pipe that the hook was given"
    os.close(read)
    assert os.getsid(int(process.name)) != os.getsid(0)
    wait_until("it stands in no directory of ours", lambda: os.readlink(process / "cwd") == "/")
    assert {os.readlink(process / "fd" / name) for name in "012"} == {"/dev/null"}
    os.utime(place.run / "starting", ns=(0, 0))
    client.start_if_absent(place.env)
    assert (place.run / "starting").stat().st_mtime_ns == 0, "no attempt is made where a process runs"


def test_start_attempt_is_not_repeated_within_the_retry_time(
    place: WarmProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A start attempt counts for a while; one of long ago or in the future does not."""
    monkeypatch.setattr(client, "START_RETRY_SECONDS", 1000)
    (place.run / "daemon.lock").mkdir(parents=True)  # so that no process can lock it
    attempt_file = place.run / "starting"
    client.start_if_absent(place.env)
    assert attempt_file.exists()
    for offset_seconds, is_repeated in ((0, False), (-5000, True), (5000, True)):
        attempted_at = time.time_ns() + offset_seconds * 10**9
        os.utime(attempt_file, ns=(attempted_at, attempted_at))
        client.start_if_absent(place.env)
        assert (attempt_file.stat().st_mtime_ns != attempted_at) == is_repeated


def test_long_data_directory_works(tmp_path: Path) -> None:
    """The data directory may be longer than the address of a socket."""
    deep = tmp_path / ("d" * 120)
    deep.mkdir()
    process = WarmProcess(deep)
    try:
        process.start(wait=False)
        wait_until("it listens", lambda: os.path.exists(process.path))  # too long for a plain `connect`
        assert process.hook(bash("ls"), VERDIKT_DAEMON="on").code == 0
        assert process.status()["calls"] == 1
    finally:
        process.end()


def test_second_daemon_ends_at_once(warm: WarmProcess) -> None:
    """A second process for the same data directory ends with status 0 and says nothing."""
    second = subprocess.run(warm.started[0].args, env=warm.env, capture_output=True, timeout=60, check=False)

    assert (second.returncode, second.stderr) == (0, b"")
    assert warm.status()["pid"] == warm.started[0].pid


def test_request_about_another_data_directory_is_refused(warm: WarmProcess) -> None:
    """A compiled policy in another data directory counts for no one, and the request is refused."""
    project, other = warm.home / "project", warm.home / "other"
    (project / ".git").mkdir(parents=True)
    policy = "rules:\n  - {name: no_deploy, command: deploy-prod, verdict: block, reason: no, fix: ask a person}\n"
    (project / "governance.yaml").write_text(policy)
    other.mkdir(mode=0o700)
    nothing = "profile: none\nrules:\n  - {name: nothing, command: nosuch, verdict: warn, reason: x, fix: y}\n"
    for place in (other, warm.data):
        env = warm.env | {"VERDIKT_HOME": str(place)}
        accepted = accept(project, env)
        poisoned_policy = parse_policy(nothing)
        vars(poisoned_policy)["layer_digests"] = accepted.layer_digests  # otherwise it is not even the accepted one
        poison = compile_policy(poisoned_policy)
        assert poison is not None
        load_cached_policy(str(project), env)
        (cached_file,) = (place / "compiled").iterdir()
        write_forged_cache(cached_file, poison)
        assert (
            load_cached_policy(str(project), env).digest == parse_policy(nothing).digest
        )  # the hook process trusts its own data directory

    written = sorted((other / "ledger").rglob("*"))
    with pytest.raises(client.NoReply, match="another data directory"):
        warm.ask(bash("true", cwd=str(project)), cwd=str(project), env=warm.env | {"VERDIKT_HOME": str(other)})
    for command in ("rm -rf /", "deploy-prod now"):
        assert warm.ask(bash(command, cwd=str(project)), cwd=str(project)).code == 2
    assert sorted((other / "ledger").rglob("*")) == written  # the acceptance above, and nothing since


def test_data_directory_may_be_a_symbolic_link(warm: WarmProcess) -> None:
    """A request names the data directory by a link and is answered."""
    (warm.home / "link").symlink_to(warm.data)

    assert warm.ask(bash("ls"), env=warm.env | {"VERDIKT_HOME": str(warm.home / "link")}).code == 0


def test_payload_without_cwd_uses_the_directory_of_the_hook(warm: WarmProcess) -> None:
    """Without a directory in the payload, the policy of the hook's own directory is checked for changes."""
    (warm.home / ".git").mkdir()
    policy = warm.home / "governance.yaml"
    policy.write_text("profile: strict\n")
    start = {"hook_event_name": "SessionStart", "session_id": "s", "source": "startup"}
    stop = {"hook_event_name": "Stop", "session_id": "s", "stop_hook_active": False}

    warm.ask(json.dumps(start).encode(), "claude", "SessionStart")
    policy.write_text("profile: strict\nposture: interactive\n")
    warm.ask(json.dumps(stop).encode(), "claude", "Stop")

    assert str(policy) in (warm.data / "integrity" / "s.json").read_text()
    assert "changed during the session" in (warm.data / "ledger" / "s.jsonl").read_text()
