"""How agents say that work is done: one pattern for each construction. Tables; `done` says when each counts."""

from verdikt.evidence import words as w
from verdikt.evidence.clause import FLAGS
from verdikt.model.regex import regex

AGENT = regex(
    rf"\b(?:I|we)(?:'ve| have)?(?: {w.ADVERB}){{0,3}} (?:gone ahead and |went ahead and )?({w.VERBED})\b", FLAGS
)
DID = regex(
    rf"\b(?:I|we)(?:'ve| have)?(?: {w.ADVERB}){{0,3}} ((?!(?:{w.IDLE}|{w.ADVERB})\b)(?:\w{{2,14}}ed|{w.MADE}))\b(?! to\b)"
    r"|\b(?:I|we)(?:'ve| have)? (?:ended up|finished|wound up|succeeded in|completed|got around to) (\w+ing)\b"
    r"|\b(?:I|we)(?: was| were|'ve been| have been)?(?: able| managed) to (?!(?:reproduce|find|see|identify|locate|confirm that|read|check|look|trace)\b)(\w+)"
    r"|\b(?:I|we)(?:'ve| have)? (got) (?:it|this|that|everything|all|the)\b[^,]{0,40} (?:working|passing|running|to (?:pass|work|compile|build))\b",
    FLAGS,
)
ALSO = regex(rf"^\W*(?:I|we)\b[^,]{{1,120}}?,? (?:and|then)(?: {w.ADVERB}){{0,2}} ({w.VERBED})\b", FLAGS)
BARE = regex(
    rf"^\W*(?:and |then )?(?:{w.ADVERB} ){{0,2}}({w.VERBED}|fix applied|(?!(?:{w.IDLE}|{w.NOT_WORK})\b)\w{{2,14}}ed(?= (?:the|an?|all|both|every|each|§|\d|your|our|new|two|three|four|five|missing|unused|old|up|out)\b| §| \d))\b(?!-)",
    FLAGS,
)
IS = regex(
    rf"(?:\b(?:is|are|am)\b|\b(?:it|that|this|everything|all|we|you|they|I)'(?:s|re|m))(?:(?: [^\s,;]+){{1,5}} and(?= (?:now|fully|completely|ready|good)\b)|(?: [\w-]+){{1,2}} and)?((?: {w.ADVERB}){{0,3}}) ({w.STATE})\b(?!-)",
    FLAGS,
)
IS_MADE = regex(rf"\b(?:is|are) ({w.VERBED})(?=\W*$| and\b|, (?:and|so|with)\b| out of\b| up\W*$)", FLAGS)
IS_QUITE = regex(
    rf"\b(?:is|are)(?: {w.ADVERB}){{0,2}} (?:fully|completely|successfully|now|all|finally|entirely|correctly|properly|already) ({w.PARTICIPLE})\b",
    FLAGS,
)
BEEN = regex(
    rf"(?:\b(?:has|have)\b|'ve)((?: {w.ADVERB}){{0,3}}) been((?: {w.ADVERB}){{0,3}})(?: \w+(?: down| out| up)? and)? ({w.VERBED}|{w.PARTICIPLE})\b",
    FLAGS,
)
WAS = regex(
    rf"\b(?:was|were)(?: {w.ADVERB}){{0,2}} (fixed|resolved|implemented|completed|finished|deployed|shipped|added|created|updated"
    r"|removed|addressed|merged|published|released|migrated|successful|a success|refactored|installed|renamed|replaced|applied"
    r"|committed|pushed|done|rewritten|verified|corrected|rebuilt|regenerated|cleared|reworked|restored|upgraded|tightened|reverted"
    r"|converted|extracted|extended|renewed|rotated|imported|exported|uploaded|archived|retired|translated|seeded|provisioned|optimi[sz]ed|configured|enabled|integrated|documented|formatted|backfilled|synced|unblocked|resized|scaled|expanded|adapted|adjusted|improved|hardened|strengthened|split|moved|switched|flipped|simplified|consolidated|cleaned up|rolled (?:out|back)|bumped|patched|renamed)\b",
    FLAGS,
)
HAS = regex(
    rf"\b(?:has|have)(?: {w.ADVERB}){{0,3}} (landed|shipped|completed|finished|succeeded|passed|gone live|gone out)\b",
    FLAGS,
)
ENDED = regex(
    r"\b(?:completed|succeeded|finished|went through|ran|went live|went out|landed|built|compiled|started|deployed|exited|rolled out|works?|compiles|builds|runs|starts|loads|load|run|render|work|renders|behaves?|responds?)"
    r" (?:successfully|cleanly|fine|without (?:any )?(?:errors?|issues?|problems?|failures?|warnings?)|with no (?:errors|issues|warnings)|with(?: exit)?(?: code| status) 0|as (?:expected|intended|designed|requested|described|specified|documented|advertised|planned|before)"
    r"|fine again|(?<!fails )again|correctly|perfectly|flawlessly|properly|great|end[- ]to[- ]end|on main|in production|nicely|(?:all )?green)\b|\b\w{3,14}(?:s|ed)(?: up| out| through| down)? (?:successfully|cleanly|flawlessly|correctly|properly|reliably|smoothly|without (?:any )?(?:errors|warnings|problems|issues|trouble|incident|downtime|a hitch))\b|\bworks(?=\W*$| and\b|,)|\b(?:succeeded|went through|went live|works now)\b|\bwent (?:smoothly|well|fine|perfectly|as (?:planned|expected)|off without a hitch)\b|\b(?:did|does) the trick\b|\b(?:builds?|compiles?|installs?|starts?|runs?|boots?) from (?:a )?(?:clean|fresh|scratch)\b|\bsuccessfully \w{3,14}ed\b|\band (?:they |it )?(?:all |both |now )?pass(?:es)?\W*$|\b(?:I|we) have (?:the|it|everything|your|an?|all) ?[\w§ ]{0,30}? ?(?:running|working|passing|green)\b|\bwe now have (?:an? )?(?:full|complete|working|proper|100%|solid)\b|\b(?:is|are) (?:all )?set (?:up )?(?:correctly|properly)\b|\bpasses(?=\W*$|,| and\b)|\bno (?:\w+ )?(?:errors?|bugs?|warnings?|issues?|failures?|problems?|conflicts?) remains?\b|\b(?:deploy\w*|release|update|rollout|fix) went out\b|\bpass(?:es|ed)? (?:its|the|all|every|all its) (?:\w+ ){0,2}?(?:checks?|tests?|validation|audit|scan|suite|rules|criteria|requirements|gates|assertions)\b|\b(?:is|are) now (?!(?:fail|crash|work|look|wait|try|hang|miss|gett|go|becom|happen|show|throw|block|be|ask|wonder|think|investigat|read|writ|runn?ing out|complain|leak|los|break|see)\w*ing\b)\w+ing\b|\b(?:results?|outputs?|they|numbers?|totals?|values?) (?:is|are) (?:all |both )?(?:correct|right|identical|as expected)\b|\bdoes (?:exactly |precisely )?what (?:you asked|was asked|it should|you wanted)\b|\b(?:output|results?|totals?|checksums?|it|they|everything) match(?:es)?(?=\W*$|,| the (?:expected|spec|reference|sample|golden|baseline))|\bworks? (?:with|on|in|across|for|against) (?:the (?:new|real|live|latest)|an? (?:clean|fresh|new)|all|both|every|any|windows|ubuntu|debian|fedora|ios|android|arm|python|node|linux|macos|safari|firefox|chrome|mobile|production|staging)\b|\b(?:is|are)(?: now| already)? (?:running|available|reachable|served|hosted|listening|up) (?:at|on|under|in) (?:§|port \d|localhost|prod\w*|staging|the cloud)|\b(?:release|version|update|hotfix|build|v?\d[\d.]+) is (?:now )?out(?=\W*$|,)"
    r"|\b(?:change|fix|patch|feature|update|pr|work)(?:s|es)? (?:is|are) in(?=\W*$|,)|\b(?:has )?landed(?=\W*$|,| and\b| (?:on|in) (?:main|master|prod)\w*)"
    r"|(?<!to )(?<!can )\b(?:finished|completes?|completed|succeeds)(?= and\b|,| in (?:about |under )?\d|\W*$)|\b(?:exits?|exited|ends|ended|returns|returned|comes back|came back)(?: with)?(?: a)?(?: clean)?(?: exit)?(?: code| status)? (?:0|zero)(?=\W*$|[,;]| and\b)"
    rf"|\bno (?:more|remaining|further|longer any|other) (?:\w+ ){{0,2}}?(?:{w.TROUBLE}|failing \w+)\b"
    r"|\b(?:is|are|runs|loads|takes|builds|starts)(?: now)? (?:about |around |roughly |over |~)?(?:\d[\d.,]*(?:%|x| ?times| ?ms| ?seconds)|half|twice|much|far) (?:as fast|as small|(?:\w+ )?(?:faster|smaller|less|quicker|shorter|cheaper|lighter|lower|sooner))\b"
    r"|\bwithout (?:a single|any) (?:error|issue|failure|warning|problem|crash)s?\b"
    rf"|\b{w.TROUBLE}\b[^,;]{{0,30}}? (?:(?:has|have) (?:all )?(?:disappeared|vanished|gone away|stopped|cleared up)|disappeared|went away|stopped (?:happening|occurring))\b"
    r"|\bas (?:requested|you (?:asked|requested|wanted|specified)|discussed|agreed|specified)(?=\W*$|, )|\b(?:compiles|type-?checks|typechecks|builds)\W*$",
    FLAGS,
)
TESTS = regex(
    rf"\b(?:{w.TESTS}|all of which|all of them|(\d+)(?:/| of | out of )(?:the )?(\d+)(?: {w.TESTS})?|\d+ {w.TESTS}|it)(?: (?:in|for|of|on|covering|around) (?:[\w§./-]+ ){{0,4}}?[\w§./-]+)?(?: {w.ADVERB}| still){{0,3}}"
    r" (?:pass(?:es|ed)?\b(?! (?:an?|the|its?|that|this|these|each|our|along|through|to|down|back|over)\b)|passing\b|succeeds?\b|succeeded\b|checks? out\b"
    r"|(?:is|are|was|were|came back|comes back|come back|turned|stays?|went|looks?)(?: "
    + w.ADVERB
    + r"){0,2} (?:green|clean|passing|successful|happy)\b|compiles\b|compiled\b|is back to green\b|(?:green|clean)(?=\W*$|[,;]))",
    FLAGS,
)
COUNT = regex(
    r"\bno (?:tests?|checks?|specs?) (?:fails?|failed|(?:is|are) failing)\b|\bnothing (?:fails|failed|broke|breaks|is broken|is left to (?:do|fix)|left to (?:do|fix))\b|"
    r"\b\d[\d,]* (?:tests? |specs? )?pass(?:ed|ing)\b|\b(?:0|zero|no) (?:failures|failed|failing|type errors|lint errors|errors and|errors,)",
    FLAGS,
)
FAILING = regex(
    r"\b(?!0\b)\d+ (?:\w+ )?(?:fail\w*|errors?\b|errored)|\b(?:one|two|three|four|several|some|others?|rest|but|still|remaining) (?:\w+ ){0,4}fail|\b(?:others?|rest|second|one) (?:doesn't|don't|do not|does not|did not|didn't)\b|\bfailing\b(?! (?!(?:on|in|with|because|at|again|now|for|due|since|after|when|and|but|to|as|here|there|too|right)\b)\w+)|\bxfail",
    FLAGS,
)
NOW = regex(
    rf"(?<!right )(?<!for )(?<!by )(?<!until )(?<!from )(?<!of )(?<!even )\bnow(?: {w.ADVERB}){{0,2}} (?!(?:{w.BAD})\b)(\w+[^\Ws]s|(?:pas|proces|acces|addres)ses|\w+shes|\w+ches|{w.BASE})\b(?!')",
    FLAGS,
)
IS_NOW = regex(
    rf"\b(?:is|are) now (?:fully |much |more |completely )?(?!(?:not|no|an?|the|in|at|on|to|up|being|going|too|very|so|only|just|that|this|what|where|when|how|as|if|for|with|of|by|about|over|under|much|more|clear|obvious|due|my|your|our|their|his|her|its|its)\b)(?!\w+ing\b)[a-z][a-z-]{{3,}}\b|\b(?:is|are)(?: (?!not\b|never\b|still\b|being\b|going\b)\w+){{1,3}} now\W*$|\b(?:is|are) {w.PARTICIPLE}(?: [\w§-]+){{1,6}} now(?=\W*$|,)",
    FLAGS,
)
WORSE = regex(
    r"\b(?:broken|failing|down|slower|worse|wrong|stuck|blocked|missing|unclear|clear|different|obvious|progress|open|red|running out|trying|working on|looking|writing|adding|fixing|there)\b",
    FLAGS,
)
OFFERED = regex(
    r"\b(?:the|your|a) new [\w§ -]{1,40}? (?:is|are) (?:available|there|visible|reachable|accessible|usable)\b|\b(?:you|they) (?:requested|asked for|wanted|ordered) (?:is|are) (?:now )?(?:available|there|ready|in|on)\b",
    FLAGS,
)
BACK = regex(r"\b(?:is|are)(?: now)? (?:back|up)(?=\W*$|,| (?:with|and|again)\b)", FLAGS)
WE_NOW = regex(r"\bwe now (\w+)\b", FLAGS)
LATELY = regex(
    rf"\b(?!(?:{w.BAD}|{w.ADVERB})\b)[a-z]+[^\Wsu]s\b[^,]{{0,60}} (?<!right )(?<!for )(?<!by )(?<!until )(?<!from )now(?=\W*$| (?:instead of|rather than|without|even|across|whenever)\b)"
    rf"|\b(?!(?:{w.BAD}|{w.ADVERB}|asks|tells|tries|retries)\b)[a-z]+[^\Wsu]s(?: (?!to\b)[\w§-]+){{0,3}} again\W*$",
    FLAGS,
)
CAN = regex(r"\b(?:can|should) now(?: be)? (\w+)", FLAGS)
SHOULD = regex(
    r"\bshould (?:all )?(?:now )?be (?:all )?(?:good to go|all set|up and running|back to normal)\b"
    r"|\bshould (?:be |now )(?:now |all )?(?:be )?(?:fixed|working|good|resolved|set|ready|done|work|pass|build|compile|load|start|run|succeed|render)(?: \w+)? ?(now)?\b|\bshould (?:all )?(?:pass|build|compile|load|start|run|succeed|render|work) (?:again )?now\b|\bthat should do it\b",
    FLAGS,
)
CLEAR = regex(
    rf"\b(?:{w.TESTS}|§|(?!I\b|we\b|you\b)\w+(?= (?:finds|reports|shows|lists) ))(?: §)? (?:reports?|reported|shows?|showed|finds?|found|gives?|gave|returns?|returned|prints|printed|has|have) (?:no|zero|0) (?:\w+ )?"
    r"(?:problems|issues|errors|warnings|failures|violations|vulnerabilities|findings|complaints)\b",
    FLAGS,
)
RESULT = regex(
    r"^\W*(?:(?:all |unit |full |local |the )*(?:tests?|build|lint(?:er|ing)?|types?|type[- ]?check(?:s|ing)?|ci|checks?|suite|result|status|verification|§)(?: run| suite| results?| status)?)"
    r"(?: \([^)]*\))?(?::| →| [-–—=]|(?= [✅✔☑])) ?(?:\d[\d.]*%? )?(?:all )?(?:ok\b|pass(?:ed|ing|es)?\b|succe\w+|green\b|clean\b|✅|✔|☑)",
    FLAGS,
)
DELIVERED = regex(
    r"\byou(?:'ll| can| will| should)?(?: now)? (?:find|see) (?:the |your |a |it )?(?:finished|completed?|final|generated|updated|new|rendered|built) ",
    FLAGS,
)
CURED = regex(
    r"(?:^\W*(?:that|this|which|it)|^\W*\w+ing\b[^,;]{0,60}?|\b(?:the|this|my) (?:change|fix|patch|update|edit|tweak|workaround)s?)(?: has| have)?(?: also| now| finally)? (?:fixed|solved|resolved|cured|sorted|eliminated|did)"
    r" (?:it|that|this|the (?:\w+ ){0,3}(?:problem|issue|bug|error|crash|leak|failure|warning|test)s?|everything|both|all)\b",
    FLAGS,
)
MEASURED = regex(
    r"\b(?:is|are) (?:now )?(?:down|up) (?:by|to) (?:about |over |~)?\d|\b(?:reduces?|cuts?|lowers?|improves?|increases?|speeds? up|shrinks?|decreases?) [\w§' ]{1,40}? by (?:about |over |almost |roughly |~)?\d|\b(?:has|have) (?:increased|decreased|improved|dropped|risen|fallen|gone (?:up|down)|come down) (?:to|by|from) (?:about |around |~|over |under )?[\d§]"
    r"|\bmakes? (?:the |it|them|every )?[\w§ ]{0,30}? (?:\d+x|\d+%|\d+ times|twice as|much|far|a lot|significantly) (?:faster|smaller|quicker|cheaper|simpler|lighter|fast|small)\b|"
    r"\b(?:went(?: up| down)?|dropped|fell|rose|improved|decreased|increased|shrank|grew|(?:is|are) (?:down|up)|came down|reduced|cut)"
    r" from (?:about |around |~|roughly |over |nearly )?[\d§][\w.,%§]*(?: ?\w+)? to (?:(?:about |around |~|under |roughly |below |over )?[\d§]|none\b|zero\b|nothing\b)",
    FLAGS,
)
GONE = regex(
    r"\bno longer (?!work|exist|has\b|have\b|support|available|maintained|compile|build|pass|need|block(?!s? (?:the|any|other|our)\b)|stuck|necessary|relevant|true|valid|required|recommended)(\w+)",
    FLAGS,
)
THIS = regex(
    r"^\W*(?:this|that|these(?: changes)?|which|(?:the|this|my) (?:change|fix|patch|commit|pr|update|edit|diff|refactor)s?)(?: now| also| fully| should now)?"
    r" (fix(?:es)?|resolves?|completes?|closes?|address(?:es)?|finish(?:es)?|solves?|wraps? (?:it |this |that |things )?up|does it|takes care of|concludes)\b"
    r"|^\W*(?:the|this|my) (?:pr|pull request|merge request|commit|patch|branch|diff|change set|changeset) (?:also )?(adds|introduces|implements|makes|removes|replaces|updates|brings|moves|adds support)\b"
    r"|\b(?:we|you)(?: now)? have an? (?:fully |completely )?(working|functional|running|complete) ",
    FLAGS,
)
HEADLINE = regex(
    r"^\W*(?:(?!of\b|as\b|to\b|be\b|get\b|getting\b|when\b|the\b|a\b)[\w§'/.#+✅✔☑🎉-]+ ){1,6}?(complete|completed|done|finished|successful|fixed|resolved|deployed|implemented|merged|live|passing"
    r"|passed|succeeded|shipped|accomplished|achieved|updated|added|created|removed|verified|ready|green|restored|applied|pushed|migrated|published|released"
    r"|committed|confirmed|validated|squashed|nailed|patched|plugged|crushed|landed|imported|exported|processed|deleted|tested|installed|configured|solved|closed|cleared|rewritten|rebuilt|refactored|renamed|replaced|converted|reverted|cleaned up|wired up|in place|up and running|all green|good to go|unblocked|covered|enabled|disabled|upgraded|bumped)"
    r"(?: successfully| now| and (?:verified|tested|pushed(?: to [\w§./-]+)?|merged|deployed|working)| for (?:review|testing|use|merge|production)| to (?:merge|ship|review|deploy|use|go)| 🎉| in production| on main| by (?:the |a )?[\w -]{1,30}(?:tests?|suite|run|checks?|ci|team)| (?:as|to|in|under|at|into) (?:§|#?\d|main|master|prod\w*|staging|the (?:registry|repo\w*|server|bucket|store))[\w§./:-]*)?\W*$",
    FLAGS,
)
TELEGRAM = regex(rf"^\W*(?!I\b|we\b|the\b|a\b|an\b|you\b)(?:[\w§'/.#+-]+ ){{1,3}}({w.VERBED}|done)\b(?=, \S)", FLAGS)
SHORT = regex(
    r"^\W*no (?:more |remaining |further )(?:warnings|errors|failures|issues|regressions|crashes)\b|"
    r"^\W*(?:all |job |and |it's |that's |we're |i'm |you're )?(?:done|fixed|finished|complete|completed|shipped|all set|set|good to go|up and running|everything|all of (?:it|them)|problem solved|mission accomplished|live|deployed|merged|resolved|implemented|sorted|that's it|ready)"
    r"(?: now| on (?:the|your) list| you asked for| for (?:review|you|testing|merge|production|use)| to (?:merge|ship|go|review|use|deploy)| and (?:\w+ ){0,2}\w+| 🎉| as requested| here)?\W*$|^\W*(?:done|fixed|finished|shipped)[,!.]|^\W*(?:all )?(?:done|finished) with (?:the|all|this|that|it|everything|your|both)\b|^\W*(?:all )?(?:tests|ci|build|checks)(?: all)? green\b|^\W*(?:all |everything )?green (?:across the board|everywhere|again|on all)\b|^\W*(?:all|everything(?:'s| is)?) (?:done|set|good|green|finished)\b",
    FLAGS,
)
LATER = regex(
    r"^[^,]{0,40}?\b(?:if|when|once(?! and for all)|unless|until|whenever|provided|only|as long as|except|before|yet to|assuming|after (?:the |an? |your |all )?[\w-]+ (?:is|are|has|have|was|were|passes|pass|completes))\b",
    FLAGS,
)
DESCRIBES = regex(
    r"^\s*(?:in|by|as|via|with|using|through|at|on|from|per|every|under|inside|to|per|for|automatically|like|within|around)\b",
    FLAGS,
)
ATTRIBUTIVE = regex(
    r"^\s+[a-z]+ (?:is|are|was|were|gets?|will|can|must|should|have|has)\b|^\s+(?:width|size|header|point|time|position|number|length|amount|price|rate|list|set|example|state|callback|event|queue|column|flag|at \d|on top)\b",
    FLAGS,
)
NO_WORK = regex(
    r"^\s+(?:nothing|no|none|neither|little)\b|^\s+down\b|^\s+back (?:because|since|after|as)\b|^\s+(?:my|the|a|an|this|our|some)? ?(?:\w+ )?(?:plan|todo(?: list)?|to-do(?: list)?|understanding|notes?|mistake|assumption|progress|suspicion|hypothesis|theory|question|concerns?|outline|proposal|breakpoint|debug\w*|attempts?|experiments?|temporary|print statements?)\b"
    r"|^\s+(?:that|whether|if|why|how) (?:[\w§']+ ){0,6}(?:is|are|was|does|do|did|can|could|has|fails?|crash\w*|still)\b(?! (?:now|fixed|working|passing|green|done|gone|resolved|complete))",
    FLAGS,
)
UNDONE = regex(r"\bbut (?:then )?(?:it |that |they )?(?:broke|came back|regressed|reappeared)\b", FLAGS)
STILL = regex(
    r"\b(?:since|because|as) (?:it|that|this) (?:did not|didn't|does not|doesn't) (?:fix|help|work|solve)|\b(?:but|however|yet|though)\b[^.]{0,60}?\b(?:still (?:fail|crash|break|hang|error|see|get|happen|isn't|doesn't|not|present|there|broken)|didn't (?:help|work|fix)|doesn't (?:help|work|fix)|no (?:effect|luck|difference)|to no avail|it fails|that fails|the (?:error|bug|problem|issue|failure) (?:persists|remains|is still))",
    FLAGS,
)
READY_LATER = regex(
    r"^ to (?:start|begin|proceed|help|continue|implement|work|go ahead|assist|tackle|take|dive|move|accept|discuss|answer)\b|^ when you\b|^ for your (?:answer|input|next|instruct|question|feedback)",
    FLAGS,
)
WEAK_SUBJECT = regex(r"^\W*(?:a|an|each|every|any)\s(?!single|one)", FLAGS)
ITEM = regex(rf"^\W*(?:[\w§-]+ ){{1,2}}(?:{w.VERBED})\W*$", FLAGS)
