"""Find commands that are handed verdikt's own socket, log or state, and whose tables do not cover that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from verdikt.effects.arguments import word_set
from verdikt.effects.execution_context import find_preceding, list_own_words
from verdikt.knowledge import find_role
from verdikt.model.effect import Target, Zone
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import Word

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation
    from verdikt.model.effect import Effect

PRODUCT_NAME = "verdikt"
"""Text without this name cannot mean verdikt's files, and is not searched for them."""

_LOCK_HOLDERS = find_role("lock_holder")
_TOOL_INSTALLERS = find_role("tool_installer")
_HARMLESS_PROGRAMS = find_role("path_mention")
_OWN_REQUIREMENT = compile_lazily(r"verdikt(?:\[[\w,-]*\])?(?:[=<>!~@ ].*)?")
_CHANGING_WORDS = word_set(
    "inject upgrade reinstall runpip uninject --force -f --reinstall --with --with-editable --editable -e"
)
"""Words with which `pipx` and `uv tool` change a tool that is installed; a first installation has none of them."""
_READING_VERBS = word_set("list show freeze check index search config --version help inspect cache")
_WORD_SEPARATOR = compile_lazily(r"[:=,]")
_PROCESS_FILES = ("run/daemon.lock", "run/daemon.sock")
# What our processes are called, and what others are called that every machine has.
_OWN_PROCESSES = (
    "verdikt-hook 50 closed python3 -I -m verdikt.hosts.hook claude PreToolUse",
    "python3 -I -m verdikt.daemon",
    "/bin/sh share/verdikt/hooks/guard.sh 50 closed",
)
_OTHER_PROCESSES = ("python3 -m http.server", "/bin/sh build.sh", "python manage.py runserver 50 site-packages share")
_PROCESS_LISTERS = find_role("process_lister")
_LINE_FILTERS = find_role("line_filter")
_LINE_PATTERN = compile_lazily(r"/((?:\\.|[^/])+)/")
_DAEMON_SOCKET = compile_lazily(r"verdikt/run\b|\bdaemon\.(?:sock|lock)\b")


def find_self_access(call: Invocation, effects: Sequence[Effect]) -> list[Effect]:
    """Return the effects of handing a program verdikt's socket, which can answer hooks, or its log or state."""
    if replaced := _find_replaced_environment(call, effects):
        return [call.make_effect("guard.tamper", replaced, note="verdikt runs from that environment")]
    if call.name in _HARMLESS_PROGRAMS or any(effect.what.startswith("proc.") for effect in effects):
        return []
    own_paths = _find_own_paths(call)
    if not own_paths:
        return []
    # Paths that a file effect names are judged by their zone already.
    covered = {target.path for effect in effects if effect.what.startswith("fs.") for target in effect.targets}
    writes = any(effect.what.startswith("db.") and not effect.what.startswith("db.read") for effect in effects)
    tampered = tuple(
        t for t in own_paths if writes or (t.path not in covered and (call.name in _LOCK_HOLDERS or "/run/" in t.path))
    )
    if tampered:
        return [call.make_effect("guard.tamper", tampered)]
    if uncovered := tuple(t for t in own_paths if t.path not in covered):
        return [call.make_effect("guard.forge", uncovered, possible=True)]
    return []


def _find_replaced_environment(call: Invocation, effects: Sequence[Effect]) -> tuple[Target, ...]:
    """Return what a package manager would change of the environment that verdikt runs from."""
    words = [word.text for word in call.command.argv]
    if any(effect.what.startswith("pkg.") for effect in effects):
        # `…/verdikt/runtime/bin/python -m pip install x`
        interpreter = call.resolve_path(call.command.argv[0]) if "/" in words[0] else None
        if interpreter is not None and interpreter.zone is Zone.GUARD and not _READING_VERBS & set(words):
            return (interpreter,)
    if any(effect.what in ("pkg.install", "pkg.remove") for effect in effects) and (own := _find_own_paths(call)):
        return own  # `--target`, `--prefix`, `--python`
    is_tool = words[0].rpartition("/")[2] in _TOOL_INSTALLERS or words[1:2] == ["tool"]
    if is_tool and _CHANGING_WORDS & set(words) and any(_OWN_REQUIREMENT.fullmatch(word) for word in words[1:]):
        return (Target(PRODUCT_NAME, "other"),)
    return ()


def mentions_daemon_socket(text: str) -> bool:
    """Return whether program text names the socket of the warm process."""
    return _DAEMON_SOCKET.search(text) is not None


def names_own_process(call: Invocation) -> bool:
    """Return whether a command, or one before it, names our process: by its files, or picked out of a list."""
    preceding = find_preceding(call.command, call.commands)
    for command in (call.command, *preceding):
        words = [*command.argv, *(redirect.target for redirect in command.redirects)]
        if [word for word in words if word.text.endswith(_PROCESS_FILES)]:
            return True
    if not any(command.name in _PROCESS_LISTERS for command in preceding):
        return False
    filters = [command for command in preceding if command.name in _LINE_FILTERS | _PROCESS_LISTERS]
    words = [word for command in filters for word in command.argv[1:] if word.text[:1] != "-"]
    # `awk '/verdikt/ {print $2}'`
    patterns = [part for word in words for part in (word.text, *_LINE_PATTERN.findall(word.text))]
    return any(PRODUCT_NAME[1:] in pattern and matches_own_process(pattern) for pattern in patterns)


def matches_own_process(pattern: str) -> bool:
    """Return whether a pattern for processes matches ours, and none that every machine has."""
    import re2  # heavy and rarely needed; in linear time, because the pattern is not ours

    try:
        expression = re2.compile(pattern)
    except re2.error:
        return PRODUCT_NAME in pattern
    return any(map(expression.search, _OWN_PROCESSES)) and not any(map(expression.search, _OTHER_PROCESSES))


def _find_own_paths(call: Invocation) -> tuple[Target, ...]:
    """Return the paths below verdikt's data among a command's words, alone or after `name=`, `host:` and the like."""
    own_paths = []
    # `env ls …`: what the inner command does with the path is judged by itself.
    for word in list_own_words(call):
        if PRODUCT_NAME in word.text:
            parts = [Word(part) for part in _WORD_SEPARATOR.split(word.text) if PRODUCT_NAME in part and "/" in part]
            own_paths += [
                target
                for target in map(call.resolve_path, parts)
                if target.zone is Zone.GUARD and "/verdikt/" in target.path
            ]
    return tuple(own_paths)
