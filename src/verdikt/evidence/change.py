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
    find_subject_start,
    is_by_others_or_past,
    is_reported,
    trim_span,
)
from verdikt.evidence.match import PhraseMatch, Veto, find_matches
from verdikt.model.lazy_regex import compile_lazily

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
_SPEAKERS = compile_lazily(r"\b(?:I|we|you)\s*$", FLAGS)
_VETOES = (
    Veto("words", compile_lazily(r"^(?!.*(?:now|do it|to go|all set|running|normal))", FLAGS), (p.SHOULD,)),
    Veto("before", compile_lazily(r"\bI\s*$", FLAGS), (p.CAN,)),
    Veto("words", compile_lazily(rf" (?:{'|'.join(sorted(w.ONWARDS))})$", FLAGS), (p.CAN,)),
    Veto("before", compile_lazily(rf"\b(?:{w.TROUBLE}|it|I|you|he|she|we|they)\b", FLAGS), (p.BACK,)),
    Veto("words", compile_lazily(rf"now {w.BAD_FOR_US}", FLAGS), (p.WE_NOW,)),
    Veto("before", compile_lazily(r"^\s*$"), (p.NOW, p.LATELY, p.GONE)),
    Veto("before", compile_lazily(r"\b(?:I|we)(?:'m|'re| am| are) \w+ing\b", FLAGS), (p.LATELY, p.NOW, p.IS_NOW)),
    Veto(
        "before",
        compile_lazily(r"(?:^|\band )\W*(?:I|we)(?:'ve)? (?:\w+ ){1,3}(?:the |an? |my |all |these )?$", FLAGS),
        (p.LATELY,),
    ),
    Veto("rest", p.HOLLOW),
    Veto("before", _SPEAKERS, (p.NOW, p.LATELY, p.GONE, p.IS_NOW, p.AGAIN, p.ANYMORE, p.NEW_IN, p.AS_OF)),
    Veto("before", compile_lazily(r"\busers?\s*$", FLAGS), (p.AGAIN, p.NEW_IN, p.AS_OF)),
    Veto("before", compile_lazily(r"\b(?:that|which|who)\s*$", FLAGS), (p.NOW, p.ANYMORE, p.GONE, p.AGAIN, p.NEW_IN)),
    Veto("words", p.WORSE, (p.IS_NOW, p.AGAIN, p.ANYMORE, p.NEW_IN, p.AS_OF)),
    Veto("before", compile_lazily(rf"\b{w.TROUBLE}\s*$", FLAGS), (p.AGAIN,)),
    Veto("whole", compile_lazily(r"\b(?:slower|worse|longer|regress\w*|returns?|expected|got)\b", FLAGS), (p.AGAINST,)),
)
_OWN_NEGATION = (p.CAN, p.SHOULD, p.LATELY, p.MEASURED, p.ANYMORE, p.AGAINST, p.AS_OF)
"""Constructions in which a negation or a contrast is part of what is claimed."""


def find_change_claims(clause: Clause) -> Iterator[tuple[int, int]]:
    """Yield where a clause says that something is different from what it was."""
    for found in find_matches(clause, _PATTERNS, _VETOES):
        start, end = found.match.span()
        if not (_unreal(found) or is_reported(found.before) or is_by_others_or_past(clause, start, end)):
            yield trim_span(clause.text, find_subject_start(found.before), end)


def _unreal(found: PhraseMatch) -> bool:
    before = found.before
    said = before if found.pattern in _OWN_NEGATION else before + re.sub("no longer", "", found.words)
    return bool(
        NEGATIVE.search(said.rpartition(",")[2]) or UNREAL.search(before.rpartition(",")[2]) or WONDERING.search(before)
    )
