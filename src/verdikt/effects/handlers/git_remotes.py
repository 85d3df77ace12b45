"""The remotes of a repository: those that the session added itself, and those that are throwaway copies on this machine."""

from collections.abc import Mapping

from verdikt.effects.execution_context import find_preceding, find_working_directory
from verdikt.effects.invocation import Invocation
from verdikt.model.effect import Effect, Target, Zone
from verdikt.model.facts import REMOTES_KEY
from verdikt.shell.command import Word

_LOCAL_STARTS = ("/", "./", "../", "~/", "file://")


def adjust_remote(call: Invocation, effect: Effect) -> Effect:
    """Return the effect of a changed remote: less for one of the session's own, and for a temporary repository.

    The directory of the repository is added as last target, for the session's memory.
    """
    directory = find_working_directory(call)
    names = [target.text for target in effect.targets]
    what = effect.what
    if what == "git.remote.url" and names:
        is_removal = len(names) == 1
        is_own = is_removal and find_session_remote(call, names[0]) is not None
        if is_own or (not is_removal and (_is_scratch_address(call, names[-1]) or _leads_nowhere(names[-1]))):
            what = "git.remote"
    return call.make_effect(what, (*effect.targets, Target(directory, "directory", directory)), note=effect.note)


def is_scratch_remote(call: Invocation, remote: str) -> bool:
    """Return whether a push goes to a repository in a temporary directory, by its path or by a remote that names it."""
    if remote.startswith(_LOCAL_STARTS):
        return _is_scratch_address(call, remote)
    address = find_session_remote(call, remote)
    if address is None:
        address = (call.facts.git(find_working_directory(call)).remotes or {}).get(remote, "")
    return _is_scratch_address(call, address)


def find_session_remote(call: Invocation, name: str) -> str | None:
    """Return the address that this session gave to a remote of the repository; None for others."""
    for command in reversed(find_preceding(call.command, call.commands)):
        words = [word.text for word in command.argv]
        if command is not call.command and words[:1] == ["git"] and "remote" in words[1:4] and name in words:
            place = words.index(name)
            if words[place - 1] in ("add", "set-url") and place + 1 < len(words):
                return words[place + 1] if _is_same_repository(call, words) else None
    remembered = call.facts.memory_value(REMOTES_KEY)
    key = f"{find_working_directory(call)} {name}"
    address = remembered.get(key) if remembered and isinstance(remembered, Mapping) else None
    return str(address) if address is not None else None


def _is_same_repository(call: Invocation, words: list[str]) -> bool:
    directory = words[words.index("-C") + 1] if "-C" in words[:-1] else "."
    own = find_working_directory(call)
    return directory == "." or call.resolver.to_absolute(directory) == own


def _leads_nowhere(address: str) -> bool:
    """Return whether an address is none, by which people switch pushing off: `no_push`."""
    return address.replace("_", "").replace("-", "").isalpha()


def _is_scratch_address(call: Invocation, address: str) -> bool:
    if not address.startswith(_LOCAL_STARTS):
        return False
    target = call.resolve_path(Word(address.removeprefix("file://")))
    return target.zone is Zone.TEMP
