"""Refusals of turns are counted by session, and the count is bounded."""

from concurrent.futures import ThreadPoolExecutor

from verdikt.integrations.refusal_counter import _MAX_SESSIONS, RefusalCounter


def test_count_is_of_one_session_and_begins_again_after_a_reset() -> None:
    """One agent's refusals are not another's."""
    counter = RefusalCounter()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(counter.add, ["a"] * 200))

    assert (counter.get_count("a"), counter.get_count("b")) == (200, 0)
    counter.reset("a")
    assert counter.get_count("a") == 0


def test_count_of_the_oldest_session_is_forgotten_first() -> None:
    """A program that runs for months does not fill its memory with sessions."""
    counter = RefusalCounter()
    for number in range(_MAX_SESSIONS):
        counter.add(str(number))
    counter.add("0")
    counter.add("new")

    assert (counter.get_count("0"), counter.get_count("1"), counter.get_count("new")) == (2, 0, 1)
