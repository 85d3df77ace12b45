"""Codex."""

from verdikt.hosts.hook_event import HookEventKind
from verdikt.hosts.host import ExitStatus, Host, KnownGap, SettingsLookup, ToolNames

HOST = Host(
    name="codex",
    title="Codex",
    events={
        "SessionStart": HookEventKind.START,
        "UserPromptSubmit": HookEventKind.PROMPT,
        "PreToolUse": HookEventKind.BEFORE,
        "PermissionRequest": HookEventKind.PERMISSION,
        "PostToolUse": HookEventKind.AFTER,
        "Stop": HookEventKind.STOP,
        "SubagentStart": HookEventKind.NOTICE,
        "SubagentStop": HookEventKind.STOP,
        "PreCompact": HookEventKind.COMPACT,
        "PostCompact": HookEventKind.NOTICE,
        "Interrupt": HookEventKind.NOTICE,
        "SessionEnd": HookEventKind.END,
    },
    tools=ToolNames(
        read="view_image list_mcp_resources list_mcp_resource_templates read_mcp_resource",
        write="apply_patch",
        shell="Bash shell exec_command local_shell write_stdin unified_exec",
        code="exec js_repl",
        fetch="web_search",
        agent="spawn_agent send_input resume_agent",
    ),
    mcp_prefixes=("mcp__",),
    stdin_tools=("write_stdin",),
    # The payload of PostToolUse holds what a command printed and not how it ended.
    exit_status=ExitStatus.NEVER,
    payload_directories=("codex",),
    canary_payload={
        "hook_event_name": "{event}",
        "session_id": "{session}",
        "cwd": "{cwd}",
        "tool_name": "Bash",
        "tool_input": {"command": "{command}"},
    },
    asks="never: Codex takes an ask for permission, so it becomes a block",
    blocks='status 2, `{"decision":"block"}` and the reason on stderr',
    program="codex",
    project_marker=".codex",
    settings_files={
        "project": ".codex/hooks.json",
        "user": "~/.codex/hooks.json",
        "managed": "/etc/codex/requirements.toml",
    },
    config_directory="~/.codex",
    config_variable="CODEX_HOME",
    guarded_files=(
        ".codex/config.toml",
        ".codex/",
        "~/.codex/config.toml",
        "~/.codex/hooks/",
        "~/.codex/rules/",
        "~/.codex/requirements.toml",
        "/etc/codex/",
    ),
    settings_lookup=SettingsLookup.REPOSITORY,
    wired_events=(
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "Stop",
        "SubagentStop",
    ),
    approval_advice="open `/hooks` in Codex, or run `verdikt init --host codex --trust-codex`",
    agent_variables=(
        "CODEX_SANDBOX",
        "CODEX_SANDBOX_NETWORK_DISABLED",
        "CODEX_THREAD_ID",
        "CODEX_SESSION_ID",
        "CODEX_MANAGED_BY_NPM",
        "CODEX_CI",
    ),
    bypass_variables=("CODEX_HOME",),
    known_gaps=(
        KnownGap(
            what="hosted web search fires no hook",
            fix='switch it off: `web_search = "disabled"` in config.toml',
        ),
    ),
    proven_on="0.166.0, in `tests/clients/`",
)
