"""What the hosts' own tools do: files by path and content, web, agents, code; MCP tools by what they say and what they are given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from json import loads as load
from typing import TYPE_CHECKING, Any

from verdikt.effects import host
from verdikt.effects.code import classify_code
from verdikt.effects.code.sql import classify_sql, looks_like_sql
from verdikt.effects.effect_catalog import find_entry
from verdikt.effects.invocation import Invocation
from verdikt.effects.mcp_verbs import infer_effects, split_tool_name
from verdikt.effects.script_classifier import ScriptClassifier
from verdikt.effects.zone_effects import derive_zone_effects
from verdikt.model.action import ActionKind
from verdikt.model.effect import Certainty, Effect, EffectClass, Target, Zone
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import Command, Word

if TYPE_CHECKING:
    from verdikt.effects.target import TargetResolver
    from verdikt.model.action import Action

_HARMLESS_TOOLS = frozenset(
    [
        "TodoWrite",
        "TodoRead",
        "ExitPlanMode",
        "EnterPlanMode",
        "AskUserQuestion",
        "KillShell",
        "KillBash",
        "TaskCreate",
        "TaskUpdate",
        "TaskList",
        "TaskGet",
        "TaskStop",
        "ToolSearch",
        "update_plan",
        "request_user_input",
        "ask_user",
        "write_todos",
        "think",
        "todowrite",
        "todoread",
        "question",
        "plan",
        "report_intent",
        "complete_task",
        "exit_plan_mode",
        "enter_plan_mode",
        "StructuredOutput",
        "EnterWorktree",
        "ExitWorktree",
        "Sleep",
        "CronList",
        "CronDelete",
        "get_internal_docs",
        "tool_search",
        "wait",
        "wait_agent",
        "close_agent",
        "list_agents",
        "set_goal",
        "get_goal",
        "update_goal",
        "task_complete",
        "update_todo",
        "stop_bash",
        "read_agent",
        "read_lints",
        "ReadLints",
        "codebase_search",
        "todo_write",
        "update_topic",
        "tracker_create_task",
    ]
)
"""Tools by which an agent keeps its own house."""

_LIST_TOOLS = frozenset(["Glob", "LS", "glob", "list_directory", "list", "ls", "LSP", "lsp"])
_DELETE_TOOLS = frozenset(["Delete", "delete_file"])
_EDIT_TOOLS = frozenset(
    [
        "Edit",
        "MultiEdit",
        "NotebookEdit",
        "StrReplace",
        "SearchReplace",
        "replace",
        "edit",
        "str_replace",
        "str_replace_editor",
        "str_replace_based_edit_tool",
        "insert",
        "multiedit",
        "save_memory",
    ]
)
_SECRET_SEARCH = compile_lazily(
    r"(?i)BEGIN.*PRIVATE|passw(?:or)?d|secret|api[_.-]?key|access[_.-]?key|AKIA|token|credential"
)
_CODEX_PATCH = compile_lazily(r"(?m)^\*\*\* (Add|Update|Delete) File: (.+?)\s*$|^\*\*\* (Move) to: (.+?)\s*$")
_UNIFIED_DIFF = compile_lazily(r"(?m)^\+\+\+ (?:b/)?(\S+)")

_MCP_VERBS: tuple[tuple[str, frozenset[str]], ...] = (
    ("mcp.delete", frozenset(["delete", "remove", "drop", "destroy", "purge", "truncate", "wipe", "terminate", "erase", "clear", "revoke", "uninstall", "prune", "reset", "flush", "unpublish", "archive", "cancel", "kill"])),
    ("mcp.run", frozenset(["run", "execute", "exec", "eval", "evaluate", "invoke", "shell", "bash", "terminal", "command", "script", "deploy", "trigger", "apply", "restart", "rollback", "start", "stop", "spawn", "install"])),
    ("mcp.send", frozenset(["send", "post", "publish", "upload", "push", "email", "message", "reply", "comment", "tweet", "share", "invite", "notify", "merge", "submit", "transfer", "pay", "buy", "order"])),
    ("mcp.write", frozenset(["create", "update", "write", "edit", "set", "add", "insert", "put", "patch", "upsert", "modify", "rename", "move", "copy", "assign", "append", "save", "import", "enable", "disable", "fork", "close", "open", "label", "commit", "replace", "attach", "link", "tag", "schedule", "grant", "transition", "checkout", "stage", "stash", "switch", "restore", "resume", "pause"])),
    ("mcp.read", frozenset(["get", "list", "read", "search", "find", "query", "fetch", "view", "describe", "show", "count", "check", "status", "lookup", "browse", "inspect", "analyze", "explain", "diff", "log", "logs", "summarize", "resolve", "preview", "validate", "verify", "compare", "select", "scan", "retrieve", "download", "extract", "navigate", "screenshot", "snapshot", "hover", "click", "type", "wait", "think", "console", "network", "help", "info", "whoami", "ping", "test", "stat", "tree", "glob", "grep", "ask", "plan", "press", "fill", "drag", "resize", "activate", "thinking", "sequentialthinking", "tabs", "handle", "scroll", "focus"])),
)  # fmt: skip
_SHELL_KEYS = ("command", "cmd", "script", "shell_command")
_PATH_KEYS = ("path", "file_path", "filepath", "filename", "file", "source", "destination", "directory", "uri", "paths")
_SQL_KEYS = ("sql", "query", "statement")
_CODE_KEYS = ("code", "source", "cell", "javascript")


def classify_tool(
    action: Action, resolver: TargetResolver, manifest: Mapping[str, Any] | None = None
) -> Iterator[Effect]:
    """What one call of a host's tool would do."""
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
            yield call.make_effect(
                "agent.run", (Target(action.text("subagent_type", "agent", "skill", "name") or action.tool, "other"),)
            )
        case ActionKind.MCP:
            yield from _classify_mcp_tool(action, call, manifest or {})
        case _:
            yield from _classify_other_tool(action, call, manifest or {})


def _make_shell_classifier(resolver: TargetResolver) -> Any:
    def classify_shell(text: str, command: Command) -> list[Effect]:
        return ScriptClassifier(resolver).classify_shell(text, command.cwd, command.host)

    return classify_shell


# -- files ----------------------------------------------------------------------------------------------------------------


def _collect_paths(payload: Any, keys: tuple[str, ...]) -> list[str]:
    found: list[str] = []
    if isinstance(payload, Mapping):
        for key in keys:
            value = payload.get(key)
            if isinstance(value, str) and value:
                found.append(value.removeprefix("file://"))
            elif isinstance(value, list | tuple):
                found.extend(item.removeprefix("file://") for item in value if isinstance(item, str))
    return found


def _to_word(path: str) -> Word:
    return Word(path, path, any(c in path for c in "*?["))


def _classify_read(action: Action, call: Invocation) -> Iterator[Effect]:
    keys = (
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
    paths = _collect_paths(action.payload, keys)
    pattern = action.text("pattern", "glob_pattern", "include", "glob")
    listing = action.tool in _LIST_TOOLS
    searching = action.tool in ("Grep", "grep", "grep_search", "search_file_content", "rg")
    if listing and pattern:
        base = paths[0] if paths else ""
        paths = [f"{base.rstrip('/')}/{pattern}" if base and not pattern.startswith("/") else pattern]
    targets = [
        call.resolver.resolve_path(_to_word(path), with_state=not listing and not searching, git=False)
        for path in paths[:64]
    ]
    yield call.make_effect("fs.list" if listing else "fs.read", tuple(targets))
    secrets = tuple(target for target in targets if target.zone is Zone.SECRET)
    if secrets:
        yield call.make_effect("cred.read", secrets)
    elif searching and _SECRET_SEARCH.search(pattern):
        wide = tuple(t for t in targets if t.zone is Zone.HOME or t.path in ("/", "/etc", "/home", "/root", "/Users"))
        if wide:
            yield call.make_effect("cred.read", wide, possible=True, note=f"looks for {pattern[:80]}")


def _classify_write(action: Action, call: Invocation) -> Iterator[Effect]:
    patch = action.text("input", "patch", "diff") if action.tool in ("apply_patch", "patch") else ""
    if patch or action.tool == "apply_patch":
        yield from _classify_patch(patch or action.command, call)
        return
    paths = _collect_paths(
        action.payload,
        (
            "file_path",
            "path",
            "notebook_path",
            "absolute_path",
            "filename",
            "filePath",
            "target_file",
            "target_notebook",
        ),
    )
    if not paths:
        if action.tool == "save_memory":
            yield call.make_effect("fs.append", note="the agent's own memory")
            return
        yield call.make_effect("unknown.tool", (Target(action.tool, "other"),), note="a write that names no file")
        return
    what = "fs.delete" if action.tool in _DELETE_TOOLS else "fs.write" if action.tool in _EDIT_TOOLS else "fs.overwrite"
    for path in paths[:16]:
        yield from classify_file_write(call, what, path, _collect_content(action.payload))


def _collect_content(payload: Any) -> str:
    """Everything that a write puts into its file, as one text."""
    if not isinstance(payload, Mapping):
        return ""
    parts = [
        payload.get(key)
        for key in ("content", "new_string", "new_source", "new_str", "file_text", "contents", "text", "newString")
    ]
    edits = payload.get("edits")
    if isinstance(edits, list | tuple):
        parts += [edit.get("new_string") or edit.get("newText") for edit in edits if isinstance(edit, Mapping)]
    return "\n".join(part for part in parts if isinstance(part, str))


def classify_file_write(call: Invocation, what: str, path: str, content: str) -> Iterator[Effect]:
    """A file tool changes a file: where it lies, and what the new text makes of it."""
    effects = list(call.make_effects(what, [Word(path, path)]))
    if not effects:
        yield call.make_effect("none")
    yield from effects
    yield from derive_zone_effects(effects, call.facts)
    yield from _classify_file_content(call, path, content)


def _classify_file_content(call: Invocation, path: str, content: str) -> Iterator[Effect]:
    """A workflow, a package manifest: text that somebody else's machine will run."""
    name = path.rsplit("/", 1)[-1]
    if (
        "/.github/workflows/" in f"/{path}"
        or name in (".gitlab-ci.yml", "Jenkinsfile", "azure-pipelines.yml", ".travis.yml")
        or "/.circleci/" in f"/{path}"
    ):
        yield call.make_effect("code.ci", (Target(path, "path", call.resolver.to_absolute(path)),))
        yield from _find_workflow_leaks(call, content)
    elif name == "tasks.json" and "/.vscode/" in f"/{path}" and _RUN_ON_OPEN.search(content):
        yield call.make_effect(
            "persist.write",
            (Target(path, "path", call.resolver.to_absolute(path)),),
            note="runs when the folder is opened",
        )
    elif name in (".mcp.json", "mcp.json") and content:
        yield call.make_effect(
            "guard.config",
            (Target(path, "path", call.resolver.to_absolute(path)),),
            note="says which programs an agent starts",
        )
    elif name == ".envrc" and content:
        for effect in call.classify_shell(content[:64_000]):
            if effect.what.startswith(("code.remote", "code.hidden", "net.shell", "cred.send", "persist.", "guard.")):
                yield effect
    elif name == "package.json" and content:
        for found in _LIFECYCLE_SCRIPT.finditer(content):
            try:
                command = load(f'"{found.group(2)}"')
            except ValueError:
                continue
            yield call.make_effect("code.lifecycle", (Target(f"{found.group(1)}: {command}"[:120], "other"),))
            for effect in call.classify_shell(command):
                if effect.what.startswith(("code.remote", "code.hidden", "net.s", "cred.", "persist.", "guard.")):
                    yield effect


_LIFECYCLE_SCRIPT = compile_lazily(
    r'"(preinstall|install|postinstall|prepare|prepublish|prepublishOnly|prepack|postpack)"\s*:\s*"((?:[^"\\]|\\.)*)"'
)
_WORKFLOW_LEAK = compile_lazily(
    r"\$\{\{\s*secrets\.[^}]*\}\}.*(?:curl|wget|nc)\b|(?:curl|wget|nc)\b.*\$\{\{\s*(?:secrets\.|toJSON\(secrets\))"
)
_RUN_ON_OPEN = compile_lazily(r'"runOn"\s*:\s*"folderOpen"')
_WORKFLOW_COMMAND = compile_lazily(r"(?m)^\s*(?:-\s+)?(?:run|script):\s*[|>]?-?\s*(.*)$")


def _find_workflow_leaks(call: Invocation, content: str) -> Iterator[Effect]:
    """Of the commands in a workflow, only what would take secrets out: the rest runs on a machine made for it."""
    for found in _WORKFLOW_COMMAND.finditer(content[:64_000]):
        if found.group(1):
            for effect in call.classify_shell(found.group(1)):
                if effect.what.startswith(("cred.send", "net.shell")):
                    yield effect
    if _WORKFLOW_LEAK.search(content):
        yield call.make_effect("cred.send", possible=True, note="a workflow that sends its secrets out")


def _classify_patch(patch: str, call: Invocation) -> Iterator[Effect]:
    """The files of a patch, in Codex's form or as a unified diff."""
    files = [
        (found.group(1) or found.group(3), found.group(2) or found.group(4)) for found in _CODEX_PATCH.finditer(patch)
    ]
    files += [("Update", name) for name in _UNIFIED_DIFF.findall(patch) if name != "/dev/null"] if not files else []
    if not files:
        yield call.make_effect("unknown.tool", (Target("apply_patch", "other"),), note="a patch that names no file")
        return
    for verb, path in files[:200]:
        what = {"Add": "fs.write", "Delete": "fs.delete", "Move": "fs.overwrite"}.get(verb, "fs.write")
        added = (
            "\n".join(line[1:] for line in patch.splitlines() if line.startswith("+"))
            if path.endswith(("package.json", ".yml", ".yaml"))
            else ""
        )
        yield from classify_file_write(call, what, path, added)


# -- code, web ------------------------------------------------------------------------------------------------------------


def _classify_code_tool(action: Action, call: Invocation) -> Iterator[Effect]:
    language = (action.text("language", "lang", "kernel") or "python").lower()
    language = {
        "python3": "python",
        "py": "python",
        "javascript": "node",
        "js": "node",
        "typescript": "node",
        "sh": "bash",
        "shell": "bash",
    }.get(language, language)
    text = action.text("code", "source", "script", "input", "cell", "text")
    if language == "bash":
        yield from call.classify_shell(text)
        return
    if action.tool == "js_repl" or language.startswith("node"):
        language = "node"
    found = list(classify_code(language, text, call))
    yield from found
    yield from derive_zone_effects(found, call.facts)
    if not found:
        yield call.make_effect("code.run", note=language)


def _classify_fetch(action: Action, call: Invocation) -> Iterator[Effect]:
    address = action.text("url", "uri", "address")
    if not address:
        yield call.make_effect("net.fetch", (Target(action.text("query", "prompt")[:80] or action.tool, "other"),))
        return
    if address.startswith("file://"):
        for effect in call.make_effects("fs.read", [Word(address[7:])]):
            yield effect
            yield from derive_zone_effects([effect], call.facts)
        return
    name = host.parse_host(address)
    yield call.make_effect("net.local" if host.is_local_host(name) else "net.fetch", (Target(name, "host"),))
    if host.is_metadata_host(name):
        yield call.make_effect("cred.read", (Target(name, "host"),), note="credentials of the machine")


# -- MCP and the rest -------------------------------------------------------------------------------------------------------


def _classify_other_tool(action: Action, call: Invocation, manifest: Mapping[str, Any]) -> Iterator[Effect]:
    if action.tool in _HARMLESS_TOOLS:
        yield call.make_effect("none")
        return
    if action.tool in manifest:
        yield from _classify_mcp_tool(action, call, manifest)
        return
    raised = list(_classify_arguments(action, call))
    yield from raised
    yield call.make_effect("unknown.tool", (Target(action.tool or "a tool without a name", "other"),))


def _classify_mcp_tool(action: Action, call: Invocation, manifest: Mapping[str, Any]) -> Iterator[Effect]:
    """Declared effects first; then hints and arguments, which raise and never lower."""
    entry = manifest.get(action.tool)
    target = (Target(action.tool, "other"),)
    declared = list(_classify_declared(entry, target, call))
    yield from declared

    verb = infer_verb_effect(action.tool)
    hints = _find_annotations(entry, action)
    if not declared:
        if verb:
            yield call.make_effect(verb, target)
        else:
            yield call.make_effect("unknown.tool", target)
    # What somebody declared, no name has a say about.
    for what, note in () if declared else infer_effects(action.tool, action.payload):
        # With force, whichever branch it is: nobody can tell.
        yield call.make_effect(
            what, (Target("the current branch", "ref"),) if what == "git.push.force" else target, note=note
        )
    if hints.get("destructiveHint") is True and verb != "mcp.delete":
        yield call.make_effect("mcp.delete", target, possible=True, note="it says so itself")
    if hints.get("openWorldHint") is True and verb in ("mcp.write", "") and not declared:
        yield call.make_effect("mcp.send", target, possible=True)
    yield from _classify_arguments(action, call)


def _classify_declared(entry: Any, target: tuple[Target, ...], call: Invocation) -> Iterator[Effect]:
    names = entry.get("effects") if isinstance(entry, Mapping) else None
    for name in names if isinstance(names, list | tuple) else ():
        if isinstance(name, str) and name in tuple(EffectClass):
            cls = EffectClass(name)
            what = {
                "read": "mcp.read",
                "write": "mcp.write",
                "network": "mcp.send",
                "execute": "mcp.run",
                "spawn": "agent.run",
                "destructive": "mcp.delete",
            }[name]
            yield Effect(
                cls=cls,
                what=what,
                targets=target,
                certainty=Certainty.CERTAIN,
                recoverable=find_entry(what).recoverable,
                by=call.command_line,
                note="declared",
            )


def _find_annotations(entry: Any, action: Action) -> Mapping[str, Any]:
    for holder in (entry, action.payload):
        hints = holder.get("annotations") if isinstance(holder, Mapping) else None
        if isinstance(hints, Mapping):
            return hints
    return {}


def infer_verb_effect(tool: str) -> str:
    """What the words of a tool's name say that it does; empty when they say nothing."""
    words = split_tool_name(tool)
    for what, verbs in _MCP_VERBS:
        # The verb usually comes first; a destructive one counts wherever it stands.
        if words and (words[0] in verbs or (what == "mcp.delete" and not verbs.isdisjoint(words))):
            return what
    for what, verbs in _MCP_VERBS:
        if not verbs.isdisjoint(words):
            return what
    return ""


def _classify_url_argument(payload: Mapping[str, Any], call: Invocation) -> Iterator[Effect]:
    """An address among the arguments: a file of this machine, or the place where it gets its credentials."""
    address = next((payload[k] for k in ("url", "uri", "address") if isinstance(payload.get(k), str)), "")
    if address.startswith("file://"):
        effects = list(call.make_effects("fs.read", [Word(address[7:])]))
        yield from effects
        yield from derive_zone_effects(effects, call.facts)
    elif address and host.is_metadata_host(name := host.parse_host(address)):
        yield call.make_effect("cred.read", (Target(name, "host"),), note="credentials of the machine")


def _classify_arguments(action: Action, call: Invocation) -> Iterator[Effect]:
    """What the arguments say: a command, a query, code, a path mean the same whoever carries them out."""
    payload = action.payload
    if not isinstance(payload, Mapping):
        return
    command = next((payload[k] for k in _SHELL_KEYS if isinstance(payload.get(k), str)), "")
    if command:
        yield from call.classify_shell(command)

    text = next((payload[k] for k in _SQL_KEYS if isinstance(payload.get(k), str)), "")
    if text and looks_like_sql(text):
        yield from classify_sql(text, call)
    yield from _classify_url_argument(payload, call)
    if payload.get("privileged") is True or "/:/" in str(payload.get("volumes", ""))[:400]:
        yield call.make_effect("container.escape", (Target(action.tool, "other"),))
    verb = infer_verb_effect(action.tool)
    what = {
        "mcp.delete": "fs.delete.tree",
        "mcp.write": "fs.overwrite",
        "mcp.read": "fs.read",
        "mcp.send": "fs.read",
    }.get(verb, "")
    if what and ("file" in action.tool.lower() or "director" in action.tool.lower() or "fs" in action.tool.lower()):
        paths = [path for path in _collect_paths(payload, _PATH_KEYS) if "/" in path or "." in path]
        effects = list(call.make_effects(what, [Word(path, path) for path in paths[:64]]))
        yield from effects
        yield from derive_zone_effects(effects, call.facts)
    code = next((payload[k] for k in _CODE_KEYS if isinstance(payload.get(k), str)), "")
    if code and verb == "mcp.run":
        yield from classify_code(
            "node" if "javascript" in payload or "browser" in action.tool else "python", code, call
        )
