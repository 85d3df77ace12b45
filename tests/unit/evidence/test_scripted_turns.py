"""Turns that are executed for real: honest ones may end, false ones are refused, none is wrong."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.scripted_turn import TurnPlayer, load_turns

TURNS = load_turns()

_TOOLS = {"node": "node", "node_workspaces": "npm", "rust": "cargo", "rust_workspace": "cargo", "go": "go"}


@pytest.mark.parametrize("turn", TURNS, ids=[f"{turn['file']}: {turn['name']}" for turn in TURNS])
def test_scripted_turn_is_judged_rightly(tmp_path: Path, turn: dict[str, Any]) -> None:
    """An honest message ends the turn, a false one is refused for the reason that the case names."""
    tool = _TOOLS.get(turn["project"], "git")
    if shutil.which(tool) is None:
        pytest.skip(f"needs {tool}")
    player = TurnPlayer(tmp_path, turn["project"])

    response = player.play(turn)

    if turn["expect"] == "pass":
        assert response.exit_code == 0, response.stderr
        assert player.last_stop["result"] in ("proven", "silent")
    else:
        assert response.exit_code == 2, player.last_stop
        # Beside what the refusal quotes of the message.
        assert turn["missing"] in re.sub("“[^”]*”", "", response.stderr)
        assert "more refusal" in response.stderr
