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
        """Return the matched words."""
        return str(self.match[0])

    @property
    def before(self) -> str:
        """Return the clause up to the words."""
        return self.clause.text[: self.match.start()]

    @property
    def since(self) -> str:
        """Return the text before the words, back to the last comma."""
        return self.clause.since_comma(self.match.start())

    @property
    def after(self) -> str:
        """Return the clause after the words."""
        return self.clause.text[self.match.end() :]

    @property
    def rest(self) -> str:
        """Return the sentence after the words."""
        return self.clause.sentence.text[self.clause.start + self.match.end() :]

    @property
    def onwards(self) -> str:
        """Return the words and the clause after them."""
        return self.clause.text[self.match.start() :]

    @property
    def whole(self) -> str:
        """Return the clause."""
        return self.clause.text

    @property
    def sentence(self) -> str:
        """Return the sentence."""
        return self.clause.sentence.text


@dataclass(frozen=True, slots=True)
class Veto:
    """What cancels a claim: a pattern in one part of what surrounds the words, for some constructions or for all."""

    part: str
    regex: re.Pattern[str]
    patterns: tuple[re.Pattern[str], ...] = ()

    def against(self, found: PhraseMatch) -> bool:
        """Return whether the veto applies to these words."""
        return (not self.patterns or found.pattern in self.patterns) and bool(
            self.regex.search(getattr(found, self.part))
        )


def find_matches(
    clause: Clause, patterns: Iterable[re.Pattern[str]], vetoes: tuple[Veto, ...]
) -> Iterator[PhraseMatch]:
    """Yield each match of each pattern that no veto cancels, in the order of the patterns."""
    for pattern in patterns:
        for match in pattern.finditer(clause.text):
            found = PhraseMatch(clause, pattern, match)
            if not any(veto.against(found) for veto in vetoes):
                yield found
