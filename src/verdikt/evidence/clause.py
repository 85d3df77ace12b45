"""A sentence taken apart: what each clause says, and whether it says it of the real present."""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from verdikt.evidence import words as w
from verdikt.evidence.prose import Sentence
from verdikt.model.lazy_regex import compile_lazily

FLAGS = re.IGNORECASE


def any_pattern(*constructions: str) -> re.Pattern[str]:
    """Return a pattern that matches any of the constructions, ignoring case."""
    return compile_lazily("|".join(constructions), FLAGS)


NEGATIVE = compile_lazily(w.NEGATIVE, FLAGS)
UNREAL = compile_lazily(w.UNREAL, FLAGS)
WONDERING = compile_lazily(w.WONDERING, FLAGS)
SAID = compile_lazily(w.SAID, FLAGS)
_WITNESS = compile_lazily(w.WITNESS, FLAGS)
_OTHERS = compile_lazily(w.OTHERS)
_PAST = compile_lazily(w.PAST, FLAGS)
_PERSONAL = compile_lazily(w.PERSONAL)


CLAUSES = 24
"""Clauses of a sentence that are read one by one; what comes after them is read as one."""


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a sentence that says one thing."""

    text: str
    start: int
    sentence: Sentence
    asks: bool
    leads: bool  # whether the sentence begins with it

    def since_comma(self, at: int) -> str:
        """Return the text before a position, back to the last comma."""
        return self.text[:at].rpartition(",")[2]


_SAYS = compile_lazily(r"[\w§¶✅✔☑]")
_SPLIT = any_pattern(
    r"[;—–]",
    r"→(?!\s*~?\d)",
    r"\s-{1,2}\s",
    r":\s",
    r",\s+(?=(?:but|and|so|yet|then|while|whereas|though|although|which|because|since|however)\b)",
    r"\s+(?=(?:but|however|although|though|whereas|because)\s)",
    r",\s+(?=(?:I|we|all|everything|should|shall|do|would|want|could)\b)",
    r"\s\(",
    r"(?<!\(\w)\)\s",
)
_LEAD = compile_lazily(
    r"^(?:(?:and|but|so|then|also|plus|now|yes|ok(?:ay)?|great|good news|perfect|alright|finally|well)\b[,!:]?\s+)+"
    r"|^(?:understood|agreed|sure|yep|yup|thanks|thank you|of course|absolutely|no problem|makes sense)[,!:]\s+",
    re.I,
)
_ASKS = compile_lazily(
    r"^\W*(?:should|shall|do|does|did|want|would|could|can|will|is|are|am|was|were|has|have|what|which|how|why|where"
    r"|who|when|right|ok|or|any|may)\b",
    re.IGNORECASE,
)
CONDITION = compile_lazily(
    r"^\W*(?:if|unless|once|when|whenever|until|provided|assuming|suppose|in case|imagine|as soon as|as long as"
    r"|so long as|only if|let's say|say)\b",
    re.I,
)
TEMPORAL = compile_lazily(
    r"^\W*(?:when|once|as soon as) (?:I|we) (?:\w+ed|ran|re-?ran|made|did|took|put|got|wrote)\b", re.I
)
_LABEL = compile_lazily(
    r"^\W*(?:goal|acceptance criteria|definition of done|(?:expected|actual|desired)(?: \w+)?|plan|next(?: steps?"
    r"| up)?|to-?do|steps?|remaining|requirement|pending"
    r"|(?:for )?context|background|history|timeline|root cause|why\b[^:]{0,60}|what (?:went wrong|happened|broke)"
    r"|question|example|e\.g\.|for example|note to self|hypothesis|idea|option \w+|proposal|suggested \w+(?: \w+)?"
    r"|title|subject"
    r"|commit message|(?:pr|issue|ticket) (?:title|description)|branch|quote|tip|test plan|criteri(?:a|on)"
    r"|in progress|blocked by|later|not done"
    r"|changelog|release notes?|upstream|(?:step|phase|stage|milestone|week|sprint) \d+(?: \([^)]*\)?)?|legend|log"
    r"|error|input|prompt|task)\s*$",
    re.IGNORECASE,
)


def split_clauses(sentence: Sentence) -> Iterator[Clause]:
    """Return the parts of a sentence; text under a label such as `goal:` is not about the present."""
    text = sentence.text
    starts = [0]
    labelled = False
    for match in itertools.islice(_SPLIT.finditer(text), CLAUSES):
        if match[0].startswith(":"):
            labelled = labelled or bool(_LABEL.match(text[starts[-1] : match.start()]))
        starts.append(match.end())
    if labelled:
        return
    for number, start in enumerate(starts):
        end = starts[number + 1] if number + 1 < len(starts) else len(text)
        lead = _LEAD.match(text[start:end])
        begin = start + (lead.end() if lead else 0)
        part = text[begin:end]
        last = number + 1 == len(starts)
        asks = sentence.is_question and (last or bool(_ASKS.match(part)))
        if _SAYS.search(part):
            yield Clause(part, begin, sentence, asks, number == 0)


def is_unreal(clause: Clause, start: int, end: int) -> bool:
    """Return whether something before the words makes them a plan, a condition, a question or a denial."""
    near = clause.since_comma(start) + clause.text[start:end]
    if NEGATIVE.search(near) or _in_part(near) or is_reported(clause.text[:start]):
        return True
    lead = clause.since_comma(start)
    if re.search(r"\b(?:met|satisfied|fulfilled)\W*$", clause.text[start:end], FLAGS):
        lead = re.sub(r"\b(?:criteri(?:a|on)|requirements?|goals?)\b", "", lead, flags=FLAGS)
    if re.search(r"\b(?:I|we) can (?:now )?(?:confirm|verify|report|see)\b", lead, FLAGS):
        return False
    if re.fullmatch(r"\s*which\s*", lead) and (not clause.leads or re.match(r"(?:I|we)\b", clause.text[start:end])):
        return False  # `…, which I fixed`
    return bool(UNREAL.search(lead)) or wonders(lead)


_WHICH = compile_lazily(
    r"\b(?:the|an?|this|that|all|every|both|two|three|\d+)(?: [\w§-]+){1,3} (?:where|which|who|whose)\b", FLAGS
)


def wonders(text: str) -> bool:
    """Return whether words open a question, asked or not; `the bug where it crashed` only says which bug."""
    return bool(WONDERING.search(_WHICH.sub("", text)))


_NUMBERS = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\\d+"
_PART = compile_lazily(rf"\b({_NUMBERS}) (?:out )?of (?:the |our |these )?({_NUMBERS})\b", FLAGS)


def _in_part(text: str) -> bool:
    """Return whether it is said of some of many (`three of five`)."""
    if re.search(r"\b(?!100\b)\d{1,2} ?(?:%|percent) (?:complete|done|finished|ready|there)\b", text, FLAGS):
        return True
    if re.search(rf"\bin (?:{_NUMBERS}|several|many) of (?:them|these|those|the)\b", text, FLAGS):
        return True
    found = _PART.search(text)
    return found is not None and found[1].lower() != found[2].lower()


_NAMED = compile_lazily(
    r"\b(?:(?:the|that|this|those|these|all|every|each|both|an?|your)(?: [\w§'-]+){1,4}?|everything|all"
    r"|anything)(?: that| which)? (?:you|they|he|she|I|we|was|were|users?|customers?)"
    r"(?:'d| had| have|'ve)?(?: \w+ly)? $",
    FLAGS,
)


_THING = any_pattern(
    r"\b(?:the|an?|your|our|this|my|each|every|final|new|weekly|error)(?: [\w-]+)? (?:report|message|notification)$",
    r"\b(?:release|meeting|patch|field|the|my|your|some|these) notes$",
    r"\b(?:the|an?|every|each|all|this|that|both|any) (?:reported|described|mentioned|listed|requested|noted"
    r"|suggested|promised)$",
)


def is_reported(before: str) -> bool:
    """Return whether another person says what follows; `the bug you reported` only says which bug."""
    said = [one for one in SAID.finditer(before) if not _THING.search(before[: one.start()] + one[0])]
    if not said or (_NAMED.search(before[: said[-1].start()]) and before[said[-1].end() :].strip(" ")[:5] != "that "):
        return False
    return not own_word(before)


def own_word(before: str) -> bool:
    """Return whether the agent or one of its tools says so."""
    said = list(SAID.finditer(before))[-1]
    if re.search(r"\b(?:I|we)\W+(?:\w+\W+)?$", before[: said.start()], FLAGS):
        return said[0].lower().startswith(("report", "note", "confirm")) or before[
            : said.start()
        ].lower().lstrip().startswith("as ")
    return bool(_WITNESS.search(before[: said.start()]))


def is_by_others_or_past(clause: Clause, start: int, end: int) -> bool:
    """Return whether the words are about what other people did, or about the past."""
    after = clause.text[end:].partition(" and ")[0]
    return bool(_PERSONAL.match(after)) or bool(_PAST.search(after)) or bool(_PAST.search(clause.text[:start]))


def is_about_past(text: str) -> bool:
    """Return whether words place what they tell in the past, before the agent's own work."""
    return bool(_PAST.search(text))


def find_subject_start(before: str) -> int:
    """Return where the words that the predicate is about begin: the last few words before it."""
    start = max(before.rfind(",") + 1, before.rfind(" and ") + 5 if " and " in before else 0)
    words = [match.start() for match in re.finditer(r"\S+", before[start:])]
    return start + (words[-6:][0] if words else 0)


def trim_span(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span without the marks and spaces at its start, at least one character long."""
    while start < end and not (text[start].isalnum() or text[start] in "§¶✅✔☑"):
        start += 1
    return start, max(end, start + 1)


def has_other_subject(before: str) -> bool:
    """Return whether the subject is another person; `the request you made` is not."""
    if re.search(
        r"\b(?:(?:the|that|this|each|every|all|any)(?: [\w§-]+){1,4}|everything|all|anything)(?: that)? you \w+\s*$",
        before,
        FLAGS,
    ):
        return False
    found = re.search(rf"(?:{w.OTHERS})(?:\s+(\w+))?\s*$", before.rpartition(",")[2])
    # `the user interface` is a thing; `the users already` are people.
    return found is not None and not (
        found[1]
        and re.match(r"(?:users?|customers?|team|people|vendors?|authors?)\s", found[0], FLAGS)
        and not re.fullmatch(rf"{w.ADVERB}|has|have|had", found[1], FLAGS)
    )
