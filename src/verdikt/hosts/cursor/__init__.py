"""Cursor."""

from verdikt.hosts.hook_event import HookEventKind
from verdikt.hosts.host import ExitStatus, FieldNames, Host, KnownGap, ToolNames

HOST = Host(
    name="cursor",
    title="Cursor",
    events={
        "sessionStart": HookEventKind.START,
        "beforeSubmitPrompt": HookEventKind.PROMPT,
        "preToolUse": HookEventKind.BEFORE,
        "beforeShellExecution": HookEventKind.BEFORE,
        "beforeMCPExecution": HookEventKind.BEFORE,
        "beforeReadFile": HookEventKind.BEFORE,
        "postToolUse": HookEventKind.AFTER,
        "postToolUseFailure": HookEventKind.AFTER,
        "afterShellExecution": HookEventKind.NOTICE,
        "afterMCPExecution": HookEventKind.NOTICE,
        "afterFileEdit": HookEventKind.NOTICE,
        "stop": HookEventKind.STOP,
        "subagentStop": HookEventKind.STOP,
        "sessionEnd": HookEventKind.END,
    },
    field_names=FieldNames(session="conversation_id", result="tool_output"),
    tools=ToolNames(
        read="Read Glob Grep LS",
        write="Write StrReplace Delete TabWrite SearchReplace",
        shell="Shell",
        agent="Task",
    ),
    mcp_prefixes=("MCP:",),
    # Cursor reports what a command printed, and not how it ended.
    exit_status=ExitStatus.NEVER,
    payload_directories=("cursor",),
    asks="at beforeShellExecution and beforeMCPExecution; a block at preToolUse, which shows none",
    blocks='status 0 and `{"permission":"deny"}`',
    # The command line agent; the editor shares its settings.
    program="cursor-agent",
    project_marker=".cursor",
    settings_files={
        "project": ".cursor/hooks.json",
        "local": ".cursor/hooks.json",
        "user": "~/.cursor/hooks.json",
        "managed": "/etc/cursor/hooks.json",
    },
    config_directory="~/.cursor",
    guarded_files=(
        ".cursor/hooks/",
        "~/.cursor/hooks/",
        "/etc/cursor/",
        "/Library/Application Support/Cursor/",
    ),
    extension_files=(
        ".cursor/commands/",
        ".cursor/agents/",
        ".cursor/mcp.json",
        "~/.cursor/commands/",
        "~/.cursor/mcp.json",
    ),
    wired_events=("sessionStart", "beforeSubmitPrompt", "preToolUse", "postToolUse", "postToolUseFailure", "stop"),
    extra_settings={"version": 1},
    agent_variables=("CURSOR_AGENT", "CURSOR_TRACE_ID"),
    known_gaps=(
        KnownGap(what="completions by Tab fire other events than the agent", fix="see `verdikt docs cursor`"),
        KnownGap(
            what="a stop that is let through can show no message, also when the turn ended unproven",
            fix="`verdikt status` and `verdikt evidence report` show it",
        ),
    ),
    proven_on="its documentation: there is no client that could be installed and scripted offline",
)
