"""The leader lock, with real threads."""

import threading
import time

from tests.contract.warm import wait_until
from verdikt.daemon import leader
from verdikt.daemon.leader import LeaderLock


def test_only_one_thread_leads_at_a_time() -> None:
    """However the threads interleave, only one leads, and a thread that reclaimed the lead has it."""
    over, inside, exclusive, turns = threading.Event(), threading.Lock(), [], [0]

    def run_leader() -> None:
        while lock.is_leader() and not over.is_set():
            alone = inside.acquire(blocking=False)
            exclusive.append(alone)
            time.sleep(0.0005)
            if alone:
                inside.release()
            lock.yield_()
            time.sleep(0.0005)
            lock.reclaim()
            turns[0] += 1

    lock = LeaderLock(run_leader)
    assert lock.add_follower()
    wait_until(
        "there were many turns",
        lambda: (lock.replace_slow_leader(time.monotonic() + leader.LEADER_TURN_SECONDS), turns[0] > 300)[1],
    )
    over.set()
    assert all(exclusive)
    assert lock._thread_count > 1
    lock.close(60)
    assert not any(thread.is_alive() for thread in lock._threads)


def test_leader_that_has_not_yielded_is_not_replaced() -> None:
    """A leader that has not yielded keeps the lead, however long it takes."""
    over, leaders = threading.Event(), []

    def run_leader() -> None:
        leaders.append(threading.get_ident())
        over.wait(60)

    lock = LeaderLock(run_leader)
    lock.add_follower()
    wait_until("a thread leads", lambda: leaders)
    lock.replace_slow_leader(time.monotonic() + 1000)
    assert (lock._thread_count, lock._leader_ident) == (1, leaders[0])
    over.set()
    lock.close(60)
    assert not any(thread.is_alive() for thread in lock._threads)


def test_capacity_counts_threads_that_lost_the_lead() -> None:
    """A thread that lost the lead and is still busy counts against the limit."""
    over, capacities = threading.Event(), []

    def run_leader() -> None:
        if lock._thread_count == 1:
            lock.yield_()
            wait_until("another leads", lambda: not lock.is_leader())
            lock.reclaim()
            over.wait(60)
        elif lock.is_leader():
            capacities.append(lock.has_capacity())
            over.wait(60)

    lock = LeaderLock(run_leader, 1)
    lock.add_follower()
    wait_until("the lead is yielded", lambda: lock._yielded_since)
    assert lock.has_capacity()
    wait_until("another leads", lambda: (lock.replace_slow_leader(time.monotonic() + 1000), capacities)[1])
    over.set()
    assert capacities == [False]
    lock.close(60)
    assert not any(thread.is_alive() for thread in lock._threads)


def test_number_of_threads_is_bounded() -> None:
    """There are never more threads than the limit, and superfluous followers end."""
    go_on = threading.Event()

    def run_leader() -> None:
        while lock.is_leader():
            lock.yield_()
            go_on.wait(60)
            time.sleep(0.0005)
            lock.reclaim()

    lock, later = LeaderLock(run_leader, 4), time.monotonic() + 10_000
    lock.add_follower()
    wait_until("all are busy", lambda: (lock.replace_slow_leader(later), len(lock._yielded_since) == 5)[1])
    lock.replace_slow_leader(later)
    assert (lock._thread_count, lock.has_capacity(), lock.add_follower()) == (5, False, False)
    go_on.set()
    wait_until(
        "superfluous threads have ended",
        lambda: lock._thread_count == lock._waiting_count + 1 == leader.MAX_WAITING_THREADS + 1,
    )
    wait_until("the lead is free", lock.force)
    lock.close(60)
    assert not any(thread.is_alive() for thread in lock._threads)


def test_waiting_follower_takes_over_when_no_thread_can_be_added() -> None:
    """A waiting follower takes over although the limit of threads is reached."""
    over = threading.Event()

    def run_leader() -> None:
        lock.yield_()
        over.wait(60)
        lock.reclaim()

    lock = LeaderLock(run_leader, 1)
    assert (lock.add_follower(), lock.add_follower(), lock.add_follower()) == (True, True, False)
    first = wait_until(
        "one is busy and one waits", lambda: lock._waiting_count == 1 and lock._yielded_since and lock._leader_ident
    )
    lock.replace_slow_leader(time.monotonic() + 1000)
    wait_until("the other leads", lambda: lock._leader_ident not in (0, first))
    assert lock._thread_count == 2
    over.set()
    lock.close(60)
    assert not any(thread.is_alive() for thread in lock._threads)


def test_lead_is_forced_only_while_it_is_yielded() -> None:
    """The lead can be forced only while it is yielded, and then does not return."""
    yielding, over, leads = threading.Event(), threading.Event(), []

    def run_leader() -> None:
        leads.append(lock.is_leader())
        yielding.wait(60)
        lock.yield_()
        over.wait(60)
        leads.append(lock.reclaim())

    lock = LeaderLock(run_leader)
    lock.add_follower()
    wait_until("a thread leads", lambda: leads)
    assert not lock.force()
    yielding.set()
    wait_until("the lead is yielded", lambda: lock._yielded_since)
    assert lock.force()
    assert lock.is_leader()
    lock.replace_slow_leader(time.monotonic() + 1000)
    over.set()
    wait_until("the first is done", lambda: len(leads) == 2)
    assert (leads, lock.is_leader()) == ([True, False], True)
    lock.close(60)
    assert not any(thread.is_alive() for thread in lock._threads)
