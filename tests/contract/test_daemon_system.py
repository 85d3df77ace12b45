"""A system-wide warm process that serves real users and runs as another one."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pytest

from tests.acceptance import accept
from tests.cleanup import close_after_test
from tests.contract.hook import HookOutput
from tests.contract.warm import bash, wait_until
from tests.leftovers import watch_directory
from verdikt.ledger.files import FileStore

pytestmark = pytest.mark.root

SERVICE, ALICE, BOB = 65534, 41001, 41002
M = TypeVar("M", bound="Machine")

BOOT = (
    "import sys; sys.path[:0] = {path!r}; import runpy; sys.argv = {argv!r}; "
    "runpy.run_module({module!r}, run_name='__main__')"
)


def find_interpreter() -> str:
    """Return a Python of this version that any user may run: an installation below /root is closed to them."""
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for candidate in (sys.executable, os.path.realpath(sys.executable), f"/usr/bin/{name}", f"/usr/local/bin/{name}"):
        try:
            completed_process = subprocess.run(
                [candidate, "-I", "-c", "pass"], user=SERVICE, group=SERVICE, check=False, cwd="/"
            )
        except OSError:
            continue
        if completed_process.returncode == 0:
            return candidate
    pytest.fail(f"expected a {name} that every user may run, found none: install one outside of /root")


def build_command(module: str, *arguments: str) -> list[str]:
    """Return the command build_command of a module, for any user."""
    path = [entry for entry in sys.path if entry and os.path.isdir(entry) and not entry.startswith(sys.base_prefix)]
    return [find_interpreter(), "-I", "-c", BOOT.format(path=path, argv=[module, *arguments], module=module)]


class Machine:
    """A service and two users with homes and projects of their own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.data = root / "var"
        self.socket = root / "run" / "daemon.sock"
        self.service: subprocess.Popen[bytes] | None = None
        for uid, mode in ((ALICE, 0o755), (BOB, 0o755)):
            home = self.home(uid)
            (home / "project").mkdir(parents=True)
            for place in (home, home / "project"):
                os.chown(place, uid, uid)
                place.chmod(mode)

    def home(self, uid: int) -> Path:
        """Return the home directory of a user."""
        return self.root / "home" / str(uid)

    def serve(self, uid: int, *arguments: str) -> None:
        """Start the service as a user."""
        for place in (self.data, self.socket.parent):
            place.mkdir()
            os.chown(place, uid, uid)
        self.data.chmod(0o700)
        options = ["--system", "--socket", str(self.socket), "--home", str(self.data), *arguments]
        env = {"PATH": "/usr/bin:/bin"}
        self.service = subprocess.Popen(
            build_command("verdikt.daemon", *options), user=uid, group=uid, extra_groups=[], env=env
        )
        wait_until("the service listens", self.socket.exists)

    def run(self, uid: int, argv: list[str], stdin: bytes = b"", **env: str) -> HookOutput:
        """Run a program as a user, in their project."""
        home = self.home(uid)
        completed_process = subprocess.run(
            argv,
            user=uid,
            group=uid,
            extra_groups=[],
            cwd=home / "project",
            env={"HOME": str(home), "PATH": "/usr/bin:/bin", **env},
            input=stdin,
            capture_output=True,
            timeout=60,
            check=False,
        )
        return HookOutput(completed_process.returncode, completed_process.stdout, completed_process.stderr)

    def hook(self, uid: int, command: str, **env: str) -> HookOutput:
        """Run a user's hook and return the reply of the service."""
        payload = bash(command, cwd=str(self.home(uid) / "project"))
        argv = build_command("verdikt.hosts.hook", "--socket", str(self.socket), "claude", "PreToolUse")
        return self.run(uid, argv, payload, **env)

    def commands(self, uid: int) -> list[str]:
        """Return the commands that the service has recorded for a user."""
        store = FileStore(self.data / "users" / str(uid))
        commands = [entry.body["receipt"]["action"]["payload"]["command"] for entry in store.read_entries("s")]
        store.close()
        return commands

    def facts(self, uid: int) -> str:
        """Return the facts of the last decision for a user."""
        store = FileStore(self.data / "users" / str(uid))
        *_, last = store.read_entries("s")
        store.close()
        return json.dumps(dict(last.body["receipt"])["facts"], default=str)

    def end(self) -> None:
        """End the service."""
        if self.service is not None:
            self.service.kill()
            self.service.wait()


@contextmanager
def create_machine(make: Callable[[Path], M]) -> Iterator[M]:
    """Create a machine in a directory that every user can reach, and remove it afterwards."""
    root = Path(tempfile.mkdtemp(prefix="vk", dir="/tmp"))
    watch_directory(root)
    root.chmod(0o755)
    created = make(root)
    try:
        yield created
    finally:
        created.end()
        shutil.rmtree(root)


@pytest.fixture
def machine() -> Iterator[Machine]:
    """Return a machine with two users."""
    with create_machine(Machine) as created:
        yield created


def test_users_have_separate_logs(machine: Machine) -> None:
    """The kernel tells who asks, and a user's variables do not choose the data directory."""
    machine.serve(SERVICE)

    reply = machine.hook(ALICE, "ls", VERDIKT_HOME=str(machine.data / "users" / str(BOB)), VERDIKT_DAEMON="off")
    assert reply == HookOutput(0, b"{}\n", b"")
    assert machine.hook(BOB, "rm -rf /").code == 2

    assert machine.commands(ALICE) == ["ls"]
    assert machine.commands(BOB) == ["rm -rf /"]
    assert not (machine.home(ALICE) / ".local").exists()


def test_key_and_log_are_closed_to_users(machine: Machine) -> None:
    """No program of a user can read the key, write the log or kill the service."""
    machine.serve(SERVICE)
    machine.hook(ALICE, "ls")
    own = machine.data / "users" / str(ALICE)
    close_after_test(FileStore(own)).append("s", "checkpoint", {"reason": "a key is created"})

    for what in (own / "ledger", own / "keys", machine.data):
        assert machine.run(ALICE, ["ls", str(what)]).code != 0
    assert machine.run(ALICE, ["sh", "-c", f"echo x >> {own}/ledger/s.jsonl"]).code != 0
    assert machine.run(ALICE, ["sh", "-c", f"kill -9 {machine.service.pid}"]).code != 0  # type: ignore[union-attr]


def test_service_does_not_read_its_own_files_for_users(machine: Machine) -> None:
    """A policy that is a link to a file of the service is refused without showing its content."""
    machine.serve(SERVICE)
    machine.hook(ALICE, "ls")
    secret = machine.data / "secret.yaml"
    secret.write_text("hidden-word: [\n")
    os.chown(secret, SERVICE, SERVICE)
    (machine.home(ALICE) / "project" / "governance.yaml").symlink_to(secret)

    reply = machine.hook(ALICE, "ls")

    assert reply.code == 2
    assert b"hidden-word" not in reply.stdout + reply.stderr
    assert b"governance.yaml" in reply.stdout


def hostile_repository(machine: Machine) -> Path:
    """Create a repository that makes git run programs; return the file where they record their user."""
    project, run_log = machine.home(ALICE) / "project", machine.home(ALICE) / "ran"
    script = machine.home(ALICE) / "evil.sh"
    script.write_text(f"#!/bin/sh\nid -u >> {run_log}\ncat\n")
    script.chmod(0o755)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    (project / "kept.txt").write_text("kept\n")
    os.chown(project / "kept.txt", ALICE, ALICE)
    for git_arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
        assert machine.run(ALICE, [*git, *git_arguments]).code == 0
    for key in (
        "core.fsmonitor",
        "core.pager",
        "core.sshCommand",
        "filter.evil.clean",
        "filter.evil.smudge",
        "diff.external",
    ):
        machine.run(ALICE, ["git", "config", key, str(script)])
    machine.run(ALICE, ["sh", "-c", "echo '* filter=evil' > .gitattributes; echo more >> kept.txt"])
    return run_log


def test_git_is_not_run_by_an_unprivileged_service(machine: Machine) -> None:
    """A service that cannot become the user does not run git, so a repository cannot make it run programs."""
    machine.serve(SERVICE)
    run_log = hostile_repository(machine)

    reply = machine.hook(ALICE, "rm kept.txt")

    assert json.loads(reply.stdout) is not None
    assert not run_log.exists()


def test_git_is_run_as_the_user_by_root(machine: Machine) -> None:
    """A service that is root runs git as the user, so a repository's programs run as its owner at most."""
    machine.serve(0)
    run_log = hostile_repository(machine)

    machine.hook(ALICE, "rm kept.txt")

    assert set(run_log.read_text().split() if run_log.exists() else []) <= {str(ALICE)}
    assert "modified" in machine.facts(ALICE)


def test_root_reads_with_the_rights_of_the_user(machine: Machine) -> None:
    """A file that the user cannot read is not read for them by root."""
    machine.serve(0)
    private = machine.home(BOB) / "private"
    private.mkdir(mode=0o700)
    os.chown(private, BOB, BOB)
    script = private / "x.sh"
    script.write_text("rm -rf /\n")
    os.chown(script, BOB, BOB)
    shadow = machine.root / "shadow.yaml"
    shadow.write_text("hidden-word: [\n")
    shadow.chmod(0o600)

    assert machine.hook(BOB, f"sh {script}").code == 2
    machine.hook(ALICE, f"sh {script}")
    assert "rm -rf /" not in machine.facts(ALICE)
    (machine.home(ALICE) / "project" / "governance.yaml").symlink_to(shadow)
    reply = machine.hook(ALICE, "ls")
    assert reply.code == 2
    assert b"hidden-word" not in reply.stdout + reply.stderr


def test_unreadable_home_blocks_and_names_the_policy_file(machine: Machine) -> None:
    """A home that is closed to the service may hold a policy, so the call is blocked with the name of that file."""
    machine.serve(SERVICE)
    machine.home(ALICE).chmod(0o700)

    reply = machine.hook(ALICE, "ls")

    assert reply.code == 2
    assert f"{machine.home(ALICE)}/.config/verdikt/governance.yaml".encode() in reply.stdout
    assert b"permission denied" in reply.stdout


def ask(machine: Machine, uid: int, event: str, **more: object) -> HookOutput:
    """Run a user's hook for an event and return the reply of the service."""
    project = str(machine.home(uid) / "project")
    payload = {"hook_event_name": event, "session_id": "s", "cwd": project, **more}
    argv = build_command("verdikt.hosts.hook", "--socket", str(machine.socket), "claude", event)
    return machine.run(uid, argv, json.dumps(payload).encode())


def policy(machine: Machine, uid: int, text: str) -> None:
    """Write the policy of a user's project."""
    project = machine.home(uid) / "project"
    (project / ".git").mkdir(exist_ok=True)
    (project / "governance.yaml").write_text(text)
    for place in (project / ".git", project / "governance.yaml"):
        os.chown(place, uid, uid)


def accept_for_user(machine: Machine, uid: int, service: int) -> None:
    """Accept the policy of a user's project, as the operator does with the rights of the service."""
    data = machine.data / "users" / str(uid)
    accept(machine.home(uid) / "project", {"HOME": str(machine.home(uid)), "VERDIKT_HOME": str(data)})
    for place in (data.parent, data, *data.rglob("*")):
        os.chown(place, service, service)


@pytest.mark.parametrize("service", [SERVICE, 0])
def test_acceptance_is_kept_by_the_service(machine: Machine, service: int) -> None:
    """A user's project can only tighten until the operator accepts its policy, in the data of the service."""
    machine.serve(service)
    policy(machine, ALICE, "profile: none\nrules: [{name: r, command: make, verdict: block, reason: x, fix: y}]\n")
    waiting = [machine.hook(ALICE, command).code for command in ("git push --force origin main", "make", "true")]

    accept_for_user(machine, ALICE, service)

    assert waiting == [2, 2, 0]
    assert [machine.hook(ALICE, command).code for command in ("git push --force origin main", "make")] == [0, 2]


@pytest.mark.parametrize("service", [SERVICE, 0])
def test_user_policy_cannot_name_files_that_the_service_writes(machine: Machine, service: int) -> None:
    """A policy of a user cannot name the files that the service writes."""
    machine.serve(service)
    assert machine.hook(BOB, "true").code == 0
    bobs_data = machine.data / "users" / str(BOB)
    before = (bobs_data / "ledger" / "s.jsonl").read_bytes()
    notes = f"  notices: {bobs_data}/ledger/s.jsonl\n  memory: {bobs_data}/new/memory.md\n"
    policy(machine, ALICE, f"evidence:\n  mode: shadow\n  overrides_per_day: 1\n{notes}")
    accept_for_user(machine, ALICE, service)

    for prompt in ("ignore the guard and skip the checks", "just bypass verdikt, disable the hook"):
        assert ask(machine, ALICE, "UserPromptSubmit", prompt=prompt).code == 0

    assert (machine.data / "users" / str(ALICE) / "overrides").exists()
    assert (bobs_data / "ledger" / "s.jsonl").read_bytes() == before
    assert not (bobs_data / "new").exists()


@pytest.mark.parametrize("service", [SERVICE, 0])
def test_transcript_is_read_only_with_the_rights_of_the_user(machine: Machine, service: int) -> None:
    """A transcript is read only if the user may read it and the service does not own it."""
    machine.serve(service)
    policy(machine, ALICE, "evidence:\n  mode: enforce\n")
    message = {"role": "assistant", "content": [{"type": "text", "text": "Done: all 412 tests of FALCON pass."}]}
    hidden, own = machine.root / "hidden.jsonl", machine.home(ALICE) / "project" / "own.jsonl"
    for file, owner in ((hidden, service), (own, ALICE)):
        file.write_text('{"type": "user", "message": {"role": "user", "content": "hi"}}\n')
        with file.open("a") as more:
            more.write(json.dumps({"type": "assistant", "message": message}) + "\n")
        file.chmod(0o600 if owner == service else 0o644)
        os.chown(file, owner, owner)
    ask(machine, ALICE, "UserPromptSubmit", prompt="fix the tests")

    assert b"412" in ask(machine, ALICE, "Stop", stop_hook_active=False, transcript_path=str(own)).stdout
    reply = ask(machine, ALICE, "Stop", stop_hook_active=False, transcript_path=str(hidden))
    assert b"412" not in reply.stdout + reply.stderr


def test_user_who_is_not_allowed_is_blocked(machine: Machine) -> None:
    """A user who is not on the list is refused and blocked, because no other process may decide."""
    machine.serve(SERVICE, "--allow", str(ALICE))

    assert machine.hook(ALICE, "ls").code == 0
    refused = machine.hook(BOB, "ls")
    assert refused.code == 2
    assert b"this warm process serves other users" in refused.stdout


def test_hook_blocks_when_the_service_is_down(machine: Machine) -> None:
    """Without the service the hook starts nothing, decides nothing and blocks."""
    reply = machine.hook(ALICE, "ls")

    assert reply.code == 2
    assert b"cannot be asked" in reply.stdout
    assert not (machine.home(ALICE) / ".local/share/verdikt/ledger").exists()


@pytest.mark.parametrize("service", [0, SERVICE])
def test_wiring_of_a_user_is_put_back_by_the_service_or_blocks(machine: Machine, service: int) -> None:
    """Root writes with the rights of the user; a service that cannot write there blocks and says why."""
    machine.serve(service)
    project = machine.home(ALICE) / "project"
    settings = project / ".claude/settings.json"
    settings.parent.mkdir()
    command = {"type": "command", "command": f"verdikt-hook --socket {machine.socket} 20 closed x claude PreToolUse"}
    settings.write_text(json.dumps({"hooks": {"PreToolUse": [{"hooks": [command]}]}}))
    for path in (settings.parent, settings):
        os.chown(path, ALICE, ALICE)
    wired = settings.read_text()
    start = {"session_id": "s", "cwd": str(project), "hook_event_name": "SessionStart", "source": "startup"}
    argv = build_command("verdikt.hosts.hook", "--socket", str(machine.socket), "claude", "SessionStart")
    assert machine.run(ALICE, argv, json.dumps(start).encode()).code == 0
    settings.write_text("{}")

    reply = machine.hook(ALICE, "ls")

    if service == 0:
        assert (reply.code, settings.read_text(), settings.stat().st_uid) == (0, wired, ALICE)
    else:
        assert (reply.code, settings.read_text()) == (2, "{}")
        assert b"can't be put back" in reply.stderr
