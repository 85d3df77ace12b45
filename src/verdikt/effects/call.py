"""One command as the program tables see it: its arguments, and the means to say what it does."""

from __future__ import annotations

from posixpath import normpath

from verdikt.effects import zone as places
from verdikt.effects.argument import Arguments, words
from verdikt.effects.name import manner
from verdikt.effects.program.table import Does, Program
from verdikt.effects.surroundings import before, surroundings_of
from verdikt.effects.target import recoverable as can_return
from verdikt.model.effect import Certainty, Effect, EffectClass, Target, Zone
from verdikt.shell.command import UNKNOWN, Word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from verdikt.effects.surroundings import Surroundings
    from verdikt.effects.target import Resolver
    from verdikt.model.facts import Facts
    from verdikt.shell.command import Command

_RAW = words("nc ncat netcat telnet socat openssl socket nc.traditional nc.openbsd websocat")
_FETCH = words(
    "curl wget wget2 fetch aria2c http https xh httpie lynx w3m links elinks lwp-request GET ftp axel gh aws gsutil gcloud ssh"
)
_DECODE = words(
    "base64 base32 basenc xxd openssl uudecode gpg rev tr gunzip zcat gzip bunzip2 xz python python3 perl ruby od hexdump rot13 ccrypt age"
)
_RUNNERS = words("run exec test x start task")
_PUTS = words("fs.write fs.overwrite fs.append")
_TEMPORARY = words("/tmp /var/tmp /private/tmp /dev/shm")
_LOSES_SECRETS = words("fs.delete fs.delete.tree fs.truncate fs.overwrite fs.write fs.append fs.move fs.shred fs.chmod")
_BELOW_TEMPORARY = ("/tmp/", "/var/tmp/", "/private/tmp/", "/dev/shm/")
_HOLDERS = words(
    "sudo doas env nice ionice nohup setsid timeout stdbuf time command builtin exec xargs flock proxychains torsocks "
    "docker podman nerdctl docker-compose kubectl oc ssh"
)
_PLACED = ("fs.", "git.", "cred.", "persist.", "guard.", "code.")
_OF_THE_MACHINE = (
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
_WRITTEN = ("fs.write", "fs.append", "fs.overwrite", "fs.move", "fs.link", "fs.chmod", "fs.chown")
_HARMLESS = words("--help --version --usage")


class Call:
    """A command with its arguments sorted for one program."""

    __slots__ = ("_by", "_place", "_shell", "args", "command", "commands", "doubt", "name", "resolver", "subcommand")

    def __init__(
        self,
        command: Command,
        resolver: Resolver,
        commands: Sequence[Command] = (),
        shell: Callable[[str, Command], Iterable[Effect]] | None = None,
        name: str = "",
    ) -> None:
        self.command = command
        self._shell = shell
        self.doubt = False
        """Whether every effect of this command is only possible."""
        self.commands = commands
        self.resolver = resolver
        self.name = name or command.name
        self.args = _NO_ARGUMENTS
        self.subcommand = ""
        self._by = ""
        self._place: Surroundings | None = None

    @property
    def place(self) -> Surroundings:
        """Where the command runs."""
        if self._place is None:
            self._place = surroundings_of(self.command, self.commands)
        return self._place

    @property
    def by(self) -> str:
        """The command line, for messages."""
        if not self._by:
            self._by = shown(self.command.argv)
        return self._by

    @property
    def facts(self) -> Facts:
        """What is known of the world."""
        return self.resolver.facts

    @property
    def shell_of(self) -> Callable[[str, Command], Iterable[Effect]] | None:
        """What understands shell text, for a call made on behalf of this one."""
        return self._shell

    def reads_pipe(self) -> bool:
        """Whether another command's output comes in."""
        return next(self.upstream(), None) is not None

    def piped_code(self) -> Iterator[Effect]:
        """An interpreter runs what comes through the pipe: where does that come from?"""
        above = list(self.upstream())
        above += [inner for command in above for inner in self.within(command)]
        names = {command.name for command in above}
        if names & _RAW:
            yield self.effect("net.shell", note="whatever the other side sends is run")
        elif names & _FETCH:
            source = next(command for command in above if command.name in _FETCH)
            hosts = tuple(
                Target(word.shown, "host") for word in source.argv[1:] if "." in word.text and word.text[0] != "-"
            )
            yield self.effect("code.remote", hosts[-1:])
        elif names & _DECODE:
            yield self.effect("code.hidden", note="runs what a decoder makes of its input")
        elif above and above[-1].name == "cat" and len(above) == 1 and len(above[0].argv) > 1:
            yield from self.on("code.run", [word for word in above[0].argv[1:] if word.text[:1] != "-"])
        else:
            yield self.effect("code.unknown", possible=True, note="runs the output of another program")

    def loads_secret(self, command: Command) -> bool:
        """Whether a command takes variables from a file of secrets: `source .env`."""
        return (
            command.name in ("source", ".") and len(command.argv) > 1 and self.path(command.argv[1]).zone is Zone.SECRET
        )

    def sent(self, files: Sequence[Word]) -> Iterator[Effect]:
        """Files of this machine that go somewhere else: a secret among them is one that gets out."""
        for word in files:
            target = self.path(word)
            yield self.effect("cred.send" if target.zone is Zone.SECRET else "fs.read", (target,))

    def served(self, directories: Sequence[Word]) -> Iterator[Effect]:
        """What anybody may read who reaches a server: no matter in the project, everything elsewhere."""
        for target in map(self.path, directories):
            if target.zone in (Zone.HOME, Zone.SYSTEM, Zone.SECRET, Zone.OUTSIDE, Zone.PERSIST):
                yield self.effect("net.tunnel", (target,), note="whoever reaches the server can read what lies there")

    def shell(self, text: str) -> Iterable[Effect]:
        """What shell text does that this command would run."""
        return self._shell(text, self.command) if self._shell is not None and text.strip() else ()

    def run(self, program: Program) -> list[Effect]:
        """Everything the program does with these arguments."""
        argv = self.command.argv[1:]
        if len(argv) <= 3:
            for word in argv:
                # `cargo yank --version 1.0` gives a version; `cargo --version` asks for one.
                if word.text[:2] == "--" and word.text in _HARMLESS and (word.text != "--version" or word is argv[-1]):
                    return []
        if program.always:
            return self._rows(program.does)
        self.args = Arguments(argv, words(program.values), single=program.single)
        if program.subs:
            return self._follow(program, argv)
        if program.dry and self.args.has(program.dry):
            return []
        effects = self._rows(program.does) if program.does else []
        if program.call is not None:
            effects += program.call(self)
        return effects

    def _follow(self, program: Program, argv: Sequence[Word]) -> list[Effect]:
        dry = program.dry
        entry: Program | Does | tuple[Does, ...] = program
        if program.subs and (found := self._sub(program)):
            name, entry = found
            depth = name.count(" ") + 1
            if isinstance(entry, Program) and entry.own:
                return self._own(entry, argv, depth, dry)
            if isinstance(entry, Program) and (entry.values or entry.single):
                single = entry.single or program.single
                self.args = Arguments(argv, words(f"{program.values} {entry.values}"), single=single)
            self.args.operands = self.args.operands[depth:]
            self.subcommand = f"{self.subcommand} {name}".strip()
            if isinstance(entry, Program):
                dry = f"{dry} {entry.dry}"
        elif program.subs and program.call is None and self.args.operands and (unlisted := self._unlisted()):
            return unlisted
        if dry and self.args.has(dry):
            return []
        if not isinstance(entry, Program):
            return self._rows((entry,) if isinstance(entry, Does) else entry)
        effects = self._rows(entry.does) if entry.does else []
        if entry.call is not None:
            effects += entry.call(self)
        return effects

    def _unlisted(self) -> list[Effect]:
        """A subcommand that no table has, told in so many words to destroy something."""
        texts = [word.text for word in self.args.operands[:3] if word.known and word.text[:1] != "-"]
        if texts[:1] and texts[0] in _RUNNERS:
            return []
        from verdikt.effects import verb

        if verb.find(texts)[1] != "delete" or not verb.destroys([*texts, *(flag for flag, _ in self.args.flags)]):
            return []
        return [self.effect("unknown.destroy", (Target(" ".join([self.name, *texts]), "other"),), possible=True)]

    def _own(self, entry: Program, argv: Sequence[Word], depth: int, dry: str) -> list[Effect]:
        """A subcommand whose flags are its own, sorted anew from where it begins."""
        if dry and self.args.has(dry):
            return []
        last = self.args.operands[depth - 1]
        rest = argv[next(i for i, word in enumerate(argv) if word is last) + 1 :]
        self.args = Arguments(rest, words(entry.values), single=entry.single)
        return self._follow(entry, rest)

    def _sub(self, program: Program) -> tuple[str, Program | Does | tuple[Does, ...]] | None:
        operands = [word.text for word in self.args.operands[:3]]
        for depth in range(len(operands), 0, -1):
            name = " ".join(operands[:depth])
            if name in program.subs:
                return name, program.subs[name]
        return None

    def _rows(self, rows: Iterable[Does]) -> list[Effect]:
        effects: list[Effect] = []
        args = self.args
        for row in rows:
            if (row.when and not args.has(row.when)) or (row.unless and args.has(row.unless)):
                continue
            picked = args.pick(row.on) if row.on else ()
            if picked:
                effects += self.on(
                    row.what, picked, row.kind, recoverable=row.recoverable, possible=row.possible, note=row.note
                )
            elif row.bare or not row.on:
                effects.append(self.effect(row.what, recoverable=row.recoverable, possible=row.possible, note=row.note))
        return effects

    def on(
        self,
        what: str,
        targets: Sequence[Word],
        kind: str = "path",
        *,
        recoverable: bool | None = None,
        possible: bool = False,
        note: str = "",
    ) -> list[Effect]:
        """The effect on these words. One on paths is split by what the paths are: devices, sinks, files that are not there yet."""
        if kind != "path":
            found = tuple([Target(word.shown, kind) for word in targets])
            unknown = any(UNKNOWN in word.text for word in targets)
            return [self.effect(what, found, recoverable=recoverable, possible=possible or unknown, note=note)]
        _, look, git = manner(what)
        if what == "fs.delete" and not possible:
            # Which files a pattern hits nobody can tell without looking; in the project they may all be of no account.
            narrow = [word for word in targets if word.glob and self._is_narrow(word)]
            if narrow and len(narrow) < len(targets):
                rest = [word for word in targets if word not in narrow]
                return self.on(what, rest, recoverable=recoverable, note=note) + self.on(
                    what, narrow, recoverable=recoverable, possible=True, note=note
                )
            possible = bool(narrow)
            if not narrow and any(word.glob and self._is_everything(word) for word in targets):
                what = "fs.delete.tree"  # all the files of a directory are as much as the directory
        if look or self.command.where:
            found_at = [self.path(word, look=look, git=git) for word in targets]
        elif len(targets) == 1:
            found_at = [self.resolver.path(targets[0], self.command.cwd)]
        else:
            cwd, path = self.command.cwd, self.resolver.path
            found_at = [path(word, cwd) for word in targets]
        return self.paths(what, found_at, recoverable=recoverable, possible=possible, note=note)

    def _is_narrow(self, word: Word) -> bool:
        """Whether a pattern means some of the project's files, and not all that are there."""
        return not self._is_everything(word) and self.path(word).zone is Zone.PROJECT

    @staticmethod
    def _is_everything(word: Word) -> bool:
        return word.text.rstrip("/").rsplit("/", 1)[-1].strip("*.?") == ""

    def paths(
        self,
        what: str,
        targets: Sequence[Target],
        *,
        recoverable: bool | None = None,
        possible: bool = False,
        note: str = "",
    ) -> list[Effect]:
        """The effect on these path targets, each judged by what lies there."""
        if what in _PUTS and any(target.path in _TEMPORARY for target in targets):
            # Not theirs to lose, but anybody may put things there.
            targets = [
                t if t.path not in _TEMPORARY else Target(t.text, "path", f"{t.path}/", Zone.TEMP) for t in targets
            ]
        if what in _LOSES_SECRETS and any(
            t.zone is Zone.SECRET and t.path.startswith(_BELOW_TEMPORARY) for t in targets
        ):
            # What is called like a secret may be lost there like anything else.
            targets = [t._replace(zone=Zone.TEMP) if t.path.startswith(_BELOW_TEMPORARY) else t for t in targets]
        if len(targets) == 1:
            name = _actual(what, targets[0])
            if not name:
                return []
            return [self.effect(name, (targets[0],), recoverable=recoverable, possible=possible, note=note)]
        groups: dict[tuple[str, bool, bool], list[Target]] = {}
        for target in targets:
            if name := _actual(what, target):
                # Kept apart, so that a rule about what is lost does not meet a target that is not.
                groups.setdefault((name, can_return(target), bool(target.path)), []).append(target)
        return [
            self.effect(name, tuple(group), recoverable=recoverable, possible=possible, note=note)
            for (name, _, _), group in groups.items()
        ]

    def path(self, word: Word, *, look: bool = False, git: bool = True) -> Target:
        """The path that a word names, where this command runs."""
        if self.command.where:
            if self.place.kind == "fresh":
                return self._inside(word, look=look, git=git)
            return self._elsewhere(word)
        return self.resolver.path(word, self.command.cwd, look=look, git=git)

    def upstream(self) -> Iterator[Command]:
        """The commands whose output this one reads, nearest first; for one run by `xargs`, those that feed the `xargs`."""
        command, seen = self.command, 0
        if command.pipe_from is None and command.repeated:
            near = reversed(before(command, self.commands))
            command = next((c for c in near if c.name in ("xargs", "parallel")), command)
        while command.pipe_from is not None and 0 <= command.pipe_from < len(self.commands) and seen < 64:
            command, seen = self.commands[command.pipe_from], seen + 1
            yield command

    def within(self, command: Command) -> Iterator[Command]:
        """What runs inside a wrapper: `nohup curl …`, `docker exec x env`."""
        if command.name not in _HOLDERS:
            return
        start = next((i for i, other in enumerate(self.commands) if other is command), len(self.commands))
        for other in self.commands[start + 1 : start + 9]:
            if len(other.via) <= len(command.via):
                return
            yield other

    def _elsewhere(self, word: Word) -> Target:
        """A path on another machine, of which nothing is known but its name."""
        if word.text.rstrip("/*") == "~":
            return Target(f"{self.command.where}:{word.shown}", "path", "~", Zone.SYSTEM)
        if not word.known or not word.text.startswith(("/", "~")):
            return Target(f"{self.command.where}:{word.shown}", "path", "", Zone.OUTSIDE)
        path = self.resolver.absolute(word.text)
        zone = self.resolver.zone(path)
        if self.place.kind == "container" and path != "/" and zone in (Zone.SYSTEM, Zone.PERSIST, Zone.OUTSIDE):
            # A container is no machine: what is lost there is what it wrote, or a volume.
            if path.count("/") > 2 and places.is_build(path[1:]):
                return Target(f"{self.command.where}:{word.shown}", "path", path, Zone.TEMP, "ignored")
            return Target(f"{self.command.where}:{word.shown}", "path", "", Zone.OUTSIDE)
        if zone in (Zone.PROJECT, Zone.HOME):
            zone = Zone.OUTSIDE
        return Target(f"{self.command.where}:{word.shown}", "path", path, zone)

    def _inside(self, word: Word, *, look: bool, git: bool) -> Target:
        """A path in a container made for this command: gone with it, unless it is mounted from outside."""
        place, text = self.place, word.text
        if not text.startswith("/"):
            text = f"{place.directory or '/'}/{text}"
        outside = place.outside(normpath(text)) if word.known else None
        if outside is None:
            doubtful = bool(place.mounts) and not word.known
            return Target(
                f"{self.command.where}:{word.shown}",
                "path",
                "" if doubtful else text,
                Zone.OUTSIDE if doubtful else Zone.TEMP,
            )
        if outside.startswith(("/", "~", ".", UNKNOWN)):
            return self.resolver.path(Word(outside, word.raw, word.glob), None, look=look, git=git)
        return Target(outside, "path", "", Zone.OUTSIDE)

    def _contained(self, what: str) -> bool:
        """Whether an effect stays in the container that the command runs in."""
        kind = self.place.kind
        return (kind in ("fresh", "container") and what.startswith(_OF_THE_MACHINE)) or (
            kind == "container" and what.startswith(_WRITTEN)
        )

    def effect(
        self,
        what: str,
        targets: tuple[Target, ...] = (),
        *,
        recoverable: bool | None = None,
        possible: bool = False,
        note: str = "",
    ) -> Effect:
        """An effect of this command, with class and recoverability by its name and its targets unless given."""
        where = self.command.where
        uncertain = possible or self.doubt
        if where:
            if self._contained(what):
                what, targets, recoverable = "container.exec", (), None
            # Of files elsewhere nothing is known; a database is dropped wherever the client runs.
            elif what.startswith(_PLACED) and self.place.kind != "fresh":
                uncertain = uncertain or not any(target.zone is Zone.SYSTEM for target in targets)
        (cls, reversible, _), _, lossy = manner(what)
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
        return _row(Effect, (cls, what, targets, certainty, recoverable, self._by or self.by, note))


def shown(argv: Sequence[Word]) -> str:
    """A command line for messages."""
    text = " ".join([word.text for word in argv])
    if UNKNOWN in text:
        text = " ".join([word.shown for word in argv])
    return text if len(text) <= 120 else text[:119] + "…"


def _actual(what: str, target: Target) -> str:
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
        if what == "fs.delete.tree" and target.zone is Zone.PROJECT and places.is_scratch(path):
            return "fs.delete"
    return what


_row = tuple.__new__
_NO_ARGUMENTS = Arguments(())
