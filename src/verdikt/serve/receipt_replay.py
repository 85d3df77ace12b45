"""Receipts replayed: a decision is made again from what its entry recorded, with the policy of then."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from verdikt.errors import LedgerError, VerdiktError
from verdikt.model.entry import decode_entry
from verdikt.recorded_policies import RecordedPolicies
from verdikt.replay import find_differences, read_decision, replay

if TYPE_CHECKING:
    from pathlib import Path

MAX_DIFFERENCES = 20
MAX_VALUE_CHARS = 200


class ReceiptReplay:
    """Replays decisions of one machine's log, whose policies are kept beside it."""

    def __init__(self, home: Path) -> None:
        self._policies = RecordedPolicies(home)

    def replay_line(self, line: bytes) -> dict[str, Any]:
        """Return the fields in which a replayed decision differs; `problem` says why it cannot be replayed."""
        try:
            past = read_decision(decode_entry(line))
            if past is None:
                raise LedgerError("this entry is no decision")
            policy = self._policies.get_policy(past.policy, past.accepted_policy)
            differences = find_differences(past, replay(past, policy))
        except VerdiktError as error:
            return {"problem": str(error), "differences": []}
        except (KeyError, TypeError, ValueError, AttributeError):
            # A line can be whole by its hashes and hold anything.
            return {"problem": "its receipt is not in the form that this version writes", "differences": []}
        return {
            "problem": "",
            "differences": [
                {"field": item.field, "recorded": _shorten(item.recorded), "found": _shorten(item.replayed)}
                for item in differences[:MAX_DIFFERENCES]
            ],
        }


def _shorten(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)[:MAX_VALUE_CHARS]
