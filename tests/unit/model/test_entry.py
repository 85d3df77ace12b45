"""One entry and its line."""

import json
from dataclasses import fields, replace

import pytest

from verdikt.errors import ChainBroken, LedgerError
from verdikt.model.canonical_json import encode_canonical, sha256_hex
from verdikt.model.entry import (
    ABSENT_BODY,
    SEAL_FIELDS,
    Entry,
    EntryKind,
    build_entry,
    decode_entry,
    seal_entry,
    unseal_line,
)

DRAFT = Entry(seq=1, ts=1_700_000_000_000_000, session="s", kind=EntryKind.DECISION, body={"b": 1, "a": "ü"})
DRAFT_V1 = replace(DRAFT, v=1)


@pytest.mark.parametrize("draft", [DRAFT_V1, DRAFT], ids=["v1", "v2"])
def test_hash_when_a_field_changes_is_another(draft: Entry) -> None:
    """The hash covers every field but the seals, in version 2 the body by its digest."""
    entry, _ = seal_entry(draft)
    others = {
        "seq": 2,
        "ts": 1,
        "session": "t",
        "kind": EntryKind.CRASH,
        "body": {},
        "prev": "1" * 64,
        "kid": "k",
        "v": 3 - draft.v,
    }

    assert {field.name for field in fields(Entry)} == {*others, *SEAL_FIELDS, "body_sha256"}
    for name, value in others.items():
        changed = replace(draft, **{name: value})  # type: ignore[arg-type]
        assert seal_entry(changed)[0].hash != entry.hash, name


def test_hash_is_the_sha256_of_the_canonical_bytes() -> None:
    """RFC 8785 and SHA-256 suffice to check a line."""
    entry, line = seal_entry(DRAFT)
    fields = json.loads(line)
    hashed_fields = {key: value for key, value in fields.items() if key not in {*SEAL_FIELDS, "body"}}

    assert fields["hash"] == sha256_hex(encode_canonical(hashed_fields)) == entry.hash
    assert fields["body_sha256"] == sha256_hex(encode_canonical(fields["body"])) == entry.body_sha256


def test_line_of_version_1_stays_readable() -> None:
    """This line was written once; an entry that was read from it is written the same again."""
    line = (
        '{"body":{"a":"ü","b":1},"kid":"","kind":"decision","prev":"' + "0" * 64 + '","seq":1,"session":"s",'
        '"ts":1700000000000000,"v":1,'
        '"hash":"25963a57233385fa8dea02f6f94c71203112aa274cf45e11c49dbed0d666d843","sig":""}\n'
    ).encode()

    assert seal_entry(DRAFT_V1)[1] == line
    assert decode_entry(line).to_line() == line
    assert "body_sha256" not in decode_entry(line).to_record()


def test_line_of_version_2_does_not_change() -> None:
    """The format on disk does not change: this line was written once."""
    line = (
        '{"body_sha256":"4e7ff4080b1a00acdaf71eb0cdf2d504aa8068bbb375c002eac2df3f064047a7","kid":"","kind":"decision",'
        '"prev":"' + "0" * 64 + '","seq":1,"session":"s","ts":1700000000000000,"v":2,'
        '"hash":"b62ecf71e553700e0b9aae242fe3a011a21b547f5bc8b0c3d8ccf78a030e06dc","sig":"","body":{"a":"ü","b":1}}\n'
    ).encode()

    assert seal_entry(DRAFT)[1] == line
    fields = {name: value for name, value in DRAFT.to_record().items() if name not in SEAL_FIELDS}
    del fields["v"], fields["body_sha256"]
    assert build_entry(**fields) == (decode_entry(line), line)


@pytest.mark.parametrize("draft", [DRAFT_V1, DRAFT], ids=["v1", "v2"])
def test_decode_entry_returns_every_field(draft: Entry) -> None:
    """Encoding and decoding an entry loses no field."""
    entry, line = seal_entry(draft)

    assert decode_entry(line) == entry
    assert entry.to_line() == line


def test_decode_entry_without_its_body_needs_consent() -> None:
    """A line without its body has the same hash; what decides by the log takes it for damage, not for an empty body."""
    entry, line = seal_entry(DRAFT)
    bare_line = entry.to_line(with_body=False)
    bare_entry = decode_entry(bare_line, body_required=False)

    assert b'"body":' not in bare_line
    assert (bare_entry.hash, bare_entry.body_sha256) == (entry.hash, entry.body_sha256)
    assert (bare_entry.body, bare_entry.has_body, bare_entry.to_line()) == (ABSENT_BODY, False, bare_line)
    assert bare_entry.body != {}
    assert "body" not in bare_entry.to_record()
    with pytest.raises(ChainBroken, match="entry 1: its body was left out or erased"):
        decode_entry(bare_line)
    assert decode_entry(line, body_required=False).has_body


def test_unseal_line_ignores_what_a_body_claims_about_the_header() -> None:
    """Seals and header fields inside a body are its own."""
    body = {"hash": "f" * 64, "seq": 9, "sig": "00", "x": ',"hash":"' + "0" * 64 + '","sig":""}'}
    entry, line = seal_entry(replace(DRAFT, body=body, session='a","hash":"b'))
    fields = unseal_line(line)

    assert isinstance(fields, dict)
    assert (fields["hash"], fields["seq"], fields["sig"], fields["body"]) == (entry.hash, 1, "", body)


@pytest.mark.parametrize(
    ("body_text", "problem"),
    [
        (b'{},"seq":9', "expected a JSON object"),
        (b"[]", "expected a JSON object"),
        (b"{", "expected a JSON object"),
        (b"", "expected a JSON object"),
    ],
)
def test_unseal_line_with_another_thing_as_body_is_refused(body_text: bytes, problem: str) -> None:
    """The body is one JSON object, even when its digest is right; it cannot add fields to the entry."""
    payload = encode_canonical(
        {**json.loads(seal_entry(DRAFT)[0].payload_bytes()), "body_sha256": sha256_hex(body_text)}
    )
    line = payload[:-1] + f',"hash":"{sha256_hex(payload)}","sig":"","body":'.encode() + body_text + b"}\n"
    fields = unseal_line(line)

    assert isinstance(fields, str)
    assert problem in fields


@pytest.mark.parametrize("version", [1, 2])
def test_unseal_line_in_the_form_of_the_other_version_is_refused(version: int) -> None:
    """There is one way to write an entry of each version."""
    written = seal_entry(DRAFT if version == 1 else DRAFT_V1)[0]
    payload = written.payload_bytes().replace(b'"v":%d' % written.v, b'"v":%d' % version)
    line = payload[:-1] + f',"hash":"{sha256_hex(payload)}","sig":""}}\n'.encode()

    assert isinstance(unseal_line(line), str)


def test_decode_entry_of_a_newer_version_advises_to_upgrade() -> None:
    """An entry of an unknown version is never read as something else."""
    _, line = seal_entry(replace(DRAFT, v=3))

    with pytest.raises(LedgerError, match=r"expected an entry of version 1 or 2, found version `3`.*upgrade"):
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
    payload = seal_entry(DRAFT)[0].payload_bytes().replace(b'"kind":"decision"', b'"kind":"prophecy"')
    line = payload[:-1] + f',"hash":"{sha256_hex(payload)}","sig":""}}\n'.encode()

    with pytest.raises(LedgerError, match="is of kind `prophecy`, which this verdikt does not know: upgrade") as error:
        decode_entry(line)
    assert not isinstance(error.value, ChainBroken)
