"""What flows from one command to another: secrets that reach the network, shells that hang on a connection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from verdikt.effects import host
from verdikt.effects.zone_effects import derive_effect

if TYPE_CHECKING:
    from verdikt.model.effect import Effect, Target
    from verdikt.shell.command import Command

SHELLS = frozenset("sh bash zsh dash ksh mksh ash fish csh tcsh".split())
RAW_CONNECTION_PROGRAMS = frozenset(
    "nc ncat netcat telnet socat openssl socket nc.traditional nc.openbsd websocat ztcp".split()
)
"""Programs that open a bare connection."""

_LOOKUP_PROGRAMS = frozenset("dig nslookup host drill ping ping6 kdig whois traceroute".split())
OUTGOING_PREFIXES = (
    "net.send",
    "net.fetch",
    "net.connect",
    "net.lookup",
    "message.send",
    "repo.write",
    "repo.gist",
    "git.fetch",
)
"""How the names of effects begin by which something leaves."""
_ARGUMENT_ONLY_PREFIXES = ("repo.", "git.")
"""By these only what stands in their own words leaves, or comes through a pipe."""
_WRITE_EFFECTS = ("fs.write", "fs.append", "fs.overwrite")
_FILTER_PROGRAMS = ("grep", "egrep", "rg", "head", "wc")
_PASS_THROUGH_PROGRAMS = frozenset("cat base64 base32 tee gzip sort xxd openssl tr gpg zstd".split())
"""Programs that pass on all that they are given."""
_MAX_PIPELINE = 64
"""How many commands of a pipeline are followed back."""


def trace_dataflow(commands: Sequence[Command], effects_by_command: list[list[Effect]]) -> None:
    """Adds to each command's effects what it does with what other commands give it."""
    going: list[tuple[int, list[Effect]]] = []
    for index, effects in enumerate(effects_by_command):
        for effect in effects:
            if effect.what.startswith(OUTGOING_PREFIXES):
                going.append((index, [e for e in effects if e.what.startswith(OUTGOING_PREFIXES)]))
                break
    if not going:
        return
    secret, env = _find_taint(commands, effects_by_command)
    worded = any(flag for flag, command in zip(secret, commands, strict=True) if command.feeds is not None)
    for index, out in going:
        command = commands[index]
        if command.name in RAW_CONNECTION_PROGRAMS and _is_fed_by_shell(index, commands):
            effects_by_command[index].append(
                derive_effect("net.shell", out[0], out[0].targets, note="a shell over a connection")
            )
        sends = [e for e in out if not e.targets or not all(map(_is_local_target, e.targets))]
        if sends:
            effects_by_command[index] += _derive_secret_sends(
                index, sends[0], commands, effects_by_command, (secret[index], env, worded)
            )


def drop_login_reads(commands: Sequence[Command], effects_by_command: list[list[Effect]]) -> None:
    """Takes back that a secret is read where a program asks a service for it and only a login gets to see it."""
    for index, effects in enumerate(effects_by_command):
        if any(e.what == "cred.read" for e in effects) and _is_passed_to_login(commands[index], commands):
            effects_by_command[index] = [
                derive_effect("keys.list", e, (), note="for a login")
                if e.what == "cred.read" and not any(target.path for target in e.targets)
                else e
                for e in effects
            ]


def _is_passed_to_login(command: Command, commands: Sequence[Command]) -> bool:
    if any(r.op == ">" and r.fd == 1 and r.target.text == "/dev/null" for r in command.redirects):
        return True
    if command.feeds is not None and command.feeds < len(commands) and command.name in _TOKEN_HOSTS:
        return _requests_only(commands[command.feeds], _TOKEN_HOSTS[command.name])
    if command.pipe_to is None or not 0 <= command.pipe_to < len(commands):
        return False
    return any(word.text in ("--password-stdin", "--with-token") for word in commands[command.pipe_to].argv)


_TOKEN_HOSTS = {
    "gh": ("github.com",),
    "glab": ("gitlab.com",),
    "gcloud": ("googleapis.com", "pkg.dev", "run.app", "cloudfunctions.net"),
    "az": ("azure.com", "microsoft.com", "windows.net"),
}
"""Programs that tell tokens, and the hosts for which they are."""


def _requests_only(command: Command, hosts: tuple[str, ...]) -> bool:
    """Whether a request goes to these hosts alone."""
    asked = [host.parse_host(word.text) for word in command.argv[1:] if word.text.startswith(("https://", "http://"))]
    return (
        command.name in ("curl", "wget", "http", "https", "xh")
        and bool(asked)
        and all(any(name == own or name.endswith(f".{own}") for own in hosts) for name in asked)
    )


def _is_local_target(target: Target) -> bool:
    """This machine, or where a cloud tells it who it is."""
    return host.is_local_host(target.text) or host.is_metadata_host(target.text)


def _derive_secret_sends(
    index: int,
    send: Effect,
    commands: Sequence[Command],
    effects_by_command: list[list[Effect]],
    taint: tuple[bool, list[bool], bool],
) -> list[Effect]:
    """What one command sends that others gave it, by a pipe or in its words."""
    effects = []
    secret, env, worded = taint
    feeders = [i for i in range(max(0, index - _MAX_PIPELINE), index) if commands[i].feeds == index]
    inside = commands[index].feeds is not None
    if feeders and commands[index].name in _LOOKUP_PROGRAMS:
        effects.append(
            derive_effect("cred.send", send, send.targets, possible=True, note="in the name that is asked for")
        )
    if send.what == "net.send" and any(
        e.what == "fs.read" for i in _find_upstream(index, commands) for e in effects_by_command[i]
    ):
        effects.append(derive_effect("net.send.file", send, send.targets))
    if send.what.startswith(_ARGUMENT_ONLY_PREFIXES):
        worded = any(e.what.startswith("cred.read") for i in feeders for e in effects_by_command[i])
    if secret or (worded and not inside):
        effects.append(derive_effect("cred.send", send, send.targets))
    elif any(e.what == "env.read.all" for e in effects_by_command[index]):
        effects.append(derive_effect("cred.send", send, send.targets, note="the whole environment"))
    elif env[index] or (not inside and any(env[i] for i in feeders)):
        # All of it is the secrets too; a part may be what is harmless.
        part = not _is_whole_environment([commands[i] for i in [*feeders, *_find_upstream(index, commands)]])
        effects.append(derive_effect("cred.send", send, send.targets, possible=part, note="the environment"))
    return effects


def _is_whole_environment(commands: list[Command]) -> bool:
    """Whether some command puts every variable out, and no other leaves some of them away."""
    shown = [command for command in commands if command.name in ("env", "printenv") and len(command.argv) == 1]
    return bool(shown) and all(command in shown or command.name in _PASS_THROUGH_PROGRAMS for command in commands)


def find_secret_copies(index: int, commands: Sequence[Command], effects_by_command: list[list[Effect]]) -> list[str]:
    """The files into which a command puts a secret; they are secrets from then on."""
    puts = [
        target.path
        for effect in effects_by_command[index]
        if effect.what in _WRITE_EFFECTS
        for target in effect.targets
        if target.path
    ]
    if puts and any(
        e.what.startswith("cred.read") for i in [index, *_find_upstream(index, commands)] for e in effects_by_command[i]
    ):
        return puts
    return []


def find_temporary_writes(effects: Sequence[Effect]) -> list[str]:
    """The files that a command makes below the place for temporary ones."""
    return [
        target.path
        for effect in effects
        if effect.what in _WRITE_EFFECTS
        for target in effect.targets
        if target.path.startswith(("/tmp/", "/var/tmp/"))
    ]


def _find_upstream(index: int, commands: Sequence[Command]) -> list[int]:
    """The commands whose output one reads, nearest first."""
    found: list[int] = []
    above = commands[index].pipe_from
    while above is not None and 0 <= above < len(commands) and len(found) < _MAX_PIPELINE:
        found.append(above)
        above = commands[above].pipe_from
    return found


def _find_taint(commands: Sequence[Command], effects_by_command: list[list[Effect]]) -> tuple[list[bool], list[bool]]:
    """For each command, whether what it puts out holds a secret, or the environment."""
    secret = [any(e.what.startswith("cred.read") for e in effects) for effects in effects_by_command]
    env = [any(e.what.startswith("env.read") for e in effects) for effects in effects_by_command]
    if not any(secret) and not any(env):
        return secret, env
    for index in range(len(commands) - 1, -1, -1):
        # What runs inside a wrapper is what the wrapper puts out.
        for inner in range(index + 1, len(commands)):
            if len(commands[inner].via) <= len(commands[index].via):
                break
            secret[index] |= secret[inner]
            env[index] |= env[inner]
    for index, command in enumerate(commands):
        above = command.pipe_from
        if above is not None and 0 <= above < len(commands) and above != index:
            secret[index] |= secret[above]
            env[index] |= env[above] and command.name not in _FILTER_PROGRAMS
    return secret, env


def _is_fed_by_shell(index: int, commands: Sequence[Command]) -> bool:
    for above in _find_upstream(index, commands):
        words = [word.text for word in commands[above].argv[1:]]
        if commands[above].name in SHELLS and ("-i" in words or not [w for w in words if not w.startswith("-")]):
            return True
    return False
