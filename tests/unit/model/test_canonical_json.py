"""Canonical bytes are RFC 8785's, and what has none is refused in words."""

import enum
import json
import struct
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from verdikt.errors import CanonicalError
from verdikt.model.canonical_json import MAX_DEPTH, encode_canonical, hash_canonical, parse_json

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "canonical.json").read_text())


@pytest.mark.parametrize("vector", VECTORS["valid"], ids=lambda vector: vector["name"])
def test_bytes_are_those_of_the_vector(vector: dict[str, str]) -> None:
    """Each text has exactly these bytes, and they are their own canonical form."""
    found = encode_canonical(parse_json(vector["json"]))

    assert found == vector["canonical"].encode()
    assert encode_canonical(parse_json(found)) == found


@pytest.mark.parametrize(("bits", "text"), VECTORS["floats"])
def test_floats_are_written_as_ecmascript_writes_them(bits: str, text: str) -> None:
    """The table of the RFC's appendix B."""
    (value,) = struct.unpack(">d", bytes.fromhex(bits))

    assert encode_canonical(value).decode() == text


@pytest.mark.parametrize("vector", VECTORS["refused_text"], ids=lambda vector: vector["name"])
@pytest.mark.parametrize("kind", [str, bytes])
def test_text_that_is_not_strict_json_is_refused(vector: dict[str, str], kind: type) -> None:
    """The border says what it expected and what it found."""
    text = vector["json"] if kind is str else vector["json"].encode()

    with pytest.raises(CanonicalError) as refusal:
        parse_json(text)
    assert vector["says"] in str(refusal.value)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (float("nan"), "expected a finite number, found nan"),
        (float("-inf"), "expected a finite number, found -inf"),
        ("\ud800", "expected Unicode text, found a lone surrogate"),
        ({"a\udfff": 1}, "expected Unicode text, found a lone surrogate"),
        ({1: "a"}, "expected text as keys, found int"),
        ({"a": 1, None: 2}, "expected text as keys, found NoneType"),
        (2**53 + 1, "expected an integer that a double can hold, found 9007199254740993"),
        (10**400, "expected an integer that a double can hold"),
        ({1, 2}, "expected plain data, found set"),
        (b"x", "expected plain data, found bytes"),
        (object(), "expected plain data, found object"),
    ],
)
def test_values_without_canonical_bytes_are_refused(value: Any, says: str) -> None:
    """Nothing is coerced, nothing is dropped."""
    with pytest.raises(CanonicalError) as refusal:
        encode_canonical({"deep": [value]})
    assert says in str(refusal.value)


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_depth_is_bounded_by_a_number_and_not_by_the_stack(opening: str, closing: str) -> None:
    """The deepest that passes passes, one deeper is refused, and a thousandfold deeper does no harm."""
    fits = opening * MAX_DEPTH + "1" + closing * MAX_DEPTH
    value = parse_json(fits)

    assert encode_canonical(value).decode() == fits
    with pytest.raises(CanonicalError, match="levels"):
        encode_canonical([value])
    deep = value
    for empty in ({}, []):
        deep = {"a": empty}
        for _ in range(MAX_DEPTH - 1):
            deep = {"a": deep}
        with pytest.raises(CanonicalError, match="levels"):
            encode_canonical(deep)
    for deeper in (MAX_DEPTH + 1, MAX_DEPTH * 1000):
        with pytest.raises(CanonicalError, match="levels"):
            parse_json(opening * deeper + "1" + closing * deeper)


def test_bytes_that_are_not_utf_8_are_refused() -> None:
    """UTF-16 is not guessed at, and a bad byte is named."""
    with pytest.raises(CanonicalError, match="expected UTF-8, found the byte 0xff"):
        parse_json('{"a":1}'.encode("utf-16"))
    assert parse_json(b"\xef\xbb\xbf{}") == {}


def test_subclasses_count_as_what_they_are() -> None:
    """Enums and read-only mappings have the bytes of their plain form."""

    class Word(enum.StrEnum):
        YES = "yes"

    class Rank(enum.IntEnum):
        ONE = 1

    assert (
        encode_canonical(MappingProxyType({"b": (Word.YES,), "a": Rank.ONE, Word.YES: True}))
        == b'{"a":1,"b":["yes"],"yes":true}'
    )


def test_keys_met_before_are_told_from_keys_that_equal_them() -> None:
    """What is remembered of a mapping's keys changes nothing: not for keys of other types, nor for very many or very long ones."""
    many = {f"key {n}": n for n in range(300)}
    long = {"k" * 5000: 1, "a": 2}

    for _ in range(2):
        assert encode_canonical({"b": 1, "a": 2}) == encode_canonical({"a": 2, "b": 1}) == b'{"a":2,"b":1}'
        assert encode_canonical(many) == rfc8785.dumps(many)
        assert encode_canonical(long) == rfc8785.dumps(long)
        for odd in ({1: "a"}, {True: "a"}, {1.0: "a"}):
            with pytest.raises(CanonicalError, match="expected text as keys"):
                encode_canonical(odd)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=("Cs",))),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=("Cs",))), inner),
    max_leaves=20,
)


@given(JSON)
def test_every_value_has_the_bytes_of_the_reference_implementation(value: Any) -> None:
    """Our one-pass writer and the library agree on whatever can be said in JSON."""
    data = encode_canonical(value)

    assert data == rfc8785.dumps(value)
    assert encode_canonical(parse_json(data)) == data
    assert hash_canonical(value) == hash_canonical(parse_json(data))


@given(st.binary() | st.text())
def test_no_input_makes_the_border_raise_anything_else(junk: bytes | str) -> None:
    """Bad input is normal input."""
    try:
        value = parse_json(junk)
    except CanonicalError:
        return
    try:
        encode_canonical(value)
    except CanonicalError as error:
        assert "double" in str(error)
