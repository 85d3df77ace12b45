"""Random input for the native client with sanitizers: it prints the decision that a naive reading gives."""

import json
import os
import random
import shutil
import socket
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.contract import native
from tests.contract.warm import remove
from verdikt.daemon import protocol
from verdikt.daemon.proof import split_nonce

BLOCK = b'{"decision":"block","reason":"'


def is_one_object(text: bytes) -> bool:
    """Return whether `guard.sh` passes a text on: one strict JSON object in ASCII on one line, without null."""
    text = text.removesuffix(b"\n")
    if not text.startswith(b"{") or any(byte < 0x20 and byte != 0x09 for byte in text):
        return False
    try:
        document = json.loads(text.decode("ascii"), parse_constant=_refuse, parse_int=str, parse_float=str)
        json.dumps(document, ensure_ascii=False).encode("utf-8")  # a lone surrogate cannot be encoded
    except (ValueError, RecursionError):
        return False
    return _has_no_null(document)


def _refuse(name: str) -> None:
    raise ValueError(name)


def _has_no_null(value: object) -> bool:
    if isinstance(value, dict):
        return all(map(_has_no_null, value.values()))
    return all(map(_has_no_null, value)) if isinstance(value, list) else value is not None


def is_decision(status: int, out: bytes) -> bool:
    """Return whether the native client passes a reply on: what our own encoder could have written."""
    is_object = out.startswith(b"{") and out.endswith(b"}\n") and all(0x20 <= byte <= 0x7E for byte in out[:-1])
    is_block = out.startswith(BLOCK) and len(out) > len(BLOCK) and out[len(BLOCK)] != ord('"')
    return is_object and (status == 0 or (status == 2 and is_block))


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
ENCODED_OBJECTS = st.builds(
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
    """Return the text with a few pieces inserted, removed or replaced."""
    chance = random.Random(seed)
    data = bytearray(text)
    for _ in range(chance.choice([0, 1, 1, 2, 5])):
        position = chance.randrange(len(data) + 1)
        length = chance.choice([0, 0, 1, 1, 3])
        data[position : position + length] = chance.choice([b"", *PIECES, bytes([chance.randrange(256)])])
    return bytes(data)


TEXTS = (
    st.builds(mutate, ENCODED_OBJECTS, st.integers(0, 2**32))
    | st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join)
    | st.binary(max_size=40)
)


DOCUMENTS = TEXTS | TEXTS.map(lambda text: b"{" + text + b"}\n") | TEXTS.map(lambda text: BLOCK + text + b'"}\n')
STATUSES = st.sampled_from([0, 2, 0, 2, 1, 255])


def run_check(replies: list[tuple[int, bytes]]) -> list[bool]:
    """Return the verdict of the client's own check on each reply."""
    data = b"".join(bytes([status]) + len(text).to_bytes(4, "big") + text for status, text in replies)
    env = {**os.environ, **native.SANITIZER_ENV}
    completed_process = subprocess.run(
        [str(native.build_fuzz_target())], input=data, capture_output=True, env=env, check=False
    )
    assert completed_process.returncode == 0, completed_process.stderr.decode()
    return [reply == "1" for reply in completed_process.stdout.decode()]


@settings(max_examples=40)
@given(st.lists(st.tuples(STATUSES, DOCUMENTS), min_size=50, max_size=120))
def test_check_of_replies_agrees_with_a_naive_reading(replies: list[tuple[int, bytes]]) -> None:
    """The client's check accepts exactly the replies that a naive reading accepts."""
    assert run_check(replies) == [is_decision(*each) for each in replies]


class Subject:
    """One client and one fake warm process for many calls."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.client = root / "hooks" / "verdikt-hook"
        self.client.parent.mkdir()
        shutil.copy(native.sanitized(), self.client)
        shutil.copy(native.GUARD, self.client.parent)
        self.env = {"VERDIKT_HOME": str(root), "HOME": str(root), "PATH": os.environ["PATH"]} | native.SANITIZER_ENV
        self.reply = b""

    def send_current_reply(self, connection: socket.socket) -> None:
        """Read a request and send the current reply."""
        head, payload = protocol.decode_request_prefix(
            native.receive_exactly(connection, protocol.REQUEST_PREFIX_BYTES)
        )
        _, connection.nonce = split_nonce(native.receive_exactly(connection, head))  # type: ignore[attr-defined]
        native.receive_exactly(connection, payload)
        connection.sendall(self.reply)

    def run(self, arguments: list[str], payload: bytes = b"{}", **env: str) -> "subprocess.CompletedProcess[bytes]":
        """Run the client once and assert what holds for every run."""
        line = [str(self.client), *arguments]
        completed_process = subprocess.run(
            line, input=payload, capture_output=True, env=self.env | env, timeout=60, check=False
        )
        assert completed_process.returncode in (0, 2), completed_process.stderr
        is_allow = completed_process.returncode == 0 and is_one_object(completed_process.stdout)
        assert is_allow or is_decision(completed_process.returncode, completed_process.stdout), completed_process.stdout
        assert completed_process.returncode == 0 or completed_process.stderr
        return completed_process


@pytest.fixture(scope="module")
def subject() -> Iterator[Subject]:
    """Return a client in a directory with a short path."""
    root = native.create_short_directory()
    subject = Subject(root)
    with native.FakeWarm(root, subject.send_current_reply):
        yield subject
    remove(root)


FEW_EXAMPLES = settings(
    max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
HOOK_ARGUMENTS = "20 closed /bin/false -m verdikt.hosts.hook claude PreToolUse".split()

REPLIES = st.binary(max_size=60) | st.builds(
    lambda magic, kind, status, out, err, lengths: b"".join(
        [magic, bytes([kind, status]), lengths or struct.pack(">II", len(out), len(err)), out, err]
    ),
    st.sampled_from([b"VDK1", b"VDK1", b"VDK1", b"VDK2"]),
    st.sampled_from([0, 0, 0, 2, 3, 255]),
    st.sampled_from([0, 2, 1, 255]),
    DOCUMENTS | st.sampled_from([b"{}\n", b'{"decision":"block","reason":"no"}\n']),
    st.binary(max_size=20),
    st.none() | st.binary(min_size=8, max_size=8),
)


def parse_reply(reply: bytes) -> tuple[int, bytes] | None:
    """Return status and document of a reply that may be passed on; None when it may not."""
    try:
        kind, status, out, err = protocol.decode_reply_prefix(reply[: protocol.REPLY_PREFIX_BYTES])
    except protocol.MalformedMessage:
        return None
    document = reply[protocol.REPLY_PREFIX_BYTES :][:out]
    is_whole = len(reply) == protocol.REPLY_PREFIX_BYTES + out + err  # anything after it is no proof
    is_valid = kind == protocol.KIND_ANSWER and is_whole and is_decision(status, document) and (status == 0 or err > 0)
    return (status, document) if is_valid else None


@FEW_EXAMPLES
@given(reply=REPLIES)
def test_any_reply_of_a_daemon_ends_in_a_decision(subject: Subject, reply: bytes) -> None:
    """Any reply ends in the decision that it holds, or in a block."""
    subject.reply = reply
    completed_process = subject.run(HOOK_ARGUMENTS)
    expected = parse_reply(reply)
    if expected:
        assert (completed_process.returncode, completed_process.stdout) == expected
    else:
        assert b"the hook that decides did not work" in completed_process.stdout


@FEW_EXAMPLES
@given(replies=TEXTS | ENCODED_OBJECTS | st.binary(max_size=200_000))
def test_any_output_of_a_hook_ends_in_a_decision(subject: Subject, replies: bytes) -> None:
    """Any output of a hook is passed on if it is a decision, and is a block otherwise."""
    completed_process = subject.run(["20", "closed", "/bin/cat"], replies)
    if is_one_object(replies):
        assert (completed_process.returncode, completed_process.stdout) == (0, replies.removesuffix(b"\n") + b"\n")
    else:
        assert b"it did not answer with one decision" in completed_process.stdout


ARGUMENTS = st.sampled_from(
    "--socket 0 1 20 closed open /bin/cat /bin/true -m -I verdikt.hosts.hook verdikt.hosts.hook claude".split()
) | st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)


@FEW_EXAMPLES
@given(arguments=st.lists(ARGUMENTS, max_size=9), payload=st.binary(max_size=40))
def test_any_command_line_ends_in_a_decision(subject: Subject, arguments: list[str], payload: bytes) -> None:
    """Any command line ends in a decision, because broken wiring must not allow anything."""
    subject.reply = b""
    subject.run(arguments, payload, VERDIKT_DAEMON="off")
    subject.run(["20", "closed", "/bin/false", "-m", "verdikt.hosts.hook", *arguments], payload)
