"""The state that a session carries from one action to the next."""

from functools import partial

from verdikt.model.session_state import Memory, StoredMemory


def test_memory_value_changed_by_a_caller_does_not_change_the_state() -> None:
    """A caller that changes a list it got does not change the stored list."""
    state = {"kept": {"seen": ["a"]}, "marks": ""}
    Memory(StoredMemory(partial(dict, state))).get("seen").append("b")
    assert Memory(StoredMemory(partial(dict, state))).get("seen") == ["a"]
