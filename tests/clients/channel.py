"""The hook with a governance that gives feedback after every action and refuses to stop until `done.txt` exists.

Run as an interpreter would be: `python channel.py -m verdikt.adapters.entry HOST EVENT`.
"""

import os
import sys

from verdikt import govern
from verdikt.model.action import Action, Outcome
from verdikt.model.moment import Answer, Turn


class Insisting(govern.Governance):
    """Governance as ever, and these two answers."""

    def after(self, action: Action, outcome: Outcome) -> Answer:
        """Recorded as ever, with a word for the model."""
        super().after(action, outcome)
        return Answer(context="FEEDBACK after the action")

    def stop(self, turn: Turn) -> Answer:
        """Only when the file is there."""
        if os.path.exists(os.path.join(turn.cwd, "done.txt")):
            return Answer()
        return Answer(allowed=False, reason="`done.txt` is missing; write it", guard="completion")


if __name__ == "__main__":
    govern.Governance = Insisting  # type: ignore[misc]
    from verdikt.adapters.entry import main

    main(sys.argv[3:])
