"""OpenCode."""

from verdikt.hosts.hook_event import HookEventKind
from verdikt.hosts.host import ExitStatus, FieldNames, Host, KnownGap, ToolNames

HOST = Host(
    name="opencode",
    title="OpenCode",
    events={
        "session.created": HookEventKind.START,
        "chat.message": HookEventKind.PROMPT,
        "tool.execute.before": HookEventKind.BEFORE,
        "tool.execute.after": HookEventKind.AFTER,
        "session.idle": HookEventKind.STOP,
    },
    # After `adapter.py` has flattened what the plugin sends.
    field_names=FieldNames(event="ev", session="sessionID", tool="tool", input="args", call="callID", result="output"),
    tools=ToolNames(
        read="read grep list ls lsp",
        write="write edit patch multiedit",
        shell="bash pty_spawn",
        fetch="webfetch websearch",
        agent="task skill subagent",
    ),
    exit_status=ExitStatus.ALWAYS,
    payload_directories=("opencode",),
    canary_payload={
        "ev": "{event}",
        "input": {"tool": "bash", "sessionID": "{session}", "callID": "canary"},
        "output": {"args": {"command": "{command}"}},
        "directory": "{cwd}",
    },
    asks="never: a plugin cannot ask a person, so an ask becomes a block",
    blocks="the plugin throws, and OpenCode shows the message to the model",
    program="opencode",
    agent_packages=("opencode-ai",),
    project_marker=".opencode",
    # Plugins are code that OpenCode runs itself, and its JSON files can switch plugins off.
    settings_files={
        "project": ".opencode/plugin/verdikt.js",
        "local": ".opencode/plugin/verdikt.js",
        "user": "~/.config/opencode/plugin/verdikt.js",
    },
    config_directory="~/.config/opencode",
    guarded_files=(
        ".opencode/plugin/",
        ".opencode/plugins/",
        ".opencode/opencode.json",
        ".opencode/opencode.jsonc",
        "opencode.json",
        "opencode.jsonc",
        "~/.config/opencode/plugin/",
        "~/.config/opencode/plugins/",
        "~/.config/opencode/opencode.json",
        "~/.config/opencode/opencode.jsonc",
        "~/.config/opencode/config.json",
        "/etc/opencode/",
        "/Library/Application Support/opencode/",
    ),
    extension_files=(
        ".opencode/command/",
        ".opencode/commands/",
        ".opencode/agent/",
        ".opencode/agents/",
        ".opencode/skill/",
        ".opencode/skills/",
        ".opencode/tool/",
        ".opencode/tools/",
        "~/.config/opencode/command/",
        "~/.config/opencode/agent/",
        "~/.config/opencode/skill/",
        "~/.config/opencode/tool/",
    ),
    # The plugin subscribes to all events; this one shows whether it works.
    wired_events=("tool.execute.before",),
    agent_variables=("OPENCODE", "OPENCODE_PID", "OPENCODE_SESSION_ID"),
    bypass_variables=(
        "OPENCODE_CONFIG",
        "OPENCODE_CONFIG_DIR",
        "OPENCODE_CONFIG_CONTENT",
        "OPENCODE_DISABLE_PROJECT_CONFIG",
        "OPENCODE_PURE",
        "OPENCODE_PERMISSION",
        "OPENCODE_TEST_HOME",
        "OPENCODE_TEST_MANAGED_CONFIG_DIR",
    ),
    known_gaps=(
        KnownGap(
            what="a plugin that cannot be loaded is skipped in silence",
            fix="run `verdikt doctor` after every update of OpenCode",
        ),
        KnownGap(
            what="`opencode run` ends at the first stop; `--pure` starts a session without the plugin",
            fix="see `verdikt docs opencode`",
        ),
    ),
    proven_on="1.18.33, in `tests/clients/`",
)
