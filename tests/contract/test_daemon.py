"""The warm process decides what the hook process decides, and notices what changes."""

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

from tests.cleanup import close_after_test
from tests.contract.hook import Said, catches, run_forked
from tests.contract.test_adapters import RECORDED, event_of, load
from tests.contract.warm import WarmProcess, bash, eventually
from tests.unit.graph.test_policy_cache import forge
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
from verdikt.policy import parse_policy


def receipts(data: Path) -> dict[str, list[tuple[str, str]]]:
    """Kind and receipt of every entry, by session."""
    store = close_after_test(FileStore(data))
    found = {
        session: [(str(entry.kind), str(entry.body.get("receipt_sha256", ""))) for entry in store.read_entries(session)]
        for session in store.list_sessions()
    }
    store.close()
    return found


def test_both_paths_say_and_record_the_same(warm: WarmProcess) -> None:
    """Every recorded payload, through the socket and through the hook process: the same bytes, status and receipts."""
    questions = []
    for name in RECORDED:
        recorded = load(name)
        env = warm.env | {
            key: value for key, value in recorded.get("env", {}).items() if key in protocol.SENT_VARIABLES
        }
        words = [name.split("/")[0].split("_")[0], event_of(name)]
        questions.append((name, words, env, json.dumps(recorded["payload"]).encode()))
    questions.append(("half a payload", ["claude", "PreToolUse"], warm.env, b'{"tool_name": "Ba'))
    questions.append(("no payload after", ["claude", "PostToolUse"], warm.env, b""))
    questions.append(("seed 001's wiring", ["claude", "bash"], warm.env, b'{"command": "rm -rf /"}'))
    questions.append(("a payload as argument", ["claude", "bash", '{"command": "ls"}'], warm.env, b""))
    questions.append(("an unknown host", ["nobody", "before"], warm.env, bash("rm -rf /")))
    questions.append(("a relative place", ["claude", "PreToolUse"], warm.env | {"TMPDIR": "tmp"}, bash("ls")))

    cold = str(warm.home)
    asked = {name: warm.ask(payload, *words, env=env, cwd=cold) for name, words, env, payload in questions}
    kept = receipts(warm.data)
    warm.started[0].terminate()
    warm.started[0].wait()
    shutil.rmtree(warm.data)

    os.chdir(cold)
    run = {name: run_forked(words, payload, env) for name, words, env, payload in questions}

    assert asked == run
    assert receipts(warm.data) == kept
    assert sum(len(entries) for entries in kept.values()) > 50


def test_the_run_directory_lies_in_the_data_directory() -> None:
    """The light way of finding it agrees with the one that everything else uses."""
    for env in (
        {"VERDIKT_HOME": "/v"},
        {"VERDIKT_HOME": "~/v", "HOME": "/h"},
        {"XDG_DATA_HOME": "/x", "HOME": "/h"},
        {"HOME": "/h"},
    ):
        assert Path(client.get_run_directory(env)) == get_data_directory(env) / "run"
    assert client.get_run_directory({}) == client.get_run_directory({"VERDIKT_HOME": "v"}) == ""
    assert client.get_run_directory({"VERDIKT_HOME": "~/v", "HOME": "/h"}) == "/h/v/run"


def test_a_hook_asks_the_warm_process(warm: WarmProcess) -> None:
    """The hook process hands on what it says, and decides nothing itself."""
    said = warm.hook(bash("rm -rf /"), VERDIKT_DAEMON="on")

    assert said.code == 2
    assert json.loads(said.stdout)["decision"] == "block"
    assert warm.status()["calls"] == 1
    assert warm.calls() == ["t1"]


def test_the_first_hook_decides_and_starts_one_for_the_next(tmp_path: Path) -> None:
    """Nobody waits for a process to warm up."""
    process = WarmProcess(tmp_path)
    try:
        first = process.hook(bash("ls", call="one"), VERDIKT_DAEMON="on")
        eventually("one was started", process.reachable)
        second = process.hook(bash("ls", call="two"), VERDIKT_DAEMON="on")

        assert first == second == Said(0, b"{}\n", b"")
        assert process.calls() == ["one", "two"]
        assert process.status()["calls"] == 1
    finally:
        process.end()


def test_switched_off_it_is_neither_asked_nor_started(warm: WarmProcess, tmp_path: Path) -> None:
    """VERDIKT_DAEMON=off means the hook process alone."""
    assert warm.hook(bash("ls"), VERDIKT_DAEMON="off").code == 0
    assert warm.status()["calls"] == 0


@pytest.mark.parametrize("layer", ["user", "project", "managed"])
def test_a_policy_that_appears_changes_or_goes_is_noticed_at_once(warm: WarmProcess, layer: str) -> None:
    """No call is decided by a policy that is not in force any more."""
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

    def code(command: str) -> int:
        return warm.ask(bash(command, cwd=str(project)), env=env).code

    assert code("echo a") == 0
    for round in range(3):
        file.write_text(rule % ("no_a", "echo a"))
        assert (code("echo a"), code("echo b")) == (2, 0), round
        file.write_text(rule % ("no_b", "echo b"))  # the same length, within the same instant
        assert (code("echo a"), code("echo b")) == (0, 2), round
        file.unlink()
        assert (code("echo a"), code("echo b")) == (0, 0), round


def test_what_people_do_at_the_command_line_is_noticed(warm: WarmProcess) -> None:
    """A pause, its end, a rotated key and a log written by others: none needs a restart."""
    command = "rm -rf /opt/elsewhere"
    store = close_after_test(FileStore(warm.data, projections=load_projections()))
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
    found = audit(warm.data, projections=load_projections())
    assert found.is_intact, found.findings


def test_a_client_of_another_version_gets_a_new_process(warm: WarmProcess) -> None:
    """The old one decides nothing, makes room at once, answers who asked before, and ends."""
    texts = ["0.0.0-other", "claude", "PreToolUse", "", "/", protocol.PYTHON_CLIENT]
    with pytest.raises(client.DaemonOutdated):
        client.send_request(warm.path, protocol.encode_request(texts, warm.env, bash("ls")), 10)

    assert warm.started[0].wait(timeout=60) == 0
    assert not os.path.exists(warm.path)
    assert find_daemon_pid(warm.run) == 0
    warm.start()
    assert warm.ask(bash("ls")).code == 0
    assert warm.calls() == ["t1"]


def test_it_ends_gracefully_on_a_signal(warm: WarmProcess) -> None:
    """Whoever asked before is answered; the socket and the lock are free afterwards."""
    with warm.connect() as sock:
        sock.sendall(warm.question(bash("ls")))
        warm.started[0].send_signal(signal.SIGTERM)
        prefix = sock.recv(protocol.REPLY_PREFIX_BYTES)

    assert protocol.decode_reply_prefix(prefix)[:2] == (protocol.KIND_ANSWER, 0)
    assert warm.started[0].wait(timeout=60) == 0
    assert not os.path.exists(warm.path)
    assert "ended: SIGTERM" in (warm.run / "daemon.log").read_text()


def test_it_ignores_no_alarm_that_its_starter_ignored(place: WarmProcess) -> None:
    """What it starts, git among it, would ignore it as well."""
    ignoring = ["sh", "-c", 'trap "" ALRM; exec "$@"', "sh"]
    process = subprocess.Popen([*ignoring, sys.executable, "-I", "-m", "verdikt.daemon"], env=place.env)
    place.started.append(process)
    eventually("it listens to signals", lambda: catches(process.pid, signal.SIGTERM))

    def ignored() -> bool:
        with open(f"/proc/{process.pid}/status") as status:
            bits = next(line.split()[1] for line in status if line.startswith("SigIgn"))
        return bool(int(bits, 16) & 1 << (signal.SIGALRM - 1))

    eventually("it no longer ignores it", lambda: not ignored())


def test_it_ends_when_it_has_nothing_to_do(tmp_path: Path) -> None:
    """And leaves nothing behind but its log."""
    process = WarmProcess(tmp_path, VERDIKT_DAEMON_IDLE="0.2")
    try:
        started = process.start(wait=False)
        assert started.wait(timeout=60) == 0
        assert "ended: nothing to do" in (process.run / "daemon.log").read_text()
    finally:
        process.end()


def test_its_directory_is_private_and_nothing_secret_is_in_its_environment(warm: WarmProcess) -> None:
    """Only its user reaches the socket; a token of the session that started it does not live on."""
    assert warm.run.stat().st_mode & 0o777 == 0o700
    assert os.stat(warm.path).st_mode & 0o777 == 0o600
    warm.started[0].terminate()
    warm.started[0].wait()
    shutil.rmtree(warm.run)

    warm.hook(bash("ls"), VERDIKT_DAEMON="on", ANTHROPIC_API_KEY="sk-not-yours")
    eventually("one was started", warm.reachable)

    assert b"sk-not-yours" not in Path(f"/proc/{find_daemon_pid(warm.run)}/environ").read_bytes()


def test_what_a_hook_starts_holds_nothing_of_it(place: WarmProcess) -> None:
    """A host waits until everybody has let go of what it gave to its hook; nor does a directory stay in use."""
    read, write = os.pipe()
    command = [sys.executable, "-I", "-m", "verdikt.hosts.hook", "claude", "PreToolUse"]
    done = subprocess.run(
        command, env=place.env, cwd=place.home, input=bash("ls"), pass_fds=[write], capture_output=True, check=False
    )
    os.close(write)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"{}\n", b"")
    eventually("one was started", place.reachable)
    process = Path(f"/proc/{find_daemon_pid(place.run)}")

    assert select.select([read], [], [], 0)[0], "the pipe that the hook was given is held by nobody"
    os.close(read)
    assert os.getsid(int(process.name)) != os.getsid(0)
    eventually("it stands in no directory of ours", lambda: os.readlink(process / "cwd") == "/")
    assert {os.readlink(process / "fd" / name) for name in "012"} == {"/dev/null"}
    os.utime(place.run / "starting", ns=(0, 0))
    client.start_if_absent(place.env)
    assert (place.run / "starting").stat().st_mtime_ns == 0, "where one lives nobody tries"


def test_one_that_cannot_start_is_not_started_by_every_call(
    place: WarmProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mark of an attempt holds for a while; one of long ago, or of the future, does not."""
    monkeypatch.setattr(client, "START_RETRY_SECONDS", 1000)
    (place.run / "daemon.lock").mkdir(parents=True)  # nobody can live there
    mark = place.run / "starting"
    client.start_if_absent(place.env)
    assert mark.exists()
    for when, again in ((0, False), (-5000, True), (5000, True)):
        then = time.time_ns() + when * 10**9
        os.utime(mark, ns=(then, then))
        client.start_if_absent(place.env)
        assert (mark.stat().st_mtime_ns != then) == again


def test_a_long_path_is_no_obstacle(tmp_path: Path) -> None:
    """A socket's name may be 107 bytes; a data directory's may be longer."""
    deep = tmp_path / ("d" * 120)
    deep.mkdir()
    process = WarmProcess(deep)
    try:
        process.start(wait=False)
        eventually("it listens", lambda: os.path.exists(process.path))  # too long for a plain `connect`
        assert process.hook(bash("ls"), VERDIKT_DAEMON="on").code == 0
        assert process.status()["calls"] == 1
    finally:
        process.end()


def test_a_second_process_leaves_quietly(warm: WarmProcess) -> None:
    """One user, one data directory, one warm process."""
    second = subprocess.run(warm.started[0].args, env=warm.env, capture_output=True, timeout=60, check=False)

    assert (second.returncode, second.stderr) == (0, b"")
    assert warm.status()["pid"] == warm.started[0].pid


def test_no_other_data_directory_has_a_say(warm: WarmProcess) -> None:
    """What somebody keeps of a policy in a place of their own counts for nobody, and the question is refused."""
    project, other = warm.home / "project", warm.home / "other"
    (project / ".git").mkdir(parents=True)
    policy = "rules:\n  - {name: no_deploy, command: deploy-prod, verdict: block, reason: no, fix: ask a person}\n"
    (project / "governance.yaml").write_text(policy)
    other.mkdir(mode=0o700)
    nothing = "profile: none\nrules:\n  - {name: nothing, command: nosuch, verdict: warn, reason: x, fix: y}\n"
    poison = compile_policy(parse_policy(nothing))
    assert poison is not None
    for place in (other, warm.data):  # the second by another way: whoever can write there can do worse, but not this
        env = warm.env | {"VERDIKT_HOME": str(place)}
        load_cached_policy(str(project), env)
        (kept,) = (place / "compiled").iterdir()
        forge(kept, poison)
        assert (
            load_cached_policy(str(project), env).digest == parse_policy(nothing).digest
        )  # a hook by itself believes it

    with pytest.raises(client.NoReply, match="another data directory"):
        warm.ask(bash("true", cwd=str(project)), cwd=str(project), env=warm.env | {"VERDIKT_HOME": str(other)})
    for command in ("rm -rf /", "deploy-prod now"):
        assert warm.ask(bash(command, cwd=str(project)), cwd=str(project)).code == 2
    assert not (other / "ledger").exists()


def test_the_data_directory_may_be_spelt_another_way(warm: WarmProcess) -> None:
    """By a link, too: it is the directory that counts."""
    (warm.home / "link").symlink_to(warm.data)

    assert warm.ask(bash("ls"), env=warm.env | {"VERDIKT_HOME": str(warm.home / "link")}).code == 0


def test_a_payload_without_a_directory_is_about_the_hooks_own(warm: WarmProcess) -> None:
    """What the start of a session remembers of the policy is what its end is held against."""
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
