"""Messages, clocks and file times that no ordinary turn has: a bounded answer, and the right one."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

from tests.fakes import FakeClock
from tests.scene import GREEN, Scene
from tests.scripted_turn import TurnPlayer
from verdikt.claims.reader import read_claims

YEAR = 365 * 86_400.0
FIX = {"replace": ["cart.py", "price - percent", "price * (100 - percent) / 100"]}
DONE = {"say": "I fixed the discount in cart.py. All tests pass."}
PROSE = "The parser reads a line, the lexer splits it, and the table holds what both of them return. "


def count_work(run: Callable[[], object]) -> int:
    """Return how many functions a call calls, which no other load of the machine changes."""
    calls = 0

    def note_call(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    previous = sys.getprofile()
    sys.setprofile(note_call)
    try:
        run()
    finally:
        sys.setprofile(previous)
    return calls


@pytest.mark.parametrize("jump", [YEAR, -YEAR, -1_700_000_000.0])
def test_clock_jump_does_not_change_a_judgement(tmp_path: Path, jump: float) -> None:
    """Contents and the order of the log decide, and not times: proof stays proof, and stale proof stays stale."""
    clock = FakeClock()
    player = TurnPlayer(tmp_path, "python", clock=clock)
    player.step({"ask": "Fix the discount in cart.py"})
    player.step(FIX)
    clock.seconds += jump
    player.step({"run": "python3 -m pytest -q"})
    clock.seconds -= jump / 2

    allowed = player.step(DONE)

    assert allowed is not None
    assert allowed.exit_code == 0, allowed.stderr
    assert player.last_stop["result"] == "proven"

    player.step({"ask": "Now round it in cart.py"})
    player.step({"run": "python3 -m pytest -q"})
    clock.seconds += jump
    player.step({"replace": ["cart.py", "/ 100", "// 100"]})
    clock.seconds -= jump

    refused = player.step({"say": "I rounded it in cart.py. All tests pass."})

    assert refused is not None
    assert refused.exit_code == 2
    assert "ran before" in refused.stderr


@pytest.mark.parametrize("project", ["python", "none"])
@pytest.mark.parametrize("mtime", [0.0, 4_000_000_000.0])
def test_file_time_does_not_hide_a_change(tmp_path: Path, project: str, mtime: float) -> None:
    """A source whose time was set back or forward is compared by its contents, also where there is no git."""
    player = TurnPlayer(tmp_path, project)
    name, old, new = ("cart.py", "prices)\n", "prices) \n") if project == "python" else ("hello.py", "hello", "HELLO")
    path = player.project / name
    os.utime(path, (mtime, mtime))
    player.step({"ask": f"Work on {name}"})
    text = path.read_text()
    player.step({"edit": {name: f"{text}x = 1\n"}})
    os.utime(path, (mtime, mtime))
    player.step({"run": "python3 -m pytest -q" if project == "python" else f"python3 {name}"})
    # By another process than the agent, and with the time of before.
    path.write_text(path.read_text().replace(old, new))
    os.utime(path, (mtime, mtime))

    response = player.step({"say": f"I added x to {name}, and it works: checked by a run."})

    assert response is not None
    assert response.exit_code == 2, player.last_stop
    assert "ran before" in response.stderr or "since it was changed" in response.stderr


@pytest.mark.parametrize(
    "text",
    [PROSE, "word ", "a", "`", "(", "- [x] done ", "é\u0301 ", "完了しました。", "\n", "| a | b |\n", "**b** "],
)
def test_message_of_a_megabyte_costs_no_more_than_its_end(text: str) -> None:
    """Only the end of a message is read, where an agent says what came of its work."""
    read_claims(text)  # loads the model
    part, whole = (text * (size // len(text)) for size in (100_000, 1_000_000))

    work = count_work(lambda: read_claims(part))

    assert count_work(lambda: read_claims(whole)) <= work * 1.1 + 1_000


def test_claim_at_the_end_of_a_megabyte_is_judged(tmp_path: Path) -> None:
    """The last sentence claims what nothing shows; what ran shows it the next time."""
    scene = Scene(tmp_path)
    message = PROSE * (1_000_000 // len(PROSE)) + "\n\nI fixed src/app.py, and all tests pass.\n"
    scene.ask("Fix src/app.py")
    scene.edit("src/app.py")

    refused = scene.say(message)

    assert not refused.allowed
    assert "all tests pass" in refused.reason
    assert len(refused.reason) < 4_000
    assert len(scene.last["message"]) <= 4_000

    scene.run("pytest -q", GREEN)

    assert scene.say(message).allowed
    assert scene.last["result"] == "proven"


@pytest.mark.parametrize("padding", ["Ok.\n", "- a\n", "It is so. "])
def test_short_sentences_do_not_hide_a_claim_after_them(tmp_path: Path, padding: str) -> None:
    """What is read is bounded from the end, where the claim is."""
    scene = Scene(tmp_path)
    scene.ask("Fix src/app.py")
    scene.edit("src/app.py")

    refused = scene.say(padding * 10_000 + "\n\nI fixed src/app.py, and all tests pass.\n")

    assert not refused.allowed
    assert "all tests pass" in refused.reason


def test_megabyte_of_claims_is_refused_in_a_few_lines(tmp_path: Path) -> None:
    """However much is claimed, the refusal stays readable, and the work is bounded."""
    scene = Scene(tmp_path)
    scene.ask("Fix src/app.py")
    scene.edit("src/app.py")
    messages = [
        "".join(f"I fixed src/m{number}.py and its tests pass. " for number in range(count))
        for count in (2_500, 25_000)
    ]
    assert len(messages[1]) > 1_000_000

    small, large = (count_work(lambda message=message: scene.say(message)) for message in messages)  # type: ignore[misc]

    assert large <= small * 1.2 + 5_000
    assert scene.last["result"] == "refused"
    assert len(scene.last["reason"].splitlines()) <= 12


@pytest.mark.parametrize("message", ["", " \n\t ", "\x00", "\u200b", "```\n```", "…"])
def test_empty_message_claims_nothing(tmp_path: Path, message: str) -> None:
    """A turn of tool calls alone may end, and nothing is signed."""
    scene = Scene(tmp_path)
    scene.ask("Fix src/app.py")
    scene.edit("src/app.py")

    assert scene.say(message).allowed
    assert scene.last["result"] == "silent"
    assert not scene.last["claims"]


@pytest.mark.parametrize(
    "message",
    [
        "Ich habe `src/app.py` angepasst. All tests pass.",
        "Done: src/app.py を修正しました。テストはすべて通りました。",
        "我改好了 src/app.py, and all tests pass.",
        "Korjasin tiedoston virheen tänään. Tous les tests passent.",
    ],
)
def test_claim_in_a_message_of_several_languages_is_judged(tmp_path: Path, message: str) -> None:
    """Each sentence is read in its own language; one of a language that is not known hides no other."""
    scene = Scene(tmp_path)
    scene.ask("Fix src/app.py")
    scene.edit("src/app.py")

    assert not scene.say(message).allowed

    scene.run("pytest -q", GREEN)

    assert scene.say(message).allowed
    assert scene.last["result"] == "proven"
