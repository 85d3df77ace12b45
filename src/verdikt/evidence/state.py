"""Claims that a thing is in the state that work was to bring it into: `is done`, `has been fixed`, `was deployed`."""

import re
from collections.abc import Iterator

from verdikt.evidence import phrase as p
from verdikt.evidence import words as w
from verdikt.evidence.clause import (
    FLAGS,
    Clause,
    find_subject_start,
    has_other_subject,
    is_by_others_or_past,
    is_unreal,
    trim_span,
)
from verdikt.evidence.match import PhraseMatch, Veto, find_matches
from verdikt.model.lazy_regex import compile_lazily

_PRESENT = (p.IS, p.IS_QUITE, p.IS_MADE, p.IS_ONCE, p.SHORTENED)
_PATTERNS = (*_PRESENT, p.BEEN, p.WAS, p.HAS)
_PASSIVE = (p.BEEN, p.WAS)
_SEQUENCE = compile_lazily(
    r"^\W*(?:first|firstly|second|secondly|third|then|next|after that|afterwards|lastly|in (?:step|phase"
    r"|stage) \w+),? ",
    FLAGS,
)
_DESCRIBED = compile_lazily(
    rf"\bwell[- ](?:{w.STATE})\b|^[^,;]*? by (?:the |an? |our |your |its |(?=\w+s\b))(?!(?:\w+ )?(?:tests?|suite|fix"
    rf"|change|patch|update|upgrade|commit|pr|migration|run)\b)\w+",
    FLAGS,
)
_RUNTIME = compile_lazily(
    r"\b(?:requests?|responses?|messages?|events?|tokens?|sessions?|cookies?|packets?|connections?|records?|payloads?"
    r"|promises?|threads?|locks?|sockets?|callbacks?|values?|variables?|elements?|hash(?:es)?|orders?|users?"
    r"|visitors?|commits?|clicks?|jobs?)(?: (?:that|which|who)\b[^,;]{0,40})?\W*$",
    FLAGS,
)
_CLOCK = compile_lazily(
    r"\bon (?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|the \d+(?:st|nd|rd|th))\b|\bin (?:\d+|two|three|four|five"
    r"|six|eight|ten|twelve) (?:weeks|months|years)\b|\b(?:at|around|by) \d{1,2}[:.]\d\d\b|^\W*\d{1,2}:\d\d\b",
    FLAGS,
)
_NAME = compile_lazily(
    r"^\W*[A-Z][a-z]{2,9}(?<!ing)(?<!ion)(?<!ent)(?<!ents)(?<!ions)(?<!ance)(?<!work)(?<!s)(?<!or)(?<!up)(?<!est)"
    r"(?<!ild)(?<!se)(?<!ge)(?<!ix)(?<!le)(?<!ta)\s*$"
)
_VETOES = (
    Veto("before", compile_lazily(r"\b(?:to-?do|task|plan|notes?)(?: list| file)?\s*$", FLAGS), (p.IS,)),
    Veto("rest", p.UNDONE),
    Veto("rest", p.HOLLOW),
    Veto("rest", p.PERSISTS),
    Veto("before", _NAME, (p.HAS,)),
    Veto(
        "before",
        compile_lazily(
            r"\b(?:deadline|dates?|time|days?|weeks?|months?|years?|minutes|hours|window|moment"
            r"|period)(?: in [\w ]{1,20})?\s*$",
            FLAGS,
        ),
        (p.HAS,),
    ),
    Veto("before", compile_lazily(r"\S\s+(?:that|which|who)\s*$", FLAGS)),
    Veto("sentence", _SEQUENCE, (p.IS, p.IS_MADE)),
    Veto(
        "after",
        compile_lazily(
            r"^\s*in (?:about |under |roughly |around |some )?(?:\d+|one|two|three|four|five|six|eight|ten|a few|an?"
            r"|half an?) (?:second|minute|hour|day|week)s?\b",
            FLAGS,
        ),
        (p.IS,),
    ),
    Veto("before", compile_lazily(r"^\W*(?:one|two|three|several|another|others?)\W*$", FLAGS), _PASSIVE),
    Veto("whole", _CLOCK, (p.WAS,)),
    Veto("sentence", compile_lazily(r"\b(?:some(?:body|one)|no(?:body)) \w+ed\b", FLAGS), (p.WAS,)),
    Veto("before", compile_lazily(r"\b(?:since|before|until|when|while) (?:[\w§.'-]+ ){1,4}$", FLAGS), (p.WAS,)),
    Veto("whole", compile_lazily(r"^\W*(?:because|since|as|given that)\b(?!.*\bnow\b)", FLAGS), _PASSIVE),
    Veto("sentence", compile_lazily(r"^\W*by default\b", FLAGS), _PRESENT),
    Veto("since", p.WEAK_SUBJECT, _PRESENT),
    Veto("whole", p.HABIT, (p.IS_ONCE,)),
    Veto(
        "after",
        compile_lazily(
            r"^\s+(?:incorrectly|wrongly|badly|wrong|too (?:early|late|soon|often|many|much)|twice|prematurely"
            r"|by (?:mistake|accident))",
            FLAGS,
        ),
    ),
    Veto(
        "before",
        compile_lazily(
            r"\b(?:I|we)(?:'ve| can| could)? (?:noticed|see|saw|found|noted|discovered|reali[sz]ed|spotted|learned"
            r"|read) that\b",
            FLAGS,
        ),
        _PASSIVE,
    ),
    Veto("since", compile_lazily(r"\bafter\b", FLAGS), (*_PRESENT, p.BEEN, p.HAS)),
)


def find_state_claims(clause: Clause) -> Iterator[tuple[int, int]]:
    """Yield where a clause says that a thing is done."""
    text = clause.text
    for found in find_matches(clause, _PATTERNS, _VETOES):
        start, end = found.match.span()
        before, after = found.before, found.after
        state = found.match[found.match.lastindex or 0].lower()
        if is_unreal(clause, start, end) or is_by_others_or_past(clause, start, end):
            continue
        if p.LATER.match(after) and not (state in w.CURES and re.match(r"^\s*by \w+ing\b", after, FLAGS)):
            continue
        if state in ("covered", "documented", "described", "explained") and re.match(r"^\s*in\b", after, FLAGS):
            continue
        if (found.pattern not in _PASSIVE and has_other_subject(before)) or _is_description(found):
            continue
        if found.pattern is p.IS and not _present(clause, found.match, state, before, after):
            continue
        yield trim_span(text, min(start, max(0, start - 40) if not before.strip() else find_subject_start(before)), end)


def _is_description(found: PhraseMatch) -> bool:
    """Return whether a clause says how a thing is, or who does it, and not that it was done."""
    if found.pattern not in (p.IS, p.IS_MADE, p.IS_ONCE) or re.search(r"\bnew\b", found.before, FLAGS):
        return False
    return bool(_DESCRIBED.search(found.onwards))


_UNLIKE = {
    "done": compile_lazily(
        r"^ in (?:\w+ )?(?:steps?|stages?|parallel|batches|phases|order|sequence)\b|^ with (?:the |my )?(?:reading"
        r"|analysis|research|planning|investigation|review)\b",
        FLAGS,
    ),
    "complete": compile_lazily(
        r"^ (?!(?:and|for|now|with|as|but|so|on|in|at|again|apart|except|after|since|from|thanks|pending)\b)[a-z]+",
        FLAGS,
    ),
    "ready": p.READY_LATER,
    "up to date": compile_lazily(r"^ with (?:the )?(?:main|master|origin|upstream|remote|develop)", FLAGS),
    "working": compile_lazily(r"^ (?:on|with|through|toward|hard|from|out|directory|tree|around|remotely)\b", FLAGS),
}
"""What follows a state when it is another word of the same form."""


def _present(clause: Clause, match: re.Match[str], state: str, before: str, after: str) -> bool:
    """Return whether `is …` says that work was done, and not how a thing is made or what colour it has."""
    adverbs = match[1].lower()
    sure = re.match(r"^\W*(?:the|your|both|all|these|two|three)? ?new\b", before, FLAGS) is not None or bool(
        re.search(r"\b(?:now|all|fully|successfully|finally|completely)\b", adverbs + match[0], FLAGS)
    )
    first = re.search(r"\b(?:I|we|I'm|we're)\W*$", before, FLAGS) or re.match(r"(?:I|we)'", match[0], FLAGS)
    if first and state not in ("done", "finished", "all set", "good to go", "live", "set", "complete"):
        return False
    if re.search(r"\b(?:you|who|he|she)\W*$", before, FLAGS) or re.match(r"(?:you|they)'", match[0], FLAGS):
        return state in ("all set", "set") or state.endswith((" to go", " to merge", " to ship", " to deploy"))
    if state in ("green", "clean", "happy", "passing", "through"):
        return bool(re.search(rf"\b{w.TESTS}\b|§\s*$", before, FLAGS)) and state != "through"
    if state in ("gone", "history", "set", "in order") and not re.search(
        rf"\b(?:it|that|this|everything|all|you)\W*$|\b{w.TROUBLE}\b|\b(?:old|unused|dead|legacy|duplicated?|last"
        rf"|hard-?coded|obsolete|redundant|deprecated|extra|corrupted|broken|stale|orphaned|spurious|bogus|garbled"
        rf"|flaky|wrong)\b",
        before or match[0].partition("'")[0],
        FLAGS,
    ):
        return False
    if p.WEAK_SUBJECT.match(clause.since_comma(match.start())) or p.ATTRIBUTIVE.match(after):
        return False
    if state in _UNLIKE and _UNLIKE[state].match(after):
        return False
    if "already" in adverbs and state in w.DESCRIPTIVE and not sure:
        return False  # it was so before
    if _RUNTIME.search(before) and not sure and state not in w.ENDS:
        return False  # what a program does with it each time
    if state in w.CURES and re.match(r"^\s*(?:by \w+ing\b|in §|for (?:new|all|existing|every|both)\b)", after, FLAGS):
        return True
    if state in w.INSTALLED and re.match(r"^\s*(?:on|under|at|to|for|behind|across|with the new)\b", after, FLAGS):
        # `configured to run the tests` says what a thing is for.
        return sure or not (state == "configured" and re.match(r"^\s*to\b", after, FLAGS))
    if state.split(maxsplit=1)[0] in w.DESCRIPTIVE and not sure and p.DESCRIBES.match(after):
        return bool(
            re.match(
                r"^\s*(?:for (?:good|all|everyone|everybody|both|real)|as (?:expected|requested|intended)|end"
                r"|in (?:production|prod|staging|main|all|chrome|firefox|safari|edge|this (?:commit|pr|branch|change"
                r"|patch|release|version|pull request))|on (?:main|master|staging|prod|(?:my|this|the"
                r"|your) (?:\w+ )?branch|my (?:end|side))|to (?:§|main|master|staging|prod|production|all|every|npm"
                r"|pypi)|at (?:§|http)|on (?:npm|pypi|all|every|both|windows|linux|macos|ios|android|mobile"
                r"|the (?:server|staging|registry|store)))(?:\b|\W|$)",
                after,
                FLAGS,
            )
        )
    return True
