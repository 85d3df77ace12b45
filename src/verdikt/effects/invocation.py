"""One command as the program tables see it: its arguments, and the means to say what it does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from posixpath import normpath
from typing import TYPE_CHECKING

from verdikt.effects import command_verbs
from verdikt.effects import zone as places
from verdikt.effects.argv import Arguments, word_set
from verdikt.effects.effect_catalog import find_traits
from verdikt.effects.execution_context import find_execution_context, find_preceding
from verdikt.effects.program.table import EffectSpec, Program
from verdikt.effects.target import is_recoverable as can_return
from verdikt.model.effect import Certainty, Effect, EffectClass, Target, Zone
from verdikt.shell.command import UNKNOWN, Word

if TYPE_CHECKING:
    from verdikt.effects.execution_context import ExecutionContext
    from verdikt.effects.target import TargetResolver
    from verdikt.model.facts import Facts
    from verdikt.shell.command import Command

_RAW_CONNECTION_PROGRAMS = word_set("nc ncat netcat telnet socat openssl socket nc.traditional nc.openbsd websocat")
_FETCH_PROGRAMS = word_set(
    "curl wget wget2 fetch aria2c http https xh httpie lynx w3m links elinks lwp-request GET ftp axel gh aws gsutil gcloud ssh"
)
_DECODER_PROGRAMS = word_set(
    "base64 base32 basenc xxd openssl uudecode gpg rev tr gunzip zcat gzip bunzip2 xz python python3 perl ruby od hexdump rot13 ccrypt age"
)
_RUN_SUBCOMMANDS = word_set("run exec test x start task")
_WRITE_EFFECTS = word_set("fs.write fs.overwrite fs.append")
_TEMPORARY_DIRECTORIES = word_set("/tmp /var/tmp /private/tmp /dev/shm")
_FILE_CHANGE_EFFECTS = word_set(
    "fs.delete fs.delete.tree fs.truncate fs.overwrite fs.write fs.append fs.move fs.shred fs.chmod"
)
_TEMPORARY_PREFIXES = ("/tmp/", "/var/tmp/", "/private/tmp/", "/dev/shm/")
_WRAPPER_PROGRAMS = word_set(
    "sudo doas env nice ionice nohup setsid timeout stdbuf time command builtin exec xargs flock proxychains torsocks "
    "docker podman nerdctl docker-compose kubectl oc ssh"
)
_FILE_EFFECT_PREFIXES = ("fs.", "git.", "cred.", "persist.", "guard.", "code.")
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
"""What happens to a container only, when it happens in one."""
_FILE_WRITE_PREFIXES = ("fs.write", "fs.append", "fs.overwrite", "fs.move", "fs.link", "fs.chmod", "fs.chown")
_HELP_FLAGS = word_set("--help --version --usage")


class Invocation:
    """A command with its arguments sorted for one program."""

    __slots__ = (
        "_command_line",
        "_context",
        "_shell_classifier",
        "args",
        "command",
        "commands",
        "name",
        "resolver",
        "subcommand",
        "uncertain",
    )

    def __init__(
        self,
        command: Command,
        resolver: TargetResolver,
        commands: Sequence[Command] = (),
        shell_classifier: Callable[[str, Command], Iterable[Effect]] | None = None,
        name: str = "",
    ) -> None:
        self.command = command
        self._shell_classifier = shell_classifier
        self.uncertain = False
        """Whether every effect of this command is only possible."""
        self.commands = commands
        self.resolver = resolver
        self.name = name or command.name
        self.args = _NO_ARGUMENTS
        self.subcommand = ""
        self._command_line = ""
        self._context: ExecutionContext | None = None

    @property
    def context(self) -> ExecutionContext:
        """Where the command runs."""
        if self._context is None:
            self._context = find_execution_context(self.command, self.commands)
        return self._context

    @property
    def command_line(self) -> str:
        """The command line, for messages."""
        if not self._command_line:
            self._command_line = render_command_line(self.command.argv)
        return self._command_line

    @property
    def facts(self) -> Facts:
        """What is known of the world."""
        return self.resolver.facts

    @property
    def shell_classifier(self) -> Callable[[str, Command], Iterable[Effect]] | None:
        """What understands shell text, for a call made on behalf of this one."""
        return self._shell_classifier

    def has_piped_input(self) -> bool:
        """Whether another command's output comes in."""
        return next(self.iter_upstream(), None) is not None

    def classify_piped_code(self) -> Iterator[Effect]:
        """An interpreter runs what comes through the pipe: where does that come from?"""
        above = list(self.iter_upstream())
        above += [inner for command in above for inner in self.iter_wrapped(command)]
        names = {command.name for command in above}
        if names & _RAW_CONNECTION_PROGRAMS:
            yield self.make_effect("net.shell", note="whatever the other side sends is run")
        elif names & _FETCH_PROGRAMS:
            source = next(command for command in above if command.name in _FETCH_PROGRAMS)
            hosts = tuple(
                Target(word.display_text, "host")
                for word in source.argv[1:]
                if "." in word.text and word.text[0] != "-"
            )
            yield self.make_effect("code.remote", hosts[-1:])
        elif names & _DECODER_PROGRAMS:
            yield self.make_effect("code.hidden", note="runs what a decoder makes of its input")
        elif above and above[-1].name == "cat" and len(above) == 1 and len(above[0].argv) > 1:
            yield from self.make_effects("code.run", [word for word in above[0].argv[1:] if word.text[:1] != "-"])
        else:
            yield self.make_effect("code.unknown", possible=True, note="runs the output of another program")

    def loads_secret(self, command: Command) -> bool:
        """Whether a command takes variables from a file of secrets: `source .env`."""
        return (
            command.name in ("source", ".")
            and len(command.argv) > 1
            and self.resolve_path(command.argv[1]).zone is Zone.SECRET
        )

    def classify_sent_files(self, files: Sequence[Word]) -> Iterator[Effect]:
        """Files of this machine that go somewhere else: a secret among them is one that gets out."""
        for word in files:
            target = self.resolve_path(word)
            yield self.make_effect("cred.send" if target.zone is Zone.SECRET else "fs.read", (target,))

    def classify_served_directories(self, directories: Sequence[Word]) -> Iterator[Effect]:
        """What anybody may read who reaches a server: no matter in the project, everything elsewhere."""
        for target in map(self.resolve_path, directories):
            if target.zone in (Zone.HOME, Zone.SYSTEM, Zone.SECRET, Zone.OUTSIDE, Zone.PERSIST):
                yield self.make_effect(
                    "net.tunnel", (target,), note="whoever reaches the server can read what lies there"
                )

    def classify_shell(self, text: str) -> Iterable[Effect]:
        """What shell text does that this command would run."""
        return self._shell_classifier(text, self.command) if self._shell_classifier is not None and text.strip() else ()

    def classify_program(self, program: Program) -> list[Effect]:
        """Everything the program does with these arguments."""
        argv = self.command.argv[1:]
        if len(argv) <= 3:
            for word in argv:
                # `cargo yank --version 1.0` gives a version; `cargo --version` asks for one.
                if (
                    word.text[:2] == "--"
                    and word.text in _HELP_FLAGS
                    and (word.text != "--version" or word is argv[-1])
                ):
                    return []
        if program.unconditional:
            return self._apply_specs(program.effects)
        self.args = Arguments(argv, word_set(program.value_flags), single_dash=program.single_dash)
        if program.subcommands:
            return self._classify_subcommand(program, argv)
        if program.dry_run_flags and self.args.has_flag(program.dry_run_flags):
            return []
        effects = self._apply_specs(program.effects) if program.effects else []
        if program.classify is not None:
            effects += program.classify(self)
        return effects

    def _classify_subcommand(self, program: Program, argv: Sequence[Word]) -> list[Effect]:
        dry = program.dry_run_flags
        entry: Program | EffectSpec | tuple[EffectSpec, ...] = program
        if program.subcommands and (found := self._find_subcommand(program)):
            name, entry = found
            depth = name.count(" ") + 1
            if isinstance(entry, Program) and entry.own_flags:
                return self._classify_own_flags(entry, argv, depth, dry)
            if isinstance(entry, Program) and (entry.value_flags or entry.single_dash):
                single = entry.single_dash or program.single_dash
                self.args = Arguments(argv, word_set(f"{program.value_flags} {entry.value_flags}"), single_dash=single)
            self.args.operands = self.args.operands[depth:]
            self.subcommand = f"{self.subcommand} {name}".strip()
            if isinstance(entry, Program):
                dry = f"{dry} {entry.dry_run_flags}"
        elif (
            program.subcommands
            and program.classify is None
            and self.args.operands
            and (unlisted := self._classify_unlisted())
        ):
            return unlisted
        if dry and self.args.has_flag(dry):
            return []
        if not isinstance(entry, Program):
            return self._apply_specs((entry,) if isinstance(entry, EffectSpec) else entry)
        effects = self._apply_specs(entry.effects) if entry.effects else []
        if entry.classify is not None:
            effects += entry.classify(self)
        return effects

    def _classify_unlisted(self) -> list[Effect]:
        """A subcommand that no table has, told in so many words to destroy something."""
        texts = [word.text for word in self.args.operands[:3] if word.is_known and word.text[:1] != "-"]
        if texts[:1] and texts[0] in _RUN_SUBCOMMANDS:
            return []

        if command_verbs.find_verb(texts)[1] != "delete" or not command_verbs.has_destroy_verb(
            [*texts, *(flag for flag, _ in self.args.flags)]
        ):
            return []
        return [self.make_effect("unknown.destroy", (Target(" ".join([self.name, *texts]), "other"),), possible=True)]

    def _classify_own_flags(self, entry: Program, argv: Sequence[Word], depth: int, dry_run_flags: str) -> list[Effect]:
        """A subcommand whose flags are its own, sorted anew from where it begins."""
        if dry_run_flags and self.args.has_flag(dry_run_flags):
            return []
        last = self.args.operands[depth - 1]
        rest = argv[next(i for i, word in enumerate(argv) if word is last) + 1 :]
        self.args = Arguments(rest, word_set(entry.value_flags), single_dash=entry.single_dash)
        return self._classify_subcommand(entry, rest)

    def _find_subcommand(self, program: Program) -> tuple[str, Program | EffectSpec | tuple[EffectSpec, ...]] | None:
        operands = [word.text for word in self.args.operands[:3]]
        for depth in range(len(operands), 0, -1):
            name = " ".join(operands[:depth])
            if name in program.subcommands:
                return name, program.subcommands[name]
        return None

    def _apply_specs(self, specs: Iterable[EffectSpec]) -> list[Effect]:
        effects: list[Effect] = []
        args = self.args
        for row in specs:
            if (row.when and not args.has_flag(row.when)) or (row.unless and args.has_flag(row.unless)):
                continue
            picked = args.select_words(row.selector) if row.selector else ()
            if picked:
                effects += self.make_effects(
                    row.what, picked, row.kind, recoverable=row.recoverable, possible=row.possible, note=row.note
                )
            elif row.without_target or not row.selector:
                effects.append(
                    self.make_effect(row.what, recoverable=row.recoverable, possible=row.possible, note=row.note)
                )
        return effects

    def make_effects(
        self,
        what: str,
        words: Sequence[Word],
        kind: str = "path",
        *,
        recoverable: bool | None = None,
        possible: bool = False,
        note: str = "",
    ) -> list[Effect]:
        """The effect on these words. One on paths is split by what the paths are: devices, sinks, files that are not there yet."""
        if kind != "path":
            found = tuple([Target(word.display_text, kind) for word in words])
            unknown = any(UNKNOWN in word.text for word in words)
            return [self.make_effect(what, found, recoverable=recoverable, possible=possible or unknown, note=note)]
        _, look, git = find_traits(what)
        if what == "fs.delete" and not possible:
            # Which files a pattern hits nobody can tell without looking; in the project they may all be of no account.
            narrow = [word for word in words if word.glob and self._is_partial_glob(word)]
            if narrow and len(narrow) < len(words):
                rest = [word for word in words if word not in narrow]
                return self.make_effects(what, rest, recoverable=recoverable, note=note) + self.make_effects(
                    what, narrow, recoverable=recoverable, possible=True, note=note
                )
            possible = bool(narrow)
            if not narrow and any(word.glob and self._is_catch_all(word) for word in words):
                what = "fs.delete.tree"  # all the files of a directory are as much as the directory
        if look or self.command.host:
            found_at = [self.resolve_path(word, with_state=look, git=git) for word in words]
        elif len(words) == 1:
            found_at = [self.resolver.resolve_path(words[0], self.command.cwd)]
        else:
            cwd, path = self.command.cwd, self.resolver.resolve_path
            found_at = [path(word, cwd) for word in words]
        return self.make_path_effects(what, found_at, recoverable=recoverable, possible=possible, note=note)

    def _is_partial_glob(self, word: Word) -> bool:
        """Whether a pattern means some of the project's files, and not all that are there."""
        return not self._is_catch_all(word) and self.resolve_path(word).zone is Zone.PROJECT

    @staticmethod
    def _is_catch_all(word: Word) -> bool:
        return word.text.rstrip("/").rsplit("/", 1)[-1].strip("*.?") == ""

    def make_path_effects(
        self,
        what: str,
        targets: Sequence[Target],
        *,
        recoverable: bool | None = None,
        possible: bool = False,
        note: str = "",
    ) -> list[Effect]:
        """The effect on these path targets, each judged by what lies there."""
        if what in _WRITE_EFFECTS and any(target.path in _TEMPORARY_DIRECTORIES for target in targets):
            # Not theirs to lose, but anybody may put things there.
            targets = [
                t if t.path not in _TEMPORARY_DIRECTORIES else Target(t.text, "path", f"{t.path}/", Zone.TEMP)
                for t in targets
            ]
        if what in _FILE_CHANGE_EFFECTS and any(
            t.zone is Zone.SECRET and t.path.startswith(_TEMPORARY_PREFIXES) for t in targets
        ):
            # What is called like a secret may be lost there like anything else.
            targets = [t._replace(zone=Zone.TEMP) if t.path.startswith(_TEMPORARY_PREFIXES) else t for t in targets]
        if len(targets) == 1:
            name = _refine_effect(what, targets[0])
            if not name:
                return []
            return [self.make_effect(name, (targets[0],), recoverable=recoverable, possible=possible, note=note)]
        groups: dict[tuple[str, bool, bool], list[Target]] = {}
        for target in targets:
            if name := _refine_effect(what, target):
                # Kept apart, so that a rule about what is lost does not meet a target that is not.
                groups.setdefault((name, can_return(target), bool(target.path)), []).append(target)
        return [
            self.make_effect(name, tuple(group), recoverable=recoverable, possible=possible, note=note)
            for (name, _, _), group in groups.items()
        ]

    def resolve_path(self, word: Word, *, with_state: bool = False, git: bool = True) -> Target:
        """The path that a word names, where this command runs."""
        if self.command.host:
            if self.context.kind == "fresh":
                return self._resolve_in_container(word, with_state=with_state, git=git)
            return self._resolve_remote(word)
        return self.resolver.resolve_path(word, self.command.cwd, with_state=with_state, git=git)

    def iter_upstream(self) -> Iterator[Command]:
        """The commands whose output this one reads, nearest first; for one run by `xargs`, those that feed the `xargs`."""
        command, seen = self.command, 0
        if command.pipe_from is None and command.repeated:
            near = reversed(find_preceding(command, self.commands))
            command = next((c for c in near if c.name in ("xargs", "parallel")), command)
        while command.pipe_from is not None and 0 <= command.pipe_from < len(self.commands) and seen < 64:
            command, seen = self.commands[command.pipe_from], seen + 1
            yield command

    def iter_wrapped(self, command: Command) -> Iterator[Command]:
        """What runs inside a wrapper: `nohup curl …`, `docker exec x env`."""
        if command.name not in _WRAPPER_PROGRAMS:
            return
        start = next((i for i, other in enumerate(self.commands) if other is command), len(self.commands))
        for other in self.commands[start + 1 : start + 9]:
            if len(other.via) <= len(command.via):
                return
            yield other

    def _resolve_remote(self, word: Word) -> Target:
        """A path on another machine, of which nothing is known but its name."""
        if word.text.rstrip("/*") == "~":
            return Target(f"{self.command.host}:{word.display_text}", "path", "~", Zone.SYSTEM)
        if not word.is_known or not word.text.startswith(("/", "~")):
            return Target(f"{self.command.host}:{word.display_text}", "path", "", Zone.OUTSIDE)
        path = self.resolver.to_absolute(word.text)
        zone = self.resolver.find_zone(path)
        if self.context.kind == "container" and path != "/" and zone in (Zone.SYSTEM, Zone.PERSIST, Zone.OUTSIDE):
            # A container is no machine: what is lost there is what it wrote, or a volume.
            if path.count("/") > 2 and places.is_build_output(path[1:]):
                return Target(f"{self.command.host}:{word.display_text}", "path", path, Zone.TEMP, "ignored")
            return Target(f"{self.command.host}:{word.display_text}", "path", "", Zone.OUTSIDE)
        if zone in (Zone.PROJECT, Zone.HOME):
            zone = Zone.OUTSIDE
        return Target(f"{self.command.host}:{word.display_text}", "path", path, zone)

    def _resolve_in_container(self, word: Word, *, with_state: bool, git: bool) -> Target:
        """A path in a container made for this command: gone with it, unless it is mounted from outside."""
        place, text = self.context, word.text
        if not text.startswith("/"):
            text = f"{place.working_directory or '/'}/{text}"
        outside = place.to_outside_path(normpath(text)) if word.is_known else None
        if outside is None:
            doubtful = bool(place.mounts) and not word.is_known
            return Target(
                f"{self.command.host}:{word.display_text}",
                "path",
                "" if doubtful else text,
                Zone.OUTSIDE if doubtful else Zone.TEMP,
            )
        if outside.startswith(("/", "~", ".", UNKNOWN)):
            return self.resolver.resolve_path(Word(outside, word.raw, word.glob), None, with_state=with_state, git=git)
        return Target(outside, "path", "", Zone.OUTSIDE)

    def _is_contained(self, what: str) -> bool:
        """Whether an effect stays in the container that the command runs in."""
        kind = self.context.kind
        return (kind in ("fresh", "container") and what.startswith(_MACHINE_EFFECT_PREFIXES)) or (
            kind == "container" and what.startswith(_FILE_WRITE_PREFIXES)
        )

    def make_effect(
        self,
        what: str,
        targets: tuple[Target, ...] = (),
        *,
        recoverable: bool | None = None,
        possible: bool = False,
        note: str = "",
    ) -> Effect:
        """An effect of this command, with class and recoverability by its name and its targets unless given."""
        where = self.command.host
        uncertain = possible or self.uncertain
        if where:
            if self._is_contained(what):
                what, targets, recoverable = "container.exec", (), None
            # Of files elsewhere nothing is known; a database is dropped wherever the client runs.
            elif what.startswith(_FILE_EFFECT_PREFIXES) and self.context.kind != "fresh":
                uncertain = uncertain or not any(target.zone is Zone.SYSTEM for target in targets)
        (cls, reversible, _), _, lossy = find_traits(what)
        if targets:
            if lossy and targets[0].kind == "path":
                returns = all(map(can_return, targets))
                if recoverable is None:
                    recoverable = returns
                if returns and cls is EffectClass.DESTRUCTIVE and what.startswith("fs.delete"):
                    cls = EffectClass.WRITE  # losing what a build or git can bring back is a write like any other
            for target in targets:
                if not target.path and target.kind == "path":
                    uncertain = True
        if recoverable is None:
            recoverable = reversible
        certainty = Certainty.POSSIBLE if uncertain else Certainty.CERTAIN
        # A row of these all the time: made of its fields at once, without a look at which of them are given.
        return _make_row(
            Effect, (cls, what, targets, certainty, recoverable, self._command_line or self.command_line, note)
        )


def render_command_line(argv: Sequence[Word]) -> str:
    """A command line for messages."""
    text = " ".join([word.text for word in argv])
    if UNKNOWN in text:
        text = " ".join([word.display_text for word in argv])
    return text if len(text) <= 120 else text[:119] + "…"


def _refine_effect(what: str, target: Target) -> str:
    """What an effect on a path comes to, given what is there; empty when nothing happens."""
    path = target.path
    if path.startswith("/dev/"):
        if places.is_sink(path):
            return "" if not what.startswith("fs.delete") else what
        if places.is_device(path):
            return "disk.look" if what == "fs.list" else "disk.read" if what == "fs.read" else "disk.write"
    elif path == "/proc/sysrq-trigger" and not what.startswith(("fs.read", "fs.list")):
        return "sys.power"
    if target.state == "absent":
        if what == "fs.overwrite":
            return "fs.write"
        if what == "fs.delete.tree" and target.zone is Zone.PROJECT and places.is_scratch_file(path):
            return "fs.delete"
    return what


_make_row = tuple.__new__
_NO_ARGUMENTS = Arguments(())
