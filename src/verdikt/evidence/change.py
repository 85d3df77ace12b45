"""Claims that something is different now: `the API now returns…`, `it no longer crashes`, `that should do it`."""

import re
from collections.abc import Iterator

from verdikt.evidence import phrase as p
from verdikt.evidence import words as w
from verdikt.evidence.clause import (
    FLAGS,
    NEGATIVE,
    UNREAL,
    WONDERING,
    Clause,
    of_others,
    reported,
    subject_start,
    trimmed,
)
from verdikt.evidence.found import Found, Veto, find_all
from verdikt.model.regex import regex

_PATTERNS = (
    p.NOW,
    p.WE_NOW,
    p.LATELY,
    p.IS_NOW,
    p.OFFERED,
    p.BACK,
    p.GONE,
    p.MEASURED,
    p.THIS,
    p.CURED,
    p.CAN,
    p.DELIVERED,
    p.SHOULD,
    p.AGAIN,
    p.ANYMORE,
    p.NEW_IN,
    p.AS_OF,
    p.AGAINST,
    p.LANDED,
    p.GAINED,
    p.CONTAINS,
    p.EVENT,
)
_SPEAKERS = regex(r"\b(?:I|we|you)\s*$", FLAGS)
_VETOES = (
    Veto("words", regex(r"^(?!.*(?:now|do it|to go|all set|running|normal))", FLAGS), (p.SHOULD,)),
    Veto("before", regex(r"\bI\s*$", FLAGS), (p.CAN,)),
    Veto("words", regex(rf" (?:{'|'.join(sorted(w.ONWARDS))})$", FLAGS), (p.CAN,)),
    Veto("before", regex(rf"\b(?:{w.TROUBLE}|it|I|you|he|she|we|they)\b", FLAGS), (p.BACK,)),
    Veto("words", regex(rf"now {w.BAD_FOR_US}", FLAGS), (p.WE_NOW,)),
    Veto("before", regex(r"^\s*$"), (p.NOW, p.LATELY, p.GONE)),
    Veto("before", regex(r"\b(?:I|we)(?:'m|'re| am| are) \w+ing\b", FLAGS), (p.LATELY, p.NOW, p.IS_NOW)),
    Veto(
        "before",
        regex(r"(?:^|\band )\W*(?:I|we)(?:'ve)? (?:\w+ ){1,3}(?:the |an? |my |all |these )?$", FLAGS),
        (p.LATELY,),
    ),
    Veto("rest", p.HOLLOW),
    Veto("before", _SPEAKERS, (p.NOW, p.LATELY, p.GONE, p.IS_NOW, p.AGAIN, p.ANYMORE, p.NEW_IN, p.AS_OF)),
    Veto("before", regex(r"\busers?\s*$", FLAGS), (p.AGAIN, p.NEW_IN, p.AS_OF)),
    Veto("before", regex(r"\b(?:that|which|who)\s*$", FLAGS), (p.NOW, p.ANYMORE, p.GONE, p.AGAIN, p.NEW_IN)),
    Veto("words", p.WORSE, (p.IS_NOW, p.AGAIN, p.ANYMORE, p.NEW_IN, p.AS_OF)),
    Veto("before", regex(rf"\b{w.TROUBLE}\s*$", FLAGS), (p.AGAIN,)),
    Veto("whole", regex(r"\b(?:slower|worse|longer|regress\w*|returns?|expected|got)\b", FLAGS), (p.AGAINST,)),
)
_OWN_NEGATION = (p.CAN, p.SHOULD, p.LATELY, p.MEASURED, p.ANYMORE, p.AGAINST, p.AS_OF)
"""Constructions in which a negation or a contrast is part of what is claimed."""


def by_change(clause: Clause) -> Iterator[tuple[int, int]]:
    """Where a clause says that something is different from what it was."""
    for found in find_all(clause, _PATTERNS, _VETOES):
        start, end = found.match.span()
        if not (_unreal(found) or reported(found.before) or of_others(clause, start, end)):
            yield trimmed(clause.text, subject_start(found.before), end)


def _unreal(found: Found) -> bool:
    before = found.before
    said = before if found.pattern in _OWN_NEGATION else before + re.sub("no longer", "", found.words)
    return bool(
        NEGATIVE.search(said.rpartition(",")[2]) or UNREAL.search(before.rpartition(",")[2]) or WONDERING.search(before)
    )
