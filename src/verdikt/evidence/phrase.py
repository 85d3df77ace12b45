"""How agents say that work is done: one pattern for each construction. Tables; `done` says when each counts."""

from verdikt.evidence import words as w
from verdikt.evidence.clause import FLAGS, any_pattern
from verdikt.model.lazy_regex import compile_lazily

AGENT = any_pattern(
    rf"\b(?:I|we)(?:'ve| have)?(?: {w.ADVERB}){{0,3}} (?:gone ahead and |went ahead and |taken the liberty (?:of"
    rf"|to) )?({w.VERBED})\b",
    rf"\b(?:I|we)(?:'ve| have)? (?:gone|went) ahead and(?: {w.ADVERB})? (?!(?:{w.IDLE})\b)(\w{{2,14}}ed|{w.MADE}|made"
    rf"|ran)\b",
    r"\b(?:I|we)(?:'ve| have)? (took|taken) the liberty (?:of|to)\b",
)
DID = any_pattern(
    rf"\b(?:I|we)(?:'ve| have)?(?: {w.ADVERB}){{0,3}} ((?!(?:{w.IDLE}|{w.ADVERB})\b)(?:\w{{2,14}}ed"
    rf"|{w.MADE}))\b(?! to\b)",
    r"\b(?:I|we)(?:'ve| have)? (?:ended up|finished|wound up|succeeded in|completed|got around to) (\w+ing)\b",
    r"\b(?:I|we)(?: was| were|'ve been| have been)?(?: able| managed) to (?!(?:reproduce|find|see|identify|locate"
    r"|confirm that|read|check|look|trace)\b)(\w+)",
    r"\b(?:I|we)(?:'ve| have) (?:\w+ly )?(hidden|written|rewritten|built|rebuilt|made|split|cut|sent|brought"
    r"|taken (?:out|care|over|down)|given|frozen|spun|torn|bound|shrunk|drawn|redone|shut|swept|woven"
    r"|sped)\b(?! (?:up my|my mind|a look|note|notes))",
    r"\b(?:I|we)(?:'ve| have)? (?:went|walked|ran|gone|clicked|run) (through) (?:these|those|all|both|the (?:same "
    r"|whole |full )?)[\w ]{0,20}?(?:steps|scenarios?|flows?|checklist)\b",
    r"\b(?:I|we)(?:'ve| have)? (got) there\b",
    r"\b(?:I|we)(?:'ve| have)?(?: \w+ly)? (got) (?:it|this|that|everything|all|the)\b[^,]{0,40} (?:working|passing"
    r"|running|to (?!do\b|be\b|look\b|the\b|an?\b|this\b|that\b)\w+)\b",
)
TRIED = compile_lazily(
    r"^\W*(?:(?:and |so )?(?:I|we)(?:'ve| have)? )?(?:checked|tried|ran|run|exercised|clicked through|went through"
    r"|used)(?: it| this| that| them| both| everything| these steps)?(?: (?:twice|once|myself|again|out))*,?"
    r" (?:on|at|with|against|for|in|under|from|through)\b(?! (?:the |your |our )?(?:\w+ )?(?:docs?|documentation"
    r"|logs?|code|source|debugger|history|issues?|tracker|git|spec|registry|network tab)\b)",
    FLAGS,
)
ALSO = compile_lazily(
    rf"^\W*(?:I|we)\b[^,]{{1,120}}?,? (?:and|then)(?: {w.ADVERB}){{0,2}} ({w.VERBED})\b"
    rf"|^\W*(?:(?:I|we) )?(?:{w.IDLE})\b[^.;:]{{1,80}}?, (?:and |then )?({w.VERBED})(?= (?:it|the|them|an?|all|both"
    rf"|two|three|my|every)\b| §)",
    FLAGS,
)
BARE = compile_lazily(
    rf"^\W*(?:and |then )?(?:{w.ADVERB} ){{0,2}}({w.VERBED}|fix applied|went ahead and(?: {w.ADVERB})? \w+|went with"
    rf"|took the (?:opportunity|liberty|chance) (?:to|of)|got rid of|dealt with|sped up|tore (?:out|down)|threw out"
    rf"|redid|(?:checked|ran)(?: it| this| them)? (?:on|in|against|with) (?:an? (?:clean|fresh|real|new|copy)|both"
    rf"|all|two|three|chrome|firefox|safari|windows|linux|macos|staging)|(?:{w.MADE})(?= (?:the|an?|my|your|all|both"
    rf"|it|them|§|\d)[^,;]{{1,80}}? and {w.PARTICIPLE}\b)|(?!(?:{w.IDLE}|{w.NOT_WORK})\b)(?:[a-z]+-)?\w{{2,14}}ed(?= "
    rf"(?:the|an?|all|both|every|each|§|\d|your|our|new|two|three|four|five|missing|unused|old|up|out)\b| §| \d"
    rf"| [\w.-]*\d[\w.-]*\b))\b(?!-)",
    FLAGS,
)
IS = compile_lazily(
    rf"(?:\b(?:is|are|am)\b|\b(?:it|that|this|everything|all|we|you|they|I)'(?:s|re"
    rf"|m))(?:(?: [^\s,;]+){{1,5}} and(?= (?:now|fully|completely|ready|good)\b)"
    rf"|(?: [\w-]+){{1,2}} and)?((?: {w.ADVERB}){{0,3}}) ({w.STATE})\b(?!-)",
    FLAGS,
)
IS_MADE = compile_lazily(rf"\b(?:is|are) ({w.VERBED})(?=\W*$| and\b|, (?:and|so|with|the)\b| out of\b| up\W*$)", FLAGS)
IS_QUITE = compile_lazily(
    rf"\b(?:is|are)(?: {w.ADVERB}){{0,2}} (?:(?:now|successfully|all|finally) ({w.PARTICIPLE})|(?:fully|completely"
    rf"|entirely|correctly|properly) ({w.VERBED}))\b",
    FLAGS,
)
SHORTENED = compile_lazily(
    r"\b(?!(?:it|that|this|he|she|who|what|there|here|let)\b)[a-z]+'s(?: now| all| finally)? (done|finished|gone"
    r"|fixed|ready|green|live|merged|deployed|in place|wired up|complete|passing)(?=\W*$|[,;:]| and\b)",
    FLAGS,
)
BEEN = compile_lazily(
    rf"(?:\b(?:has|have)\b|'ve)((?: {w.ADVERB}){{0,3}}) been((?: {w.ADVERB}){{0,3}})(?: \w+(?: down| out"
    rf"| up)? and)? ({w.VERBED}|{w.PARTICIPLE})\b",
    FLAGS,
)
WAS = compile_lazily(
    rf"\b(?:was|were)(?: {w.ADVERB}){{0,2}} (fixed|resolved|implemented|completed|finished|deployed|shipped|added"
    rf"|created|updated"
    r"|removed|addressed|merged|published|released|migrated|successful|a success|refactored|installed|renamed"
    r"|replaced|applied"
    r"|committed|pushed|done|rewritten|verified|corrected|rebuilt|regenerated|cleared|reworked|restored|upgraded"
    r"|tightened|reverted"
    r"|converted|extracted|extended|renewed|rotated|imported|exported|uploaded|archived|retired|translated|seeded"
    r"|provisioned|optimi[sz]ed|configured|enabled|integrated|documented|formatted|backfilled|synced|unblocked"
    r"|resized|scaled|expanded|adapted|adjusted|improved|hardened|strengthened|split|moved|switched|flipped"
    r"|simplified|consolidated|cleaned up|rolled (?:out|back)|bumped|patched|renamed)\b",
    FLAGS,
)
HAS = compile_lazily(
    rf"\b(?:has|have)(?: {w.ADVERB}){{0,3}} (landed|shipped|completed|finished|succeeded|passed|gone live|gone out)\b",
    FLAGS,
)
ENDED = any_pattern(
    rf"\b(?:completed|succeeded|finished|went through|ran|went live|went out|landed|built|compiled|started|deployed"
    rf"|exited|rolled out|ran (?:for|over) [\w ]{{2,20}}?|works?|compiles|builds|runs|starts|loads|load|run|render"
    rf"|work|renders|behaves?|responds?) (?:successfully|cleanly|fine|{w.SMOOTHLY}|with (?:no|zero) (?:errors?"
    rf"|issues?|warnings?|failures?|problems?|crash(?:es)?|drops?)|with(?: exit)?(?: code| status) 0|as (?:expected"
    rf"|intended|requested|described|specified|documented|advertised|planned|before)|fine again|(?<!fails )again"
    rf"|correctly|perfectly|flawlessly|properly|great|end[- ]to[- ]end|on main|in production|nicely"
    rf"|(?:all )?green)\b",
    rf"\b\w{{3,14}}(?:s|ed)(?: up| out| through| down)? (?:successfully|cleanly|flawlessly|correctly|properly"
    rf"|reliably|smoothly|{w.SMOOTHLY})\b",
    r"\bworked (?:(?:the )?first time|on the first (?:try|attempt)|straight away|right away|immediately|like a charm"
    r"|out of the box)\b",
    r"\bworks(?: on my (?:end|side))?(?=\W*$| and\b|[,:])",
    r"\b(?:succeeded|went through|went live|works now)\b",
    r"\bwent (?:smoothly|well|fine|perfectly|as (?:planned|expected)|off without a hitch)\b",
    r"\b(?:did|does) the trick\b",
    r"\bdid help\b",
    r"\b(?:pr|pull request|merge request|mr) is (?:now )?(?:open|up)(?=\W*$|,| and\b| for\b)",
    r"\bdoes the job\b",
    r"\bas (?:the|your) [\w ]{1,25}? (?:demands?|requires?|asks?|expects?|specif(?:y|ies)|prescribes?)(?=\W*$)",
    r"\b(?:builds?|compiles?|installs?|starts?|runs?|boots?) from (?:a )?(?:clean|fresh|scratch)\b",
    r"\bsuccessfully \w{3,14}ed\b",
    r"\band (?:they |it )?(?:all |both |now )?pass(?:es)?\W*$",
    r"\b(?:I|we) have (?:the|it|everything|your|an?|all) ?[\w§ ]{0,30}? ?(?:running|working|passing|green)\b",
    r"\bwe now have (?:an? )?(?:full|complete|working|proper|100%|solid)\b",
    r"\b(?:is|are) (?:all )?set (?:up )?(?:correctly|properly)\b",
    r"\bpasses(?: §)?(?=[^\w§]*$|,| and\b)",
    r"\bno (?:\w+ )?(?:errors?|bugs?|warnings?|issues?|failures?|problems?|conflicts?) remains?\b",
    r"\b(?:deploy\w*|release|update|rollout|fix) went out\b",
    r"\bpass(?:es|ed)? (?:its|the|all|every|all its) (?:\w+ ){0,2}?(?:checks?|tests?|validation|audit|scan|suite"
    r"|rules|criteria|requirements|gates|assertions|validators?|linters?|compiler)\b",
    r"\b(?:is|are) now (?!(?:fail|crash|work|look|wait|try|hang|miss|gett|go|becom|happen|show|throw|block|be|ask"
    r"|wonder|think|investigat|read|writ|runn?ing out|complain|leak|los|break|see)\w*ing\b)\w+ing\b",
    r"\b(?:results?|outputs?|they|numbers?|totals?|values?) (?:is|are) (?:all |both )?(?:correct|right|identical"
    r"|as expected)\b",
    r"\bdoes (?:exactly |precisely )?what (?:you asked|was asked|it should|you wanted)\b",
    r"\b(?:output|results?|totals?|checksums?|it|they|everything) match(?:es)?(?=[^\w§¶]*$|,| the (?:expected|spec"
    r"|reference|sample|golden|baseline))",
    r"\bworks? (?:with|on|in|across|for|against) (?:the (?:new|real|live|latest)|an? (?:clean|fresh|new)|all|both"
    r"|every|any|windows|ubuntu|debian|fedora|ios|android|arm|python|node|linux|macos|safari|firefox|chrome|mobile"
    r"|production|staging)\b",
    r"\b(?:is|are)(?: now| already)? (?:running|available|reachable|served|hosted|listening|up) (?:at|on|under"
    r"|in) (?:§|port \d|localhost|prod\w*|staging|the (?:cloud|preview|staging|test|demo)\b)",
    r"\b(?:release|version|update|hotfix|build|v?\d[\d.]+) is (?:now )?out(?=\W*$|,)",
    r"\b(?:has )?landed(?=\W*$|,| and\b| (?:on|in) (?:main|master|prod)\w*)",
    r"(?<!to )(?<!can )\b(?:finished|completes?|completed|succeeds)(?= and\b|,| in (?:about |under )?\d|\W*$)",
    r"\b(?:exits?|exited|ends|ended|returns|returned|comes back|came back)(?: with)?(?: a)?(?: clean)?(?: exit)?(?:"
    r" code| status)? (?:0|zero)(?=\W*$|[,;]| and\b)",
    rf"\bno (?:more|remaining|further|longer any|other) (?:\w+ ){{0,2}}?(?:{w.TROUBLE}|failing \w+)\b",
    r"\b(?:is|are|runs|loads|takes|builds|starts)(?: now)? (?:about |around |roughly |over |~)?(?:\d[\d.,]*(?:%|x"
    r"| ?times| ?ms| ?seconds)|half|twice|much|far) (?:as fast|as small|(?:\w+ )?(?:faster|smaller|less|quicker"
    r"|shorter|cheaper|lighter|lower|sooner))\b",
    rf"\b(?=without (?:a single|any) ){w.SMOOTHLY}",
    rf"\b{w.TROUBLE}\b[^,;]{{0,30}}? (?:(?:has|have) (?:all )?(?:disappeared|vanished|gone away|stopped|cleared up)"
    rf"|disappeared|went away|stopped (?:happening|occurring))\b",
    r"\b(?:I|we)(?:'d| would)? (?:consider|call) (?:it|this|that|the [\w -]{1,30}?) (?:fixed|done|resolved|finished"
    r"|complete|solved|closed)(?=\W*$|[,;]| and\b)",
    r"\bas (?:requested|discussed|agreed|specified|proposed|suggested|planned|outlined|estimated|predicted|promised"
    r"|hoped)(?=\W*$|, )",
    r"\b(?:is|are|it's)(?: \w+ly| now| also)? (?:faster|smaller|quicker|lighter)(?=:| than (?:before|main|master"
    r"|it was|the old)\b)",
    r"\b(?:as|like|the way|how) you (?:asked|requested|wanted|specified|described|suggested|preferred|proposed"
    r"|outlined|wished)(?=\W*$|, )",
    r"\b(?:compiles|type-?checks|typechecks|builds)\W*$",
)
TESTS = compile_lazily(
    rf"\b(?:{w.TESTS}|all of which|all of them|(\d+)(?:/| of | out of )(?:the )?(\d+)(?: {w.TESTS})?|\d+ {w.TESTS}"
    rf"|they|(?:last|latest|past) (?:\w+ )?(?:runs?|builds?)|(?:new|old|other|existing|updated|rest of the)? ?ones"
    rf"|it)(?: (?:in|for|of|on|covering|around|against|from|with|under) (?:[\w§./-]+ ){{0,5}}?[\w§./-]+)?(?:"
    rf" {w.ADVERB}| still){{0,3}}"
    r" (?:pass(?:es|ed)?\b(?! (?:an?|the|its?|that|this|these|each|our|along|through|to|down|back|over|it|them|§)\b)"
    r"|passing\b|succeeds?\b|succeeded\b|checks? out\b"
    r"|(?:is|are|was|were|came back|comes back|come back|turned|stays?|went|looks?)(?: "
    + w.ADVERB
    + r"){0,2} (?:as )?(?:green|clean|passing|successful|happy|fine)\b|compiles\b|compiled\b"
    r"|is back to green\b|(?:green|clean)(?=\W*$|[,;]))",
    FLAGS,
)
COUNT = any_pattern(
    r"\d[^.;:]{0,60}, (?:no|zero|0) (?:errors|failures|drops|duplicates|regressions|warnings|crash(?:es)?)(?=\W*$)",
    r"\bnone (?:(?:is|are|do|does)(?: now| any ?more)|now)\b",
    r"\b(?:fails?|failed|(?:is|was|goes|went) red) (?:without|before) [^,;]{1,40}? and (?:pass\w*|succeeds|(?:is|goes"
    r"|turns|went) green) (?:with|after)\b",
    rf"\b(?P<of>\d+)(?:/| of | out of )(?P=of) [a-z-]+ (?:(?:is|are) (?:on|up|ready|running|healthy|done|at|in|online"
    rf"|available)|{w.PARTICIPLE})\b",
    r"\b(?:both|all \w+) times green\b",
    r"\bno (?:tests?|checks?|specs?) (?:fails?|failed|(?:is|are) failing)\b",
    r"\bnothing (?:fails|failed|broke|breaks|is broken|is left to (?:do|fix)|left to (?:do|fix))\b",
    r"\b\d[\d,]* (?:tests? |specs? )?pass(?:ed|ing)\b",
    r"\b(?:0|zero) (?:\w+ )?(?:violations|vulnerabilities|warnings|complaints|findings)\b",
    r"\b(?:0|zero|no) (?:failures|failed|failing(?! tests? (?:for|that|yet))|type errors|lint errors|errors and"
    r"|errors,)",
)
FAILING = any_pattern(
    r"\b(?!0\b)\d+ (?:\w+ )?(?:fail\w*|errors?\b|errored)",
    r"\b(?:one|two|three|four|several|some|others?|rest|but|still|remaining) (?:\w+ ){0,4}fail",
    r"\b(?:others?|rest|second|one) (?:doesn't|don't|do not|does not|did not|didn't)\b",
    r"(?<!\b0 )(?<!\bno )(?<!\bzero )\bfailing\b(?! (?!(?:on|in|with|because|at|again|now|for|due|since|after|when"
    r"|and|but|to|as|here|there|too|right)\b)\w+)",
    r"\bxfail",
    r"\b(?:it's|is|still) flaky\b",
    r"\bfails (?:in|on|when|with|under|at|for)\b(?! a clear)",
)
NOW = compile_lazily(
    rf"(?<!right )(?<!for )(?<!by )(?<!until )(?<!from )(?<!of )(?<!even )\bnow(?: {w.ADVERB}){{0,2}} (?!"
    rf"(?:{w.BAD})\b)(\w+[^\Ws]s|(?:pas|proces|acces|addres)ses|\w+shes|\w+ches|{w.BASE})\b(?!')",
    FLAGS,
)
IS_NOW = any_pattern(
    r"\b(?:is|are)(?: (?!not\b|never\b|still\b)[^\s,;]+){1,4} now(?= (?:instead of|rather than)\b)",
    r"\b(?:is|are) now (?:fully |much |more |completely )?(?!(?:not|no|an?|the|in|at|on|to|up|being|going|too|very|so"
    r"|only|just|that|this|what|where|when|how|as|if|for|with|of|by|about|over|under|much|more|clear|obvious|due|my"
    r"|your|our|their|his|her|its|its)\b)(?!\w+ing\b)[a-z][a-z-]{3,}\b",
    r"(?:\b(?:is|are)|\b\w+'s)(?: (?!not\b|never\b|still\b|being\b|going\b|question|matter|problem|issue"
    r"|bug)\w+){1,6} now(?=\W*$|,)",
    rf"\b(?:is|are) {w.PARTICIPLE}(?: [\w§-]+){{1,6}} now(?=\W*$|,)",
)
WORSE = compile_lazily(
    r"\b(?:broken|failing|down|slower|worse|wrong|stuck|blocked|missing|unclear|clear|different|obvious|progress|open"
    r"|red|running out|trying|working on|looking|writing|adding|fixing|there)\b",
    FLAGS,
)
OFFERED = compile_lazily(
    r"\b(?:the|your|a) new [\w§ -]{1,40}? (?:is|are) (?:available|there|visible|reachable|accessible|usable)\b"
    r"|\b(?:you|they) (?:requested|asked for|wanted|ordered) (?:is|are) (?:now )?(?:available|there|ready|in|on"
    r"|at)\b",
    FLAGS,
)
BACK = compile_lazily(
    r"\b(?:is|are)(?: now| already)? (?:back|up)(?=\W*$|,| (?:with|and|again)\b|(?<=back) (?:in|on|at|where|under"
    r"|to)\b)",
    FLAGS,
)
WE_NOW = compile_lazily(r"\bwe now (\w+)\b", FLAGS)
LATELY = any_pattern(
    rf"\b(?!(?:{w.BAD}|{w.ADVERB})\b)[a-z]+[^\Wsu]s\b[^,]{{0,60}} (?<!right )(?<!for )(?<!by )(?<!until )(?<!from"
    rf" )now(?=\W*$|[,;:]| and\b| (?:instead of|rather than|without|even|across|whenever)\b)",
    rf"\b(?!(?:{w.BAD}|{w.ADVERB}|asks|tells|tries|retries|begins|starts|restarts"
    rf"|repeats)\b)[a-z]+[^\Wsu]s(?: (?!to\b)[\w§-]+){{0,3}} again(?=\W*$|[,;:]| and\b)",
    rf"\b(?!(?:{w.BAD}|{w.ADVERB}|asks|tells|tries|retries|attempts|calls|connects|waits|goes)\b)[a-z]+[^\Wsu]s (?:to"
    rf"|on|in|at|with|as) (?:the|its|your|all|both|every) [\w§ -]{{1,40}}? again(?=\W*$|[,;:]| and\b)",
)
CAN = compile_lazily(
    r"\b(?:can|should) now(?: be)? (\w+)|(?<!I )(?<!we )(?<!you )\bcan(?: (?!not\b)[\w§-]+){1,8} now(?=\W*$|[,;])",
    FLAGS,
)
SHOULD = any_pattern(
    r"\bshould (?:all )?(?:now )?be (?:all )?(?:good to go|all set|up and running|back to normal)\b",
    r"\bshould (?:be |now )(?:now |all )?(?:be )?(?:fixed|working|good|resolved|set|ready|done|work|pass|build"
    r"|compile|load|start|run|succeed|render)(?: \w+)? ?(now)?\b",
    r"\bshould (?:all )?(?:pass|build|compile|load|start|run|succeed|render|work) (?:again )?now\b",
    r"\bthat should do it\b",
)
CLEAR = compile_lazily(
    rf"(?<!\w)(?:{w.TESTS}|§|audits?|scans?|checkers?|analyzer|(?!I\b|we\b|you\b)\w+(?= (?:finds|reports|shows|lists"
    rf"|has no complaints) ?))(?: §)? (?:com(?:es?|ing) back with|came back with|reports?|reported|shows?|showed"
    rf"|finds?|found|gives?|gave|returns?|returned|prints|printed|has|have) (?:no|zero|0) (?:[\w-]+ ){{0,4}}?"
    r"(?:problems|issues|errors|warnings|failures|violations|vulnerabilities|findings|complaints)\b",
    FLAGS,
)
RESULT = compile_lazily(
    r"^\W*(?:(?:all |unit |full |local |smoke |the )*(?:tests?|build|lint(?:er|ing)?|types?|type[- ]?check(?:s|ing)?"
    r"|ci|checks?|suite|result|status|verification|deploy(?:ment)?|migration|release|rollout|installation|import"
    r"|compilation|formatting|§)(?: run| suite| results?| status)?)"
    r"(?: \([^)]*\))?(?::| →| [-–—=]|(?= [✅✔☑])) ?(?:\d[\d.]*%? )?(?:all )?(?:ok\b|pass(?:ed|ing|es)?\b|succe\w+"
    r"|green\b|clean\b|✅|✔|☑|(\d+)/\1\b)",
    FLAGS,
)
DELIVERED = compile_lazily(
    r"\byou(?:'ll| can| will| should)?(?: now)? (?:find|see) (?:the |your |a |it )?(?:finished|completed?|final"
    r"|generated|updated|new|rendered|built) |\bhere(?:'s| is| are) your (?:script|report|page|template|config"
    r"|function|module|component|notebook|query)\b|\bhere(?:'s| is| are) (?:the|your) (?:new |final )?(?:finished"
    r"|completed?|updated|corrected|revised|fixed|reworked|rewritten|refactored|cleaned-up|generated|final|translated"
    r"|edited|polished|improved|optimi[sz]ed|formatted) (?!(?:plan|proposal|estimate|draft plan|question|outline"
    r"|list of)s?\b)",
    FLAGS,
)
CURED = compile_lazily(
    r"(?:^\W*(?:that|this|which|it)|^\W*\w+ing\b[^,;]{0,60}?|\b(?:the|this|my) (?:change|fix|patch|update|edit|tweak"
    r"|workaround)s?)(?: has| have)?(?: also| now| finally)? (?:fixed|solved|resolved|cured|sorted|eliminated|did)"
    r" (?:it|that|this|the (?:\w+ ){0,3}(?:problem|issue|bug|error|crash|leak|failure|warning|test)s?|everything|both"
    r"|all)\b",
    FLAGS,
)
MEASURED = any_pattern(
    r"\b(?:is|are) (?:now )?(?:down (?:by|to)|up by|(?<=now )up to) (?:about |over |~)?\d",
    r"\b(?:reduces?|cuts?|lowers?|improves?|increases?|speeds? up|shrinks?|decreases?) [\w§' ]{1,40}? by (?:about "
    r"|over |almost |roughly |~)?\d",
    r"\b(?:has|have) (?:increased|decreased|improved|dropped|risen|fallen|gone (?:up|down)|come down) (?:to|by"
    r"|from) (?:about |around |~|over |under )?[\d§]",
    r"\bmakes? (?:the |it|them|every )?[\w§ ]{0,30}? (?:\d+x|\d+%|\d+ times|twice as|much|far|a lot"
    r"|significantly) (?:faster|smaller|quicker|cheaper|simpler|lighter|fast|small)\b",
    r"\b(?:went(?: up| down)?|dropped|fell|rose|improved|decreased|increased|shrank|grew|(?:is|are) (?:down|up)"
    r"|came down|reduced|cut) from (?:about |around |~|roughly |over |nearly )?[\d§][\w.,%§]*(?: ?\w+)? to (?:"
    r"(?:about |around |~|under |roughly |below |over )?[\d§]|none\b|zero\b|nothing\b)",
)
GONE = compile_lazily(
    r"\bno longer (?!work|exist|has\b|have\b|support|available|maintained|compile|build|pass|need|block(?!s? (?:the"
    r"|any|other|our)\b)|stuck|necessary|relevant|true|valid|required|recommended)(\w+)",
    FLAGS,
)
THIS = any_pattern(
    r"^(?-i:Adds|Implements|Fixes|Introduces|Removes|Replaces|Refactors|Migrates|Updates|Renames|Closes) (?:the\b"
    r"|an?\b|§|support\b|new\b|missing\b|#\d|all\b)",
    r"^\W*(?:this|that|these(?: changes)?|which|(?:the|this|my) (?:change|fix|patch|commit|pr|update|edit|diff"
    r"|refactor)s?)(?: now| also| fully| should now)? (fix(?:es)?|resolves?|completes?|closes?|address(?:es)?"
    r"|finish(?:es)?|solves?|wraps? (?:it |this |that |things )?up|does it|takes care of|concludes)\b",
    r"^\W*(?:the|this|my) (?:pr|pull request|merge request|commit|patch|branch|diff|change set"
    r"|changeset) (?:also )?(adds|introduces|implements|makes|removes|replaces|updates|brings|moves|adds support)\b",
    r"\b(?:we|you)(?:'ve got| have got|(?: now)? have) an? (?:fully |completely )?(working|functional|running"
    r"|complete) ",
)
HEADLINE = compile_lazily(
    r"^\W*(?:(?!of\b|as\b|to\b|be\b|get\b|getting\b|when\b|the\b|a\b)[\w§'/.#+✅✔☑🎉-]+ ){1,6}?(complete|completed|done"
    r"|finished|successful|fixed|resolved|deployed|implemented|merged|live|passing"
    r"|passed|succeeded|shipped|accomplished|achieved|updated|added|created|removed|verified|ready|green|restored"
    r"|applied|pushed|migrated|published|released"
    r"|committed|confirmed|validated|squashed|nailed|patched|plugged|crushed|landed|imported|exported|processed"
    r"|deleted|tested|installed|configured|solved|closed|cleared|rewritten|rebuilt|refactored|renamed|replaced"
    r"|converted|reverted|cleaned up|wired up|in place|up and running|all green|good to go|unblocked|covered|included"
    r"|enabled|disabled|upgraded|bumped)"
    r"(?: successfully| now| and (?:verified|tested|pushed(?: to [\w§./-]+)?|merged|deployed|working)| for (?:review"
    r"|testing|use|merge|production)| to (?:merge|ship|review|deploy|use|go)| 🎉| in production| on main| by (?:the "
    r"|a )?[\w -]{1,30}(?:tests?|suite|run|checks?|ci|team)| (?:as|to|in|under|at|into) (?:§|#?\d|main|master|prod\w*"
    r"|staging|the (?:registry|repo\w*|server|bucket|store))[\w§./:-]*)?\W*$",
    FLAGS,
)
TELEGRAM = compile_lazily(
    rf"^\W*(?!as\b|when\b|once\b|if\b|unless\b|I\b|we\b|the\b|a\b|an\b|you\b)(?:[\w§'/.#+-]+ ){{1,3}}({w.VERBED}"
    rf"|done)\b(?=, \S)",
    FLAGS,
)
SHORT = any_pattern(
    r"^\W*done,",
    r"^\W*checked in(?=\W*$)",
    r"^\W*(?:all |job |and |it's |that's |we're |i'm |you're )?(?:done|fixed|finished|complete|completed|shipped"
    r"|all set|set|good to go|up and running|everything|all of (?:it|them)|problem solved|mission accomplished|live"
    r"|deployed|merged|resolved|implemented|sorted|that's it|ready)(?: now| on (?:the|your) list| you asked for"
    r"| for (?:review|you|testing|merge|production|use)| to (?:merge|ship|go|review|use|deploy)| and (?:\w+ ){0,2}\w+"
    r"| 🎉| as requested| here)?\W*$",
    r"^\W*that(?:'s| is) (?:all (?:of (?:it|them)|\d+|two|three|four|five|six)|both|everything (?:you asked|on (?:the"
    r"|your) list))\b",
    r"^\W*you can (?:now |safely )?(?:announce|merge|deploy|ship|release|close|publish) (?:it|this|that|the (?:pr"
    r"|branch|ticket|issue|release))(?=\W*$| now\b| whenever\b| when\b)",
    r"^\W*ready for you to \w+",
    r"^\W*(?:it's|they're|that's) (?:all )?in(?=[.!]*$)",
    r"^\W*it's alive\b",
    r"^\W*(?:nailed|cracked|sorted|solved|fixed|found and fixed) it\b",
    r"^\W*(?:nice,? |great,? |yes,? |ok,? |and )?(?:that|it|this) (?:worked|did it|is alive)(?=\W*$|[,!])",
    r"^\W*(?:all )?(?:done|finished) with (?:the|all|this|that|it|everything|your|both)\b",
    r"^\W*(?:all |everything )?green (?:across the board|everywhere|again|on all)\b",
    r"^\W*(?:all|everything(?:'s| is)?) (?:done|set(?! up to| to)|good|green|finished)\b",
)
LATER = compile_lazily(
    r"^[^,]{0,40}?\b(?:if|when|once(?! and for all)|unless|until|whenever|provided|only|as long as"
    r"|(?<!as )before(?! and after)|yet to|assuming|after (?:the |an? |your |all )?[\w-]+ (?:is|are|has|have|was|were"
    r"|passes|pass|completes))\b",
    FLAGS,
)
DESCRIBES = compile_lazily(
    r"^\s*(?:in|by|as|via|with|using|through|at|on|from|per|every|under|inside|to|per|for|automatically|like|within"
    r"|around|against|relative|per)\b",
    FLAGS,
)
ATTRIBUTIVE = compile_lazily(
    r"^\s+[a-z]+ (?:is|are|was|were|gets?|will|can|must|should|have|has)\b|^\s+(?:width|size|header|point|time"
    r"|position|number|length|amount|price|rate|list|set|example|code|files?|data|content|software|state|callback"
    r"|event|queue|column|flag|at \d|on top)\b(?! \w+ing\b)",
    FLAGS,
)
NO_WORK = any_pattern(
    r"^\s+(?:nothing|no|none|neither|little)\b",
    r"^\s+down\b",
    r"^\s+back (?:because|since|after|as)\b",
    r"^\s+(?:together )?(?:my|the|a|an|this|our|some)? ?(?:\w+ )?(?:plan|todo(?: list)?|to-do(?: list)?|understanding"
    r"|(?<!release )notes?|mistake|assumption|progress|suspicion|hypothesis|theory|question|concerns?|outline"
    r"|proposal|breakpoint|attempts?|experiments?|temporary|print statements?)\b",
    r"^\s+(?:my|a few|some) (?:\w+ )?(?:comments?|remarks?|feedback|thoughts?|suggestions?|questions?|findings?"
    r"|observations?|conclusions?|analysis)\b",
    r"^\s+(?:that|whether|if|why|how) (?:[\w§']+ ){0,6}(?:is|are|was|does|do|did|can|could|has|fails?|crash\w*"
    r"|still)\b(?! (?:now|fixed|working|passing|green|done|gone|resolved|complete))",
)
UNDONE = compile_lazily(r"\bbut (?:then )?(?:it |that |they )?(?:broke|came back|regressed|reappeared)\b", FLAGS)
STILL = any_pattern(
    r"[,:;—–] (?:and )?(?:exactly )?(?:the )?same (?:\w+ )?(?:errors?|failures?|results?|timeouts?|crash|problem"
    r"|behaviou?r|output)\b",
    r"\b(?:got|get|gives?|gave|see|saw|hit|with|shows?) (?:exactly )?the same (?:\w+ )?(?:errors?|failures?|results?"
    r"|timeouts?|crash|messages?|problems?|behaviou?r|exception|output)\b",
    r"\b(?:but|however|yet|though)\b[^.]{0,60}?\b[^.]{0,40}?(?:still (?:fail|crash|break|hang|error|see|get|happen"
    r"|isn't|doesn't|not|present|there|broken|exist|occur|open)|didn't (?:help|work|fix)|doesn't (?:help|work|fix)"
    r"|no (?:effect|luck|difference)|to no avail|it fails|that fails|the (?:error|bug|problem|issue"
    r"|failure) (?:persists|remains|is still))",
)
READY_LATER = compile_lazily(
    r"^ to (?:start|begin|proceed|help|continue|implement|work|go ahead|assist|tackle|take|dive|move|accept|discuss"
    r"|answer)\b|^ when you\b|^ for your (?:answer|input|next|instruct|question|feedback)",
    FLAGS,
)
WEAK_SUBJECT = compile_lazily(r"^\W*(?:a|an|each|every|any)\s(?!single|one|of the)", FLAGS)
ITEM = compile_lazily(rf"^\W*(?:[\w§-]+ ){{1,2}}(?:{w.VERBED})\W*$", FLAGS)

IS_ONCE = compile_lazily(rf"\b(?:is|are|'s|'re)(?: {w.ADVERB}){{0,2}} ({w.ONE_OFF})\b", FLAGS)
HABIT = compile_lazily(
    r"\b(?:every|each|automatically|nightly|daily|weekly|hourly|whenever|when|by default|always|usually|upon"
    r"|on (?:start|startup|boot|save|load|commit|push|demand)|at (?:runtime|startup|build time)|before|if)\b",
    FLAGS,
)
WIRE = compile_lazily(
    rf"^\W*(?!(?:I|we|you|he|she|it|they|who|what|which|the|an?|this|that|these|those|each|every|some|any|no|if|when"
    rf"|as|to|not|more|most|all|its|how|why|please|only|users?|customers?|people|tests? that|compare|kill|find|make"
    rf"|list|print|let|get|see|remove|change|move|wait|watch|try|verify|review|ask|tell|copy|keep|use|run|check)\b)"
    rf"(?:(?!(?:is|are|was|were|be|been|has|have|had|can|could|will|would|should|may|might|must|do|does|did|to|not"
    rf"|never|that|which|who|by|if|when|of)\b)[\w§'/.#+-]+ ){{1,4}}?"
    rf"((?!(?:{w.THOUGHT}|{w.NOT_WORK}|{w.QUANTITY})\b)(?:[a-z]+-)?\w{{2,14}}ed|(?:written|rewritten|built|rebuilt"
    rf"|set up|put in place|split|sent|redone|taken care of))\b(?!-)"
    r"(?=\W*$|[:;,]| (?:to|into|in|on|for|with|from|as|at|onto|under|across|against|via|and|out|up|over|successfully"
    r"|again|after)\b)",
    FLAGS,
)
FINITE = compile_lazily(
    r"\b(?:is|are|was|were|has|have|had|can|can't|could|will|would|should|may|might|must|do|does|did|needs?|gets?"
    r"|goes|go|isn't|aren't|wasn't|weren't|means?|fails?|works?|shows?|appears?|come|comes|run|runs|lead|leads|cause"
    r"|causes|take|takes|remain|remains|tend|tends|seem|seems|look|looks|make|makes|use|uses|give|gives|break|breaks"
    r"|pass|belong|belongs|live)\b",
    FLAGS,
)
AGAIN = any_pattern(
    rf"\b(?:they|these|those|both|all(?: of them| \d+)?)(?: all| both)? (?:{w.BASE}) [^,;]{{1,60}}? now(?=\W*$|[,;:]"
    rf"| and\b)",
    rf"\b(?:is|are)(?: {w.ADVERB})? (?!(?:not|never|no|still)\b)[a-z][a-z-]+(?: [\w§-]+){{0,3}} again(?=\W*$|[,;:]"
    rf"| and\b)",
    rf"\b(?:they|both|all|everything|[a-z§]+s|and [\w§]+)(?: all| both)? (?:{w.BASE}) (?:[\w§-]+ ){{0,3}}again(?=\W*$"
    rf"|[,;:]| and\b)",
)
ANYMORE = compile_lazily(
    r"\b(?:can't|cannot|doesn't|don't|does not|do not|isn't|aren't|is not|are not|never|won't|can not) (?!(?:exist"
    r"|work|support|maintain|matter|available|compile|build|pass|run|recommend|want|require|understand|know"
    r"|remember)\w*\b)[a-z]+[^,;]{0,60}? (?:any ?more|any longer)(?=\W*$|[,;)]| (?:when|after|with|in|on|from|and|for"
    r"|by|either|at)\b)",
    FLAGS,
)
NEW_IN = compile_lazily(
    r"\b(?:has|have|gets|got|gained|comes with|includes?|shows?|reflects?|contains?|carries|carry|uses?|serves?"
    r"|runs?(?: on)?|goes through|go through|points? (?:at|to)|sits? on)(?: now)? (?:an?|two|three|four|five|\d+|the"
    r"|its|their|some)(?: \w+)? (?:new|newly|brand-new)\b(?! (?:version|release|owner|team|policy|maintainer|job|ceo"
    r"|customers?|users?|and|or|enough|in)\b)"
    r"|\bthere(?:'s| is| are)(?: now| also)? (?:an?|two|three|four|\d+) new (?!(?:version|release|owner|team|policy"
    r"|maintainer|way|ways|problem|error|bug|issue|failure|warning|requirement|law)s?\b)\w+",
    FLAGS,
)
AS_OF = compile_lazily(
    r"\b(?:is|are|stays?|runs?|loads?|takes?|behaves?)\b[^,;]{1,50}? (?:after|since|with) (?:the|this|my) (?:change"
    r"|fix|patch|upgrade|update|edit|tweak)(?=\W*$|[,;])|^\W*as of (?:now|today|this \w+"
    r"|(?:commit )?§),? [^,;]{1,60}? [a-z]+[^\Wsu]s\b|\b[a-z]+s\b[^,;]{0,80}? as of (?:this|the last|my|that|today's"
    r"|the latest) (?:change|commit|patch|pr|release|branch|version|deploy\w*|build)\b"
    r"|\b[a-z]+s\b[^,;]{0,80}? (?:as of now|from now on|going forward)\b",
    FLAGS,
)
AGAINST = any_pattern(
    r"\b\d[\d.,]* ?(?:ms|s|sec|secs|seconds?|minutes?|mins?|hours?|kb|mb|gb|kib|mib|%|percent|lines|rows|queries"
    r"|requests|calls)? ?(?:instead of|rather than|vs\.?|versus|\(was|\((?:it )?used to be|\(down from|\(up from"
    r"|down from|up from|compared (?:to|with)|where it (?:was|used to be)) ?(?:about |around |~)?\d",
    r"\((?:down|up) from (?:about |~)?\d",
    r"\b(?:it|this|that|they) (?:was|were|took|used to be|used to take)(?: about| around"
    r"| over)? \d[^,;]{0,25}? (?:before|earlier|previously)\W*$",
    r"^ (?:it|that|this|they) (?:was|were|took|used to (?:be|take)) (?:about |around |over )?\d[\d.,]* ?(?:ms|s|sec"
    r"|seconds|minutes|hours|kB|MB|GB|%)\W*$",
    r"\b(?:\d|two|three|four|five|six|eight|ten|half)[^;]{0,60}?, down from (?:about |~|over |around )?(?:\d|[a-z]+\b)",
    r"\b(?:down|up) to (?:about |~)?\d[^,;]{0,25}? from (?:about |~)?\d",
    r"\bwent (?:up|down) (?:to|by) (?:about |around |~)?\d",
    r"(?<!vary )(?<!varies )(?<!range )(?<!ranges )\bfrom (?:about |~)?\d[\d.,]* ?(?P<unit>ms|s|sec|seconds|minutes"
    r"|min|kB|KB|MB|GB|%|lines|warnings|errors|failures) to (?:about |~|under )?\d[\d.,]* ?(?P=unit)\b",
    r"\b\d[\d.,]* ?(?:ms|s|kB|MB|GB|%|x)? (?:→|->|=>) ?\d",
)
FINE = any_pattern(
    rf"(?<!\w)(?:{w.TESTS}|§|alerts?|pager|types|docs|formatting|console|logs?|monitor|dashboard|compiler|output"
    rf"|health ?checks?)(?: (?:is|are|all|run|check|stays?|stayed|looks?|comes? back|came back|came out"
    rf"|comes? out))*(?: all| both| now)? (?:ok|okay|quiet|silent|clean|green|spotless|empty|happy)\b(?! (?:but|with"
    rf"|about|on|to|if|up|room|slate|install|start|code|build|way|out)\b)",
    r"\b(?:\d+|two|three|four|five|ten) (?:consecutive|clean|green|successful|straight)(?: (?:clean|green"
    r"|successful))? (?:runs?|builds?|passes)\b",
    r"\b(?:boots|balances?|lines? up|adds? up|checks? out|holds? up|it holds|reconciles?|tallies|caught up"
    r"|behaves?)(?=\W*$|,| and\b| (?:before and after|again|now|with|to the|as|nicely|exactly|everywhere)\b)",
    r"\b(?:runs?|works?|plays?|renders?|loads?|installs?|executes?)(?: \w+)? (?:top to bottom|start to finish"
    r"|from start to finish|end[- ]to[- ]end|on an? (?:fresh|clean|new|blank|empty|vanilla))\b",
    r"\b(?:stays?|stayed|remains?|remained|is|are)(?: now)? (?:healthy|(?:warning|error|lint|bug|flake|crash|leak"
    r"|regression|vulnerability)-free)\b",
    r"\b(?:stays?|stayed|remains?|remained) (?:flat|up|stable|responsive|green|constant|in sync)\b",
    r"\b(?:totals|numbers|sums|counts|figures|checksums?|hash(?:es)?|outputs?|results?|snapshots|screenshots"
    r"|amounts)(?: (?:in|of|from|on|for) (?:the |both |all |each )?[\w§ -]{1,30}?)? match(?:es)? (?:the|your"
    r"|each other|exactly|to the|those|what)\b",
    r"^\W*(?:your|the|it|this)\b[^,;]{0,50}? (?:reads|looks|feels|runs|loads|responds|renders|flows"
    r"|scrolls)(?: now)? (?:much|a lot|far|noticeably|significantly|considerably|way) \w+er\b",
    r"\b(?:survives|survived|withstands|withstood) (?:an?|the|\d|all|every)\b",
    r"\b(?:builds?|compiles?|passes|works?|runs?) (?:on its own|on their own|by itself|in isolation|standalone)\b",
)
LANDED = any_pattern(
    r"^\W*(?!(?:I|we|you|it|that|this|he|she|they|state|situation|who|what)\b)(?:[\w§'/-]+ ){0,8}?[\w§/-]+(?: is| are"
    r"|'s) (?:all |now )?in(?=[^\w§¶]*$|[;,:])",
    rf"^\W*(?!.*\b(?:still|{w.TROUBLE})\b)(?:the|your|both|all)\b[\w§ -]{{1,40}}? (?:is"
    rf"|are) (?:all )?there(?=[^\w§¶]*$|[:,])",
    r"\b(?:it's|it is|they're|that's) (?:all )?(?:on|in) (?:the )?(?:branch|commit|pr) (?:§|#?\w)",
    r"\b(?:script|report|write-up|summary|draft|patch|fix|export|deck|migration|changes?|branch|notebook)(?:'s| is"
    r"| are)(?: now| all)? (?:in|at|on|under)(?: the)? §",
)
ZERO = compile_lazily(
    r"\b(?:errors?|failures?|warnings?|failing(?: \w+)?|failed|issues|violations|problems|regressions|vulnerabilities"
    r"|conflicts|diffs?) ?[:=] ?(?:0|none|zero)\b",
    FLAGS,
)
GAINED = compile_lazily(
    rf"^\W*(?!(?:I|we|you|he|she|they|users?|no(?:body)|someone)\b)[^,;]{{1,60}}? (?:got|gained|received|lost)"
    rf" (?:an?|its"
    rf"|two|three|\d+|§)(?! (?:\w+ )?(?:{w.TROUBLE}|\d{{3}}\b|null|empty|response|exception|message|notification"
    rf"|email|40\d|50\d|feedback|look))",
    FLAGS,
)
CONTAINS = compile_lazily(
    r"\b(?:commit|pr|pull request|merge request|branch|patch|build|changeset|diff)(?: (?:§|#?\w*\d\w*))? (?:contains"
    r"|has|includes|carries|brings|holds) (?:the|an?|this|both|all|everything|my|two|three|your)\b",
    FLAGS,
)
EVENT = compile_lazily(
    rf"\b(?:(?:this|my|our) (?:\w+ )?(?:cleanup|clean-up|refactor\w*|change|fix|migration|rewrite|update|patch"
    rf"|upgrade|pass|commit|edit|tweak|session|round|pr)s?|the (?:cleanup|clean-up|fix|patch|rewrite|tweak|edit"
    rf"|polish))(?: {w.ADVERB})?"
    rf" ((?!(?:{w.THOUGHT}|{w.NOT_WORK}|{w.QUANTITY}|broke|failed|missed|caused|introduced|changed)\b)(?:\w{{2,14}}ed"
    rf"|{w.MADE}|took (?:out|care|off)|got))\b(?! by\b)",
    FLAGS,
)
PERSISTS = compile_lazily(
    r"\b(?:but|though|although|however|yet)\b[^.]{0,60}?\b(?:problem|bug|issue|error|crash"
    r"|failure)s? (?:still )?(?:exists?|persists?|remains?|(?:is|are) still|happens?|occurs?|reappears?)\b",
    FLAGS,
)
REMEDY = compile_lazily(
    rf"^\W*(?:the )?(?:fix|solution|remedy|resolution|change|outcome|results?|final state|end result|end state"
    rf"|net result|new behaviou?r|behaviou?r now)\s*: +(?!(?:use|add|make|set|move|run|wrap|call|remove|replace|pass"
    rf"|change|check)\b)(?:(?:the|an?|each|every|all|both|its?|this|they|we|\w+s)\b"
    rf"|§)[^:,;(]{{0,60}}? (?!(?:{w.BAD})\b)[a-z]+[^\Wsu]s\b",
    FLAGS,
)
ANNOUNCED = compile_lazily(
    rf"^\W*what(?:'s| is) new\s*:|^\W*what (?:I|we)(?:'ve| have)?(?: {w.ADVERB}){{0,2}} (?:did|done|{w.VERBED})\s*:"
    rf"|\b(?:here(?:'s| is| are)|below (?:is|are)|(?:a |the )?(?:quick |brief |short )?(?:summary|rundown|overview"
    rf"|recap|list) of)(?: (?!not\b|no\b)\w+){{0,5}}? (?:what(?:'s| has| was| were| got| been"
    rf"| all){{0,2}} (?:been )?(?:changed|new|done|accomplished|achieved|delivered|completed|added|built|shipped"
    rf"|fixed|implemented|updated)"
    rf"|what (?:I|we)(?:'ve| have)? (?:did|done|changed|built|{w.VERBED})|(?:all )?the (?:\w+ )?changes(?: (?:I|we"
    rf"|that|made)\b)|everything (?:I|we|that))\b",
    FLAGS,
)
AS_ASKED = compile_lazily(
    rf"^\W*(?:following|per|as per|based on|in line with|in response to|after) your (?:latest |last )?(?:feedback"
    rf"|requests?|instructions?|comments?|suggestions?|review|wishes|note)\b[^,]{{0,30}}, (?!(?:I|we|you|here|there"
    rf"|this|that|what|it)\b)[^,;]{{2,50}}? (?!(?:{w.BAD})\b)(?:[a-z]+[^\Wsu]s|are|is|have|has)\b",
    FLAGS,
)
MENDED = compile_lazily(rf"\b(?:{w.VERBED}|fix|done|gone|now|solution)\b", FLAGS)
HOLLOW = any_pattern(
    r"^[^.;]{0,60},? and yet\b",
    r"^[^.;]*, so no\W*$",
    r"^[^.;]{0,60}, (?:I'm told|I hear|they say|apparently|supposedly|allegedly|reportedly|according to|or so"
    r"|presumably|I (?:think|believe|guess|assume|suppose|hope))\b",
    r"^\W*and (?:yet )?(?:the |it |they )?[^.;,]{0,40}? (?:is|are|was|were) (?:still )?(?:wrong|incorrect|broken"
    r"|off by)\b",
    r"^\W*(?:even )?with the (?:bug|fault|defect|broken|wrong|old)\b",
    r"^[^.;]{0,40}, (?:but|and|then|and then|but then)\b[^.;]{0,60}? (?:was killed|died|crashe[sd]|hung|timed out"
    r"|gave up)\b",
    r"^[^.;]{0,40}, but not (?:yet|for|quite)\b",
    r"^\W*and will be\b",
    r"^\W*so (?:don't|do not|never|you (?:can't|cannot|must|should|shouldn't))\b",
    r"^\W*(?:whatever|no matter|regardless|anyway|even (?:if|when|though))\b",
    r"^\W*but un\w+(?:ed|ished)\b",
    r"^\W*(?:only |just )?because (?!I\b|we\b)",
    r"^\W*(?:now )?but (?:(?:meaning|use|point)less|only|not|misleading|incomplete|slow|wrong|flaky|prove|(?:it "
    r"|they |that )?(?:doesn't|don't|does not|do not|isn't|fail|crash|still|hang))",
)
