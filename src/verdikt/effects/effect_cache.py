"""Recent commands and what they would do, so that the same command in the same place need not be understood again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from verdikt.model.effect import Effects
    from verdikt.model.facts import Facts, WorldAnswers

MAX_ENTRIES = 512
MAX_TEXT_LENGTH = 16_384
MAX_QUESTIONS = 32
"""How many questions are worth asking again."""


class EffectCache:
    """Remembers the effects of recent texts, each with the scene and with every question that was asked on the way.

    An answer is given again only where the scene is the same and the world gives the same answers to the same questions.
    """

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: OrderedDict[tuple[object, ...], tuple[WorldAnswers, Effects]] = OrderedDict()

    def get_or_compute(self, text: str, facts: Facts, compute: Callable[[], Effects]) -> Effects:
        """What the text would do, remembered or understood anew."""
        if len(text) > MAX_TEXT_LENGTH or not facts.has_no_answers:
            return compute()
        key = (text, facts.place_signature)
        found = self._entries.get(key)
        if found is not None and facts.revalidate_answers(found[0]):
            return found[1]
        effects = compute()
        answers = facts.snapshot_answers()
        if len(answers.path) + len(answers.text) + len(answers.git) <= MAX_QUESTIONS:
            self._entries[key] = (answers, effects)
            if len(self._entries) > MAX_ENTRIES:
                self._entries.popitem(last=False)
        return effects
