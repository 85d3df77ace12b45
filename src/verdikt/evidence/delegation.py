"""Requests that a person go on, by the grammar of a clause."""

import re

from verdikt.evidence.clause import CONDITION, FLAGS, SAID, WONDERING, Clause, any_pattern, trim_span
from verdikt.evidence.words import COURTESY
from verdikt.model.lazy_regex import compile_lazily

_HASTE = r"(?: please| kindly| then| just| also| quickly| maybe| perhaps| first| now| manually| possibly| briefly)*"
_ADDRESSEE = (
    r"(?:you|some(?:one|body)|anyone|one of you|your (?:\w+ )?(?:team|admin|administrator|dba|colleagues?|ops))"
)
_TALK = (
    r"like|prefer|want|be|have (?:any|a preference|thoughts)|think|clarify|decide|choose|pick|elaborate|explain"
    r"|consider|agree|accept|specify|live with|rather|say more|expand|say which"
    r"|imagine|describe what you want|give me (?:a sense|an idea|some|more)|tell me (?:more|a (?:bit|little) (?:more"
    r"|about)|about|which|how you|whether you|if you|what you (?:want|prefer|need|expect|think|mean|have in mind))"
    r"|let me know (?:which|if you|whether you|how you|what you (?:want|prefer|think|need|mean))"
    r"|confirm that|confirm (?:you|this is|that's|the (?:scope|requirement|approach|plan|expected|intended|desired))"
    r"|confirm (?:which|the direction|how you)|confirm\b[^.;]{0,60}? (?:before I|and I'll|and I will|so (?:that )?I)"
    r"|review|approve the plan|use|see|do without|go with|always"
)
"""Requests that need no work: to choose, to explain, to agree."""

_ITEM = (
    r"(?:output|logs?|errors?|results?|traceback|contents?|files?|details|credentials|url|key|token|screenshot"
    r"|response|message|stack ?trace|config\w*|version|link|value|schema|password|id|payload|timings?|number|name"
    r"|reply|path"
    r"|dump|sample|copy|recording|video|trace|report|csv|dataset|data|secret|numbers?|readings?|code|spec|document"
    r"|spelling|address|date)s?"
)
_GIVE = r"(?:send|paste|share|provide|upload|give|show|forward|post|email|mail|drop|attach|supply|hand|read|copy)"
_OBSERVED = (
    r"(?:(?:(?:once|when|as soon as|after) (?=(?:you've|you have|you|that's|it's) (?!have|merged|reviewed|decided"
    r"|approved|read|looked|fixed|ready|had|back|free|there)\w)|(?:what|whether|if|how|which|where|how many|how much"
    r"|how long)(?: exactly)? )"
    r"(?!(?:you(?:'d| would|'re| are)? (?:want|prefer|like|think|need|rather|mean|expect|happy|ok|fine|agree"
    r"|interested|wish|have (?:any|other|a preference|questions|thoughts)|disagree|feel)|I\b|we\b|to\b|one\b|of\b"
    r"|option|approach|(?:any|some)thing|there(?:'s| is| are) (?:any|some)thing|questions|that (?:works for you"
    r"|sounds|'s|is (?:ok|fine|all right|acceptable|what you))"
    r"|this (?:works for you|sounds|is (?:ok|fine|what you|acceptable)|makes sense|looks (?:good|ok|right))|(?:it"
    r"|this|that|they|those|these|things)(?:'s|'re| is| are)? (?:ok|fine|okay|looks?|sounds?|seems?|in scope"
    r"|out of scope|worth|wanted|needed|intended|acceptable|a priority|what you)|(?:the|either|this"
    r"|that) (?:\w+ )?(?:option|approach|direction|plan|design|naming|wording)|you(?:'d| would) |path|way)\b)\S+"
    rf"|the (?:[\w-]+ ){{0,3}}?(?:{_ITEM}|colou?r|outcome|exact)\b|its (?:{_ITEM}|colou?r|state|status)\b)"
)

_ASKED = tuple(
    compile_lazily(pattern, FLAGS)
    for pattern in (
        rf"\b(?:please|kindly){_HASTE} (?!(?:{COURTESY}|{_TALK})\b)(?!confirm\W*$)[a-z]{{2,}}\b",
        rf"\b(?:please|kindly){_HASTE} double-check [^.]{{1,60}}\b(?:tell me|let me know|get back|report)\b",
        rf"\b(?:can|could|would|will) {_ADDRESSEE}(?: (?:with|in|on|at|from) [\w§ -]{{2,30}}?)?{_HASTE} (?:try to "
        rf"|check and )?(?!(?:{_TALK})\b)[a-z]{{2,}}\b",
        r"\b(?:would|do) you mind \w+ing\b(?! (?:if|it if)\b)",
        rf"\bif you (?:could|would|can|were able to){_HASTE} (?!(?:{_TALK})\b)[a-z]{{2,}}\b(?=[^.]*\b(?:me|us|back"
        rf"|report|your (?:machine|end|side)|output|logs?|result)\b)",
        r"\bI(?:'ll| will|'d| would)? need you to\b|\bI(?:'d| would) (?:ask|like) you to\b(?! (?:decide|choose|pick"
        r"|confirm that|know|be aware))|\b(?:would|will) you be able to (?!(?:live|accept)\b)[a-z]+\b|\b(?:over"
        r"|back) to you to\b",
        rf"(?<!you can )(?<!to )\b(?:tell|show) me {_OBSERVED}",
        rf"(?<!to )\blet me know {_OBSERVED}",
        r"(?<!I'll )(?<!will )(?<!to )\blet me have (?:the|your|its|a copy)\b",
        r"(?<!I'll )(?<!will )(?<!to )\breport back\b|(?<!I'll )(?<!will )\bget back to me\b|\b(?:ping|message|email"
        r"|tell) me (?:when|once|after|as soon as) (?:you|it|that|this|the)\b|(?:then|and) (?:ping|message"
        r"|email) me\b",
        rf"(?:^|[,:]\s|\b(?:please|kindly|just|then|and|so|you should|you must|you need to|you'll (?:have"
        rf"|need) to)\b){_HASTE},? ?{_GIVE}(?: it| them| that| this| one)?(?: over| back| along| again)?"
        rf" (?:(?:to )?(?:me|us)(?! (?:more|about|which|if|how|whether|an? (?:idea|overview|hint|sense)))|over|here"
        rf"|back|in chat|the (?:[\w§-]+ ){{0,4}}?{_ITEM}\b|your (?:[\w§-]+ ){{0,3}}?(?:§|{_ITEM})"
        rf"|what(?:ever)? (?:you|it|the|comes)|an? (?:\w+ ){{0,2}}?{_ITEM}\b|its {_ITEM}\b|any (?:\w+ )?{_ITEM}\b)",
        r"\b(?:you|some(?:one|body)|a human|an admin)(?:'ll| will|'d)?(?: just)? (?:need|have"
        r"|ought) to [a-z]+\b(?=[^.]{0,80}?\b(?:yourself|manually|by hand|for me|and (?:tell|send|paste|share|let)"
        r"|(?:since|because|as) I)\b)",
        r"\byou(?:'ll| will) (?:need|have) to [a-z]+\b(?=[^.]{0,80}?\bon your (?:machine|end|side|phone|device)\b)",
        rf"\b(?:on|from) your (?:machine|end|side),?{_HASTE} (?:run|execute|try|check)\b",
        r"^\W*(?:try|run|start|open|execute|restart|re-?run|check|test)\b[^.;]{1,80}? on your (?:machine|end|side"
        r"|phone|device|laptop)\b",
        r"\bif (?:you can|possible),? (?!(?:I|we|let|it|that|this|the|you)\b)[a-z]+\b",
        r"\bwhat do you (?:get|see) (?:when|if|after|on|in)\b",
        r"\bwhat (?:does|do|did|is) [^?]{1,60}? (?:say|print|show|display|output|return|report"
        r"|read)\b[^?]*\b(?:when you|if you|after you|on your|for you)\b",
        r"\bI(?:'ll|'d| will| would)?(?: still)? need (?!(?:an?|your|some|one) (?:\w+ )?(?:decision|answer|opinion"
        r"|go-ahead|feedback|confirmation|preference|approval)\b)(?:[\w-]+ ){1,5}from you\b",
        r"^\W*(?:I'll|I will|I'd|I would)? ?(?:need|require) from you\b|^\W*what I need from you\b|\bneeded from you\b",
    )
)
_NOT_ASKED = any_pattern(
    r"\b(?:if|when|whenever|users?|they|he|she|clients?|server|endpoint|bot|customers?|script|wizard|form|will"
    r"|would like|wants?|should|which|that|to|don't|do not|never|no need|without|instead of|rather than|how"
    r"|I'll)\s+(?:\w+\s+){0,2}$",
    r"\byou (?:said|asked|told|wanted|mentioned)\b",
    r"\bdidn't\b",
    r"\bnot\b",
    r"\byou (?:can|may|might|could)\s+(?:\w+\s+){0,2}$",
)
_FREE = any_pattern(
    r"\bif (?:you(?:'d)? (?:want|like|wish|prefer|feel like|care)|needed|necessary|desired|you need)\b",
    r"\bfeel free\b",
    r"\boptional(?:ly)?\b",
    r"\b(?:isn't|not) necessary\b",
    r"\bonly (?:if|when|once|after)\b",
)
_TO_OTHERS = compile_lazily(
    r"\b(?:tell|show|give|send) (?:the|your|our|any|all) (?:end )?(?:users?|clients?|team|customers?|reviewers?"
    r"|people|caller)\b",
    FLAGS,
)
_AND = compile_lazily(r"^\W*(?:and|then|so|just|,)\b", FLAGS)
_SUBJECT = compile_lazily(
    r"^\W*(?:I|we|he|she|it|they|the|a|an|this|that|these|those|users?|each|every|when|after|once|clients?"
    r"|[A-Z]\w+ (?:is|was|has|will)|¶)\b(?!'d appreciate)",
    FLAGS,
)


def find_delegation(clause: Clause) -> tuple[int, int] | None:
    """Yield where a clause asks a person to do, look up or send something; choices and offers do not count."""
    sentence = clause.sentence
    if sentence.mood == "report" or sentence.mark or _FREE.search(sentence.text):
        return None
    if CONDITION.match(sentence.text) and not re.match(
        r"^\W*(?:if so\b|(?:if|when|once|in case) you (?:can|could|have|get|don't mind|are able|find)\b|(?:when"
        r"|whenever|once) you [^,]{1,60}, please\b)",
        sentence.text,
        FLAGS,
    ):
        return None
    for pattern in _ASKED:
        for match in pattern.finditer(clause.text):
            if _holds(clause, match):
                return trim_span(clause.text, match.start(), match.end())
    return None


def _holds(clause: Clause, match: re.Match[str]) -> bool:
    lead, after = clause.text[: match.start()], clause.text[match.end() :]
    if _TO_OTHERS.search(match[0]) or SAID.search(clause.sentence.text[: clause.start + match.start()]):
        return False
    if clause.sentence.mood == "plan" and not re.search(r"\b(?:please|kindly|you|me)\b", match[0], FLAGS):
        return False
    if not lead.strip() and re.match(r"\W*let me know how (?:it|that|things|you)$", match[0], FLAGS):
        return False  # `let me know how it goes` wishes luck; after `run it and` it asks
    own = re.match(r"^\W*I\b", match[0], FLAGS)
    if not own and _NOT_ASKED.search(lead):
        return False
    if re.search(r"\b(?:would you like|do you want|want|shall|should) (?:me|I)\b", lead, FLAGS):
        return False
    if re.match(r"^ that you (?:have|are|can)\b", after, FLAGS):
        return False
    if re.search(r"\b(?:can|could|would|will) you\b", match[0], FLAGS):
        if WONDERING.search(lead):
            return False  # `what will you store?`
        return clause.asks or bool(re.search(r"\bcould you\b|\bwould you\b|\bplease\b", match[0], FLAGS))
    if _AND.match(match[0]) and not clause.leads:
        lead = clause.sentence.text[: clause.start + match.start()]
    if re.search(
        r"\byou(?:'d| would| could| can| might)\b", clause.sentence.text[: clause.start + match.start()], FLAGS
    ):
        return False
    if _AND.match(match[0]) or re.match(r"\W*(?:tell|show|let|report|get)\b", match[0], FLAGS):
        return not _SUBJECT.match(lead) or bool(re.search(r"\b(?:please|you)\b", lead, FLAGS))
    return True
