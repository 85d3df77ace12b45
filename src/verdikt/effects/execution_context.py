"""Where a command runs: on this machine, in a container made for it, in one that keeps running, or elsewhere."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from posixpath import normpath
from typing import TYPE_CHECKING, NamedTuple

from verdikt.effects.installation_names import is_for_trials, is_live_name, is_throwaway
from verdikt.effects.target import is_build_output
from verdikt.knowledge import find_role
from verdikt.model.effect import Target, Zone
from verdikt.shell.command import UNKNOWN, Word
from verdikt.shell.possible_wrapper import POSSIBLE_WRAPPER

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation
    from verdikt.shell.command import Command

_CONTAINER_ENGINES = find_role("container_engine")
_LOCAL_MACHINE_PROGRAMS = find_role("local_machine")
"""Programs that run virtual machines on this one; nothing but this project depends on those."""
_REMOTE_MACHINE_PROGRAMS = find_role("remote_machine")
_MACHINE_EFFECT_PREFIXES = (
    "sys.read",
    "sys.service",
    "sys.server",
    "sys.setting",
    "sys.user",
    "sys.network",
    "sys.power",
    "proc.",
    "pkg.",
    "priv.escalate",
    "env.",
    "persist.cron",
    "cron.",
)
"""Effects on a machine that end at the container's border."""
_DATA_PREFIXES = ("db.", "queue.")
_ENGINE_VARIABLES = ("DOCKER_HOST", "DOCKER_CONTEXT", "CONTAINER_HOST")
_FILE_WRITE_PREFIXES = ("fs.write", "fs.append", "fs.overwrite", "fs.move", "fs.link", "fs.chmod", "fs.chown")
# Bounds the search, so that a text of thousands of commands is not searched again for each of them.
_MAX_LOOKBEHIND = 64


class ExecutionContext(NamedTuple):
    """The place of a command: `machine`, `fresh` (a container made for it), `container` or `elsewhere`.

    `mounts` maps paths inside the container to paths or volumes outside.
    """

    kind: str
    mounts: tuple[tuple[str, str], ...] = ()
    working_directory: str = ""
    is_remote_engine: bool = False
    """Whether the engine is one of another machine, so that the data in its containers may be what others use."""

    def to_outside_path(self, path: str) -> str | None:
        """Return the outside path or volume behind a path inside; None if the path is the container's own."""
        for inside, name in sorted(self.mounts, key=lambda mount: -len(mount[0])):
            root = inside.rstrip("/")
            if path.rstrip("/") == root or path.startswith(root + "/"):
                return name + path.rstrip("/")[len(root) :]
        return None


def find_execution_context(command: Command, commands: Sequence[Command]) -> ExecutionContext:
    """Return where a command runs, given all commands of the same text."""
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
    before_image = words[: words.index(command.host)] if command.host in words else words
    if "run" not in before_image and "create" not in before_image:
        return ExecutionContext("container", is_remote_engine=names_other_engine(outer, before_image))
    return ExecutionContext("fresh", tuple(_parse_mounts(outer.argv[1:])), _find_flag_value(words, "-w", "--workdir"))


def names_other_engine(engine: Command, options: list[str]) -> bool:
    """Return whether a container engine is told to work on another machine."""
    names = [_find_flag_value(options, "-H", "--host", "--context", "--connection")]
    names += [value.text for name, value in engine.assignments if name in _ENGINE_VARIABLES]
    return any(name and not name.startswith(("unix://", "default", "desktop-", "rootless")) for name in names)


def find_working_directory(call: Invocation) -> str:
    """Return the directory in which a command of this machine runs."""
    return call.resolver.to_absolute(".", call.command.cwd) or call.facts.cwd


def find_preceding(command: Command, commands: Sequence[Command]) -> Sequence[Command]:
    """Return the commands shortly before one, itself included, up to a fixed number."""
    last = bisect_right(commands, command.span[0], key=lambda other: other.span[0])
    return commands[max(0, last - _MAX_LOOKBEHIND) : last]


def is_contained(what: str, kind: str) -> bool:
    """Return whether an effect stays inside the container that the command runs in."""
    return (kind in ("fresh", "container") and what.startswith(_MACHINE_EFFECT_PREFIXES)) or (
        kind == "container" and what.startswith(_FILE_WRITE_PREFIXES)
    )


def is_throwaway_data(what: str, container: str, targets: Sequence[Target]) -> bool:
    """Return whether data in a running container of this machine was made for a trial, by its name or the container's.

    The container's name counts only where it says nothing of a live installation: `test-prod-db`.
    """
    if not what.startswith(_DATA_PREFIXES) or any(map(is_live_name, (container, *(t.text for t in targets)))):
        return False
    return is_for_trials(container) or (bool(targets) and all(is_throwaway(target.text) for target in targets))


def resolve_remote(call: Invocation, word: Word) -> Target:
    """Resolve a path on another machine or in a running container, of which only the name is known."""
    label = f"{call.command.host}:{word.display_text}"
    if word.text.rstrip("/*") == "~":
        return Target(label, "path", "~", Zone.SYSTEM)
    directory = call.command.cwd
    text = word.text
    if word.is_known and text[:1] not in ("/", "~") and directory is not None and directory.text[:1] == "/":
        text = f"{directory.text}/{text}"
    if UNKNOWN in text or not text.startswith(("/", "~")):
        return Target(label, "path", "", Zone.OUTSIDE)
    path = call.resolver.to_absolute(text)
    zone = call.resolver.find_zone(path)
    if call.context.kind == "container" and path != "/" and zone in (Zone.SYSTEM, Zone.PERSIST, Zone.OUTSIDE):
        # A container is no machine: what is lost there is what it wrote, or a volume.
        if path.count("/") > 2 and is_build_output(path[1:]):
            return Target(label, "path", path, Zone.TEMP, "ignored")
        return Target(label, "path", "", Zone.OUTSIDE)
    if zone in (Zone.PROJECT, Zone.HOME):
        zone = Zone.OUTSIDE
    return Target(label, "path", path, zone)


def _find_container_directory(call: Invocation) -> str:
    """Return the directory inside a container in which a command runs: where the container starts, or a later `cd`."""
    directory = call.command.cwd.text if call.command.cwd is not None else "~"
    # `~` is where a text begins that runs in another place than this one.
    return (call.context.working_directory or "/") + directory[1:] if directory[:1] == "~" else directory


def resolve_in_container(call: Invocation, word: Word, *, with_state: bool, git: bool) -> Target:
    """Resolve a path in a container made for this command: temporary, unless it is mounted from outside."""
    context, text = call.context, word.text
    if not text.startswith("/"):
        text = f"{_find_container_directory(call)}/{text}"
    outside = context.to_outside_path(normpath(text)) if UNKNOWN not in text else None
    if outside is None:
        # A word that is not known may name any of the mounts.
        may_be_mounted = bool(context.mounts) and UNKNOWN in text
        label = f"{call.command.host}:{word.display_text}"
        if may_be_mounted:
            return Target(label, "path", "", Zone.OUTSIDE)
        # Of its own files the container's path says nothing about this machine; devices are those of the machine.
        return Target(label, "path", text if text.startswith("/dev/") else f"/{label}", Zone.TEMP)
    if outside.startswith(("/", "~", ".", UNKNOWN)):
        return call.resolver.resolve_path(Word(outside, word.raw, word.glob), None, with_state=with_state, git=git)
    return Target(outside, "path", "", Zone.OUTSIDE)


def _find_engine_command(command: Command, commands: Sequence[Command]) -> Command | None:
    """Return the container engine's own command, which stands shortly before what it runs."""
    for other in reversed(find_preceding(command, commands)):
        if other.name in _CONTAINER_ENGINES and len(other.via) < len(command.via) and other.span[1] >= command.span[0]:
            return other
    return None


def _parse_mounts(argv: Sequence[Word]) -> list[tuple[str, str]]:
    """Return the mounts that `-v`, `--volume` and `--mount` declare, as pairs of inside and outside."""
    mounts = []
    pending_flag = ""
    for word in argv:
        text = word.text
        flag, equals, value = text.partition("=")
        if pending_flag:
            flag, value, equals = pending_flag, text, "="
            pending_flag = ""
        elif flag in ("-v", "--volume", "--mount") and not equals:
            pending_flag = flag
            continue
        if not equals:
            continue
        if flag in ("-v", "--volume"):
            name, colon, inside = value.partition(":")
            if colon:
                mounts.append((inside.split(":")[0], name))
        elif flag == "--mount":
            parts = dict(part.partition("=")[::2] for part in value.split(","))
            name = parts.get("source") or parts.get("src") or ""
            inside = parts.get("target") or parts.get("dst") or parts.get("destination") or ""
            if name and inside:
                mounts.append((inside, name))
    return [(inside, name) for inside, name in mounts if inside and UNKNOWN not in inside]


def _find_flag_value(words: list[str], *flags: str) -> str:
    for index, text in enumerate(words):
        flag, equals, value = text.partition("=")
        if flag in flags:
            return value if equals else words[index + 1] if index + 1 < len(words) else ""
    return ""


def list_own_words(call: Invocation) -> tuple[Word, ...]:
    """Return a program's words without those of the command that it is known to run, which is judged by itself."""
    commands, command = call.commands, call.command
    own_words = command.argv[1:]
    place = next((index for index, other in enumerate(commands) if other is command), len(commands))
    inner = commands[place + 1] if place + 1 < len(commands) else None
    if inner is None or len(inner.via) <= len(command.via) or inner.via[-1].startswith(POSSIBLE_WRAPPER):
        return own_words
    inner_texts = [word.text for word in inner.argv]
    start = len(own_words) - len(inner_texts)
    is_tail = bool(inner_texts) and [word.text for word in own_words[max(start, 0) :]] == inner_texts
    return own_words[:start] if is_tail else own_words
