"""Claims that work is done, by the grammar of a clause."""

import re

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
    own_word,
    subject_start,
    trimmed,
    unreal,
)

_I = re.compile
_AGENT = _I(
    rf"\b(?:I|we)(?:'ve| have)?(?: {w.ADVERB}){{0,3}} (?:gone ahead and |went ahead and )?({w.VERBED})\b", FLAGS
)
_DID = _I(
    rf"\b(?:I|we)(?:'ve| have)?(?: {w.ADVERB}){{0,3}} ((?!(?:{w.IDLE}|{w.ADVERB})\b)(?:\w{{2,14}}ed|{w.MADE}))\b(?! to\b)"
    r"|\b(?:I|we)(?: was| were|'ve been| have been)?(?: able| managed) to (?!(?:reproduce|find|see|identify|locate|confirm that|read|check|look|trace)\b)(\w+)"
    r"|\b(?:I|we)(?:'ve| have)? (got) (?:it|this|that|everything|all|the)\b[^,]{0,40} (?:working|passing|running|to (?:pass|work|compile|build))\b",
    FLAGS,
)
_ALSO = _I(rf"^\W*(?:I|we)\b[^,]{{1,120}}?,? (?:and|then)(?: {w.ADVERB}){{0,2}} ({w.VERBED})\b", FLAGS)
_BARE = _I(rf"^\W*(?:and |then )?(?:{w.ADVERB} ){{0,2}}({w.VERBED}|fix applied)\b(?!-)", FLAGS)
_IS = _I(
    rf"(?:\b(?:is|are|am)\b|\b(?:it|that|this|everything|all|we|you|they|I)'(?:s|re|m))(?:(?: [^\s,;]+){{1,5}} and(?= (?:now|fully|completely)\b))?((?: {w.ADVERB}){{0,3}}) ({w.STATE})\b(?!-)",
    FLAGS,
)
_BEEN = _I(
    rf"(?:\b(?:has|have)\b|'ve)((?: {w.ADVERB}){{0,3}}) been((?: {w.ADVERB}){{0,3}}) ({w.VERBED}|done|set|made)\b",
    FLAGS,
)
_WAS = _I(
    rf"\b(?:was|were)(?: {w.ADVERB}){{0,2}} (fixed|resolved|implemented|completed|finished|deployed|shipped|added|created|updated"
    r"|removed|addressed|merged|published|released|migrated|successful|a success|refactored|installed|renamed|replaced|applied"
    r"|committed|pushed|done|rewritten|verified|corrected)\b",
    FLAGS,
)
_HAS = _I(
    rf"\b(?:has|have)(?: {w.ADVERB}){{0,3}} (landed|shipped|completed|finished|succeeded|passed|gone live|gone out)\b",
    FLAGS,
)
_ENDED = _I(
    r"\b(?:completed|succeeded|finished|went through|ran|went live|went out|landed|built|compiled|started|deployed|exited|rolled out|works?|compiles|builds|runs|starts|loads|load|run|render|work|renders|behaves?|responds?)"
    r" (?:successfully|cleanly|fine|without (?:any )?(?:errors?|issues?|problems?|failures?|warnings?)|with no (?:errors|issues|warnings)|with(?: exit)?(?: code| status) 0|as (?:expected|intended|designed|requested)"
    r"|fine again|again|correctly|perfectly|flawlessly|properly|great|end[- ]to[- ]end|on main|in production|nicely|(?:all )?green)\b|\b\w{3,14}(?:s|ed) (?:successfully|cleanly|flawlessly|without (?:any )?(?:errors|warnings))\b|\bworks\W*$|\b(?:succeeded|went through|went live|works now)\b|\b(?:compiles|type-?checks|typechecks|builds)\W*$",
    FLAGS,
)
_TESTS = _I(
    rf"\b(?:{w.TESTS}|all of which|all of them|(\d+)(?:/| of | out of )(?:the )?(\d+)(?: {w.TESTS})?|\d+ {w.TESTS}|it)(?: in [\w§./-]+)?(?: {w.ADVERB}| still){{0,3}}"
    r" (?:pass(?:es|ed)?\b(?! (?:an?|the|its?|that|this|these|each|our|along|through|to|down|back|over)\b)|passing\b|succeeds?\b|succeeded\b|checks? out\b"
    r"|(?:is|are|was|were|came back|comes back|come back|turned|stays?|went|looks?)(?: "
    + w.ADVERB
    + r"){0,2} (?:green|clean|passing|successful|happy)\b|compiles\b|compiled\b|is back to green\b|(?:green|clean)(?=\W*$|[,;]))",
    FLAGS,
)
_COUNT = _I(
    r"\b\d[\d,]* (?:tests? |specs? )?pass(?:ed|ing)\b|\b(?:0|zero|no) (?:failures|failed|failing|type errors|lint errors|errors and|errors,)",
    FLAGS,
)
_FAILING = _I(
    r"\b(?!0\b)\d+ (?:\w+ )?(?:fail\w*|errors?\b|errored)|\b(?:one|two|three|four|several|some|others?|rest|but|still|remaining) (?:\w+ ){0,4}fail|\bfailing\b(?! (?:tests?|specs?|cases?|checks?|ones?|builds?|inputs?)\b)|\bxfail",
    FLAGS,
)
_NOW = _I(
    rf"(?<!right )(?<!for )(?<!by )(?<!until )(?<!from )(?<!of )(?<!even )\bnow(?: {w.ADVERB}){{0,2}} (?!(?:{w.BAD})\b)(\w+[^\Ws]s|(?:pas|proces|acces|addres)ses|\w+shes|\w+ches|{w.BASE})\b(?!')",
    FLAGS,
)
_IS_NOW = _I(r"\b(?:is|are)(?: (?!not\b|never\b|still\b|being\b|going\b)\w+){1,3} now\W*$", FLAGS)
_WORSE = _I(
    r"\b(?:broken|failing|down|slower|worse|wrong|stuck|blocked|missing|unclear|clear|different|obvious|progress|open|red|running out|trying|working on|looking|writing|adding|fixing|there)\b",
    FLAGS,
)
_WE_NOW = _I(r"\bwe now (\w+)\b", FLAGS)
_LATELY = _I(rf"\b(?!(?:{w.BAD}|{w.ADVERB})\b)[a-z]+[^\Wsu]s\b[^,]{{0,60}} now\W*$", FLAGS)
_CAN = _I(r"\b(?:can|should) now(?: be)? (\w+)", FLAGS)
_SHOULD = _I(
    r"\bshould (?:be |now )(?:now |all )?(?:be )?(?:fixed|working|good|resolved|set|ready|done|work)(?: \w+)? ?(now)?\b|\bthat should do it\b",
    FLAGS,
)
_GONE = _I(
    r"\bno longer (?!work|exist|has\b|have\b|support|available|maintained|compile|build|pass|need|block|stuck|necessary|relevant|true|valid|required|recommended)(\w+)",
    FLAGS,
)
_THIS = _I(
    r"^\W*(?:this|that|these(?: changes)?|which|(?:the|this|my) (?:change|fix|patch|commit|pr|update|edit|diff|refactor)s?)(?: now| also| fully| should now)?"
    r" (fix(?:es)?|resolves?|completes?|closes?|address(?:es)?|finish(?:es)?|solves?|wraps? (?:it |this |that |things )?up|does it|takes care of|concludes)\b",
    FLAGS,
)
_HEADLINE = _I(
    r"^\W*(?:(?!of\b|as\b|to\b|be\b|get\b|getting\b|when\b|the\b|a\b)[\w§'/.#+-]+ ){1,6}?(complete|completed|done|finished|successful|fixed|resolved|deployed|implemented|merged|live|passing"
    r"|passed|succeeded|shipped|accomplished|achieved|updated|added|created|removed|verified|ready|green|restored|applied|pushed|migrated|published|released)"
    r"(?: successfully| now| and (?:verified|tested|pushed|merged|deployed|working)| for (?:review|testing|use|merge|production)| to (?:merge|ship|review|deploy|use|go)| 🎉| in production| on main)?\W*$",
    FLAGS,
)
_TELEGRAM = _I(rf"^\W*(?!I\b|we\b|the\b|a\b|an\b|you\b)(?:[\w§'/.#+-]+ ){{1,3}}({w.VERBED}|done)\b(?=, \S)", FLAGS)
_SHORT = _I(
    r"^\W*no (?:more |remaining |further )(?:warnings|errors|failures|issues|regressions|crashes)\b|"
    r"^\W*(?:all |job |and |it's |that's |we're |i'm |you're )?(?:done|fixed|finished|complete|completed|shipped|all set|set|good to go|up and running|mission accomplished|live|deployed|merged|resolved|implemented|sorted|that's it|ready)"
    r"(?: now| for (?:review|you|testing|merge|production|use)| to (?:merge|ship|go|review|use|deploy)| and (?:\w+ ){0,2}\w+| 🎉| as requested| here)?\W*$|^\W*(?:done|fixed|finished|shipped)[,!.]|^\W*(?:all )?(?:tests|ci|build|checks)(?: all)? green\b|^\W*(?:all|everything(?:'s| is)?) (?:done|set|good|green|finished)\b",
    FLAGS,
)

_LATER = _I(
    r"^[^,]{0,40}?\b(?:if|when|once|unless|until|whenever|provided|only|as long as|except|before|yet to|assuming)\b",
    FLAGS,
)
_DESCRIBES = _I(
    r"^\s*(?:in|by|as|via|with|using|through|at|on|from|per|every|under|inside|to|per|for|automatically|like|within|around)\b",
    FLAGS,
)
_ATTRIBUTIVE = _I(
    r"^\s+(?:width|size|header|point|time|position|number|length|amount|price|rate|list|set|example|state|callback|event|queue|column|flag|at \d|on top)\b",
    FLAGS,
)
_NO_WORK = _I(
    r"^\s+(?:nothing|no|none|neither|little)\b|^\s+(?:my|the|a|an|this|our|some)? ?(?:\w+ )?(?:plan|todo(?: list)?|to-do(?: list)?|understanding|notes?|mistake|assumption|progress|suspicion|hypothesis|theory|question|concerns?|outline|proposal|breakpoint|debug\w*|temporary|print statements?)\b"
    r"|^\s+(?:that|whether|if|why|how) (?:[\w§']+ ){0,6}(?:is|are|was|does|do|did|can|could|has|fails?|crash\w*|still)\b(?! (?:now|fixed|working|passing|green|done|gone|resolved|complete))",
    FLAGS,
)
_STILL = _I(
    r"\b(?:but|however|yet|though)\b[^.]{0,60}?\b(?:still (?:fail|crash|break|hang|error|see|get|happen|isn't|doesn't|not|present|there|broken)|didn't (?:help|work|fix)|doesn't (?:help|work|fix)|no (?:effect|luck|difference)|to no avail|it fails|that fails|the (?:error|bug|problem|issue|failure) (?:persists|remains|is still))",
    FLAGS,
)
_READY_LATER = _I(
    r"^ to (?:start|begin|proceed|help|continue|implement|work|go ahead|assist|tackle|take|dive|move|accept|discuss|answer)\b|^ when you\b|^ for your (?:answer|input|next|instruct|question|feedback)",
    FLAGS,
)
_WEAK_SUBJECT = _I(r"^\W*(?:a|an|each|every|any)\s(?!single|one)", FLAGS)


def _silent(clause: Clause) -> bool:
    """Whether nothing in the clause can be a claim that work is done."""
    sentence = clause.sentence
    if clause.asks or sentence.mood or sentence.mark == "open":
        return True
    if CONDITION.match(sentence.text) and not TEMPORAL.match(sentence.text):
        return True
    return bool(
        re.match(
            r"^\W*(?:according to|per the|as per|in (?:the|your) (?:issue|ticket|readme|docs))\b", sentence.text, FLAGS
        )
    )


def find_done(clause: Clause) -> tuple[int, int] | None:
    if _silent(clause):
        return None
    text = clause.text
    if clause.sentence.mark == "ticked" and clause.leads and not NEGATIVE.search(text) and not UNREAL.search(text):
        return 0, len(text.rstrip())
    for find in (_by_agent, _by_state, _by_tests, _by_change, _by_headline):
        found = find(clause)
        if found is not None:
            return found
    return None


def _by_agent(clause: Clause) -> tuple[int, int] | None:
    """`I fixed…`, `we've added…`, and the same without a subject, as in a list of changes."""
    text = clause.text
    own = re.match(rf"^\W*(?:I|we|{w.ADVERB}|{w.VERBED})\b", clause.sentence.text, FLAGS)
    spoken = [_AGENT, _DID, _ALSO]
    if clause.leads or own or _announced(clause):
        spoken.append(_BARE)
    for pattern in spoken:
        for match in pattern.finditer(text):
            start, end = match.span()
            after = text[match.end(match.lastindex or 0) :]
            begun = match.start() if pattern in (_AGENT, _DID) else match.start(1)
            if unreal(clause, begun, end if pattern is not _DID else begun) or of_others(clause, start, end):
                continue
            if pattern not in (_AGENT, _DID) and (UNREAL.search(match[0]) or SAID.search(match[0])):
                continue
            if pattern is _BARE and (
                re.match(r"^\s*(?:by (?!\w+ing)|with\b|on\b(?! (?:main|master|prod))|at\b)", after, FLAGS)
                or re.match(r"^\W*(?:set|put|made)\b", text, FLAGS)
                or _ATTRIBUTIVE.match(after)
            ):
                continue
            if _NO_WORK.match(after) or _STILL.search(clause.sentence.text[clause.start + end :]):
                continue
            return trimmed(text, start, end)
    return None


def _announced(clause: Clause) -> bool:
    """Whether a colon before the clause says that what was done comes now."""
    lead = clause.sentence.text[: clause.start].rstrip()
    return lead.endswith(":") and not (SAID.search(lead) or UNREAL.search(lead) or NEGATIVE.search(lead))


def _by_state(clause: Clause) -> tuple[int, int] | None:
    """`is done`, `has been fixed`, `was deployed`."""
    text = clause.text
    for pattern in (_IS, _BEEN, _WAS, _HAS):
        for match in pattern.finditer(text):
            start, end = match.span()
            before, after = text[:start], text[end:]
            state = match[match.lastindex or 0].lower()
            if unreal(clause, start, end) or of_others(clause, start, end) or _LATER.match(after):
                continue
            if re.search(r"\S\s+(?:that|which|who)\s*$", before, FLAGS) or _about_others(before):
                continue
            if pattern is _IS and not _present(clause, match, state, before, after):
                continue
            if re.match(r"^\s+(?:incorrectly|wrongly|badly|wrong|out\b|off\b|down\b)", after, FLAGS):
                continue
            if re.search(r"\bafter\b", clause.since_comma(start), FLAGS) and pattern in (_IS, _BEEN):
                continue
            return trimmed(text, min(start, max(0, start - 40) if not before.strip() else subject_start(before)), end)
    return None


def _present(clause: Clause, match: re.Match[str], state: str, before: str, after: str) -> bool:
    """Whether `is …` says that work was done, and not how a thing is made or what colour it has."""
    adverbs = match[1].lower()
    sure = bool(re.search(r"\b(?:now|all|fully|already|successfully|finally|completely)\b", adverbs + match[0], FLAGS))
    first = re.search(r"\b(?:I|we|I'm|we're)\W*$", before, FLAGS) or re.match(r"(?:I|we)'", match[0], FLAGS)
    if first and state not in ("done", "finished", "all set", "good to go", "live", "set", "complete"):
        return False
    if re.search(r"\b(?:you|who|he|she)\W*$", before, FLAGS) or re.match(r"(?:you|they)'", match[0], FLAGS):
        return state in ("all set", "good to go", "set")
    if state in ("green", "clean", "happy", "passing", "through"):
        return bool(re.search(rf"\b{w.TESTS}\b", before, FLAGS)) and state != "through"
    if state in ("gone", "set", "in order") and not re.search(
        r"\b(?:it|that|this|everything|all|errors?|bugs?|warnings?|issues?|crash(?:es)?|leaks?|race|you|problems?|flake|flicker|you|lag|deadlock)\W*$",
        before or match[0].partition("'")[0],
        FLAGS,
    ):
        return False
    if _WEAK_SUBJECT.match(clause.since_comma(match.start())) or _ATTRIBUTIVE.match(after):
        return False
    if state == "ready" and _READY_LATER.match(after):
        return False
    if state == "working" and re.match(
        r"^ (?:on|with|through|toward|hard|from|out|directory|tree|around|remotely)\b", after, FLAGS
    ):
        return False
    if state in ("covered", "documented") and re.match(r"^\s*in\b", after, FLAGS) and " now" not in adverbs:
        return False
    if state in ("fixed", "resolved", "solved") and re.match(r"^\s*by \w+ing\b", after, FLAGS):
        return True
    if state.split(maxsplit=1)[0] in w.DESCRIPTIVE and not sure and _DESCRIBES.match(after):
        return bool(
            re.match(
                r"^\s*(?:as (?:expected|requested|intended)|end|in (?:production|prod|staging|main|all)|on (?:main|master|staging|prod|my (?:end|side))|to (?:main|master|staging|prod|production|all|every|npm|pypi)|at (?:§|http)|on (?:npm|pypi|all|every|both|the (?:server|staging|registry|store)))(?:\b|\W|$)",
                after,
                FLAGS,
            )
        )
    return True


def _about_others(before: str) -> bool:
    return bool(re.search(rf"(?:{w.OTHERS})(?:\s+\w+){{0,1}}\s*$", before.rpartition(",")[2]))


def _by_tests(clause: Clause) -> tuple[int, int] | None:
    """`all tests pass`, `42 passed`, `mypy is clean`, `the build succeeded`."""
    text = clause.text
    if _FAILING.search(clause.sentence.text):
        return None
    for pattern in (_TESTS, _COUNT, _ENDED):
        for match in pattern.finditer(text):
            start, end = match.span()
            if pattern is _TESTS:
                if match[1] and match[1] != match[2]:
                    continue
                if match[0].lower().startswith("it ") and not re.search(
                    r"pass|green|clean|succe|checks|compil", match[0], FLAGS
                ):
                    continue
            if unreal(clause, start, end) or _LATER.match(text[end:]) or of_others(clause, start, end):
                continue
            if _relative(text[:start]):
                continue
            if _about_others(text[:start]) or (_WEAK_SUBJECT.match(text) and pattern is not _COUNT):
                continue
            return trimmed(text, subject_start(text[:start]) if pattern is _ENDED else start, end)
    return None


def _relative(before: str) -> bool:
    """Whether the words are in a relative clause (`the tests that pass`), and not in what the agent vouches for."""
    if not re.search(r"\S\s+(?:that|which|who)\s*$", before, FLAGS):
        return False
    return not re.search(r"\b(?:confirm\w*|verif\w+|so|see|show\w*|means) (?:that|which)\s*$", before, FLAGS)


def _by_change(clause: Clause) -> tuple[int, int] | None:
    """`the API now returns…`, `it no longer crashes`, `this fixes…`, `that should do it`."""
    text = clause.text
    for pattern in (_NOW, _WE_NOW, _LATELY, _IS_NOW, _GONE, _THIS, _CAN, _SHOULD):
        for match in pattern.finditer(text):
            start, end = match.span()
            before = text[:start]
            if pattern is _SHOULD and "now" not in match[0].lower() and "do it" not in match[0].lower():
                continue
            if pattern is _CAN and (
                re.search(r"\b(?:I|we)\s*$", before, FLAGS)
                or match[1].lower() in ("proceed", "start", "see", "move", "begin")
            ):
                continue
            if pattern is _WE_NOW and re.match(w.BAD_FOR_US, match[1], FLAGS):
                continue
            if pattern in (_NOW, _LATELY, _GONE) and (
                not before.strip() or re.search(r"\b(?:I|we|you)\s*$", before, FLAGS)
            ):
                continue
            if pattern is _NOW and re.search(r"\b(?:that|which|who)\s*$", before, FLAGS):
                continue
            if pattern is _IS_NOW and (_WORSE.search(match[0]) or re.search(r"\b(?:I|we|you)\s*$", before, FLAGS)):
                continue
            shielded = before if pattern in (_CAN, _SHOULD, _LATELY) else before + match[0].replace("no longer", "")
            if (
                NEGATIVE.search(shielded.rpartition(",")[2])
                or UNREAL.search(before.rpartition(",")[2])
                or WONDERING.search(before)
            ):
                continue
            if (SAID.search(before) and not own_word(before)) or of_others(clause, start, end):
                continue
            return trimmed(text, subject_start(before), end)
    return None


def _by_headline(clause: Clause) -> tuple[int, int] | None:
    """`Done.`, `Migration complete`, `Ready for review`."""
    text = clause.text
    alone = clause.leads or clause.start + len(text) >= len(clause.sentence.text) - 1
    for pattern in (_SHORT, _HEADLINE, _TELEGRAM):
        match = pattern.match(text)
        if match is None or not alone:
            continue
        if NEGATIVE.search(match[0]) or UNREAL.search(match[0]) or WONDERING.search(match[0]) or SAID.search(match[0]):
            continue
        if pattern in (_HEADLINE, _TELEGRAM) and (
            _about_others(match[0][: match.start(1)])
            or re.match(
                r"^\W*(?:is|are|was|were|be|get|it|they|he|she|you|I|we|mark|keep|the|a|an|this|that|run|make|check|review|use|see)\b(?! (?:task|migration|build|deployment|refactor|work|fix|feature|implementation|tests?|release|pr|job|change)s?\b)",
                text,
                FLAGS,
            )
        ):
            continue
        return trimmed(text, 0, match.end())
    return None
