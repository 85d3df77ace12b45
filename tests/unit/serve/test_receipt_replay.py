"""Decisions made again from their lines, as the page of a session shows them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.activity_log import open_activity_log
from verdikt.ledger.policy_store import get_policy_path
from verdikt.model.entry import EntryKind, build_entry
from verdikt.serve.receipt_replay import ReceiptReplay


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a data directory with a blocked and an allowed call."""
    home = tmp_path_factory.mktemp("home")
    with open_activity_log(home) as log:
        log.call("s", "git push --force origin main")
        log.call("s", "git status")
    return home


@pytest.fixture(scope="module")
def lines(home: Path) -> list[bytes]:
    """Return the lines of its session."""
    return (home / "ledger" / "s.jsonl").read_bytes().splitlines(keepends=True)


def find_decision(lines: list[bytes]) -> dict[str, Any]:
    """Return the body of the first decision."""
    bodies = (json.loads(line) for line in lines)
    return dict(next(fields["body"] for fields in bodies if fields["kind"] == "decision"))


def seal(body: dict[str, Any], kind: EntryKind = EntryKind.DECISION) -> bytes:
    """Return a line with this body whose hashes are right."""
    return build_entry(seq=1, ts=1_793_000_000_000_000, session="s", kind=kind, body=body, prev="0" * 64)[1]


def test_each_decision_replays_to_the_same_bytes(home: Path, lines: list[bytes]) -> None:
    """Blocked and allowed alike; what is no decision is named."""
    replay = ReceiptReplay(home)
    answers = [replay.replay_line(line) for line in lines if b'"kind":"decision"' in line]

    assert answers == [{"problem": "", "differences": []}] * 2
    assert replay.replay_line(seal({}, EntryKind.TOOL_CALL))["problem"] == "this entry is no decision"


def test_a_receipt_that_says_something_else_is_shown_field_by_field(home: Path, lines: list[bytes]) -> None:
    """A decision that was written as allowed, with hashes that fit, is not what its policy says."""
    body = find_decision(lines)
    body["receipt"] = {**body["receipt"], "verdict": {**body["receipt"]["verdict"], "kind": "pass"}}

    differences = ReceiptReplay(home).replay_line(seal(body))["differences"]
    assert {"field": "verdict.kind", "recorded": '"pass"', "found": '"block"'} in differences


def drop_action(body: dict[str, Any]) -> None:
    """Take the action out of the receipt."""
    body["receipt"] = {name: value for name, value in body["receipt"].items() if name != "action"}


def name_another_policy(body: dict[str, Any]) -> None:
    """Let the receipt name a policy that is not kept."""
    body["receipt"] = {**body["receipt"], "policy": "0" * 64}


def use_a_newer_form(body: dict[str, Any]) -> None:
    """Let the receipt be of a later version."""
    body["receipt"] = {**body["receipt"], "v": 99}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (drop_action, "its receipt is not in the form that this version writes"),
        (name_another_policy, "was not kept"),
        (use_a_newer_form, "upgrade verdikt to replay it"),
    ],
)
def test_what_cannot_be_replayed_says_why(
    home: Path, lines: list[bytes], change: Callable[[dict[str, Any]], None], problem: str
) -> None:
    """It is no difference, and no error of the page."""
    body = find_decision(lines)
    change(body)

    answer = ReceiptReplay(home).replay_line(seal(body))
    assert problem in answer["problem"]
    assert answer["differences"] == []


def test_a_policy_that_was_changed_on_the_disk_is_not_used(tmp_path: Path) -> None:
    """The digest in the receipt is what counts."""
    with open_activity_log(tmp_path) as log:
        log.call("s", "git status")
    lines = (tmp_path / "ledger" / "s.jsonl").read_bytes().splitlines(keepends=True)
    Path(get_policy_path(str(tmp_path), find_decision(lines)["receipt"]["policy"])).write_text("{}")
    decision = next(line for line in lines if b'"kind":"decision"' in line)

    assert "is not the policy that it was" in ReceiptReplay(tmp_path).replay_line(decision)["problem"]
