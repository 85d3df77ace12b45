"""Claims in an agent's message: that work is done, that it is blocked, or that a person should go on. Pure.

Claims are read from the grammar of a sentence (who, in which tense and mood, did or is what), not from words alone:
`done` in a plan, a question, a condition, a quotation, a negation or a report of what others said claims nothing.
"""

import enum
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from verdikt.evidence.blocked import find_blocked
from verdikt.evidence.clause import Clause, any_pattern, split_clauses
from verdikt.evidence.delegation import find_delegation
from verdikt.evidence.done import find_done, find_witnessed
from verdikt.evidence.prose import Sentence, split_sentences
from verdikt.model.lazy_regex import compile_lazily

MOST = 100
"""Number of claims of one message that are read."""

SENTENCES = 4_000
"""Number of sentences of one message that are read."""

STORY = 3
"""Number of sentences from which a message may be a story of what happened."""

_TOLD = compile_lazily(r"^(?!\W*(?:I|we)\b)(?!.*\bwhat w).*\b(?:was|were) \w+", re.IGNORECASE)
"""Something was done, without saying by which agent or that it is so now: in a story, an event of the past."""

_LOOKED = any_pattern(
    r"^\W*(?:I|we)(?:'ve| have)? (?:reviewed|looked (?:at|into|through)|read|went through|gone through|inspected"
    r"|compared|audited|analy[sz]ed|investigated|traced|took a look)\b",
    r"\b(?:haven't|have not|didn't|did not)(?: yet)? (?:changed?|touch(?:ed)?|implement(?:ed)?|modif(?:y|ied)"
    r"|edit(?:ed)?|start(?:ed)?|ma[kd]e|appl(?:y|ied)|saved?) (?:any|anything|a thing|it|them|this|that)\b",
    r"\b(?:no|nothing) (?:changes?|edits?|(?:has|have) been|was|were|is|are)(?: (?:has|have) been| was| were| is"
    r"| are)? (?:needed|necessary|required|made|changed|touched)\b",
    r"\b(?:what follows|this|below) is (?:only |just )?(?:an? |my )(?:proposal|suggestion|sketch|review|plan)\b",
    r"^\W*(?:here is|here's|below is) (?:my|the) (?:review|analysis|proposal|assessment)\b",
    r"\b(?:nothing|no need) (?:for you )?to do\b",
    r"\b(?:no need to|you don't (?:need|have) to) do anything\b",
    r"\b(?:haven't|have not) found\b",
    r"\b(?:unsure|not sure|unclear|hard to (?:say|tell)|(?:don't|do not) know|can't (?:say|tell)) (?:whether|if)\b",
    r"\b(?:pr|pull request|commit) (?:description|message|title) (?:says|claims|reads)\b",
    r"\bask the author\b",
    r"\blet me (?:walk you through|explain|describe)\b|^\W*here's how\b",
    r"^\W*(?:yes and no|not (?:quite|exactly|really)|it depends|no)[,.;:]",
    r"^\W*(?:(?:I(?:'ve| have)? )?no idea|I don't know|hard to say|it's hard to say)\b",
    r"^\W*(?:the |this |your |overall )?(?:diff|pr|change|patch|code|branch|implementation) looks (?:good|fine|solid"
    r"|right|ok)\b",
    r"\bapproved from my side\b",
    r"\blgtm\b",
    r"^\W*could (?:the|it|this|that)\b[^?]* be\b[^?]*\?",
    r"^\W*(?:is|was) (?:that|this) (?:right|correct|the (?:situation|case|plan)|what you|intended|complete|on purpose"
    r"|accurate)\b[^?]*\?",
    r"^\W*(?:right|correct|did I (?:get|understand) (?:that|this|it)\b[^?]*)\?",
)
"""That the agent looked, or proposes, and changed nothing."""

_SEEN = compile_lazily(
    r"^(?!\W*(?:I|we)\b)(?!.*\b(?:pass\w*|green|clean|fixed|resolved|solved|done|complete\w*|finished|works?|working"
    r"|now|no (?:errors|warnings|problems|issues))\b).*\b(?:\w*s|are|were|have|can|\w+n't)\b",
    re.IGNORECASE,
)
"""How a thing is: of one who only looked, what was found and not what was done."""


class ClaimType(enum.StrEnum):
    """What is claimed."""

    DONE = "done"
    BLOCKED = "blocked"
    DELEGATION = "delegation"


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim: its type, its words, the sentence around them and their place in the message."""

    type: ClaimType
    words: str
    sentence: str
    start: int
    end: int

    def record(self) -> dict[str, Any]:
        """Return the claim as plain data."""
        return {
            "type": self.type.value,
            "words": self.words,
            "sentence": self.sentence,
            "start": self.start,
            "end": self.end,
        }


def find_claims(message: str) -> tuple[Claim, ...]:
    """Return the claims that a message makes, in order. Never raises, whatever the text."""
    spoken = list(itertools.islice(split_sentences(message), SENTENCES))
    found = list(itertools.islice((claim for one in spoken for claim in _in_sentence(one, message)), MOST))
    done = [claim.words for claim in found if claim.type is ClaimType.DONE]
    if len(spoken) >= STORY and all(map(_TOLD.match, done)):
        return tuple(claim for claim in found if claim.type is not ClaimType.DONE)
    if done and all(map(_SEEN.match, done)) and any(_LOOKED.search(one.text) for one in spoken):
        return tuple(claim for claim in found if claim.type is not ClaimType.DONE)
    if not found and (tried := find_witnessed(spoken)) is not None:
        return (_claim(ClaimType.DONE, tried, (0, len(tried.text)), message),)
    return tuple(found)


def _claim(type: ClaimType, sentence: Sentence, where: tuple[int, int], message: str) -> Claim:
    whole = sentence.span(0, len(sentence.text))
    start, end = sentence.span(*where)
    return Claim(type, message[start:end], message[whole[0] : whole[1]].strip(), start, end)


def _in_sentence(sentence: Sentence, message: str) -> Iterator[Claim]:
    seen: set[ClaimType] = set()
    found = [
        (type, clause.start + begin, clause.start + stop)
        for clause in split_clauses(sentence)
        for type, (begin, stop) in _spans(clause)
    ]
    stuck = [begin for type, begin, _ in found if type is ClaimType.BLOCKED]
    for type, begin, stop in found:
        if type is ClaimType.DONE and any(_explains(sentence.text, begin, stop, other) for other in stuck):
            continue
        if type is ClaimType.DONE or type not in seen:
            seen.add(type)
            yield _claim(type, sentence, (begin, stop), message)


_CONTRAST = compile_lazily(r"\b(?:but|though|although|however|yet|except|only)\b|[;—–.]", re.IGNORECASE)
_EVENT = compile_lazily(
    r"^\W*(?!I\b|we\b).*\b(?:has been|have been|was|were|is|are)\b(?!.*\b(?:pass|green|implemented|done|finished))",
    re.IGNORECASE,
)


def _explains(text: str, begin: int, stop: int, stuck: int) -> bool:
    """Return whether an event is told as the reason for being blocked (`it was deleted, so I can't pull it`)."""
    return stop <= stuck and bool(_EVENT.match(text[begin:stop])) and not _CONTRAST.search(text[stop:stuck])


def _spans(clause: Clause) -> Iterator[tuple[ClaimType, tuple[int, int]]]:
    """Return what a clause claims: each thing that is done, and at most one thing of the other types."""
    for span in find_done(clause):
        yield ClaimType.DONE, span
    if (stuck := find_blocked(clause)) is not None:
        yield ClaimType.BLOCKED, stuck
    if (asked := find_delegation(clause)) is not None:
        yield ClaimType.DELEGATION, asked
