"""Who leads, with real threads."""

import threading
import time

from tests.cleanup import close_after_test
from tests.contract.warm import eventually
from verdikt.daemon import leader
from verdikt.daemon.leader import LeaderLock


def test_the_lead_is_taken_from_nobody_but_who_lends_it() -> None:
    """However the threads meet, one leads at a time; and whoever was told that it still leads does."""
    over, inside, seen, turns = threading.Event(), threading.Lock(), [], [0]

    def work() -> None:
        while held.is_leader() and not over.is_set():
            alone = inside.acquire(blocking=False)
            seen.append(alone)
            time.sleep(0.0005)
            if alone:
                inside.release()
            held.yield_()
            time.sleep(0.0005)
            held.reclaim()
            turns[0] += 1

    held = close_after_test(LeaderLock(work))
    assert held.add_follower()
    eventually(
        "there were many turns",
        lambda: (held.replace_slow_leader(time.monotonic() + leader.LEADER_TURN_SECONDS), turns[0] > 300)[1],
    )
    over.set()
    assert all(seen)
    assert held._thread_count > 1


def test_who_does_not_lend_the_lead_keeps_it() -> None:
    """Long as it may take."""
    over, leading = threading.Event(), []

    def work() -> None:
        leading.append(threading.get_ident())
        over.wait(60)

    held = close_after_test(LeaderLock(work))
    held.add_follower()
    eventually("somebody leads", lambda: leading)
    held.replace_slow_leader(time.monotonic() + 1000)
    assert (held._thread_count, held._leader_ident) == (1, leading[0])
    over.set()


def test_a_thread_that_is_at_something_leaves_no_room_although_it_lends_no_more() -> None:
    """It gives its answer, and that may take long as well."""
    over, found = threading.Event(), []

    def work() -> None:
        if held._thread_count == 1:
            held.yield_()
            eventually("another leads", lambda: not held.is_leader())
            held.reclaim()
            over.wait(60)
        elif held.is_leader():
            found.append(held.has_capacity())
            over.wait(60)

    held = close_after_test(LeaderLock(work, 1))
    held.add_follower()
    eventually("it is lent", lambda: held._yielded_since)
    assert held.has_capacity()
    eventually("another leads", lambda: (held.replace_slow_leader(time.monotonic() + 1000), found)[1])
    over.set()
    assert found == [False]


def test_there_are_never_more_threads_than_may_be_nor_more_that_wait_than_are_of_use() -> None:
    """Those who are done and not needed end."""
    go_on = threading.Event()

    def work() -> None:
        while held.is_leader():
            held.yield_()
            go_on.wait(60)
            time.sleep(0.0005)
            held.reclaim()

    held, later = close_after_test(LeaderLock(work, 4)), time.monotonic() + 10_000
    held.add_follower()
    eventually("all are busy", lambda: (held.replace_slow_leader(later), len(held._yielded_since) == 5)[1])
    held.replace_slow_leader(later)
    assert (held._thread_count, held.has_capacity(), held.add_follower()) == (5, False, False)
    go_on.set()
    eventually(
        "most have ended", lambda: held._thread_count == held._waiting_count + 1 == leader.MAX_WAITING_THREADS + 1
    )
    eventually("it is over", held.force)


def test_a_thread_that_waits_leads_where_no_more_can_be_started() -> None:
    """Nobody is left without a leader."""
    over = threading.Event()

    def work() -> None:
        held.yield_()
        over.wait(60)
        held.reclaim()

    held = close_after_test(LeaderLock(work, 1))
    assert (held.add_follower(), held.add_follower(), held.add_follower()) == (True, True, False)
    first = eventually(
        "one is busy and one waits", lambda: held._waiting_count == 1 and held._yielded_since and held._leader_ident
    )
    held.replace_slow_leader(time.monotonic() + 1000)
    eventually("the other leads", lambda: held._leader_ident not in (0, first))
    assert held._thread_count == 2
    over.set()


def test_the_lead_is_seized_from_nobody_but_who_lends_it() -> None:
    """And never comes back."""
    lending, over, led = threading.Event(), threading.Event(), []

    def work() -> None:
        led.append(held.is_leader())
        lending.wait(60)
        held.yield_()
        over.wait(60)
        led.append(held.reclaim())

    held = close_after_test(LeaderLock(work))
    held.add_follower()
    eventually("somebody leads", lambda: led)
    assert not held.force()
    lending.set()
    eventually("it is lent", lambda: held._yielded_since)
    assert held.force()
    assert held.is_leader()
    held.replace_slow_leader(time.monotonic() + 1000)
    over.set()
    eventually("the first is done", lambda: len(led) == 2)
    assert (led, held.is_leader()) == ([True, False], True)
