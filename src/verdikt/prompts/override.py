"""Detection of prompts that try to talk the agent past its checks. They are audited and never obeyed. Pure."""

import re

from verdikt.claims.sentences import split_sentences
from verdikt.model.lazy_regex import compile_lazily

_CHECKS = (
    r"(?:tests?|test suite|checks?|gates?|evidence(?: gate)?|validators?|validation|verification|hooks?|guards?"
    r"|guardrails?|policy|policies|verdikt|linters?|linting|ci|review|proof|contract|council|safety|approval)"
)
_THE = r"(?:the |all |any |that |this |your |those |these |every |our )*"
# Kind of attempt, pattern.
_PHRASES = (
    ("skip", rf"\bskip(?:ping)? {_THE}(?:\w+ )?{_CHECKS}\b"),
    ("bypass", rf"\b(?:bypass|circumvent|work around|get around|sidestep|evade) {_THE}(?:\w+ )?{_CHECKS}\b"),
    (
        "disable",
        rf"\b(?:disable|turn off|switch off|deactivate|remove|uninstall|kill|mute|silence"
        rf"|pause) {_THE}(?:\w+ )?(?:gates?|evidence gate|hooks?|guards?|guardrails?|verdikt|policy|validators?)\b",
    ),
    (
        "ignore",
        rf"\b(?:ignore|disregard|forget(?: about)?|override|overrule|dismiss) {_THE}(?:\w+ )?(?:{_CHECKS}|rules|block"
        rf"|refusals?|findings)\b",
    ),
    (
        "force",
        r"\bforce (?:this|it|that|through|the (?:merge|push|commit|change|deploy\w*|release))\b|\bforce-?merge\b"
        r"|\bjust force\b",
    ),
    ("no_verify", r"--no-verify\b|\bno[- ]verify\b"),
    (
        "no_tests",
        r"\b(?:don't|do not|no need to|never mind|without) (?:bother (?:with |to )?)?(?:run(?:ning)? |verify(?:ing)? "
        r"|check(?:ing)? |wait(?:ing)? for )?(?:the |any )?(?:tests?|verification|validation|proof|evidence|checks)\b",
    ),
    (
        "just_say",
        r"\b(?:just|simply) (?:say|claim|tell (?:me|them)|mark|call|report|pretend)\b[^.]{0,40}\b(?:done|fixed"
        r"|finished|passing|complete|works?|green|pass)\b",
    ),
    (
        "pretend",
        r"\bpretend (?:that )?(?:it|the|you|everything|all)\b[^.]{0,40}\b(?:pass\w*|works?|done|fixed|ran|verified)\b",
    ),
    (
        "trust_me",
        r"\b(?:trust me|i take (?:full )?responsibility|i authori[sz]e you)\b[^.]{0,60}\b(?:skip|bypass|ignore|force"
        r"|merge|push|deploy|anyway)\b",
    ),
)
_PATTERNS = tuple((name, re.compile(pattern, re.IGNORECASE)) for name, pattern in _PHRASES)
_NEGATION = compile_lazily(
    r"\b(?:don't|do not|never|must not|should not|shouldn't|without|avoid|not to|instead of|cannot|can't)\b[^.]{0,20}$",
    re.IGNORECASE,
)
_QUESTION = compile_lazily(
    r"^\W*(?:why|what|how|does|did|do|is|are|can (?:users?|someone|it)|which|when)\b", re.IGNORECASE
)


def find_overrides(prompt: str) -> tuple[tuple[str, str], ...]:
    """Return (kind, words) of each attempt to get past a check, outside code, quotations and questions."""
    overrides: list[tuple[str, str]] = []
    for sentence in split_sentences(prompt[:64_000]):
        text = sentence.masked
        if text.rstrip(" )]").endswith("?") and _QUESTION.match(text):
            continue
        for name, pattern in _PATTERNS:
            match = pattern.search(text)
            # `don't skip the tests` is the opposite of an attempt; `no_tests` contains its own negation.
            if match and (name == "no_tests" or not _NEGATION.search(text[: match.start()])):
                overrides.append((name, match[0][:200]))
    # Also inside code, which is not prose: the flag itself is the attempt.
    if "--no-verify" in prompt and not any(name == "no_verify" for name, _ in overrides):
        overrides.append(("no_verify", "--no-verify"))
    return tuple(dict.fromkeys(overrides))
