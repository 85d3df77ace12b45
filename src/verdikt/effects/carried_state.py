"""What is known of a path goes with it to a new name: a secret stays one, and moved work is still work.

Within one text the functions are called command by command, in order; across calls the session's memory holds what
`find_moved_work` and the effect `cred.copy` have told.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from posixpath import basename, dirname
from typing import TYPE_CHECKING

from verdikt.effects.dataflow import DELETE_EFFECTS
from verdikt.effects.zone_effects import derive_effect, holds_secret
from verdikt.knowledge import find_role, join_role
from verdikt.model.effect import Effect, Target, Zone
from verdikt.model.lazy_regex import compile_lazily
from verdikt.model.path_set import PathSet, PathSetKind, is_glob, is_within
from verdikt.shell.command import Word

if TYPE_CHECKING:
    from verdikt.effects.target import TargetResolver
    from verdikt.shell.command import Command

SECRET_SOURCES = ("cred.read", "cred.create", "cred.copy", "fs.move", "env.read.all")
"""Effects without which a command puts no secret anywhere."""
_PARTS = ("aa", "ab", "ac", "ad", "00", "01", "02", "03")
"""How the names of the first parts end when a program splits a file."""
_SPLITTERS = find_role("file_splitter")
_PREFIX_OPTIONS = ("-f", "--prefix")
_PRINTED_PART = compile_lazily(r"--f\w*|(?:-n|--number)[ =]?(?:[lr]/)?\d+/\d+")
"""Options by which parts go to the output or to a program, and to no file."""
_SUFFIX_OPTION = compile_lazily(r"(?:--additional-suffix|--suffix-format)[= ](\S+)")
_CONTENT_EFFECTS = ("cred.copy", "fs.write", "fs.overwrite", "fs.append", "fs.link", "fs.link.out", "fs.install")
_LOSS_EFFECTS = DELETE_EFFECTS | {"fs.truncate", "fs.overwrite"}
_COMPRESSORS = find_role("compressor")
_CODE_RUNNERS = find_role("code_runner")
_WORKTREE_REMOVAL = compile_lazily(rf"(?:{join_role('work_tree_changer')}) (?:-C \S+ )?worktree remove (.*)")
_COMPRESSED_ENDINGS = (".gz", ".bz2", ".xz", ".zst", ".lz4", ".br", ".7z", ".zip", ".gpg", ".asc", ".enc", ".age")
_OUTPUT_OPTION = compile_lazily(r"\s(?:-o|--output)[ =](\S+)")
_SYMBOLIC_OPTION = compile_lazily(r"-[a-z]*s|--symbolic$")
_HOME_ZONES = (Zone.HOME, Zone.SECRET, Zone.PERSIST, Zone.GUARD)
_LOST_STATES = ("untracked", "modified")


def find_secret_destinations(effects: Sequence[Effect], resolver: TargetResolver, *, is_fed: bool) -> list[Target]:
    """Return the files into which a command puts a secret that it reads, moves or links, or that is piped to it."""
    # `while read l; do …; done < key > x`: a loop by itself only empties the file.
    kinds = (*_CONTENT_EFFECTS, "fs.truncate") if effects[0].what == "fs.read" else _CONTENT_EFFECTS
    destinations = [t for effect in effects if effect.what in kinds for t in effect.targets if t.path]
    if not destinations or not (is_fed or any(_takes_secret(effect, resolver) for effect in effects)):
        return []
    copies = [target for target in destinations if target.zone is not Zone.SECRET]
    if _is_compressor(effects[0]):
        copies += [t._replace(text=t.text + e, path=t.path + e) for t in destinations for e in _COMPRESSED_ENDINGS]
        named = [resolver.resolve_path(Word(match[1])) for match in _OUTPUT_OPTION.finditer(effects[0].by)]
        copies += [target for target in named if target.path]
    return copies


def list_split_parts(command: Command, effects: Sequence[Effect], resolver: TargetResolver) -> list[Target]:
    """Return the first parts that a program makes of a secret file which it splits: `x.aa`, `x.00`."""
    if command.name not in _SPLITTERS or not any(_takes_secret(effect, resolver) for effect in effects):
        return []
    words = [word.text for word in command.argv[1:]]
    if _PRINTED_PART.search(" ".join(words)):
        return []
    named = [value for option, value in pairwise(words) if option in _PREFIX_OPTIONS]
    operands = [text for text in words if text[:1] != "-"]
    read = {target.text for effect in effects for target in effect.targets}
    prefixes = named or [text for text in operands[-1:] if text not in read] or ["x", "xx"]
    suffix = _SUFFIX_OPTION.search(" ".join(words))
    names = [f"{prefix}{part}{suffix[1] if suffix else ''}" for prefix in prefixes for part in _PARTS]
    paths = [resolver.resolve_path(Word(name), command.cwd) for name in names]
    return [target for target in paths if target.path]


def _is_compressor(effect: Effect) -> bool:
    """Return whether a program writes beside the file that it is given, with an ending of its own."""
    return basename(effect.by.partition(" ")[0]) in _COMPRESSORS


def _list_compressed_names(path: str) -> list[str]:
    """Return what a file may be called after a program has packed or unpacked it."""
    plain, dot, ending = path.rpartition(".")
    return [plain] if f"{dot}{ending}" in _COMPRESSED_ENDINGS else [path + ending for ending in _COMPRESSED_ENDINGS]


def _takes_secret(effect: Effect, resolver: TargetResolver) -> bool:
    if effect.what.startswith("cred.read") or effect.what == "env.read.all" or prints_new_secret(effect):
        return True
    is_moved = effect.what == "fs.move" and any(holds_secret(target, resolver.facts) for target in effect.targets)
    return is_moved or effect.what == "cred.copy"


def prints_new_secret(effect: Effect) -> bool:
    """Return whether a program makes a credential and shows it, and puts it into no file by itself."""
    return effect.what == "cred.create" and not any(target.path for target in effect.targets)


def make_copy_effect(origin: Effect, destinations: Sequence[Target]) -> Effect:
    """Return the effect of putting a secret into other files."""
    return derive_effect("cred.copy", origin, tuple(destinations))


def find_moved_work(
    effects: Iterable[Effect], resolver: TargetResolver, remembered: Mapping[str, str]
) -> dict[str, str]:
    """Return where work that git does not have was moved by a command: new path → old path.

    `remembered` is work that was moved before. Work that this session made itself is not among it: the session may
    delete it again.
    """
    effects = list(effects)
    sources = [t for effect in effects if effect.what == "fs.move" for t in effect.targets if t.path]
    if not sources:
        return {}
    contents = [effect for effect in effects if effect.what in _CONTENT_EFFECTS and effect.what != "cred.copy"]
    destinations = [t.path for effect in contents for t in effect.targets if t.path]
    moved: dict[str, str] = {}
    packs = _is_compressor(effects[0])
    for source in sources:
        origin = remembered.get(source.path) or (source.path if is_uncommitted_work(source.path, resolver) else "")
        if origin:
            named = [path for path in destinations if basename(path) == basename(source.path)]
            places = _list_compressed_names(source.path) if packs else named or destinations
            moved |= dict.fromkeys(places, origin)
    return moved


def is_uncommitted_work(path: str, resolver: TargetResolver) -> bool:
    """Return whether a path of the project or the home holds work that is in no commit and no session made."""
    if not resolver.project_root or not path.startswith(resolver.project_root + "/"):
        # What lies in a home is in no commit of this project.
        target = resolver.resolve_absolute(path)
        return target.zone in _HOME_ZONES and not target.path.startswith(f"{resolver.facts.home}/.cache/")
    if any(mark in path for mark in "*?["):
        # Of a directory that a build makes, what is in it is no work either.
        directory = dirname(path)
        return directory == resolver.project_root or resolver.resolve_absolute(
            directory, with_state=True
        ).state not in ("ignored", "tracked", "own")
    return resolver.resolve_absolute(path, with_state=True).state in _LOST_STATES


def mark_lost_work(effects: list[Effect], moved: Mapping[str, str]) -> None:
    """Let a deletion of moved work count as a deletion of the work where it was."""
    for position, effect in enumerate(effects):
        if effect.what == "git.write" and (words := _WORKTREE_REMOVAL.match(effect.by)):
            places = [place for place in moved if _lies_in_one_of(place, words[1].split())]
            lost = tuple(Target(place, "path", place, Zone.PROJECT, "untracked") for place in places)
            if lost:
                effects[position] = derive_effect("fs.delete.tree", effect, lost, note="work that was moved there")
        if effect.what not in _LOSS_EFFECTS:
            continue
        targets = tuple(_find_lost_work(target, moved) or target for target in effect.targets)
        if targets != effect.targets:
            effects[position] = effect._replace(targets=targets, recoverable=False, note="work that was moved there")


def _lies_in_one_of(place: str, words: Sequence[str]) -> bool:
    """Return whether a place is, or lies in, a directory that is named as it is typed: `../wt`."""
    names = [word.strip("./") if word[:1] != "/" else word.rstrip("/") for word in words if word[:1] != "-"]
    return any(f"{place}/".endswith(f"/{name}/") or f"/{name.lstrip('/')}/" in f"{place}/" for name in names if name)


def _find_lost_work(target: Target, moved: Mapping[str, str]) -> Target | None:
    path = target.path.rstrip("/*") if target.path.endswith("/*") else target.path
    pattern = PathSet(PathSetKind.GLOB, path, below=True) if is_glob(path) else None
    for place in moved if path else ():
        is_met = pattern is not None and pattern.can_meet(place)
        if is_met or is_within(place, path) or is_within(path, place):
            return target._replace(zone=Zone.PROJECT, state="untracked")
    return None


def find_links(command: Command, effects: Sequence[Effect], resolver: TargetResolver) -> dict[str, str]:
    """Return the links that a command makes: their path → the path that they lead to."""
    places = [t.path for effect in effects if effect.what.startswith("fs.link") for t in effect.targets if t.path]
    operands = [word.text for word in command.argv[1:] if word.text[:1] != "-" and word.is_known]
    if len(places) != 1 or len(operands) != 2:
        return {}
    # A hard link has no path of its own, and a symbolic one counts from its directory.
    is_symbolic = any(_SYMBOLIC_OPTION.match(word.text) for word in command.argv[1:])
    origin = f"{dirname(places[0])}/{operands[0]}" if is_symbolic and operands[0][:1] != "/" else operands[0]
    return {places[0]: resolver.to_absolute(origin, command.cwd)}


def follow_links(effects: list[Effect], links: Mapping[str, str], resolver: TargetResolver) -> None:
    """Let the loss of what a link leads to count where it lies; the link itself may go."""
    for position, effect in enumerate(effects):
        if effect.what in _LOSS_EFFECTS:
            targets = tuple(_find_linked_target(effect.what, t, links, resolver) or t for t in effect.targets)
            if targets != effect.targets:
                note = "a link leads there"
                effects[position] = effect._replace(targets=targets, recoverable=False, note=note)


def _find_linked_target(what: str, target: Target, links: Mapping[str, str], resolver: TargetResolver) -> Target | None:
    for link, origin in links.items():
        is_content = target.path.startswith(f"{link}/") or target.text.endswith("/")
        if target.path == link and what in DELETE_EFFECTS and not is_content:
            continue
        if is_within(target.path, link) and is_uncommitted_work(origin, resolver):
            return target._replace(path=origin + target.path[len(link) :], zone=Zone.PROJECT, state="untracked")
    return None


def look_up_overwritten(effects: list[Effect], resolver: TargetResolver) -> None:
    """Fill in the state of the project's files that a command overwrites: what git has can be restored."""
    if "fs.overwrite" not in [effect.what for effect in effects]:
        return
    # Code that reads a file and writes it again edits it, as `sed -i` does: `t=open(f).read(); open(f, "w").write(t)`.
    reads = [e for e in effects if e.what == "fs.read"] if _is_code(effects) else []
    edited_paths = {target.path for effect in reads for target in effect.targets}
    for position, effect in enumerate(effects):
        if effect.what != "fs.overwrite" or not edited_paths.isdisjoint(target.path for target in effect.targets):
            continue
        if any(_is_existing_file(target, resolver) for target in effect.targets):
            targets = tuple(
                target._replace(state=resolver.resolve_absolute(target.path, with_state=True).state)
                if _is_existing_file(target, resolver)
                else target
                for target in effect.targets
            )
            effects[position] = effect._replace(targets=targets)


def _is_code(effects: Sequence[Effect]) -> bool:
    # A redirection empties its file before the command reads it: `sort x > x` is no edit.
    return any(effect.by.partition(" ")[0] in _CODE_RUNNERS for effect in effects)


def _is_existing_file(target: Target, resolver: TargetResolver) -> bool:
    if target.zone not in (Zone.PROJECT, Zone.SECRET) or target.state or not target.path or is_glob(target.path):
        return False
    # A directory is merged with what is copied into it.
    return resolver.facts.path(target.path, git=False).kind == "file"
