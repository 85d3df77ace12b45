"""Words that may claim something, and what around them says that they do not."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from verdikt.evidence.clause import Clause


@dataclass(frozen=True, slots=True)
class PhraseMatch:
    """One match of a pattern in a clause."""

    clause: Clause
    pattern: re.Pattern[str]
    match: re.Match[str]

    @property
    def words(self) -> str:
        """The words themselves."""
        return str(self.match[0])

    @property
    def before(self) -> str:
        """The clause up to them."""
        return self.clause.text[: self.match.start()]

    @property
    def since(self) -> str:
        """What stands before them, back to the last comma."""
        return self.clause.since_comma(self.match.start())

    @property
    def after(self) -> str:
        """The clause from them on."""
        return self.clause.text[self.match.end() :]

    @property
    def rest(self) -> str:
        """The sentence from them on."""
        return self.clause.sentence.text[self.clause.start + self.match.end() :]

    @property
    def onwards(self) -> str:
        """The words and the clause from them on."""
        return self.clause.text[self.match.start() :]

    @property
    def whole(self) -> str:
        """The clause."""
        return self.clause.text

    @property
    def sentence(self) -> str:
        """The sentence."""
        return self.clause.sentence.text


@dataclass(frozen=True, slots=True)
class Veto:
    """What takes a claim back: a pattern in one part of what surrounds the words, for some constructions or for all."""

    part: str
    regex: re.Pattern[str]
    patterns: tuple[re.Pattern[str], ...] = ()

    def against(self, found: PhraseMatch) -> bool:
        """Whether it speaks against these words."""
        return (not self.patterns or found.pattern in self.patterns) and bool(
            self.regex.search(getattr(found, self.part))
        )


def find_matches(
    clause: Clause, patterns: Iterable[re.Pattern[str]], vetoes: tuple[Veto, ...]
) -> Iterator[PhraseMatch]:
    """Each match of each pattern that nothing speaks against, in the order of the patterns."""
    for pattern in patterns:
        for match in pattern.finditer(clause.text):
            found = PhraseMatch(clause, pattern, match)
            if not any(veto.against(found) for veto in vetoes):
                yield found
