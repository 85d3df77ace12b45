"""Transcripts of 200 MB, of every sort: the documented status, in memory that does not grow with them."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from verdikt.observe.transcript import CHUNK, LONGEST_LINE, MAX_BYTES

MB = 1024 * 1024
SIZE = 200 * MB
PROMPT = json.dumps({"type": "user", "message": {"content": "Fix src/app.py"}}).encode() + b"\n"
FINAL = json.dumps({"type": "assistant", "message": {"content": [{"type": "text", "text": "Hello."}]}}).encode() + b"\n"
WORDS = json.dumps({"type": "assistant", "message": {"content": "x" * 1000}}).encode() + b"\n"
UNKNOWN = json.dumps({"type": "something-new", "role": "assistant", "text": "x" * 1000}).encode() + b"\n"
NOISE = bytes(range(256)).replace(b"\n", b"") * 40

MEASURE = """
import json, os, resource, sys
from verdikt.observe.transcript import read_transcript
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
before, read = peak(), os.pread
total = 0
def counted(fd, size, at):
    global total
    total += size
    return read(fd, size, at)
os.pread = counted
found = read_transcript(sys.argv[1])
print(json.dumps([found.status, found.message, peak() - before, total]))
"""


def filled(path: Path, block: bytes, *, start: bytes = b"", end: bytes = b"") -> Path:
    """A file of 200 MB made of one block again and again."""
    many = block * (MB // len(block) + 1)
    with path.open("wb") as file:
        file.write(start)
        for _ in range(SIZE // len(many) + 1):
            file.write(many)
        file.write(end)
    return path


def measured(path: Path) -> tuple[str, str, int, int]:
    """Status, message, growth of memory and bytes read, in a process of its own."""
    done = subprocess.run([sys.executable, "-c", MEASURE, str(path)], capture_output=True, check=True, text=True)
    status, message, memory, read = json.loads(done.stdout)
    return status, message, memory, read


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A file that does not outlive its test: it is large."""
    path = tmp_path / "t.jsonl"
    yield path
    path.unlink(missing_ok=True)


def test_a_long_session_is_read_to_the_start_of_its_turn_alone(place: Path) -> None:
    """What came before the turn is not touched, so that its size does not matter."""
    filled(place, WORDS, end=PROMPT + FINAL)

    status, message, memory, read = measured(place)

    assert (status, message) == ("ok", "Hello.")
    assert read <= 2 * CHUNK
    assert memory < 16 * MB


@pytest.mark.parametrize(
    ("block", "end", "status"),
    [
        (WORDS, FINAL, "ok"),  # a turn that is itself as long
        (WORDS, FINAL + b'{"type": "assistant", "message": {"con', "ok"),  # cut in the middle
        (UNKNOWN, b"", "schema_drift"),
        (UNKNOWN, FINAL, "ok"),
        (NOISE + b"\n", b"", "unparseable"),
        (NOISE, b"", "unparseable"),  # one line of it
        (b"[" * 999 + b"\n", b"", "unparseable"),
        (b'{"a":' * 999 + b"\n", b"", "unparseable"),
        (b"x\n", b"", "unparseable"),  # a hundred million lines
        (b"\n", b"", "ok"),  # nothing at all was said
    ],
    ids=[
        "long turn",
        "cut",
        "drift",
        "unknown lines",
        "garbage",
        "one line",
        "nested",
        "nested objects",
        "short lines",
        "empty lines",
    ],
)
def test_whatever_it_holds_it_is_bounded(place: Path, block: bytes, end: bytes, status: str) -> None:
    """By bytes read and by memory held."""
    filled(place, block, start=PROMPT, end=end)

    found, _, memory, read = measured(place)

    assert found == status
    assert read <= MAX_BYTES
    assert memory < 16 * LONGEST_LINE


def test_a_sparse_file_is_no_words(place: Path) -> None:
    """Holes read as zeros."""
    with place.open("wb") as file:
        file.truncate(SIZE)

    status, _, memory, _ = measured(place)

    assert status == "unparseable"
    assert memory < 16 * LONGEST_LINE


def test_missing_is_unreadable(place: Path) -> None:
    """And nothing is held."""
    assert measured(place)[0] == "unreadable"
