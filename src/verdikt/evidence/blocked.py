"""Claims that the agent is stuck, by the grammar of a clause."""

import re

from verdikt.evidence.clause import CONDITION, FLAGS, Clause, any_pattern, is_reported, trim_span
from verdikt.model.lazy_regex import compile_lazily

_ADVERB = r"(?: (?:still|simply|just|currently|now|yet|even|also|really|actually|therefore|thus|unfortunately|\w+ly))*"
_CANNOT = (
    rf"(?:can't|cannot|can not|couldn't|could not|may not|won't be able to|will not be able to|(?:haven't"
    rf"|have not) been able to(?! (?:finish|complete|make|get|find|figure|reproduce|fix|solve|pin|track|work out)\b)"
    rf"|(?:am|'m|are|'re|was|were|'ve been|have been|remain){_ADVERB} (?:unable to|prevented from|not (?:able|allowed"
    rf"|permitted|authori[sz]ed|in a position) to)"
    r"|(?:wasn't|weren't|aren't) (?:able|allowed|permitted|authori[sz]ed) to)"
)
_NO_WORK = (
    r"say|tell|see(?! (?:the|that|your|this|attach\w+|images?|it\b(?! \w+ing)))|think|imagine|guarantee|recommend"
    r"|help|wait|agree|promise|speak|stress|care|be|find|fault|rule|emphasi[sz]e|overstate"
    "|remember|in good|honestly|share|disclose|reveal|confirm|explain|understand|predict|judge|decide|comment|know"
    "|believe|spot|justify|thank|just|claim|assume|speculate|advise"
    "|endorse|simply|always|expect|stand|afford|count|trust|blame|argue|assess|estimate|suggest|detect|discern|recall"
    "|vouch|prove|pinpoint|identify|figure|make sense|make (?:it|this|that|them) (?:fail|crash|break|happen)"
    "|get (?:it|this|that|them) to (?:fail|crash|break|happen)|work out|wrap|shake"
)
"""What one cannot do without being stuck: thinking, judging, talking."""

_MEANS = (
    r"(?:access|permissions?|credentials?|rights?|privileges?|keys?|scopes?|tooling|tokens?|passwords?|passphrases?"
    r"|accounts?|licen[cs]es?|secrets?"
    r"|network|internet|connectivity|connection|vpn|shell|hardware|devices?|gpus?|browser|login|logins"
    r"|authori[sz]ation|approval|clearance|sudo|root|certificates?|tools?|means|way|ability|capability|membership)"
)
"""What one works with, and may have been given or not."""

_HERE = (
    r"(?:here|from here|from inside|inside|by me|for me|right now|at the moment|for now|any (?:further|other way)|today"
    r"|(?:in|on|from|within) (?:this|the|my)(?: \w+)? (?:environment|sandbox|container|session|machine|host|box|side"
    r"|end|runner|vm|workspace|shell|network))"
)
_TASK = (
    r"(?:this|it|(?:(?<=^)|(?<=[,;:] ))that|everything(?: else)?|progress|the rest|work|(?:the|my|our"
    r"|your) (?:[\w§-]+ ){0,3}?(?:task|work|deploy\w*|migration|release|fix|rollout|implementation|feature|change"
    r"|verification|step"
    r"|upgrade|evaluation|investigation|setup|import|upload))"
)

_STUCK = tuple(
    compile_lazily(pattern, FLAGS)
    for pattern in (
        # I cannot do it
        rf"\b(?:I|we)(?:'m|'re|'ve)?{_ADVERB} ?{_CANNOT}{_ADVERB} (?!(?:{_NO_WORK})\b(?! (?:an?y? (?:other )?way"
        rf"|a route|a workaround)\b))[a-z]+\b",
        rf"^\W*(?:therefore|thus|so|hence|consequently) (?:could not|couldn't|cannot|can't|was unable to"
        rf"|am unable to) (?!(?:{_NO_WORK})\b)[a-z]+\b",
        rf"(?<=and )(?:so )?(?:could not|couldn't|cannot|can't|was unable to) (?!(?:{_NO_WORK})\b)[a-z]+\b",
        r"\b(?:I|we) (?:couldn't|could not|can't|cannot) (?:do|test|check|verify|try)(?= (?:is|was)\b)",
        rf"\bwithout (?:[\w'§./-]+ ){{1,8}}(?:I|we) (?:can't|cannot|can not|couldn't) (?!(?:{_NO_WORK})\b)[a-z]+\b",
        rf"^\W*(?:still |currently |sorry,? )?(?:unable to|not able to|can't|cannot|could not"
        rf"|couldn't) (?!(?:{_NO_WORK}|reproduce)\b|read propert)[a-z]+\b",
        r"\b(?:I|we)(?:'m| am| was| were|'ve been| have been| got| keep getting) (?:being )?(?:denied|refused"
        r"|locked out|kicked out|rejected)\b",
        r"^\W*(?:the (?:only |one )?thing|what) (?:I|we) (?:can't|cannot|couldn't|could not|was unable to"
        r"|wasn't able to) (?:do|test|verify|run|check|try)\b",
        # I am stuck
        rf"\b(?:I'm|I am|we're|we are|I've been|I was|I got|I remain|I've become){_ADVERB} (?:blocked"
        rf"|stuck(?! between)|at (?:an impasse|a dead end|a standstill|a loss)|out of (?:options|ideas|moves"
        rf"|things to try)|locked out|hitting a wall|shut out|stalled|stymied)\b",
        r"\b(?:I|we)(?:'ve| have)? (?:hit|run into|ran into|reached|come to|came to|run up against"
        r"|ran up against) (?:a|an|the) (?:\w+ ){0,2}?(?:wall|dead end|roadblock|road block|blocker|impasse|hard stop"
        r"|limits? of what|end of what|obstacle I)\b",
        rf"\b{_TASK}(?:'s| is| are| remains?| has been| have| has){_ADVERB} (?:blocked|stuck|impossible|on hold"
        rf"|stalled|at a standstill|gated on|held up)\b",
        r"^\W*(?:still |currently |now )?(?:blocked|stuck)(?: (?:on|by|until|because|waiting|at|here)\b|\W*$)",
        r"\b(?:my|our) hands are tied\b|\b(?:dead end|roadblock)(?=\W*$)",
        # I stop
        r"\b(?:I|we)(?:'m|'re|'ll| will| am| are)? (?:(?:going to )?have to|had to|must|need to|needed to"
        r"|am forced to|was forced to|(?:am )?obliged to) (?:stop|give up|leave (?:it|this|that) (?:here|there|at)"
        r"|abandon|pause|halt|break off|bail|hold off)\b",
        r"\b(?:I|we)(?:'ve| have)? (?:gave|given) up\b",
        r"^\W*(?:I'm |I am )?(?:stopping|pausing|giving up|halting)(?: here| at this point| now| on)\b(?! (?:to"
        r"|for) (?:ask|check|confirm|you))",
        r"\bnothing(?: (?:more|else|further))?(?: that)? (?:I|we) can (?:do|try)\b|\bnothing (?:more|else"
        r"|further) (?:to try|can be done)\b|\b(?:I|we) (?:have no way (?:to|of)(?! (?:know|tell|say|judg"
        r"|be(?:ing)? sure|guess)\w*)|see no (?:other )?way|don't see (?:another|any other)"
        r"|have run out of (?:options|ideas|ways))\b",
        # something stops me
        r"\b(?:prevent(?:s|ed)?|stop(?:s|ped)?|keep(?:s)?|kept|block(?:s|ed)?|bar(?:s|red)|forbids|hinder(?:s|ed)?"
        r"|lock(?:s|ed)) (?:me|us) (?:from|out)\b",
        r"\b(?:doesn't|does not|won't|will not|wouldn't|didn't|did not|don't|isn't going to) (?:let|allow"
        r"|permit) (?:me|us)\b",
        r"\b(?:denies|denied|refuses|refused|rejects|rejected) (?:me|us|my (?:\w+ ){0,2}(?:key|token|credentials?"
        r"|login|request|connection|push))\b",
        rf"\b(?:isn't|is not|not|impossible|wasn't|was not) (?:possible )?for me to\b|\b(?:isn't|is not|wasn't"
        rf"|not) (?:possible|doable|an option|feasible|accessible|available|reachable)(?: for me| to me"
        rf"| {_HERE})(?! you\b)",
        r"\b(?:blocked|disabled|unavailable|forbidden|(?:not|isn't|aren't) (?:available|allowed|reachable|installed"
        r"|possible)) (?:in|from|on|inside) (?:this|my) (?:sandbox|environment|container|session|machine|network|host"
        r"|vm)\b",
        r"\b(?:there(?:'s| is) no way (?:for me )?to|beyond (?:my|what I) (?:reach|control|can|am allowed)"
        r"|read-only (?:for|to) me|off[- ]limits (?:for|to) me|closed to me|out of my (?:reach|hands))\b",
        rf"\b(?:can't|cannot|can not|couldn't|could not) be [a-z]+(?:(?: or)? [a-z]+)? {_HERE}\b",
        r"\b(?:can't|cannot|can not|couldn't|could not) be (?:completed|verified|finished|tested|run|built|deployed"
        r"|exercised|triggered|done|checked|validated|continued|reproduced|published|installed) (?:without|until)\b",
        r"\bcan(?:not|'t) (?:proceed|continue|go any further|go ahead|move forward) (?:without|until)\b",
        # what I would need is not there
        rf"\b(?:I|we){_ADVERB} (?:lack|am missing|'m missing|have no|had no|(?:wasn't|was not|haven't been"
        rf"|have not been|was never) (?:given|granted|provided with)|(?:don't|do not"
        rf"|didn't) have)(?: \w+){{0,4}}? {_MEANS}\b(?! (?:check|handling|refresh|validation|(?:to|of) (?:know|tell"
        rf"|say|judg|be sure|guess)))",
        rf"\b(?:an? |the )?(?:\w+ )?{_MEANS}(?: that| which)? (?:I|we) (?:don't|do not|didn't) have\b",
        rf"\b(?:my|our) (?:\w+ )?{_MEANS} (?:isn't|is not|aren't|are not|doesn't|does not|don't|do not|lacks?|has no"
        rf"|have no|has been (?:revoked|refused|rejected)|was (?:revoked|refused|rejected|denied)|(?:is|are) (?:not"
        rf"|refused|rejected|denied|missing|insufficient))\b",
        r"\b(?:I|we)(?:'d|'ll| would| will)?(?: still| first)? (?:need|require) (?:your |valid |the |an? "
        r"|working )?(?:[\w-]+ ){0,2}?(?:credentials|approval|permissions?|access|api keys?|tokens?|passwords?"
        r"|ssh keys?|sign-off)\b(?! (?:check|handling|refresh|validation|to be|store))",
        r"\b(?:I|we) (?:have no|don't have an?) [\w -]{1,20}? to (?:build|test|run|try|verify|check|compile)\b",
        # I wait
        r"\b(?:I'm|I am|we're|we are)(?: still| currently| now)? (?:waiting (?:on|for)|awaiting) (?:you|your|someone"
        r"|some(?:body)|access|approval|credentials|permission|clearance|an? (?:\w+ )?(?:answer|reply|response|decision"
        r"|approval|token|key|account)|the (?:\w+ ){0,2}(?:approval|access|credentials?|permissions?|decision|tokens?"
        r"|keys?|password|passphrase|sign-off|go-ahead))\b",
        r"^\W*(?:still |currently |now )?(?:waiting (?:on|for)|awaiting|pending) (?:you|your|access|approval"
        r"|credentials|permission|someone)\b",
    )
)
_CAUSED = compile_lazily(
    r"^\W*(?:and )?(?:so|hence|thus|therefore|meaning|which means)\b[^,;]*?\b(?:can't|cannot|can not|couldn't"
    r"|could not) be \w+",
    FLAGS,
)
_LACK = compile_lazily(
    rf"\bno (?:\w+ ){{0,2}}{_MEANS}\b|\b(?:denied|refused|unreachable|forbidden|unauthori[sz]ed|gated"
    rf"|not (?:installed|reachable|available|authenticated|on the)|isn't (?:installed|reachable|available"
    rf"|authenticated|on the)|is (?:down|missing)|40[13])\b",
    FLAGS,
)
_NOT_STUCK = compile_lazily(
    r"\b(?:not|no longer|never|wasn't|weren't|isn't|aren't|if|unless|whether|when|once|in case|until|so that|would"
    r"|should|was previously|were previously|what|how|why|where)\b|n't be\b|\bor else\b",
    FLAGS,
)
_OVERCOME = any_pattern(
    r"\bso (?:instead )?(?:I|we)(?:'ve| have)?(?: instead| simply| just)? (?:used|switched|worked around|wrote"
    r"|fell back|did|tried|built|ran|added|mocked|fixed|replaced|installed|stubbed|faked|went|took|simulated"
    r"|tested)\b",
    r"\b(?:but|until) (?:I|we)(?:'ve| have)? (?:then |now |later |eventually |finally |managed|found|got"
    r"|worked around|solved|fixed|resolved|switched|used|\w+ed around)\b",
    r"\bbut (?:then |eventually |finally |it )?(?:figured|found|managed|got|worked|solved|fixed|turned out)\b",
    r"\bfor a (?:while|moment|bit)\b",
    r"\bwhich (?:I'm|I am|we're|we are) (?:now |already )?(?:fixing|working|looking|investigating|resolving)\b",
    r"\bat first\b",
    r"\binitially\b",
    r"\bearlier\b",
    r"\b(?:find|see|spot|locate|detect) any\b",
    r"\bwas blocked\b.*\bnow\b",
)
_THINKS = compile_lazily(
    r"^ (?:to )?(?:tell|say|see|know|confirm|judge|guarantee|comment|promise|rule)\b|^ (?:if|unless)\b", FLAGS
)
_GUARDED = compile_lazily(
    r"^ (?:by (?:the |a |an |our )?(?:\w+ )?(?:guard|firewall rule|cors|browser|csp|policy|regex|rule|lock|mutex"
    r"|middleware|filter)|for \d|thread|call)\b",
    FLAGS,
)


_BARE = compile_lazily(
    r"\W*(?:still |currently |sorry,? )?(?:unable|not able|was unable|(?:can't|cannot|can not|couldn't"
    r"|could not)(?! be\b))",
    FLAGS,
)
"""Not being able, without saying who is not."""


def find_blocked(clause: Clause) -> tuple[int, int] | None:
    """Yield where a clause says that the agent is blocked, and for good as far as the sentence goes."""
    sentence = clause.sentence
    if clause.asks or sentence.mood == "report" or sentence.mark == "ticked" or CONDITION.match(sentence.text):
        return None
    if _OVERCOME.search(sentence.text):
        return None
    if (caused := _CAUSED.match(clause.text)) and _LACK.search(sentence.text[: clause.start]):
        return trim_span(clause.text, caused.start(), caused.end())
    for pattern in _STUCK:
        for match in pattern.finditer(clause.text):
            if _holds(clause, match):
                return trim_span(clause.text, match.start(), match.end())
    return None


def _holds(clause: Clause, match: re.Match[str]) -> bool:
    lead, after = clause.since_comma(match.start()).rpartition(" and ")[2], clause.text[match.end() :]
    if _NOT_STUCK.search(lead) or is_reported(clause.text[: match.start()]) or _THINKS.match(after):
        return False
    own = bool(re.match(r"^\W*(?:I|we)\b", clause.sentence.text, FLAGS))
    if re.match(r"\W*(?:therefore|thus|so|hence|consequently)\b", match[0], FLAGS):
        return own
    if _BARE.match(match[0]):
        return own if clause.text[: match.start()].strip() else clause.leads or own
    return not (re.match(r"^\W*(?:this|that|it|the)\b", match[0], FLAGS) and _GUARDED.match(after))
