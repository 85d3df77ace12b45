"""The tools of a scenario as functions that `govern` has wrapped, for SDKs without an adapter of their own."""

from collections.abc import Callable
from typing import Any

from tests.sdks.drivers.protocol import Scenario
from verdikt.integrations import govern


def build_functions(scenario: Scenario, *, refuse: str) -> list[Callable[..., Any]]:
    """Return the governed tools; their docstrings have the form that the strictest of the SDKs wants."""

    def sh(command: str) -> str:
        """Run a command.

        Args:
            command: The command to run.
        """
        return scenario.run_command(command)

    def mystery(text: str) -> str:
        """Do something.

        Args:
            text: What to do.
        """
        return scenario.run_command(f"mystery {text}")

    options = build_options(scenario)
    return [govern(function, refuse=refuse, **options) for function in (sh, mystery)]


def build_options(scenario: Scenario) -> dict[str, Any]:
    """Return the options of `govern` for a scenario."""
    return {
        "governance": scenario.open_governance(),
        "kinds": scenario.kinds | {"python": "execute_code"},
        "session_id": scenario.session,
        "ask": scenario.answer_question if scenario.inline else None,
    }
