"""What is read and written is what `json` reads and writes, errors included."""

import json
import subprocess
import sys
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verdikt.model.notation import dump, load, loader, quote, raw_load

TEXTS = (
    '{"a":[1,2.5,null,true,"\\u00e9"]} | [] |1|NaN|-Infinity|"x"|{"a":1} x||[1,|{"a":1,}|{1:2}|"\\ud800"|1e999| |'
    '\ufeff1|"a\nb"|[[]]]|tru|{"a" : 1 , "b":[ ]}\n|00|-|"\\x"'
).split("|")
BYTES = (b'{"a":1}', '"é"'.encode("utf-16"), b"\xff", json.dumps({"x": 1}).encode("utf-32"), b"\xef\xbb\xbf1", b"")


def outcome(read: Callable[[], object]) -> str:
    """What comes of it, as a text."""
    try:
        return repr(read())
    except ValueError as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("text", [*TEXTS, *BYTES])
def test_it_reads_as_json_does(text: str | bytes) -> None:
    """The same value, or the same error in the same words."""
    assert outcome(lambda: load(text)) == outcome(lambda: json.loads(text))
    if isinstance(text, str):
        hooks = {"object_pairs_hook": list, "parse_float": str, "parse_int": str, "parse_constant": str.lower}
        assert outcome(lambda: loader(**hooks)(text)) == outcome(lambda: json.loads(text, **hooks))
        assert outcome(lambda: raw_load(text)) == outcome(lambda: json.JSONDecoder().raw_decode(text))


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(PLAIN)
def test_it_writes_as_json_does(value: object) -> None:
    """Without spaces, in ASCII; and reads it again."""
    assert dump(value) == json.dumps(value, separators=(",", ":"))
    assert load(dump(value)) == value
    if isinstance(value, str):
        assert quote(value) == json.dumps(value, ensure_ascii=False)


def test_what_is_no_data_is_refused() -> None:
    """In the same words."""
    with pytest.raises(TypeError, match="Object of type object is not JSON serializable"):
        dump({"a": object()})


def test_what_is_wrong_is_named_even_before_json_was_loaded() -> None:
    """The scanner by itself cannot: in a process of its own, where nobody has loaded `json`."""
    code = (
        "from verdikt.model.notation import load, raw_load\n"
        "for read in (load, raw_load):\n"
        "    for text in ('{half', '[1,', '\"abc', '{\"a\":1,}', '\"\\\\x\"'):\n"
        "        try:\n"
        "            read(text)\n"
        "        except ValueError:\n"
        "            continue\n"
        "        raise AssertionError(text)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
