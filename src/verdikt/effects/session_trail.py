"""What a session remembers of the files that it wrote, and what follows from that for later commands.

`note_action` returns what an action adds to the memory; `add_remembered_effects` adds to a later action's effects what
the memory says about it. A file that was written by a tool is judged at once; one that a command wrote is judged when
something may load it, because only then its text is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from verdikt.effects.any_language.masking import find_ending, may_be_loaded, may_name_code
from verdikt.effects.armed_files import (
    ARMED_KEY,
    OLDER_ARMED_KEY,
    PROJECT_ARMED_KEY,
    UNJUDGED_KEY,
    UNSEEN,
    ArmedFile,
    iter_loaded_files,
    judge_file,
    judge_in_project,
    read_armed_files,
)
from verdikt.effects.carried_files import CarriedFiles
from verdikt.effects.carried_state import find_moved_work
from verdikt.effects.code_loaders import (
    NAMING_PREFIXES,
    Loader,
    find_git_loaders,
    find_loaders,
    find_naming_loaders,
    find_settings_loaders,
    make_armed_effect,
)
from verdikt.effects.code_sections import detect_file_language, is_composition
from verdikt.effects.committed_files import add_discarded_changes, note_committed_files
from verdikt.effects.copied_programs import note_copied_programs
from verdikt.effects.downloaded_files import find_unread_runs, note_downloads
from verdikt.effects.ignore_lists import note_ignore_lists
from verdikt.effects.linked_places import note_links
from verdikt.effects.local_resources import note_local_resources, settle_local_resources
from verdikt.effects.local_values.settings_values import DATA_ENDINGS
from verdikt.effects.local_values.value_files import (
    MAX_WRITTEN,
    WRITTEN_KEY,
    find_value_users,
    may_hold_values,
    may_take_values,
)
from verdikt.effects.secret_sends import UNLISTED_PREFIXES, add_issuer_sends, find_named_copies, find_unlisted_hosts
from verdikt.effects.target import TargetResolver
from verdikt.effects.workflow_sections import WORKFLOW
from verdikt.effects.zone_effects import derive_effect
from verdikt.model.action import ActionKind
from verdikt.model.canonical_json import sha256_hex
from verdikt.model.effect import Effect, Effects, Zone
from verdikt.model.facts import MOVED_WORK_KEY, REMOTES_KEY, SECRET_COPIES_KEY
from verdikt.model.session_state import mark_key, value_key
from verdikt.model.written_text import list_new_texts, predict_written_text

if TYPE_CHECKING:
    from verdikt.model.action import Action
    from verdikt.model.facts import Facts

ARCHIVES_KEY = value_key("trail", "archives")
"""Archives that hold files which the session wrote: path → names of those files in it."""
SECRET_READ_KEY = value_key("trail", "secret")
"""When the session first read a secret, and the hosts that it has sent to since."""
GIT_PROGRAMS_KEY = value_key("trail", "git_programs")
"""Files and directories of the project from which git runs programs, by settings that the session made."""
MAX_REMEMBERED = 24
"""Number of armed and of unjudged files that are kept by name; older armed ones are kept by digest only."""

MAX_CARRIED = 48
"""Number of copies of secrets, and of places of moved work, that are kept."""

_SECRET_READS = frozenset(("cred.read", "cred.read.hidden", "env.read.all", "env.read.secret"))
_CHANGES = frozenset(("fs.write", "fs.append", "fs.overwrite", "fs.link"))
_LOADED_ZONES = (Zone.TEMP, Zone.OUTSIDE, Zone.HOME)
"""Places outside the project from which the words of a command may load: `PYTHONPATH=/tmp/x`, `make -f /tmp/x.mk`."""
_DIGEST_LENGTH = 16

_DOWNLOAD_STEPS = frozenset("net.fetch git.fetch fs.read fs.write fs.overwrite fs.append".split())
"""Effects that download a file, read it, or carry it elsewhere."""
_PLACING_STEPS = frozenset("fs.write fs.overwrite fs.link fs.link.out".split())
_LINK_STEPS = frozenset("fs.link fs.link.out sys.mount fs.delete fs.delete.tree".split())
_UNCARRIED = frozenset("code.build code.run git.write git.read fs.read fs.write fs.append fs.list none".split())
"""Effects that neither move work nor read, copy or send a secret: those of nearly all ordinary commands."""


def add_remembered_effects(effects: Effects, facts: Facts, action: Action) -> Effects:
    """Return the effects of an action together with what the session's memory says about them."""
    if facts.secrets:
        effects = add_issuer_sends(effects, facts)
    effects = settle_local_resources(add_discarded_changes(effects, facts), facts, action)
    if sends := find_named_copies(effects, facts):
        effects = Effects((*effects.items, *sends))
    effects = _add_unlisted_sends(effects, facts, action)
    loaders = find_loaders(effects)
    if unread := find_unread_runs(effects, facts, action.command, loaders):
        effects = Effects((*effects.items, *unread))
    if git_programs := facts.recall(GIT_PROGRAMS_KEY):
        loaders += find_git_loaders(effects, git_programs)
    if not loaders and not _may_name_files(effects):
        return effects
    armed = read_armed_files(facts, loaders)
    unjudged = facts.recall(UNJUDGED_KEY) or {}
    if not armed and not unjudged:
        return effects
    loaders += find_naming_loaders(effects, action.command, (*armed, *unjudged))
    settings = [path for path in facts.recall(WRITTEN_KEY) or () if detect_file_language(path) in ("", "settings")]
    loaders += find_settings_loaders(effects, settings)
    if not loaders:
        return effects
    added = [
        make_armed_effect(loader, path, file.note, facts.project_root, is_certain=file.is_certain)
        for path, file, loader in iter_loaded_files(loaders, armed, unjudged, facts, action.command)
    ]
    return Effects((*effects.items, *added)) if added else effects


def _may_name_files(effects: Effects) -> bool:
    for effect in effects.items:  # noqa: SIM110 -- nearly every action comes through here
        if effect.what == "code.build" or effect.what.startswith(NAMING_PREFIXES):
            return True
    return False


def _add_unlisted_sends(effects: Effects, facts: Facts, action: Action) -> Effects:
    """Add `net.unlisted` for each host that this session has not sent to since it read a secret."""
    if not [effect for effect in effects.items if effect.what.startswith(UNLISTED_PREFIXES)]:
        return effects
    trail = facts.recall(SECRET_READ_KEY)
    if not isinstance(trail, Mapping):
        return effects
    added = [
        derive_effect("net.unlisted", effect, (target,), note=f"a secret was read at #{trail['seq']}")
        for effect, target in find_unlisted_hosts(effects, action)
        if target.text not in trail["hosts"]
    ]
    return Effects((*effects.items, *added[:1])) if added else effects


# What an action adds to the memory.


def note_action(action: Action, effects: Effects, facts: Facts, seq: int) -> dict[str, Any]:
    """Return the changes that an action makes to the memory, which the entry `seq` of the log records.

    The value under `PROJECT_ARMED_KEY` is for the memory of the project.
    """
    changes = _note_carried_state(effects, action, facts, seq) | note_local_resources(effects, facts, action)
    paths = [
        target.path
        for effect in effects.items
        if effect.what in _CHANGES
        for target in effect.targets
        if target.path.startswith(facts.project_root + "/") or (target.path and target.zone in _LOADED_ZONES)
    ]
    if not paths and not facts.recall(UNJUDGED_KEY):
        return changes
    trail = _Trail(action, facts, seq)
    if action.kind is ActionKind.WRITE:
        trail.note_tool_write(paths)
    else:
        trail.note_carried_files(effects)
        trail.note_command_writes(paths)
        trail.settle_judged(find_loaders(effects))
    return changes | trail.list_changes()


def _note_carried_state(effects: Effects, action: Action, facts: Facts, seq: int) -> dict[str, Any]:
    """Return what the memory keeps of secrets that were copied and of work that was moved."""
    names = {effect.what for effect in effects.items}
    changes: dict[str, Any] = {}
    if not names.isdisjoint(_DOWNLOAD_STEPS):
        changes |= note_downloads(effects, facts, seq)
    if not names.isdisjoint(_PLACING_STEPS):
        changes |= note_copied_programs(effects, facts)
    if not names.isdisjoint(_LINK_STEPS):
        changes |= note_links(effects, facts)
    if not names.isdisjoint(_CHANGES):
        changes |= note_ignore_lists(effects, facts)
    if "git.read" in names:
        changes |= note_committed_files(effects, facts, seq)
    if names <= _UNCARRIED:
        return changes
    if "cred.copy" in names:
        copies = [t.path for e in effects if e.what == "cred.copy" for t in e.targets]
        changes[SECRET_COPIES_KEY] = _keep_newest({**facts.secret_copies, **dict.fromkeys(copies, seq)})
    if not names.isdisjoint(_SECRET_READS) or any(name.startswith(UNLISTED_PREFIXES) for name in names):
        changes |= _note_secret_read(effects, action, facts, seq)
    if "git.remote" in names or "git.remote.url" in names:
        changes |= _note_remotes(effects, facts)
    if "git.config" in names:
        changes |= _note_git_programs(effects, facts)
    if "fs.move" in names and (moved := find_moved_destinations(effects, facts)) != facts.moved_work:
        changes[MOVED_WORK_KEY] = _keep_newest(moved) or None
    return changes


def _note_remotes(effects: Effects, facts: Facts) -> dict[str, Any]:
    """Return what the memory keeps of the remotes that the session added or changed."""
    before = facts.recall(REMOTES_KEY)
    remotes: dict[str, Any] = dict(before) if isinstance(before, Mapping) else {}
    for effect in effects.items:
        if effect.what.startswith("git.remote") and len(effect.targets) == 3:
            name, address, directory = effect.targets
            remotes[f"{directory.path} {name.text}"[:300]] = address.text[:300]
    return {REMOTES_KEY: _keep_newest(remotes)} if remotes != before else {}


def _note_git_programs(effects: Effects, facts: Facts) -> dict[str, Any]:
    """Return what the memory keeps of the files that settings make git run."""
    before = list(facts.recall(GIT_PROGRAMS_KEY) or ())
    paths = [t.path for effect in effects.items if effect.what == "git.config" for t in effect.targets if t.path]
    programs = list(dict.fromkeys([*before, *paths]))[-MAX_REMEMBERED:]
    return {GIT_PROGRAMS_KEY: programs} if programs != before else {}


def _note_secret_read(effects: Effects, action: Action, facts: Facts, seq: int) -> dict[str, Any]:
    """Return what the memory keeps of secrets that were read, and of the hosts that were sent to since."""
    before = facts.recall(SECRET_READ_KEY)
    trail: dict[str, Any] = dict(before) if isinstance(before, Mapping) else {}
    if not trail and any(effect.what in _SECRET_READS for effect in effects):
        trail = {"seq": seq, "hosts": []}
    if not trail:
        return {}
    hosts = [target.text[:100] for _, target in find_unlisted_hosts(effects, action)]
    trail["hosts"] = list(dict.fromkeys([*trail["hosts"], *hosts]))[-MAX_CARRIED:]
    return {SECRET_READ_KEY: trail} if trail != before else {}


def find_moved_destinations(effects: Effects, facts: Facts) -> dict[str, str]:
    """Return where the session has moved work that git does not have, after this action."""
    by_command: dict[str, list[Effect]] = {}
    for effect in effects:
        by_command.setdefault(effect.by, []).append(effect)
    moved = dict(facts.moved_work)
    resolver = TargetResolver(facts)
    for group in by_command.values():
        moved |= find_moved_work(group, resolver, moved)
        for source in (target.path for effect in group if effect.what == "fs.move" for target in effect.targets):
            moved.pop(source, None)
    return moved


def _keep_newest(rows: dict[str, Any]) -> dict[str, Any]:
    return dict(list(rows.items())[-MAX_CARRIED:])


class _Trail:
    """The remembered files while one action is noted."""

    def __init__(self, action: Action, facts: Facts, seq: int) -> None:
        self._action = action
        self._facts = facts
        self._seq = seq
        self._armed: dict[str, list[Any]] = dict(facts.recall(ARMED_KEY) or {})
        self._unjudged: dict[str, list[Any]] = dict(facts.recall(UNJUDGED_KEY) or {})
        self._before = (dict(self._armed), dict(self._unjudged))
        self._written: list[str] = list(facts.recall(WRITTEN_KEY) or ())
        self._written_before = list(self._written)
        self._marks: dict[str, str] = {}
        self._is_full = False
        self._archives: dict[str, list[str]] = {}

    def note_tool_write(self, paths: Iterable[str]) -> None:
        """Judge the text that a tool writes; where it is not known beforehand, remember the file as unjudged."""
        for path in paths:
            old_text = self._facts.text(path) if "content" not in self._action.payload else None
            text = predict_written_text(self._action.payload, old_text)
            self._armed.pop(path, None)
            self._unjudged.pop(path, None)
            self._note_written(path, text or "")
            if text is None:
                self._note_fragment(path)
            elif detect_file_language(path, text) in ("settings", WORKFLOW) or may_name_code(path, text):
                # What it names may be written later, and how it is loaded may say where it runs.
                self._unjudged[path] = [self._action.tool, self._seq]
            elif (armed := judge_in_project(path, text, self._facts)) is not None:
                digest = sha256_hex(text.encode("utf-8", "surrogatepass"))[:_DIGEST_LENGTH]
                self._armed[path] = list(ArmedFile.from_text(digest, armed, self._action.tool, self._seq))
            elif may_take_values(path, text):
                self._unjudged[path] = [self._action.tool, self._seq]

    def _note_written(self, path: str, text: str) -> None:
        """Remember a file that may have values for others, and those that may take them: they are judged once more."""
        has_language = detect_file_language(path, text) != "" or find_ending(path) in DATA_ENDINGS
        if not (has_language or may_be_loaded(path)) or not (
            may_hold_values(path, text) or may_take_values(path, text)
        ):
            return
        for user in find_value_users(path, self._written, self._facts):
            if user not in self._armed:
                self._unjudged[user] = [self._action.tool, self._seq]
        self._written = [*(other for other in self._written if other != path), path][-MAX_WRITTEN:]

    def _note_fragment(self, path: str) -> None:
        """Judge what an edit puts into a file whose text is not known, or remember the file."""
        fragment = "\n".join(list_new_texts(self._action.payload))
        armed = judge_in_project(path, fragment, self._facts) if fragment else None
        if armed is None:
            self._remember_unjudged(path)
        else:
            self._armed[path] = list(ArmedFile.from_text(UNSEEN, armed, self._action.tool, self._seq))

    def note_command_writes(self, paths: Iterable[str]) -> None:
        """Remember the files that a command writes; their text is read when something may load them."""
        for path in paths:
            self._remember_unjudged(path)
            self._note_written(path, self._facts.text(path) or "")

    def note_carried_files(self, effects: Effects) -> None:
        """Remember the copies of known files that a moved directory or an unpacked archive brings with it."""
        archives: dict[str, list[str]] = dict(self._facts.recall(ARCHIVES_KEY) or {})
        if not (self._armed or self._unjudged or archives):
            return
        carried = CarriedFiles(effects.items, (*self._armed, *self._unjudged), archives)
        for path in carried.paths[:MAX_REMEMBERED]:
            self._remember_unjudged(path)
        if carried.archives:
            self._archives = _keep_newest(archives | carried.archives)

    def _remember_unjudged(self, path: str) -> None:
        name = path[path.rfind("/") + 1 :]
        if detect_file_language(path) or "." not in name or may_be_loaded(path):
            self._unjudged.pop(path, None)
            self._unjudged[path] = [self._action.tool, self._seq]

    def settle_judged(self, loaders: list[Loader]) -> None:
        """Judge the files that this action may load and that were not judged before."""
        for path in list(self._unjudged) if loaders else ():
            tool, seq = self._unjudged[path]
            language = detect_file_language(path)
            if language == WORKFLOW or is_composition(path):
                continue  # each command may give it other values, or another place to run
            if seq == self._seq or not any(each.may_load(path, language, self._facts.project_root) for each in loaders):
                continue
            del self._unjudged[path]
            if (file := judge_file(path, self._facts, tool, seq)) is not None:
                self._armed[path] = list(file)

    def list_changes(self) -> dict[str, Any]:
        """Return the changes for the log, bounded: the oldest armed files stay by digest only."""
        while len(self._unjudged) > MAX_REMEMBERED:
            path = next(iter(self._unjudged))
            tool, seq = self._unjudged.pop(path)
            if (file := judge_file(path, self._facts, tool, seq)) is not None:
                self._armed[path] = list(file)
        while len(self._armed) > MAX_REMEMBERED:
            path = next(iter(self._armed))
            self._marks[mark_key("armed", path)] = str(self._armed.pop(path)[0])
            self._is_full = True
        changes: dict[str, Any] = dict(self._marks)
        if self._is_full:
            changes[OLDER_ARMED_KEY] = True
        if self._archives:
            changes[ARCHIVES_KEY] = self._archives
        if self._written != self._written_before:
            changes[WRITTEN_KEY] = self._written
        for key, rows, before in zip(
            (ARMED_KEY, UNJUDGED_KEY), (self._armed, self._unjudged), self._before, strict=True
        ):
            if rows != before:
                changes[key] = rows or None
        if ARMED_KEY in changes:
            changes[PROJECT_ARMED_KEY] = self._merge_into_project()
        return changes

    def _merge_into_project(self) -> dict[str, Any] | None:
        """Return the armed files of the project after this action; other sessions' stay."""
        rows = dict(self._facts.recall(PROJECT_ARMED_KEY) or {})
        for path in self._before[0]:
            rows.pop(path, None)
        rows |= self._armed
        return dict(list(rows.items())[-MAX_REMEMBERED:]) or None
