"""What the hosts' own tools do: files by path and content, web, agents, code; MCP tools by what they say and what they are given."""

from __future__ import annotations

from collections.abc import Mapping

from verdikt.effects import host
from verdikt.effects.call import Call
from verdikt.effects.code import read_code
from verdikt.effects.consequence import consequences
from verdikt.effects.name import named
from verdikt.effects.reading import Reading
from verdikt.model.action import ActionKind
from verdikt.model.effect import Certainty, Effect, EffectClass, Target, Zone
from verdikt.model.notation import load
from verdikt.model.regex import regex
from verdikt.shell.command import Command, Word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from verdikt.effects.target import Resolver
    from verdikt.model.action import Action

_QUIET = frozenset(
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

_LISTS = frozenset(["Glob", "LS", "glob", "list_directory", "list", "ls", "LSP", "lsp"])
_DELETES = frozenset(["Delete", "delete_file"])
_EDITS = frozenset(
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
_HUNTS = regex(r"(?i)BEGIN.*PRIVATE|passw(?:or)?d|secret|api[_.-]?key|access[_.-]?key|AKIA|token|credential")
_PATCH = regex(r"(?m)^\*\*\* (Add|Update|Delete) File: (.+?)\s*$|^\*\*\* (Move) to: (.+?)\s*$")
_UNIFIED = regex(r"(?m)^\+\+\+ (?:b/)?(\S+)")

_VERBS: tuple[tuple[str, frozenset[str]], ...] = (
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


def read_tool(action: Action, resolver: Resolver, manifest: Mapping[str, Any] | None = None) -> Iterator[Effect]:
    """What one call of a host's tool would do."""
    call = Call(Command(argv=(Word(action.tool or action.kind),)), resolver, shell=_inner(resolver))
    match action.kind:
        case ActionKind.READ:
            yield from _reads(action, call)
        case ActionKind.WRITE:
            yield from _writes(action, call)
        case ActionKind.EXECUTE_CODE:
            yield from _code(action, call)
        case ActionKind.FETCH:
            yield from _fetches(action, call)
        case ActionKind.AGENT | ActionKind.SUBMIT_TASK:
            yield call.effect(
                "agent.run", (Target(action.text("subagent_type", "agent", "skill", "name") or action.tool, "other"),)
            )
        case ActionKind.MCP:
            yield from _mcp(action, call, manifest or {})
        case _:
            yield from _other(action, call, manifest or {})


def _inner(resolver: Resolver) -> Any:
    def shell(text: str, command: Command) -> list[Effect]:
        return Reading(resolver).script(text, command.cwd, command.where)

    return shell


# -- files ----------------------------------------------------------------------------------------------------------------


def _paths(payload: Any, keys: tuple[str, ...]) -> list[str]:
    found: list[str] = []
    if isinstance(payload, Mapping):
        for key in keys:
            value = payload.get(key)
            if isinstance(value, str) and value:
                found.append(value.removeprefix("file://"))
            elif isinstance(value, list | tuple):
                found.extend(item.removeprefix("file://") for item in value if isinstance(item, str))
    return found


def _word(path: str) -> Word:
    return Word(path, path, any(c in path for c in "*?["))


def _reads(action: Action, call: Call) -> Iterator[Effect]:
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
    paths = _paths(action.payload, keys)
    pattern = action.text("pattern", "glob_pattern", "include", "glob")
    listing = action.tool in _LISTS
    searching = action.tool in ("Grep", "grep", "grep_search", "search_file_content", "rg")
    if listing and pattern:
        base = paths[0] if paths else ""
        paths = [f"{base.rstrip('/')}/{pattern}" if base and not pattern.startswith("/") else pattern]
    targets = [call.resolver.path(_word(path), look=not listing and not searching, git=False) for path in paths[:64]]
    yield call.effect("fs.list" if listing else "fs.read", tuple(targets))
    secrets = tuple(target for target in targets if target.zone is Zone.SECRET)
    if secrets:
        yield call.effect("cred.read", secrets)
    elif searching and _HUNTS.search(pattern):
        wide = tuple(t for t in targets if t.zone is Zone.HOME or t.path in ("/", "/etc", "/home", "/root", "/Users"))
        if wide:
            yield call.effect("cred.read", wide, possible=True, note=f"looks for {pattern[:80]}")


def _writes(action: Action, call: Call) -> Iterator[Effect]:
    patch = action.text("input", "patch", "diff") if action.tool in ("apply_patch", "patch") else ""
    if patch or action.tool == "apply_patch":
        yield from _patched(patch or action.command, call)
        return
    paths = _paths(
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
            yield call.effect("fs.append", note="the agent's own memory")
            return
        yield call.effect("unknown.tool", (Target(action.tool, "other"),), note="a write that names no file")
        return
    what = "fs.delete" if action.tool in _DELETES else "fs.write" if action.tool in _EDITS else "fs.overwrite"
    for path in paths[:16]:
        yield from written(call, what, path, _contents(action.payload))


def _contents(payload: Any) -> str:
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


def written(call: Call, what: str, path: str, content: str) -> Iterator[Effect]:
    """A file tool changes a file: where it lies, and what the new text makes of it."""
    effects = list(call.on(what, [Word(path, path)]))
    if not effects:
        yield call.effect("none")
    yield from effects
    yield from consequences(effects, call.facts)
    yield from _meaning(call, path, content)


def _meaning(call: Call, path: str, content: str) -> Iterator[Effect]:
    """A workflow, a package manifest: text that somebody else's machine will run."""
    name = path.rsplit("/", 1)[-1]
    if (
        "/.github/workflows/" in f"/{path}"
        or name in (".gitlab-ci.yml", "Jenkinsfile", "azure-pipelines.yml", ".travis.yml")
        or "/.circleci/" in f"/{path}"
    ):
        yield call.effect("code.ci", (Target(path, "path", call.resolver.absolute(path)),))
        yield from _dangers(call, content)
    elif name == "tasks.json" and "/.vscode/" in f"/{path}" and _ON_OPENING.search(content):
        yield call.effect(
            "persist.write",
            (Target(path, "path", call.resolver.absolute(path)),),
            note="runs when the folder is opened",
        )
    elif name in (".mcp.json", "mcp.json") and content:
        yield call.effect(
            "guard.config",
            (Target(path, "path", call.resolver.absolute(path)),),
            note="says which programs an agent starts",
        )
    elif name == ".envrc" and content:
        for effect in call.shell(content[:64_000]):
            if effect.what.startswith(("code.remote", "code.hidden", "net.shell", "cred.send", "persist.", "guard.")):
                yield effect
    elif name == "package.json" and content:
        for found in _LIFECYCLE.finditer(content):
            try:
                command = load(f'"{found.group(2)}"')
            except ValueError:
                continue
            yield call.effect("code.lifecycle", (Target(f"{found.group(1)}: {command}"[:120], "other"),))
            for effect in call.shell(command):
                if effect.what.startswith(("code.remote", "code.hidden", "net.s", "cred.", "persist.", "guard.")):
                    yield effect


_LIFECYCLE = regex(
    r'"(preinstall|install|postinstall|prepare|prepublish|prepublishOnly|prepack|postpack)"\s*:\s*"((?:[^"\\]|\\.)*)"'
)
_SENT_OUT = regex(
    r"\$\{\{\s*secrets\.[^}]*\}\}.*(?:curl|wget|nc)\b|(?:curl|wget|nc)\b.*\$\{\{\s*(?:secrets\.|toJSON\(secrets\))"
)
_ON_OPENING = regex(r'"runOn"\s*:\s*"folderOpen"')
_RUN = regex(r"(?m)^\s*(?:-\s+)?(?:run|script):\s*[|>]?-?\s*(.*)$")


def _dangers(call: Call, content: str) -> Iterator[Effect]:
    """Of the commands in a workflow, only what would take secrets out: the rest runs on a machine made for it."""
    for found in _RUN.finditer(content[:64_000]):
        if found.group(1):
            for effect in call.shell(found.group(1)):
                if effect.what.startswith(("cred.send", "net.shell")):
                    yield effect
    if _SENT_OUT.search(content):
        yield call.effect("cred.send", possible=True, note="a workflow that sends its secrets out")


def _patched(patch: str, call: Call) -> Iterator[Effect]:
    """The files of a patch, in Codex's form or as a unified diff."""
    files = [(found.group(1) or found.group(3), found.group(2) or found.group(4)) for found in _PATCH.finditer(patch)]
    files += [("Update", name) for name in _UNIFIED.findall(patch) if name != "/dev/null"] if not files else []
    if not files:
        yield call.effect("unknown.tool", (Target("apply_patch", "other"),), note="a patch that names no file")
        return
    for verb, path in files[:200]:
        what = {"Add": "fs.write", "Delete": "fs.delete", "Move": "fs.overwrite"}.get(verb, "fs.write")
        added = (
            "\n".join(line[1:] for line in patch.splitlines() if line.startswith("+"))
            if path.endswith(("package.json", ".yml", ".yaml"))
            else ""
        )
        yield from written(call, what, path, added)


# -- code, web ------------------------------------------------------------------------------------------------------------


def _code(action: Action, call: Call) -> Iterator[Effect]:
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
        yield from call.shell(text)
        return
    if action.tool == "js_repl" or language.startswith("node"):
        language = "node"
    found = list(read_code(language, text, call))
    yield from found
    yield from consequences(found, call.facts)
    if not found:
        yield call.effect("code.run", note=language)


def _fetches(action: Action, call: Call) -> Iterator[Effect]:
    address = action.text("url", "uri", "address")
    if not address:
        yield call.effect("net.fetch", (Target(action.text("query", "prompt")[:80] or action.tool, "other"),))
        return
    if address.startswith("file://"):
        for effect in call.on("fs.read", [Word(address[7:])]):
            yield effect
            yield from consequences([effect], call.facts)
        return
    name = host.host(address)
    yield call.effect("net.local" if host.is_local(name) else "net.fetch", (Target(name, "host"),))
    if host.is_metadata(name):
        yield call.effect("cred.read", (Target(name, "host"),), note="credentials of the machine")


# -- MCP and the rest -------------------------------------------------------------------------------------------------------


def _other(action: Action, call: Call, manifest: Mapping[str, Any]) -> Iterator[Effect]:
    if action.tool in _QUIET:
        yield call.effect("none")
        return
    if action.tool in manifest:
        yield from _mcp(action, call, manifest)
        return
    raised = list(_given(action, call))
    yield from raised
    yield call.effect("unknown.tool", (Target(action.tool or "a tool without a name", "other"),))


def _mcp(action: Action, call: Call, manifest: Mapping[str, Any]) -> Iterator[Effect]:
    """Declared effects first; then hints and arguments, which raise and never lower."""
    from verdikt.effects.purpose import purposes

    entry = manifest.get(action.tool)
    target = (Target(action.tool, "other"),)
    declared = list(_declared(entry, target, call))
    yield from declared

    verb = verb_of(action.tool)
    hints = _hints(entry, action)
    if not declared:
        if verb:
            yield call.effect(verb, target)
        else:
            yield call.effect("unknown.tool", target)
    # What somebody declared, no name has a say about.
    for what, note in () if declared else purposes(action.tool, action.payload):
        # With force, whichever branch it is: nobody can tell.
        yield call.effect(
            what, (Target("the current branch", "ref"),) if what == "git.push.force" else target, note=note
        )
    if hints.get("destructiveHint") is True and verb != "mcp.delete":
        yield call.effect("mcp.delete", target, possible=True, note="it says so itself")
    if hints.get("openWorldHint") is True and verb in ("mcp.write", "") and not declared:
        yield call.effect("mcp.send", target, possible=True)
    yield from _given(action, call)


def _declared(entry: Any, target: tuple[Target, ...], call: Call) -> Iterator[Effect]:
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
                recoverable=named(what).recoverable,
                by=call.by,
                note="declared",
            )


def _hints(entry: Any, action: Action) -> Mapping[str, Any]:
    for holder in (entry, action.payload):
        hints = holder.get("annotations") if isinstance(holder, Mapping) else None
        if isinstance(hints, Mapping):
            return hints
    return {}


def verb_of(tool: str) -> str:
    """What the words of a tool's name say that it does; empty when they say nothing."""
    from verdikt.effects.purpose import spoken

    words = spoken(tool)
    for what, verbs in _VERBS:
        # The verb usually comes first; a destructive one counts wherever it stands.
        if words and (words[0] in verbs or (what == "mcp.delete" and not verbs.isdisjoint(words))):
            return what
    for what, verbs in _VERBS:
        if not verbs.isdisjoint(words):
            return what
    return ""


def _addressed(payload: Mapping[str, Any], call: Call) -> Iterator[Effect]:
    """An address among the arguments: a file of this machine, or the place where it gets its credentials."""
    address = next((payload[k] for k in ("url", "uri", "address") if isinstance(payload.get(k), str)), "")
    if address.startswith("file://"):
        effects = list(call.on("fs.read", [Word(address[7:])]))
        yield from effects
        yield from consequences(effects, call.facts)
    elif address and host.is_metadata(name := host.host(address)):
        yield call.effect("cred.read", (Target(name, "host"),), note="credentials of the machine")


def _given(action: Action, call: Call) -> Iterator[Effect]:
    """What the arguments say: a command, a query, code, a path mean the same whoever carries them out."""
    payload = action.payload
    if not isinstance(payload, Mapping):
        return
    command = next((payload[k] for k in _SHELL_KEYS if isinstance(payload.get(k), str)), "")
    if command:
        yield from call.shell(command)
    from verdikt.effects.code.sql import looks_like_sql, read_sql

    text = next((payload[k] for k in _SQL_KEYS if isinstance(payload.get(k), str)), "")
    if text and looks_like_sql(text):
        yield from read_sql(text, call)
    yield from _addressed(payload, call)
    if payload.get("privileged") is True or "/:/" in str(payload.get("volumes", ""))[:400]:
        yield call.effect("container.escape", (Target(action.tool, "other"),))
    verb = verb_of(action.tool)
    what = {
        "mcp.delete": "fs.delete.tree",
        "mcp.write": "fs.overwrite",
        "mcp.read": "fs.read",
        "mcp.send": "fs.read",
    }.get(verb, "")
    if what and ("file" in action.tool.lower() or "director" in action.tool.lower() or "fs" in action.tool.lower()):
        paths = [path for path in _paths(payload, _PATH_KEYS) if "/" in path or "." in path]
        effects = list(call.on(what, [Word(path, path) for path in paths[:64]]))
        yield from effects
        yield from consequences(effects, call.facts)
    code = next((payload[k] for k in _CODE_KEYS if isinstance(payload.get(k), str)), "")
    if code and verb == "mcp.run":
        yield from read_code("node" if "javascript" in payload or "browser" in action.tool else "python", code, call)
