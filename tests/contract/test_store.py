"""One suite for every store of the log."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cleanup import close_after_test
from tests.fakes import FakeClock
from tests.memory_store import MemoryStore
from verdikt.errors import CanonicalError, ChainBroken, LedgerError
from verdikt.ledger.files import FileStore
from verdikt.ledger.keys import Keyring
from verdikt.ledger.projections import Projection
from verdikt.ledger.store import OPERATOR, LogStore
from verdikt.model.entry import GENESIS_HASH, Entry, EntryKind

COUNT = Projection(name="count", initial=0, fold=lambda state, entry: state + 1)
TOOLS = Projection(
    name="tools",
    initial={"seen": []},
    fold=lambda state, entry: {"seen": [*state["seen"][-3:], entry.body["tool"]]},
    kinds=frozenset({EntryKind.TOOL_CALL}),
)
PROJECTIONS = (COUNT, TOOLS)


def _open_memory(tmp_path: Path) -> LogStore:
    return MemoryStore(FakeClock(), PROJECTIONS, Keyring(tmp_path / "keys", FakeClock()).get_signing_key)


def _open_files(tmp_path: Path) -> FileStore:
    return FileStore(tmp_path / "home", FakeClock(), PROJECTIONS, durable=False)


def _open_durable_files(tmp_path: Path) -> FileStore:
    return FileStore(tmp_path / "home", FakeClock(), PROJECTIONS)


STORES: dict[str, Callable[[Path], LogStore]] = {
    "memory": _open_memory,
    "files": _open_files,
    "durable files": _open_durable_files,
}


@pytest.fixture(params=STORES.values(), ids=STORES.keys())
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LogStore]:
    """Yield each store in turn, empty."""
    store: LogStore = request.param(tmp_path)
    yield store
    if isinstance(store, FileStore):
        store.close()


def fill(store: LogStore, count: int, session: str = "s") -> list[Entry]:
    """Append tool calls to a session and return the entries."""
    return [store.append(session, "tool_call", {"tool": f"t{at}"}) for at in range(count)]


def test_what_is_appended_is_read_back(store: LogStore) -> None:
    """Every field of every entry, in order."""
    written = fill(store, 5)

    assert list(store.read_entries("s")) == written
    assert [entry.seq for entry in written] == [1, 2, 3, 4, 5]


def test_each_entry_names_the_one_before(store: LogStore) -> None:
    """The first names none."""
    first, second, third = fill(store, 3)

    assert (first.prev, second.prev, third.prev) == (GENESIS_HASH, first.hash, second.hash)


def test_sessions_are_separate_chains(store: LogStore) -> None:
    """Two sessions count for themselves, whatever their ids look like."""
    ids = ["a", "A", "../a", "a/b", "_archive", ".", "ü", "x" * 500, "x" * 501, "a b", "%41", "nul\0", "con.1-2"]
    for session in ids:
        store.append(session, "tool_call", {"tool": session})

    # A store in files also has the operator's log, which introduces the others.
    assert [session for session in store.list_sessions() if session != OPERATOR] == sorted(ids)
    for session in ids:
        (entry,) = store.read_entries(session)
        assert (entry.session, entry.seq, entry.prev, entry.body) == (session, 1, GENESIS_HASH, {"tool": session})


def test_reading_may_begin_after_a_seq(store: LogStore) -> None:
    """`since` is the last seq that the reader already has."""
    written = fill(store, 10)

    assert list(store.read_entries("s", since=7)) == written[7:]
    assert list(store.read_entries("s", since=10)) == []
    assert list(store.read_entries("no such session")) == []


def test_the_head_is_the_last_entry(store: LogStore) -> None:
    """And seq 0 where there is none."""
    assert store.read_head("s").seq == 0

    last = fill(store, 3)[-1]

    assert (store.read_head("s").seq, store.read_head("s").hash) == (3, last.hash)


def test_an_entry_carries_the_time_of_the_clock(store: LogStore) -> None:
    """In whole microseconds, so that its canonical bytes need no floats."""
    entry = store.append("s", EntryKind.CRASH, {"where": "hook"})

    assert entry.ts == 1_700_000_000_000_000
    assert entry.timestamp_seconds == 1_700_000_000.0


def test_projections_follow_the_log(store: LogStore) -> None:
    """Every projection sees the entries that concern it."""
    fill(store, 5)
    store.append("s", "crash", {})

    assert store.read_projection("count", "s") == 6
    assert store.read_projection("tools", "s") == {"seen": ["t1", "t2", "t3", "t4"]}
    assert store.read_projection("count", "no such session") == 0


def test_a_projection_handed_out_is_a_copy(store: LogStore) -> None:
    """What a caller does to it stays with the caller."""
    fill(store, 1)
    store.read_projection("tools", "s")["seen"].append("forged")

    assert store.read_projection("tools", "s") == {"seen": ["t0"]}


def test_an_unknown_projection_is_refused(store: LogStore) -> None:
    """By name."""
    with pytest.raises(LedgerError, match="no projection `nothing`"):
        store.read_projection("nothing", "s")


def test_session_block_that_appends_reads_its_own_entries(store: LogStore) -> None:
    """Projections read inside a session block include the entries that the block has appended."""
    with store.session("s") as session:
        before = session.read_projection("count")
        session.append("tool_call", {"tool": "x"})
        session.append("tool_call", {"tool": "y"})
        after = session.read_projection("count")

    assert (before, after) == (0, 2)
    assert [entry.body["tool"] for entry in store.read_entries("s")] == ["x", "y"]


def test_session_block_that_raises_writes_nothing(store: LogStore) -> None:
    """The entries of a session block are written all or, when it raises, not at all."""
    fill(store, 1)

    with pytest.raises(RuntimeError), store.session("s") as session:
        session.append("tool_call", {"tool": "x"}, artifacts={"out": b"x"})
        raise RuntimeError("no")

    assert [entry.seq for entry in store.read_entries("s")] == [1]
    assert store.read_projection("count", "s") == 1
    assert [entry.seq for entry in fill(store, 1)] == [2]


def test_session_block_inside_one_of_the_same_session_is_refused(store: LogStore) -> None:
    """A nested block on the same session would wait for itself, so it raises at once."""
    with pytest.raises(LedgerError, match="already under way"), store.session("s"):
        store.append("s", "crash", {})

    assert fill(store, 1)[0].seq == 1


def test_store_used_as_context_manager_can_be_closed_twice(store: LogStore) -> None:
    """Closing releases what the store holds and loses no entry."""
    with store as same_store:
        entries = fill(same_store, 2)
    store.close()

    assert [entry.hash for entry in store.read_entries("s")] == [entry.hash for entry in entries]


def test_artifacts_are_kept_and_under_the_hash(store: LogStore) -> None:
    """Byte for byte, with their digests in the entry's body."""
    entry = store.append("s", "tool_call", {"tool": "Bash"}, artifacts={"stdout": b"\x00\xff\n", "stderr": b""})

    assert store.read_artifact("s", entry.seq, "stdout") == b"\x00\xff\n"
    assert entry.body["artifacts"]["stdout"]["bytes"] == 3
    assert entry.body["artifacts"]["stderr"]["sha256"].startswith("e3b0c442")
    with pytest.raises(LedgerError, match="no artifact `stdin`"):
        store.read_artifact("s", entry.seq, "stdin")


@pytest.mark.parametrize("kind", ["validator_pass", "grant", "posture", "key_rotation", "checkpoint", "rotation"])
def test_some_kinds_are_always_signed(store: LogStore, kind: str) -> None:
    """Whether or not the caller asks for it."""
    entry = store.append("s", kind, {})

    assert entry.kid.startswith("ed-")
    assert len(entry.sig) == 128


def test_other_kinds_are_signed_on_request(store: LogStore) -> None:
    """And name no key otherwise."""
    assert store.append("s", "decision", {}, sign=True).sig
    plain = store.append("s", "decision", {})
    assert (plain.kid, plain.sig) == ("", "")


@pytest.mark.parametrize("body", [{"x": float("nan")}, {"x": "\ud800"}, {1: 2}, {"x": object()}, {"x": b"bytes"}])
def test_what_has_no_canonical_bytes_is_refused(store: LogStore, body: Any) -> None:
    """And leaves nothing behind."""
    with pytest.raises(CanonicalError):
        store.append("s", "tool_call", {"tool": "x", **body})

    assert list(store.read_entries("s")) == []


def test_an_unknown_kind_is_refused(store: LogStore) -> None:
    """With the kinds there are."""
    with pytest.raises(LedgerError, match="expected one of tool_call, decision, .* found the kind `prophecy`"):
        store.append("s", "prophecy", {})


def test_an_empty_session_id_is_refused(store: LogStore) -> None:
    """An entry without a session id would belong to no chain."""
    with pytest.raises(LedgerError, match="expected a session id"):
        store.append("", "crash", {})


def test_threads_append_to_one_chain(store: LogStore) -> None:
    """Nothing is lost, doubled or out of order."""

    def work(name: str) -> None:
        for at in range(20):
            store.append("s", "tool_call", {"tool": f"{name}{at}"})

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    entries = list(store.read_entries("s"))
    assert [entry.seq for entry in entries] == list(range(1, 81))
    assert {entry.body["tool"] for entry in entries} == {f"{name}{at}" for name in "abcd" for at in range(20)}
    assert store.read_projection("count", "s") == 80


def test_reading_checks_the_chain(tmp_path: Path) -> None:
    """Reading a damaged log raises `ChainBroken` with the session and the place."""
    store = close_after_test(_open_files(tmp_path))
    fill(store, 3)
    path = tmp_path / "home" / "ledger" / "s.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"t1"', b'"t9"'))

    with pytest.raises(ChainBroken, match="session `s`: expected a body with digest"):
        list(store.read_entries("s"))
