"""Where a command runs: on this machine, in a container made for it, in one that goes on running, or on another machine."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from verdikt.shell.command import UNKNOWN

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation
    from verdikt.shell.command import Command, Word

_CONTAINER_ENGINES = frozenset(("docker", "podman", "nerdctl", "finch", "docker-compose", "podman-compose"))
_LOCAL_MACHINE_PROGRAMS = frozenset(("vagrant", "lxc", "incus", "multipass", "limactl"))
"""Virtual machines on this one, which nobody else uses."""
_REMOTE_MACHINE_PROGRAMS = frozenset(
    ("ssh", "kubectl", "oc", "chroot", "adb", "gcloud", "fly", "flyctl", "heroku", "tsh", "machinectl")
)


_MAX_LOOKBEHIND = 64


class ExecutionContext(NamedTuple):
    """`kind` is machine, fresh (a container made for this command), container or elsewhere; a mount is inside → outside."""

    kind: str
    mounts: tuple[tuple[str, str], ...] = ()
    working_directory: str = ""

    def to_outside_path(self, path: str) -> str | None:
        """The path or volume outside that a path inside stands for; None when it is the container's own."""
        for inside, name in sorted(self.mounts, key=lambda mount: -len(mount[0])):
            root = inside.rstrip("/")
            if path.rstrip("/") == root or path.startswith(root + "/"):
                return name + path.rstrip("/")[len(root) :]
        return None


def find_execution_context(command: Command, commands: Sequence[Command]) -> ExecutionContext:
    """The place of one command among those of the same text."""
    if not command.host:
        return ExecutionContext("machine")
    around = set(command.via)
    if around & _REMOTE_MACHINE_PROGRAMS or not around & (_CONTAINER_ENGINES | _LOCAL_MACHINE_PROGRAMS):
        return ExecutionContext("elsewhere")
    if not around & _CONTAINER_ENGINES:
        return ExecutionContext("container")
    outer = _find_engine_command(command, commands)
    if outer is None:
        return ExecutionContext("elsewhere")
    words = [word.text for word in outer.argv[1:]]
    before = words[: words.index(command.host)] if command.host in words else words
    if "run" not in before and "create" not in before:
        return ExecutionContext("container")
    return ExecutionContext("fresh", tuple(_parse_mounts(outer.argv[1:])), _find_flag_value(words, "-w", "--workdir"))


def find_working_directory(call: Invocation) -> str:
    """Where a command of this machine runs."""
    return call.resolver.to_absolute(".", call.command.cwd) or call.facts.cwd


def find_preceding(command: Command, commands: Sequence[Command]) -> Sequence[Command]:
    """The commands shortly before one, itself included; however long the text, only so many."""
    last = bisect_right(commands, command.span[0], key=lambda other: other.span[0])
    return commands[max(0, last - _MAX_LOOKBEHIND) : last]


def _find_engine_command(command: Command, commands: Sequence[Command]) -> Command | None:
    """The container engine's own command, which stands not far before what it runs."""
    for other in reversed(find_preceding(command, commands)):
        if other.name in _CONTAINER_ENGINES and len(other.via) < len(command.via) and other.span[1] >= command.span[0]:
            return other
    return None


def _parse_mounts(argv: Sequence[Word]) -> list[tuple[str, str]]:
    found = []
    wants = ""
    for word in argv:
        text = word.text
        flag, equals, value = text.partition("=")
        if wants:
            flag, value, equals = wants, text, "="
            wants = ""
        elif flag in ("-v", "--volume", "--mount") and not equals:
            wants = flag
            continue
        if not equals:
            continue
        if flag in ("-v", "--volume"):
            name, colon, inside = value.partition(":")
            if colon:
                found.append((inside.split(":")[0], name))
        elif flag == "--mount":
            parts = dict(part.partition("=")[::2] for part in value.split(","))
            name = parts.get("source") or parts.get("src") or ""
            inside = parts.get("target") or parts.get("dst") or parts.get("destination") or ""
            if name and inside:
                found.append((inside, name))
    return [(inside, name) for inside, name in found if inside and UNKNOWN not in inside]


def _find_flag_value(words: list[str], *flags: str) -> str:
    for index, text in enumerate(words):
        flag, equals, value = text.partition("=")
        if flag in flags:
            return value if equals else words[index + 1] if index + 1 < len(words) else ""
    return ""
