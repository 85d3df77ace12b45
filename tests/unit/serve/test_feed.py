"""The live feed."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any, cast

import pytest

from tests.unit.serve.http_client import Site
from tests.unit.serve.submissions import add_machine
from tests.unit.team.chains import build_lines
from verdikt.serve import feed
from verdikt.serve.feed import open_feed, stream_feed
from verdikt.serve.feed_reads import FeedReads
from verdikt.serve.people import Person
from verdikt.serve.routes import ApiCall
from verdikt.serve.store import TeamStore
from verdikt.serve.store_reader import StoreReader

CHAIN = build_lines("s", range(1, 21))


@pytest.fixture
def site(store: TeamStore) -> Site:
    """Return a service on each database."""
    return Site(store)


async def read_events(site: Site, position: str, *, send: list[bytes], count: int) -> list[tuple[str, list[int]]]:
    """Return (id, sequence numbers) of the first events; lines are sent after the first one."""
    events = []
    stream = stream_feed(lambda: site.store.read_as(site.machine.organisation), position, FeedReads())
    async for event in stream:
        fields = dict(line.split(": ", 1) for line in event.decode().strip().split("\n"))
        events.append((fields["id"], [entry["seq"] for entry in json.loads(fields["data"])]))
        if len(events) == 1 and send:
            site.machine.send(*send)
        if len(events) == count:
            break
    await stream.aclose()
    return events


def test_the_feed_tells_what_arrives_and_continues_after_a_break(site: Site) -> None:
    """The first event names the position; a reader that returns with the last id misses and repeats nothing."""
    site.machine.send(*CHAIN[:5])
    first = asyncio.run(read_events(site, "", send=CHAIN[5:8], count=2))
    site.machine.send(*CHAIN[8:12])
    again = asyncio.run(read_events(site, first[-1][0], send=[], count=2))

    assert [numbers for _, numbers in first] == [[], [6, 7, 8]]
    assert [numbers for _, numbers in again] == [[], [9, 10, 11, 12]]


@pytest.mark.parametrize("position", ["x", "1.2.3", "-1", "'; DROP TABLE entry"])
def test_a_foreign_position_begins_now(site: Site, position: str) -> None:
    """What a browser sends as its last id is data from outside."""
    site.machine.send(*CHAIN[:5])

    assert asyncio.run(read_events(site, position, send=[], count=1))[0][1] == []


def test_the_feed_ends_with_the_login(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cookie that was stolen and ended shows nothing more, though its stream is open."""
    monkeypatch.setattr(feed, "CHECK_SECONDS", 0.03)
    readers = [site.store.read_as(site.machine.organisation)] * 2

    async def read_all() -> list[bytes]:
        return [event async for event in stream_feed(lambda: readers.pop() if readers else None, "", FeedReads(0.01))]

    events = asyncio.run(read_all())
    assert (len(events), readers) == (1, [])


def test_viewers_who_see_the_same_share_their_reads(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many look, and whenever each began, one read tells all of them; those who see less read by themselves."""
    site.machine.send(*CHAIN[:2])
    everybody, other = site.store.read_as(site.machine.organisation), site.store.read_as(site.machine.organisation)
    nothing = site.store.read_as(site.machine.organisation, frozenset())
    positions: list[tuple[object, str]] = []
    read_feed = StoreReader.read_feed

    def count(reader: StoreReader, position: str, limit: int) -> tuple[str, list[dict[str, Any]]]:
        positions.append((reader.visibility, position))
        return read_feed(reader, position, limit)

    monkeypatch.setattr(StoreReader, "read_feed", count)

    async def look() -> list[list[int]]:
        reads, seen = FeedReads(0.05), [[] for _ in range(21)]  # type: list[list[int]]

        async def view(number: int) -> None:
            reader = nothing if number == 20 else (everybody, other)[number % 2]
            await asyncio.sleep(0.01 * number)
            async for event in stream_feed(lambda: reader, "", reads):
                entries = json.loads(event.partition(b"data: ")[2] or b"[]")
                seen[number] += [entry["seq"] for entry in entries]
                if seen[number][-1:] == [4]:
                    return

        tasks = [asyncio.create_task(view(number)) for number in range(21)]
        await asyncio.sleep(0.5)
        positions.clear()
        await asyncio.to_thread(site.machine.send, *CHAIN[2:4])
        await asyncio.gather(*tasks[:20])
        while nothing.visibility not in {visibility for visibility, _ in positions}:
            await asyncio.sleep(0.01)
        tasks[20].cancel()
        return seen

    seen = asyncio.run(look())

    assert seen == [[3, 4]] * 20 + [[]]
    by_visibility = Counter(visibility for visibility, _ in positions)
    assert len(by_visibility) == 2
    # By themselves, twenty would have read twenty times as often as one.
    assert by_visibility[everybody.visibility] < 10 * by_visibility[nothing.visibility]


@pytest.mark.parametrize(
    ("roles", "other_organisation", "sessions"),
    [
        (["auditor"], False, {"s", "hidden"}),
        (["viewer"], False, {"s"}),
        (["approver"], False, {"s"}),
        (["developer"], False, set()),
        (["auditor"], True, set()),
    ],
    ids=["auditor", "viewer", "approver", "developer", "auditor of another organisation"],
)
def test_the_feed_shows_what_its_person_may_see(
    site: Site, roles: list[str], sessions: set[str], *, other_organisation: bool
) -> None:
    """Their own machines and their team's, for some roles all, and nothing of another organisation."""
    site.machine.send(*CHAIN[:2])
    add_machine(site.store, "secret-host", team="payments").send(*build_lines("hidden", range(1, 3)))
    cookie = site.sign_in(*roles, other_organisation=other_organisation).cookies[site.service.cookie_name]
    site.service.feed_reads = FeedReads(0.01)
    position = {"position": "0.0" if site.store.database.is_postgresql else "0"}
    call = ApiCall(site.service, None, {}, position, b"", {site.service.cookie_name: cookie})

    async def read() -> list[dict[str, Any]]:
        stream = cast("AsyncGenerator[bytes]", open_feed(call).body_iterator)
        entries: list[dict[str, Any]] = []
        with suppress(TimeoutError):
            async with asyncio.timeout(0.5 if not sessions else 30):
                async for event in stream:
                    entries += json.loads(event.partition(b"data: ")[2] or b"[]")
                    if entries:
                        break
        await stream.aclose()
        return entries

    assert {entry["session"] for entry in asyncio.run(read())} == sessions


def test_the_feed_needs_a_login(site: Site) -> None:
    """Nothing is streamed to others, nor to a program, whose token would be looked at by no page."""
    id = site.people.ensure_person(site.machine.organisation, "ana", "Ana", frozenset({"auditor"}))
    person = Person(id, site.machine.organisation, "Ana", frozenset({"auditor"}))
    token = site.service.tokens.create_token(person, "ci", frozenset({"read"}), 1, site.clock.now())
    client = site.open_client()

    assert client.get("/v1/feed").status_code == 401
    assert client.get("/v1/feed", headers={"Authorization": f"Bearer {token}"}).status_code == 403
