"""Find commands and tools that show a private login key: `cat ~/.ssh/id_rsa`, `base64 backup/deploy_ed25519`.

A program that needs a key reads it by itself, by its name. Its text in an agent's context can only leave from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from verdikt.effects.program_record import find_program
from verdikt.effects.target import abbreviate_home, is_key_name
from verdikt.effects.zone_effects import derive_effect
from verdikt.knowledge import find_role
from verdikt.model.effect import Zone
from verdikt.model.lazy_regex import compile_lazily

if TYPE_CHECKING:
    from verdikt.model.effect import Effect, Target
    from verdikt.model.facts import Facts
    from verdikt.shell.command import Command

_PRINTERS = find_role("word_printer")
_READ_EFFECTS = frozenset("fs.read cred.read cred.read.hidden priv.escalate mcp.read unknown.tool".split())
"""What a command does that reads a file and hands on what is in it; one that does more uses the key."""
_OUTPUT_DEVICES = ("/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd/", "/proc/self/fd/")
_TEMPORARY_PREFIXES = ("/tmp/", "/var/tmp/", "/private/tmp/", "/var/folders/", "/dev/shm/")
_USUAL_KEYS = ("id_rsa", "id_ed25519", "id_ecdsa", "id_dsa")
_GNUPG_KEYS = ("~/.gnupg/private-keys", "~/.gnupg/secring.")
_KEY_DIRECTORY_NAME = compile_lazily(
    r"(?!config|known_hosts|authorized_|allowed_|revoked_|environment|rc$|agent|control|cm[-_]|readme|notes)"
    r"[^.@:]+(?:\.(?:pem|key|ppk|priv|private|openssh))?$"
)
"""Names in `~/.ssh` of what is none of its other files: a name without an ending is how people call their keys."""
_EXAMPLE_DIRECTORY = compile_lazily(
    r"/(?:tests?|__tests__|specs?|fixtures?|testdata|test[-_][\w-]+|[\w-]+[-_]tests?|examples?|samples?|docs?|mocks?"
    r"|e2e|vendor|node_modules|site-packages|dist-packages|third[-_]party)/"
)
"""Directories whose keys belong to tests and dependencies."""


def add_shown_keys(commands: Sequence[Command], effects_by_command: Sequence[list[Effect]], facts: Facts) -> None:
    """Add `cred.read.key` to the effects of each command that reads a private key and whose output is shown."""
    for index, effects in enumerate(effects_by_command):
        if (key_effect := find_shown_key(effects, facts)) and _is_shown(index, commands, effects_by_command):
            effects.append(key_effect)


def find_shown_key(effects: Sequence[Effect], facts: Facts) -> Effect | None:
    """Return `cred.read.key` for effects that only read, and surely read a private key."""
    for effect in effects:
        if effect.what == "cred.read" and effect.certain:
            keys = [target for target in effect.targets if is_private_key(target, facts)]
            only_reads = keys and all(other.what in _READ_EFFECTS for other in effects)
            if only_reads and any(other.what == "fs.read" for other in effects):
                return derive_effect("cred.read.key", effect, keys)
    return None


def is_private_key(target: Target, facts: Facts) -> bool:
    """Return whether a target is a key by which a person, or a machine, logs in elsewhere or signs.

    Keys of tests and dependencies, in temporary directories, and those that this session made are none.
    """
    if target.zone is not Zone.SECRET or not target.path:
        return False
    path = abbreviate_home(target.path, facts.home).lower()
    directory, _, name = path.rpartition("/")
    if f"{directory}/".startswith("~/.ssh/"):
        if any(character in name for character in "*?["):
            return any(fnmatchcase(key, name) for key in _USUAL_KEYS) or is_key_name(name)
        return is_key_name(name) or _KEY_DIRECTORY_NAME.match(name) is not None
    if path.startswith(_GNUPG_KEYS):
        return True
    is_sample = target.path.startswith(_TEMPORARY_PREFIXES) or _EXAMPLE_DIRECTORY.search(path) is not None
    return is_key_name(name) and not is_sample and not facts.is_created_in_session(target.path)


def _is_shown(index: int, commands: Sequence[Command], effects_by_command: Sequence[Sequence[Effect]]) -> bool:
    """Return whether the output of a command is shown, also by way of others that only hand it on."""
    for _ in commands:
        command = commands[index]
        if command.host or _is_summary(command.name):
            return False
        if any(_keeps_output(r.op, r.fd, r.target.text) for r in command.redirects):
            return False
        following = command.pipe_to
        if following is None:
            return command.feeds is None or commands[command.feeds].name in _PRINTERS
        if not index < following < len(commands):
            return False
        if any(effect.what not in _READ_EFFECTS for effect in effects_by_command[following]):
            return False
        index = following
    return False


def _is_summary(name: str) -> bool:
    """Return whether a program's output says something about its input, and is none of it: `wc`, `sha256sum`."""
    program = find_program(name)
    return program is not None and bool(program.effects) and all(row.what == "fs.list" for row in program.effects)


def _keeps_output(op: str, fd: int, path: str) -> bool:
    return ">" in op and fd == 1 and op != ">&" and not path.startswith(_OUTPUT_DEVICES)
