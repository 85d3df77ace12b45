"""Echo, a host that exists only in tests: the example of docs/adding-a-host.md."""

from verdikt.hosts.hook_event import HookEventKind
from verdikt.hosts.host import FieldNames, Host, ToolNames

HOST = Host(
    name="echo",
    title="Echo",
    events={"beforeCall": HookEventKind.BEFORE, "afterCall": HookEventKind.AFTER},
    field_names=FieldNames(event="event", session="session", tool="tool", input="arguments"),
    tools=ToolNames(shell="echo_shell"),
    asks="never, so an ask becomes a block",
    blocks='status 2, `{"decision":"block"}` and the reason on stderr',
    program="echo-agent",
    project_marker=".echo",
    settings_files={"project": ".echo/hooks.json"},
    guarded_files=(".echo/permissions.json",),
    wired_events=("beforeCall", "afterCall"),
    agent_variables=("ECHO_AGENT",),
)
