"""Effects on targets that must be looked at first: what a row's `as` may say besides a plain kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from verdikt.effects import host
from verdikt.effects.code.windows_paths import classify_deletes, classify_reads
from verdikt.effects.environment_variables import classify_startup_file
from verdikt.effects.execution_context import find_working_directory
from verdikt.effects.word_kinds import get_written_text
from verdikt.model.effect import Target, Zone
from verdikt.shell.command import Word

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation
    from verdikt.effects.program_record import EffectSpec
    from verdikt.model.effect import Effect

Shape = Callable[["EffectSpec", "Sequence[Word]", "Invocation"], "Iterable[Effect]"]


def _classify_addresses(row: EffectSpec, words: Sequence[Word], call: Invocation) -> Iterator[Effect]:
    """Yield the effect on the hosts that addresses name."""
    hosts = tuple(host.to_host_target(word) for word in words)
    yield call.make_effect(row.what, hosts, possible=row.possible, note=row.note)


def _classify_devices(row: EffectSpec, words: Sequence[Word], call: Invocation) -> Iterator[Effect]:
    """Yield an effect on devices. An image file of the project or a temporary one is a file like any other."""
    for word in words:
        target = call.resolve_path(word, with_state=True)
        if target.zone in (Zone.PROJECT, Zone.TEMP) and not target.path.startswith("/dev/"):
            yield call.make_effect("fs.write", (target,))
        else:
            device = Target(word.display_text, "other", target.path, Zone.SYSTEM)
            yield call.make_effect(row.what, (device,), possible=row.possible, note=row.note)


def _classify_windows_paths(row: EffectSpec, words: Sequence[Word], call: Invocation) -> Iterator[Effect]:
    """Yield an effect on paths as Windows writes them; a short word with a slash in front is a switch."""
    names = [get_written_text(word) for word in words if word.text[:1] != "/" or len(word.text) > 2]
    yield from classify_reads(names, call) if row.what == "fs.read" else classify_deletes(names, row.what, call)


def _classify_piped_code(_row: EffectSpec, _words: Sequence[Word], call: Invocation) -> Iterator[Effect]:
    """Yield the effect of running what is piped into the command, by where that comes from."""
    if call.command.stdin is None and call.has_piped_input():
        yield from call.classify_piped_code()


def _classify_sent_files(_row: EffectSpec, words: Sequence[Word], call: Invocation) -> Iterator[Effect]:
    yield from call.classify_sent_files(words)


def _classify_served_directories(_row: EffectSpec, words: Sequence[Word], call: Invocation) -> Iterator[Effect]:
    yield from call.classify_served_directories(words)


def _classify_startup_files(_row: EffectSpec, words: Sequence[Word], call: Invocation) -> Iterator[Effect]:
    """Yield the effect of files that an interpreter loads before its program; a name without a slash is a module."""
    for word in words:
        if "/" in word.text and "\n" not in word.text:
            yield from classify_startup_file(call, call.name, word)
        elif not word.is_known and call.command.repeated:
            yield call.make_effect("code.unknown", possible=True, note="loads what its input names")


def _classify_lost_changes(row: EffectSpec, words: Sequence[Word], call: Invocation) -> Iterator[Effect]:
    """Yield the loss of uncommitted changes to these paths; nothing is lost where git knows a path to be clean.

    With a note git is forced, or is given the paths in a file, and also overwrites untracked files in its way.
    """
    # `:/` is the whole work tree, wherever in it the command runs.
    root = call.facts.git(find_working_directory(call)).root if any(word.text == ":/" for word in words) else ""
    words = [Word(root or ".") if word.text == ":/" else word for word in words]
    targets = [call.resolve_path(word, with_state=True) for word in words]
    lost = tuple(target for target in targets if not target.path or _has_changes(call, target, forced=bool(row.note)))
    if lost:
        is_whole = any(word.glob or word.text.rstrip("/") in (".", "..", ":", "*", "", root) for word in words)
        yield call.make_effect(f"{row.what}.all" if is_whole else row.what, lost, note=row.note)
    if len(lost) < len(targets):
        yield call.make_effect("git.write")


def _has_changes(call: Invocation, target: Target, *, forced: bool) -> bool:
    """Return whether a path may hold uncommitted changes of tracked files, or of any file when git is forced."""
    if target.state in ("tracked", "ignored"):
        return False
    if target.state == "modified" and not forced:
        return not call.facts.is_changed_by_session_alone(target.path)
    return forced or not call.facts.path(target.path).only_untracked


def _classify_committed_files(row: EffectSpec, words: Sequence[Word], call: Invocation) -> Iterator[Effect]:
    """Yield an effect on secrets that a commit, a stash or the index holds: `git show HEAD~3:.env`."""
    for word in words:
        path = word.text.partition(":")[2]
        target = call.resolve_path(Word(path, path)) if path else None
        if target is not None and target.zone is Zone.SECRET:
            yield call.make_effect(row.what, (target,), note=row.note)


TARGET_SHAPES: dict[str, Shape] = {
    "address": _classify_addresses,
    "device": _classify_devices,
    "windows_path": _classify_windows_paths,
    "piped_code": _classify_piped_code,
    "sent_file": _classify_sent_files,
    "changes": _classify_lost_changes,
    "served": _classify_served_directories,
    "startup_file": _classify_startup_files,
    "committed_file": _classify_committed_files,
}
