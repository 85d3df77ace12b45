"""What git is set to when a command runs: by its options, by variables, by commands before it, by the repository."""

from __future__ import annotations

import shlex
from collections.abc import Container, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from verdikt.effects.execution_context import find_preceding, find_working_directory
from verdikt.effects.git_settings_file import normalize_key, parse_git_settings
from verdikt.knowledge import find_role
from verdikt.model.effect import Zone
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import Word

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation
    from verdikt.model.world import GitFact
    from verdikt.shell.command import Command

_VERSION_CONTROL = find_role("work_tree_changer")
_FILE_VARIABLES = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM")
_INCLUDE = "include.path"
_SET_UPSTREAM = compile_lazily(r"\s(?:-u|--set-upstream-to)[ =]?(\S+/\S+)")
_VERBS = ("set", "add")
_MAX_INCLUDES = 8
_MAX_GLOBAL_WORDS = 8
"""Number of words among which `-c` is one of git itself; a later one is an option of the subcommand."""


def find_git_settings(call: Invocation, key: str) -> list[str]:
    """Return the values of a setting, the last of which counts; the repository's own where nothing else sets it."""
    wanted = normalize_key(key)
    # Most commands stand alone, and set nothing themselves.
    is_plain = len(call.commands) < 2 and not call.command.assignments and " -c" not in call.full_text
    settings = [] if is_plain else [*_read_variables(call), *_read_earlier_commands(call), *_read_options(call)]
    values = [value for name, value in settings if name == wanted]
    if values:
        return values
    repository = call.facts.git(find_working_directory(call))
    if wanted.startswith("alias."):
        meaning = (repository.aliases or {}).get(wanted.removeprefix("alias."))
        return [] if meaning is None else [meaning]
    own = (repository.settings or {}).get(wanted)
    return [] if own is None else own.split("\n")


def find_git_setting(call: Invocation, key: str) -> str:
    """Return the value of a setting, empty if there is none."""
    return next(reversed(find_git_settings(call, key)), "")


def read_settings_file(call: Invocation, name: str) -> list[tuple[str, str]] | None:
    """Return the settings of a file that is included; None where it can't be read.

    A relative name counts from the directory of the file that includes it, for a repository's own that is `.git`.
    """
    names = [name] if name[:1] in ("/", "~") else [f".git/{name}", name]
    paths = [call.resolver.to_absolute(place, call.command.cwd) for place in names]
    texts = [text for path in paths if path and (text := call.facts.text(path)) is not None]
    return parse_git_settings(texts[0]) if texts else None


def resolve_alias(call: Invocation, name: str, commands: Container[str]) -> tuple[tuple[Word, ...], str]:
    """Return the words that an alias stands for, or else the shell text; an alias may stand for another one."""
    words: tuple[Word, ...] = (Word(name),)
    for _ in range(_MAX_INCLUDES):
        meaning = find_git_setting(call, f"alias.{words[0].text}")
        if not meaning or meaning.startswith("!"):
            return (), " ".join((meaning[1:], *(word.text for word in words[1:]))) if meaning else ""
        words = (*expand_alias(meaning), *words[1:])
        if not words or words[0].text in commands:
            return words, ""
    return (), ""


def expand_alias(meaning: str) -> tuple[Word, ...]:
    """Return the words of an alias, as git splits them."""
    try:
        return tuple(map(Word, shlex.split(meaning)))
    except ValueError:
        return tuple(map(Word, meaning.split()))


def find_push_remote(call: Invocation, repository: GitFact) -> str:
    """Return the remote that a push without operands goes to."""
    own = find_git_setting(call, f"branch.{repository.branch}.pushremote")
    upstream = repository.upstream.partition("/")[0]
    return own or find_git_setting(call, "remote.pushdefault") or upstream or "origin"


def find_push_default(call: Invocation, repository: GitFact) -> tuple[str, bool]:
    """Return where a push without refspecs publishes to, as far as git is told, and whether it takes all branches.

    The first is empty for a branch of the same name.
    """
    mode = find_git_setting(call, "push.default").lower()
    if mode not in ("upstream", "tracking"):
        return "", mode == "matching"
    merged = find_git_setting(call, f"branch.{repository.branch}.merge").removeprefix("refs/heads/")
    return merged or _find_set_upstream(call) or repository.upstream.partition("/")[2], False


def find_work_tree(call: Invocation) -> Word | None:
    """Return the directory that the environment names as the work tree; an option counts more than that."""
    tree = call.read_variables().get("GIT_WORK_TREE")
    if tree is None or "--work-tree" in call.full_text:
        return None
    # What was exported before may have ended since, and a throwaway copy has to be certain.
    is_own = "GIT_WORK_TREE" in dict(call.command.assignments)
    return tree if is_own or call.resolve_path(tree).zone is not Zone.TEMP else None


def _find_set_upstream(call: Invocation) -> str:
    """Return the upstream that a command of the same text gives to the branch: `git branch -u origin/main`."""
    for command in reversed(find_preceding(call.command, call.commands)):
        texts = [word.text for word in command.argv]
        match = _SET_UPSTREAM.search(" ".join(texts)) if command.name in _VERSION_CONTROL else None
        if match and "branch" in texts:
            return match[1].partition("/")[2]
    return ""


def _read_variables(call: Invocation) -> Iterator[tuple[str, str]]:
    """Yield the settings that variables give, in files and by themselves."""
    variables = call.read_variables()
    for name in _FILE_VARIABLES:
        if (file := variables.get(name)) is not None and file.text not in ("", "/dev/null"):
            yield from _add_included(call, [(_INCLUDE, file.text)])
    for name, value in variables.items():
        if name.startswith("GIT_CONFIG_KEY_"):
            setting = variables.get(name.replace("_KEY_", "_VALUE_"))
            yield normalize_key(value.text), setting.text if setting is not None else ""


def _read_earlier_commands(call: Invocation) -> Iterator[tuple[str, str]]:
    """Yield what commands of the same text before this one set."""
    for command in find_preceding(call.command, call.commands):
        if command is not call.command and command.name in _VERSION_CONTROL and command.argv[1:2]:
            setting = _find_set_value(command)
            yield from _add_included(call, [setting] if setting is not None else [])


def _find_set_value(command: Command) -> tuple[str, str] | None:
    """Return the setting that a `git config` makes; None for all other commands."""
    texts = [word.text for word in command.argv[1:]]
    if "config" not in texts:
        return None
    words = [text for text in texts[texts.index("config") + 1 :] if text[:2] != "--"]
    words = words[1:] if words[:1] and words[0] in _VERBS else words
    return (normalize_key(words[0]), words[1]) if len(words) > 1 and "." in words[0] else None


def _read_options(call: Invocation) -> Iterator[tuple[str, str]]:
    """Yield what `-c key=value` sets for this command alone."""
    # The words themselves: where a subcommand has options of its own, the arguments are those of the subcommand.
    words = [word.text for word in call.command.argv[1:]]
    for option, value in pairwise(words):
        if option == "-c" and "." in value and words.index(option) <= _MAX_GLOBAL_WORDS:
            key, equals, text = value.partition("=")
            yield from _add_included(call, [(normalize_key(key), text if equals else "true")])


def _add_included(call: Invocation, settings: list[tuple[str, str]], depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield settings with those of the files that they include."""
    for key, value in settings:
        yield key, value
        if key == _INCLUDE and depth < _MAX_INCLUDES:
            yield from _add_included(call, read_settings_file(call, value) or [], depth + 1)
