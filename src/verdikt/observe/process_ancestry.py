"""The processes that a process descends from, and whether an agent is among them. Linux only: it reads `/proc`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from verdikt.hosts.registry import HOSTS
from verdikt.knowledge import find_role, list_role
from verdikt.observe.agent_environment import AGENT_VARIABLES, detect_agent

PROC = "/proc"

AGENT_PROGRAMS: dict[str, tuple[str, ...]] = {
    **{host.title: (host.program, *host.agent_packages) for host in HOSTS.values() if host.program},
    **{
        title.replace("_", " "): tuple(programs.split(","))
        for title, _, programs in (item.partition("=") for item in list_role("agent_process"))
    },
}
"""Agent → the names of its program, and of the package that an interpreter runs it from."""

_AGENT_BY_PROGRAM = {program: agent for agent, programs in AGENT_PROGRAMS.items() for program in programs}
_AGENT_MARKS = frozenset(mark.encode() for marks in AGENT_VARIABLES.values() for mark in marks)

SESSION_PROGRAMS = find_role("session_opener")
"""Programs that open a session for a person, found in a directory that only root can write."""

_SCHEDULERS = find_role("scheduler")
"""Programs of root that run what an agent may have told them to run."""

_INIT_PROGRAMS = find_role("init_program")
"""Programs that adopt processes whose parent has ended."""

_INTERPRETERS = find_role("agent_interpreter")
_SCRIPT_SUFFIXES = (".js", ".mjs", ".cjs", ".ts", ".py")
_MAX_DEPTH = 128
_READ_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Process:
    """One running process, as `/proc` shows it."""

    pid: int
    parent: int
    group: int
    session: int
    started: int
    uid: int
    name: str
    argv: tuple[str, ...]
    program: str
    """The path of its executable; empty when it may not be read."""
    variables: frozenset[bytes]
    """The names of its environment variables when it was started."""

    @property
    def agent(self) -> str:
        """The agent that it is or was started by; empty when there is no sign of one."""
        for name in self._list_names():
            if agent := _AGENT_BY_PROGRAM.get(name):
                return agent
        marks = self.variables & _AGENT_MARKS
        return detect_agent({mark.decode(): "1" for mark in marks}) if marks else ""

    def _list_names(self) -> Iterator[str]:
        """Yield the names that it goes by: as the kernel has it, as it was called, and the script that it runs."""
        yield self.name
        program = os.path.basename(self.argv[0]) if self.argv else ""
        yield program
        if program.rstrip("0123456789.") not in _INTERPRETERS and self.name not in _INTERPRETERS:
            return  # the words after `vim` name files, not programs
        for word in [word for word in self.argv[1:4] if not word.startswith("-")][:2]:
            yield next((word.removesuffix(end) for end in _SCRIPT_SUFFIXES if word.endswith(end)), word).split("/")[-1]
            # `node …/node_modules/@anthropic-ai/claude-code/cli.js`, `npx @anthropic-ai/claude-code`
            package = word.rpartition("node_modules/")[2].split("/")
            yield package[1] if package[0].startswith("@") and len(package) > 1 else package[0]


def find_agent_process(pid: int | None = None, *, proc: str = PROC) -> str:
    """Return the agent below which a process (default: this one) runs; empty when none is found.

    A process that init adopted and that belongs to no login session counts as an agent's: a person's shell has a
    terminal, a desktop or a login above it, while a command that left its agent behind has nothing.
    """
    if not os.path.isdir(f"{proc}/{pid or os.getpid()}"):
        return ""  # no /proc on this system; the environment has been looked at
    ancestors = list(iter_ancestors(pid or os.getpid(), proc=proc))
    # The leaders of group and session too: they may be an agent that handed the process to init.
    leaders = {pid for ancestor in ancestors for pid in (ancestor.group, ancestor.session) if pid > 1}
    for process in (*ancestors, *filter(None, (read_process(pid, proc=proc) for pid in leaders))):
        if process.agent:
            return process.agent
    if ancestors and _is_orphan(ancestors, proc):
        return "a process without a login session"
    return ""


def iter_ancestors(pid: int, *, proc: str = PROC) -> Iterator[Process]:
    """Yield a process and its ancestors, the nearest first."""
    for _ in range(_MAX_DEPTH):
        process = read_process(pid, proc=proc)
        if process is None:
            return
        yield process
        pid = process.parent


def read_process(pid: int, *, proc: str = PROC) -> Process | None:
    """Return what `/proc` shows of a process; None when there is no such process."""
    directory = f"{proc}/{pid}"
    try:
        # The name is in parentheses and may itself contain any character.
        head, _, tail = _read(f"{directory}/stat").rpartition(b")")
        fields = tail.split()
        return Process(
            pid=pid,
            parent=int(fields[1]),
            group=int(fields[2]),
            session=int(fields[3]),
            started=int(fields[19]),
            uid=_read_real_uid(f"{directory}/status"),
            name=os.fsdecode(head.partition(b"(")[2]),
            argv=tuple(map(os.fsdecode, _read_or_nothing(f"{directory}/cmdline").split(b"\0")[:-1])),
            program=_read_link(f"{directory}/exe"),
            variables=frozenset(
                line.partition(b"=")[0] for line in _read_or_nothing(f"{directory}/environ").split(b"\0")
            ),
        )
    except (OSError, ValueError, IndexError, StopIteration):
        return None


def _is_orphan(ancestors: list[Process], proc: str) -> bool:
    """Return whether the last ancestor below init was left to init by a parent that ended."""
    below = [process for process in ancestors if process.pid != 1 and not _is_init(process)]
    init = next((process for process in ancestors if process.pid == 1), None)
    if not below or below[-1].parent == 0:
        return False  # entered the container from outside: no process inside it can do that
    top = below[-1]
    if any(process.name in _SCHEDULERS for process in below):
        return True
    if any(_opens_session(process, below[0].uid) for process in below):
        return False
    return init is None or not (_is_spawned_by_init(top, init, proc) or _is_service(top, proc))


def _is_init(process: Process) -> bool:
    return process.pid == 1 or (process.name in _INIT_PROGRAMS and _is_owned_by_root(process.program))


def _opens_session(process: Process, uid: int) -> bool:
    # `sshd`, `login` and display managers keep a process of root above the person's shell, which no one else can have.
    if uid != 0 and process.uid == 0:
        return True
    name = os.path.basename(process.program.removesuffix(" (deleted)"))
    # The executable and not the name, which a process can give itself; and not a copy in a directory of the user's.
    return name in SESSION_PROGRAMS and _is_owned_by_root(process.program)


def _is_owned_by_root(program: str) -> bool:
    try:
        return bool(program) and all(os.stat(path).st_uid == 0 for path in (program, os.path.dirname(program)))
    except OSError:
        return False


def _is_spawned_by_init(top: Process, init: Process, proc: str) -> bool:
    """Return whether a container's init started it: it stayed in init's session, and no agent is older."""
    # An agent's command normally has a session of its own. Where it has not, it is younger than its agent.
    stays = top.session == init.session and top.group in (top.pid, init.group)
    return stays and not any(agent.started < top.started for agent in _iter_agents(top.uid, proc))


def _is_service(top: Process, proc: str) -> bool:
    """Return whether it is the first process of a service of the system, as a CI runner is."""
    group = _read_cgroup(top.pid, proc)
    if not (group.startswith("/system.slice/") and group.endswith(".service")):
        return False
    members = (process for process in _iter_processes(proc) if _read_cgroup(process.pid, proc) == group)
    return all(top.started <= member.started for member in members)


def _read_cgroup(pid: int, proc: str) -> str:
    lines = os.fsdecode(_read_or_nothing(f"{proc}/{pid}/cgroup")).splitlines()
    return next((line[3:] for line in lines if line.startswith("0::")), "")


def _iter_agents(uid: int, proc: str) -> Iterator[Process]:
    return (process for process in _iter_processes(proc) if process.uid == uid and process.agent)


def _iter_processes(proc: str) -> Iterator[Process]:
    pids = (int(name) for name in os.listdir(proc) if name.isdigit())
    return (process for process in (read_process(pid, proc=proc) for pid in pids) if process is not None)


def _read_real_uid(path: str) -> int:
    """Return who runs a process. The owner of its directory would not do: a process can make that root."""
    return int(next(line for line in _read(path).splitlines() if line.startswith(b"Uid:")).split()[1])


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(_READ_BYTES)


def _read_or_nothing(path: str) -> bytes:
    # Another user's process hides its environment and its executable.
    try:
        return _read(path)
    except OSError:
        return b""


def _read_link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""
