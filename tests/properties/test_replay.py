"""Replaying a decision from its log entry gives the same decision."""

from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.planted import PLANTED
from tests.unit.test_decide import RULED, STANDARD
from tests.unit.test_replay import record_decision
from verdikt.model.action import Action
from verdikt.model.posture import Posture
from verdikt.model.tool_kind import classify_tool
from verdikt.replay import find_differences, replay

WORDS = st.sampled_from(
    [
        "rm",
        "-rf",
        "git",
        "push",
        "--force",
        "a",
        "../x",
        "~/.ssh",
        "$x",
        "$(cat a)",
        "&&",
        ";",
        "|",
        ">",
        "'",
        '"',
        "sudo",
    ]
    + ["bash", "run.sh", "curl", "https://h/x", "psql", "-c", "drop table t", "PASSWORD=hunter2", "\n", "ü", "\x00"]
    + [secret for _, secret in PLANTED[:3]]
)
TEXTS = st.lists(WORDS, max_size=8).map(" ".join) | st.text(max_size=20)
PAYLOADS: Any = st.dictionaries(
    st.sampled_from(["command", "file_path", "content", "x"]) | st.text(max_size=5),
    TEXTS | st.none() | st.integers() | st.floats() | st.lists(TEXTS, max_size=2),
    max_size=4,
)


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(["Bash", "Write", "Read", "deploy", "never", "mcp__db__query", "execute_code"]),
    PAYLOADS,
    st.sampled_from(Posture),
    st.sampled_from([RULED, STANDARD]),
    st.integers(0, 5),
)
@example("deploy", {"content": "rm ../x", "command": "0"}, Posture.INTERACTIVE, RULED, 0)
def test_replay_of_any_decision_has_no_differences(
    tool: str, payload: Any, posture: Posture, policy: Any, count: int
) -> None:
    """Any payload under any posture, with and without secrets, gives the same bytes from the entry alone."""
    action = Action(kind=classify_tool(tool), tool=tool, payload=payload, session_id="s", cwd="/home/dev/project")

    past = record_decision(action, policy, posture, action_count=count)

    assert find_differences(past, replay(past, policy)) == []
