"""Any other host, which sends neutral JSON."""

from verdikt.hosts.hook_event import HookEventKind
from verdikt.hosts.host import Host, ToolNames

HOST = Host(
    name="generic",
    title="anything else",
    events={kind.value: kind for kind in HookEventKind},
    tools=ToolNames(code="execute_code python code_interpreter", fetch="fetch", task="submit_task"),
    payload_directories=("generic",),
    canary_payload={
        "event": "{event}",
        "session": "{session}",
        "cwd": "{cwd}",
        "tool": "Bash",
        "arguments": {"command": "{command}"},
    },
    asks="where the payload says `attended`; a block otherwise",
    blocks='status 2, `{"decision":"block"}` and the reason on stderr',
    proven_on="–",
)
