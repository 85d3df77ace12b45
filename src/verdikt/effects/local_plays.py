"""Plays of Ansible that only write, make and delete files on this machine which the project can make again.

A play with anything else in it counts as a change of infrastructure.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from posixpath import dirname
from typing import TYPE_CHECKING, Any

from verdikt.model.effect import Zone
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import Word

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation
    from verdikt.model.effect import Target

_FIELD = compile_lazily(r"\{\{\s*(\w+)\s*\}\}")
_COMPUTED = compile_lazily(r"\{%|\{\{(?!\s*[\w.]+\s*\}\})")
"""A template that does more than to name a value: a lookup of Ansible can start a program."""
_LOOKUP = compile_lazily(r"\b(?:lookup|query|q)\s*\(|\{%-?\s*(?:import|include|extends|from)\b")
_PLAY_KEYS = frozenset("name hosts connection gather_facts tasks handlers pre_tasks post_tasks tags".split())
_TASK_KEYS = frozenset(
    "name tags when loop register changed_when failed_when ignore_errors notify listen check_mode no_log".split()
)
_TASK_LISTS = ("tasks", "handlers", "pre_tasks", "post_tasks", "block", "rescue", "always")
_EXPRESSIONS = ("when", "changed_when", "failed_when", "that", "var")
_MODULE_TABLE = """
file: path dest state mode recurse force
copy: path dest src content mode force backup
template: path dest src mode force backup
lineinfile: path dest line regexp state create insertafter insertbefore mode backup
blockinfile: path dest block marker state create insertafter insertbefore mode backup
replace: path dest regexp replace mode backup
debug: msg var
assert: that msg fail_msg success_msg
stat: path
fail: msg
"""
_MODULES = {
    name: frozenset(words.split()) for name, words in (line.split(": ") for line in _MODULE_TABLE.strip().splitlines())
}
"""Modules that only look, or work on the files that they name, with the arguments that are understood."""
_READERS = tuple("debug assert stat fail".split())
_REPLACERS = ("copy", "template")
_FILE_STATES = (None, *"absent directory touch file".split())
_LOST_WHERE = ("ignored", "own", "absent")
_LOCAL_INVENTORIES = {"localhost,", "127.0.0.1,"}
_LOCAL_HOSTS = ("localhost", "127.0.0.1")
_SETTING_PREFIX = "ansible_"
_MAX_LENGTH = 20_000
_MAX_NODES = 1_000
_MAX_PASSES = 4


def is_local_play(word: Word, call: Invocation) -> bool:
    """Return whether a play works on this machine alone, and deletes nothing but what the project can make again."""
    path = call.resolve_path(word).path
    plays = _load(call.facts.text(path) if path else None)
    if not isinstance(plays, list) or len(call.args.operands) != 1:
        return False
    if call.args.has_flag("-b --become -K --ask-become-pass"):
        return False
    settings = (*call.list_exports(), *call.list_assignments())
    if any(name.lower().startswith(_SETTING_PREFIX) for name, _ in settings):
        return False
    # What an inventory says of a host counts more than the connection that a play asks for.
    if not {inventory.text for inventory in call.args.get_values("-i --inventory")} <= _LOCAL_INVENTORIES:
        return False
    values = _read_variables(call)
    if values is None:
        return False
    values["playbook_dir"] = [dirname(path)]
    return bool(plays) and all(_is_plain_play(play, call, values) for play in plays)


def _load(text: str | None) -> Any:
    """Return what a text in YAML says; None where it is no such text, or too much."""
    if text is None or len(text) > _MAX_LENGTH:
        return None
    yaml = import_module("yaml")  # takes 30 ms to import, and few commands start a play

    try:
        document = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    return document if _is_plain(document) else None


def _is_plain(document: Any) -> bool:
    """Return whether all texts of a document are plain, apart from names of values in them."""
    pending, count = [document], 0
    while pending:
        node = pending.pop()
        count += 1
        if count > _MAX_NODES or (isinstance(node, str) and _COMPUTED.search(node) is not None):
            return False
        if isinstance(node, dict):
            pending += [*node.keys(), *node.values()]
        elif isinstance(node, list):
            pending += node
    return True


def _is_plain_play(play: Any, call: Invocation, values: dict[str, list[str]]) -> bool:
    if not isinstance(play, dict) or not play.keys() <= _PLAY_KEYS or play.get("hosts") not in _LOCAL_HOSTS:
        return False
    if play.get("connection", "local") != "local":
        return False
    is_here = play.get("connection") == "local" or bool(call.args.get_values("-i --inventory"))
    return is_here and all(_is_plain_task(task, call, values) for task in _list_tasks(play))


def _list_tasks(parent: dict[str, Any]) -> Iterator[Any]:
    for key in _TASK_LISTS:
        tasks = parent.get(key)
        yield from tasks if isinstance(tasks, list) else () if tasks is None else (tasks,)


def _is_plain_task(task: Any, call: Invocation, values: dict[str, list[str]], depth: int = 0) -> bool:
    if not isinstance(task, dict):
        return False
    if any("(" in str(task[key]) for key in _EXPRESSIONS if key in task):
        return False
    if "block" in task:
        others = task.keys() - _TASK_KEYS - set(_TASK_LISTS)
        return (
            not others
            and depth < _MAX_PASSES
            and all(_is_plain_task(inner, call, values, depth + 1) for inner in _list_tasks(task))
        )
    modules = [key for key in task if key not in _TASK_KEYS]
    if len(modules) != 1 or not isinstance(modules[0], str):
        return False
    module, words = modules[0].removeprefix("ansible.builtin."), task[modules[0]]
    if module not in _MODULES or not isinstance(words, dict) or not words.keys() <= _MODULES[module]:
        return False
    if any("(" in str(words[key]) for key in _EXPRESSIONS if key in words):
        return False
    return module in _READERS or _changes_own_files(module, words, call, {**values, "item": _list_items(task, values)})


def _list_items(task: dict[str, Any], values: dict[str, list[str]]) -> list[str]:
    """Return what the items of a task's loop are; one that is not known lies outside."""
    loop = task.get("loop")
    if isinstance(loop, list):
        return [item if isinstance(item, str) else "/" for item in loop]
    name = _FIELD.fullmatch(loop.strip()) if isinstance(loop, str) else None
    return values.get(name[1], ["/"]) if name is not None else ["/"]


def _changes_own_files(module: str, words: dict[str, Any], call: Invocation, values: dict[str, list[str]]) -> bool:
    """Return whether a task only changes files of the project that it may change."""
    if module == "file" and words.get("state") not in _FILE_STATES:
        return False
    source = words.get("src")
    if source is not None and not all(_may_copy(place, call, values) for place in _fill(str(source), values)):
        return False
    written = [words[key] for key in ("path", "dest") if key in words]
    places = [place for name in written for place in _fill(str(name), values)]
    is_loss = words.get("state") == "absent" and module == "file"
    targets = [call.resolve_path(Word(place), with_state=True) for place in places]
    return bool(targets) and all(_may_change(target, module, call, is_loss=is_loss) for target in targets)


def _may_change(target: Target, module: str, call: Invocation, *, is_loss: bool) -> bool:
    if target.zone is not Zone.PROJECT:
        return target.zone is Zone.TEMP
    if is_loss:
        return target.state in _LOST_WHERE
    # Settings of other programs stand under names with a dot; a file with changes in it is not to be replaced.
    is_hidden = "/." in target.path.removeprefix(call.resolver.project_root)
    return not is_hidden and not (module in _REPLACERS and target.state in ("modified", "untracked"))


def _may_copy(place: str, call: Invocation, values: dict[str, list[str]]) -> bool:
    """Return whether a file is one of the project, and as a template starts nothing."""
    target = call.resolve_path(Word(place))
    top = values["playbook_dir"][0]
    texts = [call.facts.text(path) for path in (target.path, f"{top}/{place}", f"{top}/templates/{place}") if path]
    return target.zone is Zone.PROJECT and not any(text and _LOOKUP.search(text) for text in texts)


def _fill(written: str, values: dict[str, list[str]]) -> list[str]:
    """Return the paths that a value stands for; one that is not known stays a field, which lies outside."""
    places = [written.strip()]
    for _ in range(_MAX_PASSES):
        filled = [
            place.replace(match[0], value)
            for place in places
            if (match := _FIELD.search(place)) is not None
            for value in values.get(match[1], ["/"])
        ]
        places = (filled + [place for place in places if _FIELD.search(place) is None])[:_MAX_NODES]
    return ["/" if "{{" in place else place for place in places]


def _read_variables(call: Invocation) -> dict[str, list[str]] | None:
    """Return the variables of files that are given with `-e @x.yml`: a value, or those of a list; None if unread."""
    values: dict[str, list[str]] = {}
    for word in call.args.get_values("-e --extra-vars"):
        place = call.resolve_path(Word(word.text.removeprefix("@"))).path if word.text[:1] == "@" else ""
        settings = _load(call.facts.text(place) if place else None)
        if not isinstance(settings, dict) or any(str(name).startswith(_SETTING_PREFIX) for name in settings):
            return None
        for name, value in settings.items():
            values[str(name)] = [str(item) for item in value] if isinstance(value, list) else [str(value)]
    return values
