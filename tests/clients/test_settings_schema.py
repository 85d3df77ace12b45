"""Settings that a client does not understand, on the real clients: whether they then drop our hook."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.clients.bench import Bench
from tests.clients.test_governed import FORBIDDEN, POLICY
from tests.unit.hosts.wiring.test_settings_schema import CASES, EVENTS
from verdikt.hosts.live.model_api import ModelTurn
from verdikt.hosts.registry import HOSTS

TRIED_CASES = ("a group without hooks", "no command", "an http hook", "no time at all", "half a second for a timeout")


@pytest.mark.parametrize("version", ["claude-2.1.325", "codex-0.166.0"])
def test_a_malformed_hook_of_others_drops_ours_exactly_where_the_schema_says(
    version: str, create_bench: Callable[[str], Bench]
) -> None:
    """The client prints nothing about it, so `verdikt doctor` must name the place."""
    bench = create_bench(version)
    bench.govern(POLICY)
    file = bench.project / HOSTS[bench.client.name].settings_files["project"]
    wired: dict[str, Any] = json.loads(file.read_text())
    event = EVENTS[bench.client.name]
    for what, entry, dropped in CASES:
        if what not in TRIED_CASES:
            continue
        hooks = wired["hooks"] | {event: [*wired["hooks"][event], entry]}
        file.write_text(json.dumps({"hooks": hooks}))
        bench.play(ModelTurn("no", (bench.shell(FORBIDDEN),)), ModelTurn("END"), ModelTurn("END"))
        assert bench.has_file("forbidden") == (bench.client.name in dropped.split()), what
        (bench.project / "forbidden").unlink(missing_ok=True)
        completed = bench.run_verdikt("doctor", "--calls", "1")
        is_named = "drops hooks of that file in silence" in completed.stdout
        assert is_named == (bench.client.name in dropped.split()), what
    file.write_text(json.dumps(wired))
