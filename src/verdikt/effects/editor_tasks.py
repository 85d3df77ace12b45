"""Tasks that an editor starts when a folder is opened: what each of them runs, as far as it can be read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from json import loads as parse_json
from shlex import join as join_words
from typing import TYPE_CHECKING, Any

from verdikt.effects.runner_settings import SHELL
from verdikt.model.effect import Zone
from verdikt.model.lazy_regex import compile_lazily

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation
    from verdikt.model.effect import Effect

_COMMENT = compile_lazily(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/|,(?=\s*[}\]])', re.DOTALL)
_FOLDER = compile_lazily(r"\$\{(?:workspaceFolder|workspaceRoot|cwd)\}")
_FIELD = compile_lazily(r"\$\{(?:input|command|config):")
_SETTINGS_KEYS = frozenset(("$schema", "version", "tasks"))
_TASK_KEYS = frozenset(
    """
    label taskName type command args script group presentation problemMatcher isBackground detail icon hide
    promptOnClose runOptions
    """.split()
)
"""Keys of a task that say nothing of what else it runs, or in which shell, directory and environment it does."""
_COMMAND_TYPES = (SHELL, "shell", "process")
_ON_OPEN = "folderOpen"
_MAX_TASKS = 32
_UNREAD = tuple("unknown. code.unknown code.hidden code.remote net. cred. guard. persist. pkg.foreign".split())


def classify_opened_tasks(call: Invocation, content: str) -> Iterator[Effect]:
    """Yield what the tasks do that start by themselves; `persist.write` where that can't be told or is no build."""
    tasks = _list_opened_tasks(content)
    is_read = bool(tasks)
    for task in tasks or ():
        line = _find_command_line(task)
        effects = list(call.classify_shell(_FOLDER.sub(call.resolver.project_root, line))) if line else []
        yield from effects
        is_read = is_read and bool(line) and all(_is_ordinary(effect, call) for effect in effects)
    if not is_read:
        yield call.make_effect("persist.write", note="runs when the folder is opened")


def _list_opened_tasks(content: str) -> list[dict[str, Any]] | None:
    """Return the tasks that run when the folder is opened; None for a text that is no settings."""
    try:
        settings = parse_json(_COMMENT.sub(lambda match: match[1] or "", content))
    except (ValueError, RecursionError):
        return None
    tasks = settings.get("tasks") if isinstance(settings, dict) else None
    if not isinstance(tasks, list) or len(tasks) > _MAX_TASKS or not all(isinstance(task, dict) for task in tasks):
        return None
    # A shell for all tasks, or others for each system: `"linux": {"tasks": […]}`.
    if not settings.keys() <= _SETTINGS_KEYS:
        return None
    options = [(task, task.get("runOptions") or {}) for task in tasks]
    return [task for task, option in options if isinstance(option, dict) and option.get("runOn") == _ON_OPEN]


def _find_command_line(task: dict[str, Any]) -> str:
    """Return what a task runs as shell text; empty where that is not all in it."""
    kind, command, words = task.get("type", SHELL), task.get("command"), task.get("args") or []
    if not task.keys() <= _TASK_KEYS or not isinstance(kind, str):
        return ""
    if isinstance(task.get("script"), str) and kind.isalpha():
        return f"{kind} run {task['script']}"
    is_plain = isinstance(command, str) and isinstance(words, list) and all(isinstance(word, str) for word in words)
    is_all = is_plain and kind in _COMMAND_TYPES and _FIELD.search(f"{command}{words}") is None
    if not is_all:
        return ""
    return f"{command} {join_words(words)}".strip()


def _is_ordinary(effect: Effect, call: Invocation) -> bool:
    """Return whether an effect is that of a build, and a script that is run is there to be read."""
    if not effect.recoverable or effect.what.startswith(_UNREAD):
        return False
    files = [target for target in effect.targets if target.path] if effect.what == "code.run" else []
    return all(file.zone is Zone.PROJECT and call.facts.text(file.path) is not None for file in files)
