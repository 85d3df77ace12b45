"""What guidance remembers between two calls."""

from verdikt.model.memory import Memory, Recalled


def test_a_value_changed_in_place_stays_as_it_was_kept() -> None:
    state = {"kept": {"seen": ["a"]}, "marks": ""}
    Memory(Recalled(state)).get("seen").append("b")
    assert Memory(Recalled(state)).get("seen") == ["a"]
