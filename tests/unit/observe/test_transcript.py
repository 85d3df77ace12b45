"""Transcripts of every kind: the documented status, in bounded memory."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from verdikt.observe import transcript
from verdikt.observe.transcript import Transcript, read_transcript


def write_lines(directory: Path, *lines: object) -> str:
    """Write a file of these lines."""
    path = directory / "t.jsonl"
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return str(path)


def assistant_message(text: str, *uses: str) -> dict[str, object]:
    """Return a message of the assistant."""
    parts: list[dict[str, str]] = [{"type": "tool_use", "id": use, "name": "Bash"} for use in uses]
    return {"type": "assistant", "message": {"role": "assistant", "content": [*parts, {"type": "text", "text": text}]}}


def test_read_transcript_returns_the_last_turn(tmp_path: Path) -> None:
    """Tool results are not prompts, and unknown lines are skipped."""
    path = write_lines(
        tmp_path,
        {"type": "user", "message": {"content": "first"}},
        assistant_message("old", "u0"),
        {"type": "user", "message": {"content": [{"type": "text", "text": "second"}]}},
        assistant_message("", "u1"),
        {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "u1"}]}},
        {"type": "something-new", "x": 1},
        assistant_message("final", "u2"),
        '{"type": "assistant", "message": {"con',
    )

    transcript = read_transcript(path)

    assert (transcript.status, transcript.message) == ("ok", "final")
    assert [id for id, _ in transcript.tool_uses] == ["u1", "u2"]


def test_lines_longer_than_a_chunk_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunk borders do not matter."""
    monkeypatch.setattr(transcript, "CHUNK", 7)

    path = write_lines(
        tmp_path,
        {"type": "user", "message": {"content": "q"}},
        assistant_message("a" * 100),
        assistant_message("final"),
    )

    assert read_transcript(path).message == "final"


def test_overlong_line_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It holds a file or an image, not words."""
    monkeypatch.setattr(transcript, "LONGEST_LINE", 1000)
    monkeypatch.setattr(transcript, "CHUNK", 100)

    path = write_lines(
        tmp_path,
        {"type": "user", "message": {"content": "q"}},
        assistant_message("final"),
        assistant_message("x" * 50_000),
    )

    assert read_transcript(path).message == "final"


@pytest.mark.parametrize("path", ["", "/nowhere", "/", "/dev/null"])
def test_path_that_is_not_a_file_is_unreadable(path: str) -> None:
    """Nothing is waited for."""
    assert read_transcript(path).status == "unreadable"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(data=st.binary(max_size=600))
def test_any_bytes_give_a_documented_status(tmp_path: Path, data: bytes) -> None:
    """No input raises."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(data)

    assert read_transcript(str(path)).status in ("ok", "unparseable", "schema_drift", "unreadable")


def test_copilot_transcript_is_read_without_tool_ids(tmp_path: Path) -> None:
    """Its events have other names; its hooks do not get the ids of tool uses."""
    file = tmp_path / "events.jsonl"
    lines = [
        {"type": "user.message", "data": {"content": "before"}},
        {"type": "assistant.message", "data": {"content": "earlier", "toolRequests": []}},
        {"type": "user.message", "data": {"content": "do it"}},
        {"type": "assistant.message", "data": {"content": "doing", "toolRequests": [{"toolCallId": "t1"}]}},
        {"type": "tool.execution_complete", "data": {"toolCallId": "t1", "success": True}},
        {"type": "assistant.message", "data": {"content": "All tests pass.", "toolRequests": []}},
        {"type": "assistant.message", "data": {"content": "Deployed."}, "agentId": "a sub-agent"},
        {"type": "hook.start", "data": None},
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))

    assert read_transcript(str(file)) == Transcript("ok", "All tests pass.", ())

    file.write_text("".join(json.dumps(line) + "\n" for line in lines[:4]))
    assert read_transcript(str(file)).is_unfinished, "it asked for a tool last"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines[:3]))
    assert read_transcript(str(file)).is_unfinished, "it has said nothing yet"
    file.write_text('{"type": "session.start", "data": {}}\n')
    assert read_transcript(str(file)).is_unfinished, "there is no message yet"
    file.unlink()
    assert read_transcript(str(file)) == Transcript("unreadable", is_unfinished=True), "it may come"
