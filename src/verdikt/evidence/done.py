"""Claims that work is done, by the grammar of a clause."""

import re
from collections.abc import Iterator

from verdikt.evidence import phrase as p
from verdikt.evidence import words as w
from verdikt.evidence.clause import (
    CONDITION,
    FLAGS,
    NEGATIVE,
    SAID,
    TEMPORAL,
    UNREAL,
    WONDERING,
    Clause,
    of_others,
    reported,
    subject_start,
    trimmed,
    unreal,
)


def _silent(clause: Clause) -> bool:
    """Whether nothing in the clause can be a claim that work is done."""
    sentence = clause.sentence
    if clause.asks or sentence.mood or sentence.mark == "open":
        return True
    if CONDITION.match(sentence.text) and not TEMPORAL.match(sentence.text):
        return True
    lead = sentence.text[: clause.start]
    if ":" in lead and re.search(
        r"\b(?:happens|works|goes|sequence|lifecycle)\b|\bwhen\b", lead.partition(":")[0], FLAGS
    ):
        return True  # how a thing goes about it, told step by step
    return bool(
        re.match(
            r"^\W*(?:according to|per the|as per|in (?:the|your) (?:issue|ticket|readme|docs))\b", sentence.text, FLAGS
        )
    )


def find_done(clause: Clause) -> list[tuple[int, int]]:
    """Where in a clause something is said to be done; what is said twice in the same words is found once."""
    if _silent(clause):
        return []
    text = clause.text
    if (
        clause.leads
        and p.RESULT.match(clause.sentence.text)
        and not (
            p.FAILING.search(clause.sentence.text)
            or NEGATIVE.search(clause.sentence.text)
            or UNREAL.search(clause.sentence.text)
        )
    ):
        return [(0, len(text.rstrip()))]
    if clause.sentence.mark == "ticked" and clause.leads and not NEGATIVE.search(text) and not UNREAL.search(text):
        return [(0, len(text.rstrip()))]
    spans: list[tuple[int, int]] = []
    for find in (_by_agent, _by_state, _by_tests, _by_change, _by_headline):
        for start, end in find(clause):
            if all(end <= other[0] or start >= other[1] for other in spans):
                spans.append((start, end))
    return sorted(spans)


def _by_agent(clause: Clause) -> Iterator[tuple[int, int]]:
    """`I fixed…`, `we've added…`, and the same without a subject, as in a list of changes."""
    text = clause.text
    own = re.match(rf"^\W*(?:I|we|{w.ADVERB}|{w.VERBED})\b", clause.sentence.text, FLAGS)
    spoken = [p.AGENT, p.DID, p.ALSO]
    if clause.leads or own or _announced(clause):
        spoken.append(p.BARE)
    for pattern in spoken:
        for match in pattern.finditer(text):
            start, end = match.span()
            after = text[match.end(match.lastindex or 0) :]
            begun = match.start() if pattern in (p.AGENT, p.DID) else match.start(1)
            if unreal(clause, begun, end if pattern is not p.DID else begun) or of_others(clause, start, end):
                continue
            if pattern not in (p.AGENT, p.DID) and (UNREAL.search(match[0]) or SAID.search(match[0])):
                continue
            if pattern is p.BARE and (
                re.match(r"^\s*(?:by (?!\w+ing)|with\b|on\b(?! (?:main|master|prod))|at\b)", after, FLAGS)
                or re.match(r"^\W*(?:set|put|made)\b", text, FLAGS)
                or p.ATTRIBUTIVE.match(after)
            ):
                continue
            assured = re.search(r"(?:made sure|ensured)$", match[0], FLAGS)
            if (p.NO_WORK.match(after) and not assured) or p.STILL.search(clause.sentence.text[clause.start + end :]):
                continue
            yield trimmed(text, start, end)


def _announced(clause: Clause) -> bool:
    """Whether a colon before the clause says that what was done comes now."""
    lead = clause.sentence.text[: clause.start].rstrip()
    return lead.endswith(":") and not (SAID.search(lead) or UNREAL.search(lead) or NEGATIVE.search(lead))


def _by_state(clause: Clause) -> Iterator[tuple[int, int]]:
    """`is done`, `has been fixed`, `was deployed`."""
    text = clause.text
    for pattern in (p.IS, p.IS_QUITE, p.IS_MADE, p.BEEN, p.WAS, p.HAS):
        for match in pattern.finditer(text):
            start, end = match.span()
            before, after = text[:start], text[end:]
            state = match[match.lastindex or 0].lower()
            if unreal(clause, start, end) or of_others(clause, start, end):
                continue
            if p.UNDONE.search(clause.sentence.text[clause.start + end :]):
                continue
            if p.LATER.match(after) and not (state in w.CURES and re.match(r"^\s*by \w+ing\b", after, FLAGS)):
                continue
            if re.search(r"\S\s+(?:that|which|who)\s*$", before, FLAGS):
                continue
            if pattern not in (p.BEEN, p.WAS) and _about_others(before):
                continue
            if state in ("covered", "documented", "described", "explained") and re.match(r"^\s*in\b", after, FLAGS):
                continue
            if pattern is p.IS and not _present(clause, match, state, before, after):
                continue
            if re.match(
                r"^\s+(?:incorrectly|wrongly|badly|wrong|too (?:early|late|soon|often|many|much)|twice|prematurely|by (?:mistake|accident))",
                after,
                FLAGS,
            ):
                continue
            if re.search(r"\bafter\b", clause.since_comma(start), FLAGS) and pattern is not p.WAS:
                continue
            yield trimmed(text, min(start, max(0, start - 40) if not before.strip() else subject_start(before)), end)


def _present(clause: Clause, match: re.Match[str], state: str, before: str, after: str) -> bool:
    """Whether `is …` says that work was done, and not how a thing is made or what colour it has."""
    adverbs = match[1].lower()
    sure = re.match(r"^\W*(?:the|your|both|all|these|two|three)? ?new\b", before, FLAGS) is not None or bool(
        re.search(r"\b(?:now|all|fully|already|successfully|finally|completely)\b", adverbs + match[0], FLAGS)
    )
    first = re.search(r"\b(?:I|we|I'm|we're)\W*$", before, FLAGS) or re.match(r"(?:I|we)'", match[0], FLAGS)
    if first and state not in ("done", "finished", "all set", "good to go", "live", "set", "complete"):
        return False
    if re.search(r"\b(?:you|who|he|she)\W*$", before, FLAGS) or re.match(r"(?:you|they)'", match[0], FLAGS):
        return state in ("all set", "set") or state.endswith((" to go", " to merge", " to ship", " to deploy"))
    if state in ("green", "clean", "happy", "passing", "through"):
        return bool(re.search(rf"\b{w.TESTS}\b|§\s*$", before, FLAGS)) and state != "through"
    if state in ("gone", "set", "in order") and not re.search(
        rf"\b(?:it|that|this|everything|all|you)\W*$|\b{w.TROUBLE}\b", before or match[0].partition("'")[0], FLAGS
    ):
        return False
    if p.WEAK_SUBJECT.match(clause.since_comma(match.start())) or p.ATTRIBUTIVE.match(after):
        return False
    if state == "done" and re.match(
        r"^ in (?:\w+ )?(?:steps?|stages?|parallel|batches|phases|order|sequence)\b", after, FLAGS
    ):
        return False
    if state == "complete" and re.match(
        r"^ (?!(?:and|for|now|with|as|but|so|on|in|at|again|apart|except|after|since|from|thanks|pending)\b)[a-z]+",
        after,
        FLAGS,
    ):
        return False
    if state == "ready" and p.READY_LATER.match(after):
        return False
    if state == "working" and re.match(
        r"^ (?:on|with|through|toward|hard|from|out|directory|tree|around|remotely)\b", after, FLAGS
    ):
        return False
    if state in w.CURES and re.match(r"^\s*by \w+ing\b", after, FLAGS):
        return True
    if state in w.INSTALLED and re.match(r"^\s*(?:on|under|at|to|for|behind|across|with the new)\b", after, FLAGS):
        return True
    if state.split(maxsplit=1)[0] in w.DESCRIPTIVE and not sure and p.DESCRIBES.match(after):
        return bool(
            re.match(
                r"^\s*(?:for (?:good|all|everyone|everybody|both|real)|as (?:expected|requested|intended)|end|in (?:production|prod|staging|main|all|this (?:commit|pr|branch|change|patch|release|version|pull request))|on (?:main|master|staging|prod|(?:my|this|the|your) (?:\w+ )?branch|my (?:end|side))|to (?:§|main|master|staging|prod|production|all|every|npm|pypi)|at (?:§|http)|on (?:npm|pypi|all|every|both|the (?:server|staging|registry|store)))(?:\b|\W|$)",
                after,
                FLAGS,
            )
        )
    return True


def _about_others(before: str) -> bool:
    """Whether the subject is somebody else; `the request you made` is not."""
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


def _by_tests(clause: Clause) -> Iterator[tuple[int, int]]:
    """`all tests pass`, `42 passed`, `mypy is clean`, `the build succeeded`."""
    text = clause.text
    if p.FAILING.search(clause.sentence.text):
        return
    for pattern in (p.TESTS, p.COUNT, p.CLEAR, p.ENDED):
        for match in pattern.finditer(text):
            start, end = match.span()
            if pattern is p.TESTS:
                if match[1] and match[1] != match[2]:
                    continue
                if match[0].lower().startswith("it ") and not re.search(
                    r"pass|green|clean|succe|checks|compil", match[0], FLAGS
                ):
                    continue
            said = start if pattern in (p.COUNT, p.CLEAR) else end
            if unreal(clause, start, said) or p.LATER.match(text[end:]) or of_others(clause, start, end):
                continue
            if re.match(
                r"^\W*but (?:it |they |that )?(?:doesn't|don't|does not|do not|isn't|fail|crash|still|hang)",
                clause.sentence.text[clause.start + end :],
                FLAGS,
            ):
                continue
            if re.match(r"^\s+by (?:accident|chance|luck|mistake)\b", text[end:], FLAGS):
                continue
            if re.search(r"\b(?:old|previous|former|original|earlier)\s*$", text[:start], FLAGS):
                continue
            if _relative(text[:start]) or re.search(r"\bafter\b(?! that\b| this\b)", clause.since_comma(start), FLAGS):
                continue
            if _about_others(text[:start]) or (re.match(r"^\W*(?:an?|any)\s", text, FLAGS) and pattern is not p.COUNT):
                continue
            yield trimmed(text, subject_start(text[:start]) if pattern is p.ENDED else start, end)


def _relative(before: str) -> bool:
    """Whether the words are in a relative clause (`the tests that pass`), and not in what the agent vouches for."""
    if not re.search(r"\S\s+(?:that|which|who)\s*$", before, FLAGS):
        return False
    return not re.search(r"\b(?:confirm\w*|verif\w+|so|see|show\w*|means) (?:that|which)\s*$", before, FLAGS)


def _by_change(clause: Clause) -> Iterator[tuple[int, int]]:
    """`the API now returns…`, `it no longer crashes`, `this fixes…`, `that should do it`."""
    text = clause.text
    for pattern in (
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
    ):
        for match in pattern.finditer(text):
            start, end = match.span()
            before = text[:start]
            if pattern is p.SHOULD and not re.search(r"now|do it|to go|all set|running|normal", match[0], FLAGS):
                continue
            if pattern is p.CAN and (re.search(r"\bI\s*$", before, FLAGS) or match[1].lower() in w.ONWARDS):
                continue
            if pattern is p.BACK and re.search(rf"\b(?:{w.TROUBLE}|it|I|you|he|she|we|they)\b", before, FLAGS):
                continue
            if pattern is p.WE_NOW and re.match(w.BAD_FOR_US, match[1], FLAGS):
                continue
            if pattern in (p.NOW, p.LATELY, p.GONE) and (
                not before.strip() or re.search(r"\b(?:I|we|you)\s*$", before, FLAGS)
            ):
                continue
            if pattern is p.NOW and re.search(r"\b(?:that|which|who)\s*$", before, FLAGS):
                continue
            if pattern is p.IS_NOW and (p.WORSE.search(match[0]) or re.search(r"\b(?:I|we|you)\s*$", before, FLAGS)):
                continue
            shielded = (
                before
                if pattern in (p.CAN, p.SHOULD, p.LATELY, p.MEASURED)
                else before + match[0].replace("no longer", "")
            )
            if (
                NEGATIVE.search(shielded.rpartition(",")[2])
                or UNREAL.search(before.rpartition(",")[2])
                or WONDERING.search(before)
            ):
                continue
            if reported(before) or of_others(clause, start, end):
                continue
            yield trimmed(text, subject_start(before), end)


def _by_headline(clause: Clause) -> Iterator[tuple[int, int]]:
    """`Done.`, `Migration complete`, `Ready for review`, `bug fixed, test added`."""
    text = clause.text
    items = [item for item in text.split(", ") if item.strip()]
    if len(items) > 1 and all(len(item.split()) <= 4 for item in items) and any(map(p.ITEM.match, items)):
        if not (NEGATIVE.search(text) or UNREAL.search(text) or reported(text)):
            yield trimmed(text, 0, len(text.rstrip()))
        return
    alone = clause.leads or clause.start + len(text) >= len(clause.sentence.text) - 1
    for pattern in (p.SHORT, p.HEADLINE, p.TELEGRAM):
        match = pattern.match(text)
        if match is None or not alone:
            continue
        if NEGATIVE.search(match[0]) or UNREAL.search(match[0]) or WONDERING.search(match[0]) or SAID.search(match[0]):
            continue
        if pattern in (p.HEADLINE, p.TELEGRAM) and (
            _about_others(match[0][: match.start(1)])
            or re.match(
                r"^\W*(?:is|are|was|were|be|get|it|they|he|she|you|I|we|mark|keep|the|a|an|this|that|run|make|check|review|use|see)\b(?! (?:task|migration|build|deployment|refactor|work|fix|feature|implementation|tests?|release|pr|job|change)s?\b)",
                text,
                FLAGS,
            )
        ):
            continue
        yield trimmed(text, 0, match.end())
