"""The English that claims are made of: forms of verbs, states, and what turns a statement into something else."""

VERBED = (
    "fixed|implemented|added|created|updated|removed|deleted|refactored|migrated|deployed|shipped|released|published"
    "|merged|committed|pushed|resolved|completed|finished|built|installed|configured|enabled|disabled|renamed|moved"
    "|replaced|wired|hooked|patched|verified|tested|confirmed|validated|cleaned|converted|extracted|introduced|handled"
    "|corrected|addressed|optimi[sz]ed|upgraded|bumped|documented|generated|registered|rolled|reverted|restored"
    "|launched|provisioned|closed|changed|modified|adjusted|simplified|consolidated|integrated|rewrote|rewritten"
    "|wrote(?! that\\b)"
    "|written|exposed|extended|improved|tightened|hardened|plugged|solved|repaired|ported|rebuilt|rebased"
    "|secured|seeded|tagged|uploaded|switched|swapped|dropped|eliminated|opened (?:an?|the|a new) (?:pr|pull request"
    "|mr|merge request|issue)|saved|set up|put in place"
    "|done (?:the|this|that|all|both|everything|so|my)|made (?:the|all|these|those|both|your|every|it|sure)|brought"
    "|taken care|took care|sorted|scaffolded|populated"
    "|formatted|linted|backfilled|cached|covered|debugged|decoupled|downgraded|duplicated|encrypted"
    "|ensured|expanded|filled|finali[sz]ed|guarded|indexed|inlined|landed|localized|mapped"
    "|memoi[sz]ed|mocked|moderni[sz]ed|normali[sz]ed|packaged|parali?lleli[sz]ed|parametri[sz]ed|pinned|pruned|purged"
    "|stabili[sz]ed|debounced|regenerated|reduced|relaxed|reordered|reorgani[sz]ed|restructured|reworked|sanitized"
    "|scheduled|stubbed|submitted"
    "|reloaded|restarted|redeployed|rebooted|recreated|reinstalled|reindexed|recompiled|reissued|retested"
    "|synced|synchronized|throttled|translated|trimmed|typed|unified|unblocked|vendored|wrapped|re-?enabled|re-?ran"
    "|automated|delivered|accomplished|achieved|applied|attached|retired|decommissioned|archived|bundled"
    "|containeri[sz]ed|finished up|connected"
)
"""What an agent says it did when it says that work is done; looking, trying and finding are not among them."""

ADVERB = (
    r"(?:just|now|also|already|all|both|then|since|finally|fully|even|successfully|(?!only\b)\w{2,12}ly|indeed|again"
    r"|further)"
)

STATE = (
    "done|complete|completed|finished|ready|fixed|implemented|resolved|solved|working|functional|operational|in place"
    "|live|deployed|shipped|merged|released|published|set up|configured|integrated|installed|addressed|covered"
    "|wired up|wired in|hooked up|up and running|good to go|all set|set|taken care of|sorted|in good shape|in order"
    "|production[- ]ready|feature[- ]complete|committed|pushed|updated|migrated|removed|gone|history|passing|green"
    "|clean|happy"
    "|finali[sz]ed|verified|tested|applied|added|created|enabled|cleaned up|rolled out|rolled back|backed up"
    "|plugged in|merged in|checked in|uploaded|generated|scheduled|saved|documented|finished up|squashed|plugged"
    "|eliminated|squared away|over the line|wrapped up|through|closed|met|satisfied|cleared|up to date|up-to-date"
    "|back to normal|back online|back up"
    "|in sync|available again|available now|reachable again|cleared out|tidied up|ironed out|buttoned up|hooked in"
    "|connected up|rewired"
    "|regenerated|rebuilt|rewritten|reworked|restored|reverted|upgraded|unblocked|consolidated|pinned|renamed"
    "|replaced|converted|extracted"
    "|checked off|ticked off|stable again|healthy again|out on|out in|closed out|signed off|all green|fully green"
    "|bug-free|in production|in prod|in main|in master|on main|on master|on staging|on pypi|on npm|on production"
    "|in the main branch|wired|exposed|hardened|patched|supported|handled|enforced|secured|validated|escaped"
    "|preserved|respected|ticked|good to merge|good to ship"
    "|good to deploy|clear to merge|free to merge|backported|cherry-picked"
)

IRREGULAR = (
    "built|rebuilt|written|rewritten|made|remade|set|reset|put|split|cut|rerun|sent|brought|taken|given|done|redone"
    "|undone|hidden|redrawn"
    "|frozen|spun|sped|torn|bound|shrunk|cut over|brought back|brought up|taken down|taken out|put back|sorted"
    "|spun up|thinned|shut down|taken over|laid out|spelled out|shut"
)
"""Past participles of doing that do not end in `-ed`."""

NOT_WORK = (
    r"reported|noticed|observed|discussed|suggested|requested|asked|mentioned|identified|located|postponed|deferred"
    r"|delayed|affected"
    r"|corrupted|rejected|denied|blocked|failed|expected|planned|assigned|considered|attempted|tried|started"
    r"|investigated|analy[sz]ed"
    r"|reviewed|described|explained|noted|logged|flagged|raised(?! (?:to|from)\b)|skipped|ignored|exceeded|reached"
    r"|interrupted|cancell?ed|terminated"
    r"|killed|refused|limited|restricted|needed|based|called|named|used|proposed|designed|intended|supposed|allowed"
    r"|agreed"
    r"|expired|revoked|locked|compromised|leaked|received|claimed|announced|bothered|confused|worried|interested"
    r"|tested against|maintained"
    r"|impacted|damaged|hacked|abandoned|neglected|forced|left|stopped|paused|told|wanted|required|preferred|touched"
    r"|scoped"
    r"|estimated|measured|sketched|drafted|outlined|queued|triggered|thrown|spotted|wedged|stalled|overlooked|missed"
    r"|misconfigured|hardcoded"
    r"|truncated|starved|throttled by|banned|indeed|need|speed|feed|exceed|proceed|embed|seed"
)
"""Participles of what happens to a thing without work being done on it."""

PARTICIPLE = rf"(?!(?:{NOT_WORK})\b)(?:(?:\w+-)?\w{{2,14}}ed|{IRREGULAR})"
"""Any participle that may say that a thing was worked on."""

INSTALLED = frozenset({"exposed", "secured", "installed", "deployed", "configured", "patched", "wired", "hardened"})
"""What is done to a thing where it is put; programs do not do it by themselves."""

ONWARDS = frozenset("proceed start move begin go continue work focus look say turn".split())
"""What one can do now that something else is out of the way; nothing is said to be done by it."""

CURES = ("fixed", "resolved", "solved")

TROUBLE = (
    r"(?:errors?|bugs?|warnings?|issues?|crash(?:es)?|leaks?|races?|race conditions?|problems?|flak\w+|flickers?"
    r"|flickering|lag|deadlocks?"
    r"|regressions?|failures?|duplicates?|duplication|conflicts?|vulnerabilit\w+|hangs?|timeouts?|bottlenecks?"
    r"|exceptions?|typos?"
    r"|mismatch(?:es)?|drift|noise|delays?|stutter\w*|glitch(?:es)?|overflow|freezes?|panics?|segfaults?|n\+1"
    r"|dead code|stale \w+|jank)"
)
"""What one is glad to be rid of."""

DESCRIPTIVE = frozenset(
    "implemented configured deployed installed set merged published released covered tested updated created added"
    " enabled applied resolved generated scheduled saved documented uploaded shipped rolled integrated removed"
    " committed pushed migrated fixed live verified working completed closed satisfied cleared pinned renamed"
    " replaced converted"
    " extracted restored reverted rebuilt regenerated connected met upgraded supported handled enforced secured"
    " protected validated escaped preserved respected exposed hardened patched".split()
)
"""States that also describe how a thing is made (`is implemented in parser.py`); alone they need a `now`."""

TESTS = (
    r"(?:(?:unit |integration |e2e |end-to-end |regression |smoke |existing |new |updated |python |frontend |backend )*"
    r"(?:tests?|specs?|test suites?|suites?|test cases|test runs?|checks|jobs|workflows)(?: suite)?|ci|the (?:whole "
    r"|full |entire )?suite"
    r"|pytest|jest|vitest|go test|cargo test|ctest|mypy|ruff|eslint|tsc|clippy|flake8|pylint|lint(?:er|ing|s)?"
    r"|type[- ]?check(?:er|ing|s)?"
    r"|(?:the |production |release |docker |full )*(?:builds?|pipelines?|compilation)|everything|all of them|they all"
    r"|all \d+(?: of them)?)"
)

BASE = (
    "return|use|support|handle|work|pass|have|include|accept|run|render|load|show|respect|match|validate|compile|build"
    "|start|connect|succeed|behave|log|retry|expire|open|close|appear|read|write|send|emit|raise|receive|follow"
    "|inherit|take|produce|cover|check|treat|sort|update|refresh|reload|redirect|resolve|complete|finish|execute"
    "|contain|carry|keep|stay|store|fetch|parse|format|align|honou?r|survive|trigger|call|create|add|merge|deploy"
    "|link|arrive|fall back|display|respond|exit|persist|point|go|live|share|agree|get"
)
"""Plural forms of verbs that say how things are now."""

BAD = (
    r"fails?|breaks?|crash(?:es)?|errors?|throws?|hangs?|needs?|requires?|wants?|sees?|knows?|understands?|lacks?"
    r"|misses"
    r"|remains?|blocks|depends|has to|have to|looks|seems|appears?(?= to\b| that\b| as\b| broken| wrong"
    r"| in the (?:log|error))|makes sense|this|its|is|was|us|as|always|perhaps"
    r"|does|users|tests|times|things|comes|becomes|happens?|occurs?|arises?|persists?|shows up|says|stalls|leaks"
    r"|times out|loops|complains|shows (?:an? )?(?:error|failure)"
)
"""What a thing may do `now` without anything being done."""

SMOOTHLY = (
    r"without (?:any |a single )?(?:errors?|issues?|problems?|failures?|warnings?|crash(?:es)?|downtime|regressions?"
    r"|incidents?|trouble|drama|fuss|surprises|stuttering"
    r"|a (?:hitch|drop|jump|glitch|hiccup)|further ado)\b"
)
"""How a thing goes well."""

NEGATIVE = (
    rf"\b(?:not|never|none|neither|nor|(?!{SMOOTHLY})without|hardly|barely|cannot|unable|nothing|no(?:body| one)"
    rf"|un(?:finished|done|fixed|"
    r"resolved)|fail(?:s|ed|ing|ure)? to|yet to|far from|almost|nearly|half|halfway|a (?:third|quarter|fraction|few)"
    r"|two thirds|part of|partial(?:ly)?|partly|mostly|close to"
    r"|about to|instead of|rather than|supposedly|allegedly|probably|possibly|perhaps|maybe|likely|hopefully"
    r"|theoretically"
    r"|some|most|few|only(?! once)|except|in theory|or less|stop(?:ped)? short|rarely|usually|typically|normally"
    r"|generally|often)\b"
    r"|n't\b|\bno\b(?! (?:longer|errors?|issues?|failures?|problems?|regressions?|warnings?|more|remaining|further"
    r"|other|type errors|lint errors|conflicts|violations|complaints|leaks?|crash(?:es)?|drops|duplicates))"
)

UNREAL = (
    r"\b(?:if|once(?! (?:more|again)\b)|whenever|until|till|unless|whether|in case|possible that|chance that"
    r"|apparently|presumably|(?:glad|pleased|happy|good|great|nice)(?: to (?:hear|see|know|read)| that| (?=it|they"
    r"|you|everything|the)\b)|(?:fairly|pretty|reasonably|quite|rather) (?:confident|sure|certain)|provided|assuming"
    r"|assume[sd]?|as soon as|so that"
    r"|by the time|suppose|supposed|imagine|pretend|as if|as though|either(?! way)|ensure that|ensuring|make sure"
    r"|making sure|to ensure"
    r"|see (?:if|that)|(?:double-?)?check(?:s|ing)? (?:that|whether|if)|^\W*(?:please )?(?:check|verify|confirm"
    r"|ensure|prove|show|assert|see)(?: that| whether)?|to (?:verify|confirm|check|prove|see|show|say|tell|know|mark"
    r"|get|have|be(?! (?:clear|honest|upfront|precise|fair|transparent|exact)\b)|make|declare|call|consider)"
    r"|expect(?:s|ed|ing)?|hope|hoping|wish|want(?:s|ed)?|need(?:s|ed)?|requires?|should|must|would|could|might|may"
    r"|will"
    r"|shall|going to|let's|let me|want|goal|idea|plan(?:s|ned)?|when|remember|try(?:ing)?|tried|attempt(?:ed|ing)?"
    r"|before|until|while|start(?:ed|ing)?|begin|began|beginning|working on|in progress|in the middle|halfway|way to"
    r"|wait(?:ing)?|criterion|criteria|definition|considered|counts?(?= as\b)|marked|it (?:seems|appears"
    r"|looks (?:like|as if|as though))|seemingly|marks?|treated|assert(?:s|ing)?|guarantees?"
    r"|tests? (?:verif(?:y|ies)|checks?|ensures?|asserts?) that|means that|implies|doubts?|i (?:guess|suspect|suppose"
    r"|imagine)|unclear|unsure|not sure|question|wonder(?:ing)?|think about|decide)\b|'ll\b|(?<!\bi)'d\b"
)

WONDERING = r"(?<!, )\b(?:whatever|whichever|who(?:ever)|anything that|what|how|why|which|where|who|whose)(?:'s)?\b"

SAID = (
    r"\b(?:said|says?|saying|claim(?:s|ed|ing)?|report(?:s|ed|ing)?|reads(?= ?[¶:])|wrote(?: \w+){0,4} that"
    r"|writes(?= that\b| ?[¶:])|told|tells|mention(?:s|ed)?|stat(?:es|ed|ing)"
    r"|announce[sd]?|confirm(?:s|ed)?(?= (?:that|the|it|all|this|everything)\b)|assert(?:s|ed)|insist(?:s|ed)?"
    r"|suggest(?:s|ed)?|indicat(?:es|ed)|according to|thinks|believes|noted"
    r"|notes?(?= (?:that|saying)\b)|notes|quot(?:es|ed|ing)|asks(?! for\b)|asked (?:if|whether|that|why)|heard"
    r"|described|describes|called|promised|assumed|shows? as|listed|labell?ed|titled"
    r"|by (?:their|his|her|its) own account|reportedly|print(?:s|ed)|(?:shows?|showed|reveals?|revealed) that|message"
    r"|notification|announcement|commented|asserted|wants)\b|^\s*(?:per|as per|in) (?:the|your|their|his"
    r"|her) (?:readme|docs?|issue|ticket|log|changelog|commit|comment|message|pr)"
)

WITNESS = (
    r"\b(?:i|we)\b[^,;:]{0,8}$|\b(?:pytest|tests?|output|suite|ci|build|mypy|ruff|eslint|tsc|jest|vitest|cargo|linter"
    r"|curl|runs?|results?|compiler"
    r"|terminal|checker|pipeline|benchmarks?|measurements?|profiler?|screenshots?)\b[^,;:]{0,30}$"
)
"""Who may say that something holds: the agent and its tools."""

OTHERS = (
    r"\b(?:he|she|they|you|your (?:team|team-?mates?|colleagues?|co-?workers?|manager|changes|commits?|last|previous)"
    r"|users?|team|colleagues?|co-?workers?|maintainers?|developers?|some(?:one|body)|upstream|contributors?"
    r"|vendors?|customers?|candidates?|compan(?:y|ies)|competitors?|engineers?|students?|employees?|teams|authors?"
    r"|previous|other (?:agent|session|developer|team|engineer)|another|people|folks|others|claude|copilot"
    r"|[A-Z][a-z]+ and [A-Z][a-z]+)\b|@\w+"
)

PAST = (
    r"\b(?:last (?:week|year|month|night|sprint|release|quarter|time)(?!'s)|yesterday(?!'s)"
    r"|(?<!minutes )(?<!minute )(?<!hours )(?<!hour )(?<!seconds )(?<!moments )(?<!moment )ago|in (?:19|20)\d\d"
    r"|since (?:v?\d|19|20|january|february|march|april|may|june|july|august|september|october|november|december|last"
    r"|yesterday|(?:mon|tues|wednes|thurs|fri|satur|sun)day)|back in|used to"
    r"|in v?\d+\.\d+|in [a-z][\w+-]* v?\d+\.\d[\d.]*|in (?:version|release|commit|pr|react|node|python|django|rails"
    r"|go|rust) ?(?:#|v?\d)|previously|originally|upstream|elsewhere|in an earlier|in the past|at the time"
    r"|long before|earlier this|(?:the|an?) initial (?:import|commit|version|release)|the original|historically"
    r"|in older"
    r"|in (?:january|february|march|april|may|june|july|august|september|october|november|december))\b"
)

PERSONAL = (
    r"^\s*(?:,\s*)?by (?!\w+ing\b)(?:the (?:\w+ )?(?:contributors?|community|client|customer|reviewers?|bot|students?"
    r"|previous \w+|team|user|maintainers?|author|developer|vendor|agent|platform|ops|infra|provider|host|hoster"
    r"|registrar|admin\w*|colleague|company|bank|customer|support|security|legal|marketing)|someone|another|you|him"
    r"|her|them|upstream|[A-Z][a-z]+|@\w+|a (?:colleague|previous|different|contributor|coworker|co-worker|user"
    r"|maintainer))"
)

COURTESY = (
    "treat|assume|ignore|disregard|advise|mind|hang on|be aware|bear with|think|respect|make sure|ensure|review|see"
    "|note|wait|hold|stand by|stop|find|feel|refer|let|keep|be|don't|do not|take a look|have a look|look (?:at|over"
    "|through)|bear|remember|allow|double|take|consider|excuse|forgive|accept|enjoy|read|join|look forward"
)
"""Polite requests, which do not mean that the agent cannot do it itself."""

THOUGHT = (
    "need|feed|proceed|exceed|succeed|embed|looked|checked|read|found|noticed|tried|started|identified|asked"
    "|wondered|assumed|considered|investigated|searched|reviewed|analy[sz]ed|traced|needed|wanted|planned|used"
    "|learned|explored|examined|inspected|watched|decided|expected|attempted|stopped|failed|happened|mentioned"
    "|called|observed|suspected|compared|explained|outlined|listed|described|suggested|proposed|guessed|hoped"
    "|skipped|waited|listened|remembered|missed|walked|encountered|reproduced|debugged|concluded|determined"
    "|discovered|figured|viewed|visited|browsed|focused|intended|believed|doubted|seemed|followed|studied|discussed"
    "|answered|announced|declared|claimed|reported|stated|noted|promised|preferred|liked|agreed|worked|struggled"
    "|experienced|ended"
    "|based|talked|located|paused|interrupted|assessed|evaluated|touched|mistyped|misread|misunderstood"
    "|introduced the bug|caused|broke|experimented|prepared to|hesitated|prioriti[sz]ed|recalled|realised|realized"
    r"|recommended|requested|referenced|relied|resumed|continued|exhausted|reached(?! (?:\d|the (?:goal|target)|our"
    r"|your))|arrived|run out|landed on|hit"
)
"""Verbs of looking, trying, thinking and talking."""

GATHERED = (
    "scanned|opened|clicked|logged|queried|gathered|grepped|pulled|fetched|downloaded|loaded|mapped|counted"
    "|summari[sz]ed|collected|measured|estimated|drafted|sketched"
)
"""Verbs of gathering: with only these, work was prepared and not done."""

IDLE = f"{GATHERED}|{THOUGHT}"
"""Verbs of looking, trying, thinking and talking: with only these, no work is claimed."""

MADE = (
    r"went with|taught|got rid of|dealt with|threw|froze|wove|swept|fed|laid|wound|overrode|shut|struck|stuck|upped"
    r"|lent|wrote(?! that\b)|rewrote|built|rebuilt|put|split|sped|cut|brought|sent|spun|tore|bound|set|gave(?! up\b"
    r"| (?:it|this|that|them) (?:a|another) )|took|hid|drew|shrank|redid|ran the migration"
)
"""Irregular past forms of doing."""

ONE_OFF = (
    "renewed|rotated|drained|silenced|cleaned|regenerated|reformatted|rewritten|reworked|refactored|restructured"
    "|reorgani[sz]ed|renamed|rebased|rebuilt|redone|redrawn|retitled|relabell?ed|recompiled|reimplemented"
    "|corrected|translated|transcribed|bumped|upgraded|downgraded|backported|cherry-picked|moderni[sz]ed|deduplicated"
    "|de-duplicated|decommissioned|retired|tidied|trimmed|typed out|proofread|polished"
    "|squashed|split out|factored out|broken out|carved out|unified|consolidated|modulari[sz]ed|ported|rolled out"
    "|rolled back|reverted|restored|revised|reinstated|repaired|patched up|fleshed out|filled in|drawn up|written up"
    "|put together"
)
"""What a person does to a thing once, and a program does not do each time it runs."""

QUANTITY = (
    "dropped|increased|decreased|changed|moved|happened|occurred|appeared|disappeared|arrived|lasted|remained|stayed"
    "|resulted|varied|differed|existed|belonged|ended|stopped"
    "|crashed|leaked|jumped|climbed|surged|peaked|tripled|doubled|halved|complained|voted|joined|responded|replied"
    "|panicked|timed|errored|emerged|grew|rose|fell|lapsed|hung|included|excluded|relied|worked"
)
"""What things do by themselves."""

ENDS = frozenset(
    {
        "done",
        "fixed",
        "complete",
        "completed",
        "finished",
        "ready",
        "live",
        "working",
        "pushed",
        "merged",
        "committed",
        "set up",
    }
)
"""States that are never a step of a program."""

BAD_FOR_US = (
    r"(?:need|have|know|see|understand|want|get|face|are|must|can|should|could|would|will|think|depend|risk|expect"
    r"|wait|require|do)\b"
)
"""What `we now …` may go on with without anything being done."""
