"""How the commands of a text bear on each other: what one moves, writes, makes or reads, a later one uses."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from verdikt.effects.carried_state import (
    SECRET_SOURCES,
    find_links,
    find_moved_work,
    find_secret_destinations,
    follow_links,
    list_split_parts,
    look_up_overwritten,
    make_copy_effect,
    mark_lost_work,
)
from verdikt.effects.dataflow import (
    DELETE_EFFECTS,
    OUTGOING_PREFIXES,
    REF_DELETE_EFFECTS,
    REPLACE_EFFECTS,
    WRITE_EFFECTS,
    downgrade_conditional_writes,
    downgrade_own_ref_deletes,
    drop_login_reads,
    find_secret_variables,
    mark_own_deletes,
    reads_secret_upstream,
    trace_dataflow,
    uses_variables,
)
from verdikt.effects.effect_catalog import EFFECT_CATALOG
from verdikt.effects.endless_spawn import mark_endless_spawns
from verdikt.effects.private_keys import add_shown_keys
from verdikt.effects.rewritten_files import TREE_CHANGERS, downgrade_rewrites, mark_discarded_changes, may_print_commit
from verdikt.effects.secret_sends import (
    SECRET_FILE_PROGRAMS,
    derive_key_variable_sends,
    drop_loaded_reads,
    handles_secret_files,
    trace_secret_files,
)
from verdikt.effects.zone_effects import DERIVING_PREFIXES, derive_spliced_reads, derive_zone_effects, is_plain_access

if TYPE_CHECKING:
    from verdikt.effects.target import TargetResolver
    from verdikt.model.effect import Effect
    from verdikt.model.facts import Facts
    from verdikt.shell.command import Command

_RELATED_PREFIXES = (*SECRET_SOURCES, "fs.overwrite", *OUTGOING_PREFIXES)
"""Effects that say something about each other, or about what the session did before."""
_RELATED_EFFECTS = ("cred.read", "fs.link", "fs.move", "proc.spawn")
_ZONE_PREFIXES = ("fs.", "disk.", "cred.", "env.")
"""Effects that can mean more where they fall, or that take a secret somewhere."""


def are_settled(commands: Sequence[Command], names: Sequence[str], effects: Iterable[Effect], facts: Facts) -> bool:
    """Return whether nothing more follows from the effects of commands, for each other or for the session.

    `names` are those of their programs. A text like that, as most are, needs no `CommandRelations`.
    """
    if facts.moved_work:
        return False
    if not SECRET_FILE_PROGRAMS.isdisjoint(names) and any(map(_handles_files, names, commands)):
        return False
    for effect in effects:
        if effect.what not in _FINAL_EFFECTS and (facts.secret_copies or not is_plain_access(effect)):
            return False
    return True


def _handles_files(name: str, command: Command) -> bool:
    """Return whether a command may matter to others by something that is no effect of it.

    It may load, attach or stage secret files, or print what a commit has.
    """
    return name in SECRET_FILE_PROGRAMS and (handles_secret_files(name, command) or may_print_commit(command))


class CommandRelations:
    """Completes the effects of commands by what the others of the text, and the session, did before them.

    Remembers the temporary files and the copies of secrets that the text makes.
    """

    __slots__ = ("_resolver", "_secret_copies", "_temporary_paths")

    def __init__(self, resolver: TargetResolver) -> None:
        self._resolver = resolver
        self._temporary_paths: set[str] = set()
        self._secret_copies: set[str] = set()

    def complete_single(self, name: str, commands: Sequence[Command], effects: list[Effect]) -> None:
        """Complete the effects of a text of one plain command, of the program `name`: little has to be asked of it."""
        facts = self._resolver.facts
        if derived := derive_zone_effects(effects, facts, self._secret_copies):
            effects.extend(derived)
            effects.extend(derive_spliced_reads(derived, commands[0], self._resolver.project_root))
        handles_secrets = name in SECRET_FILE_PROGRAMS and handles_secret_files(name, commands[0])
        if handles_secrets or _has_prefix(effects, _RELATED_PREFIXES) or facts.moved_work:
            self._relate_single(commands, effects)
        if derived:
            add_shown_keys(commands, [effects], facts)

    def complete_all(
        self,
        text: str,
        programs: Sequence[str],
        commands: Sequence[Command],
        effects_by_command: list[list[Effect]],
    ) -> None:
        """Complete the effects of every command of a text; `programs` are the names of theirs."""
        self._add_zone_effects(commands, effects_by_command)
        self._relate_commands(text, programs, commands, effects_by_command)

    def _relate_single(self, commands: Sequence[Command], effects: list[Effect]) -> None:
        """Apply to the effects of the only command what the session remembers, and what they say about each other."""
        if _has_prefix(effects, SECRET_SOURCES):
            self._carry_secrets(0, commands, [effects])
        if commands[0].name in SECRET_FILE_PROGRAMS:
            trace_secret_files(commands, [effects], self._resolver)
        look_up_overwritten(effects, self._resolver)
        if may_print_commit(commands[0]):
            mark_discarded_changes(commands, [effects])
        if moved := self._resolver.facts.moved_work:
            mark_lost_work(effects, moved)
        if _has_prefix(effects, OUTGOING_PREFIXES):
            trace_dataflow(commands, [effects])
            effects += derive_key_variable_sends(commands[0], effects)

    def _add_zone_effects(self, commands: Sequence[Command], effects_by_command: list[list[Effect]]) -> None:
        """Add to each command's effects what follows from where they fall, in order."""
        has_secret = False
        secret_variables: set[str] = set()
        for index, effects in enumerate(effects_by_command):
            if not has_secret and not (effects and _has_prefix(effects, _ZONE_PREFIXES)):
                continue
            if derived := derive_zone_effects(effects, self._resolver.facts, self._secret_copies):
                derived = [effect for effect in derived if not self._is_own_temporary(effect)]
                effects.extend(derived)
                effects.extend(derive_spliced_reads(derived, commands[index], self._resolver.project_root))
            for effect in effects if len(effects_by_command) > 1 else ():
                if effect.what in WRITE_EFFECTS:
                    self._temporary_paths.update(_list_temporary_paths(effect))
            if has_secret or _has_prefix(effects, SECRET_SOURCES):
                has_secret = True
                secret_variables.update(find_secret_variables(index, commands, effects_by_command))
                self._carry_secrets(index, commands, effects_by_command, secret_variables)

    def _carry_secrets(
        self,
        index: int,
        commands: Sequence[Command],
        effects_by_command: list[list[Effect]],
        variables: Collection[str] = (),
    ) -> None:
        """Remember the files into which a command puts a secret, and report them as `cred.copy`."""
        effects = effects_by_command[index]
        is_fed = reads_secret_upstream(index, commands, effects_by_command) or uses_variables(
            commands[index], variables
        )
        copies = find_secret_destinations(effects, self._resolver, is_fed=is_fed) if effects else []
        if copies := copies + list_split_parts(commands[index], effects, self._resolver):
            self._secret_copies.update(target.path for target in copies)
            effects.append(make_copy_effect(effects[0], copies))

    def _follow_moved_work(self, effects_by_command: list[list[Effect]]) -> None:
        """Let deletions count as what they are where an earlier command moved work there: `mv notes /tmp/n; rm …`."""
        moved = dict(self._resolver.facts.moved_work)
        for effects in effects_by_command:
            if moved:
                mark_lost_work(effects, moved)
            moved |= find_moved_work(effects, self._resolver, moved)

    def _follow_links(self, commands: Sequence[Command], effects_by_command: list[list[Effect]]) -> None:
        """Let losses behind a link that this text makes count where they fall: `ln -s $PWD/notes n; rm -rf n/`."""
        links: dict[str, str] = {}
        for command, effects in zip(commands, effects_by_command, strict=True):
            if links:
                follow_links(effects, links, self._resolver)
            links |= find_links(command, effects, self._resolver)

    def _relate_commands(
        self,
        text: str,
        programs: Sequence[str],
        commands: Sequence[Command],
        effects_by_command: list[list[Effect]],
    ) -> None:
        """Apply everything that one command changes about the effects of another."""
        names = {effect.what for effects in effects_by_command for effect in effects if _concerns_others(effect.what)}
        if "cred.read" in names:
            drop_login_reads(commands, effects_by_command)
        if names and any(name.startswith(OUTGOING_PREFIXES) for name in names):
            trace_dataflow(commands, effects_by_command)
            for command, effects in zip(commands, effects_by_command, strict=True):
                if _has_prefix(effects, OUTGOING_PREFIXES):
                    effects.extend(derive_key_variable_sends(command, effects))
        # A loop matters only where a secret is read that may feed it.
        feeds_loop = "cred.read" in names and any(command.repeated for command in commands)
        if feeds_loop or not SECRET_FILE_PROGRAMS.isdisjoint(programs):
            trace_secret_files(commands, effects_by_command, self._resolver)
        if "cred.read" in names:
            drop_loaded_reads(commands, effects_by_command, self._resolver)
            add_shown_keys(commands, effects_by_command, self._resolver.facts)
        if "fs.overwrite" in names:
            self._follow_overwrites(commands, effects_by_command)
        if not TREE_CHANGERS.isdisjoint(programs) and any(map(may_print_commit, commands)):
            mark_discarded_changes(commands, effects_by_command)
        self._follow_places(names, commands, effects_by_command)
        if names:
            self._settle_own_changes(text, names, commands, effects_by_command)

    def _settle_own_changes(
        self,
        text: str,
        names: Collection[str],
        commands: Sequence[Command],
        effects_by_command: list[list[Effect]],
    ) -> None:
        """Let what the text itself made, or asked for before, count for what it does to it later."""
        if "proc.spawn" in names:
            mark_endless_spawns(text, commands, effects_by_command)
        if not DELETE_EFFECTS.isdisjoint(names) and _names_absent_path(effects_by_command):
            mark_own_deletes(commands, effects_by_command, self._resolver)
        if not REF_DELETE_EFFECTS.isdisjoint(names):
            downgrade_own_ref_deletes(commands, effects_by_command)
        if not REPLACE_EFFECTS.isdisjoint(names):
            downgrade_conditional_writes(text, commands, effects_by_command, self._resolver)

    def _follow_places(
        self, names: Collection[str], commands: Sequence[Command], effects_by_command: list[list[Effect]]
    ) -> None:
        """Let losses count where links and moves of this text, or earlier moves of the session, lead."""
        if "fs.link" in names:
            self._follow_links(commands, effects_by_command)
        if "fs.move" in names or self._resolver.facts.moved_work:
            self._follow_moved_work(effects_by_command)

    def _follow_overwrites(self, commands: Sequence[Command], effects_by_command: list[list[Effect]]) -> None:
        for effects in effects_by_command:
            look_up_overwritten(effects, self._resolver)
        downgrade_rewrites(commands, effects_by_command)

    def _is_own_temporary(self, effect: Effect) -> bool:
        """Return whether a read secret is a temporary file that this very text made, and no copy of another secret."""
        return effect.what == "cred.read" and all(
            target.path in self._temporary_paths and target.path not in self._secret_copies for target in effect.targets
        )


# Loops and no generators: nearly every command comes through these, and a generator costs more than its tests.
# ruff: noqa: SIM110


def _has_prefix(effects: Iterable[Effect], prefixes: tuple[str, ...]) -> bool:
    """Return whether the name of an effect begins with one of these."""
    for effect in effects:
        if effect.what.startswith(prefixes):
            return True
    return False


def _list_temporary_paths(effect: Effect) -> list[str]:
    """Return the temporary files among the targets of an effect."""
    return [target.path for target in effect.targets if target.path.startswith(("/tmp/", "/var/tmp/"))]


def _names_absent_path(effects_by_command: Iterable[Iterable[Effect]]) -> bool:
    for effects in effects_by_command:
        for effect in effects:
            for target in effect.targets:
                if target.state == "absent":
                    return True
    return False


# Bounded: names of effects also come from the records of a policy.
@lru_cache(maxsize=1024)
def _concerns_others(what: str) -> bool:
    """Return whether an effect can change, or be changed by, what other commands of the text do."""
    is_listed = what in _RELATED_EFFECTS or what in DELETE_EFFECTS or what in REF_DELETE_EFFECTS
    return is_listed or what in REPLACE_EFFECTS or what.startswith(OUTGOING_PREFIXES)


_FINAL_EFFECTS = frozenset(
    what
    for what in EFFECT_CATALOG
    if not (what.startswith((*DERIVING_PREFIXES, *_RELATED_PREFIXES)) or _concerns_others(what))
)
"""Effects from which nothing follows, neither by where they fall nor for other commands."""
