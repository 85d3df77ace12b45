"""A host's transcript, read backwards to the start of the turn in bounded memory and time."""

import json
import os
import stat
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from verdikt.observe.held_databases import open_unheld

CHUNK = 64 * 1024
MAX_BYTES = 32 * 1024 * 1024
"""Bytes of a transcript that are read, from its end."""

MAX_LINES = 100_000
MAX_BROKEN_LINES = 2_000
"""Number of lines that begin like JSON and do not parse: few are enough to know, and they are slow to parse."""

LONGEST_LINE = 4 * 1024 * 1024
"""A longer line is skipped: it holds a file or an image, not words."""

_COPILOT_SPEAKERS = {"assistant.message": "assistant", "user.message": "user"}


@dataclass(frozen=True, slots=True)
class Transcript:
    """The last turn of a transcript. `status` is ok, unparseable, schema_drift or unreadable."""

    status: str
    message: str = ""
    tool_uses: tuple[tuple[str, str], ...] = ()  # (id, tool), oldest first
    is_unfinished: bool = False
    """Whether the final message is missing: some hosts call the hook before they have written it."""


@dataclass
class _TurnReader:
    """What was read of a turn so far, from its end towards its beginning."""

    message: str = ""
    tool_uses: list[tuple[str, str]] = field(default_factory=list)
    parsed: int = 0
    recognised: int = 0
    assistant_lines: int = 0
    is_unfinished: bool = False

    def add_record(self, record: Mapping[str, Any]) -> bool:
        """Take one line; return whether the turn goes on before it."""
        self.parsed += 1
        kind = record.get("type")
        self.recognised += kind in ("assistant", "system")
        message = record.get("message")
        message = message if isinstance(message, Mapping) else {}
        if not self.assistant_lines and kind in ("assistant", "user"):
            self.is_unfinished = bool(record.get("goes_on"))
        self.assistant_lines += kind == "assistant" or _is_from_assistant(record)
        if kind == "assistant":
            text, message_uses = _split_content(message)
            # Lines come from the end of the file, so the first text met is the final message.
            self.message = self.message or text
            self.tool_uses += reversed(message_uses)
        # The turn began with the person's prompt; everything before belongs to earlier turns.
        return not (kind == "user" and _is_prompt(record, message))

    def to_transcript(self) -> Transcript:
        # The assistant speaks in a format that we do not know: the host has changed it.
        if self.assistant_lines and not self.recognised:
            return Transcript("schema_drift")
        # Without any assistant line, the host has only begun to write.
        is_unfinished = self.is_unfinished or not self.assistant_lines
        return Transcript("ok", self.message, tuple(reversed(self.tool_uses)), is_unfinished)


def read_transcript(path: str) -> Transcript:
    """Return the final message and the tool uses of the last turn. Never raises, whatever the file holds."""
    turn = _TurnReader()
    lines = broken = 0
    try:
        for line in _read_backwards(path):
            lines += 1
            if lines > MAX_LINES:
                break
            record = _parse_record(line)
            if record is not None:
                if not turn.add_record(record):
                    break
                continue
            broken += line.startswith(b"{")
            if broken > MAX_BROKEN_LINES:
                break
    except FileNotFoundError:
        return Transcript("unreadable", is_unfinished=True)  # not written yet, perhaps
    except OSError:
        return Transcript("unreadable")
    return Transcript("unparseable") if lines and not turn.parsed else turn.to_transcript()


def find_call_ids(path: str, wanted: Collection[str]) -> frozenset[str] | None:
    """Return those of these tool calls that a transcript names; None when it cannot be read to its beginning.

    Reads backwards and stops when all are found. A transcript too long to be read says nothing of older calls.
    """
    found: set[str] = set()
    lines = 0
    try:
        if os.stat(path).st_size > MAX_BYTES:
            return None
        for line in _read_backwards(path):
            lines += 1
            if found >= set(wanted):
                break
            if lines > MAX_LINES or len(line) > LONGEST_LINE:
                return None
            record = _parse_record(line)
            message = record.get("message") if record is not None and record.get("type") == "assistant" else None
            if isinstance(message, Mapping):
                found.update(id for id, _ in _split_content(message)[1])
    except OSError:
        return None
    return frozenset(found.intersection(wanted))


def _is_from_assistant(record: Mapping[str, Any]) -> bool:
    """Return whether a line comes from the assistant, in any known format."""
    inner = (value for value in record.values() if isinstance(value, Mapping))
    return any(candidate.get("role") == "assistant" for candidate in (record, *inner))


def _parse_record(line: bytes) -> Mapping[str, Any] | None:
    # Checked before parsing: most lines of other formats are recognised by their first byte.
    if len(line) > LONGEST_LINE or not line.lstrip().startswith(b"{"):
        return None
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return _to_claude_record(record) if isinstance(record, Mapping) else None


def _to_claude_record(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a Copilot CLI line in the format of Claude Code; other lines as they are.

    Tool uses are left out: hooks of Copilot CLI do not get their ids.
    """
    speaker = _COPILOT_SPEAKERS.get(str(record.get("type")))
    data = record.get("data")
    if speaker is None or not isinstance(data, Mapping):
        return record
    if record.get("agentId"):
        return {}  # a sub-agent's words, which are not its parent's
    content = data.get("content")
    message = {"role": speaker, "content": content if isinstance(content, str) else ""}
    return {"type": speaker, "message": message, "goes_on": speaker == "user" or bool(data.get("toolRequests"))}


def _split_content(message: Mapping[str, Any]) -> tuple[str, list[tuple[str, str]]]:
    """Return the text and the tool uses of one message."""
    content = message.get("content")
    if isinstance(content, str):
        return content, []
    texts, tool_uses = [], []
    for part in content if isinstance(content, list) else ():
        if not isinstance(part, Mapping):
            continue
        if part.get("type") == "text" and isinstance(part.get("text"), str):
            texts.append(part["text"])
        elif part.get("type") == "tool_use":
            tool_uses.append((str(part.get("id", "")), str(part.get("name", ""))))
    return "\n".join(texts), tool_uses


def _is_prompt(record: Mapping[str, Any], message: Mapping[str, Any]) -> bool:
    """Return whether a user line is a person's prompt and not the result of a tool."""
    if record.get("isMeta") or record.get("isSidechain"):
        return False
    content = message.get("content")
    if isinstance(content, str):
        return bool(content.strip())
    parts = [part for part in content if isinstance(part, Mapping)] if isinstance(content, list) else []
    return any(part.get("type") == "text" for part in parts) and not any(
        part.get("type") == "tool_result" for part in parts
    )


def _read_backwards(path: str) -> Iterator[bytes]:
    """Yield the lines of a file, last first; a line that is too long comes as an over-long blank one."""
    fd = open_unheld(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise OSError("not a file")
        end, floor = status.st_size, max(0, status.st_size - MAX_BYTES)
        incomplete = b""
        overlong = False
        while end > floor:
            start = max(floor, end - CHUNK)
            data = os.pread(fd, end - start, start)
            parts = data.split(b"\n") if data.strip() else [b"", b""] if b"\n" in data else [b""]
            end = start
            if len(parts) == 1 and len(incomplete) > LONGEST_LINE:
                # The line goes on: only its length matters, so its bytes are dropped.
                overlong = True
                continue
            parts[-1] += incomplete
            incomplete = parts[0]
            for part in reversed(parts[1:]):
                if part.strip():
                    yield part if not overlong else b" " * (LONGEST_LINE + 1)
                overlong = False
        if overlong or (incomplete.strip() and floor == 0):
            yield incomplete if not overlong else b" " * (LONGEST_LINE + 1)
    finally:
        os.close(fd)
