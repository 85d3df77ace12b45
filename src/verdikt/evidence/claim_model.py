"""Read what each sentence of a message claims. Pure."""

import re
from dataclasses import dataclass

from verdikt.evidence.claims import ClaimType, find_claims
from verdikt.evidence.disclaimer import find_disclaimers
from verdikt.model.lazy_regex import compile_lazily

_TOPIC_WORDS = (
    ("tests", r"\b(?:tests?|specs?|suite|ci|pytest|jest|vitest)\b|\bpass(?:es|ed|ing)?\b|\bgreen\b|\bfailures\b"),
    ("build", r"\b(?:builds?|built|compil\w+|bundle)\b"),
    ("types", r"\b(?:mypy|pyright|tsc|type[- ]?check\w*|types? (?:are|is|check))\b"),
    ("lint", r"\b(?:lint\w*|ruff|eslint|clippy|flake8|pylint)\b"),
    ("commit", r"\b(?:committed|commit|merged|branch|tagged|tag|stash\w*)\b"),
    ("push", r"\bpush\w*\b"),
    ("deploy", r"\b(?:deploy\w*|live|shipped|rolled out|migrated|sent)\b"),
    ("release", r"\b(?:released|published)\b"),
    ("install", r"\binstall\w*\b"),
    ("file_operation", r"\b(?:renamed?|moved?|deleted?|created?)\b"),
)
_JOINED = compile_lazily(r"(?:\band|,) (?:\w+ )?((?:committed|pushed)\b)", re.IGNORECASE)
_TOPICS = tuple((topic, compile_lazily(words, re.IGNORECASE)) for topic, words in _TOPIC_WORDS)


@dataclass(frozen=True, slots=True)
class SentenceClaim:
    """What one sentence claims: the act, and what it is about."""

    text: str
    start: int
    end: int
    act: str
    topics: tuple[str, ...]
    score: float = 1.0


def read_claims(message: str) -> tuple[SentenceClaim, ...]:
    """Return what the sentences of a message claim, in order. Never raises, whatever the text."""
    claims: list[SentenceClaim] = []
    for claim in find_claims(message):
        topics = tuple(topic for topic, words in _TOPICS if words.search(claim.words)) or ("change",)
        joined = _JOINED.findall(claim.sentence)
        topics = tuple(dict.fromkeys((*topics, *("push" if "push" in word.lower() else "commit" for word in joined))))
        act = claim.type.value
        if act != ClaimType.DONE.value:
            topics = ()
        start = message.find(claim.sentence, max(0, claim.start - len(claim.sentence)))
        start = claim.start if start < 0 else start
        last = claims[-1] if claims else None
        if last and last.start == start and last.act == act:
            merged = tuple(dict.fromkeys((*last.topics, *topics)))
            claims[-1] = SentenceClaim(last.text, last.start, last.end, act, merged)
        else:
            claims.append(SentenceClaim(claim.sentence, start, start + len(claim.sentence), act, topics))
    claims += [SentenceClaim(text, start, end, "admission", ()) for text, start, end in find_disclaimers(message)]
    return tuple(sorted(claims, key=lambda claim: claim.start))
