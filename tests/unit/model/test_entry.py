"""One entry and its line."""

import json
from dataclasses import fields

import pytest

from verdikt.errors import ChainBroken, LedgerError
from verdikt.model.canonical_json import encode_canonical, sha256_hex
from verdikt.model.entry import SEAL_FIELDS, Entry, EntryKind, build_entry, decode_entry, seal_entry

DRAFT = Entry(seq=1, ts=1_700_000_000_000_000, session="s", kind=EntryKind.DECISION, body={"b": 1, "a": "ü"})


def test_the_hash_covers_every_field_but_the_seals() -> None:
    """By construction: change any of them and the hash is another."""
    entry, _ = seal_entry(DRAFT)
    others = {
        "seq": 2,
        "ts": 1,
        "session": "t",
        "kind": EntryKind.CRASH,
        "body": {},
        "prev": "1" * 64,
        "kid": "k",
        "v": 2,
    }

    assert {field.name for field in fields(Entry)} == {*others, *SEAL_FIELDS}
    for name, value in others.items():
        changed = Entry(**{**DRAFT.to_record(), name: value})
        assert seal_entry(changed)[0].hash != entry.hash, name


def test_the_hash_is_of_the_canonical_bytes() -> None:
    """So that anybody with RFC 8785 and SHA-256 can check a line without us."""
    entry, line = seal_entry(DRAFT)
    found = json.loads(line)
    rest = {key: value for key, value in found.items() if key not in SEAL_FIELDS}

    assert found["hash"] == sha256_hex(encode_canonical(rest)) == entry.hash


def test_a_frozen_line() -> None:
    """The format on disk: this line was written once and must stay readable."""
    line = (
        '{"body":{"a":"ü","b":1},"kid":"","kind":"decision","prev":"' + "0" * 64 + '","seq":1,"session":"s",'
        '"ts":1700000000000000,"v":1,"hash":"25963a57233385fa8dea02f6f94c71203112aa274cf45e11c49dbed0d666d843","sig":""}\n'
    ).encode()

    assert seal_entry(DRAFT)[1] == line
    given = {name: value for name, value in DRAFT.to_record().items() if name not in SEAL_FIELDS}
    assert build_entry(**given) == (decode_entry(line), line)


def test_a_line_reads_back() -> None:
    """Every field."""
    entry, line = seal_entry(DRAFT)

    assert decode_entry(line) == entry
    assert entry.to_line() == line


def test_an_entry_of_a_newer_version_is_refused_with_advice() -> None:
    """Never read as something it is not."""
    _, line = seal_entry(Entry(**{**DRAFT.to_record(), "v": 2}))

    with pytest.raises(LedgerError, match=r"expected an entry of version 1, found version `2`.*upgrade"):
        decode_entry(line)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\n",
        b"{}",
        b"null\n",
        b"[" * 5000,
        b"\xff\x00",
        b'{"hash":"x"}\n',
        b',"hash":"' + b"0" * 64 + b'","sig":""}\n',
    ],
)
def test_what_is_no_entry_is_refused(line: bytes) -> None:
    """Any bytes may stand in a file."""
    with pytest.raises(ChainBroken):
        decode_entry(line)


def test_an_entry_with_other_fields_is_refused() -> None:
    """Even when its hash is right."""
    payload = encode_canonical({"v": 1, "seq": 1, "extra": True})
    line = payload[:-1] + f',"hash":"{sha256_hex(payload)}","sig":""}}\n'.encode()

    with pytest.raises(ChainBroken, match="expected the fields of an entry"):
        decode_entry(line)


def test_an_entry_of_an_unknown_kind_is_refused_with_advice() -> None:
    """It is not damage: a newer verdikt wrote it."""
    payload = encode_canonical(
        {**{k: v for k, v in DRAFT.to_record().items() if k not in SEAL_FIELDS}, "kind": "prophecy"}
    )
    line = payload[:-1] + f',"hash":"{sha256_hex(payload)}","sig":""}}\n'.encode()

    with pytest.raises(LedgerError, match="is of kind `prophecy`, which this verdikt does not know: upgrade") as error:
        decode_entry(line)
    assert not isinstance(error.value, ChainBroken)
