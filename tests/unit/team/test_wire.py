"""What a machine sends, and what is refused before a store sees it."""

import pytest

from tests.unit.team.chains import build_lines
from verdikt.errors import WireError
from verdikt.model.canonical_json import encode_canonical, sha256_hex
from verdikt.model.entry import decode_entry
from verdikt.team import wire


def seal_fields(**changes: object) -> bytes:
    """Return a line with a right hash over fields that a hostile machine chose."""
    fields: dict[str, object] = {
        "body_sha256": sha256_hex(b"{}"),
        "kid": "",
        "kind": "gap",
        "prev": "0" * 64,
        "seq": 1,
        "session": "s",
        "ts": 1,
        "v": 2,
        **changes,
    }
    payload = encode_canonical(fields)
    return payload[:-1] + f',"hash":"{sha256_hex(payload)}","sig":"","body":{{}}}}\n'.encode()


def seal_surrogate_session() -> bytes:
    """Return a line whose session is a lone surrogate, which canonical JSON refuses and an escape can smuggle in."""
    payload = seal_fields()[: seal_fields().find(b',"hash":"')].replace(b'"session":"s"', b'"session":"\\ud800"') + b"}"
    return payload[:-1] + f',"hash":"{sha256_hex(payload)}","sig":"","body":{{}}}}\n'.encode()


def build_bare_line() -> bytes:
    """Return a line without its body."""
    return decode_entry(build_lines("a", [1])[0]).to_line(with_body=False)


def test_parse_batch_groups_lines_by_session() -> None:
    """Lines of several sessions may alternate; each session's lines keep their bytes and their order."""
    a, b = build_lines("a", range(1, 4)), build_lines("b", range(1, 3))
    stretches = wire.parse_batch(a[0] + b[0] + a[1] + a[2] + b[1])

    assert [(stretch.session, [line.line for line in stretch.lines]) for stretch in stretches] == [("a", a), ("b", b)]
    assert (stretches[0].first_seq, stretches[0].head.seq) == (1, 3)


def test_parse_batch_accepts_lines_without_bodies() -> None:
    """At the level `index`, bodies stay on the machine."""
    lines = [decode_entry(line).to_line(with_body=False) for line in build_lines("a", range(1, 4))]

    assert [line.line for line in wire.parse_batch(b"".join(lines))[0].lines] == lines


def test_parse_batch_attaches_an_index_to_its_entry() -> None:
    """A machine that keeps bodies says what may be searched for."""
    data = build_bare_line() + wire.format_index({"verdict": "block"})
    (line,) = wire.parse_batch(data)[0].lines

    assert (line.line, line.index) == (build_bare_line(), {"verdict": "block"})


def test_parse_batch_of_nothing_is_empty() -> None:
    """An empty batch has no stretches."""
    assert wire.parse_batch(b"") == []


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"{}\n", "line 1: expected an entry"),
        (b"\n", "line 1: expected an entry"),
        (b"".join(build_lines("a", range(1, 3)))[:-1], "line 2: expected a newline"),
        (build_lines("a", [1])[0].replace(b"echo 1", b"echo 2"), "line 1: expected a body with digest"),
        (b"".join(build_lines("a", range(1, 4))[::2]), "line 2: expected entry 2 of its session"),
        (b"".join(build_lines("a", range(1, 3))[::-1]), "line 2: expected entry 3 of its session"),
        (build_lines("a", [1])[0] * 2, "line 2: expected entry 2"),
        (seal_fields(v=3), "line 1: version `3` is newer"),
        (seal_fields(session=""), "expected a session of 1 to 300"),
        (seal_fields(session="s" * 301), "expected a session of 1 to 300"),
        (seal_fields(session="a\0b"), "expected a session"),
        (seal_fields(session=7), "expected a session"),
        (seal_surrogate_session(), "expected a session"),
        (seal_fields(seq=0), "expected a positive sequence number"),
        (seal_fields(seq=True), "expected a positive sequence number"),
        (seal_fields(seq="1"), "expected a positive sequence number"),
        (seal_fields(ts=-1), "expected a time"),
        (seal_fields(ts=1.5), "expected a time"),
        (seal_fields(kind=None), "expected text as kind"),
        (seal_fields(prev=[]), "expected text as kind, prev"),
        (b"x" * (wire.MAX_LINE_BYTES + 1) + b"\n", "expected at most 1048576 bytes"),
        (b"\n" * (2 * wire.MAX_BATCH_ENTRIES + 1), "expected at most 4000 lines"),
        (b"".join(build_lines("a", range(1, wire.MAX_BATCH_ENTRIES + 2))), "expected at most 2000 entries, found 2001"),
        (b'{"index":{}}\n', "line 1: expected an index after an entry without its body"),
        (build_lines("a", [1])[0] + b'{"index":{}}\n', "line 2: expected an index after an entry without its body"),
        (build_bare_line() + b'{"index":5}\n', "line 2: expected an index"),
        (build_bare_line() + b'{"index":{}\n', "line 2: expected an index"),
        (b"x" * (wire.MAX_BATCH_BYTES + 1), "expected at most 8388608 bytes of lines"),
        (b"[" * 100_000 + b"\n", "line 1: expected an entry"),
    ],
)
def test_parse_batch_refuses_what_is_no_stretch_of_a_log(data: bytes, message: str) -> None:
    """Edits, drops, swaps, repeats, wrong types and sizes are named by their line."""
    with pytest.raises(WireError, match=message):
        wire.parse_batch(data)


def test_stretch_without_lines_cannot_be_built() -> None:
    """A stretch has a place in a chain."""
    with pytest.raises(WireError, match="at least one line"):
        wire.Stretch("s", ())
