"""Who leads, with real threads."""

import threading
import time

from tests.contract.warm import eventually
from verdikt.daemon import lead
from verdikt.daemon.lead import Lead


def test_the_lead_is_taken_from_nobody_but_who_lends_it() -> None:
    """However the threads meet, one leads at a time; and whoever was told that it still leads does."""
    over, inside, seen, turns = threading.Event(), threading.Lock(), [], [0]

    def work() -> None:
        while held.mine() and not over.is_set():
            alone = inside.acquire(blocking=False)
            seen.append(alone)
            time.sleep(0.0005)
            if alone:
                inside.release()
            held.lend()
            time.sleep(0.0005)
            held.take_back()
            turns[0] += 1

    held = Lead(work)
    assert held.start()
    eventually("there were many turns", lambda: (held.watch(time.monotonic() + lead.TURN_SECONDS), turns[0] > 300)[1])
    over.set()
    assert all(seen)
    assert held._threads > 1


def test_who_does_not_lend_the_lead_keeps_it() -> None:
    """Long as it may take."""
    over, leading = threading.Event(), []

    def work() -> None:
        leading.append(threading.get_ident())
        over.wait(60)

    held = Lead(work)
    held.start()
    eventually("somebody leads", lambda: leading)
    held.watch(time.monotonic() + 1000)
    assert (held._threads, held._holder) == (1, leading[0])
    over.set()


def test_a_thread_that_is_at_something_leaves_no_room_although_it_lends_no_more() -> None:
    """It gives its answer, and that may take long as well."""
    over, found = threading.Event(), []

    def work() -> None:
        if held._threads == 1:
            held.lend()
            eventually("another leads", lambda: not held.mine())
            held.take_back()
            over.wait(60)
        elif held.mine():
            found.append(held.room())
            over.wait(60)

    held = Lead(work, 1)
    held.start()
    eventually("it is lent", lambda: held._lent)
    assert held.room()
    eventually("another leads", lambda: (held.watch(time.monotonic() + 1000), found)[1])
    over.set()
    assert found == [False]


def test_there_are_never_more_threads_than_may_be_nor_more_that_wait_than_are_of_use() -> None:
    """Those who are done and not needed end."""
    go_on = threading.Event()

    def work() -> None:
        while held.mine():
            held.lend()
            go_on.wait(60)
            time.sleep(0.0005)
            held.take_back()

    held, later = Lead(work, 4), time.monotonic() + 10_000
    held.start()
    eventually("all are busy", lambda: (held.watch(later), len(held._lent) == 5)[1])
    held.watch(later)
    assert (held._threads, held.room(), held.start()) == (5, False, False)
    go_on.set()
    eventually("most have ended", lambda: held._threads == held._waiting + 1 == lead.SPARE_THREADS + 1)
    eventually("it is over", held.seize)


def test_a_thread_that_waits_leads_where_no_more_can_be_started() -> None:
    """Nobody is left without a leader."""
    over = threading.Event()

    def work() -> None:
        held.lend()
        over.wait(60)
        held.take_back()

    held = Lead(work, 1)
    assert (held.start(), held.start(), held.start()) == (True, True, False)
    first = eventually("one is busy and one waits", lambda: held._waiting == 1 and held._lent and held._holder)
    held.watch(time.monotonic() + 1000)
    eventually("the other leads", lambda: held._holder not in (0, first))
    assert held._threads == 2
    over.set()


def test_the_lead_is_seized_from_nobody_but_who_lends_it() -> None:
    """And never comes back."""
    lending, over, led = threading.Event(), threading.Event(), []

    def work() -> None:
        led.append(held.mine())
        lending.wait(60)
        held.lend()
        over.wait(60)
        led.append(held.take_back())

    held = Lead(work)
    held.start()
    eventually("somebody leads", lambda: led)
    assert not held.seize()
    lending.set()
    eventually("it is lent", lambda: held._lent)
    assert held.seize()
    assert held.mine()
    held.watch(time.monotonic() + 1000)
    over.set()
    eventually("the first is done", lambda: len(led) == 2)
    assert (led, held.mine()) == ([True, False], True)
