"""Canonical bytes follow RFC 8785; values without canonical bytes are refused."""

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
from verdikt.model.canonical_json import MAX_DEPTH, encode_canonical, hash_canonical, parse_json, quote_text

BACKSLASH = "\\"
VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "canonical.json").read_text())


@pytest.mark.parametrize("vector", VECTORS["valid"], ids=lambda vector: vector["name"])
def test_encode_canonical_vector_gives_its_bytes(vector: dict[str, str]) -> None:
    """Each text of the vectors has exactly these bytes, and encoding them again changes nothing."""
    encoded = encode_canonical(parse_json(vector["json"]))

    assert encoded == vector["canonical"].encode()
    assert encode_canonical(parse_json(encoded)) == encoded


@pytest.mark.parametrize(("bits", "text"), VECTORS["floats"])
def test_encode_canonical_float_is_formatted_like_ecmascript(bits: str, text: str) -> None:
    """Floats are formatted as in the table of the RFC's appendix B."""
    (value,) = struct.unpack(">d", bytes.fromhex(bits))

    assert encode_canonical(value).decode() == text


@pytest.mark.parametrize("vector", VECTORS["refused_text"], ids=lambda vector: vector["name"])
@pytest.mark.parametrize("kind", [str, bytes])
def test_parse_json_text_that_is_not_strict_is_refused(vector: dict[str, str], kind: type) -> None:
    """The error says what was expected and what was found."""
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
def test_encode_canonical_unsupported_value_is_refused(value: Any, says: str) -> None:
    """No value is coerced or dropped."""
    with pytest.raises(CanonicalError) as refusal:
        encode_canonical({"deep": [value]})
    assert says in str(refusal.value)


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_depth_beyond_the_limit_is_refused(opening: str, closing: str) -> None:
    """A value at the limit passes, one level more is refused, and a thousand times more does no harm."""
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


def test_parse_json_long_text_has_the_same_limits() -> None:
    """A text of megabytes is refused for the same nesting and the same surrogates as a short one."""
    long = "x" * 100_000

    assert parse_json(f'[{{"a":"{long}"}},{"[" * 199}{"]" * 199}]')[0]["a"] == long
    for text in (f'["{long}",{"[" * 200}{"]" * 200}]', f'["{long}{BACKSLASH}ud800"]', f'["{long}{BACKSLASH}uDC00"]'):
        with pytest.raises(CanonicalError, match="levels|surrogate"):
            parse_json(text.encode())


def test_parse_json_bytes_that_are_not_utf_8_are_refused() -> None:
    """UTF-16 is not detected, and the error names the bad byte."""
    with pytest.raises(CanonicalError, match="expected UTF-8, found the byte 0xff"):
        parse_json('{"a":1}'.encode("utf-16"))
    assert parse_json(b"\xef\xbb\xbf{}") == {}


@pytest.mark.parametrize("special", ["", '"', "\\", *map(chr, range(0x20)), "\x7f", "\u2028", "é", "😀"])
def test_quote_text_of_a_long_text_has_the_escapes_of_a_short_one(special: str) -> None:
    """Whether a text is long changes no byte of its JSON."""
    filling = "x" * 40_000

    assert quote_text(filling + special + filling) == f'"{filling}{quote_text(special)[1:-1]}{filling}"'
    assert json.loads(quote_text(filling + special)) == filling + special


def test_encode_canonical_lone_surrogate_in_a_long_text_is_refused() -> None:
    """A long text that is no Unicode is refused like a short one."""
    with pytest.raises(CanonicalError, match="lone surrogate"):
        encode_canonical({"text": "x" * 40_000 + "\ud800"})


def test_encode_canonical_subclass_has_the_bytes_of_its_plain_form() -> None:
    """Enum members and read-only mappings are encoded like their plain form."""

    class Word(enum.StrEnum):
        YES = "yes"

    class Rank(enum.IntEnum):
        ONE = 1

    assert (
        encode_canonical(MappingProxyType({"b": (Word.YES,), "a": Rank.ONE, Word.YES: True}))
        == b'{"a":1,"b":["yes"],"yes":true}'
    )


def test_encode_canonical_cached_keys_change_nothing() -> None:
    """The cache of key layouts changes no result: not for equal keys of other types, and not for many or long keys."""
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
def test_encode_canonical_agrees_with_the_reference_implementation(value: Any) -> None:
    """The encoder and the library rfc8785 agree on every JSON value."""
    data = encode_canonical(value)

    assert data == rfc8785.dumps(value)
    assert encode_canonical(parse_json(data)) == data
    assert hash_canonical(value) == hash_canonical(parse_json(data))


@given(st.binary() | st.text())
def test_parse_json_any_input_raises_only_canonical_error(junk: bytes | str) -> None:
    """Any input is parsed or raises `CanonicalError`."""
    try:
        value = parse_json(junk)
    except CanonicalError:
        return
    try:
        encode_canonical(value)
    except CanonicalError as error:
        assert "double" in str(error)
