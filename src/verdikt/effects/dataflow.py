"""What flows between the commands of one script: secrets that reach the network, files that the script makes itself.

Effects of the whole script are given as one list per command; the functions add to these lists or change their entries.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from verdikt.effects import host
from verdikt.effects.invocation import DOWNLOADERS, RAW_CONNECTION_PROGRAMS, SHELLS
from verdikt.effects.zone_effects import derive_effect
from verdikt.knowledge import find_record, find_role, join_role
from verdikt.model.effect import EffectClass
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import list_stage

if TYPE_CHECKING:
    from verdikt.effects.target import TargetResolver
    from verdikt.model.effect import Effect, Target
    from verdikt.shell.command import Command

_LOOKUP_PROGRAMS = find_role("name_lookup")
_VARIABLE_READERS = find_role("variable_reader")
_VARIABLE_EXPORTERS = find_role("variable_exporter")
_VARIABLE = compile_lazily(r"\$\{?([A-Za-z_]\w*)")
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
"""Prefixes of effects by which data leaves the machine."""
_SECRET_PREFIXES = ("cred.", "env.read")
_ARGUMENT_ONLY_PREFIXES = ("repo.", "git.")
"""Of those, the ones that send only their own words and what is piped in."""
WRITE_EFFECTS = ("fs.write", "fs.append", "fs.overwrite")
_FILTER_PROGRAMS = find_role("selective_filter")
_ENVIRONMENT_PRINTERS = find_role("environment_printer")
_REF_CREATORS = find_role("work_tree_changer")
_PASS_THROUGH_PROGRAMS = find_role("pass_through")
"""Programs whose output holds everything they read."""
_BULK_READS = ("fs.read", "db.read", "container.read", "git.read", "backup.read", "k8s.read")
"""Effects of programs that print what is theirs or yours; a raw connection takes it elsewhere."""
_STREAM_LANGUAGES = find_role("awk_filter")
_OUTPUT_SUBSTITUTION = ">()"
_MAX_PIPELINE = 64
"""How many commands of a pipeline are followed back."""


class _Taint(NamedTuple):
    """What reaches one sending command."""

    has_secret: bool
    environment: list[bool]
    """For each command, whether its output holds the environment."""
    substituted_secret: bool
    """Whether some command puts a secret into the words of another."""


def trace_dataflow(commands: Sequence[Command], effects_by_command: list[list[Effect]]) -> None:
    """Add to each command's effects what it does with the output of other commands."""
    outgoing: list[tuple[int, list[Effect]]] = []
    for index, effects in enumerate(effects_by_command):
        for effect in effects:
            if effect.what.startswith(OUTGOING_PREFIXES):
                outgoing.append((index, [e for e in effects if e.what.startswith(OUTGOING_PREFIXES)]))
                break
    if not outgoing or not _may_carry([commands[index] for index, _ in outgoing], commands, effects_by_command):
        return
    secret, environment = _find_taint(commands, effects_by_command)
    # The words of a function's call feed no command of their own.
    substituted = any(
        flag
        for flag, command in zip(secret, commands, strict=True)
        if command.feeds is not None or "$()" in command.via
    )
    for index, own_effects in outgoing:
        command = commands[index]
        if command.name in RAW_CONNECTION_PROGRAMS and _is_fed_by_shell(index, commands):
            effects_by_command[index].append(
                derive_effect("net.shell", own_effects[0], own_effects[0].targets, note="a shell over a connection")
            )
        sends = [e for e in own_effects if not e.targets or not all(map(_is_local_target, e.targets))]
        if sends:
            taint = _Taint(secret[index], environment, substituted)
            send = next((effect for effect in sends if effect.certain), sends[0])
            effects_by_command[index] += _derive_secret_sends(index, send, commands, effects_by_command, taint)


def _may_carry(senders: Sequence[Command], commands: Sequence[Command], effects_by_command: list[list[Effect]]) -> bool:
    """Return whether what is sent can hold more than its own words: most downloads read nothing and hold no secret."""
    for sender in senders:
        if sender.pipe_from is not None or sender.via or sender.name in RAW_CONNECTION_PROGRAMS:
            return True
    for command, effects in zip(commands, effects_by_command, strict=True):
        if command.feeds is not None:
            return True
        for effect in effects:
            if effect.what.startswith(_SECRET_PREFIXES):
                return True
    return False


def drop_login_reads(commands: Sequence[Command], effects_by_command: list[list[Effect]]) -> None:
    """Turn `cred.read` into `keys.list` where a program prints a token that only a login gets to see."""
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
    token_hosts = _list_token_hosts(command.name)
    if command.feeds is not None and command.feeds < len(commands) and token_hosts:
        receiver = commands[command.feeds]
        if names := _list_set_variables(receiver):
            users = [each for each in commands[command.feeds + 1 :] if uses_variables(each, names)]
            return bool(users) and all(_requests_only(user, token_hosts) for user in users)
        return _requests_only(receiver, token_hosts)
    if command.pipe_to is None or not 0 <= command.pipe_to < len(commands):
        return False
    return any(word.text in ("--password-stdin", "--with-token") for word in commands[command.pipe_to].argv)


def _list_set_variables(command: Command) -> set[str]:
    """Return the variables that a command does nothing but set: `T=…`, `export T=…`."""
    if command.name in _VARIABLE_EXPORTERS:
        return {word.raw.partition("=")[0] for word in command.argv[1:] if "=" in word.raw}
    return set() if command.argv else {name for name, _ in command.assignments}


def _list_token_hosts(name: str) -> list[str]:
    """Return the hosts that the tokens which a program prints are for."""
    record = find_record(name)
    hosts: str = record.get("token_hosts", "") if record is not None else ""
    return hosts.split()


def _requests_only(command: Command, hosts: Sequence[str]) -> bool:
    """Return whether a command requests URLs of these hosts alone."""
    urls = [word.text for word in command.argv[1:] if word.text.startswith(("https://", "http://"))]
    names = [host.parse_host(url) for url in urls]
    return (
        command.name in DOWNLOADERS
        and bool(names)
        and all(any(name == own or name.endswith(f".{own}") for own in hosts) for name in names)
    )


def _is_local_target(target: Target) -> bool:
    """Return whether a target is this machine, or the metadata service of its cloud."""
    return host.is_local_host(target.text) or host.is_metadata_host(target.text)


def _derive_secret_sends(
    index: int, send: Effect, commands: Sequence[Command], effects_by_command: list[list[Effect]], taint: _Taint
) -> list[Effect]:
    """Return what one command sends of other commands' output, through a pipe or in its words."""
    effects = []
    feeders = [i for i in range(max(0, index - _MAX_PIPELINE), index) if commands[i].feeds == index]
    upstream = _find_upstream(index, commands)
    if feeders and commands[index].name in _LOOKUP_PROGRAMS:
        note = "in the name that is asked for"
        effects.append(derive_effect("cred.send", send, send.targets, possible=True, note=note))
    if send.what == "net.send" and any(_has_effect(upstream, effects_by_command, what) for what in _BULK_READS):
        effects.append(derive_effect("net.send.file", send, send.targets))
    # A command inside a substitution makes words for another; it is not the one that receives the secret in its words.
    is_substituted = commands[index].feeds is not None
    in_words = taint.substituted_secret
    if send.what.startswith(_ARGUMENT_ONLY_PREFIXES):
        in_words = _has_effect(feeders, effects_by_command, "cred.read", prefix=True)
    if taint.has_secret or (in_words and not is_substituted):
        effects.append(derive_effect("cred.send", send, send.targets))
    elif _has_effect([index], effects_by_command, "env.read.all"):
        effects.append(derive_effect("cred.send", send, send.targets, note="the whole environment"))
    elif taint.environment[index] or (not is_substituted and any(taint.environment[i] for i in feeders)):
        # The whole environment holds the secrets too; a part of it may be harmless.
        sources = [*feeders, *upstream]
        partial = not _is_whole_environment([commands[i] for i in sources])
        # What a filter picks by the names of secrets is all that matters of it.
        partial = partial and not _has_effect(sources, effects_by_command, "env.read.secret")
        effects.append(derive_effect("cred.send", send, send.targets, possible=partial, note="the environment"))
    return effects


def _has_effect(
    indices: Sequence[int], effects_by_command: list[list[Effect]], what: str, *, prefix: bool = False
) -> bool:
    """Return whether one of these commands has the effect `what`, or one whose name starts so if `prefix` is set."""
    return any(
        effect.what.startswith(what) if prefix else effect.what == what
        for index in indices
        for effect in effects_by_command[index]
    )


def _is_whole_environment(commands: list[Command]) -> bool:
    """Return whether some command prints every variable, and no other leaves any of them out."""
    dumps = [command for command in commands if command.name in _ENVIRONMENT_PRINTERS and len(command.argv) == 1]
    return bool(dumps) and all(command in dumps or command.name in _PASS_THROUGH_PROGRAMS for command in commands)


def reads_secret_upstream(index: int, commands: Sequence[Command], effects_by_command: list[list[Effect]]) -> bool:
    """Return whether a secret is piped into a command, one that was made just now among them."""
    upstream = _find_upstream(index, commands)
    return any(e.what.startswith(("cred.read", "cred.create")) for i in upstream for e in effects_by_command[i])


def find_secret_variables(
    index: int, commands: Sequence[Command], effects_by_command: list[list[Effect]]
) -> Iterator[str]:
    """Yield the variables that a command fills with a secret: `K=$(cat key)`, `read K < key`."""
    command = commands[index]
    if command.name in _VARIABLE_READERS and _has_effect([index], effects_by_command, "cred.read", prefix=True):
        yield from (word.text for word in command.argv[1:] if word.text.isidentifier())
    elif command.assignments and not command.argv:
        feeders = [i for i in range(max(0, index - _MAX_PIPELINE), index) if commands[i].feeds == index]
        if _has_effect(feeders, effects_by_command, "cred.read", prefix=True):
            yield from (name for name, _ in command.assignments)


def uses_variables(command: Command, names: Collection[str]) -> bool:
    """Return whether a word, or text on standard input, has one of these variables in it."""
    if not names:
        return False
    raws = [word.raw for word in command.argv] + [redirect.target.raw for redirect in command.redirects]
    return any(name in names for raw in raws if "$" in raw for name in _VARIABLE.findall(raw))


def _find_upstream(index: int, commands: Sequence[Command]) -> list[int]:
    """Return the commands whose output one reads, nearest first."""
    upstream: list[int] = []
    above = _find_source(commands[index])
    while above is not None and 0 <= above < len(commands) and len(upstream) < _MAX_PIPELINE:
        upstream += list_stage(commands, above)
        above = commands[above].pipe_from
    return upstream


def _find_source(command: Command) -> int | None:
    """Return the command whose output one reads: through a pipe, or as `>(…)` in the words of the other."""
    if command.pipe_from is None and command.via and command.via[-1] == _OUTPUT_SUBSTITUTION:
        return command.feeds
    return command.pipe_from


def _find_taint(commands: Sequence[Command], effects_by_command: list[list[Effect]]) -> tuple[list[bool], list[bool]]:
    """Return for each command whether its output holds a secret, and whether it holds the environment."""
    secret = [any(e.what.startswith("cred.read") for e in effects) for effects in effects_by_command]
    for index, (command, effects) in enumerate(zip(commands, effects_by_command, strict=True)):
        # What is made here and piped on is shown to the next program; in its words it may be meant for its own service.
        if command.pipe_to is not None and command.feeds is None and not secret[index]:
            secret[index] = any(e.what == "cred.create" and not any(t.path for t in e.targets) for e in effects)
    environment = [any(e.what.startswith("env.read") for e in effects) for effects in effects_by_command]
    if not any(secret) and not any(environment):
        return secret, environment
    for index in range(len(commands) - 1, -1, -1):
        # The output of a wrapper is the output of what it runs.
        inner = index + 1
        while inner < len(commands) and len(commands[inner].via) > len(commands[index].via):
            secret[index] |= secret[inner]
            environment[index] |= environment[inner]
            inner += 1
        if secret[index] and commands[index].name in _STREAM_LANGUAGES:
            # `awk '{ print | "nc host 9" }'`: what it reads goes into the commands that it runs.
            secret[index:inner] = [True] * (inner - index)
    # A command inside `>(…)` stands before the one whose output it reads.
    substituted = [i for i, command in enumerate(commands) if _OUTPUT_SUBSTITUTION in command.via]
    for index in (*range(len(commands)), *substituted):
        command, above = commands[index], _find_source(commands[index])
        if above is not None and 0 <= above < len(commands) and above != index:
            stage = list_stage(commands, above)
            secret[index] |= any(map(secret.__getitem__, stage))
            environment[index] |= command.name not in _FILTER_PROGRAMS and any(map(environment.__getitem__, stage))
    return secret, environment


def _is_fed_by_shell(index: int, commands: Sequence[Command]) -> bool:
    for above in _find_upstream(index, commands):
        words = [word.text for word in commands[above].argv[1:]]
        if commands[above].name in SHELLS and ("-i" in words or not [w for w in words if not w.startswith("-")]):
            return True
    return False


# Files, branches and tags that the script makes itself: deleting them again loses nothing.

DELETE_EFFECTS = frozenset(("fs.delete", "fs.delete.tree", "fs.shred"))
"""Effects that `mark_own_deletes` looks at."""
REF_DELETE_EFFECTS = frozenset(("git.branch.delete", "git.tag.delete"))
"""Effects that `downgrade_own_ref_deletes` looks at."""
REPLACE_EFFECTS = frozenset(("fs.overwrite", "cred.write"))
"""Effects that `downgrade_conditional_writes` looks at."""
_CREATOR_PROGRAMS = find_role("creator")
"""Programs that create what their operands name, and whose effects do not say so."""
_CREATE_VERBS = frozenset(
    "new create init venv clone startproject startapp scaffold generate worktree create-project create-app".split()
)
"""Subcommands that create what their operands name."""
_CREATES_REF = compile_lazily(
    rf"^(?:{join_role('work_tree_changer')})\s(?:.*\s)?(?:(?:checkout|switch)\s+(?:-\w+\s+)*-[bcC]\s+|branch\s+|tag\s+(?:-[as]\s+)*)([\w./-]+)"
)
_MAX_TEST_LENGTH = 300
"""How many bytes before a command are searched for the test that guards it."""
_EXISTENCE_TEST = compile_lazily(r"(?:\[|\btest)\s+(?:!\s+)?-[efs]\s")
_PATH_PATTERN = r"""["']?([^\s"'$`;|&\]]+)["']?"""
_MISSING_FILE_TEST = compile_lazily(
    rf"(?:\[\[?|\btest)\s+(?:-[efs]\s+{_PATH_PATTERN}\s*(?:\]\]?)?\s*(?:&&\s*(?:{join_role('echo_printer')})\s[^;|&]*)?\|\|"
    rf"|!\s+-[efs]\s+{_PATH_PATTERN}\s*(?:\]\]?)?\s*(?:&&|;?\s*then\b))\s*[{{(]?\s*$"
)


def mark_own_deletes(
    commands: Sequence[Command], effects_by_command: list[list[Effect]], resolver: TargetResolver
) -> None:
    """Set the state of deleted paths to `own` where they do not exist yet and the script itself creates them."""
    created = {*_find_written_paths(effects_by_command), *_find_created_paths(commands, resolver)}
    for effects in effects_by_command:
        for position, effect in enumerate(effects):
            if _deletes_absent_path(effect):
                targets = tuple(
                    target._replace(state="own")
                    if target.state == "absent" and _is_created(target, created)
                    else target
                    for target in effect.targets
                )
                effects[position] = effect._replace(targets=targets)


def downgrade_own_ref_deletes(commands: Sequence[Command], effects_by_command: list[list[Effect]]) -> None:
    """Turn the deletion of a branch or tag that the script created before into a plain `git.write`."""
    created: set[str] = set()
    for command, effects in zip(commands, effects_by_command, strict=True):
        for position, effect in enumerate(effects):
            if (
                effect.what in REF_DELETE_EFFECTS
                and effect.targets
                and all(target.text in created for target in effect.targets)
            ):
                effects[position] = effect._replace(what="git.write", cls=EffectClass.WRITE, recoverable=True)
        if command.name in _REF_CREATORS and (
            match := _CREATES_REF.match(" ".join(word.text for word in command.argv))
        ):
            created.add(match[1])


def downgrade_conditional_writes(
    text: str, commands: Sequence[Command], effects_by_command: list[list[Effect]], resolver: TargetResolver
) -> None:
    """Turn an overwrite that happens only where no file exists, as in `[ -f x ] || cp y x`, into a write."""
    if "-" not in text or not _EXISTENCE_TEST.search(text):
        return
    # Spans count bytes, as the parser does.
    source = text.encode("utf-8", "surrogatepass")
    for index, command in enumerate(commands):
        if not command.conditional or not any(effect.what in REPLACE_EFFECTS for effect in effects_by_command[index]):
            continue
        before = source[max(0, command.span[0] - _MAX_TEST_LENGTH) : command.span[0]].decode("utf-8", "replace")
        test = _MISSING_FILE_TEST.search(before)
        path = resolver.to_absolute(test[1] or test[2], command.cwd) if test else ""
        if path:
            downgraded = (_downgrade_write(effect, path) for effect in effects_by_command[index])
            effects_by_command[index] = [effect for effect in downgraded if effect is not None]


def _downgrade_write(effect: Effect, path: str) -> Effect | None:
    if effect.what not in REPLACE_EFFECTS or any(target.path != path for target in effect.targets):
        return effect
    if effect.what == "cred.write":
        return None
    return effect._replace(
        what="fs.write", recoverable=True, targets=tuple(t._replace(state="absent") for t in effect.targets)
    )


def _deletes_absent_path(effect: Effect) -> bool:
    return effect.what in DELETE_EFFECTS and any(target.state == "absent" for target in effect.targets)


def _is_created(target: Target, created_paths: set[str]) -> bool:
    return target.path in created_paths or any(target.path.startswith(place + "/") for place in created_paths)


def _find_written_paths(effects_by_command: list[list[Effect]]) -> Iterator[str]:
    for effects in effects_by_command:
        for effect in effects:
            if effect.what in WRITE_EFFECTS:
                for target in effect.targets:
                    if target.path and target.state in ("", "absent"):
                        yield target.path.rstrip("/")


def _find_created_paths(commands: Sequence[Command], resolver: TargetResolver) -> Iterator[str]:
    """Yield the paths that creating commands name: `git clone url dir`, `cargo new dir`."""
    for command in commands:
        words = command.argv[1:]
        if not words:
            continue
        has_create_verb = any(_is_create_verb(word.text) for word in words[:3])
        if not has_create_verb and command.name not in _CREATOR_PROGRAMS:
            continue
        for word in words:
            text = word.text
            if "://" in text or (text.endswith(".git") and text != ".git"):
                text = text.rstrip("/").removesuffix(".git").rsplit("/", 1)[-1]  # the directory that a clone makes
            is_name = word.is_known and not word.glob and text[:1] not in ("", "-")
            if is_name and (path := resolver.to_absolute(text, command.cwd)):
                yield path


def _is_create_verb(text: str) -> bool:
    return text in _CREATE_VERBS or text.startswith(("create-", "@vue/create"))
