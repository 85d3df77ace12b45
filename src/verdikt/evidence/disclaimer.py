"""Detection of messages that say plainly that the work was not checked. Pure."""

import itertools
import re

from verdikt.evidence.prose import split_sentences
from verdikt.model.lazy_regex import compile_lazily

_MAX_SENTENCES = 400
"""Number of sentences that are read."""

_NOT = r"(?: not|n['’]t|not)(?: yet| been| actually| able to)*"
_CHECKED = r"(?:verif(?:y|ied)|test(?:ed)?|check(?:ed)?|execut(?:e|ed)|r[ua]n(?! into| out| short))"

_DISCLAIMER = compile_lazily(
    rf"\b(?:I|we)(?: have|['’]ve| did| could| can| was| were|)?{_NOT} {_CHECKED}\b"
    rf"|\b(?:tests?|suite|checks?|builds?|this|it|changes?|code|edits?|work|result)\b(?: is| are| was| were| has"
    rf"| have){_NOT} (?:verified|tested|checked)\b"
    rf"|\b(?:tests?|suite|checks?)\b(?: is| are| was| were| has| have)?{_NOT} (?:run|executed)\b"
    r"|\b(?:could|did|have)(?:n['’]t| not)(?: yet)? (?:run(?! into| out)|test|verif|check)\w*"
    r"|\b(?:unverified|untested|partially|partly|still fail\w*|not run yet|TODO)\b"
    r"|^\W*not (?:yet )?(?:verified|tested|checked)\b"
    r"|\b(?:no|none of the)(?: \w+)? (?:tests?|checks?)(?: were| was| has been| have been)? (?:run|executed)\b"
    r"|\bnothing (?:was|has been) (?:run|tested|verified|checked)\b"
    r"|\bwithout (?:running|testing|verifying|checking)\b",
    re.IGNORECASE,
)


def find_disclaimers(message: str) -> list[tuple[str, int, int]]:
    """Return the sentences that say that something was not checked, with their places. Never raises."""
    disclaimers = []
    for sentence in itertools.islice(split_sentences(message), _MAX_SENTENCES):
        if _DISCLAIMER.search(sentence.text):
            start, end = sentence.span(0, len(sentence.text))
            disclaimers.append((message[start:end].strip(), start, end))
    return disclaimers
