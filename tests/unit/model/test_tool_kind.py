"""The kind of action for a tool name."""

import pytest

from verdikt.model.action import ActionKind
from verdikt.model.tool_kind import classify_tool


@pytest.mark.parametrize(
    ("tool", "kind"),
    [
        ("Bash", ActionKind.BASH),
        ("Monitor", ActionKind.BASH),
        ("run_shell_command", ActionKind.BASH),
        ("apply_patch", ActionKind.WRITE),
        ("NotebookEdit", ActionKind.WRITE),
        ("Grep", ActionKind.READ),
        ("WebFetch", ActionKind.FETCH),
        ("Agent", ActionKind.AGENT),
        ("spawn_agent", ActionKind.AGENT),
        ("mcp__files__delete", ActionKind.MCP),
        ("mcp_files_delete", ActionKind.MCP),
        ("MCP:delete", ActionKind.MCP),
        ("TotallyNew", ActionKind.OTHER),
        ("", ActionKind.OTHER),
    ],
)
def test_tool_name_maps_to_one_kind_and_unknown_names_to_other(tool: str, kind: ActionKind) -> None:
    """No kind is guessed from a name, except that MCP tools share a prefix."""
    assert classify_tool(tool) is kind
