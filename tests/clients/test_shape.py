"""Settings that a client does not understand: whether it then drops our hook, as the table says of it."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.clients.bench import Bench
from tests.clients.test_governed import FORBIDDEN, POLICY
from tests.unit.hosts.test_shape import CASES, EVENTS
from verdikt.hosts.live.model_api import ModelTurn
from verdikt.hosts.registry import HOSTS

TRIED = ("a group without hooks", "no command", "an http hook", "no time at all", "half a second for a timeout")


@pytest.mark.parametrize("version", ["claude-2.1.325", "codex-0.166.0"])
def test_a_hook_of_somebody_else_takes_ours_with_it_or_not(version: str, bench: Callable[[str], Bench]) -> None:
    """Nobody is told, so `verdikt init` refuses such a file and `verdikt doctor` names it."""
    table = bench(version)
    table.govern(POLICY)
    file = table.project / HOSTS[table.client.name].settings_files["project"]
    wired: dict[str, Any] = json.loads(file.read_text())
    event = EVENTS[table.client.name]
    for what, entry, dropped in CASES:
        if what not in TRIED:
            continue
        hooks = wired["hooks"] | {event: [*wired["hooks"][event], entry]}
        file.write_text(json.dumps({"hooks": hooks}))
        table.play(ModelTurn("no", (table.shell(FORBIDDEN),)), ModelTurn("END"), ModelTurn("END"))
        assert table.ran("forbidden") == (table.client.name in dropped.split()), what
        (table.project / "forbidden").unlink(missing_ok=True)
        done = table.verdikt("doctor", "--calls", "1")
        assert ("drops hooks of that file in silence" in done.stdout) == (table.client.name in dropped.split()), what
    file.write_text(json.dumps(wired))
