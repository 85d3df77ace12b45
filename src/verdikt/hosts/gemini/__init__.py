"""Gemini CLI."""

from verdikt.hosts.hook_event import HookEventKind
from verdikt.hosts.host import ExitStatus, FieldNames, Host, KnownGap, SettingsLookup, ToolNames

HOST = Host(
    name="gemini",
    title="Gemini CLI",
    events={
        "SessionStart": HookEventKind.START,
        "BeforeAgent": HookEventKind.PROMPT,
        "BeforeTool": HookEventKind.BEFORE,
        "AfterTool": HookEventKind.AFTER,
        "AfterAgent": HookEventKind.STOP,
        "BeforeModel": HookEventKind.NOTICE,
        "AfterModel": HookEventKind.NOTICE,
        "BeforeToolSelection": HookEventKind.NOTICE,
        # Fires before every request to the model, so it is no sign of a compaction.
        "PreCompress": HookEventKind.NOTICE,
        "Notification": HookEventKind.NOTICE,
        "SessionEnd": HookEventKind.END,
    },
    field_names=FieldNames(message="prompt_response"),
    tools=ToolNames(
        read="read_file read_many_files glob grep_search search_file_content list_directory",
        write="write_file replace save_memory",
        shell="run_shell_command",
        fetch="web_fetch google_web_search",
        agent="invoke_agent codebase_investigator activate_skill",
    ),
    # One underscore: `mcp_<server>_<tool>`.
    mcp_prefixes=("mcp_",),
    exit_status=ExitStatus.ALWAYS,
    payload_directories=("gemini",),
    asks="never: a headless Gemini CLI waits for an answer without end, so an ask becomes a block",
    blocks='status 0 and `{"decision":"deny"}` with the reason',
    program="gemini",
    agent_packages=("gemini-cli",),
    project_marker=".gemini",
    settings_files={
        "project": ".gemini/settings.json",
        "local": ".gemini/settings.json",
        "user": "~/.gemini/settings.json",
        "managed": "/etc/gemini-cli/settings.json",
    },
    config_directory="~/.gemini",
    guarded_files=(
        ".gemini/policies/",
        "~/.gemini/trustedFolders.json",
        "~/.gemini/policies/",
        "/etc/gemini-cli/",
        "/Library/Application Support/GeminiCli/",
    ),
    extension_files=(
        # Variables for the client and its hooks.
        ".gemini/.env",
        "~/.gemini/.env",
        ".gemini/commands/",
        ".gemini/extensions/",
        ".gemini/skills/",
        ".gemini/agents/",
        "~/.gemini/commands/",
        "~/.gemini/extensions/",
        "~/.gemini/skills/",
        "~/.gemini/agents/",
    ),
    settings_lookup=SettingsLookup.START_DIRECTORY,
    wired_events=("SessionStart", "BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent", "SessionEnd"),
    merges_equal_hooks=True,
    agent_variables=("GEMINI_CLI", "GEMINI_SESSION_ID"),
    project_variable="GEMINI_PROJECT_DIR",
    bypass_variables=(
        "GEMINI_CLI_HOME",
        "GEMINI_CLI_SYSTEM_SETTINGS_PATH",
        "GEMINI_CLI_SYSTEM_DEFAULTS_PATH",
        "GEMINI_CLI_TRUSTED_FOLDERS_PATH",
    ),
    known_gaps=(
        KnownGap(
            what="`@file` mentions fire no BeforeTool; a sub-agent's calls look like its parent's",
            fix="see `verdikt docs gemini`",
        ),
    ),
    proven_on="0.61.0, in `tests/clients/`",
)
