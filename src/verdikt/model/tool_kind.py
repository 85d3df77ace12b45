"""The kind of action of each tool that the hosts provide, by the tool's name."""

from __future__ import annotations

from verdikt.model.action import ActionKind

_TOOL_NAMES: dict[ActionKind, str] = {
    # Claude Code and Cursor, Codex, Gemini CLI, Copilot CLI, OpenCode, in this order; `|` separates names.
    ActionKind.READ: (
        "Read|Glob|Grep|LS|NotebookRead|ListMcpResourcesTool|ReadMcpResourceTool|LSP|BashOutput|TaskOutput"
        "|view_image|list_mcp_resources|list_mcp_resource_templates|read_mcp_resource"
        "|read_file|read_many_files|glob|grep_search|search_file_content|list_directory"
        "|view|show_file|read_bash|list_bash|rg"
        "|read|grep|list|ls|lsp"
    ),
    ActionKind.WRITE: (
        "Write|Edit|MultiEdit|NotebookEdit|StrReplace|Delete|TabWrite|SearchReplace"
        "|apply_patch"
        "|write_file|replace|save_memory"
        "|create|edit|str_replace|str_replace_editor|str_replace_based_edit_tool|insert"
        "|write|patch|multiedit"
    ),
    ActionKind.BASH: (
        "Bash|Monitor|Shell|PowerShell"
        "|shell|exec_command|local_shell|write_stdin|unified_exec"
        "|run_shell_command"
        "|bash|write_bash|powershell|write_powershell"
        "|pty_spawn"
    ),
    ActionKind.EXECUTE_CODE: "execute_code|exec|python|code_interpreter|js_repl|mcp__ide__executeCode",
    ActionKind.FETCH: "WebFetch|WebSearch|web_search|web_fetch|google_web_search|webfetch|websearch|fetch",
    ActionKind.AGENT: (
        "Agent|Task|Workflow|Skill|SlashCommand|SendMessage|CronCreate|ScheduleWakeup|RemoteTrigger"
        "|spawn_agent|send_input|resume_agent|invoke_agent|codebase_investigator|activate_skill"
        "|task|skill|subagent"
    ),
    ActionKind.SUBMIT_TASK: "submit_task",
}

_KIND_BY_TOOL: dict[str, ActionKind] = {name: kind for kind, names in _TOOL_NAMES.items() for name in names.split("|")}

# Claude Code and Codex write `mcp__server__tool`, Gemini CLI `mcp_server_tool`, Cursor `MCP:tool`.
_MCP_PREFIXES = ("mcp__", "mcp_", "MCP:")


def classify_tool(tool: str) -> ActionKind:
    """Return the kind of action that a host's tool of this name performs; `OTHER` for an unknown name."""
    kind = _KIND_BY_TOOL.get(tool)
    if kind is not None:
        return kind
    return ActionKind.MCP if tool.startswith(_MCP_PREFIXES) else ActionKind.OTHER
