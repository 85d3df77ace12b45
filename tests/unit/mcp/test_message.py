"""JSON-RPC messages: what is read in one way only is relayed, in our own encoding; everything else is refused."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verdikt.mcp.message import (
    MAX_MESSAGE_BYTES,
    PARSE_ERROR,
    MessageError,
    MessageKind,
    build_tool_refusal,
    decode_message,
    encode_message,
)

CALL = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}'


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (CALL, MessageKind.REQUEST),
        (b'{"jsonrpc":"2.0","method":"notifications/initialized"}', MessageKind.NOTIFICATION),
        (b'{"jsonrpc":"2.0","id":"a","result":{}}', MessageKind.RESPONSE),
        (b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}', MessageKind.RESPONSE),
        (b'{"jsonrpc":"2.0","id":3,"method":"ping","params":null}', MessageKind.REQUEST),
    ],
)
def test_each_form_of_a_message_is_recognised(data: bytes, kind: MessageKind) -> None:
    """A request has a method and an id, a notification no id, a response no method."""
    assert decode_message(data).kind is kind


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"[" + CALL + b"]", "a batch"),
        (b"[]", "a batch"),
        (b'"x"', "a JSON object"),
        (b'{"id":1,"method":"x"}', "jsonrpc"),
        (b'{"jsonrpc":"1.0","id":1,"method":"x"}', "jsonrpc"),
        (b'{"jsonrpc":"2.0","id":null,"method":"x"}', "an id"),
        (b'{"jsonrpc":"2.0","id":true,"method":"x"}', "an id"),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"x"}', "an id"),
        (b'{"jsonrpc":"2.0","id":[1],"method":"x"}', "an id"),
        (b'{"jsonrpc":"2.0","id":9007199254740993,"method":"x"}', "2\\^53"),
        (b'{"jsonrpc":"2.0","id":-9007199254740993,"result":{}}', "2\\^53"),
        (b'{"jsonrpc":"2.0","id":1}', "a method"),
        (b'{"jsonrpc":"2.0","result":{}}', "a method"),
        (b'{"jsonrpc":"2.0","id":1,"result":1,"error":{}}', "a method"),
        (b'{"jsonrpc":"2.0","id":1,"method":"x","result":1}', "no result"),
        (b'{"jsonrpc":"2.0","id":1,"method":7}', "a method as text"),
        (b'{"jsonrpc":"2.0","id":1,"method":"x","params":[1]}', "`params`"),
        (b'{"jsonrpc":"2.0","id":1,"method":"x","Method":"tools/call"}', "another spelling"),
        (b'{"jsonrpc":"2.0","id":"' + b"x" * 300 + b'","method":"x"}', "characters"),
    ],
)
def test_a_message_that_could_be_read_in_two_ways_is_refused(data: bytes, reason: str) -> None:
    """The other side may decode it differently, so it never gets there."""
    with pytest.raises(MessageError, match=reason):
        decode_message(data)


@pytest.mark.parametrize(
    "data",
    [
        b'{"jsonrpc":"2.0","id":1,"method":"x","method":"tools/call"}',
        b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":1,"a":2}}',
        b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":NaN}}',
        b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":1e999}}',
        b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":"\\ud800"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"\xff"}',
        b'{"jsonrpc":"2.0","id":1,"method":"x","params":' + b'{"a":' * 500 + b"1" + b"}" * 500 + b"}",
        b'{"jsonrpc":"2.0","id":1,"method":"x"} {}',
        b'{"jsonrpc":"2.0","id":1,',
        b"\x00",
        b"not json",
    ],
)
def test_what_is_not_strict_json_is_a_parse_error(data: bytes) -> None:
    """Duplicate keys, invalid UTF-8, lone surrogates, NaN, deep nesting and half documents are parse errors."""
    with pytest.raises(MessageError) as raised:
        decode_message(data)
    assert raised.value.code == PARSE_ERROR


def test_a_message_beyond_the_limit_is_refused() -> None:
    """The limit holds before anything is parsed."""
    with pytest.raises(MessageError, match="at most"):
        decode_message(b" " * (MAX_MESSAGE_BYTES + 1))


def test_our_own_encoding_is_forwarded_and_unknown_fields_are_not() -> None:
    """Escapes are decoded, blanks go, and a field that JSON-RPC does not know is dropped."""
    message = decode_message(b'{ "jsonrpc": "2.0", "x": 1, "id": 1, "method": "tools\\u002fcall" }')

    assert encode_message(message) == b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}'


def test_an_escaped_null_byte_stays_an_escape() -> None:
    """A text with U+0000 crosses as one line."""
    message = decode_message(b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":"\\u0000\\n"}}')

    assert encode_message(message).endswith(b'"params":{"a":"\\u0000\\n"}}')


@pytest.mark.parametrize("special", ["", '"', "\\", "\n", "\u0000", "\u2028", "😀"])
def test_a_long_text_crosses_as_it_is(special: str) -> None:
    """A text of many characters arrives the same, in one line."""
    params = {"text": "x" * 100_000 + special + "y"}
    message = decode_message(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "x", "params": params}).encode())

    line = encode_message(message)

    assert json.loads(line)["params"] == params
    assert len(line.decode().splitlines()) == 1


def test_a_refusal_says_in_the_new_era_that_it_is_complete() -> None:
    """Clients of the new era look at `resultType`."""
    assert build_tool_refusal(1, "no", is_modern=True).result["resultType"] == "complete"
    assert "resultType" not in build_tool_refusal(1, "no", is_modern=False).result


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(), children, max_size=4),
    max_leaves=20,
)


@given(params=st.dictionaries(st.text(), JSON_VALUES, max_size=5))
def test_what_is_decoded_is_what_the_other_side_decodes(params: dict[str, object]) -> None:
    """Encoding and decoding by anybody's parser gives the same values."""
    data = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "x", "params": params}).encode()
    try:
        message = decode_message(data)
    except MessageError:
        return

    assert json.loads(encode_message(message)) == json.loads(data)


@given(data=st.binary(max_size=200) | st.text().map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_no_bytes_make_the_decoder_fail_otherwise(data: bytes) -> None:
    """Whatever arrives is a message or a `MessageError`."""
    try:
        message = decode_message(data)
    except MessageError:
        return
    assert decode_message(encode_message(message)) == message


@given(position=st.integers(0, len(CALL) - 1), byte=st.integers(0, 255))
def test_a_changed_byte_of_a_call_never_fails_otherwise(position: int, byte: int) -> None:
    """Mutations of a real call are decoded or refused."""
    data = CALL[:position] + bytes([byte]) + CALL[position + 1 :]
    try:
        decode_message(data)
    except MessageError:
        return
