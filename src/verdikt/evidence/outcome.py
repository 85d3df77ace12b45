"""Claims that a check came out well: `all tests pass`, `42 passed`, `mypy is clean`, `the build succeeded`."""

import re
from collections.abc import Iterator

from verdikt.evidence import phrase as p
from verdikt.evidence.clause import (
    FLAGS,
    Clause,
    find_subject_start,
    has_other_subject,
    is_by_others_or_past,
    is_unreal,
    trim_span,
)
from verdikt.evidence.match import Veto, find_matches
from verdikt.model.lazy_regex import compile_lazily

_VETOES = (
    Veto("whole", compile_lazily(r"\b\w+ing it (?:is|passes|compiles|works)\b", FLAGS), (p.TESTS,)),
    Veto("words", compile_lazily(r"^it (?!.*(?:pass|green|clean|succe|checks|compil))", FLAGS), (p.TESTS,)),
    Veto("after", p.LATER),
    Veto("whole", compile_lazily(r"\b(?:I|we)(?: \w+)? went through\b", FLAGS), (p.ENDED,)),
    Veto("rest", p.HOLLOW),
    Veto("rest", compile_lazily(r"^,? but\b", FLAGS), (p.COUNT,)),
    Veto(
        "before",
        compile_lazily(
            r"^(?!\W*(?:I|we)\b).*\b(?:makes?|making|lets?|letting|helps?|gets?|getting)(?: the| all| your| both"
            r"| these)?\s*$",
            FLAGS,
        ),
    ),
    Veto(
        "before", compile_lazily(r"\b(?:can|could|to|will|would|might) (?:make|get|let|have)(?: \w+){0,2}\s*$", FLAGS)
    ),
    Veto("rest", compile_lazily(r"\b(?:don't|doesn't|do not|does not)\W*$", FLAGS), (p.ENDED,)),
    Veto("after", compile_lazily(r"^\s+by (?:accident|chance|luck|mistake)\b", FLAGS)),
    Veto("before", compile_lazily(r"\b(?:old|previous|former|original|earlier)\s*$", FLAGS)),
    Veto(
        "before",
        compile_lazily(
            r"\b(?:your|this|that|either|each|their) (?:\w+ )?(?:approach|idea|suggestion|proposal|design|method"
            r"|example|code)\s*$",
            FLAGS,
        ),
        (p.ENDED,),
    ),
    Veto(
        "sentence",
        compile_lazily(
            r"\b(?:call|request|query|response|upload|download|login|command|deploy\w*|job|first \w+) (?:succeeded"
            r"|completed|went through|finished|passed)\b[^,;]{0,40}, but (?:the|it|no|nothing|there)\b",
            FLAGS,
        ),
        (p.ENDED,),
    ),
    Veto("since", compile_lazily(r"\bafter\b(?! that\b| this\b| \w+ing\b)", FLAGS)),
    Veto("whole", compile_lazily(r"^\W*(?:an?|any)\s", FLAGS), (p.TESTS, p.CLEAR, p.ENDED, p.FINE)),
)


def find_outcome_claims(clause: Clause) -> Iterator[tuple[int, int]]:
    """Yield where a clause says that a check came out well."""
    text = clause.text
    if p.FAILING.search(clause.sentence.text):
        return
    for found in find_matches(clause, (p.TESTS, p.COUNT, p.CLEAR, p.ENDED, p.FINE), _VETOES):
        match, before = found.match, found.before
        start, end = match.span()
        if found.pattern is p.TESTS and match[1] and match[1] != match[2]:
            continue  # `3/4 pass`
        said = start if found.pattern in (p.COUNT, p.CLEAR, p.FINE) else end
        if (
            is_unreal(clause, start, said)
            or is_by_others_or_past(clause, start, end)
            or _relative(before)
            or has_other_subject(before)
        ):
            continue
        yield trim_span(text, find_subject_start(before) if found.pattern is p.ENDED else start, end)


def _relative(before: str) -> bool:
    """Return whether the words are in a relative clause (`the tests that pass`), which claims nothing."""
    if not re.search(r"\S\s+(?:that|which|who)\s*$", before, FLAGS):
        return False
    return not re.search(r"\b(?:confirm\w*|verif\w+|so|see|show\w*|means) (?:that|which)\s*$", before, FLAGS)
