"""One entry and its line."""

import json
from dataclasses import fields

import pytest

from verdikt.errors import ChainBroken, LedgerError
from verdikt.model.canonical_json import encode_canonical, sha256_hex
from verdikt.model.entry import SEAL_FIELDS, Entry, EntryKind, build_entry, decode_entry, seal_entry

DRAFT = Entry(seq=1, ts=1_700_000_000_000_000, session="s", kind=EntryKind.DECISION, body={"b": 1, "a": "ü"})


def test_hash_when_a_field_changes_is_another() -> None:
    """The hash covers every field but the seals."""
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


def test_hash_is_the_sha256_of_the_canonical_bytes() -> None:
    """RFC 8785 and SHA-256 suffice to check a line."""
    entry, line = seal_entry(DRAFT)
    fields = json.loads(line)
    hashed_fields = {key: value for key, value in fields.items() if key not in SEAL_FIELDS}

    assert fields["hash"] == sha256_hex(encode_canonical(hashed_fields)) == entry.hash


def test_line_of_the_vector_stays_readable() -> None:
    """The format on disk does not change: this line was written once."""
    line = (
        '{"body":{"a":"ü","b":1},"kid":"","kind":"decision","prev":"' + "0" * 64 + '","seq":1,"session":"s",'
        '"ts":1700000000000000,"v":1,'
        '"hash":"25963a57233385fa8dea02f6f94c71203112aa274cf45e11c49dbed0d666d843","sig":""}\n'
    ).encode()

    assert seal_entry(DRAFT)[1] == line
    fields = {name: value for name, value in DRAFT.to_record().items() if name not in SEAL_FIELDS}
    assert build_entry(**fields) == (decode_entry(line), line)


def test_decode_entry_returns_every_field() -> None:
    """Encoding and decoding an entry loses no field."""
    entry, line = seal_entry(DRAFT)

    assert decode_entry(line) == entry
    assert entry.to_line() == line


def test_decode_entry_of_a_newer_version_advises_to_upgrade() -> None:
    """An entry of an unknown version is never read as something else."""
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
def test_decode_entry_other_bytes_are_refused(line: bytes) -> None:
    """Bytes that are no entry raise `ChainBroken`."""
    with pytest.raises(ChainBroken):
        decode_entry(line)


def test_decode_entry_with_other_fields_is_refused() -> None:
    """Unknown fields are refused even when the hash is right."""
    payload = encode_canonical({"v": 1, "seq": 1, "extra": True})
    line = payload[:-1] + f',"hash":"{sha256_hex(payload)}","sig":""}}\n'.encode()

    with pytest.raises(ChainBroken, match="expected the fields of an entry"):
        decode_entry(line)


def test_decode_entry_of_an_unknown_kind_advises_to_upgrade() -> None:
    """An unknown kind is no damage: a newer verdikt wrote it."""
    payload = encode_canonical(
        {**{k: v for k, v in DRAFT.to_record().items() if k not in SEAL_FIELDS}, "kind": "prophecy"}
    )
    line = payload[:-1] + f',"hash":"{sha256_hex(payload)}","sig":""}}\n'.encode()

    with pytest.raises(LedgerError, match="is of kind `prophecy`, which this verdikt does not know: upgrade") as error:
        decode_entry(line)
    assert not isinstance(error.value, ChainBroken)
