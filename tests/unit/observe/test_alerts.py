"""Marks of thresholds, and the lines that are counted for them."""

import json
from pathlib import Path

import pytest

from verdikt.observe.alerts import (
    CHUNK_BYTES,
    DAY_SECONDS,
    MONTH_SECONDS,
    clear_mark,
    mark_first_breach,
    read_marks,
    read_recent_lines,
)

NOW = 1_800_000_000.0


def test_threshold_is_marked_once_in_a_period(tmp_path: Path) -> None:
    """The second breach of the same day is none; another key has a mark of its own."""
    marker = tmp_path / "marks.json"

    assert mark_first_breach(marker, "gate", NOW, NOW - DAY_SECONDS)
    assert not mark_first_breach(marker, "gate", NOW + 60, NOW + 60 - DAY_SECONDS)
    assert mark_first_breach(marker, "ledger", NOW + 60, NOW + 60 - DAY_SECONDS)
    assert mark_first_breach(marker, "gate", NOW + 2 * DAY_SECONDS, NOW + DAY_SECONDS)


def test_mark_that_was_cleared_can_be_set_again(tmp_path: Path) -> None:
    """The other marks stay."""
    marker = tmp_path / "marks.json"
    for key in ("gate", "ledger"):
        mark_first_breach(marker, key, NOW, NOW - DAY_SECONDS)

    clear_mark(marker, "gate")

    assert read_marks(marker) == {"ledger": NOW}
    assert mark_first_breach(marker, "gate", NOW, NOW - DAY_SECONDS)


def test_mark_older_than_a_month_is_dropped(tmp_path: Path) -> None:
    """Keys name sessions and hooks, so the file would grow with each of them."""
    marker = tmp_path / "marks.json"
    mark_first_breach(marker, "old", NOW, NOW)

    mark_first_breach(marker, "new", NOW + MONTH_SECONDS + 1, NOW)

    assert read_marks(marker) == {"new": NOW + MONTH_SECONDS + 1}


@pytest.mark.parametrize("text", ["", "{", "[1]", "[" * 100_000, '{"gate": "soon"}'])
def test_damaged_marks_count_as_none(tmp_path: Path, text: str) -> None:
    """A hook that crashes must not crash again over its notes."""
    marker = tmp_path / "marks.json"
    marker.write_text(text)

    assert read_marks(marker) == {}
    assert mark_first_breach(marker, "gate", NOW, NOW - DAY_SECONDS)


def test_recent_lines_are_read_backwards_until_the_first_older_one(tmp_path: Path) -> None:
    """Also beyond one chunk; a damaged line is left out."""
    lines = [json.dumps({"ts": number, "pad": "x" * (CHUNK_BYTES // 50)}) for number in range(200)]
    lines.insert(150, "{ damaged")
    (tmp_path / "log.jsonl").write_text("\n".join(lines) + "\n")

    times = [line["ts"] for line in read_recent_lines(tmp_path / "log.jsonl", 100)]

    assert times == list(range(199, 99, -1))
