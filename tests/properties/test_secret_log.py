"""Secrets in every field of recorded host payloads: none of their bytes is in any file that verdikt writes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cleanup import close_after_test
from tests.contract.test_adapters import RECORDED, event_of, load
from tests.fakes import FakeClock, FakeWorld
from tests.properties.test_secret import SECRETS, insert_text, list_positions
from verdikt.errors import HookError
from verdikt.govern import Governance
from verdikt.hosts.dispatch import dispatch_event
from verdikt.hosts.registry import load_adapter
from verdikt.ledger.files import FileStore
from verdikt.ledger.projections import load_projections
from verdikt.policy import parse_policy

STANDARD = parse_policy("profile: standard")
NAMES = {
    "session",
    "session_id",
    "sessionId",
    "sessionID",
    "conversation_id",
    "agent_id",
    "agentId",
    "parentAgentId",
    "hook_event_name",
    "event",
}
"""Fields that name a session or an event: they become file names and choices, and hold no free text."""


def generate_payloads(payload: Any, number: int) -> Iterator[Any]:
    """Yield the payload with a secret at each of its places, a different one each time."""
    for at, path in enumerate(list_positions(payload)):
        if not NAMES & {step for step in path if isinstance(step, str)}:
            yield insert_text(payload, path, SECRETS[(number + at) % len(SECRETS)][1])


@pytest.mark.parametrize("host", sorted({name.split("/")[0] for name in RECORDED}))
def test_no_byte_of_a_secret_is_written(host: str, tmp_path: Path) -> None:
    """Log, artifacts, projections, policies and crash logs are searched."""
    clock = FakeClock()
    store = close_after_test(FileStore(tmp_path / "home", clock, load_projections(), durable=False))
    governance = Governance(STANDARD, store, world_factory=lambda cwd: FakeWorld(), clock=clock)
    adapter = load_adapter(host.split("_", maxsplit=1)[0])
    judged = 0
    for number, name in enumerate(name for name in RECORDED if name.startswith(f"{host}/")):
        recorded = load(name)
        for payload in generate_payloads(recorded["payload"], number * 7):
            try:
                moment = adapter.decode(payload, event_of(name), recorded.get("env", {}))
            except HookError:
                continue
            dispatch_event(governance, moment, {"HOME": str(tmp_path), "VERDIKT_HOME": str(tmp_path / "home")})
            judged += 1
    store.close()
    written = b"\n".join(path.read_bytes() for path in (tmp_path / "home").rglob("*") if path.is_file())

    assert judged > 10
    assert b"<secret:" in written
    assert [kind for kind, _, secret in SECRETS if secret.encode() in written] == []
