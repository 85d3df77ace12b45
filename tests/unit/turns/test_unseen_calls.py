"""Calls that the log has and the host's transcript lacks."""

from pathlib import Path
from typing import Any

import pytest

from tests.scene import GREEN, Scene
from verdikt.model.entry import EntryKind
from verdikt.observe import transcript as transcripts
from verdikt.observe.transcript import find_call_ids
from verdikt.turns.unseen_calls import GAP_UNSEEN, can_compare_transcript

CLAIM = "Fixed the parser. All tests pass."


def prompt(text: str = "fix the parser and run the tests") -> dict[str, Any]:
    """Return a person's line of a transcript."""
    return {"type": "user", "message": {"role": "user", "content": text}}


def tool_use(*ids: str) -> dict[str, Any]:
    """Return an assistant's line of a transcript with these tool calls."""
    content = [{"type": "tool_use", "id": id, "name": "Bash", "input": {}} for id in ids]
    return {"type": "assistant", "message": {"role": "assistant", "content": content}}


def play_turn(scene: Scene) -> None:
    """Ask for a fix, edit a file, run the tests."""
    scene.ask("fix the parser and run the tests")
    scene.edit("parser.py")
    scene.run("pytest tests", GREEN)


def test_call_in_the_transcript_proves(tmp_path: Path) -> None:
    """Calls that the host wrote down count as before, and nothing is reported."""
    scene = Scene(tmp_path)
    play_turn(scene)
    answer = scene.say(CLAIM, host="claude", transcript_path=scene.transcript(prompt(), tool_use("t1"), tool_use("t2")))

    assert answer.allowed, answer.reason
    assert scene.entries(EntryKind.GAP) == []
    assert scene.entries(EntryKind.VALIDATOR_PASS)


def test_call_that_the_transcript_lacks_proves_nothing_and_is_reported(tmp_path: Path) -> None:
    """A test run that only the hook was told about signs no proof."""
    scene = Scene(tmp_path)
    play_turn(scene)
    answer = scene.say(CLAIM, host="claude", transcript_path=scene.transcript(prompt(), tool_use("t1")))

    assert not answer.allowed
    assert "are not in the host's transcript and prove nothing" in answer.reason
    assert "(`pytest tests`)" in answer.reason
    assert scene.entries(EntryKind.VALIDATOR_PASS) == []
    (gap,) = scene.entries(EntryKind.GAP)
    assert gap.body["reason"] == GAP_UNSEEN
    assert gap.body["calls"] == [scene.entries(EntryKind.TOOL_CALL)[-1].seq]


def test_call_without_an_id_proves_nothing(tmp_path: Path) -> None:
    """The host gives every call an id, so one without was not made by it."""
    scene = Scene(tmp_path)
    scene.ask("run the tests")
    scene.calls = -1
    scene.run("pytest tests", GREEN)
    path = scene.transcript(prompt(), tool_use("other"))

    assert not scene.say("All tests pass.", host="claude", transcript_path=path).allowed


def test_call_of_an_earlier_prompt_of_the_same_turn_is_found(tmp_path: Path) -> None:
    """The log's turn may begin before the transcript's last prompt."""
    scene = Scene(tmp_path)
    play_turn(scene)
    path = scene.transcript(prompt(), tool_use("t1", "t2"), prompt("go on"), tool_use("t3"))

    assert scene.say(CLAIM, host="claude", transcript_path=path).allowed


@pytest.mark.parametrize("host", ["", "codex", "copilot", "no-such-host"])
def test_host_whose_transcript_has_no_calls_is_not_compared(tmp_path: Path, host: str) -> None:
    """Only a transcript that names every call can tell that one is missing."""
    scene = Scene(tmp_path)
    play_turn(scene)

    assert scene.say(CLAIM, host=host, transcript_path=scene.transcript(prompt())).allowed


def test_sub_agent_is_compared_with_its_own_transcript_only() -> None:
    """Without one of its own, it would be compared with its parent's."""
    assert can_compare_transcript("claude", "", has_own_transcript=False)
    assert can_compare_transcript("claude", "reviewer", has_own_transcript=True)
    assert not can_compare_transcript("claude", "reviewer", has_own_transcript=False)


@pytest.mark.parametrize("path", ["", "/no/such/transcript"])
def test_turn_without_a_transcript_is_not_compared(tmp_path: Path, path: str) -> None:
    """Where there is no transcript, the log decides alone."""
    scene = Scene(tmp_path)
    play_turn(scene)

    assert scene.say(CLAIM, host="claude", transcript_path=path).allowed


def test_transcript_that_is_written_late_is_waited_for(tmp_path: Path) -> None:
    """Hosts call the hook before the last lines are in the file."""
    scene = Scene(tmp_path)
    play_turn(scene)
    path = scene.transcript(prompt())
    sleep = scene.clock.sleep

    def write_meanwhile(seconds: float) -> None:
        sleep(seconds)
        scene.transcript(prompt(), tool_use("t1", "t2"))

    scene.clock.sleep = write_meanwhile  # type: ignore[method-assign]

    assert scene.say(CLAIM, host="claude", transcript_path=path).allowed


def test_transcript_too_long_to_read_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What lies before the part that is read may name the call."""
    scene = Scene(tmp_path)
    path = scene.transcript(tool_use("a"), prompt(), tool_use("b"))

    assert find_call_ids(path, {"a", "b", "c"}) == {"a", "b"}
    assert find_call_ids(path, {"b"}) == {"b"}
    monkeypatch.setattr(transcripts, "MAX_BYTES", 10)
    assert find_call_ids(path, {"a"}) is None
    assert find_call_ids(str(tmp_path), {"a"}) is None


@pytest.mark.parametrize("is_seen", [True, False])
def test_explicit_validation_is_compared_with_the_transcript_too(tmp_path: Path, is_seen: bool) -> None:
    """`evidence validate` signs nothing on a call that only the hook was told about, and says so."""
    scene = Scene(tmp_path)
    path = scene.transcript(prompt(), tool_use(*(("t1", "t2") if is_seen else ("t1",))))
    scene.ask("Fix src/app.py and run `make verify`", host="claude", transcript_path=path)
    scene.edit("src/app.py")
    scene.run("make verify")

    proof = scene.gov.evidence_gate.validate_claim(
        scene.session, "done", "command_zero_exit", {"command": "make verify"}
    )

    assert proof.holds is is_seen
    assert bool(scene.entries(EntryKind.VALIDATOR_PASS)) is is_seen
    assert ("prove nothing" in proof.reason) is not is_seen
    assert [gap.body["moment"] for gap in scene.entries(EntryKind.GAP)] == ([] if is_seen else ["validate"])
