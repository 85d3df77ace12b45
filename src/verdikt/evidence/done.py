"""Claims that work is done, by the grammar of a clause."""

import re
from collections.abc import Iterator, Sequence

from verdikt.evidence import phrase as p
from verdikt.evidence import words as w
from verdikt.evidence.change import find_change_claims
from verdikt.evidence.clause import (
    CONDITION,
    FLAGS,
    NEGATIVE,
    SAID,
    TEMPORAL,
    UNREAL,
    WONDERING,
    Clause,
    any_pattern,
    has_other_subject,
    is_about_past,
    is_by_others_or_past,
    is_reported,
    is_unreal,
    trim_span,
)
from verdikt.evidence.outcome import find_outcome_claims
from verdikt.evidence.prose import Sentence
from verdikt.evidence.state import find_state_claims
from verdikt.model.lazy_regex import compile_lazily

_SAYS_WHEN = compile_lazily(r"\b(?:is|are|was|were|has|have|will|can)\b|'(?:s|re)\b", FLAGS)
_FAULT = compile_lazily(
    r"\b(?:wrong|incorrect\w*|mistake|culprit|cause|reason|problem|subtle|catch|bugs?|flaws?|gaps?|risks?|oddit\w+)\b",
    FLAGS,
)


_STEPS = compile_lazily(
    r"\b(?:happens|works|goes|sequence|lifecycle|definition|means|criteria|rules?)\b|\bplan(?: is)?\s*$"
    r"|\b(?:I'd like|before I|please confirm|to confirm|assum\w+|questions?)\b|\bwhen\b",
    FLAGS,
)
_POSSIBLE = compile_lazily(
    r"\b(?:what|things|parts|items)\b.*(?:\bnot\b|n't\b)|\b(?:would|could|should)\b|(?<!\bi)'d\b", FLAGS
)
_SOURCE = any_pattern(
    r"^\W*in (?:(?:the|most|some|that|such) )+(?:\w+ )?cases?\b",
    r"^\W*that(?:'s| is| was) (?:how|where|when|what)\b(?!.*\b(?:I|we)\b)",
    r"^\W*(?:in (?:the|this|that|your|our) (?:\w+ )?(?:example|scenario|diagram|sketch)|according to|per the|as per"
    r"|in (?:the|your) (?:issue|ticket|readme|docs))\b",
    r"^\W*to \w+[^,]{0,60}, (?:you|just|simply|run|push|use|set|add|open|click|install|call|pass|create|make|start"
    r"|merge|go|type|edit|enable|execute)\b",
    r"\b(?:in the sense|to the extent) that\b",
    r"\binsofar as\b",
)


_THEN = compile_lazily(r"\bthen\s*$", FLAGS)
_AFTERWARDS = compile_lazily(
    r"\b(?:next|need to|needs to|have to|has to|must|should|would|could|can|if|once|when|left|just|will|first)\b|'ll\b",
    FLAGS,
)
"""What comes when something else has been done."""


def _silent(clause: Clause) -> bool:
    """Return whether nothing in the clause can be a claim that work is done."""
    sentence = clause.sentence
    if (
        clause.asks
        or (sentence.mood and sentence.mark != "ticked")
        or sentence.mark == "open"
        or _SOURCE.search(sentence.text)
    ):
        return True
    if CONDITION.match(sentence.text) and not TEMPORAL.match(sentence.text):
        return True
    before = sentence.text[: clause.start]
    if (then := _THEN.search(before)) and not re.match(r"\W*(?:I|we)\b", clause.text):
        return not then.start() or bool(_AFTERWARDS.search(before))
    lead, colon, _ = before.rpartition(":")
    return bool(colon) and _introduces(lead)


def _introduces(lead: str) -> bool:
    """Return whether the text before a colon announces how a thing works, what is wrong, or what once was."""
    if (
        _STEPS.search(lead.partition(":")[0])
        or _POSSIBLE.search(lead)
        or (_FAULT.search(lead) and not p.MENDED.search(lead))
    ):
        return True
    if re.match(
        r"^\W*(?:the |our |your )?(?:previous|former|last|old) (?:maintainers?|developers?|authors?|team|owners?"
        r"|agent|session|engineers?)\b|^\W*(?:some(?:one|body)|another \w+)\b|^\W*(?:their|his|her"
        r"|your (?:\w+ )?(?:colleagues?|teams?|predecessor)'s|upstream|\w+'s|\w+s') (?:branch|pr|pull request|fork"
        r"|version|patch|commit|repo)\b",
        lead,
        FLAGS,
    ):
        return True
    return is_about_past(lead) and bool(re.search(r"\b(?:was|were)\b", lead))


def find_done(clause: Clause) -> list[tuple[int, int]]:
    """Yield where in a clause something is said to be done; repetitions in the same words count once."""
    if _silent(clause):
        return []
    if _has_label(clause):
        return [(0, len(clause.text.rstrip()))]
    spans: list[tuple[int, int]] = []
    for find in (_by_agent, find_state_claims, find_outcome_claims, find_change_claims, _by_headline, _by_wire):
        for start, end in find(clause):
            if all(end <= other[0] or start >= other[1] for other in spans):
                spans.append((start, end))
    return sorted(spans)


def find_witnessed(spoken: Sequence[Sentence]) -> Sentence | None:
    """Return the sentence that names the check by which the others were tried, in a message that only describes."""
    if len(spoken) < 2 or not all(map(_affirms, spoken)):
        return None
    return next((one for one in spoken[1:] if p.TRIED.match(one.text)), None)


def _affirms(sentence: Sentence) -> bool:
    text = sentence.text
    doubtful = (NEGATIVE, p.FAILING, SAID, CONDITION, _FAULT)
    plain = not (sentence.is_question or sentence.mood or sentence.mark or any(one.search(text) for one in doubtful))
    return plain and not UNREAL.search(p.TRIED.sub("", text))


def _has_label(clause: Clause) -> bool:
    """Return whether the sentence begins with a label for a result, a remedy, what was asked, or a ticked item."""
    if not clause.leads:
        return False
    text = clause.sentence.text
    tells = p.RESULT.match(text) or p.ZERO.search(text)
    if tells and not (p.FAILING.search(text) or NEGATIVE.search(text) or UNREAL.search(text)):
        return True
    opening = p.AS_ASKED.match(text) or p.REMEDY.match(text)
    said = opening[0] if opening else clause.text if clause.sentence.mark == "ticked" else ""
    return bool(said) and not (NEGATIVE.search(said) or UNREAL.search(said))


def _by_agent(clause: Clause) -> Iterator[tuple[int, int]]:
    """Yield `I fixed…`, `we've added…`, and the same without a subject, as in a list of changes."""
    text = clause.text
    own = re.match(rf"^\W*(?:I|we|{w.ADVERB}|{w.VERBED})\b", clause.sentence.text, FLAGS)
    spoken = [p.AGENT, p.DID, p.ALSO]
    if clause.leads or own or _is_announced(clause):
        spoken.append(p.BARE)
    for pattern in spoken:
        for match in pattern.finditer(text):
            start, end = match.span()
            after = text[match.end(match.lastindex or 0) :]
            begun = match.start() if pattern in (p.AGENT, p.DID) else match.start(match.lastindex or 0)
            if is_unreal(clause, begun, end if pattern is not p.DID else begun) or is_by_others_or_past(
                clause, start, end
            ):
                continue
            if pattern not in (p.AGENT, p.DID) and (UNREAL.search(match[0]) or SAID.search(match[0])):
                continue
            if pattern is p.BARE and (
                (
                    re.match(r"^\s*(?:by (?!\w+ing)|with\b|on\b(?! (?:main|master|prod))|at\b)", after, FLAGS)
                    and match[1].lower() not in ("verified", "tested", "confirmed", "validated")
                )
                or (
                    re.match(r"^\W*(?:set|put)\b", text, FLAGS)
                    and not re.search(rf"\band {w.PARTICIPLE}\b", text, FLAGS)
                )
                or p.ATTRIBUTIVE.match(after)
            ):
                continue
            assured = re.search(r"(?:made sure|ensured)$", match[0], FLAGS)
            if (p.NO_WORK.match(after) and not assured) or p.STILL.search(clause.sentence.text[clause.start + end :]):
                continue
            yield trim_span(text, start, end)


def _is_announced(clause: Clause) -> bool:
    """Return whether a colon before the clause announces what was done."""
    lead = clause.sentence.text[: clause.start].rstrip()
    if re.fullmatch(r"\W*(?:yes|yep|yup|ok|okay|sure|right|so|alright)\W*", lead, FLAGS):
        return True
    return lead.endswith((":", "→", "=>", "->", "–", "—")) and not (
        SAID.search(lead) or UNREAL.search(lead) or NEGATIVE.search(lead)
    )


def _by_headline(clause: Clause) -> Iterator[tuple[int, int]]:
    """Yield `Done.`, `Migration complete`, `Ready for review`, `bug fixed, test added`."""
    text = clause.text
    items = [item for item in text.split(", ") if item.strip()]
    if (
        len(items) > 1
        and all(len(item.split()) <= 4 for item in items)
        and any(map(p.ITEM.match, items))
        and not any(map(_SAYS_WHEN.search, items))
    ):
        plain = re.sub(r"\bnothing else\b", "", text, flags=FLAGS)
        if not (NEGATIVE.search(plain) or UNREAL.search(text) or is_reported(text)):
            yield trim_span(text, 0, len(text.rstrip()))
        return
    if (said := p.ANNOUNCED.search(text)) and not (NEGATIVE.search(said[0]) or UNREAL.search(text[: said.end()])):
        if not is_by_others_or_past(clause, said.start(), said.end()):
            yield trim_span(text, said.start(), said.end())
        return
    alone = clause.leads or clause.start + len(text) >= len(clause.sentence.text) - 1
    for pattern in (p.SHORT, p.HEADLINE, p.TELEGRAM):
        match = pattern.match(text)
        if match is None or not (alone or (pattern is p.SHORT and text.rstrip().endswith(":"))):
            continue
        if NEGATIVE.search(match[0]) or UNREAL.search(match[0]) or WONDERING.search(match[0]) or SAID.search(match[0]):
            continue
        if p.HOLLOW.search(clause.sentence.text[clause.start + match.end() :]):
            continue
        if pattern in (p.HEADLINE, p.TELEGRAM) and (
            has_other_subject(match[0][: match.start(1)])
            or (p.FINITE.search(match[0][: match.start(1)]) and re.match(r" in\b", match[0][match.end(1) :], FLAGS))
            or re.match(
                r"^\W*(?:is|are|was|were|be|get|it|they|he|she|you|I|we|mark|keep|the|a|an|this|that|run|make|check"
                r"|review|use|see)\b(?! (?:task|migration|build|deployment|refactor|work|fix|feature|implementation"
                r"|tests?|release|pr|job|change)s?\b)",
                text,
                FLAGS,
            )
        ):
            continue
        yield trim_span(text, 0, match.end())


def _by_wire(clause: Clause) -> Iterator[tuple[int, int]]:
    """Yield terse claims such as `Topic created with 12 partitions`, without article and auxiliary verb."""
    text = clause.text
    match = p.WIRE.match(text)
    if match is None or not clause.leads or p.FAILING.search(clause.sentence.text):
        return
    if (
        p.HOLLOW.search(clause.sentence.text[clause.start + match.end(1) :])
        or p.FINITE.search(text[match.end(1) :])
        or p.FINITE.search(match[0])
    ):
        return
    if NEGATIVE.search(match[0]) or UNREAL.search(match[0]) or SAID.search(match[0]) or WONDERING.search(match[0]):
        return
    if not (is_by_others_or_past(clause, match.start(), match.end()) or has_other_subject(match[0][: match.start(1)])):
        yield trim_span(text, 0, match.end())
