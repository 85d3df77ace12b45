"""Classify the hosts' own tools: files by path and content, code, web, agents; other tools by `mcp_tools`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from verdikt.effects import host
from verdikt.effects.arguments import word_set
from verdikt.effects.armed_text import judge_text
from verdikt.effects.code import classify_code
from verdikt.effects.deferred_files import classify_file_content, make_overflow_effect
from verdikt.effects.embedded_commands import classify_skill
from verdikt.effects.file_address import read_file_address
from verdikt.effects.invocation import Invocation
from verdikt.effects.mcp_tools import classify_arguments, classify_mcp_tool, collect_paths
from verdikt.effects.script_classifier import ScriptClassifier
from verdikt.effects.secret_sends import holds_encoded_secret
from verdikt.effects.zone_effects import derive_zone_effects, holds_secret
from verdikt.knowledge import resolve_language
from verdikt.model import patch
from verdikt.model.action import ActionKind
from verdikt.model.effect import Effect, Target, Zone
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import Command, Word

if TYPE_CHECKING:
    from verdikt.effects.target import TargetResolver
    from verdikt.model.action import Action

_HARMLESS_TOOLS = word_set(
    "TodoWrite TodoRead ExitPlanMode EnterPlanMode AskUserQuestion KillShell KillBash TaskCreate TaskUpdate "
    "TaskList TaskGet TaskStop ToolSearch update_plan request_user_input ask_user write_todos think todowrite "
    "todoread question plan report_intent complete_task exit_plan_mode enter_plan_mode StructuredOutput "
    "EnterWorktree ExitWorktree Sleep CronList CronDelete get_internal_docs tool_search wait wait_agent "
    "close_agent list_agents set_goal get_goal update_goal task_complete update_todo stop_bash read_agent "
    "read_lints ReadLints codebase_search todo_write update_topic tracker_create_task"
)
"""Tools that change only the agent's own plan, tasks and questions."""
_SKILL_TOOLS = word_set("Skill SlashCommand activate_skill skill")
_SCHEDULE_TOOLS = word_set("CronCreate RemoteTrigger Workflow")
_LIST_TOOLS = word_set("Glob LS glob list_directory list ls LSP lsp")
_DELETE_TOOLS = word_set("Delete delete_file")
_EDIT_TOOLS = word_set(
    "Edit MultiEdit NotebookEdit StrReplace SearchReplace replace edit str_replace str_replace_editor "
    "str_replace_based_edit_tool insert multiedit save_memory"
)
_SEARCH_TOOLS = word_set("Grep grep grep_search search_file_content rg")
_READ_KEYS = (
    "file_path",
    "path",
    "notebook_path",
    "absolute_path",
    "filename",
    "dir_path",
    "paths",
    "filePath",
    "target_file",
)
_WRITE_KEYS = (
    "file_path",
    "path",
    "notebook_path",
    "absolute_path",
    "filename",
    "filePath",
    "target_file",
    "target_notebook",
)
_CONTENT_KEYS = ("content", "new_string", "new_source", "new_str", "file_text", "contents", "text", "newString")
_WIDE_DIRECTORIES = ("/", "/etc", "/home", "/root", "/Users")
_SECRET_SEARCH = compile_lazily(
    r"(?i)BEGIN.*PRIVATE|passw(?:or)?d|secret|api[_.-]?key|access[_.-]?key|AKIA|token|credential"
)
_PATCH_EFFECTS = {patch.ADD: "fs.write", patch.DELETE: "fs.delete", patch.MOVE: "fs.overwrite"}
# Bounds on what one call may make us look at; hosts send a handful of paths and files of a few kilobytes.
_MAX_READ_PATHS = 64
_MAX_WRITE_PATHS = 16
_MAX_PATCH_FILES = 200


def classify_tool(
    action: Action, resolver: TargetResolver, manifest: Mapping[str, Any] | None = None
) -> Iterator[Effect]:
    """Yield the effects of one call of a host's tool."""
    call = Invocation(
        Command(argv=(Word(action.tool or action.kind),)), resolver, shell_classifier=_make_shell_classifier(resolver)
    )
    match action.kind:
        case ActionKind.READ:
            yield from _classify_read(action, call)
        case ActionKind.WRITE:
            yield from _classify_write(action, call)
        case ActionKind.EXECUTE_CODE:
            yield from _classify_code_tool(action, call)
        case ActionKind.FETCH:
            yield from _classify_fetch(action, call)
        case ActionKind.AGENT | ActionKind.SUBMIT_TASK:
            yield from _classify_agent(action, call)
        case ActionKind.MCP:
            yield from classify_mcp_tool(action, call, manifest or {})
        case _:
            yield from _classify_other_tool(action, call, manifest or {})


def _classify_agent(action: Action, call: Invocation) -> Iterator[Effect]:
    """Yield the effects of starting another agent, of expanding a skill, and of scheduling either for later."""
    name = action.text("subagent_type", "agent", "skill", "name") or action.tool
    yield call.make_effect("agent.run", (Target(name, "other"),))
    if action.tool in _SKILL_TOOLS:
        yield from classify_skill(call, action.host, action.text("skill", "command", "name"))
    elif action.tool in _SCHEDULE_TOOLS:
        yield call.make_effect("guard.config", (Target(action.tool, "other"),), note="starts an agent later by itself")


def _make_shell_classifier(resolver: TargetResolver) -> Callable[[str, Command], list[Effect]]:
    def classify_shell(text: str, command: Command) -> list[Effect]:
        return ScriptClassifier(resolver).classify_shell(text, command.cwd, command.host)

    return classify_shell


def _classify_other_tool(action: Action, call: Invocation, manifest: Mapping[str, Any]) -> Iterator[Effect]:
    if action.tool in _HARMLESS_TOOLS:
        yield call.make_effect("none")
        return
    if action.tool in manifest:
        yield from classify_mcp_tool(action, call, manifest)
        return
    yield from classify_arguments(action, call)
    yield call.make_effect("unknown.tool", (Target(action.tool or "a tool without a name", "other"),))


# Files.


def _to_word(path: str) -> Word:
    return Word(path, path, any(c in path for c in "*?["))


def _classify_read(action: Action, call: Invocation) -> Iterator[Effect]:
    paths = collect_paths(action.payload, _READ_KEYS)
    pattern = action.text("pattern", "glob_pattern", "include", "glob")
    is_listing = action.tool in _LIST_TOOLS
    is_search = action.tool in _SEARCH_TOOLS
    if is_listing and pattern:
        base = paths[0] if paths else ""
        paths = [f"{base.rstrip('/')}/{pattern}" if base and not pattern.startswith("/") else pattern]
    targets = [
        call.resolver.resolve_path(_to_word(path), with_state=not is_listing and not is_search, git=False)
        for path in paths[:_MAX_READ_PATHS]
    ]
    yield call.make_effect("fs.list" if is_listing else "fs.read", tuple(targets))
    if len(paths) > _MAX_READ_PATHS:
        yield make_overflow_effect(call, "files")
    secrets = tuple(target for target in targets if holds_secret(target, call.facts))
    if secrets:
        yield call.make_effect("cred.read", secrets)
    elif is_search and _SECRET_SEARCH.search(pattern):
        # A search of the project for `token` is ordinary work; a search of a whole home for keys is not.
        wide = tuple(t for t in targets if t.zone is Zone.HOME or t.path in _WIDE_DIRECTORIES)
        if wide:
            yield call.make_effect("cred.read", wide, possible=True, note=f"looks for {pattern[:80]}")


def _classify_write(action: Action, call: Invocation) -> Iterator[Effect]:
    text = action.text("input", "patch", "diff") if action.tool in ("apply_patch", "patch") else ""
    if text or action.tool == "apply_patch":
        yield from _classify_patch(text or action.command, call)
        return
    paths = collect_paths(action.payload, _WRITE_KEYS)
    if not paths:
        if action.tool == "save_memory":
            yield call.make_effect("fs.append", note="the agent's own memory")
            return
        yield call.make_effect("unknown.tool", (Target(action.tool, "other"),), note="a write that names no file")
        return
    what = "fs.delete" if action.tool in _DELETE_TOOLS else "fs.write" if action.tool in _EDIT_TOOLS else "fs.overwrite"
    for path in paths[:_MAX_WRITE_PATHS]:
        yield from _classify_file_write(call, what, path, _collect_content(action.payload))
    if len(paths) > _MAX_WRITE_PATHS:
        yield make_overflow_effect(call, "files")


def _classify_patch(text: str, call: Invocation) -> Iterator[Effect]:
    """Yield the effects of a patch on each of its files, in Codex's form or as a diff."""
    patched = patch.read_patch_paths(text)
    if not patched.files:
        yield call.make_effect("unknown.tool", (Target("apply_patch", "other"),), note="a patch that names no file")
        return
    # Of further files only where they lie is looked at, and not what the new text makes of them.
    names = [_strip_diff_prefix(file.path, patched.format) for file in patched.files]
    more_effects = call.make_effects("fs.write", [Word(name, name) for name in names[_MAX_PATCH_FILES:]])
    yield from (*more_effects, *derive_zone_effects(more_effects, call.facts))
    for file, name in zip(patched.files[:_MAX_PATCH_FILES], names, strict=False):
        # Only these can be recognised by a part of their content.
        content = file.added if name.endswith(("package.json", ".yml", ".yaml", ".md", ".toml")) else ""
        yield from _classify_file_write(call, _PATCH_EFFECTS.get(file.change, "fs.write"), name, content)


def _strip_diff_prefix(path: str, patch_format: str) -> str:
    return path.removeprefix("b/").removeprefix("a/") if patch_format == "diff" else path


def _collect_content(payload: Any) -> str:
    """Return everything that a write puts into its file, as one text."""
    if not isinstance(payload, Mapping):
        return ""
    parts = [payload.get(key) for key in _CONTENT_KEYS]
    edits = payload.get("edits")
    if isinstance(edits, list | tuple):
        parts += [edit.get("new_string") or edit.get("newText") for edit in edits if isinstance(edit, Mapping)]
    return "\n".join(part for part in parts if isinstance(part, str))


def _classify_file_write(call: Invocation, what: str, path: str, content: str) -> Iterator[Effect]:
    """Yield the effects of a change to a file: by where it lies, and by what the new text makes of it."""
    effects = list(call.make_effects(what, [Word(path, path)]))
    if what == "fs.overwrite" and not content.strip():
        effects = _mark_emptied(call, path, effects)
    if not effects:
        yield call.make_effect("none")
    yield from effects
    derived = derive_zone_effects(effects, call.facts)
    if (
        what == "fs.overwrite"
        and derived
        and content
        and _is_harmless_startup(call, effects[0].targets[0].path, content)
    ):
        derived = [effect for effect in derived if effect.what != "persist.write" or effect.certain]
    yield from derived
    yield from classify_file_content(call, path, content)


def _mark_emptied(call: Invocation, path: str, effects: list[Effect]) -> list[Effect]:
    """Return the effects of a write without text: of work that git does not have, nothing is left."""
    emptied = call.make_effects("fs.truncate", [Word(path, path)])
    is_lost = any(target.state == "untracked" for effect in emptied for target in effect.targets)
    return list(emptied) if is_lost else effects


def _is_harmless_startup(call: Invocation, path: str, content: str) -> bool:
    """Return whether the whole new text of a file that Python loads by itself does no harm."""
    if path.endswith(".pth"):
        return not any(line.lstrip().startswith("import") for line in content.splitlines())
    classify_shell = call.shell_classifier
    if classify_shell is None or not path.endswith(("/sitecustomize.py", "/usercustomize.py")):
        return False
    return judge_text(path, content, call.resolver, classify_shell) is None


# Code and the web.


def _classify_code_tool(action: Action, call: Invocation) -> Iterator[Effect]:
    language = resolve_language((action.text("language", "lang", "kernel") or "python").lower())
    text = action.text("code", "source", "script", "input", "cell", "text")
    if language == "bash":
        yield from call.classify_shell(text)
        return
    if action.tool == "js_repl" or language.startswith("node"):
        language = "node"
    effects = list(classify_code(language, text, call))
    yield from effects
    yield from derive_zone_effects(effects, call.facts)
    if not effects:
        yield call.make_effect("code.run", note=language)


def _classify_fetch(action: Action, call: Invocation) -> Iterator[Effect]:
    address = action.text("url", "uri", "address")
    if not address:
        yield call.make_effect("net.fetch", (Target(action.text("query", "prompt")[:80] or action.tool, "other"),))
        return
    if paths := read_file_address(address):
        for effect in call.make_effects("fs.read", [Word(path) for path in paths]):
            yield effect
            yield from derive_zone_effects([effect], call.facts)
        return
    name = host.parse_host(address)
    is_local = host.is_local_host(name)
    yield call.make_effect("net.local" if is_local else "net.fetch", (Target(name, "host"),))
    if not is_local and holds_encoded_secret(address):
        yield call.make_effect("cred.send", (Target(name, "host"),), note="a secret in the address")
    if host.is_metadata_host(name):
        yield call.make_effect("cred.read", (Target(name, "host"),), note="credentials of the machine")
