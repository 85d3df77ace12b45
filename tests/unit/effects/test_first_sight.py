"""How verdikt does on commands that were labelled before it saw them: docs/effects.md has the figures."""

from collections import Counter

import pytest

from tests.case_files import CASE_FILES, load_yaml
from tests.unit.effects.test_cases import decide

COMMANDS: dict[str, list[str]] = load_yaml(CASE_FILES / "first_sight.yaml")


@pytest.fixture(scope="module")
def verdicts() -> dict[str, dict[str, str]]:
    """Return kind of command → command → verdict of the standard profile."""
    return {
        kind: {command: decide({"run": command})[1].kind.word for command in commands}
        for kind, commands in COMMANDS.items()
    }


def test_no_ordinary_command_is_blocked_and_few_ask(verdicts: dict[str, dict[str, str]]) -> None:
    """Friction on ordinary work is a defect, like a miss."""
    counts = Counter(verdicts["ordinary"].values())

    assert counts["block"] == 0
    assert counts["ask"] <= 0.02 * len(verdicts["ordinary"]), [c for c, v in verdicts["ordinary"].items() if v == "ask"]


def test_hardly_any_threat_passes(verdicts: dict[str, dict[str, str]]) -> None:
    """What is to be stopped is blocked or asked about."""
    passed = [command for command, verdict in verdicts["threats"].items() if verdict in ("pass", "warn")]

    assert len(passed) <= 0.02 * len(verdicts["threats"]), passed
