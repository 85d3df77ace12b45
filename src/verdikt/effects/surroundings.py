"""Where a command runs: on this machine, in a container made for it, in one that goes on running, or on another machine."""

from __future__ import annotations

from bisect import bisect_right

from verdikt.model.row import Row
from verdikt.shell.command import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdikt.effects.call import Call
    from verdikt.shell.command import Command, Word

_ENGINES = frozenset(("docker", "podman", "nerdctl", "finch", "docker-compose", "podman-compose"))
_MACHINES_HERE = frozenset(("vagrant", "lxc", "incus", "multipass", "limactl"))
"""Virtual machines on this one, which nobody else uses."""
_MACHINES = frozenset(
    ("ssh", "kubectl", "oc", "chroot", "adb", "gcloud", "fly", "flyctl", "heroku", "tsh", "machinectl")
)


_NEAR = 64


class Surroundings(Row):
    """`kind` is machine, fresh (a container made for this command), container or elsewhere; a mount is inside → outside."""

    kind: str
    mounts: tuple[tuple[str, str], ...] = ()
    directory: str = ""

    def outside(self, path: str) -> str | None:
        """The path or volume outside that a path inside stands for; None when it is the container's own."""
        for inside, name in sorted(self.mounts, key=lambda mount: -len(mount[0])):
            root = inside.rstrip("/")
            if path.rstrip("/") == root or path.startswith(root + "/"):
                return name + path.rstrip("/")[len(root) :]
        return None


def surroundings_of(command: Command, commands: Sequence[Command]) -> Surroundings:
    """The place of one command among those of the same text."""
    if not command.where:
        return Surroundings("machine")
    around = set(command.via)
    if around & _MACHINES or not around & (_ENGINES | _MACHINES_HERE):
        return Surroundings("elsewhere")
    if not around & _ENGINES:
        return Surroundings("container")
    outer = _around(command, commands)
    if outer is None:
        return Surroundings("elsewhere")
    words = [word.text for word in outer.argv[1:]]
    before = words[: words.index(command.where)] if command.where in words else words
    if "run" not in before and "create" not in before:
        return Surroundings("container")
    return Surroundings("fresh", tuple(_mounts(outer.argv[1:])), _value(words, "-w", "--workdir"))


def directory(call: Call) -> str:
    """Where a command of this machine runs."""
    return call.resolver.absolute(".", call.command.cwd) or call.facts.cwd


def before(command: Command, commands: Sequence[Command]) -> Sequence[Command]:
    """The commands shortly before one, itself included; however long the text, only so many."""
    last = bisect_right(commands, command.span[0], key=lambda other: other.span[0])
    return commands[max(0, last - _NEAR) : last]


def _around(command: Command, commands: Sequence[Command]) -> Command | None:
    """The container engine's own command, which stands not far before what it runs."""
    for other in reversed(before(command, commands)):
        if other.name in _ENGINES and len(other.via) < len(command.via) and other.span[1] >= command.span[0]:
            return other
    return None


def _mounts(argv: Sequence[Word]) -> list[tuple[str, str]]:
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


def _value(words: list[str], *flags: str) -> str:
    for index, text in enumerate(words):
        flag, equals, value = text.partition("=")
        if flag in flags:
            return value if equals else words[index + 1] if index + 1 < len(words) else ""
    return ""
