"""Importing this machine's log."""

from pathlib import Path

import pytest

from tests.activity_log import open_activity_log, write_week
from tests.cleanup import close_after_test
from tests.fakes import FakeClock
from tests.unit.serve.submissions import Machine, add_machine
from verdikt.ledger.files import FileStore
from verdikt.serve.importer import LogImporter
from verdikt.serve.store import TeamStore


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Return a machine of a store on SQLite."""
    return add_machine(close_after_test(TeamStore(f"sqlite:///{tmp_path / 'team.db'}", create=True)))


def open_importer(machine: Machine, home: Path) -> LogImporter:
    """Return an importer of a data directory."""
    return LogImporter(machine.store, home, FakeClock(), machine.organisation, machine.id)


def read_log(home: Path) -> dict[str, list[bytes]]:
    """Return the lines of each session's file."""
    return {path.stem: path.read_bytes().splitlines(keepends=True) for path in (home / "ledger").glob("*.jsonl")}


def test_import_brings_every_line_once(machine: Machine, tmp_path: Path) -> None:
    """A real log of a week arrives byte for byte; a second import finds nothing new."""
    home = tmp_path / "home"
    write_week(home, busy=2)
    importer = open_importer(machine, home)
    log = read_log(home)

    assert importer.import_new_lines() == sum(map(len, log.values()))
    assert {session: machine.read_lines(session) for session in log} == log
    assert importer.import_new_lines() == open_importer(machine, home).import_new_lines() == 0
    assert importer.problems == {}


def test_import_continues_with_what_was_added(machine: Machine, tmp_path: Path) -> None:
    """Only changed files are read again."""
    home = tmp_path / "home"
    with open_activity_log(home) as log:
        log.call("s1", "git status")
        importer = open_importer(machine, home)
        importer.import_new_lines()
        log.call("s1", "ls")
        log.call("s2", "ls")
        importer.import_new_lines()

    assert {session: machine.read_lines(session) for session in read_log(home)} == read_log(home)


def test_import_of_a_rewritten_log_keeps_both_histories(machine: Machine, tmp_path: Path) -> None:
    """The first history stays, the second is stored beside it, and the machine is marked."""
    home = tmp_path / "home"
    with FileStore(home, FakeClock(), durable=False) as store:
        for number in range(4):
            store.append("s", "tool_call", {"n": number})
    importer = open_importer(machine, home)
    importer.import_new_lines()
    original = read_log(home)["s"]
    other = tmp_path / "other"
    with FileStore(other, FakeClock(), durable=False) as store:
        for number in range(6):
            store.append("s", "tool_call", {"n": number, "x": "rewritten"})
    (home / "ledger" / "s.jsonl").write_bytes((other / "ledger" / "s.jsonl").read_bytes())
    importer.import_new_lines()
    chains = [row for row in machine.list_sessions() if row["session"] == "s"]

    assert [row["generation"] for row in chains] == [0, 1]
    assert list(machine.store.read_as(machine.organisation).read_lines(chains[0]["chain"])) == original
    assert machine.read_lines("s") == read_log(other)["s"]
    assert machine.store.read_as(machine.organisation).list_machines()[0].forks == 1


def test_import_names_what_is_damaged_and_goes_on(machine: Machine, tmp_path: Path) -> None:
    """An edited line ends the import of its session, a cut log is reported, and other sessions are imported."""
    home = tmp_path / "home"
    with FileStore(home, FakeClock(), durable=False) as store:
        for session in ("bad", "cut", "good"):
            for number in range(4):
                store.append(session, "tool_call", {"n": number})
    importer = open_importer(machine, home)
    path = home / "ledger" / "bad.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"n":2', b'"n":7'))
    importer.import_new_lines()
    cut = home / "ledger" / "cut.jsonl"
    cut.write_bytes(b"".join(cut.read_bytes().splitlines(keepends=True)[:2]))
    importer.import_new_lines()

    assert "expected a body with digest" in importer.problems["bad"]
    assert importer.problems["cut"] == "the log ends before entry 4, which was imported earlier"
    assert len(machine.read_lines("good")) == 4
