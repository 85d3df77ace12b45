"""What guidance remembers between two calls."""

from functools import partial

from verdikt.model.session_state import Memory, StoredMemory


def test_a_value_changed_in_place_stays_as_it_was_kept() -> None:
    state = {"kept": {"seen": ["a"]}, "marks": ""}
    Memory(StoredMemory(partial(dict, state))).get("seen").append("b")
    assert Memory(StoredMemory(partial(dict, state))).get("seen") == ["a"]
