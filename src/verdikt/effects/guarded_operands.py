"""Find guarded files that are handed to a program of which no table says what it does with them.

A table says which operands its program reads and which it writes. An unknown program may do either, a formatter
rewrites what it is given, and a module of an interpreter may take an output file: a person is asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from verdikt.effects.target import abbreviate_home, is_guard_path
from verdikt.knowledge import find_role, find_task_words
from verdikt.model.effect import Target, Zone
from verdikt.model.lazy_regex import compile_lazily
from verdikt.model.path_set import PathSet, PathSetKind, is_any_file, is_glob

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation
    from verdikt.model.effect import Effect

_READERS = find_role("guard_reader")
_UNREAD_CODE = ("unknown.program", "code.run")
_BUILD = "code.build"
HANDLING_EFFECTS = frozenset((*_UNREAD_CODE, _BUILD))
"""Effects of programs whose operands no table describes."""
_SETTING_OPTION = compile_lazily(
    r"-c|--?(?:[\w-]*-)?(?:config|policy|schema|rules?|input|settings)(?:[-_]?(?:file|path))?"
)
"""Options after which a program names a file that it reads."""
_REWRITING_OPTION = compile_lazily(
    r"-[iwUW]|--(?:in-?place|write|fix|apply|update-all|overwrite|reformat|unsafe-fixes)\S*"
)
_CHECKING_OPTION = compile_lazily(r"--?(?:check(?:-only)?|diff|dry-run|list-different|verify)(?:=.*)?")
_ANY_RUN = "*"


def find_handled_guards(call: Invocation, effects: Sequence[Effect]) -> list[Effect]:
    """Return the effect of handing guarded files to a program that may change them."""
    if call.command.host or not _may_rewrite(call, effects):
        return []
    covered = {t.path for effect in effects if effect.what.startswith(("guard.", "fs.")) for t in effect.targets}
    targets = tuple(target for target in _list_guarded_operands(call) if target.path not in covered)
    return [call.make_effect("guard.handle", targets, possible=True)] if targets else []


def _may_rewrite(call: Invocation, effects: Sequence[Effect]) -> bool:
    """Return whether a program may write to the files that it is given."""
    words = [word.text for word in call.command.argv]
    names = [effect.what for effect in effects]
    # Most builds and tests are not told to change anything.
    if "unknown.program" not in names and "code.run" not in names and not _may_be_told_to_rewrite(call, words):
        return False
    # The module that an interpreter runs is the program.
    name = words[words.index("-m") + 1] if "-m" in words[:-1] else call.name
    # A linter by its name, unless it is told to repair, or is a file that anything may have written.
    is_linter = name.endswith("lint") and "/" not in words[0]
    if name in _READERS or (is_linter and not _has_rewriting_option(words)):
        return False
    if "unknown.program" in names:
        return True
    if "code.run" in names and _runs_unread_file(call, effects):
        return True
    if _BUILD not in names:
        return False
    if _has_rewriting_option(words):
        return True
    rewrites = find_task_words(name, "rewrites")
    if _ANY_RUN not in rewrites and rewrites.isdisjoint(words[1:]):
        return False
    return not any(map(_CHECKING_OPTION.fullmatch, words[1:]))


def _may_be_told_to_rewrite(call: Invocation, words: Sequence[str]) -> bool:
    """Return whether a word can tell a formatter to write, by an option or as what runs a formatter."""
    if _has_rewriting_option(words) or "-m" in words:
        return True
    rewrites = find_task_words(call.name, "rewrites")
    return _ANY_RUN in rewrites or not rewrites.isdisjoint(words)


def _runs_unread_file(call: Invocation, effects: Sequence[Effect]) -> bool:
    """Return whether a file is run whose text is unknown; a script that can be read says itself what it does."""
    runs = [effect for effect in effects if effect.what == "code.run"]
    return any(not target.path or call.facts.text(target.path) is None for effect in runs for target in effect.targets)


def _has_rewriting_option(words: Sequence[str]) -> bool:
    options = [word for word in words if word[:1] == "-"]
    return bool(options) and any(map(_REWRITING_OPTION.fullmatch, options))


def _list_guarded_operands(call: Invocation) -> Iterator[Target]:
    """Yield the settings and policies among a command's words, other than those that an option says are only read."""
    is_setting = False
    for word in call.command.argv[1:]:
        flag, equals, value = word.text.partition("=") if word.text.startswith("-") else ("", "", word.text)
        reads = bool(_SETTING_OPTION.fullmatch(flag)) if flag else is_setting
        is_setting = reads and bool(flag) and not equals
        if reads or not value or not word.is_known or (flag and not equals):
            continue
        yield from _match_guarded(call, value)


def _match_guarded(call: Invocation, text: str) -> Iterator[Target]:
    path = call.resolver.to_absolute(text, call.command.cwd)
    facts = call.facts
    if is_any_file(text):
        return  # what a change of unknown files does to the guard files is put back
    if is_glob(text):
        places = facts.find_guarded(PathSet(PathSetKind.GLOB, path)) if path else ()
        existing = (place for place in places if facts.path(place, git=False).exists)
        yield from (Target(text, "path", place, Zone.GUARD) for place in existing)
    # Of the rest of what is guarded, such as the interpreter that the hooks run from, programs are told for many
    # reasons.
    elif path and is_guard_path(abbreviate_home(path, facts.home)):
        yield Target(text, "path", path, Zone.GUARD)
