"""Bodies that are small to send and large or deep to read: refused by every route, and none of them a failure."""

import json
import re
from pathlib import Path

import orjson
import pytest

from tests.cleanup import close_after_test
from tests.unit.serve.http_client import ORIGIN, Site
from tests.unit.serve.submissions import NOW
from verdikt.errors import WireError
from verdikt.model.canonical_json import sha256_hex
from verdikt.model.entry import EntryKind, build_entry
from verdikt.serve.api import ROUTES
from verdikt.serve.app import WRITE_HEADER
from verdikt.serve.ingest import Submission
from verdikt.serve.people import ROLES
from verdikt.serve.store import TeamStore
from verdikt.team.wire import parse_batch

MAX_SHOWN_DEPTH = 200
WRITES = [route for route in ROUTES if route.is_write]
BOMBS = {
    "deep list": b"[" * 200_000,
    "deep object": b'{"a":' * 100_000,
    "closed and deep": b'{"a":' + b"[" * 90_000 + b"]" * 90_000 + b"}",
    "long number": b'{"a":' + b"9" * 200_000 + b"}",
    "many keys": b"{" + b",".join(b'"%d":0' % number for number in range(15_000)) + b"}",
    "no text": b'{"a":"\xff\xfe"}',
    "same key twice": b'{"approved":true,"approved":false}',
}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Return a service on SQLite: what is refused here is refused before the database."""
    return Site(close_after_test(TeamStore(f"sqlite:///{tmp_path / 'team.db'}", create=True)))


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS.keys())
def test_every_write_refuses_what_is_no_small_object(site: Site, bomb: bytes) -> None:
    """With the right to write, so that the body is read; some need none."""
    client = site.sign_in(*ROLES)
    headers = {"Origin": ORIGIN, WRITE_HEADER: "1", "Content-Type": "application/json"}
    statuses = {}
    for route in sorted(WRITES, key=lambda route: route.path == "/v1/sign-out"):
        path = re.sub(r"{\w+}", "1", route.path)
        statuses[route.path] = client.post(path, content=bomb, headers=headers).status_code

    assert {path: status for path, status in statuses.items() if status >= 500} == {}


@pytest.mark.parametrize("depth", [50, 200, 900, 5000, 100_000])
def test_an_entry_that_is_deep_is_refused_or_shown(site: Site, depth: int) -> None:
    """Its hash is right: a machine may have written it. What is stored can be looked at, verified and exported."""
    body = b'{"x":' + b"[" * depth + b"]" * depth + b"}"
    line = build_entry(seq=1, ts=1, session="deep", kind=EntryKind.GAP, body={"x": "Q"}, prev="0" * 64)[1]
    payload = line[: line.find(b',"hash":')].replace(sha256_hex(b'{"x":"Q"}').encode(), sha256_hex(body).encode())
    deep = payload + f',"hash":"{sha256_hex(payload + b"}")}","sig":"","body":'.encode() + body + b"}\n"
    try:
        # Read as the service reads what machines send; what it does not take is 422.
        (stretch,) = parse_batch(deep, orjson.loads)
    except WireError:
        assert depth > MAX_SHOWN_DEPTH
        return
    site.store.ingest([Submission(site.machine.organisation, site.machine.id, stretch)], NOW)
    client = site.sign_in("auditor")
    chain = client.get("/v1/sessions?q=session:deep").json()["sessions"][0]["chain"]
    shown = client.get(f"/v1/entries/{chain}/1")

    assert shown.status_code == 200
    assert json.loads(shown.text)["line"].encode() == deep
    assert client.get(f"/v1/sessions/{chain}/verification").json()["intact"]
    assert client.get("/v1/export?q=session:deep").content == deep
