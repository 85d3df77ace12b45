"""Transcripts of 200 MB: the documented status, in memory that does not grow with them."""

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
def count_read(fd, size, at):
    global total
    total += size
    return read(fd, size, at)
os.pread = count_read
found = read_transcript(sys.argv[1])
print(json.dumps([found.status, found.message, peak() - before, total]))
"""


def write_large_file(path: Path, block: bytes, *, start: bytes = b"", end: bytes = b"") -> Path:
    """Write a file of 200 MB from one repeated block."""
    many = block * (MB // len(block) + 1)
    with path.open("wb") as file:
        file.write(start)
        for _ in range(SIZE // len(many) + 1):
            file.write(many)
        file.write(end)
    return path


def measure_read(path: Path) -> tuple[str, str, int, int]:
    """Return status, message, growth of memory and bytes read, measured in a new process."""
    completed = subprocess.run([sys.executable, "-c", MEASURE, str(path)], capture_output=True, check=True, text=True)
    status, message, memory, read = json.loads(completed.stdout)
    return status, message, memory, read


@pytest.fixture
def large_file(tmp_path: Path) -> Iterator[Path]:
    """Yield a path whose file is deleted after the test."""
    path = tmp_path / "t.jsonl"
    yield path
    path.unlink(missing_ok=True)


def test_only_the_last_turn_of_a_large_transcript_is_read(large_file: Path) -> None:
    """What came before the turn is not read."""
    write_large_file(large_file, WORDS, end=PROMPT + FINAL)

    status, message, memory, read = measure_read(large_file)

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
def test_reading_a_large_transcript_is_bounded(large_file: Path, block: bytes, end: bytes, status: str) -> None:
    """Bytes read and memory are bounded, whatever the file holds."""
    write_large_file(large_file, block, start=PROMPT, end=end)

    actual_status, _, memory, read = measure_read(large_file)

    assert actual_status == status
    assert read <= MAX_BYTES
    assert memory < 16 * LONGEST_LINE


def test_sparse_file_has_no_message(large_file: Path) -> None:
    """Holes read as zeros."""
    with large_file.open("wb") as file:
        file.truncate(SIZE)

    status, _, memory, _ = measure_read(large_file)

    assert status == "unparseable"
    assert memory < 16 * LONGEST_LINE


def test_missing_transcript_is_unreadable(large_file: Path) -> None:
    """A missing file is unreadable and needs no memory."""
    assert measure_read(large_file)[0] == "unreadable"
