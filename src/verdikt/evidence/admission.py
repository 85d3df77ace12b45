"""Whether a message says plainly that what was done was not checked. Pure."""

import itertools
import re

from verdikt.evidence.prose import sentences
from verdikt.model.regex import regex

_MOST = 400
"""Sentences that are read."""

_NOT = r"(?: not|n['’]t|not)(?: yet| been| actually| able to)*"
_CHECKED = r"(?:verif(?:y|ied)|test(?:ed)?|check(?:ed)?|execut(?:e|ed)|r[ua]n(?! into| out| short))"

_ADMITS = regex(
    rf"\b(?:I|we)(?: have|['’]ve| did| could| can| was| were|)?{_NOT} {_CHECKED}\b"
    rf"|\b(?:tests?|suite|checks?|builds?|this|it|changes?|code|edits?|work|result)\b(?: is| are| was| were| has| have){_NOT} (?:verified|tested|checked)\b"
    rf"|\b(?:tests?|suite|checks?)\b(?: is| are| was| were| has| have)?{_NOT} (?:run|executed)\b"
    r"|\b(?:unverified|untested)\b|^\W*not (?:yet )?(?:verified|tested|checked)\b"
    r"|\b(?:no|none of the)(?: \w+)? (?:tests?|checks?)(?: were| was| has been| have been)? (?:run|executed)\b"
    r"|\bnothing (?:was|has been) (?:run|tested|verified|checked)\b"
    r"|\bwithout (?:running|testing|verifying|checking)\b",
    re.IGNORECASE,
)


def admits(message: str) -> bool:
    """Whether a message says, in words of its own, that nothing proves it. Never raises, whatever the text."""
    return any(_ADMITS.search(one.text) for one in itertools.islice(sentences(message), _MOST))
