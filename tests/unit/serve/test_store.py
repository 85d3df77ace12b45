"""The contract of the store, the same on SQLite and on a real PostgreSQL."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import func, select

from tests.cleanup import close_after_test
from tests.unit.serve.submissions import NOW, Machine, add_machine
from tests.unit.team.chains import START_TS, build_lines, find_head
from verdikt.errors import ServiceError, WireError
from verdikt.model.chain_head import ChainHead
from verdikt.model.entry import decode_entry
from verdikt.model.session_state import CANARY_SESSION
from verdikt.serve import schema
from verdikt.serve.ingest import Submission
from verdikt.serve.store import TeamStore
from verdikt.team.chain_extension import Continuation
from verdikt.team.search_query import SearchQuery, parse_query
from verdikt.team.wire import parse_batch

CHAIN = build_lines("s", range(1, 21))


@pytest.fixture
def machine(store: TeamStore) -> Machine:
    """Return an enrolled machine."""
    return add_machine(store)


def count_rows(store: TeamStore) -> int:
    """Return the number of index rows."""
    with store.database.begin_read() as connection:
        return int(connection.execute(select(func.count()).select_from(schema.entry)).scalar_one())


def test_lines_are_read_as_they_were_sent(machine: Machine) -> None:
    """What comes out is what went in, byte for byte, in whatever pieces it came."""
    machine.send(*CHAIN[:7])
    machine.send(*CHAIN[7:8])
    machine.send(*CHAIN[8:])

    assert machine.read_lines("s") == CHAIN
    chain = machine.list_sessions()[0]["chain"]
    assert list(machine.store.read_as(machine.organisation).read_lines(chain, since=6, limit=3)) == CHAIN[6:9]
    assert machine.store.read_heads(machine.id) == {"s": (0, find_head(CHAIN))}


def test_lines_without_bodies_are_stored_and_verify(machine: Machine) -> None:
    """At the level `index` bodies stay at home; the chain is the same."""
    lines = [decode_entry(line).to_line(with_body=False) for line in CHAIN]
    machine.send(*lines)

    assert machine.read_lines("s") == lines
    assert machine.store.read_heads(machine.id)["s"][1] == find_head(CHAIN)


def test_a_repeated_batch_is_stored_once(machine: Machine) -> None:
    """A sender that did not hear the answer sends again."""
    first = machine.send(*CHAIN[:5])
    again = machine.send(*CHAIN[:5])
    overlapping = machine.send(*CHAIN[2:9])

    assert [result[0].continuation for result in (first, again, overlapping)] == ["extends", "repeats", "extends"]
    assert overlapping[0].head == find_head(CHAIN[:9])
    assert (machine.read_lines("s"), count_rows(machine.store)) == (CHAIN[:9], 9)


def test_a_batch_that_comes_too_early_is_asked_for_again(machine: Machine) -> None:
    """The answer names the stored head, from which the sender goes on."""
    machine.send(*CHAIN[:5])
    result = machine.send(*CHAIN[7:9])[0]

    assert (result.continuation, result.head) == (Continuation.MISSING, find_head(CHAIN[:5]))
    assert machine.read_lines("s") == CHAIN[:5]


def test_a_fork_is_kept_as_evidence_and_the_session_goes_on(machine: Machine) -> None:
    """A machine that contradicts itself loses nothing of either history."""
    other = build_lines("s", range(6, 11), head=find_head(CHAIN[:5]), flavour="another")
    machine.send(*CHAIN[:10])
    result = machine.send(*other)[0]
    again = machine.send(*CHAIN[:5], *other)[0]
    old, new = machine.list_sessions()[0], machine.list_sessions()[-1]

    assert (result.continuation, result.head, result.generation) == (Continuation.FORKS, ChainHead(), 1)
    assert (again.continuation, again.generation) == (Continuation.EXTENDS, 1)
    assert (old["forked"], new["forked"], new["generation"]) == (True, False, 1)
    assert list(machine.store.read_as(machine.organisation).read_lines(old["chain"])) == CHAIN[:10]
    assert machine.read_lines("s") == CHAIN[:5] + other
    evidence = machine.store.read_as(machine.organisation).read_forks(old["chain"])
    assert [(seq, data) for seq, _, data in evidence] == [(10, b"".join(other))]
    reader = machine.store.read_as(machine.organisation)
    assert reader.list_machines()[0].forks == 1
    rewritten = parse_query("is:rewritten", NOW / 1e6)
    assert [row["chain"] for row in reader.find_sessions(rewritten).sessions] == [old["chain"]]
    assert {row["chain"] for row in reader.search_entries(rewritten).entries} == {old["chain"]}
    assert reader.read_fleet()[1] == 1


def test_machines_with_the_same_session_name_have_chains_of_their_own(store: TeamStore) -> None:
    """No machine can write into another's chain."""
    ana, ben = add_machine(store, "ana"), add_machine(store, "ben")
    other = build_lines("s", range(1, 4), flavour="ben")
    ana.send(*CHAIN[:3])

    assert ben.send(*CHAIN[3:5])[0].continuation is Continuation.MISSING
    assert ben.send(*other)[0].continuation is Continuation.EXTENDS
    assert store.read_heads(ana.id)["s"][1] == find_head(CHAIN[:3])
    assert store.read_heads(ben.id)["s"][1] == find_head(other)


def test_one_transaction_takes_many_machines(store: TeamStore) -> None:
    """Submissions of several machines and sessions, some for one chain, are stored together."""
    machines = [add_machine(store, f"m{number}") for number in range(4)]
    submissions = [
        Submission(machine.organisation, machine.id, stretch)
        for machine in machines
        for data in (CHAIN[:3], CHAIN[3:6], CHAIN[1:6], build_lines("t", range(1, 4)))
        for stretch in parse_batch(b"".join(data))
    ]
    results = store.ingest(submissions, NOW)

    assert [result.continuation.value for result in results] == ["extends", "extends", "repeats", "extends"] * 4
    assert all(machine.read_lines("s") == CHAIN[:6] for machine in machines)
    assert store.ingest([], NOW) == []


def test_the_same_batch_at_once_from_many_threads_is_stored_once(database_url: str) -> None:
    """Whatever replicas race, each line is stored once."""
    stores = [close_after_test(TeamStore(database_url, create=True, shard=number)) for number in range(3)]
    machine = add_machine(stores[0])
    barrier = threading.Barrier(6)

    def send(number: int) -> list[str]:
        sender = Machine(stores[number % 3], machine.organisation, machine.id)
        answers = []
        for first in range(0, 20, 4):
            barrier.wait()
            answers.append(sender.send(*CHAIN[first : first + 4])[0].continuation.value)
        return answers

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(send, range(6)))

    assert (machine.read_lines("s"), count_rows(stores[0])) == (CHAIN, 20)
    assert [sorted(column) for column in zip(*answers, strict=True)] == [["extends"] + ["repeats"] * 5] * 5
    assert sum(count for *_, count in stores[0].read_as(machine.organisation).count_verdicts(0, 2 * START_TS)) == 10


def test_search_finds_by_every_key(machine: Machine) -> None:
    """The words of the search box select entries of one organisation, newest first."""
    machine.send(*CHAIN)

    def search(text: str) -> list[int]:
        page = machine.store.read_as(machine.organisation).search_entries(parse_query(text, NOW / 1e6))
        return [entry["seq"] for entry in page.entries]

    assert search("") == list(range(20, 0, -1))
    assert search("verdict:block") == [13, 5]
    assert search("verdict:ask,block kind:decision") == [19, 13, 11, 5, 3]
    assert search("guard:delete_*") == [13, 5]
    assert search('"echo 13"') == [13]
    assert search("ECHO 2") == [20, 12, 2]
    assert search("tool:Bash effect:fs.* class:read host:claude")[:2] == [19, 17]
    assert search("session:s machine:an* project:shop verdict:block") == [13, 5]
    chain = machine.store.read_as(machine.organisation).search_entries(SearchQuery()).entries[0]["chain"]
    assert search(f"entry:{chain}/3,{chain}/13 entry:{chain}/99") == [13, 3]
    assert search(f'entry:{chain}/3,{chain}/13 "echo 13"') == [13]
    assert search(f"entry:{chain + 1}/3") == []
    assert search("session:x") == search("guard:delete%") == search("project:shopping") == []
    assert search(f"since:{START_TS + 19_000_000}") == [20, 19]
    assert search(f"until:{START_TS + 2_000_000}") == [2, 1]


def test_blocked_canaries_are_stored_and_shown_only_when_asked_for(machine: Machine) -> None:
    """What doctor fires is in no list and no count; a canary that was not blocked is."""
    store, organisation = machine.store, machine.organisation
    position = store.read_as(organisation).read_feed_position()
    canaries = build_lines(CANARY_SESSION, [5, 13])
    machine.send(*CHAIN[:2])
    machine.send(*canaries)

    def list_shown(text: str) -> tuple[set[str], set[str]]:
        query = parse_query(text, NOW / 1e6)
        entries = store.read_as(organisation).search_entries(query).entries
        sessions = store.read_as(organisation).find_sessions(query).sessions
        return {entry["session"] for entry in entries}, {session["session"] for session in sessions}

    assert list_shown("") == ({"s"}, {"s"})
    assert list_shown("verdict:block") == (set(), set())
    assert list_shown(f"session:{CANARY_SESSION}") == ({CANARY_SESSION}, {CANARY_SESSION})
    assert {entry["session"] for entry in store.read_as(organisation).read_feed(position)[1]} == {"s"}
    assert sum(count for *_, count in store.read_as(organisation).count_verdicts(0, 2 * START_TS)) == 1

    machine.send(*build_lines(CANARY_SESSION, [1], head=find_head(canaries)))

    assert list_shown("") == ({"s", CANARY_SESSION}, {"s", CANARY_SESSION})
    # The numbers of the fleet are those of the lists to which they link.
    counted = machine.store.read_as(machine.organisation).list_machines()[0]
    assert (counted.sessions, counted.entries) == (2, 3)
    assert sum(count for *_, count in store.read_as(organisation).count_verdicts(0, 2 * START_TS)) == 2


def test_pages_follow_each_other_without_gap_or_repeat(machine: Machine) -> None:
    """A cursor continues where the page before ended, also among equal times."""
    for number in range(5):
        machine.send(*build_lines(f"s{number}", range(1, 8)))
    seen, cursor, sessions, session_cursor = [], "", [], ""
    while True:
        page = machine.store.read_as(machine.organisation).search_entries(SearchQuery(), cursor, limit=4)
        seen += [(entry["session"], entry["seq"]) for entry in page.entries]
        cursor = page.cursor
        if not cursor:
            break
    while True:
        session_page = machine.store.read_as(machine.organisation).find_sessions(SearchQuery(), session_cursor, limit=2)
        sessions += [session["session"] for session in session_page.sessions]
        session_cursor = session_page.cursor
        if not session_cursor:
            break

    assert len(seen) == len(set(seen)) == 35
    assert sorted(sessions) == [f"s{number}" for number in range(5)]


@pytest.mark.parametrize("cursor", ["x", "1", "1.2.3", "1.-2", "1.99999999999999999999", "²."])
def test_a_foreign_cursor_is_refused(machine: Machine, cursor: str) -> None:
    """A cursor is data from outside."""
    with pytest.raises(WireError, match="expected a cursor that this service gave"):
        machine.store.read_as(machine.organisation).search_entries(SearchQuery(), cursor)


def test_sessions_have_counts_and_place(machine: Machine) -> None:
    """The list of sessions says what happened in each."""
    machine.send(*CHAIN)
    machine.send(*build_lines("t", range(1, 3), host="codex"))
    sessions = {row["session"]: row for row in machine.list_sessions()}

    assert {key: sessions["s"][key] for key in ("seq", "decisions", "asks", "blocks", "host", "directory")} == {
        "seq": 20,
        "decisions": 10,
        "asks": 3,
        "blocks": 2,
        "host": "claude",
        "directory": "/home/ana/shop",
    }
    assert (sessions["s"]["first_ts"], sessions["s"]["last_ts"]) == (START_TS + 1_000_000, START_TS + 20_000_000)
    for text, names in {"verdict:block": ["s"], "host:codex": ["t"], "session:t": ["t"], "verdict:warn": []}.items():
        page = machine.store.read_as(machine.organisation).find_sessions(parse_query(text, NOW / 1e6))
        assert [row["session"] for row in page.sessions] == names, text


def test_a_person_sees_what_visible_machines_sent(store: TeamStore) -> None:
    """Every read of a person shows what their machines sent, and nothing of another team's."""
    ana, ben = add_machine(store, "ana", team="web"), add_machine(store, "ben", team="db")
    start = store.read_as(ana.organisation).read_feed_position()
    for machine in (ana, ben):
        machine.send(*CHAIN)
        machine.send(*build_lines("s", range(1, 4), flavour="another"))
    chains = {row["machine"]: row["chain"] for row in ana.list_sessions() if row["forked"]}
    everything = store.read_as(ana.organisation)
    reader = store.read_as(ana.organisation, frozenset({ana.id}))

    assert {row["machine"] for row in reader.search_entries(SearchQuery()).entries} == {"ana"}
    assert {row["machine"] for row in reader.search_entries(parse_query("echo", NOW / 1e6)).entries} == {"ana"}
    assert {row["machine"] for row in reader.find_sessions(SearchQuery()).sessions} == {"ana"}
    by_team = parse_query("team:d*", NOW / 1e6)
    assert {row["machine"] for row in everything.search_entries(by_team).entries} == {"ben"}
    assert {row["machine"] for row in everything.find_sessions(by_team).sessions} == {"ben"}
    assert reader.search_entries(by_team).entries == reader.find_sessions(by_team).sessions == []
    assert {row["machine"] for row in reader.read_feed(start)[1]} == {"ana"}
    assert [row.name for row in reader.list_machines()] == ["ana"]
    assert (len(reader.read_index(chains["ana"], 0, 99)), reader.read_index(chains["ben"], 0, 99)) == (20, [])
    assert list(reader.read_lines(chains["ana"])) == CHAIN
    assert list(reader.read_lines(chains["ben"])) == reader.read_forks(chains["ben"]) == []
    assert (len(reader.read_forks(chains["ana"])), reader.read_chain(chains["ben"])) == (1, None)
    assert reader.read_session(chains["ben"]) is None
    # The same counts for half of the machines.
    counts = everything.count_verdicts(0, 2 * START_TS)
    assert [(hour, verdict, 2 * count) for hour, verdict, count in reader.count_verdicts(0, 2 * START_TS)] == counts
    assert store.read_as(ana.organisation, frozenset()).count_verdicts(0, 2 * START_TS) == []


def test_another_organisation_sees_nothing(store: TeamStore) -> None:
    """Every read is bound to an organisation."""
    ana, eve = add_machine(store, "ana", "acme"), add_machine(store, "eve", "evil")
    ana.send(*CHAIN)
    reader = store.read_as(eve.organisation)
    position = reader.read_feed_position()
    chain = ana.list_sessions()[0]["chain"]

    assert reader.search_entries(SearchQuery()).entries == []
    assert reader.find_sessions(SearchQuery()).sessions == []
    assert list(reader.read_lines(chain)) == reader.read_forks(chain) == []
    assert reader.read_chain(chain) is None
    assert [machine.name for machine in reader.list_machines()] == ["eve"]
    assert reader.count_verdicts(0, 2 * START_TS) == []
    assert reader.read_feed("0.0" if store.database.is_postgresql else "0")[1] == []
    assert reader.read_feed(position)[1] == []


def test_the_feed_gives_each_arrival_once(machine: Machine) -> None:
    """From a position on, everything that arrives is seen once, in the order of arrival."""
    machine.send(*CHAIN[:5])
    position = machine.store.read_as(machine.organisation).read_feed_position()
    assert machine.store.read_as(machine.organisation).read_feed(position)[1] == []
    machine.send(*CHAIN[5:9])
    position, first = machine.store.read_as(machine.organisation).read_feed(position, limit=3)
    position, second = machine.store.read_as(machine.organisation).read_feed(position, limit=3)

    assert [entry["seq"] for entry in first + second] == [6, 7, 8, 9]
    assert machine.store.read_as(machine.organisation).read_feed(position) == (position, [])


def test_a_machine_with_another_key_cannot_take_a_name(store: TeamStore) -> None:
    """The same key enrols again, another is refused until the machine is revoked by a person."""
    machine = add_machine(store)

    assert store.add_machine(machine.organisation, "ana", b"ana", NOW) == machine.id
    with pytest.raises(ServiceError, match="machine `ana` is enrolled with another key"):
        store.add_machine(machine.organisation, "ana", b"other", NOW)
    store.revoke_machine(machine.organisation, machine.id, NOW)
    assert store.read_as(machine.organisation).list_machines()[0].revoked == NOW
