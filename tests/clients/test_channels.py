"""What is said after an action reaches the model, and a refused stop is a refused stop, on the real clients."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients import channel
from tests.clients.bench import Bench
from verdikt import adapters
from verdikt.adapters.live.screenplay import Say
from verdikt.adapters.wiring import codex_trust, settings
from verdikt.adapters.wiring.place import PLACES
from verdikt.adapters.wiring.registration import Registration

VERSIONS = ["claude-2.1.325", "claude-2.1.197", "codex-0.166.0", "gemini-0.61.0", "copilot-1.0.102"]


def wire(bench: Bench) -> None:
    """Every event of the client, answered by the governance of `channel.py`."""
    guard = str(Path(adapters.__file__).with_name("guard.sh"))
    place = PLACES[bench.client.name]
    path = bench.project / place.files["project"]
    path.parent.mkdir(parents=True, exist_ok=True)
    registration = Registration(guard=guard, python=(sys.executable, channel.__file__))
    wired = settings.wire({}, place.entries(registration), str(path), place.extra)
    path.write_bytes(settings.render(wired))
    if place.host == "codex":
        config = bench.home / ".codex/config.toml"
        config.write_bytes(codex_trust.approve(config.read_bytes(), codex_trust.trusted(wired, str(path)), str(config)))


@pytest.mark.parametrize("version", VERSIONS)
def test_feedback_is_heard_and_an_early_stop_is_refused_until_the_file_exists(
    version: str, bench: Callable[[str], Bench]
) -> None:
    """Twice it says that it is done, twice it is sent back; then it writes the file and is let go."""
    table = bench(version)
    wire(table)
    played = table.play(
        Say("first", (table.shell("echo hello"),)),
        Say("I am done, first time"),
        Say("I am done, second time"),
        Say("now", (table.shell("touch done.txt"),)),
        Say("I am done, third time"),
        Say("never said"),
    )
    told = json.dumps(played.model.requests)

    assert played.heard("FEEDBACK after the action"), played.run.stderr
    assert played.heard("`done.txt` is missing; write it"), played.run.stderr
    assert table.ran("done.txt"), "it was let go too early"
    # Once the file is there nothing holds it back: the last turn is never asked for.
    assert len(played.model.requests) == 5
    assert "I am done, second time" in told
    assert table.crashes() == []
