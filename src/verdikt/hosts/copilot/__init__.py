"""Copilot CLI."""

from verdikt.hosts.hook_event import HookEventKind
from verdikt.hosts.host import FieldNames, Host, SettingsLookup, ToolNames

HOST = Host(
    name="copilot",
    title="Copilot CLI",
    events={
        "sessionStart": HookEventKind.START,
        "userPromptSubmitted": HookEventKind.PROMPT,
        "preToolUse": HookEventKind.BEFORE,
        "permissionRequest": HookEventKind.PERMISSION,
        "postToolUse": HookEventKind.AFTER,
        "agentStop": HookEventKind.STOP,
        "subagentStop": HookEventKind.STOP,
        "errorOccurred": HookEventKind.NOTICE,
        "sessionEnd": HookEventKind.END,
    },
    field_names=FieldNames(
        event="hookName",
        session="sessionId",
        tool="toolName",
        input="toolArgs",
        call="toolCallId",
        result="toolResult",
        transcript="transcriptPath",
    ),
    tools=ToolNames(
        read="view show_file read_bash list_bash rg",
        write="create edit str_replace str_replace_editor str_replace_based_edit_tool insert",
        shell="bash write_bash powershell write_powershell",
        agent="task skill",
    ),
    stdin_tools=("write_bash", "write_powershell"),
    payload_directories=("copilot",),
    # The payload does not name its event; the wired command does.
    canary_payload={
        "sessionId": "{session}",
        "cwd": "{cwd}",
        "toolName": "bash",
        "toolArgs": {"command": "{command}"},
    },
    asks="always: without a person the client denies it",
    blocks='status 0 and `{"permissionDecision":"deny"}`: with another status the reason would be lost',
    program="copilot",
    agent_packages=("copilot-cli",),
    project_marker=".github/hooks",
    settings_files={
        "project": ".github/hooks/verdikt.json",
        "local": ".github/hooks/verdikt.json",
        "user": "~/.copilot/hooks/verdikt.json",
    },
    config_directory="~/.copilot",
    guarded_files=(".github/hooks/", "~/.copilot/hooks/", "~/.copilot/config.json", "~/.copilot/settings.json"),
    extension_files=(".github/agents/", "~/.copilot/agents/", "~/.copilot/skills/", "~/.copilot/mcp-config.json"),
    settings_lookup=SettingsLookup.REPOSITORY,
    wired_events=("sessionStart", "userPromptSubmitted", "preToolUse", "postToolUse", "agentStop", "sessionEnd"),
    extra_settings={"version": 1},
    # Any status but 0, a signal and a missing command deny the call; the model is then told only that a hook failed.
    blocks_on_failure=("preToolUse",),
    blocks_on_failure_since="1.0.102",
    agent_variables=("COPILOT_CLI", "COPILOT_AGENT_SESSION_ID"),
    bypass_variables=("COPILOT_HOME", "COPILOT_ALLOW_ALL"),
    proven_on="1.0.102, in `tests/clients/`",
)
