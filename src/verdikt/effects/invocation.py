"""One command as the program tables see it: its sorted arguments, the commands around it, and how to report effects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING

from verdikt.effects.arguments import Arguments, word_set
from verdikt.effects.command_input import may_decode
from verdikt.effects.effect_catalog import find_traits
from verdikt.effects.execution_context import (
    find_execution_context,
    find_preceding,
    is_contained,
    is_throwaway_data,
    resolve_in_container,
    resolve_remote,
)
from verdikt.effects.installation_names import is_throwaway
from verdikt.effects.target import is_device, is_recoverable, is_scratch_file, is_sink
from verdikt.knowledge import find_role
from verdikt.model.effect import Certainty, Effect, EffectClass, Target, Zone
from verdikt.shell.command import UNKNOWN, Word, list_stage
from verdikt.shell.possible_wrapper import POSSIBLE_WRAPPER

if TYPE_CHECKING:
    from verdikt.effects.execution_context import ExecutionContext
    from verdikt.effects.target import TargetResolver
    from verdikt.model.facts import Facts
    from verdikt.shell.command import Command

SHELLS = find_role("shell")
RAW_CONNECTION_PROGRAMS = find_role("raw_connection")
"""Programs that open a bare connection."""
DOWNLOADERS = find_role("downloader")
"""Programs whose output was written elsewhere, however it is run: `curl … | sh`, `eval "$(curl …)"`."""
DECODERS = find_role("decoder")
"""Programs that turn unreadable input into text, however that is run."""
# Only a pipe into an interpreter makes these suspect: `eval "$(ssh-agent)"`, `eval "$(gh completion -s bash)"` and
# `eval "$(python setup_env.py)"` are how such tools are meant to be used.
_PIPED_DOWNLOADERS = DOWNLOADERS | find_role("piped_downloader")
_PIPED_DECODERS = DECODERS | find_role("piped_decoder")

_WRITE_EFFECTS = word_set("fs.write fs.overwrite fs.append")
_TEMPORARY_DIRECTORIES = word_set("/tmp /var/tmp /private/tmp /dev/shm")
_FILE_CHANGE_EFFECTS = word_set(
    "fs.delete fs.delete.tree fs.truncate fs.overwrite fs.write fs.append fs.move fs.shred fs.chmod"
)
_SHARED_KINDS = ("resource", "database")
_TEMPORARY_BEGINNINGS = tuple(_TEMPORARY_DIRECTORIES)
_TEMPORARY_PREFIXES = tuple(f"{directory}/" for directory in _TEMPORARY_DIRECTORIES)
_WRAPPER_PROGRAMS = find_role("transparent_wrapper")
_CONCATENATORS = find_role("concatenator")
_VARIABLE_SETTERS = find_role("variable_setter")
_SETTER_ENDINGS = tuple(_VARIABLE_SETTERS)
_ARGUMENT_FEEDERS = find_role("argument_feeder")
_UNLINKERS = ("rm", "unlink")
"""Programs that delete a link and not what it leads to."""
_FILE_EFFECT_PREFIXES = ("fs.", "git.", "cred.", "persist.", "guard.", "code.")
_SERVED_ZONES = (Zone.HOME, Zone.SYSTEM, Zone.SECRET, Zone.OUTSIDE, Zone.PERSIST)
MAX_LINE_LENGTH = 120
"""Number of characters of a command line that messages show."""
_MAX_PIPELINE = 64
_MAX_WRAPPED = 8
_NO_ARGUMENTS = Arguments(())
_GET_TEXT = attrgetter("text")
# Builds a named tuple from all its fields at once: effects are made by the dozen, and keyword handling is measurable.
_make_row = tuple.__new__


class Invocation:
    """A command with its arguments sorted for one program."""

    __slots__ = (
        "_command_line",
        "_context",
        "_shell_classifier",
        "args",
        "command",
        "commands",
        "full_text",
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
        # Made at once: nearly every command is asked for it, and most tests of its words begin with this text.
        self.full_text = " ".join(map(_GET_TEXT, command.argv))
        """All words of the command, for patterns: a message may be cut off, a decision may not."""
        self._shell_classifier = shell_classifier
        self.uncertain = any(map(_is_possible_wrapper, command.via)) if command.via else False
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
        """Where the command runs: on this machine, in a container, or elsewhere."""
        if self._context is None:
            self._context = find_execution_context(self.command, self.commands)
        return self._context

    @property
    def command_line(self) -> str:
        """The command line, shortened for messages."""
        if not self._command_line:
            text = self.full_text
            if UNKNOWN in text:
                text = " ".join([word.display_text for word in self.command.argv])
            self._command_line = text if len(text) <= MAX_LINE_LENGTH else text[: MAX_LINE_LENGTH - 1] + "…"
        return self._command_line

    def replace_words(self, argv: tuple[Word, ...]) -> None:
        """Let the command have other words than were written, because what they stand for is known."""
        self.command = self.command._replace(argv=argv)
        self.full_text = " ".join(map(_GET_TEXT, argv))

    @property
    def facts(self) -> Facts:
        """What is known of the world."""
        return self.resolver.facts

    @property
    def shell_classifier(self) -> Callable[[str, Command], Iterable[Effect]] | None:
        """The classifier of shell text, for an invocation built on behalf of this one."""
        return self._shell_classifier

    # The commands around this one.

    def iter_upstream(self) -> Iterator[Command]:
        """Yield the commands whose output this one reads, nearest first.

        For a command that `xargs` runs, these are the commands that feed the `xargs`.
        """
        command, steps = self.command, 0
        if command.pipe_from is None and command.repeated:
            preceding = reversed(find_preceding(command, self.commands))
            command = next((c for c in preceding if c.name in _ARGUMENT_FEEDERS), command)
        while command.pipe_from is not None and 0 <= command.pipe_from < len(self.commands) and steps < _MAX_PIPELINE:
            stage = list_stage(self.commands, command.pipe_from)
            yield from map(self.commands.__getitem__, stage)
            command, steps = self.commands[stage[0]], steps + 1

    def iter_sources(self) -> Iterator[Command]:
        """Yield the commands whose output this one reads or has in its words."""
        yield from self.iter_upstream()
        own = next((i for i, other in enumerate(self.commands) if other is self.command), 0)
        for other in self.commands[max(0, own - _MAX_PIPELINE) : own]:
            if other.feeds == own or (other.pipe_to is not None and "$()" in other.via):
                yield other

    def iter_wrapped(self, command: Command) -> Iterator[Command]:
        """Yield what runs inside a wrapper: `nohup curl …`, `docker exec x env`."""
        if command.name not in _WRAPPER_PROGRAMS:
            return
        start = next((i for i, other in enumerate(self.commands) if other is command), len(self.commands))
        for other in self.commands[start + 1 : start + 1 + _MAX_WRAPPED]:
            if len(other.via) <= len(command.via):
                return
            yield other

    def list_assignments(self) -> list[tuple[str, Word]]:
        """Return the variables that are set for this command, by itself or by the wrapper around it."""
        depth = len(self.command.via)
        for command in reversed(find_preceding(self.command, self.commands)) if depth else ():
            if len(command.via) < depth:
                return [*command.assignments, *self.command.assignments]
        return list(self.command.assignments)

    def list_exports(self) -> list[tuple[str, Word]]:
        """Return the variables that earlier commands may have set for this one, in any branch of the script."""
        exports: list[tuple[str, Word]] = []
        for command in find_preceding(self.command, self.commands) if len(self.commands) > 1 else ():
            if not command.argv:
                exports += command.assignments
            elif command.argv[0].text.endswith(_SETTER_ENDINGS) and command.name in _VARIABLE_SETTERS:
                pairs = (word.text.partition("=") for word in command.argv[1:] if "=" in word.text)
                exports += [(name, Word(value, value)) for name, _, value in pairs]
        return exports

    def read_variables(self) -> dict[str, Word]:
        """Return the variables of a command by name: its own, and those that earlier commands may have set for it."""
        return dict((*self.list_exports(), *self.list_assignments()))

    def make_inner_call(self, argv: Sequence[Word], name: str = "", line: str = "") -> Invocation:
        """Return an invocation of another program in the place of this one; `line` is the text shown for it."""
        command = self.command._replace(argv=tuple(argv))
        call = Invocation(command, self.resolver, self.commands, self._shell_classifier, name=name)
        call._command_line = line
        return call

    def has_piped_input(self) -> bool:
        """Return whether another command's output is piped into this one."""
        return next(self.iter_upstream(), None) is not None

    def loads_secret(self, command: Command) -> bool:
        """Return whether a command takes variables from a file of secrets: `source .env`."""
        return (
            len(command.argv) > 1
            and command.argv[0].text in ("source", ".")
            and self.resolve_path(command.argv[1]).zone is Zone.SECRET
        )

    # Effects that several families share.

    def classify_piped_code(self) -> Iterator[Effect]:
        """Yield the effect of an interpreter that runs its piped input, by where that input comes from."""
        sources = list(self.iter_upstream())
        sources += [inner for command in sources for inner in self.iter_wrapped(command)]
        names = {command.name for command in sources}
        if names & RAW_CONNECTION_PROGRAMS:
            yield self.make_effect("net.shell", note="whatever the other side sends is run")
        elif names & _PIPED_DOWNLOADERS:
            download = next(command for command in sources if command.name in _PIPED_DOWNLOADERS)
            hosts = tuple(
                Target(word.display_text, "host")
                for word in download.argv[1:]
                if "." in word.text and word.text[0] != "-"
            )
            yield self.make_effect("code.remote", hosts[-1:])
        elif names & _PIPED_DECODERS or any(map(may_decode, sources)):
            yield self.make_effect("code.hidden", note="runs what a decoder makes of its input")
        elif sources and sources[-1].name in _CONCATENATORS and len(sources) == 1 and len(sources[0].argv) > 1:
            yield from self.make_effects("code.run", [word for word in sources[0].argv[1:] if word.text[:1] != "-"])
        else:
            yield self.make_effect("code.unknown", possible=True, note="runs the output of another program")

    def classify_sent_files(self, files: Sequence[Word]) -> Iterator[Effect]:
        """Yield the effects of sending files of this machine elsewhere; a secret among them is `cred.send`."""
        for word in files:
            target = self.resolve_path(word)
            is_secret = target.zone is Zone.SECRET or target.path in self.facts.secret_copies
            yield self.make_effect("cred.send" if is_secret else "fs.read", (target,))

    def classify_served_directories(self, directories: Sequence[Word]) -> Iterator[Effect]:
        """Yield `net.tunnel` for each directory outside the project that a server lets others read."""
        for target in map(self.resolve_path, directories):
            if target.zone in _SERVED_ZONES:
                note = "anyone who reaches the server can read what lies there"
                yield self.make_effect("net.tunnel", (target,), note=note)

    def classify_shell(self, text: str) -> Iterable[Effect]:
        """Return the effects of shell text that this command would run."""
        return self._shell_classifier(text, self.command) if self._shell_classifier is not None and text.strip() else ()

    # Making effects.

    def resolve_path(self, word: Word, *, with_state: bool = False, git: bool = True) -> Target:
        """Return the path that a word names, where this command runs."""
        if self.command.host:
            if self.context.kind == "fresh":
                return resolve_in_container(self, word, with_state=with_state, git=git)
            return resolve_remote(self, word)
        return self.resolver.resolve_path(word, self.command.cwd, with_state=with_state, git=git)

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
        """Return the effect on these words; on paths it is split by what they are: devices, sinks, absent files."""
        if kind != "path":
            unknown = bool([word for word in words if UNKNOWN in word.text])
            texts = [word.display_text for word in words] if unknown else [word.text for word in words]
            if kind == "ref":
                texts = [text.removeprefix("refs/heads/") for text in texts]
            targets = tuple([Target(text, kind) for text in texts])
            unknown = unknown and not self._works_on_listed_names(kind)
            return [self.make_effect(what, targets, recoverable=recoverable, possible=possible or unknown, note=note)]
        if not words:
            return []
        if what == "fs.delete" and not possible:
            return self._make_delete_effects(words, recoverable=recoverable, note=note)
        paths = self._resolve_targets(what, words)
        return self.make_path_effects(what, paths, recoverable=recoverable, possible=possible, note=note)

    def _works_on_listed_names(self, kind: str) -> bool:
        """Return whether the command is run for each name of a list of things that others may depend on.

        Which names those are is unknown, and that it is done to all of them is not.
        """
        return (
            self.command.repeated
            and kind in _SHARED_KINDS
            and not any(is_throwaway(word.text) for command in self.iter_upstream() for word in command.argv)
        )

    def _make_delete_effects(self, words: Sequence[Word], *, recoverable: bool | None, note: str) -> list[Effect]:
        """Return the effects of deleting these paths; only possible ones for patterns in the project."""
        # Which files a pattern matches is unknown without looking; in the project they may all be disposable.
        partial = [word for word in words if word.glob and self._is_partial_glob(word)]
        if partial and len(partial) < len(words):
            certain = [word for word in words if word not in partial]
            return self.make_effects("fs.delete", certain, recoverable=recoverable, note=note) + self.make_effects(
                "fs.delete", partial, recoverable=recoverable, possible=True, note=note
            )
        # All files of a directory are as much as the directory itself.
        whole = not partial and any(word.glob and _is_catch_all(word) for word in words)
        what = "fs.delete.tree" if whole else "fs.delete"
        paths = self._resolve_targets("fs.delete", words)
        return self.make_path_effects(what, paths, recoverable=recoverable, possible=bool(partial), note=note)

    def _resolve_targets(self, what: str, words: Sequence[Word]) -> list[Target]:
        traits = find_traits(what)
        needs_state, loses_content = traits.needs_path_state, traits.loses_content
        if self.command.host:
            targets = [self.resolve_path(word, with_state=needs_state, git=loses_content) for word in words]
            if what == "fs.delete.tree" and self.context.kind == "elsewhere":
                # The temporary files of another machine belong to those who work there.
                targets = [t if t.zone is not Zone.TEMP else t._replace(zone=Zone.OUTSIDE) for t in targets]
            return targets
        cwd, resolve = self.command.cwd, self.resolver.resolve_path
        if not needs_state:
            return [resolve(words[0], cwd)] if len(words) == 1 else [resolve(word, cwd) for word in words]
        if len(words) == 1:
            targets = [resolve(words[0], cwd, with_state=True, git=loses_content)]
        else:
            targets = [resolve(word, cwd, with_state=True, git=loses_content) for word in words]
        if self.name in _UNLINKERS and what.startswith("fs.delete"):
            targets = [self._keep_link(word, target) for word, target in zip(words, targets, strict=True)]
        return targets

    def _keep_link(self, word: Word, target: Target) -> Target:
        """Return the link itself where one is deleted that leads elsewhere: what lies there stays."""
        if target.zone is Zone.PROJECT and target.path == self.resolver.to_absolute(word.text, self.command.cwd):
            return target
        return self.resolver.resolve_link(word, self.command.cwd) or target

    def _is_partial_glob(self, word: Word) -> bool:
        """Return whether a pattern stands for some of the project's files, and not for all of a directory."""
        return not _is_catch_all(word) and self.resolve_path(word).zone is Zone.PROJECT

    def make_path_effects(
        self,
        what: str,
        targets: Sequence[Target],
        *,
        recoverable: bool | None = None,
        possible: bool = False,
        note: str = "",
    ) -> list[Effect]:
        """Return the effect on these path targets, each judged by what lies there."""
        if what in _FILE_CHANGE_EFFECTS:
            targets = [t if not t.path.startswith(_TEMPORARY_BEGINNINGS) else _mark_temporary(what, t) for t in targets]
        if len(targets) == 1:
            name = _refine_effect(what, targets[0])
            if not name:
                return []
            return [self.make_effect(name, (targets[0],), recoverable=recoverable, possible=possible, note=note)]
        groups: dict[tuple[str, bool, bool], list[Target]] = {}
        for target in targets:
            if name := _refine_effect(what, target):
                # Grouped by recoverability, so that a rule about what is lost does not meet a target that is not.
                groups.setdefault((name, is_recoverable(target), bool(target.path)), []).append(target)
        return [
            self.make_effect(name, tuple(group), recoverable=recoverable, possible=possible, note=note)
            for (name, _, _), group in groups.items()
        ]

    def make_effect(
        self,
        what: str,
        targets: tuple[Target, ...] = (),
        *,
        recoverable: bool | None = None,
        possible: bool = False,
        note: str = "",
    ) -> Effect:
        """Return an effect of this command; class and recoverability follow from its name and targets unless given."""
        uncertain = possible or self.uncertain
        if self.command.host:
            kind = self.context.kind
            is_trial = kind == "container" and is_throwaway_data(what, self.command.host, targets)
            if is_contained(what, kind) or (is_trial and not self.context.is_remote_engine):
                what, targets, recoverable = "container.exec", (), None
            else:
                uncertain = uncertain or is_trial or self._is_uncertain_elsewhere(what, targets)
        traits = find_traits(what)
        cls = traits.cls
        if targets:
            if traits.loses_content and targets[0].kind == "path":
                restorable = all(map(is_recoverable, targets))
                recoverable = restorable if recoverable is None else recoverable
                if restorable and cls is EffectClass.DESTRUCTIVE and what.startswith("fs.delete"):
                    cls = EffectClass.WRITE  # a build or git can bring it back, so it is a write like any other
            for target in targets:
                if not target.path and target.kind == "path":
                    uncertain = True
        if recoverable is None:
            recoverable = traits.recoverable
        certainty = Certainty.POSSIBLE if uncertain else Certainty.CERTAIN
        return _make_row(
            Effect, (cls, what, targets, certainty, recoverable, self._command_line or self.command_line, note)
        )

    def _is_uncertain_elsewhere(self, what: str, targets: tuple[Target, ...]) -> bool:
        """Return whether an effect on another machine is only possible.

        The files of another machine are unknown; a database is dropped wherever the client runs.
        """
        return (
            what.startswith(_FILE_EFFECT_PREFIXES)
            and self.context.kind != "fresh"
            and not any(target.zone is Zone.SYSTEM for target in targets)
        )


def join_words(words: Iterable[Word]) -> str:
    """Return the texts of words with a blank between each two."""
    return " ".join(map(_GET_TEXT, words))


def _is_possible_wrapper(label: str) -> bool:
    return label.startswith(POSSIBLE_WRAPPER)


def _is_catch_all(word: Word) -> bool:
    """Return whether a pattern stands for every file of a directory."""
    return word.text.rstrip("/").rsplit("/", 1)[-1].strip("*.?") == ""


def _mark_temporary(what: str, target: Target) -> Target:
    """Return a target that lies among the temporary files, in their zone where it is one of them."""
    if target.path in _TEMPORARY_DIRECTORIES:
        # `cp x /tmp`: the directory is not the agent's to lose, but every user may put files into it.
        return Target(target.text, "path", f"{target.path}/", Zone.TEMP) if what in _WRITE_EFFECTS else target
    # A temporary file that is named like a secret may be lost like any other.
    is_secret = target.zone is Zone.SECRET and target.path.startswith(_TEMPORARY_PREFIXES)
    return target._replace(zone=Zone.TEMP) if is_secret else target


def _refine_effect(what: str, target: Target) -> str:
    """Return the name of an effect on a path, given what is there; empty if nothing happens."""
    path = target.path
    if path.startswith("/dev/"):
        if is_sink(path):
            return "" if not what.startswith("fs.delete") else what
        if is_device(path):
            return "disk.look" if what == "fs.list" else "disk.read" if what == "fs.read" else "disk.write"
    elif path == "/proc/sysrq-trigger" and not what.startswith(("fs.read", "fs.list")):
        return "sys.power"
    if target.state == "absent":
        if what == "fs.overwrite":
            return "fs.write"
        if what == "fs.delete.tree" and target.zone is Zone.PROJECT and is_scratch_file(path):
            return "fs.delete"
    return what
