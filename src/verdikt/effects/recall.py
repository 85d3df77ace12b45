"""Recent commands and what they would do, so that the same command in the same place need not be understood again."""

from __future__ import annotations

from collections import OrderedDict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from verdikt.model.effect import Effects
    from verdikt.model.facts import Answers, Facts

MOST = 512
LONGEST = 16_384
FEW = 32
"""How many questions are worth asking again."""


class Recall:
    """Remembers the effects of recent texts, each with the scene and with every question that was asked on the way.

    An answer is given again only where the scene is the same and the world gives the same answers to the same questions.
    """

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[object, ...], tuple[Answers, Effects]] = OrderedDict()

    def effects(self, text: str, facts: Facts, understand: Callable[[], Effects]) -> Effects:
        """What the text would do, remembered or understood anew."""
        if len(text) > LONGEST or not facts.blank:
            return understand()
        key = (text, facts.scene)
        found = self._kept.get(key)
        if found is not None and facts.agrees(found[0]):
            return found[1]
        effects = understand()
        answers = facts.answers()
        if len(answers.path) + len(answers.text) + len(answers.git) <= FEW:
            self._kept[key] = (answers, effects)
            if len(self._kept) > MOST:
                self._kept.popitem(last=False)
        return effects
