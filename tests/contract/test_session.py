"""Every session store keeps the same promises."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.graphs import ACTION, ScriptedGuard
from verdikt.engine import PolicyEngine
from verdikt.graph.session_store import InMemorySessionStore, SessionStore
from verdikt.ledger.session import SQLiteSessionStore

STORES: dict[str, Callable[[Path], SessionStore]] = {
    "memory": lambda tmp_path: InMemorySessionStore(),
    "sqlite": lambda tmp_path: SQLiteSessionStore(tmp_path / "sessions.db"),
}


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SessionStore]:
    """Yield each store in turn, empty."""
    store = STORES[request.param](tmp_path)
    yield store
    if isinstance(store, SQLiteSessionStore):
        store.close()


def test_what_is_put_is_there_the_next_time(store: SessionStore) -> None:
    """Counters, history and slots, per session."""
    with store.open("a") as state:
        assert (state.session_id, state.action_count, state.slots) == ("a", 0, {})
        state.action_count = 3
        state.risk = 0.25
        state.history.append({"kind": "read", "success": None})
        state.slots["budget"] = {"used": 2}
    with store.open("a") as state:
        assert (state.action_count, state.risk) == (3, 0.25)
        assert state.history == [{"kind": "read", "success": None}]
        assert state.slots == {"budget": {"used": 2}}
    with store.open("b") as state:
        assert state.action_count == 0


def test_a_block_that_fails_changes_nothing(store: SessionStore) -> None:
    """And the store can be used afterwards."""
    with pytest.raises(ZeroDivisionError), store.open("a") as state:
        state.action_count = 3
        raise ZeroDivisionError
    with store.open("a") as state:
        assert state.action_count == 0


def test_what_was_handed_out_does_not_change_later(store: SessionStore) -> None:
    """Results keep the state that they were made from."""
    with store.open("a") as first:
        first.slots["list"] = [1]
    with store.open("a") as second:
        second.slots["list"].append(2)
        second.history.append({"n": 1})

    assert (first.slots, first.history) == ({"list": [1]}, [])


@pytest.mark.parametrize("session_id", ["", "a\0b", "\ud800", "../../etc", "x" * 100_000, "ключ"])
def test_any_text_is_a_session_id(store: SessionStore, session_id: str) -> None:
    """Hosts choose them."""
    for count in range(2):
        with store.open(session_id) as state:
            assert (state.session_id, state.action_count) == (session_id, count)
            state.action_count += 1


def test_threads_wait_for_each_other(store: SessionStore) -> None:
    """No count is lost."""
    engine = PolicyEngine(ScriptedGuard("pass"), session_store=store)
    threads = [threading.Thread(target=lambda: [engine.evaluate(ACTION) for _ in range(25)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert engine.evaluate(ACTION).context.session.action_count == 101
