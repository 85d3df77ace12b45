"""Anything at all, fed to the native client under sanitizers: it says a decision, and the one that a plain reading gives."""

import json
import os
import random
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.contract import native
from tests.contract.warm import remove
from verdikt.daemon import protocol

BLOCK = b'{"decision":"block","reason":"'


def is_one_object(text: bytes) -> bool:
    """What `guard.sh` hands on: one object in ASCII on one line, no null, nothing that a strict reader refuses."""
    text = text.removesuffix(b"\n")
    if not text.startswith(b"{") or any(byte < 0x20 and byte != 0x09 for byte in text):
        return False
    try:
        document = json.loads(text.decode("ascii"), parse_constant=_refuse, parse_int=str, parse_float=str)
        json.dumps(document, ensure_ascii=False).encode("utf-8")  # half a character cannot be written
    except (ValueError, RecursionError):
        return False
    return _plain(document)


def _refuse(name: str) -> None:
    raise ValueError(name)


def _plain(value: object) -> bool:
    if isinstance(value, dict):
        return all(map(_plain, value.values()))
    return all(map(_plain, value)) if isinstance(value, list) else value is not None


def is_decision(status: int, out: bytes) -> bool:
    """What the native client hands on: what our own encoder may have made, without reading it."""
    shaped = out.startswith(b"{") and out.endswith(b"}\n") and all(0x20 <= byte <= 0x7E for byte in out[:-1])
    worded = out.startswith(BLOCK) and len(out) > len(BLOCK) and out[len(BLOCK)] != ord('"')
    return shaped and (status == 0 or (status == 2 and worded))


VALUES = st.recursive(
    st.text()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.booleans()
    | st.sampled_from([None, "\ud800", "😀", 10**400]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(max_size=8), VALUES, max_size=4)
WRITTEN = st.builds(
    lambda value, plain, spaced: json.dumps(
        value, ensure_ascii=plain, separators=None if spaced else (",", ":")
    ).encode("utf-8", "surrogatepass"),
    OBJECTS,
    st.booleans(),
    st.booleans(),
)
PIECES = [
    b"{",
    b"}",
    b"[",
    b"]",
    b'"',
    b":",
    b",",
    b"\\u",
    b"d83d",
    b"null",
    b"true",
    b"-",
    b"0",
    b"1e5",
    b"\n",
    b"\t",
    b"\0",
    b"\xff",
    b"\xed\xa0\x80",
    b"\xf0\x9f\x98\x80",
    b"\xc0\x80",
    b"NaN",
    b'{"a":',
]


def mutate(text: bytes, seed: int) -> bytes:
    """The text with a few pieces put in, taken out or written over."""
    chance = random.Random(seed)
    data = bytearray(text)
    for _ in range(chance.choice([0, 1, 1, 2, 5])):
        at = chance.randrange(len(data) + 1)
        length = chance.choice([0, 0, 1, 1, 3])
        data[at : at + length] = chance.choice([b"", *PIECES, bytes([chance.randrange(256)])])
    return bytes(data)


TEXTS = (
    st.builds(mutate, WRITTEN, st.integers(0, 2**32))
    | st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join)
    | st.binary(max_size=40)
)


ENDED = TEXTS | TEXTS.map(lambda text: b"{" + text + b"}\n") | TEXTS.map(lambda text: BLOCK + text + b'"}\n')
STATUSES = st.sampled_from([0, 2, 0, 2, 1, 255])


def checked(said: list[tuple[int, bytes]]) -> list[bool]:
    """What the client's own check says to each."""
    fed = b"".join(bytes([status]) + len(text).to_bytes(4, "big") + text for status, text in said)
    env = {**os.environ, **native.SANITIZER_ENV}
    done = subprocess.run([str(native.parts())], input=fed, capture_output=True, env=env, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return [answer == "1" for answer in done.stdout.decode()]


@settings(max_examples=40)
@given(st.lists(st.tuples(STATUSES, ENDED), min_size=50, max_size=120))
def test_what_is_handed_on_is_what_a_plain_reading_gives(said: list[tuple[int, bytes]]) -> None:
    """No more and no less."""
    assert checked(said) == [is_decision(*each) for each in said]


class Subject:
    """One client and one warm process for many calls."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.client = root / "hooks" / "verdikt-hook"
        self.client.parent.mkdir()
        shutil.copy(native.sanitized(), self.client)
        shutil.copy(native.GUARD, self.client.parent)
        self.env = {"VERDIKT_HOME": str(root), "HOME": str(root), "PATH": os.environ["PATH"]} | native.SANITIZER_ENV
        self.answer = b""

    def behave(self, connection: socket.socket) -> None:
        """Reads a question, whatever its form, and gives the answer of the moment."""
        head, payload = protocol.decode_request_prefix(native.exactly(connection, protocol.REQUEST_PREFIX_BYTES))
        native.exactly(connection, head + payload)
        connection.sendall(self.answer)

    def run(self, words: list[str], payload: bytes = b"{}", **env: str) -> "subprocess.CompletedProcess[bytes]":
        """One call, and what holds of every one."""
        line = [str(self.client), *words]
        done = subprocess.run(line, input=payload, capture_output=True, env=self.env | env, timeout=60, check=False)
        assert done.returncode in (0, 2), done.stderr
        plain = done.returncode == 0 and is_one_object(done.stdout)
        assert plain or is_decision(done.returncode, done.stdout), done.stdout
        assert done.returncode == 0 or done.stderr
        return done


@pytest.fixture(scope="module")
def subject() -> Iterator[Subject]:
    """In a directory with a short name."""
    root = native.short_directory()
    subject = Subject(root)
    with native.FakeWarm(root, subject.behave):
        yield subject
    remove(root)


FEW = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
ASKED = "20 closed /bin/false -m verdikt.hosts.hook claude PreToolUse".split()

ANSWERS = (
    st.binary(max_size=60)
    | st.builds(
        lambda magic, kind, status, out, err, lengths: (
            magic + bytes([kind, status]) + (lengths or len(out).to_bytes(4, "big") + len(err).to_bytes(4, "big")) + out + err
        ),
        st.sampled_from([b"VDK1", b"VDK1", b"VDK1", b"VDK2"]),
        st.sampled_from([0, 0, 0, 2, 3, 255]),
        st.sampled_from([0, 2, 1, 255]),
        ENDED | st.sampled_from([b"{}\n", b'{"decision":"block","reason":"no"}\n']),
        st.binary(max_size=20),
        st.none() | st.binary(min_size=8, max_size=8),
    )
)  # fmt: skip


def truth(answer: bytes) -> tuple[int, bytes] | None:
    """Status and document of an answer that may be handed on."""
    try:
        kind, status, out, err = protocol.decode_reply_prefix(answer[: protocol.REPLY_PREFIX_BYTES])
    except protocol.MalformedMessage:
        return None
    document = answer[protocol.REPLY_PREFIX_BYTES :][:out]
    whole = len(answer) >= protocol.REPLY_PREFIX_BYTES + out + err
    fine = kind == protocol.KIND_ANSWER and whole and is_decision(status, document) and (status == 0 or err > 0)
    return (status, document) if fine else None


@FEW
@given(answer=ANSWERS)
def test_any_answer_of_a_warm_process_ends_in_a_decision(subject: Subject, answer: bytes) -> None:
    """The one that it holds, or a block."""
    subject.answer = answer
    done = subject.run(ASKED)
    expected = truth(answer)
    if expected:
        assert (done.returncode, done.stdout) == expected
    else:
        assert b"the hook that decides did not work" in done.stdout


@FEW
@given(said=TEXTS | WRITTEN | st.binary(max_size=200_000))
def test_any_output_of_a_hook_ends_in_a_decision(subject: Subject, said: bytes) -> None:
    """The one that it is, or a block."""
    done = subject.run(["20", "closed", "/bin/cat"], said)
    if is_one_object(said):
        assert (done.returncode, done.stdout) == (0, said.removesuffix(b"\n") + b"\n")
    else:
        assert b"it did not answer with one decision" in done.stdout


WORDS = st.sampled_from(
    "--socket 0 1 20 closed open /bin/cat /bin/true -m -I verdikt.hosts.hook verdikt.hosts.hook claude".split()
) | st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)


@FEW
@given(words=st.lists(WORDS, max_size=9), payload=st.binary(max_size=40))
def test_any_command_line_ends_in_a_decision(subject: Subject, words: list[str], payload: bytes) -> None:
    """Broken wiring is not permission."""
    subject.answer = b""
    subject.run(words, payload, VERDIKT_DAEMON="off")
    subject.run(["20", "closed", "/bin/false", "-m", "verdikt.hosts.hook", *words], payload)
