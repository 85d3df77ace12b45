"""Whether an agent is among a process's ancestors, on made-up process tables and on real processes."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from verdikt.hosts.registry import HOSTS
from verdikt.observe.process_ancestry import AGENT_PROGRAMS, find_agent_process, read_process

ORPHAN = "a process without a login session"
ASK = "from verdikt.observe.process_ancestry import find_agent_process as f; print(repr(f()))"


def write_process(
    proc: Path,
    pid: int,
    parent: int,
    *argv: str,
    name: str = "",
    program: str = "/usr/bin/x",
    uid: int = 1000,
    group: int = 0,
    session: int = 0,
    started: int = 0,
    env: Mapping[str, str] | None = None,
    cgroup: str = "/",
) -> None:
    """Add a process to a made-up `/proc`."""
    directory = proc / str(pid)
    directory.mkdir()
    name = name or Path(argv[0]).name
    fields = f"S {parent} {group or pid} {session or pid} " + "0 " * 15 + f"{started or pid} 0"
    (directory / "stat").write_text(f"{pid} ({name}) {fields}\n")
    (directory / "status").write_text(f"Name:\t{name}\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\n")
    (directory / "cmdline").write_bytes(b"".join(word.encode() + b"\0" for word in argv))
    (directory / "environ").write_bytes(b"".join(f"{key}={value}\0".encode() for key, value in (env or {}).items()))
    (directory / "cgroup").write_text(f"0::{cgroup}\n")
    (directory / "exe").symlink_to(program)


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """Return a made-up `/proc` with init alone."""
    directory = tmp_path / "proc"
    directory.mkdir()
    write_process(directory, 1, 0, "/sbin/init", uid=0, program="/usr/lib/systemd/systemd")
    return directory


SSHD = ("/usr/sbin/sshd", "-D")

AGENTS = [
    ("claude",),
    ("/home/ada/.local/bin/claude", "-p", "x"),
    ("node", "/usr/lib/node_modules/@anthropic-ai/claude-code/cli.js"),
    ("npx", "@anthropic-ai/claude-code"),
    ("codex", "exec", "x"),
    ("node", "/usr/bin/gemini"),
    ("python3", "/home/ada/.local/bin/aider"),
    ("/usr/bin/opencode",),
    ("cursor-agent",),
    ("node", "--no-warnings", "/opt/copilot/node_modules/@github/copilot/index.js"),
]


@pytest.mark.parametrize("argv", AGENTS)
def test_command_below_an_agent_is_recognized(proc: Path, argv: Sequence[str]) -> None:
    """An agent's program is found by its name, its script or its package, also through several shells."""
    write_process(proc, 10, 1, *SSHD, uid=0, program="/usr/sbin/sshd")
    write_process(proc, 20, 10, "-bash")
    write_process(proc, 30, 20, *argv)
    write_process(proc, 40, 30, "bash", "-c", "verdikt pause 1h")
    write_process(proc, 50, 40, "python3", "-m", "verdikt")

    assert find_agent_process(50, proc=str(proc)) not in ("", ORPHAN)


def test_every_host_with_a_program_is_recognized() -> None:
    """The programs come from the hosts' descriptions."""
    assert {host.program for host in HOSTS.values() if host.program} <= {
        program for programs in AGENT_PROGRAMS.values() for program in programs
    }


def test_ancestor_with_an_agents_environment_is_recognized(proc: Path) -> None:
    """A command that clears its own environment still has a shell above it that the agent started."""
    write_process(proc, 10, 1, *SSHD, uid=0, program="/usr/sbin/sshd")
    write_process(proc, 20, 10, "someagent")
    write_process(proc, 30, 20, "bash", "-c", "env -i verdikt pause 1h", env={"CLAUDECODE": "1"})
    write_process(proc, 40, 30, "python3", "-m", "verdikt")

    assert find_agent_process(40, proc=str(proc)) == "Claude Code"


def test_command_that_an_agent_handed_to_init_is_recognized_by_its_group(proc: Path) -> None:
    """The agent leads the process group that its command is still in."""
    write_process(proc, 10, 1, *SSHD, uid=0, program="/usr/sbin/sshd")
    write_process(proc, 30, 10, "claude")
    write_process(proc, 40, 1, "python3", "-m", "verdikt", group=30, session=10)

    assert find_agent_process(40, proc=str(proc)) == "Claude Code"


@pytest.mark.parametrize(
    ("argv", "program"),
    [
        (("script", "-qc", "verdikt pause 1h"), "/usr/bin/script"),
        # A process can give itself any name, and a program can be copied: only a program that root installed counts.
        (("tmux",), "/usr/bin/script"),
        (("tmux",), "/tmp/tmux"),
        (("python3", "-m", "verdikt"), "/usr/bin/python3"),
    ],
)
def test_process_that_init_adopted_without_a_login_counts_as_an_agents(
    proc: Path, argv: Sequence[str], program: str
) -> None:
    """A command that left its agent behind has no login, no desktop and no terminal program above it."""
    write_process(proc, 20, 1, *argv, program=program)
    write_process(proc, 30, 20, "sh")
    write_process(proc, 40, 30, "python3", "-m", "verdikt", session=30)

    assert find_agent_process(40, proc=str(proc)) == ORPHAN


def test_process_that_the_users_own_systemd_adopted_counts_as_an_agents(proc: Path) -> None:
    """On a desktop, orphans are adopted by `systemd --user`."""
    systemd = shutil.which("true") or "/bin/true"
    write_process(proc, 5, 1, "/usr/lib/systemd/systemd", "--user", name="systemd", program=systemd)
    write_process(proc, 20, 5, "script", "-qc", "verdikt pause 1h", program="/usr/bin/script")
    write_process(proc, 30, 20, "python3", "-m", "verdikt")

    assert find_agent_process(30, proc=str(proc)) == ORPHAN


ROOT_PROGRAM = shutil.which("env") or "/usr/bin/env"


def test_person_in_a_terminal_program_is_let_through(proc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal program that root installed opens a session for a person."""
    monkeypatch.setattr("verdikt.observe.process_ancestry.SESSION_PROGRAMS", frozenset({Path(ROOT_PROGRAM).name}))
    write_process(proc, 20, 1, "gnome-terminal-server", program=ROOT_PROGRAM)
    write_process(proc, 30, 20, "zsh")
    write_process(proc, 40, 30, "python3", "-m", "verdikt", session=30)

    assert find_agent_process(40, proc=str(proc)) == ""


def test_person_who_logged_in_is_let_through(proc: Path) -> None:
    """A login keeps a process of root above the person's shell."""
    write_process(proc, 10, 1, *SSHD, uid=0)
    write_process(proc, 11, 10, "sshd: ada [priv]", uid=0)
    write_process(proc, 20, 11, "-bash")
    write_process(proc, 40, 20, "python3", "-m", "verdikt", session=20)

    assert find_agent_process(40, proc=str(proc)) == ""


def test_job_of_a_scheduler_counts_as_an_agents(proc: Path) -> None:
    """An agent can leave a job with `at`, whose daemon belongs to root."""
    write_process(proc, 10, 1, "/usr/sbin/atd", uid=0, cgroup="/system.slice/atd.service")
    write_process(proc, 20, 10, "sh", cgroup="/system.slice/atd.service")
    write_process(proc, 40, 20, "python3", "-m", "verdikt", cgroup="/system.slice/atd.service")

    assert find_agent_process(40, proc=str(proc)) == ORPHAN


def test_person_who_entered_a_container_is_let_through(proc: Path) -> None:
    """`docker exec` starts a process whose parent is outside; no process inside can do that."""
    write_process(proc, 20, 0, "bash")
    write_process(proc, 40, 20, "python3", "-m", "verdikt", session=20)

    assert find_agent_process(40, proc=str(proc)) == ""


def test_shell_that_a_containers_init_started_is_let_through_unless_an_agent_is_older(proc: Path) -> None:
    """It stays in init's session; where an agent shares that session, what is younger may be the agent's."""
    write_process(proc, 20, 1, "bash", session=1)
    write_process(proc, 40, 20, "python3", "-m", "verdikt", session=1)
    assert find_agent_process(40, proc=str(proc)) == ""

    write_process(proc, 15, 1, "claude", session=1)
    assert find_agent_process(40, proc=str(proc)) == ORPHAN


def test_service_of_the_system_is_let_through_and_an_orphan_in_it_is_not(proc: Path) -> None:
    """A CI runner is the first process of its service; what its jobs leave behind is not."""
    service = "/system.slice/runner.service"
    write_process(proc, 20, 1, "runner", cgroup=service)
    write_process(proc, 40, 20, "python3", "-m", "verdikt", cgroup=service)
    write_process(proc, 50, 1, "python3", "-m", "verdikt", cgroup=service)

    assert find_agent_process(40, proc=str(proc)) == ""
    assert find_agent_process(50, proc=str(proc)) == ORPHAN


@pytest.mark.parametrize("argv", [("vim", "claude.md"), ("bash", "--rcfile", "x"), ("less", "codex.py")])
def test_program_that_only_names_an_agent_is_let_through(proc: Path, argv: Sequence[str]) -> None:
    """A file that is called like an agent makes no agent of the program that opened it."""
    write_process(proc, 10, 1, *SSHD, uid=0)
    write_process(proc, 20, 10, *argv)
    write_process(proc, 30, 20, "python3", "-m", "verdikt")

    assert find_agent_process(30, proc=str(proc)) == ""


def test_damaged_and_hidden_process_tables_raise_nothing(proc: Path) -> None:
    """A process may end, or hide what it is, while it is looked at."""
    write_process(proc, 20, 1, "bash")
    (proc / "20" / "environ").unlink()
    (proc / "20" / "exe").unlink()
    write_process(proc, 30, 20, "a) S 1 (b", name="a) S 1 (b")
    (proc / "40").mkdir()
    (proc / "40" / "stat").write_text("nonsense")

    assert find_agent_process(30, proc=str(proc)) == ORPHAN
    assert read_process(40, proc=str(proc)) is None
    assert find_agent_process(99, proc=str(proc)) == ""
    assert find_agent_process(os.getpid(), proc=str(proc / "none")) == ""


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")
def test_real_process_below_an_agent_is_recognized(tmp_path: Path) -> None:
    """A real shell under an agent's name, with a cleared environment, in a session of its own."""
    agent = tmp_path / "claude"
    agent.symlink_to(shutil.which("sh") or "/bin/sh")
    command = f"env -i setsid '{sys.executable}' -c '{ASK}'; true"
    completed = subprocess.run([agent, "-c", command], capture_output=True, text=True, check=True)

    assert completed.stdout == "'Claude Code'\n"


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")
def test_real_process_that_left_its_agent_behind_is_recognized(tmp_path: Path) -> None:
    """`setsid --fork` hands the command to init and ends."""
    answer = tmp_path / "answer"
    command = f"'{sys.executable}' -c '{ASK}' > '{answer}.new'; mv '{answer}.new' '{answer}'"
    subprocess.run(["env", "-i", "setsid", "--fork", "sh", "-c", command], check=True)
    for _ in range(200):
        if answer.exists():
            break
        time.sleep(0.05)

    assert answer.read_text() == f"'{ORPHAN}'\n"
