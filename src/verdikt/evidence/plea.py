"""Claims that the agent is stuck, and requests that somebody else go on."""

import re

from verdikt.evidence.clause import CONDITION, FLAGS, SAID, Clause, reported, trimmed
from verdikt.evidence.words import COURTESY

_I = re.compile
_STUCK = _I(
    r"\b(?:I'm|I am|we're|we are|I've been|I was|I got|I remain)(?: (?:currently|completely|now|still|\w+ly))* (?:blocked|stuck|unable to|not able to|at an impasse|out of options|out of ideas|prevented from|locked out|hitting a wall)\b"
    r"|\b(?:I|we)(?:'ve| have)? (?:hit|run into|ran into|reached|come to) (?:a|an|the) (?:\w+ )?(?:wall|dead end|roadblock|road block|blocker|impasse|brick wall|hard stop)\b|\bnothing (?:more|else|further) I can (?:do|try)\b"
    r"|\b(?:I|we)(?: still| simply| just| currently)? (?:can't|cannot|can not|couldn't|could not|won't be able to|wasn't able to|was unable to|am not able to)(?: \w+ly| yet| even)? "
    r"(?:proceed|continue|go (?:any )?further|complete|finish|move (?:forward|ahead|on)|access|reach|connect|authenticate|log ?in|push|deploy|install|download|fetch|run|execute|test|verify|build|make (?:any )?(?:more |further )?progress|get past|do (?:this|that|it|more)|go on|open|clone|pull|publish|start|knowing|resolve|reproduce|determine|implement|fix|read|load|merge|create|write|produce|get (?:any )?(?:further|farther))\b|\b(?:I|we) (?:have no way (?:to|of)|had to stop)\b"
    r"|\b(?:I|we)(?: still| currently)? (?:lack|am missing|'m missing|have no) (?:\w+ ){0,3}(?:access|permissions?|credentials|rights|privileges|keys?|scope|tooling)\b|\b(?:I|we)(?:'m|'re| am| are)?(?: going to)?(?:'ll)? have to stop\b"
    r"|\b(?:I|we) (?:couldn't|could not|can't|cannot) (?:do|test|check|verify|try)(?= (?:is|was)\b)"
    r"|\b(?:I|we)(?: still| currently)? (?:don't|do not) have (?:\w+ )?(?:access|permissions?|credentials|the (?:rights?|keys?|credentials|permissions?|necessary|required)|a way|network|internet)\b"
    r"|(?:\b(?:this|it)|(?:^|[,;:] ?)that|\bthe (?:\w+ ){0,3}(?:task|work|deploy\w*|migration|release|fix|rollout|implementation|feature|change|verification|next step|rest)|everything(?: else)?|progress)(?:'s| is| are| remains)(?: (?:currently|still|now|completely|\w+ly))* (?:blocked|stuck|impossible|on hold)\b"
    r"|^\W*(?:still |currently )?(?:unable to|not able to|can't|cannot|could not|couldn't) (?:proceed|continue|complete|finish|go (?:on|further)|connect|access|install|build|deploy|push|verify|run|reach|log ?in|download)\b"
    r"|^\W*(?:still |currently |now )?(?:blocked|stuck)(?: (?:on|by|until|because|waiting|at|here)\b|\W*$)"
    r"|\b(?:I|we)(?: still| simply| just| currently)? (?:can't|cannot|can not|couldn't|could not|am unable to|was unable to|wasn't able to|was not able to|am not able to) (?!say|tell|see|think|imagine|guarantee|recommend|help|wait|agree|promise|speak|stress|care|be|find (?!an?y? way)|fault|rule|emphasi|overstate|remember|confirm|explain|understand|predict|judge|decide|comment|know|believe|spot|justify|reproduce (?:it|this|that) any|thank|do (?:that|this) (?:for|in|with)|get it to|just)"
    r"[a-z]+\b"
    r"|(?:(?<=^)|(?<=[,;:] ))without (?:[\w'§./-]+ ){1,8}(?:I|we) (?:can't|cannot|can not|couldn't) (?!say|tell|be sure|guarantee|promise)[a-z]+\b"
    r"|\b(?:there(?:'s| is) no way (?:for me )?to|not possible for me to|impossible for me to|beyond (?:my|what I) (?:reach|control|can))\b"
    r"|\b(?:I'm|I am|we're|we are)(?: still| currently| now)? (?:waiting (?:on|for)|awaiting) (?!the (?:\w+ )?(?:tests?|build|ci|pipeline|deploy\w*|job|run|download|install\w*|suite|results?|command)\b)(?:you|your|access|approval|credentials|permission|the|an?)\b"
    r"|\b(?:I|we) (?:need|require) (?:your |valid |the |an? )?(?:\w+ )?(?:credentials|approval|permission|access|api key|token|password|ssh key|sign-off)\b(?! (?:check|handling|refresh|validation))"
    r"|(?<=and )(?:so )?(?:could not|couldn't|cannot|can't|was unable to) (?:finish|complete|proceed|continue|connect|access|verify|run|install|build|push|deploy|reach|log ?in|download|test)\b"
    r"|\bcan(?:not|'t) (?:proceed|continue|go any further|be (?:completed|verified|finished)) (?:without|until)\b",
    FLAGS,
)
_NOT_STUCK = _I(
    r"\b(?:not|no longer|never|wasn't|weren't|isn't|aren't|if|unless|whether|when|once|in case|until|so that|would|should|was previously|were previously|what|how|why)\b|n't be\b|\bor else\b",
    FLAGS,
)
_OVERCOME = _I(
    r"\bso (?:I|we)(?:'ve| have)? (?:used|switched|worked around|wrote|fell back|did|tried|built|ran|added|mocked|fixed|replaced|installed)\b|\b(?:but|until) (?:I|we)(?:'ve| have)? (?:then |now |later |managed|found|got|worked around|solved|fixed|resolved|switched|used)\b|\bbut (?:then |eventually |finally )?(?:figured|found|managed|got|worked|solved|fixed)\b|\bfor a (?:while|moment|bit)\b|\bwhich (?:I'm|I am|we're|we are) (?:now |already )?(?:fixing|working|looking|investigating|resolving)\b|\bat first\b|\binitially\b|\bearlier\b|\b(?:find|see|spot|locate|detect) any\b|\bwas blocked\b.*\bnow\b",
    FLAGS,
)


def find_blocked(clause: Clause) -> tuple[int, int] | None:
    sentence = clause.sentence
    if clause.asks or sentence.mood == "report" or sentence.mark == "ticked" or CONDITION.match(sentence.text):
        return None
    for match in _STUCK.finditer(clause.text):
        lead = clause.since_comma(match.start()).rpartition(" and ")[2]
        if _NOT_STUCK.search(lead) or reported(clause.text[: match.start()]):
            continue
        if (
            re.match(r"(?:so )?(?:could|can|was)", match[0], FLAGS)
            and not re.match(r"^\W*(?:I|we)\b", sentence.text, FLAGS)
            and not re.search(r"without|until", match[0], FLAGS)
        ):
            continue
        if _OVERCOME.search(sentence.text):
            continue
        if re.match(
            r"^ (?:to )?(?:tell|say|see|know|confirm|judge|guarantee|comment|promise|rule)\b",
            clause.text[match.end() :],
            FLAGS,
        ):
            continue
        if re.match(r"^ (?:if|unless)\b", clause.text[match.end() :], FLAGS):
            continue
        if re.match(r"^\W*(?:this|that|it|the)\b", match[0], FLAGS) and re.match(
            r"^ (?:by (?:the |a |an |our )?(?:\w+ )?(?:guard|firewall rule|cors|browser|csp|policy|regex|rule|lock|mutex|middleware|filter)|for \d|thread|call)\b",
            clause.text[match.end() :],
            FLAGS,
        ):
            continue
        return trimmed(clause.text, match.start(), match.end())
    return None


_ASK_FOR = r"(?:send|paste|share|provide|upload|give|show|tell|forward|post|email|drop|attach|supply|hand)"
_HAND_OVER = _I(
    rf"(?:^|,\s|\b(?:please|kindly|could you|can you|would you|will you|you could|you should|you'll (?:have|need) to|you need to|you must|I need you to|I'd need you to|I'll need you to|just|then|and|so|mind)\b)(?: please| kindly| then| just| also| quickly)*,? ?"
    rf"{_ASK_FOR}(?:ing)?(?: it| them| that| this)?(?: over| back| along)? (?:(?:me|us)(?! (?:more|about|which|if|how|whether|an? (?:idea|example(?! \w)|overview|hint|sense)))|over|here|back|in chat|the (?:\w+ ){{0,4}}(?:output|logs?|errors?|results?|traceback|contents?|files?|details|credentials|url|key|token|screenshot|response|message|stack ?trace|config\w*|version|link|value|schema|password|id)s?|your (?:\w+ ){{0,3}}(?:§|output|logs?|errors?|config\w*|credentials|file|key|token|version|results?|screenshot)s?|what(?:ever)? (?:you|it|the)|a (?:\w+ ){{0,2}}(?:screenshot|copy|link|sample|log|account|key|token|file|dump|trace|recording|video|password|value)|its (?:output|contents?)|any (?:\w+ )?(?:output|logs?|errors?))"
    rf"|\b(?:can|could|would|will) you (?:please )?{_ASK_FOR} (?:it|them|that|this|one|those)\b"
    rf"|\bplease {_ASK_FOR} (?:it|them|that|those|one|me|us)\b"
    rf"|\bplease (?:also |then |just |now |manually |go ahead and |first )?(?!(?:{COURTESY})\b)[a-z]{{2,}}\b"
    r"|\b(?:can|could|would|will) you (?:please |also |then |just |manually |quickly |try to |maybe |kindly |check and )?(?:run|execute|check|try running|try|test|restart|verify|install|open|look (?:up|at|in)|reproduce|rerun|re-run|grant|enable|confirm what|log ?in|go to|set|copy|find out|do)\b"
    r"|(?<= )and (?:then )?tell me the \w+\b|\b(?:tell|show) me (?:what|which|whether|how many|the (?:result|output|version|value|error|exact))\b(?! (?:you(?:'d| would)? (?:want|prefer|like|think)|to do|(?:approach|option|one) you))|\blet me know (?:what (?:§ |it |that |this )?(?:prints|says|shows|returns|outputs|gives)|what (?:you (?:see|get|find|observe)|it (?:says|prints|shows|returns)|the (?:\w+ )?(?:output|error|result|log|response|command)|happens|comes|appears|version|shows)|the (?:output|result|error|exact)|how it goes|whether it (?:works|passes|fails)|if it (?:works|passes|fails|still)|once you(?:'ve| have) (?:run|done|set|installed|tried)|when you(?:'ve| have) (?:run|done|set|installed|tried))"
    r"|\breport back\b|\bget back to me with\b|\b(?:you|someone|a human)(?:'ll| will|'d)? (?:need|have|ought) to (?:manually |first |then )?(?:run|execute|check|do|verify|test|look|deploy|perform|supply|provide|send|grant) (?:this|that|it|the|these|§|them)\b(?=[^.]{0,60}\b(?:yourself|manually|by hand|for me|and (?:tell|send|paste|share|let)|on your (?:machine|end|side)|since I|because I|as I)\b)"
    r"|\byou(?:'ll| will)? (?:need|have) to [a-z]+[^.]{0,60}\b(?:yourself|manually|by hand|for me|on your (?:machine|end|side|phone|device))\b"
    r"|\b(?:can|could|would|will) you [a-z]+[^.?]{0,60} and (?:let me know|tell me|report back)\b"
    r"|\bI(?:'ll| will|'d| would)? need you to\b|\b(?:on|from) your (?:machine|end|side),? (?:please )?(?:run|execute|try|check)\b",
    FLAGS,
)
_NOT_ASKED = _I(
    r"\b(?:if|when|whenever|users?|they|he|she|clients?|server|endpoint|bot|customers?|will|would like|wants?|should|which|that|to|don't|do not|never|no need|without|instead of|rather than|how)\s+(?:\w+\s+){0,2}$|\byou (?:said|asked|told|wanted|mentioned)\b|\bdidn't\b|\bnot\b",
    FLAGS,
)
_COURTESY = _I(
    r"\b(?:please|kindly)? ?(?:review|have a look|feel free|take a look at the (?:pr|diff|changes)|note|see|refer|find|keep in mind|be aware|don't)\b",
    FLAGS,
)


def find_delegation(clause: Clause) -> tuple[int, int] | None:
    sentence = clause.sentence
    if sentence.mood == "report" or sentence.mark:
        return None
    if CONDITION.match(sentence.text) and not re.match(
        r"^\W*(?:if|when|once|in case) you (?:can|could|have|get|don't mind|are able|find)\b", sentence.text, FLAGS
    ):
        return None
    for match in _HAND_OVER.finditer(clause.text):
        lead = clause.text[: match.start()]
        if re.search(
            r"\b(?:tell|show|give|send) (?:the|your|our|any|all) (?:end )?(?:users?|clients?|team|customers?|reviewers?|people|caller)\b",
            match[0],
            FLAGS,
        ):
            continue
        if (
            SAID.search(sentence.text[: clause.start + match.start()])
            or _NOT_ASKED.search(lead)
            or re.search(r"\b(?:would you like|do you want|want|shall|should) (?:me|I)\b", lead, FLAGS)
        ):
            continue
        if re.match(
            r"^ that you (?:have|are|can)\b|^[^.,]{0,30}\bonly (?:if|when|once|after)\b",
            clause.text[match.end() :],
            FLAGS,
        ):
            continue
        if re.match(r"^(?:and|then|so|just)\b", match[0].strip(), FLAGS) and not _imperative(lead):
            continue
        if re.search(r"\bcan you (?:check|try|test)\b", match[0], FLAGS) and not clause.asks:
            continue
        return trimmed(clause.text, match.start(), match.end())
    return None


def _imperative(lead: str) -> bool:
    """Whether what goes before is addressed to the person, so that `and send me…` is too."""
    return not lead.strip() or bool(
        re.match(
            r"^\W*(?:please|could you|can you|would you|run|try|open|execute|go|check|restart|start|set|install|log|enable|then|first|just|do|copy|press|click|re-?run|you)\b",
            lead,
            FLAGS,
        )
    )
