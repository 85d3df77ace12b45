"""The contract: what a person asked for, which claims are compared with. Pure."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from verdikt.claims.wording import has_wording
from verdikt.knowledge import list_role
from verdikt.model.lazy_regex import compile_lazily

TARGET_FIELDS = ("paths", "urls", "command_hints", "backtick_tokens", "keywords")
"""Fields that validators bind to, the most specific first."""

# A pasted log must not cost seconds at every prompt.
MAX_CHARACTERS = 64_000
MAX_VALUES = 200

_URL = compile_lazily(r"\bhttps?://[^\s<>\"'`)\]]+")
_BACKTICKS = compile_lazily(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_PATH = compile_lazily(r"(?<![\w/.~-])(?:~|\.{1,2})?/[\w.@+-]+(?:/[\w.@+*-]+)*/?")
_RELATIVE_PATH = compile_lazily(r"(?<![\w/.@-])(?:[\w.@+-]+/)+[\w.@+*-]+|(?<![\w/.@-])[\w-]+(?:\.[\w-]+)*\.(?:%s)\b")
_FILE_EXTENSIONS = (
    "py|pyi|js|jsx|ts|tsx|mjs|cjs|go|rs|java|kt|kts|c|h|cc|cpp|hpp|cs|rb|php|swift|scala|sh|bash|zsh|sql|html|css"
    "|scss|vue"
    "|svelte|md|rst|txt|json|jsonc|yaml|yml|toml|ini|cfg|conf|xml|lock|proto|tf|gradle|ipynb|csv|env|lua|ex|exs|dart|r"
)
_RELATIVE_PATH = compile_lazily(_RELATIVE_PATH.pattern % _FILE_EXTENSIONS)
_COMMANDS = "|".join(re.escape(name) for name in list_role("quoted_command"))
_COMMAND = compile_lazily(rf"(?<![\w/.-])(?:{_COMMANDS})(?: (?:-{{0,2}}[\w./:=@-]+)){{1,8}}")
_VERBS = (
    "add|adjust|allow|append|apply|automate|avoid|bring|cache|cover|edit|expose|hook|insert|introduce|modify|prevent"
    "|record|roll back|seed|speed up|sync|track down|trim|backport|build|bump|change|clean|commit|complete|configure"
    "|connect|convert|copy|correct|create"
    "|debug|delete|deploy|disable|do|document|download|drop|enable|ensure|expand|export|extend|extract|finish|fix"
    "|format"
    "|generate|get|handle|implement|import|improve|increase|initiali[sz]e|install|integrate|investigate and fix|lint"
    "|make|merge"
    "|migrate|move|optimi[sz]e|patch|port|publish|push|put|rebase|redesign|reduce|refactor|release|remove|rename"
    "|reorgani[sz]e"
    "|repair|replace|resolve|restore|restructure|revert|rewrite|roll out|run|scaffold|set|set up|setup|ship|simplify"
    "|solve|sort"
    "|split|start|stop|support|swap|switch|test|tidy|translate|turn|uninstall|unify|update|upgrade|use|validate"
    "|verify|wire|wrap|write"
    "|archive|bootstrap|close|decommission|decouple|deduplicate|dockeri[sz]e|email|encrypt|harden|invite|launch|mock"
    "|normali[sz]e|paginate"
    "|profile|provision|prune|purge|reboot|redeploy|reformat|register|rerun|re-run|reset|restart|restrict|retire"
    "|revoke|rotate|sanitize"
    "|schedule|secure|send|tag|terminate|throttle|tighten|transfer|upload|vendor|wipe"
)
_REQUEST = compile_lazily(
    rf"(?:^|[.!?:;\n]\s*|[-*]\s+|\d[.)]\s+|,? (?:and|then|please|also|now|just)\s+)"
    rf"(?:please |now |then |also |just |first |next |finally |ok(?:ay)?,? |hi,? |hey,? |hello,? |so |go ahead and "
    rf"|go and |try to |let's |let us )*"
    rf"(?:{_VERBS})\b(?! (?:you|i|we|it|they|this|that) (?:mean|think|know|say|explain))"
    rf"|\b(?:can|could|would|will) you (?:please |also |now |just |go ahead and |try to )*(?:{_VERBS})\b"
    rf"|\b(?:i|we) (?:want|need|would like|'d like)(?: you)? to (?:{_VERBS})\b|\b(?:i'd like|i want|i need|we need"
    rf"|need) (?:you to|a|an|the|to have)\b"
    rf"|\b(?:should|must|needs? to|has to|have to) (?:be )?(?:{_VERBS})\w*",
    re.IGNORECASE,
)
_QUESTION = compile_lazily(
    r"^\W*(?:what|why|how|which|who|where|when|is|are|was|were|does|do|did|can i|could i|should i|has|have|explain"
    r"|describe|tell me|show me how|hi|hello|hey|thanks|thank you|good (?:morning|evening|afternoon))\b",
    re.IGNORECASE,
)
_POLITE_REQUEST = compile_lazily(
    r"\b(?:can|could|would|will) you\b|\bplease\b|\b(?:kannst|könntest|würdest) du\b|\bkönn(?:t|t?en) (?:ihr|sie)\b"
    r"|\bbitte\b|\b(?:peux|pourrais)-tu\b|\bpou(?:vez|rriez)-vous\b|\b(?:puedes|podrías|puede|podría)\b"
    r"|\b(?:você )?(?:pode|poderia)\b|\bможе(?:шь|те)\b|\bпожалуйста\b"
    r"|(?:もら|くれ|いただ)[えけ]?ます(?:か|でしょうか)|[请請]|주세요|주실",
    re.IGNORECASE,
)
"""Questions that ask for work."""

_EXPLANATION = compile_lazily(r"^\W*(?:explain|describe|tell me|show me how)\b", re.IGNORECASE)
_LOOKING = compile_lazily(
    r"^\W*(?:(?:please|now|then|also|just|first|so|and|let's|(?:can|could|would|will) you|i'd like you to|have|take"
    r"|go and)\s+)*(?:a (?:quick )?look|look|find|search|check|investigate|review|read|summari[sz]e|analy[sz]e|inspect"
    r"|explore|compare|list|study|audit|examine|figure out|debug|see|research|identify|trace|locate"
    r"|explain|describe)\b",
    re.IGNORECASE,
)
_SMALL_TALK = compile_lazily(
    r"^(?:\W*\b(?:hi|hello|hey|thanks|thank you|thx|good (?:morning|evening|afternoon|job|work)|great(?: work| job)?"
    r"|nice|cool|perfect|awesome|excellent|wonderful|well done|looks good|lgtm|ok(?:ay)?|yes|yep|yeah|no|nope|sure|bye"
    r"|there|a lot|so much|very much|again|all|team|for (?:that|this|it|your help)|hallo|danke|merci|bonjour|gracias"
    r"|hola|obrigad[oa]|olá|спасибо|привет|ありがとう(?:ございます)?|こんにちは|谢谢|你好|감사합니다|안녕하세요)\b)+\W*",
    re.IGNORECASE,
)
_CONTINUATION = compile_lazily(
    r"^\W*(?:yes|yep|yeah|sure|ok(?:ay)?|go(?: ahead| on)?|continue|proceed|do it|please do|try again|again"
    r"|keep going|next|sounds good|perfect, go|approved|lgtm|carry on|resume|retry)\b[^?]{0,60}$",
    re.IGNORECASE,
)
_VERIFICATION = (
    ("test", "tests_pass"),
    ("build", "build_passes"),
    ("lint", "lint_clean"),
    ("history_work", "commit_exists"),
)
"""What a request speaks of → the validator that would verify it."""

_STOP_WORDS = frozenset(
    "the a an and or but with without for from into onto this that these those then than when where what which who"
    " how why all any"
    " some not now please just also should would could will can need want make sure have has had been being are was"
    " were you your"
    " our its their them they there here about after before under over again more most other such only same too very"
    " use using new"
    " add fix run get set put let see via per out off on in to of it is be do we me my at by as if so no up".split()
)

LADDER = (
    "look in the project: read and search the files",
    "run the tool that would tell: a command, a test, a script",
    "look outside: documentation, a fetch, a search",
    "try another way to the same end",
)
"""What an agent tries before it may claim to be blocked."""


@dataclass(frozen=True, slots=True)
class Contract:
    """What was asked for: the words, what they name, what has to be tried and what would prove it."""

    objective: str
    target_fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ladder: tuple[str, ...] = LADDER
    verification: tuple[str, ...] = ()
    intent: str = "actionable"

    @property
    def asks_for_work(self) -> bool:
        """Return whether the request says in so many words what to do, so that what it names is to be worked on."""
        return self.intent == "actionable"

    @property
    def is_inquiry(self) -> bool:
        """Return whether the request is to find something out; the answer may be a question, and changes nothing."""
        return self.intent == "inquiry"

    def get_targets(self, *fields: str) -> tuple[str, ...]:
        """Return the values of these fields, in their order."""
        return tuple(value for name in fields for value in self.target_fields.get(name, ()))

    @property
    def has_no_targets(self) -> bool:
        """Return whether the request names nothing in particular."""
        return not any(self.target_fields.get(name) for name in TARGET_FIELDS)

    def record(self) -> dict[str, Any]:
        """Return the contract as plain data."""
        return {
            "objective": self.objective,
            "intent": self.intent,
            "required_response_mode": "prose",
            "target_fields": {name: list(self.target_fields.get(name, ())) for name in TARGET_FIELDS},
            "capability_ladder": list(self.ladder),
            "expected_verification": list(self.verification),
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "Contract":
        """Return the contract that `record` wrote."""
        fields = record.get("target_fields") or {}
        return cls(
            objective=str(record.get("objective", "")),
            target_fields={name: tuple(map(str, fields.get(name, ()))) for name in TARGET_FIELDS},
            ladder=tuple(map(str, record.get("capability_ladder", LADDER))),
            verification=tuple(map(str, record.get("expected_verification", ()))),
            intent=intent if (intent := record.get("intent")) in ("report", "inquiry") else "actionable",
        )


def read_contract(text: str) -> Contract | None:
    """Return the contract of a prompt; None for a greeting or a question, which ask for no work."""
    text = text[:MAX_CHARACTERS]
    intent = _read_intent(text)
    if not intent:
        return None
    return Contract(text.strip(), _extract_targets(text), verification=_infer_validators(text), intent=intent)


def _read_intent(text: str) -> str:
    """Return `actionable`, `inquiry` (find something out), `report` (a plain statement), or empty for no request.

    A prompt in words or a language that the patterns do not know is a report: every prompt counts that is neither small
    talk nor a question.
    """
    # Backticks hold code and names: a verb in them is not a request.
    bare = _BACKTICKS.sub(" x ", text)
    asks = bare.rstrip().endswith(("?", "？"))
    # A question with another sentence after it may still ask for work.
    is_question = asks and _QUESTION.match(bare) and not re.search(r"[.!\n]\s*\S", bare)
    if _REQUEST.search(bare) and not is_question:
        return "actionable"
    rest = _SMALL_TALK.sub("", bare, count=1)
    sentences = [part for part in re.split(r"(?<=[.!?])\s+|(?<=[。！？])|\n+", rest) if re.search(r"\w", part)]
    statements = [
        sentence
        for sentence in sentences
        if (not sentence.rstrip().endswith(("?", "？")) or _POLITE_REQUEST.search(sentence))
        and not _EXPLANATION.match(sentence)
    ]
    if not statements:
        return ""
    return "inquiry" if all(_LOOKING.match(sentence) for sentence in statements) else "report"


def is_continuation(text: str) -> bool:
    """Return whether a prompt only says that the work asked for before should go on."""
    return bool(_CONTINUATION.match(text.strip())) and len(text) < 120


def extend_contract(contract: Contract, addition: Contract) -> Contract:
    """Return both contracts as one: what was asked for later in the same turn is added."""
    fields = {
        name: _drop_duplicates((*contract.get_targets(name), *addition.get_targets(name))) for name in TARGET_FIELDS
    }
    objective = f"{contract.objective}\n\n{addition.objective}"[:MAX_CHARACTERS]
    verification = _drop_duplicates((*contract.verification, *addition.verification))
    # The more it asks of the agent, the earlier in this list.
    intent = min(contract.intent, addition.intent, key=("actionable", "report", "inquiry").index)
    return Contract(objective, fields, contract.ladder, verification, intent)


def _extract_targets(text: str) -> dict[str, tuple[str, ...]]:
    urls = _drop_duplicates(url.rstrip(".,;:!?") for url in _URL.findall(text))
    # A URL's path must not be taken for a file of the project.
    remaining_text = _URL.sub(" ", text)
    ticks = _drop_duplicates(match[1].strip() for match in _BACKTICKS.findall(remaining_text) if match[1].strip())
    paths = _drop_duplicates(
        path.rstrip(".,;:")
        for path in (*_PATH.findall(remaining_text), *_RELATIVE_PATH.findall(remaining_text))
        if path.strip("/.~")
    )
    hints = _drop_duplicates(
        (
            *(token for token in ticks if _COMMAND.fullmatch(token) or re.match(rf"(?:{_COMMANDS})(?:\s|$)", token)),
            *(_trim_command_hint(hint) for hint in _COMMAND.findall(_BACKTICKS.sub(" ", remaining_text))),
        )
    )
    words = re.findall(r"[A-Za-z][\w-]{2,}", _BACKTICKS.sub(" ", remaining_text))
    keywords = _drop_duplicates(word.lower() for word in words if word.lower() not in _STOP_WORDS)
    return {
        "paths": paths,
        "urls": urls,
        "command_hints": hints,
        "backtick_tokens": ticks,
        "keywords": keywords,
    }


def _trim_command_hint(hint: str) -> str:
    """Return a command from running text without the English words that follow it."""
    words = hint.split()
    command_words = words[:2]
    for word in words[2:]:
        if not (word.startswith("-") or "/" in word or "." in word or ":" in word):
            break
        command_words.append(word)
    while len(command_words) > 1 and command_words[-1].lower() in _STOP_WORDS:
        command_words.pop()
    return " ".join(command_words) if len(command_words) > 1 else ""


def _infer_validators(text: str) -> tuple[str, ...]:
    validators = [name for what, name in _VERIFICATION if has_wording(what, text)]
    if _URL.search(text):
        validators.append("http_2xx")
    return tuple(validators)


def _drop_duplicates(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value for value in values if value))[:MAX_VALUES]


def to_yaml(record: Mapping[str, Any]) -> str:
    """Return the contract as a YAML file, every text quoted."""
    lines = []
    for key, value in record.items():
        if isinstance(value, Mapping):
            lines.append(f"{key}:")
            lines += [line for name, inner in value.items() for line in _render_yaml_value(name, inner, "  ")]
        else:
            lines += _render_yaml_value(key, value, "")
    return "\n".join(lines) + "\n"


def _render_yaml_value(key: str, value: Any, indent: str) -> list[str]:
    if not isinstance(value, list | tuple):
        # JSON strings are valid YAML, and no text can be misread as a number or a tag.
        return [f"{indent}{key}: {json.dumps(value, ensure_ascii=False)}"]
    if not value:
        return [f"{indent}{key}: []"]
    return [f"{indent}{key}:", *(f"{indent}  - {json.dumps(item, ensure_ascii=False)}" for item in value)]
