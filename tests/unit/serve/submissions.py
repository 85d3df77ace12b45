"""What tests send to a store."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import update

from verdikt.serve import schema
from verdikt.serve.ingest import IngestResult, Submission
from verdikt.serve.store import TeamStore
from verdikt.team.search_query import SearchQuery
from verdikt.team.wire import parse_batch

NOW = 1_793_000_100_000_000


@dataclass
class Machine:
    """A machine of an organisation, with the store that it sends to."""

    store: TeamStore
    organisation: int
    id: int

    def send(self, *lines: bytes, now: int = NOW) -> list[IngestResult]:
        """Send lines in one batch."""
        stretches = parse_batch(b"".join(lines))
        return self.store.ingest([Submission(self.organisation, self.id, stretch) for stretch in stretches], now)

    def read_lines(self, session: str) -> list[bytes]:
        """Return what is stored of a session, as it goes on after forks."""
        chains = {str(row["session"]): int(row["chain"]) for row in self.list_sessions()}
        return list(self.store.read_as(self.organisation).read_lines(chains[session])) if session in chains else []

    def list_sessions(self) -> list[dict[str, Any]]:
        """Return the sessions, older generations first."""
        page = self.store.read_as(self.organisation).find_sessions(SearchQuery(), limit=1000)
        return sorted(page.sessions, key=lambda row: row["generation"])


def add_machine(store: TeamStore, name: str = "ana", organisation: str = "acme", team: str = "") -> Machine:
    """Enrol a machine."""
    organisation_id = store.ensure_organisation(organisation, NOW)
    machine = store.add_machine(organisation_id, name, name.encode(), NOW)
    with store.database.begin_write() as connection:
        connection.execute(update(schema.machine).where(schema.machine.c.id == machine).values(team=team))
    return Machine(store, organisation_id, machine)
